//! Cases of the `Workspaces` port.

use graphloom_core::{
    Batch, BudgetChange, BudgetUnit, CostBounds, Job, Lease, Patience, QueueState, Registration, StoreError,
    Timestamp, Upkeep, WorkspaceId, Workspaces,
};

use super::sample;

/// Defines one test per case for the workspaces that `open` creates: `open()` returns `(workspaces, prefix, guard)`.
///
/// There may be other workspaces, but none of their names may begin with the prefix.
#[macro_export]
macro_rules! workspaces_conformance_tests {
    ($open:expr) => {
        $crate::workspaces_conformance_tests!(
            $open;
            a_workspace_exists_from_its_first_opening_until_its_deletion,
            deleting_a_workspace_removes_nothing_from_others,
            settings_are_read_without_opening,
            a_commit_to_a_held_workspace_waits_or_finds_it_deleted,
            upkeep_changes_no_content,
            only_one_handle_at_a_time_has_the_turn_to_write_summaries,
            a_shared_text_is_replaced_only_with_its_current_version,
            a_budget_is_shared_by_all_processes_and_deleted_with_its_workspace,
            a_worker_has_its_own_name_while_it_runs,
            workspaces_with_work_have_documents_that_no_worker_holds,
        );
    };
    ($open:expr; $($case:ident),* $(,)?) => {
        $(
            #[test]
            fn $case() {
                let (workspaces, prefix, _guard) = ($open)();
                $crate::conformance::block_on($crate::conformance::workspaces::$case(&workspaces, &prefix));
            }
        )*
    };
}

fn named(prefix: &str, name: &str) -> WorkspaceId {
    WorkspaceId::new(&format!("{prefix}{name}")).expect("a name")
}

async fn ours(workspaces: &dyn Workspaces, prefix: &str) -> Vec<WorkspaceId> {
    let mut listed = workspaces.list().await.expect("a list");
    assert!(listed.is_sorted(), "{listed:?}");
    listed.retain(|name| name.as_str().starts_with(prefix));
    listed
}

async fn documents_of(workspaces: &dyn Workspaces, workspace: &WorkspaceId) -> u64 {
    let store = workspaces.open(workspace, Patience::Endless).await.expect("it opens");
    assert_eq!(store.workspace(), workspace);
    store.snapshot().await.expect("a snapshot").counts().await.expect("counts").documents
}

async fn fill(workspaces: &dyn Workspaces, workspace: &WorkspaceId) {
    let store = workspaces.open(workspace, Patience::Endless).await.expect("it opens");
    store.commit(sample::indexed("a", "Ada met Bob", "ADA", "BOB")).await.expect("committed");
}

/// A conformance case.
pub async fn a_workspace_exists_from_its_first_opening_until_its_deletion(
    workspaces: &dyn Workspaces,
    prefix: &str,
) {
    let names = [named(prefix, "a"), named(prefix, "b")];
    assert!(ours(workspaces, prefix).await.is_empty() && !workspaces.place().is_empty());
    for name in &names {
        assert!(!workspaces.exists(name).await.expect("an answer"));
        workspaces.delete(name).await.expect("there is nothing to delete");
    }
    // Not in the order of names.
    fill(workspaces, &names[1]).await;
    fill(workspaces, &names[0]).await;
    assert_eq!(ours(workspaces, prefix).await, names);
    assert_eq!(documents_of(workspaces, &names[0]).await, 1);
    let open = workspaces.open(&names[0], Patience::Endless).await.expect("it opens");
    workspaces.delete(&names[0]).await.expect("deleted");
    assert!(open.commit(sample::indexed("b", "Cleo met Dan", "CLEO", "DAN")).await.is_err());
    drop(open);
    assert!(!workspaces.exists(&names[0]).await.expect("an answer"));
    assert_eq!(ours(workspaces, prefix).await, names[1..]);
    assert_eq!(documents_of(workspaces, &names[0]).await, 0, "a new one of the same name is empty");
    for name in &names {
        workspaces.delete(name).await.expect("deleted");
    }
    assert!(ours(workspaces, prefix).await.is_empty());
}

