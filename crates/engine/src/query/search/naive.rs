//! Naive search: from the question to chunks.

use graphloom_core::{ChunkId, ItemKind};

use super::{QueryError, Question};
use crate::filtered::FilteredSnapshot;

/// Returns the chunks nearest to the question, nearest first.
pub(super) async fn search(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    vector: &[f32],
) -> Result<Vec<(ChunkId, f32)>, QueryError> {
    let limit = question.wanted_chunks();
    nearest(scope, question, vector, limit).await
}

/// Returns the `limit` chunks nearest to the question, nearest first.
pub(super) async fn nearest(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    vector: &[f32],
    limit: usize,
) -> Result<Vec<(ChunkId, f32)>, QueryError> {
    let hits = scope.nearest(ItemKind::Chunk, vector, limit, question.cosine_threshold).await?;
    Ok(hits.into_iter().filter_map(|hit| Some((hit.item.into_chunk()?, hit.score))).collect())
}
