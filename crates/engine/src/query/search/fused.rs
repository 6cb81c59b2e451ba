//! Fused search: from the question to chunks, by vector and full text with weighted ranks.
//!
//! Source: Anthropic, "Introducing Contextual Retrieval", 2024. docs/methods/contextual.md describes the effect of each constant.

use graphloom_core::{ChunkId, Hit, ItemKind};

use super::{QueryError, Question};
use crate::filtered::FilteredSnapshot;
use crate::query::fuse::weighted_ranks;

/// Minimum number of chunks taken from each ranking, and kept for reranking.
const CANDIDATES: usize = 150;
/// Weights of the two rankings.
const VECTOR_WEIGHT: f64 = 0.8;
const WORDS_WEIGHT: f64 = 0.2;

/// Returns the chunks nearest to the question and those that match its words, by the weighted sum of their reciprocal ranks.
pub(super) async fn search(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    vector: &[f32],
) -> Result<Vec<(ChunkId, f32)>, QueryError> {
    let shown = question.wanted_chunks();
    let limit = shown.max(CANDIDATES);
    let requests = [
        scope.by_vector(ItemKind::Chunk, vector.to_vec(), limit, question.cosine_threshold),
        scope.by_words(ItemKind::Chunk, question.text.trim(), limit),
    ];
    let found = scope.snapshot.search(&requests).await?;
    let ids = |hits: Vec<Hit>| hits.into_iter().filter_map(|hit| hit.item.into_chunk()).collect();
    let ranked =
        [VECTOR_WEIGHT, WORDS_WEIGHT].into_iter().zip(found).map(|(weight, hits)| (weight, ids(hits)));
    let fused = weighted_ranks::<ChunkId>(&ranked.collect::<Vec<_>>());
    Ok(fused.into_iter().take(limit).map(|(id, score)| (id, score as f32)).collect())
}
