//! Commits of another process between the reading and the writing of a step are never overwritten, and everything left in
//! the store belongs to a document.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use graphloom_core::{
    Batch, ChunkExtraction, Document, DocumentId, DocumentStatus, Job, JobState, Lease, Snapshot, Store,
    StoreError, Timestamp, Visibility, WorkspaceId, table, write_dump,
};
use graphloom_engine::Engine;
use graphloom_engine::index::{self, Acceptance, Source};
use graphloom_storage::check::check;
use graphloom_storage::conformance::block_on;
use graphloom_storage::memory::MemoryStore;
use graphloom_storage::sqlite::SqliteStore;

use crate::support::intercepted_store::{InterceptedStore, Interceptor};
use crate::support::{ReadingModel, engine, source};

/// What another process does before the next commit, or the next turn to change the graph.
#[derive(Default)]
struct PendingAction(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl PendingAction {
    fn happens(&self) {
        let meanwhile = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
    }
}

#[async_trait]
impl Interceptor for PendingAction {
    async fn before_commit(&self, _: &dyn Store, batch: &Batch) -> Result<(), StoreError> {
        if !batch.is_empty() {
            self.happens();
        }
        Ok(())
    }

    // No other process changes the graph between a turn and its commit.
    fn before_turn(&self) {
        self.happens();
    }
}

/// Two processes that share a store: `other` acts before a commit of `one`.
struct Race {
    one: Engine,
    other: Engine,
    overtaken: Arc<InterceptedStore<PendingAction>>,
    _folder: Option<tempfile::TempDir>,
}

impl Race {
    /// Returns one race in memory and one on disk.
    fn both() -> [Self; 2] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let on_disk = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("a new store");
        [
            Self::over(Arc::new(MemoryStore::new(WorkspaceId::default())), None),
            Self::over(Arc::new(on_disk), Some(folder)),
        ]
    }

    fn over(store: Arc<dyn Store>, folder: Option<tempfile::TempDir>) -> Self {
        let overtaken =
            Arc::new(InterceptedStore { store: store.clone(), interceptor: PendingAction::default() });
        let mut one = engine(overtaken.clone(), Arc::new(ReadingModel::default()));
        one.index.worker = "one".to_owned();
        let mut other = engine(store, Arc::new(ReadingModel::default()));
        other.index.worker = "other".to_owned();
        Self { one, other, overtaken, _folder: folder }
    }

    /// Sets what happens before the next commit of `one`.
    fn meanwhile(&self, what: impl AsyncFnOnce() + Send + 'static) {
        let what = Box::new(|| block_on(what()));
        *self.overtaken.interceptor.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
    }

    /// Lets `other` work before the next commit of `one`.
    fn let_other_work(&self) {
        let other = self.other.clone();
        self.meanwhile(async move || {
            work(&other).await;
        });
    }

    async fn read(&self) -> Box<dyn Snapshot> {
        assert!(
            self.overtaken.interceptor.0.lock().expect("no test panicked").is_none(),
            "the commit was overtaken"
        );
        self.other.store.snapshot().await.expect("the store works")
    }

    async fn job(&self, id: &DocumentId) -> Job {
        let jobs = self.read().await.jobs(std::slice::from_ref(id)).await.expect("the store works");
        jobs.into_iter().next().flatten().expect("it has a job")
    }

    async fn documents(&self) -> Vec<Document> {
        self.read().await.scan(table::Documents, None, 99).await.expect("the store works")
    }

    async fn states(&self, id: &DocumentId) -> Vec<ChunkExtraction> {
        let states = self.read().await.extraction_states_of(std::slice::from_ref(id)).await;
        states.expect("the store works").concat().into_iter().map(|(_, state)| state).collect()
    }

    async fn check_equals_plain_build(&self, documents: &[Source]) {
        let plain =
            engine(Arc::new(MemoryStore::new(WorkspaceId::default())), Arc::new(ReadingModel::default()));
        index::accept(&plain, documents.to_vec()).await.expect("the store works");
        work(&plain).await;
        let plain = plain.store.snapshot().await.expect("the store works");
        assert_eq!(dump(self.read().await.as_ref()).await, dump(plain.as_ref()).await);
    }
}

async fn dump(snapshot: &dyn Snapshot) -> String {
    assert_eq!(check(snapshot).await.expect("the store works"), [], "the store is sound");
    let mut lines = Vec::new();
    write_dump(snapshot, &mut lines).await.expect("memory does not fail");
    String::from_utf8(lines).expect("a dump is text")
}

async fn work(engine: &Engine) -> index::RunReport {
    index::run(engine, &|_| {}, &|_| false).await.expect("store and model work")
}

async fn add(engine: &Engine, source: Source) -> DocumentId {
    match index::accept(engine, vec![source]).await.expect("the store works").remove(0) {
        Acceptance::Accepted { document, .. } | Acceptance::Unchanged { document, .. } => document,
        Acceptance::Refused { reason, .. } => panic!("refused: {reason}"),
    }
}

fn with_meta(mut source: Source) -> Source {
    source.meta = BTreeMap::from([("year".to_owned(), "1990".to_owned())]);
    source
}

