//! Documents are cancelled, paused, queued again and re-extracted, which leaves no trace and costs nothing twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use graphloom_core::write_dump;
use graphloom_core::{
    ChatRequest, ChatStream, ChunkExtraction, DocumentId, DocumentStatus, EntityKey, ItemKind, LanguageModel,
    ModelError, QueueState, SearchRequest, Store, Timestamp, TrackId, WorkspaceId, table,
};
use graphloom_engine::Engine;
use graphloom_engine::index::{self, Acceptance};
use graphloom_storage::check::check;
use graphloom_storage::memory::MemoryStore;
use graphloom_storage::sqlite::SqliteStore;

use crate::support::{ReadingModel, engine, source};

/// A text of three chunks.
const LONG: &str =
    "Ada knows Bo. Bo knows Cy.\n\nCy knows Dee. Dee knows Eve.\n\nEve knows Fay. Fay knows Ada.";

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(WorkspaceId::default()))
}

/// Returns an engine with small chunks and one call at a time.
fn small(store: Arc<dyn Store>, model: Arc<dyn LanguageModel>) -> Engine {
    let mut engine = engine(store, Arc::new(ReadingModel::default()));
    engine.models.extract = Some(model);
    engine.index.chunk.max_chunk_tokens = Some(12);
    engine.index.chunk.overlap_tokens = 0;
    engine.index.max_concurrent_calls = 1;
    engine
}

async fn add(engine: &Engine, name: &str, text: &str) -> DocumentId {
    match index::accept(engine, vec![source(name, text)]).await.expect("the store works").remove(0) {
        Acceptance::Accepted { document, .. } => document,
        other => panic!("not accepted: {other:?}"),
    }
}

async fn run(engine: &Engine) -> index::RunReport {
    index::run(engine, &|_| {}, &|_| true).await.expect("store and model work")
}

async fn dump(store: &dyn Store) -> String {
    let snapshot = store.snapshot().await.expect("the store works");
    assert_eq!(check(snapshot.as_ref()).await.expect("the store works"), [], "the store is sound");
    let mut lines = Vec::new();
    write_dump(snapshot.as_ref(), &mut lines).await.expect("memory does not fail");
    String::from_utf8(lines).expect("a dump is text")
}

async fn state(store: &dyn Store, id: &DocumentId) -> index::DocumentState {
    let snapshot = store.snapshot().await.expect("the store works");
    let states =
        index::states_of(snapshot.as_ref(), std::slice::from_ref(id)).await.expect("the store works");
    states.into_iter().next().flatten().expect("known")
}

async fn answered(store: &dyn Store, id: &DocumentId) -> usize {
    let snapshot = store.snapshot().await.expect("the store works");
    let states = snapshot.extraction_states_of(std::slice::from_ref(id)).await.expect("the store works");
    states[0].iter().filter(|(_, state)| matches!(state, ChunkExtraction::Done { .. })).count()
}

/// What a user does while the model answers.
#[derive(Clone, Copy)]
enum Interruption {
    CancelAll,
    Pause,
}

/// A model that is interrupted by a user during answer number `at`, counted from 1.
struct InterruptedModel {
    inner: ReadingModel,
    store: Arc<dyn Store>,
    asked: AtomicU32,
    at: u32,
    interruption: Interruption,
}

impl InterruptedModel {
    fn new(store: &Arc<dyn Store>, at: u32, interruption: Interruption) -> Arc<Self> {
        let (inner, asked) = (ReadingModel::default(), AtomicU32::new(0));
        Arc::new(Self { inner, store: store.clone(), asked, at, interruption })
    }
}

#[async_trait]
impl LanguageModel for InterruptedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        if self.asked.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            match self.interruption {
                Interruption::CancelAll => {
                    let snapshot = self.store.snapshot().await.expect("the store works");
                    let queued = index::queued(snapshot.as_ref()).await.expect("the store works");
                    index::cancel(self.store.as_ref(), &queued).await.expect("cancelling works");
                }
                Interruption::Pause => {
                    index::pause(self.store.as_ref(), Timestamp(7)).await.expect("pausing works");
                }
            }
        }
        self.inner.chat(request).await
    }
}

