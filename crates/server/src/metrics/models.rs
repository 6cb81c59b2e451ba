//! Wraps models to count their calls.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use async_trait::async_trait;
use futures::{Stream, StreamExt};
use graphloom_core::{
    ChatEvent, ChatRequest, ChatStream, Embedder, Embeddings, FinishReason, LanguageModel, ModelError,
    Purpose, Reranker, Reranking, Role, Usage,
};
use graphloom_engine::Engine;
use graphloom_engine::chunk_context::ContextWriter;
use graphloom_engine::money::Prices;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{Metrics, SECONDS};

/// Maximum models with their own label; further models share [`OTHER`].
const MAX_MODELS: usize = 64;
/// The shared label.
pub(super) const OTHER: &str = "other";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallOf {
    role: &'static str,
    model: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModelOf {
    role: &'static str,
    model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RoleOf {
    role: &'static str,
}

/// Counters of model calls.
pub(super) struct ModelCounters {
    calls: Family<CallOf, Counter>,
    prompt_tokens: Family<ModelOf, Counter>,
    cached_prompt_tokens: Family<ModelOf, Counter>,
    completion_tokens: Family<ModelOf, Counter>,
    cost: Family<ModelOf, Counter<f64, AtomicU64>>,
    seconds: Family<RoleOf, Histogram>,
    known: Mutex<BTreeSet<String>>,
}

impl ModelCounters {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let counters = Self {
            calls: Family::default(),
            prompt_tokens: Family::default(),
            cached_prompt_tokens: Family::default(),
            completion_tokens: Family::default(),
            cost: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            known: Mutex::default(),
        };
        registry.register(
            "model_calls",
            "Model calls, including models in this process",
            counters.calls.clone(),
        );
        registry.register("model_prompt_tokens", "Tokens sent to models", counters.prompt_tokens.clone());
        let about = "Tokens sent that the provider read from its prompt cache";
        registry.register("model_cached_prompt_tokens", about, counters.cached_prompt_tokens.clone());
        registry.register("model_completion_tokens", "Tokens received", counters.completion_tokens.clone());
        let about = "Cost of calls in the currency of the configured prices";
        registry.register("model_cost", about, counters.cost.clone());
        registry.register("model_call_duration_seconds", "Time until a call ended", counters.seconds.clone());
        counters
    }

    /// The label of a model.
    fn label(&self, model: &str) -> String {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(model) || known.len() < MAX_MODELS {
            known.insert(model.to_owned());
            return model.to_owned();
        }
        OTHER.to_owned()
    }
}

/// The engine with counted models.
pub(crate) fn counted(mut engine: Engine, metrics: &Arc<Metrics>, prices: &Arc<Prices>) -> Engine {
    let meter = |role| RoleMeter { metrics: Arc::clone(metrics), prices: Arc::clone(prices), role };
    let chat = |role, inner: Arc<dyn LanguageModel>| -> Arc<dyn LanguageModel> {
        Arc::new(CountedChat { inner, meter: meter(role) })
    };
    let models = &mut engine.models;
    for (role, model) in [
        (Role::Extract, &mut models.extract),
        (Role::Keywords, &mut models.keywords),
        (Role::Summarize, &mut models.summarize),
        (Role::Answer, &mut models.answer),
    ] {
        *model = model.take().map(|inner| chat(role, inner));
    }
    if let ContextWriter::Model(inner) = &models.context_writer {
        models.context_writer = ContextWriter::Model(chat(Role::Context, Arc::clone(inner)));
    }
    let inner = Arc::clone(&models.embedder);
    models.embedder = Arc::new(CountedEmbedder { inner, meter: meter(Role::Embed) });
    models.reranker = models.reranker.take().map(|inner| -> Arc<dyn Reranker> {
        Arc::new(CountedReranker { inner, meter: meter(Role::Rerank) })
    });
    engine
}

/// Labels of the calls of one role.
struct RoleMeter {
    metrics: Arc<Metrics>,
    prices: Arc<Prices>,
    role: Role,
}

impl RoleMeter {
    fn begin(&self, model: &str) -> Tally {
        Tally::begin(&self.metrics, &self.prices, self.role, model)
    }
}

/// A call in progress; dropping it counts as cancelled.
pub(super) struct Tally {
    metrics: Arc<Metrics>,
    prices: Arc<Prices>,
    role: &'static str,
    model: String,
    started: Instant,
    has_ended: bool,
}

impl Tally {
    pub(super) fn begin(metrics: &Arc<Metrics>, prices: &Arc<Prices>, role: Role, model: &str) -> Self {
        Self {
            metrics: Arc::clone(metrics),
            prices: Arc::clone(prices),
            role: role.name(),
            model: model.to_owned(),
            started: Instant::now(),
            has_ended: false,
        }
    }

    /// Records the outcome and usage.
    pub(super) fn end(mut self, outcome: &'static str, usage: Usage) {
        self.has_ended = true;
        self.count(outcome, usage);
    }

    fn count(&self, outcome: &'static str, usage: Usage) {
        let counters = &self.metrics.models;
        let (role, model) = (self.role, counters.label(&self.model));
        counters.calls.get_or_create(&CallOf { role, model: model.clone(), outcome }).inc();
        counters.seconds.get_or_create(&RoleOf { role }).observe(self.started.elapsed().as_secs_f64());
        let of = ModelOf { role, model };
        for (family, tokens) in [
            (&counters.prompt_tokens, usage.prompt_tokens),
            (&counters.cached_prompt_tokens, usage.cached_prompt_tokens),
            (&counters.completion_tokens, usage.completion_tokens),
        ] {
            family.get_or_create(&of).inc_by(tokens);
        }
        let cost = self.prices.of(&self.model).map(|price| serde_json::json!(price.of(usage)));
        if let Some(cost) = cost.and_then(|cost| cost.as_f64()) {
            counters.cost.get_or_create(&of).inc_by(cost);
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if !self.has_ended {
            self.count("cancelled", Usage::default());
        }
    }
}

struct CountedChat {
    inner: Arc<dyn LanguageModel>,
    meter: RoleMeter,
}

#[async_trait]
impl LanguageModel for CountedChat {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let tally = self.meter.begin(self.name());
        match self.inner.chat(request).await {
            Ok(inner) => Ok(CountedStream { inner, tally: Some(tally) }.boxed()),
            Err(error) => {
                tally.end("failed", Usage::default());
                Err(error)
            }
        }
    }
}

struct CountedStream {
    inner: ChatStream,
    tally: Option<Tally>,
}

impl Stream for CountedStream {
    type Item = Result<ChatEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.inner.poll_next_unpin(context);
        let (outcome, usage) = match &next {
            Poll::Pending | Poll::Ready(Some(Ok(ChatEvent::Delta(_)))) => return next,
            Poll::Ready(Some(Ok(ChatEvent::Done(completion)))) => match completion.finish {
                FinishReason::Length => ("truncated", completion.usage),
                FinishReason::Stop | FinishReason::Other => ("ok", completion.usage),
            },
            Poll::Ready(Some(Err(_)) | None) => ("failed", Usage::default()),
        };
        if let Some(tally) = self.tally.take() {
            tally.end(outcome, usage);
        }
        next
    }
}

struct CountedEmbedder {
    inner: Arc<dyn Embedder>,
    meter: RoleMeter,
}

#[async_trait]
impl Embedder for CountedEmbedder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        self.inner.dimensions().await
    }

    fn is_lexical(&self) -> bool {
        self.inner.is_lexical()
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let tally = self.meter.begin(self.name());
        let embedded = self.inner.embed(purpose, texts).await;
        match &embedded {
            Ok(embedded) => tally.end("ok", embedded.usage),
            Err(_) => tally.end("failed", Usage::default()),
        }
        embedded
    }
}

struct CountedReranker {
    inner: Arc<dyn Reranker>,
    meter: RoleMeter,
}

#[async_trait]
impl Reranker for CountedReranker {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Reranking, ModelError> {
        let tally = self.meter.begin(self.name());
        let reranked = self.inner.rerank(query, passages).await;
        match &reranked {
            Ok(reranked) => tally.end("ok", reranked.usage),
            Err(_) => tally.end("failed", Usage::default()),
        }
        reranked
    }
}
