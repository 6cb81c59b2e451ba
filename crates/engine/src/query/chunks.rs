//! Turns hits into passages: ranks the chunks behind the hits in one list, loads them and cuts the list.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use graphloom_core::{Chunk, ChunkId, Document, DocumentId, GraphKey, ItemKey, Snapshot, Visibility};

use super::embed::QueryVectors;
use super::fuse::round_robin;
use super::pick::Sources;
use super::plan::Plan;
use super::truncate::FittedGraph;
use super::{Arm, ChunkPick, QueryError, Question};
use crate::filtered::FilteredSnapshot;

/// Maximum number of chunks considered for one entity or relation.
pub(super) const MAX_SOURCE_CHUNKS: usize = 200;

/// Chunks read at once if the number of passages has no limit.
const LOAD_BLOCK: usize = 64;

/// A chunk that may be added to the context.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) id: ChunkId,
    pub(super) arm: Arm,
    pub(super) score: Option<f32>,
}

/// A chunk with its document.
#[derive(Debug, Clone)]
pub(super) struct Passage {
    pub(super) chunk: Chunk,
    pub(super) document: Document,
    pub(super) arm: Arm,
    pub(super) score: Option<f32>,
    pub(super) rerank_score: Option<f32>,
    /// The chunk context, if a reranker reads the passage.
    pub(super) context: Option<String>,
}

/// Returns the chunks that the operators found. If keywords led to entities and relations, the chunks behind these are
/// interleaved with them.
pub(super) async fn collect(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    plan: Plan,
    vectors: &QueryVectors,
    hits: Vec<Candidate>,
    graph: &FittedGraph,
) -> Result<Vec<Candidate>, QueryError> {
    if !plan.needs_keywords() {
        return Ok(hits);
    }
    let keys: Vec<GraphKey> = (graph.entities.iter().map(|found| GraphKey::Entity(found.entity.key.clone())))
        .chain(graph.relations.iter().map(|found| GraphKey::Relation(found.relation.key.clone())))
        .collect();
    let (mut of_entities, mut of_relations) = (Vec::new(), Vec::new());
    if !keys.is_empty() {
        let behind = scope.chunks_behind(&keys, MAX_SOURCE_CHUNKS).await?;
        let similarities = match (&vectors.question, question.chunk_pick) {
            (Some(vector), ChunkPick::Vector) => similarities(scope.snapshot, vector, &behind).await?,
            (None, ChunkPick::Vector) | (_, ChunkPick::Weight) => BTreeMap::new(),
        };
        let (behind_entities, behind_relations) = behind.split_at(graph.entities.len());
        of_entities = pick(&Sources::of_entities(behind_entities), question, &similarities);
        let chosen: BTreeSet<ChunkId> = of_entities.iter().cloned().collect();
        of_relations = pick(&Sources::of_relations(behind_relations, &chosen), question, &similarities);
    }
    let by_graph = |ids: Vec<ChunkId>, arm: Arm| {
        ids.into_iter().map(|id| Candidate { id, arm, score: None }).collect::<Vec<_>>()
    };
    let lists = vec![hits, by_graph(of_entities, Arm::Entity), by_graph(of_relations, Arm::Relation)];
    Ok(round_robin(lists, |candidate| candidate.id.clone()))
}

/// Puts the chunks that state claims before the others.
pub(super) fn with_quotes(quoted: Vec<ChunkId>, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let known: BTreeSet<ChunkId> = quoted.iter().cloned().collect();
    let quoted = quoted.into_iter().map(|id| Candidate { id, arm: Arm::Claim, score: None });
    quoted.chain(candidates.into_iter().filter(|candidate| !known.contains(&candidate.id))).collect()
}

/// Picks chunks with the question's method. Falls back to polling if vectors are missing or yield nothing.
pub(super) fn pick(
    sources: &Sources<ChunkId>,
    question: &Question,
    similarities: &BTreeMap<ChunkId, f32>,
) -> Vec<ChunkId> {
    let by_similarity = match question.chunk_pick {
        ChunkPick::Vector => {
            sources.by_similarity(question.related_chunk_number, |chunk| similarities.get(chunk).copied())
        }
        ChunkPick::Weight => Vec::new(),
    };
    if by_similarity.is_empty() { sources.by_polling(question.related_chunk_number) } else { by_similarity }
}

