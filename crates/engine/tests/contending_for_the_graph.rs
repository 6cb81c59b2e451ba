//! A graph change that other processes overtake, or whose vectors fail, pays for nothing twice, is recorded in the ledger,
//! and succeeds in the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use graphloom_core::{
    Action, Batch, ChatRequest, ChatStream, DocumentId, Embedder, Embeddings, EntityKey, LanguageModel,
    ModelError, Purpose, Role, Store, StoreError, WorkspaceId, table,
};
use graphloom_engine::Engine;
use graphloom_engine::edit::{DescriptionRule, Edit, KindRule, apply, decide};
use graphloom_engine::index::{self, Acceptance};
use graphloom_storage::check::check;
use graphloom_storage::memory::MemoryStore;
use graphloom_storage::sqlite::SqliteStore;

use crate::support::intercepted_store::{InterceptedStore, Interceptor};
use crate::support::{ReadingModel, WordEmbedder, engine, source};

/// Documents about one entity, too many for a description without a summary.
const SPEAKING: usize = 10;
/// Number of documents deleted while another process merges.
const DELETED: usize = 12;

/// Another process that changes the graph directly before each of the next `left` graph commits.
#[derive(Default)]
struct Contender {
    left: AtomicU32,
}

#[async_trait]
impl Interceptor for Contender {
    async fn before_commit(&self, store: &dyn Store, batch: &Batch) -> Result<(), StoreError> {
        let one_less = |left: u32| left.checked_sub(1);
        if batch.touches_graph()
            && self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
        {
            let entity = store.snapshot().await?.scan(table::Entities, None, 1).await?;
            store.commit(Batch { put_entities: entity, ..Batch::default() }).await?;
        }
        Ok(())
    }
}

/// Another process that merges a document directly before each of the next `left` commits of stale descriptions.
struct Merging {
    /// The other process, which writes no summaries.
    other: Engine,
    /// A turn that is invisible to the other process, as if that process had taken its own turn first.
    turns: MemoryStore,
    left: AtomicU32,
}

impl Merging {
    /// Merges a document completely, as a separate process would.
    fn merge(&self, number: u32) {
        let merge = || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(async {
                add(&self.other, 100 + number as usize, &format!("Ada knows Cy{number}.")).await;
                work(&self.other).await;
            });
        };
        std::thread::scope(|scope| scope.spawn(merge).join()).expect("the other process works");
    }
}

#[async_trait]
impl Interceptor for Merging {
    async fn before_commit(&self, _: &dyn Store, batch: &Batch) -> Result<(), StoreError> {
        let settles = batch.set_stale.iter().any(|(_, is_stale)| !is_stale);
        let one_less = |left: u32| left.checked_sub(1);
        if settles && let Ok(left) = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) {
            self.merge(left);
        }
        Ok(())
    }

    fn turns<'a>(&'a self, _: &'a dyn Store) -> &'a dyn Store {
        &self.turns
    }
}

/// An embedder that can be switched off.
#[derive(Default)]
struct SwitchableEmbedder {
    off: AtomicBool,
}

#[async_trait]
impl Embedder for SwitchableEmbedder {
    fn name(&self) -> &str {
        WordEmbedder.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        WordEmbedder.dimensions().await
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        if self.off.load(Ordering::SeqCst) {
            return Err(ModelError::Timeout { model: self.name().to_owned(), idle_ms: 5 });
        }
        WordEmbedder.embed(purpose, texts).await
    }
}

/// A workspace in which one entity is described by a summary, with its model and embedder.
struct World {
    engine: Engine,
    store: Arc<InterceptedStore<Contender>>,
    model: Arc<ReadingModel>,
    embedder: Arc<SwitchableEmbedder>,
    documents: Vec<DocumentId>,
}

impl World {
    async fn new() -> Self {
        let memory = Arc::new(MemoryStore::new(WorkspaceId::default()));
        let store = Arc::new(InterceptedStore { store: memory, interceptor: Contender::default() });
        let (model, embedder) = (Arc::new(ReadingModel::default()), Arc::new(SwitchableEmbedder::default()));
        let mut engine = engine(store.clone(), model.clone());
        engine.models.embedder = embedder.clone();
        let mut documents = Vec::new();
        for number in 0..SPEAKING {
            documents.push(add(&engine, number, &format!("Ada knows Bo{number}.")).await);
        }
        work(&engine).await;
        Self { engine, store, model, embedder, documents }
    }

