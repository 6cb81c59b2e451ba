//! The vectors that a question is searched with, all in one call.

use std::sync::Arc;

use graphloom_core::{Call, EmbeddingSpec, Purpose, Role};

use super::calls::Timer;
use super::plan::Plan;
use super::{ChunkPick, Keywords, QueryError, Question};
use crate::Engine;

/// What is searched for; `None` where the plan does not need it or there is no such keyword.
#[derive(Debug, Clone, Default)]
pub(super) struct QueryVectors {
    /// The question.
    pub(super) question: Option<Arc<[f32]>>,
    /// The low-level keywords, joined.
    pub(super) low_level: Option<Arc<[f32]>>,
    /// The high-level keywords, joined.
    pub(super) high_level: Option<Arc<[f32]>>,
}

/// Embeds what the plan needs of the question and its keywords, in one call at most.
pub(super) async fn embed(
    engine: &Engine,
    question: &Question,
    plan: Plan,
    keywords: &Keywords,
    space: &EmbeddingSpec,
    calls: &mut Vec<Call>,
) -> Result<QueryVectors, QueryError> {
    let low_level = (plan.local && !keywords.low_level.is_empty()).then(|| keywords.low_level.join(", "));
    let high_level = (plan.global && !keywords.high_level.is_empty()).then(|| keywords.high_level.join(", "));
    let picks_by_question =
        question.chunk_pick == ChunkPick::Vector && (low_level.is_some() || high_level.is_some());
    let whole = (plan.naive || picks_by_question).then(|| question.text.trim().to_owned());
    let wanted: Vec<String> = [&whole, &low_level, &high_level].into_iter().flatten().cloned().collect();
    let mut vectors = vectors_of(engine, &wanted, space, calls).await?.into_iter();
    Ok(QueryVectors {
        question: whole.and_then(|_| vectors.next()),
        low_level: low_level.and_then(|_| vectors.next()),
        high_level: high_level.and_then(|_| vectors.next()),
    })
}

/// One query vector per text, from memory where possible, and checked to be of the workspace's space.
pub(super) async fn vectors_of(
    engine: &Engine,
    texts: &[String],
    space: &EmbeddingSpec,
    calls: &mut Vec<Call>,
) -> Result<Vec<Arc<[f32]>>, QueryError> {
    let embedder = engine.models.embedder.as_ref();
    let mut missing: Vec<String> = Vec::new();
    for text in texts {
        if engine.caches.vector(embedder.name(), text).is_none() && !missing.contains(text) {
            missing.push(text.clone());
        }
    }
    let mut fresh = Vec::new();
    if !missing.is_empty() {
        let timer = Timer::start(engine, Role::Embed, embedder.name());
        let embeddings = embedder.embed(Purpose::Query, &missing).await?;
        // Models in process make no requests; they are no calls in the ledger.
        if embeddings.attempts > 0 {
            calls.push(timer.counted(embeddings.usage, embeddings.attempts));
        }
        for (text, vector) in missing.iter().zip(embeddings.vectors) {
            let vector: Arc<[f32]> = vector.into();
            engine.caches.remember_vector(embedder.name(), text, vector.clone());
            fresh.push((text, vector));
        }
    }
    let mut vectors = Vec::with_capacity(texts.len());
    for text in texts {
        let vector = fresh.iter().find(|(known, _)| *known == text).map(|(_, vector)| vector.clone());
        vectors.extend(vector.or_else(|| engine.caches.vector(embedder.name(), text)));
    }
    if vectors.len() < texts.len() {
        return Err(QueryError::Model(graphloom_core::ModelError::Malformed {
            model: embedder.name().to_owned(),
            what: format!("{} texts gave {} vectors", texts.len(), vectors.len()),
        }));
    }
    match vectors.iter().find(|vector| vector.len() != space.dimensions as usize) {
        Some(other) => Err(other_embedder(space, embedder.name(), Some(other.len()))),
        None => Ok(vectors),
    }
}

/// Refuses a workspace of another embedder, before anything is asked of any model.
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