#[tokio::test]
async fn a_newer_version_replaces_one_that_is_merged_meanwhile() {
    for race in Race::both() {
        add(&race.other, source("a.txt", "Ada knows Bo.")).await;
        work(&race.other).await;
        add(&race.other, source("a.txt", "Ada knows Cy.")).await;
        race.let_other_work();
        add(&race.one, source("a.txt", "Ada knows Dee.")).await;
        dump(race.read().await.as_ref()).await;
        work(&race.one).await;
        race.check_equals_plain_build(&[source("a.txt", "Ada knows Dee.")]).await;
    }
}

#[tokio::test]
async fn new_metadata_of_a_version_that_goes_live_meanwhile_leaves_it_live() {
    for race in Race::both() {
        add(&race.other, source("a.txt", "Ada knows Bo.")).await;
        work(&race.other).await;
        let staged = add(&race.other, source("a.txt", "Ada knows Cy.")).await;
        race.let_other_work();
        assert_eq!(add(&race.one, with_meta(source("a.txt", "Ada knows Cy."))).await, staged);
        let documents = race.documents().await;
        assert_eq!(documents.len(), 1);
        assert_eq!((documents[0].visibility, documents[0].meta.len()), (Visibility::Live, 1));
        race.check_equals_plain_build(&[with_meta(source("a.txt", "Ada knows Cy."))]).await;
    }
}

#[tokio::test]
async fn a_document_deleted_while_it_is_added_again_is_complete() {
    for race in Race::both() {
        let id = add(&race.other, source("a.txt", "Ada knows Bo.")).await;
        work(&race.other).await;
        let other = race.other.clone();
        race.meanwhile(async move || {
            index::delete(&other, &[id]).await.expect("deleting works");
        });
        add(&race.one, with_meta(source("a.txt", "Ada knows Bo."))).await;
        work(&race.one).await;
        race.check_equals_plain_build(&[with_meta(source("a.txt", "Ada knows Bo."))]).await;
    }
}

#[tokio::test]
async fn a_document_finished_while_it_is_cancelled_stays_finished() {
    for race in Race::both() {
        let id = add(&race.other, source("a.txt", "Ada knows Bo.")).await;
        race.let_other_work();
        let done = index::cancel(race.one.store.as_ref(), std::slice::from_ref(&id)).await;
        // The second attempt commits an empty batch, which changes nothing.
        assert_eq!(done.expect("cancelling works").not_queued, std::slice::from_ref(&id));
        assert_eq!(race.job(&id).await.state, JobState::Merged);
    }
}

#[tokio::test]
async fn a_job_finished_by_another_worker_is_not_claimed_from_an_old_view() {
    for race in Race::both() {
        let id = add(&race.other, source("a.txt", "Ada knows Bo.")).await;
        race.let_other_work();
        assert_eq!(work(&race.one).await.finished, 0);
        let job = race.job(&id).await;
        assert_eq!((job.state, job.attempts), (JobState::Merged, 1));
    }
}

#[tokio::test]
async fn an_answer_that_arrives_while_its_chunk_is_queued_again_is_not_requested_twice() {
    for race in Race::both() {
        let mut failing = race.other.clone();
        failing.models.extract =
            Some(Arc::new(ReadingModel { refuses: Some("Ada"), ..ReadingModel::default() }));
        let id = add(&race.other, source("a.txt", "Ada knows Bo.")).await;
        assert_eq!(work(&failing).await.failed_chunks, 1);
        let model = Arc::new(ReadingModel::default());
        let mut other = race.other.clone();
        other.models.extract = Some(model.clone());
        let document = id.clone();
        race.meanwhile(async move || {
            index::retry(&other, &[document], None).await.expect("the store works");
            work(&other).await;
        });
        let queued = index::retry(&race.one, std::slice::from_ref(&id), None).await.expect("works");
        assert_eq!(queued.documents, 0);
        assert!(matches!(race.states(&id).await[..], [ChunkExtraction::Done { .. }]));
        work(&race.one).await;
        assert_eq!(model.extractions.load(Ordering::SeqCst), 1);
        race.check_equals_plain_build(&[source("a.txt", "Ada knows Bo.")]).await;
    }
}

#[tokio::test]
async fn releasing_a_lease_from_an_old_view_does_not_revert_the_job() {
    for race in Race::both() {
        let id = add(&race.other, source("a.txt", "Ada knows Bo.")).await;
        let job = race.job(&id).await;
        let lease = Some(Lease { owner: "third".to_owned(), expires_at: Timestamp(u64::from(u32::MAX)) });
        let claimed = Job { lease, attempts: 1, ..job };
        let step =
            |state: JobState| Batch { put_jobs: vec![Job { state, ..claimed.clone() }], ..Batch::default() };
        race.other.store.commit(step(JobState::Accepted)).await.expect("the store works");
        // A step within the same millisecond does not change the lease.
        let (store, next) = (race.other.store.clone(), step(JobState::Chunked));
        race.meanwhile(async move || {
            store.commit(next).await.expect("the store works");
        });
        let report = index::run(&race.one, &|_| {}, &|worker| worker == "third").await;
        assert_eq!(report.expect("store and model work").finished, 0);
        assert_eq!(race.job(&id).await.state, JobState::Chunked);
        let states = index::states_of(race.read().await.as_ref(), &[id]).await.expect("the store works");
        let status = states.into_iter().flatten().next().expect("known").status;
        assert!(matches!(status, DocumentStatus::Indexing { .. }));
    }
}
