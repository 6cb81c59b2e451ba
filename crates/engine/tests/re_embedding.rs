//! After re-embedding with another embedder, a workspace is the same as if it had been built with that embedder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use graphloom_core::{
    CacheKind, Embedder, EmbeddingSpec, Embeddings, ItemKey, ItemKind, ModelError, Purpose, Store, Usage,
    WorkspaceId, table,
};
use graphloom_engine::Engine;
use graphloom_engine::derive::{Communities, Deriver, Tree, derive, layer_states};
use graphloom_engine::index::{self, ReEmbedReport, StopRequest, re_embed};
use graphloom_engine::query::{Mode, QueryError, Question, retrieve};
use graphloom_storage::check::check;
use graphloom_storage::memory::MemoryStore;
use graphloom_storage::sqlite::SqliteStore;

use crate::support::{ReadingModel, engine, source};

/// Embeds letter counts as unit vectors with 26 dimensions.
#[derive(Default)]
struct LetterEmbedder {
    /// All texts that it embedded.
    texts: Mutex<Vec<String>>,
    calls: AtomicU32,
    /// Number of the call that fails.
    fails_at: Option<u32>,
    /// Requested during every call.
    stop: StopRequest,
}

#[async_trait]
impl Embedder for LetterEmbedder {
    fn name(&self) -> &str {
        "test-letters"
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(26)
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        if Some(self.calls.fetch_add(1, Ordering::Relaxed)) == self.fails_at {
            return Err(ModelError::Timeout { model: self.name().to_owned(), idle_ms: 1 });
        }
        self.stop.make();
        if purpose == Purpose::Document {
            self.texts.lock().expect("no panic").extend(texts.iter().cloned());
        }
        let vectors = texts.iter().map(|text| letters(text)).collect();
        Ok(Embeddings { vectors, usage: Usage::default(), attempts: 1 })
    }
}

fn letters(text: &str) -> Vec<f32> {
    let mut vector = [0.01_f32; 26];
    for letter in text.bytes().map(|byte| byte.to_ascii_lowercase()).filter(u8::is_ascii_lowercase) {
        vector[usize::from(letter - b'a')] += 1.0;
    }
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / norm).collect()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(WorkspaceId::default()))
}

fn by_letters(engine: &Engine, embedder: LetterEmbedder) -> (Engine, Arc<LetterEmbedder>) {
    let embedder = Arc::new(embedder);
    let mut by_letters = engine.clone();
    by_letters.models.embedder = embedder.clone();
    (by_letters, embedder)
}

async fn add(engine: &Engine, documents: &[(&str, &str)]) {
    let sources = documents.iter().map(|(name, text)| source(name, text)).collect();
    index::accept(engine, sources).await.expect("the store works");
    index::run(engine, &|_| {}, &|_| true).await.expect("store and model work");
}

async fn derive_layers(engine: &Engine) {
    let mut rules = engine.clone();
    rules.models.summarize = None;
    let layers: [&dyn Deriver; 2] = [&Communities, &Tree];
    for layer in layers {
        derive(&rules, layer, &|_| {}, &|_| true).await.expect("the store works");
    }
}

async fn embed_again(engine: &Engine) -> ReEmbedReport {
    re_embed(engine, &|_, _| {}).await.expect("store and model work")
}

/// Returns all vectors of the workspace.
async fn vectors(store: &dyn Store) -> BTreeMap<ItemKey, Vec<f32>> {
    let snapshot = store.snapshot().await.expect("the store works");
    let findings = check(snapshot.as_ref()).await.expect("the store works");
    assert_eq!(findings, [], "the store is sound");
    let mut found = BTreeMap::new();
    for kind in ItemKind::ALL {
        let entries = snapshot.scan(table::Vectors { kind }, None, 999).await.expect("the store works");
        let items: Vec<ItemKey> = entries.into_iter().map(|entry| entry.item).collect();
        let vectors = snapshot.vectors(&items).await.expect("the store works");
        found.extend(items.into_iter().zip(vectors).filter_map(|(item, vector)| Some((item, vector?))));
    }
    found
}

async fn next_vectors(store: &dyn Store) -> u64 {
    let snapshot = store.snapshot().await.expect("the store works");
    let sizes = snapshot.cache_sizes().await.expect("the store works");
    sizes.into_iter().filter(|size| size.kind == CacheKind::NextVector).map(|size| size.entries).sum()
}

const DOCUMENTS: [(&str, &str); 3] = [
    ("a.txt", "Ada knows Bo. Bo knows Cy. Cy knows the Dee."),
    ("b.txt", "Eve knows Ada. Ada knows Fay."),
    ("c.txt", "Cy knows Gus. Gus knows Hal. Hal knows Ada."),
];

