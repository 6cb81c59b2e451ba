//! Crashes of the server and of connections during commits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use graphloom_core::{Batch, Require, Revision, Store, WorkspaceId};
use graphloom_postgres::Database;
use graphloom_postgres::testing::{Server, TestDatabase, new_workspace, postgres_folder};
use graphloom_storage::conformance::{block_on, sample};
use tempfile::TempDir;

/// How long a commit may take while the server restarts on a busy machine.
const MAX_WAIT: Duration = Duration::from_secs(60);

fn server() -> (Server, TempDir) {
    std::fs::create_dir_all(postgres_folder()).expect("a folder");
    let folder = TempDir::new_in(postgres_folder()).expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("readable");
    (Server::start(folder.path(), &[]), folder)
}

#[test]
fn a_server_crash_during_commits_loses_nothing_and_applies_nothing_twice() {
    let (mut server, _folder) = server();
    let database = Database::open(&server.url()).expect("the database opens");
    let store = block_on(database.open_or_create(WorkspaceId::default())).expect("a store");
    let (sent, committed) = channel();
    let (stop, mut acknowledged) = (AtomicBool::new(false), Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..3 {
            let (store, sent, stop) = (&store, sent.clone(), &stop);
            scope.spawn(move || {
                for number in (0..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                    let name = format!("{worker}-{number}");
                    let batch = sample::indexed(&name, &format!("{name} met Bob"), "ADA", "BOB");
                    let id = batch.put_documents[0].document.id.clone();
                    let revision = block_on(store.commit(batch)).expect("a commit outlives a crash");
                    sent.send((id, revision)).expect("a listener");
                }
            });
        }
        drop(sent);
        for _ in 0..3 {
            let some = (0..5).map(|_| committed.recv_timeout(MAX_WAIT).expect("commits go on"));
            acknowledged.extend(some);
            server.crash_and_restart();
        }
        stop.store(true, Ordering::Relaxed);
        acknowledged.extend(committed.iter());
    });
    let mut revisions: Vec<u64> = acknowledged.iter().map(|(_, revision)| revision.0).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=acknowledged.len() as u64).collect::<Vec<_>>(), "each batch was applied once");
    let ids: Vec<_> = acknowledged.iter().map(|(id, _)| id.clone()).collect();
    let found = block_on(async { store.snapshot().await?.documents(&ids).await }).expect("documents");
    assert!(found.iter().all(Option::is_some), "an acknowledged document is lost");
}

#[test]
fn concurrent_commits_of_many_stores_are_serialized_and_check_preconditions() {
    let server = TestDatabase::shared();
    let name = new_workspace();
    let database = server.open();
    let won = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (server, name, won) = (&server, &name, &won);
            scope.spawn(move || {
                let store = block_on(server.open().open_or_create(name.clone())).expect("a store");
                for number in 0..10 {
                    let revision = block_on(store.snapshot()).expect("a snapshot").graph_revision();
                    let mut batch =
                        sample::indexed(&format!("{worker}-{number}"), "Ada met Bob", "ADA", "BOB");
                    batch.require.push(Require::GraphUnchangedSince(revision));
                    match block_on(store.commit(batch)) {
                        Ok(_) => drop(won.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => assert!(error.is_conflict(), "{error:?}"),
                    }
                }
            });
        }
    });
    let store = block_on(database.open_or_create(name.clone())).expect("a store");
    let snapshot = block_on(store.snapshot()).expect("a snapshot");
    assert_eq!(snapshot.revision(), Revision(won.load(Ordering::Relaxed)));
    drop(snapshot);
    block_on(database.delete(&name)).expect("deleted");
}

#[test]
fn one_process_holds_the_turn_to_change_the_graph_while_others_commit() {
    let server = TestDatabase::shared();
    let name = new_workspace();
    let (one, other) = (server.open(), server.open());
    let stores =
        [&one, &other].map(|database| block_on(database.open_or_create(name.clone())).expect("a store"));
    let turn = block_on(stores[0].graph_turn()).expect("the turn");
    let (sent, taken) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _turn = block_on(stores[1].graph_turn()).expect("the turn");
            sent.send(()).expect("a listener");
        });
        let batch = Batch { embedding: Some(sample::space(3)), ..Batch::default() };
        block_on(stores[1].commit(batch)).expect("the turn holds up no commit");
        assert!(taken.recv_timeout(Duration::from_millis(200)).is_err(), "two hold the turn");
        drop(turn);
        taken.recv_timeout(Duration::from_secs(20)).expect("the turn was given back");
    });
    block_on(one.delete(&name)).expect("deleted");
}
