//! Rerankers with the `/rerank` route of Cohere and Jina, which vLLM, llama.cpp and others also support.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use graphloom_core::{ModelError, Reranker, Reranking, Usage};
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use crate::chat_stream::{call_span, record_usage};
use crate::endpoint::{ConfigError, Endpoint};
use crate::http::{Delivery, HttpClient, Output, Target, encode, provider_error};

/// Cohere's base URL.
pub const COHERE_BASE_URL: &str = "https://api.cohere.com/v2";

/// Jina's base URL.
pub const JINA_BASE_URL: &str = "https://api.jina.ai/v1";

/// Maximum passages per request. Cohere accepts 1000.
const MAX_BATCH_PASSAGES: usize = 256;

/// Maximum concurrent requests per call.
const MAX_IN_FLIGHT: usize = 4;

/// The dialects of requests to the route. Their responses are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RerankDialect {
    /// Cohere, version 2.
    Cohere,
    /// Jina. By default, it repeats the passages in its response.
    Jina,
}

/// Settings of a reranker.
#[derive(Debug, Clone)]
pub struct RerankerConfig {
    /// The server. `/rerank` is appended to its base URL.
    pub endpoint: Endpoint,
    /// The model's name on the server.
    pub model: String,
    /// The dialect of requests.
    pub dialect: RerankDialect,
}

/// A reranker behind the `/rerank` route.
#[derive(Debug)]
pub struct HttpReranker {
    http: Arc<HttpClient>,
    target: Target,
    label: String,
    model: String,
    dialect: RerankDialect,
}

impl HttpReranker {
    /// Creates the reranker. Sends nothing yet.
    pub fn new(http: Arc<HttpClient>, config: RerankerConfig) -> Result<Self, ConfigError> {
        let RerankerConfig { endpoint, model, dialect } = config;
        let target = endpoint.target("rerank", &format!("{}:{model}", endpoint.label))?;
        Ok(Self { http, target, label: endpoint.label, model, dialect })
    }

    async fn ask(&self, query: &str, passages: &[String]) -> Result<Reranking, ModelError> {
        let span = call_span("rerank", &self.label, &self.model);
        let started = Instant::now();
        let body = Body {
            model: &self.model,
            query,
            documents: passages,
            return_documents: match self.dialect {
                RerankDialect::Cohere => None,
                RerankDialect::Jina => Some(false),
            },
        };
        let bytes = encode(&body, self.name())?;
        // The model reads the question once per passage.
        let cost = self.http.cost(passages.iter().flat_map(|passage| [query, passage]), Output::None);
        let posted = self.http.post(&self.target, bytes, cost, Delivery::Whole);
        let mut answer = posted.instrument(span.clone()).await?;
        let body = answer.chunk().await?.unwrap_or_default();
        let (scores, usage) = read(&body, passages.len()).map_err(|what| {
            provider_error(&self.target, &body).unwrap_or_else(|| ModelError::Malformed {
                model: self.name().to_owned(),
                what: self.target.readable(&what),
            })
        })?;
        answer.settle(usage);
        record_usage(&span, usage, answer.attempts(), started);
        Ok(Reranking { scores, usage, attempts: answer.attempts() })
    }
}

#[async_trait]
impl Reranker for HttpReranker {
    fn name(&self) -> &str {
        self.target.model()
    }

    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Reranking, ModelError> {
        let calls: Vec<BoxFuture<'_, _>> =
            passages.chunks(MAX_BATCH_PASSAGES).map(|batch| self.ask(query, batch).boxed()).collect();
        let parts: Vec<Reranking> = stream::iter(calls).buffered(MAX_IN_FLIGHT).try_collect().await?;
        let mut all =
            Reranking { scores: Vec::with_capacity(passages.len()), usage: Usage::default(), attempts: 0 };
        for part in parts {
            all.scores.extend(part.scores);
            all.usage.prompt_tokens += part.usage.prompt_tokens;
            all.usage.completion_tokens += part.usage.completion_tokens;
            all.attempts += part.attempts;
        }
        Ok(all)
    }
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    query: &'a str,
    documents: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    return_documents: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    results: Vec<RerankRow>,
    /// Jina's usage.
    usage: Option<JinaUsage>,
    /// Cohere's usage.
    meta: Option<Meta>,
}

