//! Shared code of all HTTP embedders: prefixes, batches, concurrency, the call, and unit length.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use graphloom_core::{Embeddings, ModelError, Purpose, Usage};
use tokio::sync::OnceCell;
use tracing::{Instrument, warn};

use crate::chat_stream::{call_span, record_usage};
use crate::http::{Delivery, HttpClient, Output, Target, provider_error};

/// Text that is embedded to determine the dimensions of a model.
const PROBE: &str = "dimension";

/// How texts are split into requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedBatching {
    /// Prefix of documents; part of the embedder's name.
    pub document_prefix: String,
    /// Prefix of queries; part of the embedder's name.
    pub query_prefix: String,
    /// Maximum texts per request. Halved permanently if a server accepts fewer.
    pub max_batch_texts: usize,
    /// Maximum bytes of text per request. A single text may exceed it.
    pub max_batch_bytes: usize,
    /// Maximum concurrent requests per call.
    pub max_in_flight: usize,
    /// Maximum text length in tokens. A longer text is truncated, with a warning.
    pub max_input_tokens: usize,
}

impl Default for EmbedBatching {
    fn default() -> Self {
        Self {
            document_prefix: String::new(),
            query_prefix: String::new(),
            max_batch_texts: 128,
            max_batch_bytes: 256 << 10,
            max_in_flight: 8,
            max_input_tokens: 8191,
        }
    }
}

/// The wire format of an embedding protocol.
pub(crate) trait EmbedProtocol: Send + Sync {
    /// Returns the request for `texts`.
    fn body(&self, purpose: Purpose, texts: &[String]) -> Result<Bytes, ModelError>;

    /// Parses the vectors of `texts` texts, in order and of any length, and the usage; or returns the error.
    fn read(&self, body: &[u8], texts: usize) -> Result<(Vec<Vec<f32>>, Usage), String>;

    /// Adapts all later requests to a rejection.
    fn learn(&self, refusal: &str);
}

/// The state of batching.
#[derive(Debug)]
pub(crate) struct Batcher {
    http: Arc<HttpClient>,
    target: Target,
    /// Provider and model, as shown in spans.
    label: String,
    model: String,
    name: String,
    batching: EmbedBatching,
    max_texts: AtomicUsize,
    dimensions: OnceCell<u32>,
}

impl Batcher {
    /// Creates the batcher.
    ///
    /// - `target`: its model name is the embedder's name without the prefixes, which are added here.
    pub(crate) fn new(
        http: Arc<HttpClient>,
        target: Target,
        label: String,
        model: String,
        batching: EmbedBatching,
    ) -> Self {
        let name =
            prefixed_name(target.model().to_owned(), &batching.document_prefix, &batching.query_prefix);
        let max_texts = AtomicUsize::new(batching.max_batch_texts.max(1));
        Self { http, target, label, model, name, batching, max_texts, dimensions: OnceCell::new() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the dimensions of the vectors, known from the first response or a trial call.
    pub(crate) async fn dimensions(&self, protocol: &dyn EmbedProtocol) -> Result<u32, ModelError> {
        if self.dimensions.get().is_none() {
            self.embed(protocol, Purpose::Document, &[PROBE.to_owned()]).await?;
        }
        self.dimensions.get().copied().ok_or_else(|| self.malformed("it returned no vector".to_owned()))
    }

    pub(crate) async fn embed(
        &self,
        protocol: &dyn EmbedProtocol,
        purpose: Purpose,
        texts: &[String],
    ) -> Result<Embeddings, ModelError> {
        let prefix = match purpose {
            Purpose::Document => &self.batching.document_prefix,
            Purpose::Query => &self.batching.query_prefix,
        };
        let prepared: Vec<String> = texts.iter().map(|text| self.prepare(prefix, text)).collect();
        let calls: Vec<BoxFuture<'_, _>> = self
            .batches(&prepared)
            .into_iter()
            .map(|batch| self.embed_or_halve(protocol, purpose, batch).boxed())
            .collect();
        let parts: Vec<Embeddings> =
            stream::iter(calls).buffered(self.batching.max_in_flight.max(1)).try_collect().await?;
        let mut all =
            Embeddings { vectors: Vec::with_capacity(texts.len()), usage: Usage::default(), attempts: 0 };
        for part in parts {
            append(&mut all, part);
        }
        for vector in &mut all.vectors {
            self.finish(vector)?;
        }
        Ok(all)
    }

    /// Returns the text to send. Servers reject empty texts; a space gives the same result.
    fn prepare(&self, prefix: &str, text: &str) -> String {
        let mut sent = format!("{prefix}{text}");
        if sent.is_empty() {
            sent.push(' ');
        }
        // A token is at least one byte, so most texts need no counting.
        if sent.len() > self.batching.max_input_tokens {
            let max_input_tokens = self.batching.max_input_tokens;
            let mut end = 0;
            let ends: Vec<usize> = graphloom_tokens::encode(&sent)
                .map(|token| {
                    end += token.bytes;
                    end
                })
                .collect();
            if ends.len() > max_input_tokens {
                let kept = ends[..max_input_tokens].iter().rfind(|end| sent.is_char_boundary(**end));
                warn!(
                    gen_ai.request.model = self.name,
                    tokens = ends.len(),
                    max_input_tokens,
                    "text truncated for embedding"
                );
                match kept.copied() {
                    Some(kept) => sent.truncate(kept),
                    None => " ".clone_into(&mut sent),
                }
            }
        }
        sent
    }

    fn batches<'a>(&self, texts: &'a [String]) -> Vec<&'a [String]> {
        let max_texts = self.max_texts.load(Ordering::Relaxed);
        let mut batches = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (at, text) in texts.iter().enumerate() {
            if at > start && (at - start >= max_texts || bytes + text.len() > self.batching.max_batch_bytes) {
                batches.push(&texts[start..at]);
                (start, bytes) = (at, 0);
            }
            bytes += text.len();
        }
        if start < texts.len() {
            batches.push(&texts[start..]);
        }
        batches
    }