/// A conformance case.
pub async fn deleting_a_workspace_removes_nothing_from_others(workspaces: &dyn Workspaces, prefix: &str) {
    // One name is a prefix of the other.
    let [one, other] = [named(prefix, "a"), named(prefix, "a-b")];
    fill(workspaces, &one).await;
    fill(workspaces, &other).await;
    workspaces.delete(&one).await.expect("deleted");
    assert_eq!(documents_of(workspaces, &other).await, 1);
    workspaces.delete(&other).await.expect("deleted");
}

/// A conformance case.
pub async fn a_commit_to_a_held_workspace_waits_or_finds_it_deleted(
    workspaces: &dyn Workspaces,
    prefix: &str,
) {
    let name = named(prefix, "held");
    assert!(matches!(workspaces.hold(&name).await.map(drop), Err(StoreError::Gone { .. })));
    fill(workspaces, &name).await;
    let store = workspaces.open(&name, Patience::Endless).await.expect("it opens");
    let held = workspaces.hold(&name).await.expect("held");
    let mut waiting = store.commit(sample::indexed("b", "Cleo met Dan", "CLEO", "DAN"));
    assert!(futures::poll!(&mut waiting).is_pending(), "it waits");
    assert_eq!(store.snapshot().await.expect("a snapshot").counts().await.expect("counts").documents, 1);
    drop(held);
    waiting.await.expect("committed");
    let held = workspaces.hold(&name).await.expect("held");
    let mut waiting = store.commit(sample::indexed("c", "Eve met Finn", "EVE", "FINN"));
    assert!(futures::poll!(&mut waiting).is_pending(), "it waits");
    held.delete().await.expect("deleted");
    assert!(waiting.await.is_err(), "the workspace is gone");
    assert!(!workspaces.exists(&name).await.expect("an answer"));
}

/// A conformance case.
pub async fn settings_are_read_without_opening(workspaces: &dyn Workspaces, prefix: &str) {
    let name = named(prefix, "settings");
    assert!(workspaces.settings_of(&name).await.expect("settings").is_empty());
    assert!(!workspaces.exists(&name).await.expect("an answer"), "reading makes nothing");
    let store = workspaces.open(&name, Patience::Endless).await.expect("it opens");
    let settings: std::collections::BTreeMap<_, _> = [("llm".to_owned(), "none".to_owned())].into();
    store
        .commit(Batch { set_settings: Some(settings.clone()), ..Batch::default() })
        .await
        .expect("committed");
    drop(store);
    assert_eq!(workspaces.settings_of(&name).await.expect("settings"), settings);
    workspaces.delete(&name).await.expect("deleted");
}

/// A conformance case.
pub async fn upkeep_changes_no_content(workspaces: &dyn Workspaces, prefix: &str) {
    let name = named(prefix, "upkeep");
    fill(workspaces, &name).await;
    let store = workspaces.open(&name, Patience::Endless).await.expect("it opens");
    for upkeep in [Upkeep::Probe, Upkeep::CatchUp, Upkeep::Rest] {
        store.maintain(upkeep).await.expect("kept in order");
        assert_eq!(store.verify().await.expect("verified"), []);
        assert_eq!(documents_of(workspaces, &name).await, 1);
    }
    assert!(!store.place().is_empty());
    assert!(store.size().is_none_or(|size| size.data > 0));
    drop(store);
    workspaces.delete(&name).await.expect("deleted");
}

