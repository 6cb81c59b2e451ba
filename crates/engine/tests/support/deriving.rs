//! Shared by the tests of both layers: a model that writes their texts, and laws that hold for any deriver.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use graphloom_core::{
    ChatEvent, ChatRequest, ChatStream, Completion, FinishReason, LanguageModel, ModelError, Role, Store,
    Usage, WorkspaceId, table, write_dump,
};
use graphloom_engine::derive::{DeriveReport, Deriver, derive};
use graphloom_engine::{Engine, index};
use graphloom_storage::check::check;
use graphloom_storage::faulty::{Cut, FaultyStore};
use graphloom_storage::memory::MemoryStore;

use crate::support::intercepted_store::InterceptedStore;

/// Answers with a function of the last message; fails if the message contains a given word.
pub(crate) struct WritingModel {
    name: &'static str,
    answer: fn(&str) -> String,
    refuses: Option<&'static str>,
    asked: AtomicU32,
    /// Every prompt, with its messages concatenated.
    prompts: Mutex<Vec<String>>,
}

impl WritingModel {
    pub(crate) fn new(name: &'static str, answer: fn(&str) -> String) -> Self {
        Self { name, answer, refuses: None, asked: AtomicU32::new(0), prompts: Mutex::default() }
    }

    pub(crate) fn refusing(self, word: &'static str) -> Self {
        Self { refuses: Some(word), ..self }
    }

    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }

    /// Returns the prompts in the order in which they arrived.
    pub(crate) fn prompts(&self) -> Vec<String> {
        self.prompts.lock().expect("no panic").clone()
    }
}

#[async_trait]
impl LanguageModel for WritingModel {
    fn name(&self) -> &str {
        self.name
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let data = &request.messages.last().expect("a message").content;
        let prompt = request.messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>();
        self.prompts.lock().expect("no panic").push(prompt.join("\n=== user ===\n"));
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        if self.refuses.is_some_and(|word| data.contains(word)) {
            let what = "overloaded".to_owned();
            return Err(ModelError::Server { model: self.name.to_owned(), status: 503, what });
        }
        let usage = Usage { prompt_tokens: 10, completion_tokens: 5, ..Usage::default() };
        let done = Completion { finish: FinishReason::Stop, usage, attempts: 1 };
        let answer = (self.answer)(data);
        // Every second answer arrives after the next one, so answers to concurrent calls change places.
        if number.is_multiple_of(2) {
            tokio::task::yield_now().await;
        }
        Ok(stream::iter([Ok(ChatEvent::Delta(answer)), Ok(ChatEvent::Done(done))]).boxed())
    }
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(WorkspaceId::default()))
}

pub(crate) async fn run_deriver(engine: &Engine, deriver: &dyn Deriver) -> DeriveReport {
    derive(engine, deriver, &|_| {}, &|_| true).await.expect("store and model work")
}

pub(crate) async fn remove_source(engine: &Engine, name: &str) {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let versions = snapshot.documents_of_sources(&[name.to_owned()]).await.expect("the store works");
    let ids: Vec<_> = versions.concat().into_iter().map(|document| document.id).collect();
    index::delete(engine, &ids).await.expect("deleting works");
}

pub(crate) async fn dump(engine: &Engine) -> String {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert_eq!(check(snapshot.as_ref()).await.expect("the store works"), [], "the store is sound");
    let mut lines = Vec::new();
    write_dump(snapshot.as_ref(), &mut lines).await.expect("memory does not fail");
    String::from_utf8(lines).expect("a dump is text")
}

/// Returns the number of calls for summaries and reports in the ledger.
pub(crate) async fn paid_calls(engine: &Engine) -> u64 {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let calls = snapshot.scan(table::Calls, None, 999).await.expect("read");
    calls.iter().filter(|call| call.role == Role::Summarize).count() as u64
}

/// Checks that the next run finishes a run that dies at any commit, with at most one call more than an uninterrupted run.
///
/// - `model`: returns a new model; `world`: returns an engine with documents and that model.
pub(crate) async fn check_deaths(
    deriver: &dyn Deriver,
    commits: usize,
    model: fn() -> WritingModel,
    world: impl AsyncFn(Arc<WritingModel>) -> Engine,
) {
    let whole_model = Arc::new(model());
    let whole = world(whole_model.clone()).await;
    run_deriver(&whole, deriver).await;
    let (expected, calls) = (dump(&whole).await, whole_model.asked());
    let mut deaths = 0;
    for call in 0..commits {
        for cut in [Cut::Before, Cut::After] {
            let model = Arc::new(model());
            let engine = world(model.clone()).await;
            let mut dying = engine.clone();
            let shared = InterceptedStore { store: engine.store.clone(), interceptor: () };
            dying.store = Arc::new(FaultyStore::new(shared, call, cut));
            dying.index.max_concurrent_calls = 1;
            deaths += u32::from(derive(&dying, deriver, &|_| {}, &|_| true).await.is_err());
            run_deriver(&engine, deriver).await;
            assert_eq!(dump(&engine).await, expected, "cut {cut:?} at {call}");
            let asked = model.asked();
            assert!(asked <= calls + 1, "at most the call in flight is paid for twice: {asked} of {calls}");
        }
    }
    assert!(deaths > 5, "{deaths}");
}

/// Checks that two builds send the same prompts, whatever the order of documents and the number of concurrent calls.
pub(crate) async fn check_prompts(
    deriver: &dyn Deriver,
    model: fn() -> WritingModel,
    world: impl AsyncFn(Arc<WritingModel>, bool) -> Engine,
) {
    let mut sent = Vec::new();
    for (reversed, calls) in [(false, 1), (false, 4), (true, 4)] {
        let model = Arc::new(model());
        let mut engine = world(model.clone(), reversed).await;
        engine.index.max_concurrent_calls = calls;
        let derived = run_deriver(&engine, deriver).await;
        assert!(derived.current && derived.written >= 2, "{derived:?}");
        let mut prompts = model.prompts();
        prompts.sort_unstable();
        sent.push(prompts);
    }
    assert_eq!(sent[0], sent[1], "calls in flight change no prompt");
    assert_eq!(sent[0], sent[2], "the order of documents changes no prompt");
}
