//! A small test environment for the pipeline: a clock that stands still, an embedder that hashes words, and a model that
//! reads `A knows B.` sentences.

pub(crate) mod deriving;
pub(crate) mod intercepted_store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use graphloom_core::{
    ChatEvent, ChatRequest, ChatStream, Clock, Completion, ContentHash, Embedder, Embeddings, FinishReason,
    LanguageModel, ModelError, Purpose, Store, Timestamp, Usage,
};
use graphloom_engine::index::Source;
use graphloom_engine::{Engine, Models};

/// A clock at a fixed time.
pub(crate) struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000_000)
    }
}

/// Embeds hashed words as unit vectors with 16 dimensions.
pub(crate) struct WordEmbedder;

#[async_trait]
impl Embedder for WordEmbedder {
    fn name(&self) -> &str {
        "test-words"
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(16)
    }

    async fn embed(&self, _: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let vectors = texts.iter().map(|text| embed(text)).collect();
        Ok(Embeddings { vectors, usage: Usage::default(), attempts: 1 })
    }
}

fn embed(text: &str) -> Vec<f32> {
    let mut vector = [0.01_f32; 16];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = ContentHash::of(word.to_lowercase().as_bytes());
        let slot = usize::from_str_radix(&hash.as_str()[..1], 16).unwrap_or(0);
        vector[slot] += 1.0;
    }
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / norm).collect()
}

/// Answers extraction prompts about texts of `A knows B.` sentences; fails or damages some calls if configured to.
#[derive(Default)]
pub(crate) struct ReadingModel {
    pub(crate) extractions: AtomicU32,
    pub(crate) summaries: AtomicU32,
    /// Calls about texts with this word fail.
    pub(crate) refuses: Option<&'static str>,
    /// This many answers about texts with this word are cut off in their last record.
    pub(crate) damages: Option<(&'static str, AtomicU32)>,
    /// True if summary calls fail.
    pub(crate) refuses_summaries: bool,
}

impl ReadingModel {
    fn damage(&self, text: &str, answer: String) -> String {
        let Some((_, left)) = self.damages.as_ref().filter(|(word, _)| text.contains(word)) else {
            return answer;
        };
        let taken = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        let cut = answer.rfind("<|#|>").filter(|_| taken.is_ok());
        cut.map_or(answer.clone(), |cut| answer[..cut].to_owned())
    }

    fn overloaded(&self) -> ModelError {
        ModelError::Server { model: "test-reader".to_owned(), status: 503, what: "overloaded".to_owned() }
    }
}

#[async_trait]
impl LanguageModel for ReadingModel {
    fn name(&self) -> &str {
        "test-reader"
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let last = request.messages.last().map(|message| message.content.clone()).unwrap_or_default();
        let answer = if let Some(list) = last.split("Description List:").nth(1) {
            if self.refuses_summaries {
                return Err(self.overloaded());
            }
            self.summaries.fetch_add(1, Ordering::SeqCst);
            format!("Summary {}.", ContentHash::of(list.as_bytes()))
        } else if last.contains("last extraction") {
            "<|COMPLETE|>".to_owned()
        } else {
            if self.refuses.is_some_and(|word| last.contains(word)) {
                return Err(self.overloaded());
            }
            self.extractions.fetch_add(1, Ordering::SeqCst);
            let text = last.split("```").nth(1).unwrap_or_default();
            self.damage(text, records_of(text))
        };
        let usage = Usage { prompt_tokens: 10, completion_tokens: 5, ..Usage::default() };
        let done = Completion { finish: FinishReason::Stop, usage, attempts: 1 };
        Ok(stream::iter([Ok(ChatEvent::Delta(answer)), Ok(ChatEvent::Done(done))]).boxed())
    }
}

/// Returns two entities and a relation for each sentence `A knows B.`.
fn records_of(text: &str) -> String {
    let mut lines = Vec::new();
    for sentence in text.split('.') {
        let Some((a, b)) = sentence.trim().split_once(" knows ") else { continue };
        lines.push(format!("entity<|#|>{a}<|#|>Person<|#|>{a} is said to know {b}."));
        lines.push(format!("entity<|#|>{b}<|#|>Person<|#|>{b} is known to {a}."));
        lines.push(format!("relation<|#|>{a}<|#|>{b}<|#|>acquaintance<|#|>{a} knows {b}."));
    }
    lines.push("<|COMPLETE|>".to_owned());
    lines.join("\n")
}

/// Returns an engine over `store` whose extraction and summaries come from `model`.
pub(crate) fn engine(store: Arc<dyn Store>, model: Arc<ReadingModel>) -> Engine {
    Engine::new(
        store,
        Models {
            extract: Some(model.clone()),
            summarize: Some(model),
            ..Models::offline(Arc::new(WordEmbedder))
        },
        Arc::new(StoppedClock),
    )
}

/// Returns a plain text source.
pub(crate) fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), bytes: text.as_bytes().to_vec(), format: None, meta: BTreeMap::new() }
}
