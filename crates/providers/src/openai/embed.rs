//! Embedding models behind OpenAI's protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};
use tracing::{Instrument, warn};

use super::chat::{BYTES_PER_TOKEN, encode};
use super::embed_wire::{EmbeddingAnswer, EmbeddingBody, EmbeddingItem};
use crate::chat_stream::{call_span, record_usage};
use crate::embed_batches::{Batcher, EmbedBatching, EmbedProtocol};
use crate::endpoint::{ConfigError, Endpoint};
use crate::http::{Delivery, HttpAnswer, HttpClient, Target, provider_error};

/// An embedding model to set up.
#[derive(Debug, Clone)]
pub struct OpenAiEmbedderConfig {
    /// The server.
    pub endpoint: Endpoint,
    /// The model as the server calls it.
    pub model: String,
    /// Asks for shorter vectors, where the model can cut its own; part of the name.
    pub dimensions: Option<u32>,
    /// How texts become requests.
    pub batching: EmbedBatching,
}

/// An embedding model behind OpenAI's protocol.
///
/// Vectors travel as base64, which costs a tenth of the time of reading numbers from JSON; a server that refuses
/// the format is asked for numbers from then on, and one that ignores it is understood.
#[derive(Debug)]
pub struct OpenAiEmbedder {
    protocol: OpenAiEmbeddings,
    batcher: Batcher,
}

impl OpenAiEmbedder {
    /// Sets the model up; nothing is sent yet.
    pub fn new(http: Arc<HttpClient>, config: OpenAiEmbedderConfig) -> Result<Self, ConfigError> {
        let OpenAiEmbedderConfig { endpoint, model, dimensions, batching } = config;
        let name = match dimensions {
            Some(dimensions) => format!("{}:{model}@{dimensions}", endpoint.label),
            None => format!("{}:{model}", endpoint.label),
        };
        let target = endpoint.target("embeddings", &name)?;
        let as_numbers = AtomicBool::new(false);
        let protocol =
            OpenAiEmbeddings { http, target, label: endpoint.label, model, dimensions, as_numbers };
        Ok(Self { protocol, batcher: Batcher::new(name, batching) })
    }
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn name(&self) -> &str {
        self.batcher.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        self.batcher.dimensions(&self.protocol).await
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        self.batcher.embed(&self.protocol, purpose, texts).await
    }
}

#[derive(Debug)]
struct OpenAiEmbeddings {
    http: Arc<HttpClient>,
    target: Target,
    label: String,
    model: String,
    dimensions: Option<u32>,
    /// Whether the server refused base64.
    as_numbers: AtomicBool,
}

impl OpenAiEmbeddings {
    async fn ask(&self, texts: &[String]) -> Result<HttpAnswer, ModelError> {
        let as_numbers = self.as_numbers.load(Ordering::Relaxed);
        let body = EmbeddingBody {
            model: &self.model,
            input: texts,
            encoding_format: if as_numbers { "float" } else { "base64" },
            dimensions: self.dimensions,
        };
        let bytes = encode(&body, self.target.model())?;
        let tokens = u64::try_from(bytes.len() / BYTES_PER_TOKEN).unwrap_or(u64::MAX);
        self.http.post(&self.target, bytes, tokens, Delivery::Whole).await
    }

    fn read(&self, body: &[u8], texts: usize) -> Result<(Vec<Vec<f32>>, Usage), ModelError> {
        let malformed = |what: String| ModelError::Malformed {
            model: self.target.model().to_owned(),
            what: self.target.readable(&what),
        };
        let answer: EmbeddingAnswer = serde_json::from_slice(body)
            .map_err(|error| malformed(format!("its embeddings cannot be read: {error}")))?;
        if answer.data.len() != texts {
            return Err(provider_error(&self.target, body)
                .unwrap_or_else(|| malformed(format!("{} vectors for {texts} texts", answer.data.len()))));
        }
        let usage = answer.usage.map_or(0, |usage| usage.prompt_tokens);
        let mut vectors = vec![Vec::new(); texts];
        for (at, EmbeddingItem { index, embedding }) in answer.data.into_iter().enumerate() {
            let index = index.unwrap_or(at);
            match vectors.get_mut(index) {
                Some(place) if place.is_empty() => *place = embedding.0,
                _ => return Err(malformed(format!("vector {index} of {texts} twice or out of range"))),
            }
        }
        Ok((vectors, Usage { prompt_tokens: usage, completion_tokens: 0 }))
    }
}

#[async_trait]
impl EmbedProtocol for OpenAiEmbeddings {
    async fn embed_batch(&self, texts: &[String]) -> Result<Embeddings, ModelError> {
        let span = call_span("embeddings", &self.label, &self.model);
        let started = Instant::now();
        let mut answer = match self.ask(texts).instrument(span.clone()).await {
            Err(ModelError::Refused { what, .. })
                if (what.contains("encoding_format") || what.contains("base64"))
                    && !self.as_numbers.load(Ordering::Relaxed) =>
            {
                self.as_numbers.store(true, Ordering::Relaxed);
                warn!(
                    gen_ai.request.model = self.model,
                    "the server refuses base64 vectors; asking for numbers"
                );
                self.ask(texts).instrument(span.clone()).await?
            }
            answer => answer?,
        };
        let body = answer.chunk().await?.unwrap_or_default();
        let (vectors, usage) = self.read(&body, texts.len())?;
        answer.settle(usage);
        record_usage(&span, usage, answer.attempts(), started);
        Ok(Embeddings { vectors, usage, attempts: answer.attempts() })
    }
}