/// A conformance case.
pub async fn only_one_handle_at_a_time_has_the_turn_to_write_summaries(
    workspaces: &dyn Workspaces,
    prefix: &str,
) {
    let [name, other] = ["summaries", "elsewhere"].map(|name| named(prefix, name));
    let one = workspaces.open(&name, Patience::Endless).await.expect("it opens");
    let another = workspaces.open(&name, Patience::Endless).await.expect("it opens");
    let elsewhere = workspaces.open(&other, Patience::Endless).await.expect("it opens");
    let turn = one.summaries_turn().await.expect("an answer").expect("nobody has it");
    assert!(another.summaries_turn().await.expect("an answer").is_none());
    assert!(one.summaries_turn().await.expect("an answer").is_none());
    assert!(elsewhere.summaries_turn().await.expect("an answer").is_some(), "each workspace has its own");
    drop(turn);
    // A database releases the turn with a short delay.
    let mut taken = None;
    for _ in 0..10_000 {
        taken = another.summaries_turn().await.expect("an answer");
        if taken.is_some() {
            break;
        }
    }
    assert!(taken.is_some(), "it was given back");
    drop((one, another, elsewhere, taken));
    for name in [name, other] {
        workspaces.delete(&name).await.expect("deleted");
    }
}

/// A conformance case.
pub async fn a_shared_text_is_replaced_only_with_its_current_version(
    workspaces: &dyn Workspaces,
    prefix: &str,
) {
    let [one, other] = [workspaces.limits(), workspaces.limits()];
    let name = format!("{prefix}of openai/any");
    assert!(!one.place().is_empty());
    assert_eq!(one.read(&name).await.expect("an answer"), None);
    assert!(!one.replace(&name, 1, "none").await.expect("an answer"), "there is no version 1");
    assert!(one.replace(&name, 0, "first\nline").await.expect("an answer"));
    assert!(!other.replace(&name, 0, "late").await.expect("an answer"));
    assert_eq!(other.read(&name).await.expect("an answer"), Some((1, "first\nline".to_owned())));
    // All replace at once with the right version, and exactly one succeeds.
    let all = (0..6).map(|at| [&one, &other][at % 2].replace(&name, 1, "second"));
    let replaced = futures::future::try_join_all(all).await.expect("answers");
    assert_eq!(replaced.into_iter().filter(|replaced| *replaced).count(), 1);
    assert_eq!(one.read(&name).await.expect("an answer"), Some((2, "second".to_owned())));
    assert_eq!(one.read(&format!("{name}2")).await.expect("an answer"), None);
}

/// A conformance case.
pub async fn a_budget_is_shared_by_all_processes_and_deleted_with_its_workspace(
    workspaces: &dyn Workspaces,
    prefix: &str,
) {
    let [name, other] = ["budget", "other"].map(|name| named(prefix, name));
    fill(workspaces, &name).await;
    fill(workspaces, &other).await;
    let one = workspaces.open(&name, Patience::Endless).await.expect("it opens");
    let another = workspaces.open(&name, Patience::Endless).await.expect("it opens");
    let without = workspaces.open(&other, Patience::Endless).await.expect("it opens");
    assert_eq!(one.budget().await.expect("an answer"), None);
    let revision = one.snapshot().await.expect("a snapshot").revision();
    let limit = |amount, restart, now| {
        let unit = BudgetUnit::Tokens;
        BudgetChange::Limit { unit, amount, restart, now: Timestamp(now) }
    };
    let set = one.change_budget(limit(100, false, 7)).await.expect("set").budget.expect("a budget");
    assert_eq!((set.amount, set.spent, set.since), (100, 0, Timestamp(7)));
    let bounds = |most| CostBounds { most, least: 0 };
    let change = |ended, cost, begins| BudgetChange::Book {
        since: Timestamp(7),
        of: "process".to_owned(),
        ended: bounds(ended),
        cost,
        begins: bounds(begins),
        now: Timestamp(8),
        until: Timestamp(9),
    };
    let book = |hold| change(0, 0, hold);
    // Both book at once, and only as many calls are held as fit the budget.
    let stores = [&one, &another];
    let booked = (0..8).map(|call| stores[call % 2].change_budget(book(30)));
    let held = futures::future::try_join_all(booked).await.expect("booked");
    assert_eq!(held.iter().filter(|outcome| outcome.held).count(), 3);
    assert_eq!(another.budget().await.expect("an answer").map(|budget| budget.spent), Some(90));
    another.change_budget(change(30, 5, 0)).await.expect("settled");
    assert!(one.change_budget(book(35)).await.expect("booked").held);
    assert!(!one.change_budget(book(1)).await.expect("booked").held);
    assert_eq!(without.budget().await.expect("an answer"), None);
    assert_eq!(one.snapshot().await.expect("a snapshot").revision(), revision, "it is no commit");
    drop((one, another));
    let again = workspaces.open(&name, Patience::Endless).await.expect("it opens");
    let kept = again.budget().await.expect("an answer").expect("a budget");
    assert_eq!((kept.amount, kept.spent, kept.refused), (100, 100, Some(1)));
    assert_eq!(kept.held.iter().map(|calls| calls.bounds.most).collect::<Vec<_>>(), [95]);
    assert_eq!(again.verify().await.expect("verified"), []);
    let removed = again.change_budget(BudgetChange::Put(None)).await.expect("removed");
    assert_eq!((removed.budget, again.budget().await.expect("an answer")), (None, None));
    again.change_budget(BudgetChange::Put(Some(kept))).await.expect("put");
    drop(again);
    workspaces.delete(&name).await.expect("deleted");
    let new = workspaces.open(&name, Patience::Endless).await.expect("it opens");
    assert_eq!(new.budget().await.expect("an answer"), None);
    drop((new, without));
    for name in [name, other] {
        workspaces.delete(&name).await.expect("deleted");
    }
}

