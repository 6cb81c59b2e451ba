//! A slow embedder has its work committed every few seconds, and leaves the same workspace as a fast one.

#[allow(dead_code, reason = "shared with tests that need more of it")]
mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use graphloom_core::{Clock, Embedder, Embeddings, ModelError, Purpose, Timestamp, WorkspaceId, write_dump};
use graphloom_engine::index;
use graphloom_storage::memory::MemoryStore;
use support::{ReadingModel, WordEmbedder, engine, source};

/// An embedder that takes `ms_each` for every text by its own clock, and notes how many texts it gets at once.
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
        WordEmbedder.embed(purpose, texts).await
    }
}

impl Clock for SlowEmbedder {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }
}

/// The texts of each call after the chunks were embedded, and the dump without its times.
async fn index_with(ms_each: u64) -> (Vec<usize>, String) {
    let embedder = Arc::new(SlowEmbedder { ms_each, now: AtomicU64::new(1), calls: Mutex::default() });
    let mut engine =
        engine(Arc::new(MemoryStore::new(WorkspaceId::default())), Arc::new(ReadingModel::default()));
    (engine.models.embedder, engine.clock) = (embedder.clone(), embedder.clone());
    engine.index.chunk.max_chunk_tokens = Some(12);
    engine.index.chunk.overlap_tokens = 0;
    let text: String = (0..100).map(|n| format!("Ada{n} knows Bob{n}. ")).collect();
    index::accept(&engine, vec![source("a.txt", &text)]).await.expect("the store works");
    let report = index::run(&engine, &|_| {}, &|_| true).await.expect("store and models work");
    assert_eq!(report.finished, 1);
    let calls = embedder.calls.lock().expect("no test panicked").split_off(1);
    let mut dump = Vec::new();
    let snapshot = engine.store.snapshot().await.expect("the store works");
    write_dump(snapshot.as_ref(), &mut dump).await.expect("memory does not fail");
    (calls, String::from_utf8(dump).expect("a dump is text"))
}

#[tokio::test]
async fn a_slow_embedder_gets_little_at_a_time_and_ends_with_the_same_graph() {
    let (fast, expected) = index_with(0).await;
    assert_eq!(fast, [300], "one merge embeds 200 entities and 100 relations");
    let (slow, dump) = index_with(100).await;
    assert_eq!(slow.iter().sum::<usize>(), 300, "nothing is embedded twice: {slow:?}");
    assert!(slow.iter().all(|texts| *texts <= 64), "a merge embeds for about five seconds at most: {slow:?}");
    assert_eq!(dump, expected);
}