    fn summaries(&self) -> u32 {
        self.model.summaries.load(Ordering::SeqCst)
    }

    /// Returns the number of summary calls in the ledger.
    async fn in_ledger(&self) -> u32 {
        let snapshot = self.engine.store.snapshot().await.expect("the store works");
        let calls = snapshot.scan(table::Calls, None, 999).await.expect("the store works");
        calls.iter().filter(|call| call.role == Role::Summarize).count() as u32
    }

    async fn check_sound(&self) {
        let snapshot = self.engine.store.snapshot().await.expect("the store works");
        assert_eq!(check(snapshot.as_ref()).await.expect("the store works"), []);
    }
}

async fn add(engine: &Engine, number: usize, text: &str) -> DocumentId {
    let name = format!("{number}.txt");
    match index::accept(engine, vec![source(&name, text)]).await.expect("the store works").remove(0) {
        Acceptance::Accepted { document, .. } => document,
        other => panic!("not accepted: {other:?}"),
    }
}

async fn work(engine: &Engine) {
    index::run(engine, &|_| {}, &|_| false).await.expect("store and model work");
}

/// Graph changes that each need one new summary of Ada.
#[derive(Debug, Clone, Copy)]
enum Change {
    Delete,
    Decide,
    Edit,
}

const CHANGES: [Change; 3] = [Change::Delete, Change::Decide, Change::Edit];

impl Change {
    /// Returns how many descriptions are left without their summary, or the error.
    async fn make(self, world: &World) -> Result<u32, String> {
        let engine = &world.engine;
        match self {
            Self::Delete => {
                let deleted = index::delete(engine, &world.documents[..1]).await;
                deleted.map(|removal| removal.stale).map_err(|error| format!("{error:?}"))
            }
            Self::Decide => {
                let merge = Action::MergeEntities {
                    sources: vec![EntityKey::from_stored("BO0")],
                    into: EntityKey::from_stored("ADA"),
                    name: "Ada".to_owned(),
                    kind: None,
                    description: None,
                };
                decide(engine, vec![merge]).await.map(|_| 0).map_err(|error| format!("{error:?}"))
            }
            Self::Edit => {
                let merge = Edit::Merge {
                    sources: vec!["Bo0".to_owned()],
                    into: "Ada".to_owned(),
                    description: DescriptionRule::default(),
                    kind: KindRule::default(),
                };
                apply(engine, &merge).await.map(|edited| edited.stale).map_err(|error| format!("{error:?}"))
            }
        }
    }
}

#[tokio::test]
async fn a_change_that_is_overtaken_repeatedly_pays_for_its_summary_once() {
    for change in CHANGES {
        for overtaken in [1, 2, 3] {
            let world = World::new().await;
            let before = world.summaries();
            world.store.interceptor.left.store(overtaken, Ordering::SeqCst);
            assert_eq!(change.make(&world).await, Ok(0), "{change:?}");
            assert_eq!(world.store.interceptor.left.load(Ordering::SeqCst), 0, "{change:?} was overtaken");
            assert_eq!(world.summaries() - before, 1, "{change:?}, overtaken {overtaken} times");
            assert_eq!(world.in_ledger().await, world.summaries(), "{change:?}");
            world.check_sound().await;
        }
    }
}

#[tokio::test]
async fn summaries_paid_for_before_vectors_failed_are_kept() {
    for change in CHANGES {
        let world = World::new().await;
        let before = world.summaries();
        world.embedder.off.store(true, Ordering::SeqCst);
        assert!(change.make(&world).await.is_err(), "{change:?}");
        assert_eq!(world.summaries() - before, 1, "{change:?}");
        assert_eq!(world.in_ledger().await, world.summaries(), "{change:?}");
        world.check_sound().await;
        world.embedder.off.store(false, Ordering::SeqCst);
        assert_eq!(change.make(&world).await, Ok(0), "{change:?}");
        assert_eq!(world.summaries() - before, 1, "{change:?}");
        world.check_sound().await;
    }
}

/// Yields to other tasks before it answers.
struct YieldingModel(Arc<ReadingModel>);

#[async_trait]
impl LanguageModel for YieldingModel {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        self.0.chat(request).await
    }
}

