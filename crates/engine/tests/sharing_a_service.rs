//! Extraction and merging share a model service that accepts few calls at once, and neither makes the other wait forever.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};

use async_trait::async_trait;
use graphloom_core::{
    ChatRequest, ChatStream, DocumentId, Embedder, Embeddings, LanguageModel, ModelError, Purpose,
    WorkspaceId,
};
use graphloom_engine::Engine;
use graphloom_engine::chunk_context::ContextWriter;
use graphloom_engine::index::{self, Acceptance};
use graphloom_storage::memory::MemoryStore;
use tokio::sync::Semaphore;

use crate::support::{ReadingModel, WordEmbedder, engine, source};

/// Number of documents: more than can wait for the merger and be processed at the same time.
const DOCUMENTS: usize = 160;

/// A service that handles one call at a time, in the order of the calls, like a rate limit.
struct Service {
    turn: Semaphore,
    model: ReadingModel,
}

impl Service {
    fn new() -> Arc<Self> {
        Arc::new(Self { turn: Semaphore::new(1), model: ReadingModel::default() })
    }
}

#[async_trait]
impl LanguageModel for Service {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let _turn = self.turn.acquire().await.expect("it is never closed");
        steps(3).await;
        self.model.chat(request).await
    }
}

#[async_trait]
impl Embedder for Service {
    fn name(&self) -> &str {
        WordEmbedder.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        WordEmbedder.dimensions().await
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        // Embedding for a merge takes so long that all other documents become ready in the meantime.
        if texts.len() > 2 {
            steps(4000).await;
        }
        let _turn = self.turn.acquire().await.expect("it is never closed");
        steps(3).await;
        WordEmbedder.embed(purpose, texts).await
    }
}

/// Completes after this many polls.
async fn steps(mut left: usize) {
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[derive(Default)]
struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls `work` until it is done; panics if nothing would ever wake it again.
fn finish<T>(work: impl Future<Output = T>) -> T {
    let (mut work, wake_flag) = (pin!(work), Arc::new(WakeFlag::default()));
    let waker = Arc::clone(&wake_flag).into();
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        assert!(wake_flag.0.swap(false, Ordering::SeqCst), "all wait for each other");
    }
}

fn new_engine() -> Engine {
    let service = Service::new();
    let store = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let mut engine = engine(store, Arc::new(ReadingModel::default()));
    engine.models.extract = Some(service.clone());
    engine.models.embedder = service;
    engine
}

async fn add(engine: &Engine, name: String, text: &str) -> DocumentId {
    match index::accept(engine, vec![source(&name, text)]).await.expect("the store works").remove(0) {
        Acceptance::Accepted { document, .. } => document,
        other => panic!("not accepted: {other:?}"),
    }
}

#[test]
fn documents_waiting_for_the_merger_do_not_keep_the_service_busy() {
    finish(async {
        let engine = new_engine();
        for number in 0..DOCUMENTS {
            add(&engine, format!("{number}.txt"), &format!("Ada{number} knows Bo{number}.")).await;
        }
        let report = index::run(&engine, &|_| {}, &|_| false).await.expect("store and model work");
        assert_eq!(report.finished as usize, DOCUMENTS);
    });
}

#[test]
fn calls_in_flight_do_not_block_the_embedding_of_an_answer() {
    finish(async {
        let mut engine = new_engine();
        engine.index.chunk.max_chunk_tokens = Some(12);
        engine.index.chunk.overlap_tokens = 0;
        let text: String = (0..20).map(|number| format!("Ada{number} knows Bo{number}.\n\n")).collect();
        let id = add(&engine, "a.txt".to_owned(), &text).await;
        index::run(&engine, &|_| {}, &|_| false).await.expect("store and model work");
        let Some(model) = engine.models.extract.clone() else { return };
        engine.models.context_writer = ContextWriter::Model(model);
        let report = index::contextualize(&engine, &[id], &|_| {}).await.expect("store and model work");
        assert_eq!(report.contextualized, 10, "every chunk");
    });
}
