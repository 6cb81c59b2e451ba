//! The tree: nodes over chunks with similar vectors, and nodes over these nodes, each with a summary.
//!
//! Source: Sarthi et al., "RAPTOR: Recursive Abstractive Processing for Tree-Organized Retrieval", ICLR 2024.
//! docs/explanation/trees.md lists the differences.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use async_trait::async_trait;
use graphloom_cluster::{Points, SoftSettings, TreeNode, TreeSettings, soft_tree, tree};
use graphloom_core::{
    ChunkId, ContentHash, DocumentId, ItemKey, LayerName, LayerNode, Member, NodeKey, Snapshot, StoreError,
    Visibility, table,
};
use serde_json::{Map, Value, json};

use super::summary::{self, MAX_SUMMARY_CONTEXT_TOKENS, SUMMARY_TOKENS};
use super::{Deriver, LayerKind, LayerPlan, NodeOutcome};
use crate::Engine;
use crate::prompt::TREE_SUMMARY;

/// Version of the algorithm; a change derives all nodes again.
const VERSION: &str = "2";
/// Key of the top nodes in the layer's details; a top node is not part of another node.
const TOPS: &str = "tops";
/// Maximum number of top nodes that are stored; a tree of a hundred thousand chunks has one.
const MAX_TOPS: usize = 1000;

/// How chunks and nodes are grouped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TreeClustering {
    /// Each chunk and node joins the nearest center; centers are chosen by hash, and a node has up to ten children.
    #[default]
    Agglomerative,
    /// Gaussian mixtures over reduced vectors, as in RAPTOR: a chunk can be in several nodes.
    Soft,
}

impl TreeClustering {
    /// Both, the default first.
    pub const ALL: [Self; 2] = [Self::Agglomerative, Self::Soft];

    /// Returns the name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agglomerative => "agglomerative",
            Self::Soft => "soft",
        }
    }
}

impl FromStr for TreeClustering {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|clustering| clustering.name() == name).ok_or(())
    }
}

/// The layer `tree`.
///
/// A node joins at least two chunks or nodes. Level 1 is directly above the chunks; the members of a node can be from any
/// lower level.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tree;

impl Tree {
    /// Returns the name of the layer.
    pub fn name() -> LayerName {
        LayerName::from_stored(LayerKind::Tree.name())
    }

    /// Returns the top nodes, as of the last run.
    pub(crate) async fn tops(snapshot: &dyn Snapshot) -> Result<Vec<NodeKey>, StoreError> {
        let layer = snapshot.layers().await?.into_iter().find(|layer| layer.name == Self::name());
        let listed = layer.and_then(|layer| layer.details.get(TOPS).cloned());
        Ok(listed.and_then(|listed| serde_json::from_value(listed).ok()).unwrap_or_default())
    }
}

#[async_trait]
impl Deriver for Tree {
    fn layer(&self) -> LayerName {
        Self::name()
    }

    fn settings(&self, engine: &Engine) -> ContentHash {
        let model = engine.models.summarize.as_deref().map_or("", |model| model.name());
        let prompt = engine.prompts.body(TREE_SUMMARY);
        let language = engine.prompts.chosen_language().unwrap_or_default();
        ContentHash::of_parts(&[VERSION, engine.index.tree.name(), model, prompt, language])
    }

    async fn plan(&self, engine: &Engine, snapshot: &dyn Snapshot) -> Result<Vec<LayerNode>, StoreError> {
        let leaves = Leaves::read(snapshot).await?;
        let dimensions = leaves.values.len().checked_div(leaves.ids.len()).unwrap_or(0);
        let points =
            Points::new(&leaves.ids, dimensions, &leaves.values).map_err(|error| StoreError::Backend {
                operation: "grouping the chunks into a tree".to_owned(),
                source: Box::new(error),
            })?;
        let nodes = match engine.index.tree {
            TreeClustering::Agglomerative => tree(&points, &TreeSettings::default()).nodes,
            TreeClustering::Soft => {
                let by_id: BTreeMap<&str, u32> =
                    leaves.ids.iter().map(|id| id.as_str()).zip(leaves.tokens.iter().copied()).collect();
                let sizes: Vec<u32> = points
                    .names()
                    .iter()
                    .map(|name| by_id.get(name.as_str()).copied().unwrap_or(0))
                    .collect();
                let settings = SoftSettings {
                    max_size: u64::from(MAX_SUMMARY_CONTEXT_TOKENS),
                    ..SoftSettings::default()
                };
                soft_tree(&points, &sizes, SUMMARY_TOKENS, &settings).nodes
            }
        };
        Ok(nodes_of(&Self::name(), &nodes, points.names()))
    }

