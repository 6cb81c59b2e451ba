//! How a workspace is served, by the names under which LightRAG's pages show it.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::{LanguageModel, WorkspaceId};
use graphloom_engine::explore::MAX_NODES;
use graphloom_engine::graph::{SUMMARY_CONTEXT_TOKENS, SUMMARY_FRAGMENTS, SUMMARY_TOKENS};
use graphloom_engine::query::Question;
use schemars::JsonSchema;
use serde::Serialize;

use crate::space::Space;

/// What `summary_language` says where descriptions are in the language of the documents.
const AS_WRITTEN: &str = "as written";

/// How a workspace is served. Addresses of services and folders are not told.
#[derive(Serialize, JsonSchema)]
pub(super) struct Configuration {
    #[schemars(with = "String")]
    workspace: WorkspaceId,
    /// Of the answer model.
    llm_binding: Option<String>,
    /// The answer model; `null` where answers are verbatim sentences.
    llm_model: Option<String>,
    embedding_binding: Option<String>,
    embedding_model: Option<String>,
    enable_rerank: bool,
    rerank_binding: Option<String>,
    rerank_model: Option<String>,
    /// `extract`, `keyword`, `query` and `summarize`.
    role_llm_config: BTreeMap<&'static str, Role>,
    /// Extraction calls in flight.
    max_async: usize,
    /// Documents worked on at once.
    max_parallel_insert: usize,
    /// What models said to questions is remembered.
    enable_llm_cache: bool,
    /// Always `true`: no document is asked about twice.
    enable_llm_cache_for_extract: bool,
    /// Always `false`: pictures are not described.
    vlm_process_enable: bool,
    /// The language that is asked for, or `as written`.
    summary_language: String,
    /// Descriptions from which on they are summarised.
    force_llm_summary_on_merge: usize,
    summary_max_tokens: u32,
    summary_context_size: u32,
    /// Of questions that do not say otherwise.
    cosine_threshold: f32,
    min_rerank_score: f32,
    related_chunk_number: u32,
    /// Entities of a part of the graph at most.
    max_graph_nodes: usize,
}

/// The model of a role.
#[derive(Serialize, JsonSchema)]
struct Role {
    /// Who serves it; `null` where the model's name does not say.
    binding: Option<String>,
    /// `null` where rules do its work.
    model: Option<String>,
    /// Always `null`: addresses are not told.
    host: Option<String>,
    max_async: usize,
}

impl Configuration {
    pub(super) fn of(space: &Space) -> Self {
        let (models, indexing) = (&space.asking.models, &space.indexing.models);
        let index = &space.indexing.index;
        let question = Question::default();
        let role = |model: &Option<Arc<dyn LanguageModel>>| {
            let (binding, model) = parts(model.as_ref().map(|model| model.name()));
            Role { binding, model, host: None, max_async: index.max_concurrent_calls }
        };
        let (llm_binding, llm_model) = parts(models.answer.as_ref().map(|model| model.name()));
        let (embedding_binding, embedding_model) = parts(Some(models.embedder.name()));
        let (rerank_binding, rerank_model) = parts(models.reranker.as_ref().map(|reranker| reranker.name()));
        let language = space.indexing.prompts.chosen_language().unwrap_or(AS_WRITTEN);
        Self {
            workspace: space.id.clone(),
            llm_binding,
            llm_model,
            embedding_binding,
            embedding_model,
            enable_rerank: models.reranker.is_some(),
            rerank_binding,
            rerank_model,
            role_llm_config: BTreeMap::from([
                ("extract", role(&indexing.extract)),
                ("keyword", role(&models.keywords)),
                ("query", role(&models.answer)),
                ("summarize", role(&indexing.summarize)),
            ]),
            max_async: index.max_concurrent_calls,
            max_parallel_insert: index.max_concurrent_documents,
            enable_llm_cache: space.asking.caches.is_on(),
            enable_llm_cache_for_extract: true,
            vlm_process_enable: false,
            summary_language: language.to_owned(),
            force_llm_summary_on_merge: SUMMARY_FRAGMENTS,
            summary_max_tokens: SUMMARY_TOKENS,
            summary_context_size: SUMMARY_CONTEXT_TOKENS,
            cosine_threshold: question.cosine_threshold,
            min_rerank_score: question.min_rerank_score,
            related_chunk_number: question.related_chunk_number,
            max_graph_nodes: MAX_NODES,
        }
    }
}

/// Who serves a model, and its name there: names of models of services are `service:model`.
fn parts(name: Option<&str>) -> (Option<String>, Option<String>) {
    let Some(name) = name else { return (None, None) };
    match name.split_once(':') {
        Some((binding, model)) => (Some(binding.to_owned()), Some(model.to_owned())),
        None => (None, Some(name.to_owned())),
    }
}
