//! Derivers: build layers, the views over a whole workspace, after its graph has settled.
//!
//! A deriver plans all nodes of its layer from one snapshot, then writes them one by one. Each step is one commit, and
//! a model's answer is committed as it arrives, so a run may end anywhere and the next one goes on where it ended.
//! Nodes whose members and inputs are as before are kept.

mod communities;
mod estimate;
mod imported;
mod imported_communities;
mod material;
mod pages;
mod plan;
mod report;
mod run;
mod show_communities;
mod show_tree;
mod summary;
mod tree;
mod weights;

use async_trait::async_trait;
use graphloom_core::{
    CacheEntry, Call, ContentHash, Layer, LayerName, LayerNode, ModelError, Snapshot, StoreError,
};

pub use communities::{Communities, MAX_COMMUNITY_SIZE, MAX_REPORT_CONTEXT_TOKENS};
pub use estimate::{DeriveEstimate, estimate};
pub use imported::{About, ImportedFinding, ImportedReport, keep_reports, reports_in_use};
pub use imported_communities::ImportedCommunities;
pub use pages::{NodeName, Quote};
pub use plan::LayerPlan;
pub use report::{Finding, RULES, Reference, Report, ReportSource};
pub use run::{DeriveError, DeriveReport, derive};
pub use show_communities::{
    CommunityEntry, CommunityReport, QuotedFinding, communities, community, find_communities,
};
pub use show_tree::{TreeEntry, TreeNodeView, TreePassage, find_tree_nodes, tree_node, tree_nodes};
pub use summary::{MAX_SUMMARY_CONTEXT_TOKENS, NodeSummary, Topic};
pub use tree::{Tree, TreeClustering};
pub use weights::{EdgeWeights, MIN_MENTIONS, PRUNED_PERCENT};

use crate::Engine;

/// The layers that can be derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerKind {
    /// Communities of the graph with reports.
    Communities,
    /// Summaries of passages that are alike, and summaries of these.
    Tree,
}

impl LayerKind {
    /// All kinds, in the order in which they are derived.
    pub const ALL: [Self; 2] = [Self::Communities, Self::Tree];

    /// The name of the layer.
    pub fn name(self) -> &'static str {
        match self {
            Self::Communities => "communities",
            Self::Tree => "tree",
        }
    }

    /// What derives the layer.
    pub fn deriver(self) -> &'static dyn Deriver {
        match self {
            Self::Communities => &Communities,
            Self::Tree => &Tree,
        }
    }

    /// The kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Builds one layer.
#[async_trait]
pub trait Deriver: Send + Sync {
    /// The name of its layer.
    fn layer(&self) -> LayerName;

    /// Hash of everything besides the evidence that decides what the layer contains: algorithm, parameters, prompt,
    /// model.
    fn settings(&self, engine: &Engine) -> ContentHash;

    /// All nodes of the layer without their texts, in any order.
    async fn plan(&self, engine: &Engine, snapshot: &dyn Snapshot) -> Result<Vec<LayerNode>, StoreError>;

    /// What is kept with the layer as a whole, beside the number of failed nodes: a JSON object, empty by default.
    fn details(&self, _planned: &LayerPlan) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    /// An answer as a model gives it that [`write`](Self::write) reads: a `long` one, or the shortest.
    fn sample_answer(&self, long: bool) -> String;

    /// Writes the text of a planned node.
    ///
    /// - `planned`: all nodes of the layer.
    /// - `parts`: the nodes among its members, with their texts.
    /// - `stored`: the node as the store has it; returned as [`NodeOutcome::Kept`] if its inputs are the same.
    async fn write(
        &self,
        engine: &Engine,
        snapshot: &dyn Snapshot,
        planned: &LayerPlan,
        node: LayerNode,
        parts: &[LayerNode],
        stored: Option<&LayerNode>,
    ) -> Result<NodeOutcome, StoreError>;
}

/// The outcome of writing one node.
#[derive(Debug)]
pub enum NodeOutcome {
    /// The stored node is still right.
    Kept,
    /// A new text.
    New {
        /// The node.
        node: LayerNode,
        /// What the model's answer is kept under; `None` if no model was asked.
        paid: Option<CacheEntry>,
        /// Ledger rows.
        calls: Vec<Call>,
    },
    /// The model failed; the node has no text until the next run.
    Failed {
        /// Why.
        error: ModelError,
        /// Ledger rows.
        calls: Vec<Call>,
    },
    /// A node that it is built on failed.
    Waits,
}

/// The state of a layer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LayerStatus {
    /// Its name.
    pub layer: LayerName,
    /// Whether it is complete and the graph has not changed since.
    pub current: bool,
    /// Number of nodes on each level, from level 0 on.
    pub levels: Vec<u64>,
    /// Nodes without a text because a model failed.
    pub failed: u64,
}

/// The state of every layer, by name.
pub async fn layer_states(snapshot: &dyn Snapshot) -> Result<Vec<LayerStatus>, StoreError> {
    let mut states = Vec::new();
    for layer in snapshot.layers().await? {
        let counts = snapshot.node_counts(&layer.name).await?;
        let levels = counts.last_key_value().map_or(0, |(last, _)| last + 1);
        states.push(LayerStatus {
            current: layer.is_current(snapshot.graph_revision()),
            levels: (0..levels).map(|level| counts.get(&level).copied().unwrap_or(0)).collect(),
            failed: failed_nodes(&layer),
            layer: layer.name,
        });
    }
    Ok(states)
}

/// The key in a layer's details under which the number of failed nodes stands.
const FAILED: &str = "failed";

fn failed_nodes(layer: &Layer) -> u64 {
    layer.details.get(FAILED).and_then(serde_json::Value::as_u64).unwrap_or(0)
}
