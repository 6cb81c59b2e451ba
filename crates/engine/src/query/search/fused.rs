//! Fused search: the question to chunks by vector and by words, their ranks weighted.
//!
//! Source: Anthropic, "Introducing Contextual Retrieval", 2024. What each constant does is told in
//! docs/methods/contextual.md.

use graphloom_core::{ChunkId, VectorHit, VectorKind};

use super::{QueryError, Question};
use crate::query::fuse::weighted_ranks;
use crate::scope::Scope;

/// Chunks taken from each ranking, and at most handed on for reranking, unless more are asked for.
const CANDIDATES: usize = 150;
/// What the two rankings weigh.
const VECTOR_WEIGHT: f64 = 0.8;
const WORDS_WEIGHT: f64 = 0.2;

/// The chunks that are nearest to the question and that match its words, by the weighted sum of their reciprocal ranks.
pub(super) async fn search(
    scope: &Scope<'_>,
    question: &Question,
    vector: &[f32],
) -> Result<Vec<(ChunkId, f32)>, QueryError> {
    let shown = if question.chunk_top_k == 0 { question.top_k } else { question.chunk_top_k };
    let limit = shown.max(CANDIDATES);
    let by_vector = scope.nearest(VectorKind::Chunk, vector, limit, question.cosine_threshold).await?;
    let by_words = scope.matching(VectorKind::Chunk, question.text.trim(), limit).await?;
    let ids = |hits: Vec<VectorHit>| hits.into_iter().map(|hit| hit.id).collect();
    let fused = weighted_ranks::<String>(&[(VECTOR_WEIGHT, ids(by_vector)), (WORDS_WEIGHT, ids(by_words))]);
    let best = fused.into_iter().take(limit);
    Ok(best.map(|(id, score)| (ChunkId::from_stored(id), score as f32)).collect())
}