    fn details(&self, planned: &LayerPlan) -> Map<String, Value> {
        let mut tops = planned.tops();
        tops.truncate(MAX_TOPS);
        Map::from_iter([(TOPS.to_owned(), json!(tops))])
    }

    fn sample_answer(&self, long: bool) -> String {
        summary::sample(long)
    }

    async fn write(
        &self,
        engine: &Engine,
        snapshot: &dyn Snapshot,
        planned: &LayerPlan,
        node: LayerNode,
        parts: &[LayerNode],
        stored: Option<&LayerNode>,
    ) -> Result<NodeOutcome, StoreError> {
        summary::write(engine, snapshot, planned, node, parts, stored).await
    }
}

/// The chunks of live documents that have a vector.
#[derive(Default)]
struct Leaves {
    ids: Vec<String>,
    tokens: Vec<u32>,
    values: Vec<f32>,
}

impl Leaves {
    async fn read(snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        let mut leaves = Self::default();
        let mut live: BTreeMap<DocumentId, bool> = BTreeMap::new();
        let mut pages = snapshot.pages(table::Chunks);
        while let Some(page) = pages.next().await? {
            let unknown: BTreeSet<&DocumentId> =
                page.iter().map(|chunk| &chunk.document).filter(|id| !live.contains_key(*id)).collect();
            let unknown: Vec<DocumentId> = unknown.into_iter().cloned().collect();
            for (id, document) in unknown.iter().zip(snapshot.documents(&unknown).await?) {
                let is_live = document.is_some_and(|document| document.visibility == Visibility::Live);
                live.insert(id.clone(), is_live);
            }
            let live = page.into_iter().filter(|chunk| live.get(&chunk.document) == Some(&true));
            let (items, tokens): (Vec<ItemKey>, Vec<u32>) =
                live.map(|chunk| (ItemKey::Chunk(chunk.id), chunk.token_count)).unzip();
            let vectors = snapshot.vectors(&items).await?;
            for ((item, tokens), vector) in items.iter().zip(tokens).zip(vectors) {
                let Some(vector) = vector else { continue };
                leaves.ids.push(item.id().into_owned());
                leaves.tokens.push(tokens);
                leaves.values.extend(vector);
            }
        }
        Ok(leaves)
    }
}

/// Returns the nodes of a tree over the chunks with these ids; children come before their parents in the list.
fn nodes_of(layer: &LayerName, tree: &[TreeNode], ids: &[String]) -> Vec<LayerNode> {
    let mut nodes: Vec<LayerNode> = Vec::with_capacity(tree.len());
    for node in tree {
        let chunks =
            node.leaves.iter().map(|leaf| Member::Chunk(ChunkId::from_stored(&*ids[*leaf as usize])));
        let inner = node.children.iter().map(|child| Member::Node(nodes[*child].key.clone()));
        let members = chunks.chain(inner).collect();
        nodes.push(LayerNode::new(layer, node.layer, members));
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_vectors_becomes_nodes_above_chunks_and_nodes() {
        let names: Vec<String> = (0..30).map(|number| format!("chunk-{number:02}")).collect();
        let values: Vec<f32> = (0..30_u32)
            .flat_map(|number| {
                let angle = number as f32 * 0.1;
                [angle.cos(), angle.sin()]
            })
            .collect();
        let points = Points::new(&names, 2, &values).expect("points");
        let nodes = nodes_of(&Tree::name(), &tree(&points, &TreeSettings::default()).nodes, points.names());
        let planned = LayerPlan::new(nodes);
        let [top] = &planned.tops()[..] else { panic!("{planned:?}") };
        assert_eq!(planned.below(&[Member::Node(top.clone())]).len(), 30);
    }
}
