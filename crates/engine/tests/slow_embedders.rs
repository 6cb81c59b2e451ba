//! With a slow embedder, work is committed every few seconds, and the workspace ends up the same as with a fast one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use graphloom_core::{
    Clock, Embedder, Embeddings, ModelError, Progress, Purpose, Stage, Timestamp, WorkspaceId, write_dump,
};
use graphloom_engine::{Engine, index};
use graphloom_storage::memory::MemoryStore;

use crate::support::{ReadingModel, WordEmbedder, engine, source};

/// An embedder that takes `ms_each` per text by its own clock, and records the number of texts in each call.
struct SlowEmbedder {
    ms_each: u64,
    now: AtomicU64,
    calls: Mutex<Vec<usize>>,
}

#[async_trait]
impl Embedder for SlowEmbedder {
    fn name(&self) -> &str {
        WordEmbedder.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        WordEmbedder.dimensions().await
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        self.now.fetch_add(self.ms_each * texts.len() as u64, Ordering::SeqCst);
        self.calls.lock().expect("no test panicked").push(texts.len());
        // Like a local model, it makes no network attempts.
        Ok(Embeddings { attempts: 0, ..WordEmbedder.embed(purpose, texts).await? })
    }
}

impl Clock for SlowEmbedder {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }
}

/// Number of chunks in the document of [`engine_with`].
const CHUNKS: usize = 51;

/// Returns an engine with an embedder that takes `ms_each` per text, and one accepted document.
async fn engine_with(ms_each: u64) -> (Engine, Arc<SlowEmbedder>) {
    let embedder = Arc::new(SlowEmbedder { ms_each, now: AtomicU64::new(1), calls: Mutex::default() });
    let mut engine =
        engine(Arc::new(MemoryStore::new(WorkspaceId::default())), Arc::new(ReadingModel::default()));
    (engine.models.embedder, engine.clock) = (embedder.clone(), embedder.clone());
    engine.index.chunk.max_chunk_tokens = Some(12);
    engine.index.chunk.overlap_tokens = 0;
    let text: String = (0..100).map(|n| format!("Ada{n} knows Bob{n}. ")).collect();
    index::accept(&engine, vec![source("a.txt", &text)]).await.expect("the store works");
    (engine, embedder)
}

async fn dump_of(engine: &Engine) -> String {
    let mut dump = Vec::new();
    let snapshot = engine.store.snapshot().await.expect("the store works");
    write_dump(snapshot.as_ref(), &mut dump).await.expect("memory does not fail");
    String::from_utf8(dump).expect("a dump is text")
}

/// Returns the number of texts in each call for chunks and in each later call, and the dump without times.
async fn index_with(ms_each: u64) -> (Vec<usize>, Vec<usize>, String) {
    let (engine, embedder) = engine_with(ms_each).await;
    let report = index::run(&engine, &|_| {}, &|_| true).await.expect("store and models work");
    assert_eq!(report.finished, 1);
    let (mut of_chunks, mut of_graph) = (Vec::new(), Vec::new());
    for &texts in embedder.calls.lock().expect("no test panicked").iter() {
        let is_of_chunks = of_chunks.iter().sum::<usize>() < CHUNKS;
        if is_of_chunks { of_chunks.push(texts) } else { of_graph.push(texts) }
    }
    (of_chunks, of_graph, dump_of(&engine).await)
}

#[tokio::test]
async fn a_slow_embedder_gets_small_batches_and_ends_with_the_same_graph() {
    let (chunks, fast, expected) = index_with(0).await;
    assert_eq!(chunks, [16, 35], "the first step is small, because the embedder's speed is unknown");
    assert_eq!(fast, [300], "one merge embeds 200 entities and 100 relations");
    let (chunks, slow, dump) = index_with(100).await;
    assert_eq!(chunks, [16, 15, 15, 5], "a step of a document embeds for one and a half seconds");
    assert_eq!(slow.iter().sum::<usize>(), 300, "nothing is embedded twice: {slow:?}");
    assert!(slow.iter().all(|texts| *texts <= 64), "a merge embeds for about five seconds at most: {slow:?}");
    assert_eq!(dump, expected);
}

#[tokio::test]
async fn a_stopped_run_keeps_its_vectors_and_the_next_run_embeds_the_rest() {
    let (_, _, expected) = index_with(100).await;
    let (mut engine, embedder) = engine_with(100).await;
    let stop = engine.index.stop.clone();
    let after_two_steps = |progress: Progress| {
        let Progress::Advanced { stage: Stage::Chunk, done, .. } = progress else { return };
        if done == 31 {
            stop.make();
        }
    };
    let report = index::run(&engine, &after_two_steps, &|_| true).await.expect("store and models work");
    assert!(report.stopped);
    assert_eq!(*embedder.calls.lock().expect("no test panicked"), [16, 15]);
    engine.index.stop = index::StopRequest::default();
    let report = index::run(&engine, &|_| {}, &|_| true).await.expect("store and models work");
    assert_eq!(report.finished, 1);
    let calls = embedder.calls.lock().expect("no test panicked").clone();
    assert_eq!(calls[2..4], [16, 4], "{calls:?}");
    assert_eq!(dump_of(&engine).await, expected);
}
