//! A worker leaves documents to other workers if there are any, and processes all of them if the others never claim any.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use graphloom_core::{
    Batch, ChatRequest, ChatStream, LanguageModel, ModelError, Require, Store, StoreError, WorkspaceId,
};
use graphloom_engine::index::{self, Source};
use graphloom_storage::conformance::block_on;
use graphloom_storage::memory::MemoryStore;

use crate::support::intercepted_store::{InterceptedStore, Interceptor};
use crate::support::{ReadingModel, engine, source};

/// Reports several workers, and records how many documents each claim takes.
struct Crowd {
    workers: usize,
    claims: Mutex<Vec<usize>>,
}

#[async_trait]
impl Interceptor for Crowd {
    async fn before_commit(&self, _: &dyn Store, batch: &Batch) -> Result<(), StoreError> {
        let is_claim =
            |require: &&Require| matches!(require, Require::JobIs(before) if before.lease.is_none());
        match batch.require.iter().filter(is_claim).count() {
            0 => {}
            claimed => self.claims.lock().expect("no panic").push(claimed),
        }
        Ok(())
    }

    fn workers(&self) -> Option<usize> {
        Some(self.workers)
    }
}

/// Returns how many documents each claim of one worker takes, while the other workers claim none.
fn check_claims(workers: usize, documents: usize, calls: usize) -> Vec<usize> {
    let memory = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let store = Arc::new(InterceptedStore {
        store: memory,
        interceptor: Crowd { workers, claims: Mutex::default() },
    });
    let mut engine = engine(store.clone(), Arc::new(ReadingModel::default()));
    engine.index.max_concurrent_calls = calls;
    let text = |number| source(&format!("{number}.md"), &format!("A{number} knows B{number}."));
    let sources: Vec<Source> = (0..documents).map(text).collect();
    let report = block_on(async {
        index::accept(&engine, sources).await.expect("the store works");
        index::run(&engine, &|_| {}, &|_| false).await.expect("store and model work")
    });
    assert_eq!(report.finished as usize, documents, "the only worker processes all documents");
    let claims = store.interceptor.claims.lock().expect("no panic").clone();
    assert_eq!(claims.iter().sum::<usize>(), documents);
    claims
}

#[test]
fn a_worker_claims_its_share_and_more_only_after_finishing_some() {
    assert_eq!(check_claims(1, 30, 1), [30]);
    let of_two = check_claims(2, 30, 1);
    assert_eq!(of_two[0], 15);
    assert!(of_two[1..].iter().all(|claimed| *claimed < 15), "{of_two:?}");
    assert_eq!(check_claims(8, 30, 1)[0], 4);
}

#[test]
fn a_few_documents_are_not_left_for_workers_that_may_not_come() {
    assert_eq!(check_claims(8, 6, 4), [6]);
}

/// A model that never answers.
struct SilentModel;

#[async_trait]
impl LanguageModel for SilentModel {
    fn name(&self) -> &str {
        "test-silent"
    }

    async fn chat(&self, _: ChatRequest) -> Result<ChatStream, ModelError> {
        std::future::pending().await
    }
}

#[test]
fn an_abandoned_run_gives_its_documents_back() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let (mut first, mut other) = (
        engine(store.clone(), Arc::new(ReadingModel::default())),
        engine(store.clone(), Arc::new(ReadingModel::default())),
    );
    first.models.extract = Some(Arc::new(SilentModel));
    first.index.worker = "first".to_owned();
    other.index.worker = "other".to_owned();
    let sources =
        (0..6).map(|number| source(&format!("{number}.md"), &format!("A{number} knows B{number}.")));
    let count =
        async |engine, gone: bool| index::claimable(engine, &|_| gone).await.expect("the store works");
    block_on(async {
        index::accept(&first, sources.collect()).await.expect("the store works");
        let (progress, gone) = (|_| {}, |_: &str| false);
        let mut run = index::run(&first, &progress, &gone);
        loop {
            let leased = store.snapshot().await.expect("reads").leased_jobs().await.expect("reads");
            if !leased.is_empty() {
                break;
            }
            assert!(futures::poll!(&mut run).is_pending(), "the run claims documents before it ends");
        }
        drop(run);
        assert!(count(&other, false).await < 6, "the first engine still holds some");
        assert_eq!(count(&other, true).await, 6, "a run takes those of a process that has ended");
        assert_eq!(count(&first, false).await, 6, "a run takes its own");
        index::abandon(&first).await.expect("the store works");
        assert_eq!(count(&other, false).await, 6);
    });
}
