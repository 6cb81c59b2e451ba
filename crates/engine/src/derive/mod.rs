//! Derivers build layers: views over a whole workspace that are computed when its graph is up to date.
//!
//! A deriver plans all nodes of its layer from one snapshot, then writes them one by one. Each step is one commit, and
//! every LLM answer is committed as it arrives, so a run can stop anywhere and the next one continues there. Nodes with
//! unchanged members and inputs are kept.

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
    /// Summaries of similar passages, and summaries of these summaries.
    Tree,
}

impl LayerKind {
    /// All kinds, in the order in which they are derived.
    pub const ALL: [Self; 2] = [Self::Communities, Self::Tree];

    /// Returns the name of the layer.
    pub fn name(self) -> &'static str {
        match self {
            Self::Communities => "communities",
            Self::Tree => "tree",
        }
    }

    /// Returns the deriver of the layer.
    pub fn deriver(self) -> &'static dyn Deriver {
        match self {
            Self::Communities => &Communities,
            Self::Tree => &Tree,
        }
    }

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Builds one layer.
#[async_trait]
pub trait Deriver: Send + Sync {
    /// Returns the name of its layer.
    fn layer(&self) -> LayerName;

    /// Returns the hash of everything except the evidence that determines the contents of the layer: algorithm, parameters,
    /// prompt, model.
    fn settings(&self, engine: &Engine) -> ContentHash;

    /// Returns all nodes of the layer without their texts, in any order.
    async fn plan(&self, engine: &Engine, snapshot: &dyn Snapshot) -> Result<Vec<LayerNode>, StoreError>;

    /// Returns a JSON object that is stored with the layer as a whole, next to the number of failed nodes; empty by
    /// default.
    fn details(&self, _planned: &LayerPlan) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    /// Returns a possible LLM answer that [`write`](Self::write) can read: a `long` one, or the shortest.
    fn sample_answer(&self, long: bool) -> String;

    /// Writes the text of a planned node.
    ///
    /// - `planned`: all nodes of the layer.
    /// - `parts`: the nodes among the members of `node`, with their texts.
    /// - `stored`: the node in the store; if its inputs are the same, the result is [`NodeOutcome::Kept`].
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
    /// The stored node is still valid.
    Kept,
    /// The node has a new text.
    New {
        /// The node.
        node: LayerNode,
        /// Cache entry for the paid LLM answer; `None` if no model was called.
        paid: Option<CacheEntry>,
        /// Rows for the ledger.
        calls: Vec<Call>,
    },
    /// The model failed; the node has no text until the next run.
    Failed {
        /// The error.
        error: ModelError,
        /// Rows for the ledger.
        calls: Vec<Call>,
    },
    /// A node that it is built on has no text.
    Waits,
}

/// The state of a layer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LayerStatus {
    /// Its name.
    pub layer: LayerName,
    /// True if it is complete and the graph has not changed since.
    pub current: bool,
    /// Number of nodes on each level, starting with level 0.
    pub levels: Vec<u64>,
    /// Nodes without a text because a model failed.
    pub failed: u64,
}

/// Returns the state of every layer, by name.
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

/// Key of the number of failed nodes in a layer's details.
const FAILED: &str = "failed";

fn failed_nodes(layer: &Layer) -> u64 {
    layer.details.get(FAILED).and_then(serde_json::Value::as_u64).unwrap_or(0)
}
