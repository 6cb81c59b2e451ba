//! Tree search: from the question to summaries of passages and to passages, all levels at once or from the top down.
//!
//! Source: Sarthi et al., "RAPTOR", ICLR 2024, section 3: the collapsed tree and tree traversal. docs/explanation/trees.md
//! lists the differences and describes the effect of each constant.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{ChunkId, ItemKey, ItemKind, LayerNode, Member, NodeKey, Snapshot, StoreError};

use super::{Hits, QueryError, Question, naive, of_chunks};
use crate::derive::{NodeSummary, Tree};
use crate::filtered::FilteredSnapshot;
use crate::query::plan::TreeOrder;
use crate::query::{Arm, QueryNote};

/// Nodes and passages that compete for the context in the collapsed tree [RAPTOR].
const COLLAPSED_TOP: usize = 10;
/// Nodes followed on each level from the top down [RAPTOR].
const DESCENT_TOP: usize = 5;
/// Minimum number of passages returned, even if fewer are shown.
const MIN_CHUNKS: usize = 100;
/// Share of a passage's score that comes from the best node found above it.
const NODE_SHARE: f32 = 0.2;
/// Passages below a node with more than this many are not considered, because its text says too little about each of them.
const MAX_PASSAGES_BELOW: u32 = 200;

/// Returns the passages that the tree leads to, best first, and the nodes that led there.
pub(super) async fn search(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    order: TreeOrder,
    vector: &[f32],
) -> Result<Hits, QueryError> {
    let shown = question.wanted_chunks();
    let limit = shown.max(MIN_CHUNKS);
    let near = naive::nearest(scope, question, vector, limit).await?;
    let found = match order {
        _ if scope.is_filtered() => TreeHits::default(),
        TreeOrder::Collapsed => collapsed(scope, question, vector, &near).await?,
        TreeOrder::Descent => descent(scope.snapshot, vector).await?,
    };
    let cosines = cosines(scope.snapshot, vector, &near, found.above.keys()).await?;
    let chunks = blended(&cosines, &found.above);
    let chunks = chunks.into_iter().take(limit).collect();
    Ok(Hits { nodes: found.nodes, ..of_chunks(Arm::Tree, chunks) })
}

/// Returns the note about the state of the tree, if one is needed.
pub(in crate::query) async fn note(
    snapshot: &dyn Snapshot,
    is_filtered: bool,
) -> Result<Option<QueryNote>, StoreError> {
    let layer = Tree::name();
    if is_filtered {
        return Ok(Some(QueryNote::LayerUnfiltered { layer }));
    }
    Ok(match snapshot.layers().await?.into_iter().find(|known| known.name == layer) {
        None => Some(QueryNote::LayerMissing { layer }),
        Some(known) if !known.is_current(snapshot.graph_revision()) => {
            Some(QueryNote::LayerOutdated { layer })
        }
        Some(_) => None,
    })
}

/// Nodes, best first, and the passages below them with the score of the best node above each.
#[derive(Default)]
struct TreeHits {
    nodes: Vec<(LayerNode, f32)>,
    above: BTreeMap<ChunkId, f32>,
}

/// Returns the nodes that are among the best of all nodes and passages.
async fn collapsed(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    vector: &[f32],
    near: &[(ChunkId, f32)],
) -> Result<TreeHits, QueryError> {
    let hits = nearest_nodes(scope, question, vector).await?;
    let competing = |(_, score): &&(NodeKey, f32)| {
        let better = near.iter().filter(|(_, passage)| passage >= score).count();
        let better_nodes = hits.iter().filter(|(_, node)| node > score).count();
        better + better_nodes < COLLAPSED_TOP
    };
    let (keys, scores): (Vec<NodeKey>, Vec<f32>) = hits.iter().filter(competing).cloned().unzip();
    let nodes = scope.snapshot.nodes(&keys).await?.into_iter().zip(scores);
    let nodes: Vec<(LayerNode, f32)> = nodes.filter_map(|(node, score)| Some((node?, score))).collect();
    let above = passages_below(scope.snapshot, &nodes).await?;
    Ok(TreeHits { nodes, above })
}

/// Returns the nodes of the tree that are nearest to the question.
async fn nearest_nodes(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    vector: &[f32],
) -> Result<Vec<(NodeKey, f32)>, QueryError> {
    let (vector, least) = (vector.to_vec(), question.cosine_threshold);
    let request = scope.by_vector(ItemKind::Node, vector, COLLAPSED_TOP, least).in_layer(Tree::name());
    let hits = scope.snapshot.search(&[request]).await?.into_iter().flatten();
    Ok(hits.filter_map(|hit| Some((hit.item.into_node()?, hit.score))).collect())
}

