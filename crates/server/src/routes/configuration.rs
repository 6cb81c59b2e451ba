//! The configuration of a workspace, with the field names that LightRAG's pages show.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::{LanguageModel, WorkspaceId};
use graphloom_engine::explore::MAX_NODES;
use graphloom_engine::graph::{SUMMARY_CONTEXT_TOKENS, SUMMARY_FRAGMENTS, SUMMARY_TOKENS};
use graphloom_engine::query::Question;
use schemars::JsonSchema;
use serde::Serialize;

use crate::space::Space;

/// Value of `summary_language` if descriptions use the language of the documents.
const AS_WRITTEN: &str = "as written";

/// The configuration of a workspace, without addresses of services and folders.
#[derive(Serialize, JsonSchema)]
pub(super) struct Configuration {
    #[schemars(with = "String")]
    workspace: WorkspaceId,
    /// Service of the answer model.
    llm_binding: Option<String>,
    /// The answer model; `null` if answers are verbatim sentences.
    llm_model: Option<String>,
    embedding_binding: Option<String>,
    embedding_model: Option<String>,
    enable_rerank: bool,
    rerank_binding: Option<String>,
    rerank_model: Option<String>,
    /// `extract`, `keyword`, `query` and `summarize`.
    role_llm_config: BTreeMap<&'static str, Role>,
    /// Maximum concurrent extraction calls.
    max_async: usize,
    /// Maximum documents indexed at once.
    max_parallel_insert: usize,
    /// Whether answers of LLMs to questions are cached.
    enable_llm_cache: bool,
    /// Always `true`: stored extractions are reused.
    enable_llm_cache_for_extract: bool,
    /// Always `false`: pictures are not described.
    vlm_process_enable: bool,
    /// The configured language, or `as written`.
    summary_language: String,
    /// Number of descriptions from which an LLM summarizes them.
    force_llm_summary_on_merge: usize,
    summary_max_tokens: u32,
    summary_context_size: u32,
    /// Default for questions.
    cosine_threshold: f32,
    min_rerank_score: f32,
    related_chunk_number: u32,
    /// Maximum entities in a part of the graph.
    max_graph_nodes: usize,
}

/// The model of a role.
#[derive(Serialize, JsonSchema)]
struct Role {
    /// The service; `null` if the model's name does not contain it.
    binding: Option<String>,
    /// `null` if rules do its work.
    model: Option<String>,
    /// Always `null`: addresses are not revealed.
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

/// The service of a model and its name there: `service:model`.
fn parts(name: Option<&str>) -> (Option<String>, Option<String>) {
    let Some(name) = name else { return (None, None) };
    match name.split_once(':') {
        Some((binding, model)) => (Some(binding.to_owned()), Some(model.to_owned())),
        None => (None, Some(name.to_owned())),
    }
}