#[tokio::test]
async fn two_processes_with_nothing_else_to_do_pay_for_a_summary_once() {
    let store = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let refusing = ReadingModel { refuses_summaries: true, ..ReadingModel::default() };
    let first = engine(store.clone(), Arc::new(refusing));
    for number in 0..SPEAKING {
        add(&first, number, &format!("Ada knows Bo{number}.")).await;
    }
    work(&first).await;
    let model = Arc::new(ReadingModel::default());
    let [one, other] = ["one", "other"].map(|worker| {
        let mut engine = engine(store.clone(), model.clone());
        engine.models.summarize = Some(Arc::new(YieldingModel(model.clone())));
        engine.index.worker = worker.to_owned();
        engine
    });
    tokio::join!(work(&one), work(&other));
    assert_eq!(model.summaries.load(Ordering::SeqCst), 1);
    let snapshot = store.snapshot().await.expect("the store works");
    assert_eq!(snapshot.scan(table::Stale, None, 9).await.expect("the store works"), []);
    assert_eq!(check(snapshot.as_ref()).await.expect("the store works"), []);
}

#[tokio::test]
async fn an_overtaken_merge_embeds_nothing_twice() {
    let world = World::new().await;
    let embedded = async || {
        let snapshot = world.engine.store.snapshot().await.expect("the store works");
        let calls = snapshot.scan(table::Calls, None, 999).await.expect("the store works");
        calls.iter().filter(|call| call.role == Role::Embed).count()
    };
    let before = embedded().await;
    add(&world.engine, SPEAKING, "Cy knows Dee.").await;
    world.store.interceptor.left.store(2, Ordering::SeqCst);
    work(&world.engine).await;
    assert_eq!(world.store.interceptor.left.load(Ordering::SeqCst), 0);
    assert_eq!(embedded().await - before, 2, "the chunk and the vectors of the merge");
    world.check_sound().await;
}

#[tokio::test]
async fn a_description_that_changes_during_its_summary_is_summarised_again_in_the_same_run() {
    let store = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let refusing = ReadingModel { refuses_summaries: true, ..ReadingModel::default() };
    let other = engine(store.clone(), Arc::new(refusing));
    let turns = MemoryStore::new(WorkspaceId::default());
    let merging =
        Arc::new(InterceptedStore { store, interceptor: Merging { other, turns, left: AtomicU32::new(0) } });
    let model = Arc::new(ReadingModel::default());
    let engine = engine(merging.clone(), model.clone());
    for number in 0..SPEAKING {
        add(&engine, number, &format!("Ada knows Bo{number}.")).await;
    }
    merging.interceptor.left.store(3, Ordering::SeqCst);
    let report = index::run(&engine, &|_| {}, &|_| false).await.expect("store and model work");
    assert_eq!(merging.interceptor.left.load(Ordering::SeqCst), 0, "the commit was overtaken");
    assert_eq!((report.stale, report.stale_reason), (0, None));
    let snapshot = merging.snapshot().await.expect("the store works");
    assert_eq!(check(snapshot.as_ref()).await.expect("the store works"), []);
}

#[test]
fn a_deletion_gets_its_turn_while_another_process_keeps_merging() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Each process has its own handle.
    let open = |worker: &str| {
        let store = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("a store");
        let mut engine = engine(Arc::new(store), Arc::new(ReadingModel::default()));
        engine.index.worker = worker.to_owned();
        engine
    };
    let runtime = || tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (merging, deleting) = (open("merging"), open("deleting"));
    let documents = runtime().block_on(async {
        let mut documents = Vec::new();
        for number in 0..DELETED {
            documents.push(add(&deleting, number, &format!("Ada knows Bo{number}.")).await);
        }
        work(&deleting).await;
        documents
    });
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            runtime().block_on(async {
                for number in (DELETED..).take_while(|_| !over.load(Ordering::SeqCst)) {
                    add(&merging, number, &format!("Ada knows Cy{number}.")).await;
                    work(&merging).await;
                }
            });
        });
        scope.spawn(|| {
            runtime().block_on(async {
                for document in documents {
                    let removal = index::delete(&deleting, &[document]).await;
                    let removal = removal.inspect_err(|_| over.store(true, Ordering::SeqCst));
                    assert_eq!(removal.expect("it comes to its turn").documents, 1);
                }
            });
            over.store(true, Ordering::SeqCst);
        });
    });
    runtime().block_on(async {
        let snapshot = deleting.store.snapshot().await.expect("the store works");
        assert_eq!(check(snapshot.as_ref()).await.expect("the store works"), []);
    });
}