/// Calls its model under another name, so that its answers count as those of another model.
struct RenamedModel {
    inner: ReadingModel,
    name: &'static str,
}

impl RenamedModel {
    fn new(inner: ReadingModel) -> Arc<Self> {
        Arc::new(Self { inner, name: "test-second" })
    }

    fn extractions(&self) -> u32 {
        self.inner.extractions.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl LanguageModel for RenamedModel {
    fn name(&self) -> &str {
        self.name
    }

    async fn chat(&self, mut request: ChatRequest) -> Result<ChatStream, ModelError> {
        // It replaces a name, so that its graph differs.
        for message in &mut request.messages {
            message.content = message.content.replace("Cy", "Cyra");
        }
        self.inner.chat(request).await
    }
}

async fn plain(documents: &[(&str, &str)]) -> String {
    let engine = small(memory(), Arc::new(ReadingModel::default()));
    for (name, text) in documents {
        add(&engine, name, text).await;
    }
    run(&engine).await;
    dump(engine.store.as_ref()).await
}

#[tokio::test]
async fn a_cancelled_document_keeps_its_paid_calls_and_returns_with_retry() {
    for store in stores() {
        let model = InterruptedModel::new(&store.store, 2, Interruption::CancelAll);
        let engine = small(store.store.clone(), model.clone());
        let document = add(&engine, "a.txt", LONG).await;
        let report = run(&engine).await;
        assert_eq!((report.finished, report.cancelled), (0, 1));
        assert_eq!(model.asked.load(Ordering::SeqCst), 2, "no further calls are made");
        assert_eq!(answered(engine.store.as_ref(), &document).await, 2, "the answer in flight is stored");
        let cancelled = DocumentStatus::Cancelled { extracted: 2, failed: 0, chunks: 3 };
        assert_eq!(state(engine.store.as_ref(), &document).await.status, cancelled);
        dump(engine.store.as_ref()).await;
        assert_eq!(run(&engine).await.finished, 0, "it does not resume by itself");

        let queued = index::retry(&engine, &[document], None).await.expect("the store works");
        assert_eq!((queued.documents, queued.chunks), (1, 0));
        run(&engine).await;
        assert_eq!(model.inner.extractions.load(Ordering::SeqCst), 3, "no chunk is extracted twice");
        assert_eq!(dump(engine.store.as_ref()).await, plain(&[("a.txt", LONG)]).await);
    }
}

#[tokio::test]
async fn a_document_cancelled_before_it_started_is_complete_after_retry() {
    let model = Arc::new(ReadingModel::default());
    let engine = small(memory(), model.clone());
    let document = add(&engine, "a.txt", LONG).await;
    let done = index::cancel(engine.store.as_ref(), std::slice::from_ref(&document)).await.expect("works");
    assert_eq!(done.cancelled, std::slice::from_ref(&document));
    let again = index::cancel(engine.store.as_ref(), std::slice::from_ref(&document)).await.expect("works");
    assert_eq!(again.not_queued, std::slice::from_ref(&document));
    run(&engine).await;
    assert_eq!(model.extractions.load(Ordering::SeqCst), 0);
    index::retry(&engine, &[document], None).await.expect("the store works");
    run(&engine).await;
    assert_eq!(dump(engine.store.as_ref()).await, plain(&[("a.txt", LONG)]).await);
}

#[tokio::test]
async fn a_cancelled_new_version_leaves_the_old_one_in_use() {
    let engine = small(memory(), Arc::new(ReadingModel::default()));
    add(&engine, "a.txt", "Ada knows Bo.").await;
    run(&engine).await;
    let new = add(&engine, "a.txt", "Ada knows Cy.").await;
    index::cancel(engine.store.as_ref(), std::slice::from_ref(&new)).await.expect("cancelling works");
    run(&engine).await;
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let entities = snapshot.scan(table::Entities, None, 9).await.expect("the store works");
    assert_eq!(entities.iter().map(|entity| entity.key.as_str()).collect::<Vec<_>>(), ["ADA", "BO"]);
    index::delete(&engine, &[new]).await.expect("deleting works");
    assert_eq!(dump(engine.store.as_ref()).await, plain(&[("a.txt", "Ada knows Bo.")]).await);
}

#[tokio::test]
async fn a_paused_queue_sends_nothing_more_until_it_is_resumed() {
    for store in stores() {
        let model = InterruptedModel::new(&store.store, 2, Interruption::Pause);
        let engine = small(store.store.clone(), model.clone());
        let document = add(&engine, "a.txt", LONG).await;
        let other = add(&engine, "b.txt", "Gil knows Hal.").await;
        let report = run(&engine).await;
        assert!(report.paused);
        assert_eq!(model.asked.load(Ordering::SeqCst), 2);
        let store = engine.store.as_ref();
        let stored = answered(store, &document).await + answered(store, &other).await;
        assert_eq!(stored, 2, "the answer in flight is stored");
        add(&engine, "c.txt", "Ida knows Jo.").await;
        assert!(run(&engine).await.paused);
        assert_eq!(model.asked.load(Ordering::SeqCst), 2);

        let before = index::resume(engine.store.as_ref()).await.expect("resuming works");
        assert_eq!(before, QueueState::Paused { since: Timestamp(7) });
        assert!(!run(&engine).await.paused);
        let all = [("a.txt", LONG), ("b.txt", "Gil knows Hal."), ("c.txt", "Ida knows Jo.")];
        assert_eq!(dump(engine.store.as_ref()).await, plain(&all).await);
        assert_eq!(model.inner.extractions.load(Ordering::SeqCst), 5, "no call is repeated");
    }
}

/// Builds these documents, those in `second` extracted by the second model, and returns the dump.
async fn mixed(documents: &BTreeMap<&str, &str>, second: &[&str]) -> String {
    let store = memory();
    let first = small(store.clone(), Arc::new(ReadingModel::default()));
    for (name, text) in documents.iter().filter(|(name, _)| !second.contains(name)) {
        add(&first, name, text).await;
    }
    run(&first).await;
    let other = small(store.clone(), RenamedModel::new(ReadingModel::default()));
    for (name, text) in documents.iter().filter(|(name, _)| second.contains(name)) {
        add(&other, name, text).await;
    }
    run(&other).await;
    dump(store.as_ref()).await
}

async fn renew(engine: &Engine, ids: &[DocumentId]) -> (index::RenewalPlan, index::RunReport) {
    let track = TrackId::from_stored("again");
    let plan = index::plan_renewal(engine, ids, Some(&track), &|_| true).await.expect("planning works");
    let report = index::renew(engine, &plan.renewed, &|_| {}).await.expect("store and model work");
    (plan, report)
}

#[tokio::test]
async fn a_re_extracted_document_equals_a_plain_build_with_that_model() {
    // The second document has a text in common with the first; each keeps what its own model extracted.
    let documents = BTreeMap::from([
        ("a.txt", LONG),
        ("b.txt", "Cy knows Dee. Dee knows Eve."),
        ("c.txt", "Bo knows Gil."),
    ]);
    for store in stores() {
        let first = small(store.store.clone(), Arc::new(ReadingModel::default()));
        let mut ids = BTreeMap::new();
        for (name, text) in &documents {
            ids.insert(*name, add(&first, name, text).await);
        }
        run(&first).await;
        let model = RenamedModel::new(ReadingModel::default());
        let second = small(store.store.clone(), model.clone());
        let (plan, report) = renew(&second, &[ids["a.txt"].clone()]).await;
        assert_eq!((plan.renewed.len(), plan.chunks, report.finished), (1, 3, 1));
        assert_eq!(model.extractions(), 3);
        assert_eq!(dump(store.store.as_ref()).await, mixed(&documents, &["a.txt"]).await);

        let (plan, _) = renew(&second, &[ids["a.txt"].clone(), ids["b.txt"].clone()]).await;
        assert_eq!(plan.unchanged, [ids["a.txt"].clone()]);
        assert_eq!(model.extractions(), 3, "the same text is not extracted again");
        assert_eq!(dump(store.store.as_ref()).await, mixed(&documents, &["a.txt", "b.txt"]).await);

        // Adding the same document again changes nothing, whichever model would extract it now.
        let same = index::accept(&first, vec![source("a.txt", LONG)]).await.expect("the store works");
        assert!(matches!(same[0], Acceptance::Unchanged { status: DocumentStatus::Ready { .. }, .. }));
        run(&first).await;
        assert_eq!(dump(store.store.as_ref()).await, mixed(&documents, &["a.txt", "b.txt"]).await);
        let tracked = store.store.snapshot().await.expect("the store works");
        let tracked = tracked.documents_of_tracks(&[TrackId::from_stored("again")]).await.expect("works");
        assert_eq!(tracked[0].len(), 2);
    }
}

#[tokio::test]
async fn rules_can_replace_a_model() {
    let store = memory();
    let first = small(store.clone(), Arc::new(ReadingModel::default()));
    let id = add(&first, "a.txt", LONG).await;
    run(&first).await;
    let mut offline = first.clone();
    offline.models.extract = None;
    renew(&offline, &[id]).await;
    let mut plain = small(memory(), Arc::new(ReadingModel::default()));
    plain.models.extract = None;
    add(&plain, "a.txt", LONG).await;
    run(&plain).await;
    assert_eq!(dump(store.as_ref()).await, dump(plain.store.as_ref()).await);
}

#[tokio::test]
async fn a_failed_re_extraction_keeps_the_old_records_and_only_its_chunk_is_retried() {
    let store = memory();
    let documents = BTreeMap::from([("a.txt", LONG)]);
    let first = small(store.clone(), Arc::new(ReadingModel::default()));
    let id = add(&first, "a.txt", LONG).await;
    run(&first).await;
    let failing = RenamedModel::new(ReadingModel { refuses: Some("Fay"), ..ReadingModel::default() });
    let (_, report) = renew(&small(store.clone(), failing), std::slice::from_ref(&id)).await;
    assert_eq!(report.failed_chunks, 1);
    let listed = state(store.as_ref(), &id).await;
    assert_eq!(listed.status, DocumentStatus::Ready { chunks: 3 });
    let renewal = listed.renewal.expect("listed");
    assert_eq!((renewal.model.as_str(), renewal.failed_chunks[0].0), ("test-second", 2));
    assert!(dump(store.as_ref()).await.contains("EVE"), "the old extraction of the chunk still counts");

    let model = RenamedModel::new(ReadingModel::default());
    let (plan, _) = renew(&small(store.clone(), model.clone()), &[id]).await;
    assert_eq!((plan.chunks, model.extractions()), (1, 1));
    assert_eq!(dump(store.as_ref()).await, mixed(&documents, &["a.txt"]).await);
}

#[tokio::test]
async fn a_stopped_re_extraction_pays_nothing_twice_and_cancelling_it_restores_the_document() {
    let store = memory();
    let first = small(store.clone(), Arc::new(ReadingModel::default()));
    let id = add(&first, "a.txt", LONG).await;
    run(&first).await;
    let before = dump(store.as_ref()).await;

    // A pause during the second answer.
    struct Pausing(Arc<RenamedModel>, Arc<dyn Store>, AtomicU32);
    #[async_trait]
    impl LanguageModel for Pausing {
        fn name(&self) -> &str {
            self.0.name()
        }

        async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
            if self.2.fetch_add(1, Ordering::SeqCst) == 1 {
                index::pause(self.1.as_ref(), Timestamp(1)).await.expect("pausing works");
            }
            self.0.chat(request).await
        }
    }
    let model = RenamedModel::new(ReadingModel::default());
    let pausing = Arc::new(Pausing(model.clone(), store.clone(), AtomicU32::new(0)));
    let second = small(store.clone(), pausing);
    let (_, report) = renew(&second, std::slice::from_ref(&id)).await;
    assert!(report.paused);
    assert_eq!(model.extractions(), 2);
    let listed = state(store.as_ref(), &id).await;
    let renewal = listed.renewal.expect("under way");
    assert_eq!(
        (listed.status, renewal.extracted, renewal.chunks),
        (DocumentStatus::Ready { chunks: 3 }, 2, 3)
    );
    dump(store.as_ref()).await;

    index::resume(store.as_ref()).await.expect("resuming works");
    let copy = index::cancel(store.as_ref(), std::slice::from_ref(&id)).await.expect("cancelling works");
    assert_eq!(copy.kept, std::slice::from_ref(&id));
    assert_eq!(dump(store.as_ref()).await, before);

    let (_, report) = renew(&second, std::slice::from_ref(&id)).await;
    assert_eq!(report.finished, 1);
    assert_eq!(dump(store.as_ref()).await, mixed(&BTreeMap::from([("a.txt", LONG)]), &["a.txt"]).await);
}

#[tokio::test]
async fn an_estimate_of_a_re_extraction_matches_its_calls() {
    let store = memory();
    let first = small(store.clone(), Arc::new(ReadingModel::default()));
    let id = add(&first, "a.txt", LONG).await;
    run(&first).await;
    let model = RenamedModel::new(ReadingModel::default());
    let second = small(store.clone(), model.clone());
    let mut estimator = index::Estimator::new(&second, false);
    estimator.renew(std::slice::from_ref(&id)).await.expect("the store works");
    let estimate = estimator.finish();
    assert_eq!((estimate.documents, estimate.chunks, estimate.steps[0].calls.low), (1, 3, 3));
    assert_eq!(model.extractions(), 0);
    renew(&second, &[id]).await;
    assert_eq!(model.extractions(), 3);
}

/// A store in memory or on disk, with its folder.
struct StorePair {
    store: Arc<dyn Store>,
    _folder: Option<tempfile::TempDir>,
}

fn stores() -> [StorePair; 2] {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let on_disk = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("a new store");
    [
        StorePair { store: memory(), _folder: None },
        StorePair { store: Arc::new(on_disk), _folder: Some(folder) },
    ]
}

#[tokio::test]
async fn a_licence_after_the_end_of_a_text_is_searchable_but_never_extracted() {
    let store = memory();
    let model = Arc::new(ReadingModel::default());
    let engine = engine(store.clone(), Arc::clone(&model));
    let text = "Ada knows Bo.\n\n*** END OF THE EBOOK ADA ***\n\nGus knows Hal.\n";
    let id = add(&engine, "book.txt", text).await;
    run(&engine).await;
    assert_eq!(state(store.as_ref(), &id).await.status, DocumentStatus::Ready { chunks: 2 });
    assert_eq!((answered(store.as_ref(), &id).await, model.extractions.load(Ordering::SeqCst)), (2, 1));

    let snapshot = store.snapshot().await.expect("the store works");
    let keys = ["ADA", "GUS"].map(|key| EntityKey::from_stored(key.to_owned()));
    let known = snapshot.entities(&keys).await.expect("the store works");
    assert_eq!(known.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    let request = [SearchRequest::by_words(ItemKind::Chunk, "Gus", 9)];
    assert_eq!(snapshot.search(&request).await.expect("the store works")[0].len(), 1);
    drop(snapshot);

    let plan = index::plan_renewal(&engine, std::slice::from_ref(&id), None, &|_| false)
        .await
        .expect("the store works");
    assert_eq!((plan.chunks, plan.unchanged), (0, vec![id.clone()]));
}
