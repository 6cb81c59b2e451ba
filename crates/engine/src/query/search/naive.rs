//! Naive search: the question to chunks.

use graphloom_core::{ChunkId, VectorKind};

use super::{QueryError, Question};
use crate::scope::Scope;

/// The chunks nearest to the question, in that order.
pub(super) async fn search(
    scope: &Scope<'_>,
    question: &Question,
    vector: &[f32],
) -> Result<Vec<(ChunkId, f32)>, QueryError> {
    let limit = if question.chunk_top_k == 0 { question.top_k } else { question.chunk_top_k };
    let hits = scope.nearest(VectorKind::Chunk, vector, limit, question.cosine_threshold).await?;
    Ok(hits.into_iter().map(|hit| (ChunkId::from_stored(hit.id), hit.score)).collect())
}