/// Returns the cosine with the question for every chunk that has a vector.
async fn similarities(
    snapshot: &dyn Snapshot,
    question: &[f32],
    chunks: &[Vec<ChunkId>],
) -> Result<BTreeMap<ChunkId, f32>, QueryError> {
    let distinct: BTreeSet<&ChunkId> = chunks.iter().flatten().collect();
    let items: Vec<ItemKey> = distinct.iter().map(|&id| ItemKey::Chunk(id.clone())).collect();
    let vectors = snapshot.vectors(&items).await?;
    let known = distinct.into_iter().zip(vectors).filter_map(|(id, vector)| Some((id, vector?)));
    Ok(known.map(|(id, vector)| (id.clone(), dot(question, &vector))).collect())
}

/// Returns the cosine of two unit vectors. Sums in eight lanes, so that the compiler can vectorize and the order is fixed.
fn dot(one: &[f32], other: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (ones, others) = (one.chunks_exact(8), other.chunks_exact(8));
    let tail: f32 = ones.remainder().iter().zip(others.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in ones.zip(others) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.iter().sum::<f32>() + tail
}

/// Reads candidates in order until it has `chunk_top_k` passages (all if that is 0). Of several equal texts it keeps the
/// first. It skips chunks that are gone and chunks of documents that are not live.
pub(super) async fn load(
    snapshot: &dyn Snapshot,
    candidates: Vec<Candidate>,
    chunk_top_k: usize,
) -> Result<Vec<Passage>, QueryError> {
    let (limit, block_size) = match chunk_top_k {
        0 => (usize::MAX, LOAD_BLOCK),
        limit => (limit, limit),
    };
    let mut documents: BTreeMap<DocumentId, Option<Document>> = BTreeMap::new();
    let mut texts: HashSet<String> = HashSet::new();
    let mut passages = Vec::new();
    for block in candidates.chunks(block_size) {
        let ids: Vec<ChunkId> = block.iter().map(|candidate| candidate.id.clone()).collect();
        let chunks = snapshot.chunks(&ids).await?;
        let owners: BTreeSet<&DocumentId> = chunks.iter().flatten().map(|chunk| &chunk.document).collect();
        let owners: Vec<DocumentId> =
            owners.into_iter().filter(|id| !documents.contains_key(*id)).cloned().collect();
        documents.extend(owners.iter().cloned().zip(snapshot.documents(&owners).await?));
        for (candidate, chunk) in block.iter().zip(chunks) {
            let Some(chunk) = chunk else { continue };
            let document = documents.get(&chunk.document).cloned().flatten();
            let Some(document) = document.filter(|document| document.visibility == Visibility::Live) else {
                continue;
            };
            if texts.insert(chunk.text.clone()) {
                let Candidate { arm, score, .. } = *candidate;
                passages.push(Passage { chunk, document, arm, score, rerank_score: None, context: None });
            }
            if passages.len() == limit {
                return Ok(passages);
            }
        }
    }
    Ok(passages)
}

/// Reads the chunk contexts of the passages.
pub(super) async fn contextualize(
    snapshot: &dyn Snapshot,
    passages: &mut [Passage],
) -> Result<(), QueryError> {
    let ids: Vec<ChunkId> = passages.iter().map(|passage| passage.chunk.id.clone()).collect();
    for (passage, chunk_context) in passages.iter_mut().zip(snapshot.chunk_contexts(&ids).await?) {
        passage.context = chunk_context.and_then(|chunk_context| chunk_context.text().map(str::to_owned));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dot_product_covers_lanes_and_tail() {
        let one: Vec<f32> = (0..19).map(|n| n as f32).collect();
        assert_eq!(dot(&one, &[1.0; 19]), 171.0);
    }
}