/// Returns the passages below the nodes, with the score of the best node above each.
async fn passages_below(
    snapshot: &dyn Snapshot,
    nodes: &[(LayerNode, f32)],
) -> Result<BTreeMap<ChunkId, f32>, StoreError> {
    let mut above: BTreeMap<ChunkId, f32> = BTreeMap::new();
    // Nodes come best first, so a node already seen had a better score.
    let mut seen: BTreeSet<NodeKey> = BTreeSet::new();
    let is_narrow =
        |node: &LayerNode| NodeSummary::of(node).is_none_or(|summary| summary.passages <= MAX_PASSAGES_BELOW);
    for (node, score) in nodes.iter().filter(|(node, _)| is_narrow(node)) {
        let mut members = node.members.clone();
        while !members.is_empty() {
            let mut open: Vec<NodeKey> = Vec::new();
            for member in members {
                match member {
                    Member::Chunk(id) => drop(above.entry(id).or_insert(*score)),
                    Member::Node(key) => open.extend(Some(key).filter(|key| seen.insert(key.clone()))),
                    Member::Entity(_) => {}
                }
            }
            members =
                snapshot.nodes(&open).await?.into_iter().flatten().flat_map(|node| node.members).collect();
        }
    }
    Ok(above)
}

/// Returns the nodes nearest to the question on each level, from the top down, and the passages at the end of the descent.
async fn descent(snapshot: &dyn Snapshot, vector: &[f32]) -> Result<TreeHits, StoreError> {
    let mut found = TreeHits::default();
    let mut seen: BTreeSet<NodeKey> = BTreeSet::new();
    let mut open: Vec<NodeKey> = Tree::tops(snapshot).await?;
    while !open.is_empty() {
        let items: Vec<ItemKey> = open.iter().cloned().map(ItemKey::Node).collect();
        let vectors = snapshot.vectors(&items).await?;
        let mut scored: Vec<(NodeKey, f32)> = open
            .into_iter()
            .zip(vectors)
            .filter_map(|(key, of_node)| Some((key, cosine(vector, &of_node?))))
            .collect();
        scored.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        scored.truncate(DESCENT_TOP);
        let keys: Vec<NodeKey> = scored.iter().map(|(key, _)| key.clone()).collect();
        open = Vec::new();
        for (node, (_, score)) in snapshot.nodes(&keys).await?.into_iter().zip(scored) {
            let Some(node) = node else { continue };
            for member in &node.members {
                match member {
                    Member::Chunk(id) => {
                        let best = found.above.entry(id.clone()).or_insert(score);
                        *best = best.max(score);
                    }
                    Member::Node(key) => {
                        open.extend(Some(key.clone()).filter(|key| seen.insert(key.clone())))
                    }
                    Member::Entity(_) => {}
                }
            }
            found.nodes.push((node, score));
        }
    }
    found.nodes.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.key.cmp(&other.0.key)));
    Ok(found)
}

/// Returns the cosine with the question for all passages found, in no particular order.
async fn cosines(
    snapshot: &dyn Snapshot,
    vector: &[f32],
    near: &[(ChunkId, f32)],
    below: impl Iterator<Item = &ChunkId>,
) -> Result<Vec<(ChunkId, f32)>, StoreError> {
    let mut known: BTreeMap<ChunkId, f32> = near.iter().cloned().collect();
    let unknown: Vec<ChunkId> = below.filter(|id| !known.contains_key(*id)).cloned().collect();
    let items: Vec<ItemKey> = unknown.iter().cloned().map(ItemKey::Chunk).collect();
    let vectors = snapshot.vectors(&items).await?;
    let unknown = unknown.into_iter().zip(vectors);
    known.extend(unknown.filter_map(|(id, of_chunk)| Some((id, cosine(vector, &of_chunk?)))));
    Ok(known.into_iter().collect())
}

/// Ranks passages by their own score blended with that of the best node found above them. A passage without such a node gets
/// the lowest of these node scores.
fn blended(cosines: &[(ChunkId, f32)], above: &BTreeMap<ChunkId, f32>) -> Vec<(ChunkId, f32)> {
    let least = above.values().copied().fold(f32::INFINITY, f32::min);
    let least = if least.is_finite() { least } else { 0.0 };
    let blend = |(id, own): &(ChunkId, f32)| {
        let node = above.get(id).copied().unwrap_or(least);
        (id.clone(), own + NODE_SHARE * (node - own))
    };
    let mut blended: Vec<(ChunkId, f32)> = match above.is_empty() {
        true => cosines.to_vec(),
        false => cosines.iter().map(blend).collect(),
    };
    blended.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    blended
}

/// Returns the cosine of a unit vector with any other vector.
fn cosine(unit: &[f32], other: &[f32]) -> f32 {
    let product: f32 = unit.iter().zip(other).map(|(a, b)| a * b).sum();
    let length = other.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 { product / length } else { 0.0 }
}
