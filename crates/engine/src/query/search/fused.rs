//! Fused search: the question to chunks by vector and by words, their ranks weighted.
//!
//! Source: Anthropic, "Introducing Contextual Retrieval", 2024. What each constant does is told in
//! docs/methods/contextual.md.

use graphloom_core::{ChunkId, Found, VectorHit, VectorKind};

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
    let by_vector =
        scope.by_vector(VectorKind::Chunk, vec![vector.to_vec()], limit, question.cosine_threshold);
    let by_words = scope.by_words(VectorKind::Chunk, question.text.trim(), limit);
    let Found { by_vector, by_text } = scope.snapshot.search_all(&[by_vector], &[by_words]).await?;
    let ids = |hits: Vec<VectorHit>| hits.into_iter().map(|hit| hit.id).collect();
    let by_vector = by_vector.into_iter().flatten().map(|hits| (VECTOR_WEIGHT, ids(hits)));
    let by_words = by_text.into_iter().map(|hits| (WORDS_WEIGHT, ids(hits)));
    let fused = weighted_ranks::<String>(&by_vector.chain(by_words).collect::<Vec<_>>());
    let best = fused.into_iter().take(limit);
    Ok(best.map(|(id, score)| (ChunkId::from_stored(id), score as f32)).collect())
}