/// A conformance case.
pub async fn a_worker_has_its_own_name_while_it_runs(workspaces: &dyn Workspaces, _: &str) {
    let workers = workspaces.workers();
    let one = workers.register(Registration::Required).await.expect("registered");
    let other = workers.register(Registration::WhenWritable).await.expect("registered");
    assert_ne!(one.name(), other.name());
    let name = one.name().to_owned();
    assert!(!workers.is_gone(&name));
    one.try_again().expect("registered already");
    drop(one);
    assert!(workers.is_gone(&name) && !workers.is_gone(other.name()));
}

/// A conformance case.
pub async fn workspaces_with_work_have_documents_that_no_worker_holds(
    workspaces: &dyn Workspaces,
    prefix: &str,
) {
    let [queued, leased, paused, done] =
        ["queued", "leased", "paused", "done"].map(|name| named(prefix, name));
    let worker = workspaces.workers().register(Registration::Required).await.expect("registered");
    fill(workspaces, &done).await;
    for name in [&queued, &leased, &paused] {
        let store = workspaces.open(name, Patience::Endless).await.expect("it opens");
        let new = sample::document("a", "Ada met Bob");
        let now = store.clock().map_or(Timestamp(0), |clock| clock.now());
        let expires_at = Timestamp(now.0 + 60_000);
        let lease = (name == &leased).then(|| Lease { owner: worker.name().to_owned(), expires_at });
        let job = Job { lease, ..sample::job(&new.document.id, 1) };
        let set_queue = (name == &paused).then_some(QueueState::Paused { since: now });
        store
            .commit(Batch { put_documents: vec![new], put_jobs: vec![job], set_queue, ..Batch::default() })
            .await
            .expect("committed");
    }
    let with_work = || async {
        let mut found = workspaces.with_work().await.expect("an answer")?;
        found.retain(|name| name.as_str().starts_with(prefix));
        Some(found)
    };
    assert!(with_work().await.is_none_or(|found| found == [queued.clone()]));
    drop(worker);
    assert!(
        with_work().await.is_none_or(|found| found == [leased.clone(), queued.clone()]),
        "its worker has ended"
    );
    for name in [queued, leased, paused, done] {
        workspaces.delete(&name).await.expect("deleted");
    }
}
