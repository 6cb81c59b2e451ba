//! Embedding models of an Ollama server.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};
use serde::{Deserialize, Serialize};

use crate::embed_batches::{Batcher, EmbedBatching, EmbedProtocol};
use crate::endpoint::{ConfigError, Endpoint};
use crate::http::{HttpClient, encode};

/// Settings of an embedding model.
#[derive(Debug, Clone)]
pub struct OllamaEmbedderConfig {
    /// The server.
    pub endpoint: Endpoint,
    /// The model's name in Ollama, such as `nomic-embed-text`.
    pub model: String,
    /// How texts are split into requests.
    pub batching: EmbedBatching,
}

/// An embedding model of an Ollama server. The server truncates texts longer than the model's context.
#[derive(Debug)]
pub struct OllamaEmbedder {
    protocol: OllamaEmbeddings,
    batcher: Batcher,
}

impl OllamaEmbedder {
    /// Creates the model. Sends nothing yet.
    pub fn new(http: Arc<HttpClient>, config: OllamaEmbedderConfig) -> Result<Self, ConfigError> {
        let OllamaEmbedderConfig { endpoint, model, batching } = config;
        let name = format!("{}:{model}", endpoint.label);
        let target = endpoint.target("api/embed", &name)?;
        let protocol = OllamaEmbeddings { model: model.clone() };
        Ok(Self { protocol, batcher: Batcher::new(http, target, endpoint.label, model, batching) })
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

impl EmbedProtocol for OllamaEmbeddings {
    fn body(&self, _: Purpose, texts: &[String]) -> Result<Bytes, ModelError> {
        encode(&EmbedBody { model: &self.model, input: texts, truncate: true }, &self.model)
    }

    fn read(&self, body: &[u8], _: usize) -> Result<(Vec<Vec<f32>>, Usage), String> {
        let read: EmbedAnswer =
            serde_json::from_slice(body).map_err(|error| format!("invalid embeddings: {error}"))?;
        let usage = Usage { prompt_tokens: read.prompt_eval_count.unwrap_or(0), ..Usage::default() };
        Ok((read.embeddings, usage))
    }

    fn learn(&self, _: &str) {}
}
