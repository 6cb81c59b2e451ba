//! Embedding models of an Ollama server.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use crate::chat_stream::{call_span, record_usage};
use crate::embed_batches::{Batcher, EmbedBatching, EmbedProtocol};
use crate::endpoint::{ConfigError, Endpoint};
use crate::http::{Delivery, HttpClient, Target};
use crate::openai::{BYTES_PER_TOKEN, encode};

/// An embedding model to set up.
#[derive(Debug, Clone)]
pub struct OllamaEmbedderConfig {
    /// The server.
    pub endpoint: Endpoint,
    /// The model as Ollama calls it, such as `nomic-embed-text`.
    pub model: String,
    /// How texts become requests.
    pub batching: EmbedBatching,
}

/// An embedding model of an Ollama server. Texts longer than the model's context are cut by the server.
#[derive(Debug)]
pub struct OllamaEmbedder {
    protocol: OllamaEmbeddings,
    batcher: Batcher,
}

impl OllamaEmbedder {
    /// Sets the model up; nothing is sent yet.
    pub fn new(http: Arc<HttpClient>, config: OllamaEmbedderConfig) -> Result<Self, ConfigError> {
        let OllamaEmbedderConfig { endpoint, model, batching } = config;
        let name = format!("{}:{model}", endpoint.label);
        let target = endpoint.target("api/embed", &name)?;
        let protocol = OllamaEmbeddings { http, target, label: endpoint.label, model };
        Ok(Self { protocol, batcher: Batcher::new(name, batching) })
    }
}

#[async_trait]
impl Embedder for OllamaEmbedder {
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
struct OllamaEmbeddings {
    http: Arc<HttpClient>,
    target: Target,
    label: String,
    model: String,
}

#[derive(Debug, Serialize)]
struct EmbedBody<'a> {
    model: &'a str,
    input: &'a [String],
    truncate: bool,
}

#[derive(Debug, Deserialize)]
struct EmbedAnswer {
    embeddings: Vec<Vec<f32>>,
    prompt_eval_count: Option<u64>,
}

#[async_trait]
impl EmbedProtocol for OllamaEmbeddings {
    async fn embed_batch(&self, texts: &[String]) -> Result<Embeddings, ModelError> {
        let span = call_span("embeddings", &self.label, &self.model);
        let started = Instant::now();
        let body = EmbedBody { model: &self.model, input: texts, truncate: true };
        let bytes = encode(&body, self.target.model())?;
        let tokens = u64::try_from(bytes.len() / BYTES_PER_TOKEN).unwrap_or(u64::MAX);
        let mut answer =
            self.http.post(&self.target, bytes, tokens, Delivery::Whole).instrument(span.clone()).await?;
        let body = answer.chunk().await?.unwrap_or_default();
        let read: EmbedAnswer = serde_json::from_slice(&body).map_err(|error| ModelError::Malformed {
            model: self.target.model().to_owned(),
            what: self.target.readable(&format!("its embeddings cannot be read: {error}")),
        })?;
        let usage = Usage { prompt_tokens: read.prompt_eval_count.unwrap_or(0), completion_tokens: 0 };
        answer.settle(usage);
        record_usage(&span, usage, answer.attempts(), started);
        Ok(Embeddings { vectors: read.embeddings, usage, attempts: answer.attempts() })
    }
}
