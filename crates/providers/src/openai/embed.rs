//! Embedding models with OpenAI's API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};

use super::embed_wire::{EmbeddingAnswer, EmbeddingBody, EmbeddingItem};
use crate::embed_batches::{Batcher, EmbedBatching, EmbedProtocol};
use crate::endpoint::{ConfigError, Endpoint};
use crate::http::{HttpClient, encode};

/// Settings of an embedding model.
#[derive(Debug, Clone)]
pub struct OpenAiEmbedderConfig {
    /// The server.
    pub endpoint: Endpoint,
    /// The model's name on the server.
    pub model: String,
    /// Requests shorter vectors from models that support them. Part of the embedder's name.
    pub dimensions: Option<u32>,
    /// How texts are split into requests.
    pub batching: EmbedBatching,
}

/// An embedding model with OpenAI's API.
///
/// Requests vectors in base64, which takes a tenth of the time of parsing numbers from JSON. If a server
/// rejects base64, numbers are requested from then on. A server that ignores the option works too.
#[derive(Debug)]
pub struct OpenAiEmbedder {
    protocol: OpenAiEmbeddings,
    batcher: Batcher,
}

impl OpenAiEmbedder {
    /// Creates the model. Sends nothing yet.
    pub fn new(http: Arc<HttpClient>, config: OpenAiEmbedderConfig) -> Result<Self, ConfigError> {
        let OpenAiEmbedderConfig { endpoint, model, dimensions, batching } = config;
        let name = match dimensions {
            Some(dimensions) => format!("{}:{model}@{dimensions}", endpoint.label),
            None => format!("{}:{model}", endpoint.label),
        };
        let target = endpoint.target("embeddings", &name)?;
        let as_numbers = AtomicBool::new(false);
        let protocol = OpenAiEmbeddings { model: model.clone(), dimensions, as_numbers };
        Ok(Self { protocol, batcher: Batcher::new(http, target, endpoint.label, model, batching) })
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
    model: String,
    dimensions: Option<u32>,
    /// Whether the server rejected base64.
    as_numbers: AtomicBool,
}

impl EmbedProtocol for OpenAiEmbeddings {
    fn body(&self, _: Purpose, texts: &[String]) -> Result<Bytes, ModelError> {
        let as_numbers = self.as_numbers.load(Ordering::Relaxed);
        let body = EmbeddingBody {
            model: &self.model,
            input: texts,
            encoding_format: if as_numbers { "float" } else { "base64" },
            dimensions: self.dimensions,
        };
        encode(&body, &self.model)
    }

    fn read(&self, body: &[u8], texts: usize) -> Result<(Vec<Vec<f32>>, Usage), String> {
        let answer: EmbeddingAnswer =
            serde_json::from_slice(body).map_err(|error| format!("invalid embeddings: {error}"))?;
        let usage = answer.usage.map_or(0, |usage| usage.prompt_tokens);
        let mut vectors = vec![Vec::new(); answer.data.len()];
        for (at, EmbeddingItem { index, embedding }) in answer.data.into_iter().enumerate() {
            let index = index.unwrap_or(at);
            match vectors.get_mut(index) {
                Some(place) if place.is_empty() => *place = embedding.0,
                _ => return Err(format!("vector {index} of {texts} twice or out of range")),
            }
        }
        Ok((vectors, Usage { prompt_tokens: usage, ..Usage::default() }))
    }

    fn learn(&self, refusal: &str) {
        if refusal.contains("encoding_format") || refusal.contains("base64") {
            self.as_numbers.store(true, Ordering::Relaxed);
        }
    }
}