#[derive(Debug, Deserialize)]
struct RerankRow {
    index: usize,
    #[serde(alias = "score")]
    relevance_score: f32,
}

#[derive(Debug, Deserialize)]
struct JinaUsage {
    prompt_tokens: Option<u64>,
    total_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Meta {
    tokens: Option<CohereTokens>,
    billed_units: Option<CohereTokens>,
}

#[derive(Debug, Deserialize)]
struct CohereTokens {
    input_tokens: Option<u64>,
}

/// Parses the scores, in the order of the passages, and the usage; or returns the error.
fn read(body: &[u8], passages: usize) -> Result<(Vec<f32>, Usage), String> {
    let answer: Answer = serde_json::from_slice(body).map_err(|error| format!("invalid scores: {error}"))?;
    let mut scores = vec![None; passages];
    for RerankRow { index, relevance_score } in &answer.results {
        match scores.get_mut(*index) {
            Some(place @ None) if relevance_score.is_finite() => *place = Some(*relevance_score),
            Some(None) => return Err(format!("score {relevance_score} of passage {index}")),
            _ => return Err(format!("passage {index} of {passages} twice or out of range")),
        }
    }
    let given = answer.results.len();
    let scores: Option<Vec<f32>> = scores.into_iter().collect();
    let scores = scores.ok_or_else(|| format!("{given} scores for {passages} passages"))?;
    let of_jina = answer.usage.and_then(|usage| usage.prompt_tokens.or(usage.total_tokens));
    let of_cohere = answer.meta.and_then(|meta| {
        let counted = meta.tokens.and_then(|tokens| tokens.input_tokens);
        counted.or(meta.billed_units.and_then(|units| units.input_tokens))
    });
    Ok((scores, Usage { prompt_tokens: of_jina.or(of_cohere).unwrap_or(0), ..Usage::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_read(body: &str, passages: usize) -> Result<(Vec<f32>, u64), String> {
        read(body.as_bytes(), passages).map(|(scores, usage)| (scores, usage.prompt_tokens))
    }

    #[test]
    fn scores_are_returned_in_the_order_of_the_passages() {
        let cohere = r#"{"id":"x","results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.1}],
            "meta":{"api_version":{"version":"2"},"billed_units":{"search_units":1}}}"#;
        assert_eq!(check_read(cohere, 2), Ok((vec![0.1, 0.9], 0)));
        let jina = r#"{"model":"m","object":"list","usage":{"total_tokens":38},
            "results":[{"index":0,"relevance_score":-3.5,"document":{"text":"a"}}]}"#;
        assert_eq!(check_read(jina, 1), Ok((vec![-3.5], 38)));
        assert_eq!(check_read(r#"{"results":[]}"#, 0), Ok((Vec::new(), 0)));
    }

    #[test]
    fn impossible_scores_are_refused() {
        let check = |body: &str, passages| check_read(body, passages).expect_err("refused");
        let one = r#"{"results":[{"index":0,"relevance_score":1}]}"#;
        assert_eq!(check(one, 2), "1 scores for 2 passages");
        let twice = r#"{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":2}]}"#;
        assert_eq!(check(twice, 2), "passage 0 of 2 twice or out of range");
        assert_eq!(
            check(r#"{"results":[{"index":7,"relevance_score":1}]}"#, 2),
            "passage 7 of 2 twice or out of range"
        );
        assert!(check(r#"{"results":[{"index":null,"relevance_score":1}]}"#, 1).contains("null"));
        assert!(check(r#"{"results":[{"index":0,"relevance_score":null}]}"#, 1).contains("null"));
        assert!(check(r#"{"results":[{"index":0,"relevance_score":1e99}]}"#, 1).contains("inf"));
    }
}
