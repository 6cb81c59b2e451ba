//! Graphloom's pipelines: documents become chunks, chunks become extractions, extractions become a graph, and
//! questions become cited answers.
//!
//! [`index`] and [`query`] each read top to bottom like one page. The engine talks to the outside only through the ports of
//! `graphloom-core`; the clock, the store and the models are fields of [`Engine`].

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
use graphloom_core::{Clock, Embedder, LanguageModel, Reranker, SentenceScorer, Store};
use graphloom_text::Tokenizer;

/// Everything that a pipeline needs: the store of one workspace, the model of each role, the clock.
#[derive(Clone)]
pub struct Engine {
    /// The store of the workspace.
    pub store: Arc<dyn Store>,
    /// The model of each role.
    pub models: Models,
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Counts tokens for chunk sizes and budgets.
    pub tokenizer: Tokenizer,
    /// The prompts and the output language.
    pub prompts: prompt::Prompts,
    /// How documents are indexed.
    pub index: index::IndexConfig,
    /// What this process caches between questions.
    pub caches: query::QueryCaches,
}

/// The model of each role. `None` selects the offline default of the role: rules or verbatim sentences, labelled as such.
#[derive(Clone)]
pub struct Models {
    /// Extracts records from chunks; `None`: rules over phrases.
    pub extract: Option<Arc<dyn LanguageModel>>,
    /// Writes the contexts of chunks.
    pub context_writer: chunk_context::ContextWriter,
    /// Extracts keywords from questions; `None`: rules.
    pub keywords: Option<Arc<dyn LanguageModel>>,
    /// Joins many descriptions into one; `None`: they are concatenated and cut.
    pub summarize: Option<Arc<dyn LanguageModel>>,
    /// Writes answers; `None`: verbatim sentences.
    pub answer: Option<Arc<dyn LanguageModel>>,
    /// Computes vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Reorders passages; `None`: the order of the search.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Scores sentences for answers without an LLM; `None`: rules alone.
    pub sentence_scorer: Option<Arc<dyn SentenceScorer>>,
}

impl Engine {
    /// Creates an engine with default settings, prompts and caches.
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
    /// Uses no LLM in any role: rules extract, and answers are verbatim sentences.
    pub fn offline(embedder: Arc<dyn Embedder>) -> Self {
        Self {
            extract: None,
            context_writer: chunk_context::ContextWriter::Off,
            keywords: None,
            summarize: None,
            answer: None,
            embedder,
            reranker: None,
            sentence_scorer: None,
        }
    }
}
