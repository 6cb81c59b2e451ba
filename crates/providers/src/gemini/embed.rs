//! Embedding models of the Gemini API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};
use serde::{Deserialize, Serialize};

use super::wire::{Content, Part};
use super::{KEY_HEADER, resource};
use crate::embed_batches::{Batcher, EmbedBatching, EmbedProtocol};
use crate::endpoint::{ConfigError, Endpoint, KeyHeader};
use crate::http::{HttpClient, encode};

/// Maximum texts per request.
const MAX_BATCH_TEXTS: usize = 100;

/// Maximum text length in tokens. The provider would silently truncate a longer text.
const MAX_INPUT_TOKENS: usize = 2048;

/// Settings of an embedding model.
#[derive(Debug, Clone)]
pub struct GeminiEmbedderConfig {
    /// The server. The API key is sent as `x-goog-api-key`.
    pub endpoint: Endpoint,
    /// The model's name at Google.
    pub model: String,
    /// How texts are split into requests, within the provider's limits.
    pub batching: EmbedBatching,
}

/// An embedding model of the Gemini API. The purpose is sent with each text, unless the model rejects it.
#[derive(Debug)]
pub struct GeminiEmbedder {
    protocol: GeminiEmbeddings,
    batcher: Batcher,
}

impl GeminiEmbedder {
    /// Creates the model. Sends nothing yet.
    pub fn new(http: Arc<HttpClient>, config: GeminiEmbedderConfig) -> Result<Self, ConfigError> {
        let GeminiEmbedderConfig { endpoint, model, batching } = config;
        let name = format!("{}:{model}", endpoint.label);
        let path = format!("{}:batchEmbedContents", resource(&model));
        let target = endpoint.target_with(&path, &name, KeyHeader::Named(KEY_HEADER))?;
        let batching = EmbedBatching {
            max_batch_texts: batching.max_batch_texts.min(MAX_BATCH_TEXTS),
            max_input_tokens: batching.max_input_tokens.min(MAX_INPUT_TOKENS),
            ..batching
        };
        let protocol = GeminiEmbeddings { resource: resource(&model), without_task: AtomicBool::new(false) };
        Ok(Self { protocol, batcher: Batcher::new(http, target, endpoint.label, model, batching) })
    }
}

#[async_trait]
impl Embedder for GeminiEmbedder {
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
struct GeminiEmbeddings {
    resource: String,
    /// Whether the model rejected the purpose.
    without_task: AtomicBool,
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    requests: Vec<EmbedRequest<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EmbedRequest<'a> {
    model: &'a str,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_type: Option<&'static str>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    embeddings: Vec<Embedding>,
    usage_metadata: Option<UsageMetadata>,
}

#[derive(Debug, Deserialize)]
struct Embedding {
    values: Vec<f32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    prompt_token_count: Option<u64>,
}

impl EmbedProtocol for GeminiEmbeddings {
    fn body(&self, purpose: Purpose, texts: &[String]) -> Result<Bytes, ModelError> {
        let task = match purpose {
            Purpose::Document => "RETRIEVAL_DOCUMENT",
            Purpose::Query => "RETRIEVAL_QUERY",
        };
        let task_type = (!self.without_task.load(Ordering::Relaxed)).then_some(task);
        let requests = texts.iter().map(|text| EmbedRequest {
            model: &self.resource,
            content: Content { role: None, parts: vec![Part { text }] },
            task_type,
        });
        encode(&Body { requests: requests.collect() }, &self.resource)
    }

    fn read(&self, body: &[u8], _: usize) -> Result<(Vec<Vec<f32>>, Usage), String> {
        let read: Answer =
            serde_json::from_slice(body).map_err(|error| format!("invalid embeddings: {error}"))?;
        let prompt_tokens = read.usage_metadata.and_then(|usage| usage.prompt_token_count).unwrap_or(0);
        let vectors = read.embeddings.into_iter().map(|embedding| embedding.values).collect();
        Ok((vectors, Usage { prompt_tokens, ..Usage::default() }))
    }

    fn learn(&self, refusal: &str) {
        if ["taskType", "task_type", "task type"].iter().any(|name| refusal.contains(name)) {
            self.without_task.store(true, Ordering::Relaxed);
        }
    }
}
