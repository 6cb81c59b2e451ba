//! Computes all vectors that a question is searched with, in one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::{CacheKind, ContentHash, EmbeddingSpec, ModelError, Purpose, Role};

use super::cache::{self, NewEntry};
use super::calls::{QueryCost, Timer};
use super::plan::{Operator, Plan};
use super::{ChunkPick, Keywords, QueryError, Question};
use crate::Engine;
use crate::vector_bytes::{decode, encode};

/// The vectors that a question is searched with; `None` if the plan does not need one or the question has no such keyword.
#[derive(Debug, Clone, Default)]
pub(super) struct QueryVectors {
    /// Vector of the question.
    pub(super) question: Option<Arc<[f32]>>,
    /// Vector of the low-level keywords, joined.
    pub(super) low_level: Option<Arc<[f32]>>,
    /// Vector of the high-level keywords, joined.
    pub(super) high_level: Option<Arc<[f32]>>,
    /// The parts of the question with their vectors.
    pub(super) parts: Vec<(String, Arc<[f32]>)>,
    /// True if the vectors are similar because texts share words.
    pub(super) are_lexical: bool,
}

/// Embeds the question, its keywords and its parts as far as the plan needs them, in at most one call.
pub(super) async fn embed(
    engine: &Engine,
    question: &Question,
    plan: Plan,
    keywords: &Keywords,
    parts: &[String],
    space: &EmbeddingSpec,
    cost: &mut QueryCost,
) -> Result<QueryVectors, QueryError> {
    let low_level = (plan.has(Operator::Entities) && !keywords.low_level.is_empty())
        .then(|| keywords.low_level.join(", "));
    let high_level = (plan.has(Operator::Relations) && !keywords.high_level.is_empty())
        .then(|| keywords.high_level.join(", "));
    let picks_by_question =
        question.chunk_pick == ChunkPick::Vector && (low_level.is_some() || high_level.is_some());
    let by_question = plan.operators.iter().any(|operator| operator.reads_question()) || picks_by_question;
    let whole = by_question.then(|| question.text.trim().to_owned());
    let wanted = [&whole, &low_level, &high_level].into_iter().flatten().chain(parts);
    let wanted: Vec<String> = wanted.cloned().collect();
    let mut vectors = vectors_of(engine, &wanted, space, question.cache, cost).await?.into_iter();
    Ok(QueryVectors {
        question: whole.and_then(|_| vectors.next()),
        low_level: low_level.and_then(|_| vectors.next()),
        high_level: high_level.and_then(|_| vectors.next()),
        parts: parts.iter().cloned().zip(vectors).collect(),
        are_lexical: engine.models.embedder.is_lexical(),
    })
}

/// Returns one query vector per text and checks that it has the dimension of the workspace. Uses the cache if `caches` is true.
pub(super) async fn vectors_of(
    engine: &Engine,
    texts: &[String],
    space: &EmbeddingSpec,
    caches: bool,
    cost: &mut QueryCost,
) -> Result<Vec<Arc<[f32]>>, QueryError> {
    let embedder = engine.models.embedder.as_ref();
    let keys: Vec<ContentHash> = texts.iter().map(|text| cache::vector_key(embedder.name(), text)).collect();
    let known = cache::find(engine, CacheKind::Vector, &keys, caches, cost).await?;
    let mut vectors: BTreeMap<String, Arc<[f32]>> = texts
        .iter()
        .zip(known)
        .filter_map(|(text, value)| Some((text.clone(), decode(&value?).collect())))
        .collect();
    let mut missing: Vec<String> = Vec::new();
    for text in texts {
        if !vectors.contains_key(text) && !missing.contains(text) {
            missing.push(text.clone());
        }
    }
    if !missing.is_empty() {
        let timer = Timer::start(engine, Role::Embed, embedder.name());
        let embeddings = match embedder.embed(Purpose::Query, &missing).await {
            Ok(embeddings) => embeddings,
            Err(error) => {
                cost.calls.push(timer.failed(error.to_string()));
                return Err(error.into());
            }
        };
        // Models in this process make no requests: they have no calls in the ledger, and computing again is cheaper than storing.
        let paid = embeddings.attempts > 0;
        if paid {
            cost.calls.push(timer.counted(embeddings.usage, embeddings.attempts));
        }
        for (text, vector) in missing.into_iter().zip(embeddings.vectors) {
            let (key, value) = (cache::vector_key(embedder.name(), &text), encode(&vector));
            if vector.len() == space.dimensions as usize {
                let entry = NewEntry { kind: CacheKind::Vector, key, value, paid };
                cache::remember(engine, entry, caches, cost);
            }
            vectors.insert(text, vector.into());
        }
    }
    let found: Vec<Arc<[f32]>> = texts.iter().filter_map(|text| vectors.get(text).cloned()).collect();
    if found.len() < texts.len() {
        let what = format!("{} texts gave {} vectors", texts.len(), found.len());
        return Err(ModelError::Malformed { model: embedder.name().to_owned(), what }.into());
    }
    match found.iter().find(|vector| vector.len() != space.dimensions as usize) {
        Some(other) => Err(other_embedder(space, embedder.name(), Some(other.len()))),
        None => Ok(found),
    }
}

/// Rejects a workspace of another embedder before any model is called.
pub(super) fn check_space(engine: &Engine, space: &EmbeddingSpec) -> Result<(), QueryError> {
    let name = engine.models.embedder.name();
    if space.model == name { Ok(()) } else { Err(other_embedder(space, name, None)) }
}

fn other_embedder(space: &EmbeddingSpec, name: &str, dimensions: Option<usize>) -> QueryError {
    let question = match dimensions {
        Some(dimensions) => format!("{name} ({dimensions} dimensions)"),
        None => name.to_owned(),
    };
    QueryError::OtherEmbedder {
        workspace: format!("{} ({} dimensions)", space.model, space.dimensions),
        question,
    }
}