async fn check_same_as_built(store: Arc<dyn Store>) {
    let old = engine(store, Arc::new(ReadingModel::default()));
    add(&old, &DOCUMENTS).await;
    derive_layers(&old).await;
    let (new, embedder) = by_letters(&old, LetterEmbedder::default());
    let report = embed_again(&new).await;
    let space = |model: &str, dimensions| Some(EmbeddingSpec { model: model.to_owned(), dimensions });
    assert_eq!((&report.from, &report.to), (&space("test-words", 16), &space("test-letters", 26)));

    let layers = layer_states(new.store.snapshot().await.expect("the store works").as_ref()).await;
    let layers = layers.expect("the store works");
    assert!(layers.iter().any(|layer| !layer.current), "the tree groups passages by vectors: {layers:?}");
    derive_layers(&new).await;
    let found = vectors(new.store.as_ref()).await;
    let (plain, _) =
        by_letters(&engine(memory(), Arc::new(ReadingModel::default())), LetterEmbedder::default());
    add(&plain, &DOCUMENTS).await;
    derive_layers(&plain).await;
    assert_eq!(found, vectors(plain.store.as_ref()).await);
    assert!(found.len() as u64 >= report.vectors && report.vectors > 10, "{} of {report:?}", found.len());
    assert_eq!(next_vectors(new.store.as_ref()).await, 0, "nothing is left over");

    let question = Question { text: "Who knows Gus?".to_owned(), mode: Mode::Naive, ..Question::default() };
    let asked = retrieve(&new, &question).await.expect("the new embedder answers");
    assert!(!asked.chunks.is_empty());
    let refused = retrieve(&old, &question).await.expect_err("vectors of another space");
    assert!(matches!(refused, QueryError::OtherEmbedder { .. }), "{refused:?}");
    let texts = embedder.texts.lock().expect("no panic").len() as u64;
    let again = embed_again(&new).await;
    assert_eq!((again.embedded, again.from), (0, again.to), "nothing is left to do");
    assert_eq!(embedder.texts.lock().expect("no panic").len() as u64, texts);
}

#[tokio::test]
async fn a_re_embedded_workspace_equals_one_built_with_the_new_embedder() {
    check_same_as_built(memory()).await;
}

#[tokio::test]
async fn the_same_holds_on_disk() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("a new store");
    check_same_as_built(Arc::new(store)).await;
}

#[tokio::test]
async fn vectors_from_before_a_failure_are_not_embedded_again() {
    let old = engine(memory(), Arc::new(ReadingModel::default()));
    let many: Vec<(String, String)> =
        (0..90).map(|n| (format!("{n}.txt"), format!("Ada{n} knows Bo{n}."))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    add(&old, &many).await;
    let before = vectors(old.store.as_ref()).await;

    let (failing, first) =
        by_letters(&old, LetterEmbedder { fails_at: Some(1), ..LetterEmbedder::default() });
    re_embed(&failing, &|_, _| {}).await.expect_err("the second call fails");
    assert_eq!(vectors(old.store.as_ref()).await, before, "questions still find the old vectors");
    let kept = next_vectors(old.store.as_ref()).await;
    assert!(kept > 0, "finished vectors are kept");

    let (new, second) = by_letters(&old, LetterEmbedder::default());
    let report = embed_again(&new).await;
    assert_eq!(report.embedded + kept, before.len() as u64);
    let first: BTreeSet<String> = first.texts.lock().expect("no panic").iter().cloned().collect();
    let twice = second.texts.lock().expect("no panic").iter().filter(|text| first.contains(*text)).count();
    assert_eq!(twice, 0);
}

#[tokio::test]
async fn documents_added_meanwhile_are_embedded_too() {
    let old = engine(memory(), Arc::new(ReadingModel::default()));
    add(&old, &DOCUMENTS).await;
    let (new, _) = by_letters(&old, LetterEmbedder::default());
    let added = Mutex::new(false);
    let runtime = tokio::runtime::Handle::current();
    let add_once = |_: u64, _: u64| {
        let mut added = added.lock().expect("no panic");
        if !std::mem::replace(&mut *added, true) {
            let old = old.clone();
            // Another process that still has the old embedder.
            std::thread::scope(|scope| {
                let adding = || runtime.block_on(add(&old, &[("d.txt", "Ida knows Jo.")]));
                scope.spawn(adding).join().expect("adding works");
            });
        }
    };
    re_embed(&new, &add_once).await.expect("store and model work");
    let found = vectors(new.store.as_ref()).await;
    assert!(found.values().all(|vector| vector.len() == 26));
    let names: Vec<String> = found.keys().map(|item| item.id().into_owned()).collect();
    assert!(names.iter().any(|name| name == "IDA"), "{names:?}");
}

#[tokio::test]
async fn a_document_queued_with_the_old_embedder_is_indexed_with_the_new_one() {
    let old = engine(memory(), Arc::new(ReadingModel::default()));
    add(&old, &DOCUMENTS).await;
    index::accept(&old, vec![source("e.txt", "Kim knows Leo.")]).await.expect("the store works");
    let (new, _) = by_letters(&old, LetterEmbedder::default());
    embed_again(&new).await;
    index::run(&old, &|_| {}, &|_| true).await.expect_err("the old embedder is refused");
    index::run(&new, &|_| {}, &|_| true).await.expect("store and model work");
    let found = vectors(new.store.as_ref()).await;
    assert!(found.keys().any(|item| item.id() == "KIM"));
}

#[tokio::test]
async fn a_stop_keeps_the_vectors_of_calls_in_flight_and_the_next_run_resumes() {
    let old = engine(memory(), Arc::new(ReadingModel::default()));
    add(&old, &DOCUMENTS).await;
    let (mut new, embedder) = by_letters(&old, LetterEmbedder::default());
    new.index.stop = embedder.stop.clone();
    let stopped = embed_again(&new).await;
    assert!(stopped.stopped && stopped.embedded > 0 && stopped.to == stopped.from, "{stopped:?}");
    assert_eq!(next_vectors(new.store.as_ref()).await, stopped.embedded);
    new.index.stop = StopRequest::default();
    let done = embed_again(&new).await;
    assert_eq!((done.embedded, done.stopped), (0, false), "nothing is paid for again");
    assert_eq!(done.to.map(|space| space.model).as_deref(), Some("test-letters"));
}