    /// Embeds a batch. If it is rejected for its size, it is halved, and later batches use the smaller size.
    async fn embed_or_halve(
        &self,
        protocol: &dyn EmbedProtocol,
        purpose: Purpose,
        batch: &[String],
    ) -> Result<Embeddings, ModelError> {
        let mut done =
            Embeddings { vectors: Vec::with_capacity(batch.len()), usage: Usage::default(), attempts: 0 };
        let mut size = batch.len();
        while done.vectors.len() < batch.len() {
            let rest = &batch[done.vectors.len()..];
            let part = &rest[..size.min(rest.len())];
            match self.ask(protocol, purpose, part).await {
                Ok(embedded) => append(&mut done, embedded),
                Err(ModelError::Refused { status: 413 | 422, what, .. }) if part.len() > 1 => {
                    size = part.len() / 2;
                    self.max_texts.fetch_min(size, Ordering::Relaxed);
                    warn!(
                        gen_ai.request.model = self.name,
                        texts = size,
                        refusal = what,
                        "sending smaller batches"
                    );
                }
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Sends one request, and repeats it if the protocol adapts to a rejection. Returns one vector per text,
    /// in order, of any length.
    async fn ask(
        &self,
        protocol: &dyn EmbedProtocol,
        purpose: Purpose,
        texts: &[String],
    ) -> Result<Embeddings, ModelError> {
        let span = call_span("embeddings", &self.label, &self.model);
        let started = Instant::now();
        let cost = self.http.cost(texts.iter().map(String::as_str), Output::None);
        let mut answer = loop {
            let body = protocol.body(purpose, texts)?;
            let posted = self.http.post(&self.target, body.clone(), cost, Delivery::Whole);
            let answer = posted.instrument(span.clone()).await;
            let Err(ModelError::Refused { what, .. }) = &answer else { break answer? };
            protocol.learn(what);
            // Another request may have learned the same while this one was in flight, so the bodies are
            // compared. What the protocol learns is permanent, so there are few rounds.
            if protocol.body(purpose, texts)? == body {
                break answer?;
            }
            warn!(gen_ai.request.model = self.model, refusal = what, "requesting vectors in another form");
        };
        let body = answer.chunk().await?.unwrap_or_default();
        let (vectors, usage) = protocol
            .read(&body, texts.len())
            .and_then(|read| match read.0.len() {
                given if given == texts.len() => Ok(read),
                given => Err(format!("{given} vectors for {} texts", texts.len())),
            })
            .map_err(|what| {
                provider_error(&self.target, &body)
                    .unwrap_or_else(|| self.malformed(self.target.readable(&what)))
            })?;
        answer.settle(usage);
        record_usage(&span, usage, answer.attempts(), started);
        Ok(Embeddings { vectors, usage, attempts: answer.attempts() })
    }

    /// Checks a vector and scales it to unit length.
    fn finish(&self, vector: &mut [f32]) -> Result<(), ModelError> {
        let length = u32::try_from(vector.len()).unwrap_or(u32::MAX);
        // Fails only if another call has already set it. In that case its value is compared below.
        let _ = self.dimensions.set(length);
        let dimensions = self.dimensions.get().copied().unwrap_or(length);
        if dimensions != length {
            return Err(self.malformed(format!("a vector with {length} dimensions, expected {dimensions}")));
        }
        if normalise(vector) { Ok(()) } else { Err(self.malformed("a zero vector".to_owned())) }
    }

    fn malformed(&self, what: String) -> ModelError {
        ModelError::Malformed { model: self.name.clone(), what }
    }
}

/// Returns the name of `model` with its prefixes: vectors made with different prefixes must not be mixed.
pub(crate) fn prefixed_name(model: String, document_prefix: &str, query_prefix: &str) -> String {
    if document_prefix.is_empty() && query_prefix.is_empty() {
        return model;
    }
    format!("{model}[document={document_prefix:?},query={query_prefix:?}]")
}

/// Scales `vector` to unit length. False if it is zero or contains values that are not numbers.
pub(crate) fn normalise(vector: &mut [f32]) -> bool {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return false;
    }
    let scale = 1.0 / length;
    for x in vector {
        *x = (f64::from(*x) * scale) as f32;
    }
    true
}

fn append(all: &mut Embeddings, part: Embeddings) {
    all.vectors.extend(part.vectors);
    all.usage.prompt_tokens += part.usage.prompt_tokens;
    all.usage.cached_prompt_tokens += part.usage.cached_prompt_tokens;
    all.usage.completion_tokens += part.usage.completion_tokens;
    all.attempts += part.attempts;
}

#[cfg(test)]
mod tests {
    use crate::Endpoint;
    use crate::http::HttpConfig;

    use super::*;

    fn batcher(batching: EmbedBatching) -> Batcher {
        let target = Endpoint::new("x", "http://localhost").target("embed", "x:m").unwrap();
        let http = Arc::new(HttpClient::new(HttpConfig::default()));
        Batcher::new(http, target, "x".to_owned(), "m".to_owned(), batching)
    }

    fn check_batches(texts: &[&str], max_batch_texts: usize, max_batch_bytes: usize) -> Vec<usize> {
        let batching = EmbedBatching { max_batch_texts, max_batch_bytes, ..EmbedBatching::default() };
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        batcher(batching).batches(&texts).iter().map(|batch| batch.len()).collect()
    }

    #[test]
    fn batches_respect_both_limits() {
        assert_eq!(check_batches(&["a", "b", "c", "d", "e"], 2, 100), [2, 2, 1]);
        assert_eq!(check_batches(&["aaa", "bbb", "cccccccccc", "d"], 9, 6), [2, 1, 1]);
        assert!(check_batches(&[], 2, 100).is_empty());
    }

    fn check_prepared(text: &str, max_input_tokens: usize) -> String {
        let batching = EmbedBatching { max_input_tokens, ..EmbedBatching::default() };
        batcher(batching).prepare("", text)
    }

    #[test]
    fn long_texts_are_cut_at_a_token_and_empty_ones_replaced() {
        assert_eq!(check_prepared("one two three four five", 2), "one two");
        assert_eq!(check_prepared("short", 3), "short");
        assert_eq!(check_prepared("", 3), " ");
    }

    #[test]
    fn prefixes_are_part_of_the_model_name() {
        let batching = EmbedBatching { query_prefix: "query: ".to_owned(), ..EmbedBatching::default() };
        assert_eq!(batcher(batching).name(), r#"x:m[document="",query="query: "]"#);
        assert_eq!(batcher(EmbedBatching::default()).name(), "x:m");
    }

    #[test]
    fn vectors_are_normalized_or_refused() {
        let mut vector = [3.0, 4.0];
        assert!(normalise(&mut vector));
        assert_eq!(vector, [0.6, 0.8]);
        assert!(!normalise(&mut [0.0, 0.0]));
        assert!(!normalise(&mut [f32::NAN, 1.0]));
    }
}
