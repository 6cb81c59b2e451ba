//! Graphloom's pipelines: documents become chunks, chunks become extractions, extractions become a graph, and
//! questions become cited answers.
//!
//! [`index`] and [`query`] each read as one page, top to bottom. The engine reaches the world only through the ports
//! of `graphloom-core`; clock, store and models come in through [`Engine`].

mod chain;
pub mod chunk;
pub mod chunk_context;
pub mod claims;
mod commit;
#[cfg(test)]
mod conformance;
pub mod copy;
pub mod derive;
pub mod edit;
pub mod explore;
pub mod export;
pub mod extract;
mod filtered;
pub mod graph;
pub mod index;
pub mod money;
pub mod prompt;
pub mod query;
mod vector_bytes;

use std::sync::Arc;

pub use chain::chain;
use graphloom_core::{Clock, Embedder, LanguageModel, Reranker, Store};
use graphloom_text::Tokenizer;

/// Everything a pipeline works with: one workspace's store, the models of each role, the clock.
#[derive(Clone)]
pub struct Engine {
    /// The workspace.
    pub store: Arc<dyn Store>,
    /// Who answers in each role.
    pub models: Models,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Counts tokens for chunk sizes and budgets.
    pub tokenizer: Tokenizer,
    /// What models are asked, and in which language.
    pub prompts: prompt::Prompts,
    /// How documents are indexed.
    pub index: index::IndexConfig,
    /// What this process remembers between questions.
    pub caches: query::QueryCaches,
}

/// The model of each role. `None` is the offline default of that role: rules and verbatim sentences, labelled so.
#[derive(Clone)]
pub struct Models {
    /// Records from chunks; rules over phrases where `None`.
    pub extract: Option<Arc<dyn LanguageModel>>,
    /// What writes the contexts of chunks.
    pub context_writer: chunk_context::ContextWriter,
    /// Keywords from questions; rules where `None`.
    pub keywords: Option<Arc<dyn LanguageModel>>,
    /// One description from many; joined and cut where `None`.
    pub summarize: Option<Arc<dyn LanguageModel>>,
    /// Answers; verbatim sentences where `None`.
    pub answer: Option<Arc<dyn LanguageModel>>,
    /// Vectors.
    pub embedder: Arc<dyn Embedder>,
    /// The order of passages; that of the search where `None`.
    pub reranker: Option<Arc<dyn Reranker>>,
}

impl Engine {
    /// An engine with default settings, prompts and caches.
    pub fn new(store: Arc<dyn Store>, models: Models, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            models,
            clock,
            tokenizer: Tokenizer,
            prompts: prompt::Prompts::default(),
            index: index::IndexConfig::default(),
            caches: query::QueryCaches::default(),
        }
    }
}

impl Models {
    /// No LLM in any role: rules extract, and answers are verbatim sentences.
    pub fn offline(embedder: Arc<dyn Embedder>) -> Self {
        Self {
            extract: None,
            context_writer: chunk_context::ContextWriter::Off,
            keywords: None,
            summarize: None,
            answer: None,
            embedder,
            reranker: None,
        }
    }
}
