//! Clustering as pure functions: communities of a graph, and clusters and trees of vectors.
//!
//! Nothing here does I/O, starts a thread, reads a clock or uses randomness, and no result depends on the order of the
//! input. Equal input gives equal output, whatever its history:
//!
//! - [`hierarchy`] divides a [`Graph`] into communities in levels.
//! - [`leiden`] computes one level of it, and [`modularity`] rates a partition.
//! - [`tree`] joins vectors ([`Points`]) into nodes around centers that are chosen by hash, layer by layer.
//! - [`soft_clusters`] divides vectors as RAPTOR does: a vector may be in several clusters. [`soft_tree`] does so layer by
//!   layer.
//! - [`layout`] places the nodes of a graph on a plane; this is the only function for which the order of nodes matters.

mod cells;
mod gather;
mod graph;
mod hierarchy;
mod layout;
mod leiden;
mod mixture;
mod neighbors;
mod network;
mod points;
mod priority;
mod reduce;
mod soft;
mod soft_tree;
mod tree;

pub use graph::{Edge, Graph, GraphError, modularity};
pub use hierarchy::{Community, CommunityId, Hierarchy, HierarchySettings, hierarchy};
pub use layout::{Link, layout};
pub use leiden::{LeidenSettings, leiden};
pub use points::{Points, PointsError};
pub use soft::{MAX_SOFT_LAYERS, SoftSettings, soft_clusters};
pub use soft_tree::soft_tree;
pub use tree::{Tree, TreeNode, TreeSettings, tree};
