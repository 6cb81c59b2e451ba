//! An estimate matches what the run then sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use graphloom_core::{ChatRequest, ChatStream, LanguageModel, ModelError, WorkspaceId};
use graphloom_engine::Engine;
use graphloom_engine::extract::Gleaning;
use graphloom_engine::index::{self, Estimate, Estimator, Range, Step};
use graphloom_engine::money::prompt_tokens;
use graphloom_storage::memory::MemoryStore;

use crate::support::{ReadingModel, engine, source};

/// Counts its calls and their tokens.
#[derive(Default)]
struct CountingModel {
    model: ReadingModel,
    calls: AtomicU64,
    tokens: AtomicU64,
}

#[async_trait]
impl LanguageModel for CountingModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.tokens.fetch_add(prompt_tokens(&request.messages), Ordering::SeqCst);
        self.model.chat(request).await
    }
}

const TEXTS: [(&str, &str); 3] = [
    ("a.txt", "Maren Oskoldt knows Tobias Wren. Tobias Wren knows Ilse Brandt."),
    ("b.txt", "Ilse Brandt knows Maren Oskoldt."),
    ("c.txt", "Ilse Brandt knows Maren Oskoldt."),
];

fn world(gleaning: Gleaning) -> (Engine, Arc<CountingModel>) {
    let store = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let mut engine = engine(store, Arc::default());
    let model = Arc::new(CountingModel::default());
    engine.models.extract = Some(model.clone());
    engine.index.extract.gleaning = gleaning;
    (engine, model)
}

async fn check_estimate(engine: &Engine, texts: &[(&str, &str)]) -> Estimate {
    let mut estimator = Estimator::start(engine, true).await.expect("a store in memory");
    let sources =
        texts.iter().map(|(name, text)| index::read(source(name, text), &engine.index.limits)).collect();
    estimator.add(sources).await.expect("a store in memory");
    estimator.finish()
}

fn step(estimate: &Estimate, step: Step) -> Option<(Range, Range)> {
    let found = estimate.steps.iter().find(|expected| expected.step == step)?;
    Some((found.calls, found.input_tokens))
}

#[tokio::test]
async fn first_calls_are_estimated_exactly() {
    let (engine, model) = world(Gleaning::Passes(0));
    let estimate = check_estimate(&engine, &TEXTS).await;
    assert_eq!(model.calls.load(Ordering::SeqCst), 0);
    assert_eq!((estimate.documents, estimate.chunks, estimate.reused), (3, 3, 1));
    let sources = TEXTS.map(|(name, text)| source(name, text)).into();
    index::accept(&engine, sources).await.expect("accepted");
    let waiting = check_estimate(&engine, &[]).await;
    assert_eq!(
        (waiting.waiting, &waiting.steps),
        (3, &estimate.steps),
        "waiting documents count like new ones"
    );
    index::run(&engine, &|_| {}, &|_| false).await.expect("a run");
    let exactly = |number| Range { low: number, high: number };
    let sent = (exactly(model.calls.load(Ordering::SeqCst)), exactly(model.tokens.load(Ordering::SeqCst)));
    assert_eq!(step(&estimate, Step::Extract), Some(sent));
    assert_eq!(step(&estimate, Step::Glean), None);
    assert_eq!(step(&check_estimate(&engine, &TEXTS).await, Step::Extract), None, "everything is extracted");
}

#[tokio::test]
async fn actual_gleaning_calls_are_in_the_estimated_range() {
    for gleaning in [Gleaning::Auto, Gleaning::Passes(2)] {
        let (engine, model) = world(gleaning);
        let estimate = check_estimate(&engine, &TEXTS).await;
        index::accept(&engine, TEXTS.map(|(name, text)| source(name, text)).into()).await.expect("accepted");
        index::run(&engine, &|_| {}, &|_| false).await.expect("a run");
        let (first, again) = (step(&estimate, Step::Extract), step(&estimate, Step::Glean));
        let (calls, tokens) = first.into_iter().chain(again).fold(
            (Range::default(), Range::default()),
            |(mut calls, mut tokens), (more_calls, more_tokens)| {
                calls.add(more_calls);
                tokens.add(more_tokens);
                (calls, tokens)
            },
        );
        let (sent, sent_tokens) = (model.calls.load(Ordering::SeqCst), model.tokens.load(Ordering::SeqCst));
        assert!((calls.low..=calls.high).contains(&sent), "{gleaning}: {sent} in {calls:?}");
        assert!((tokens.low..=tokens.high).contains(&sent_tokens), "{gleaning}: {sent_tokens} in {tokens:?}");
    }
}
