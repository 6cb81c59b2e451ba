//! Groups of like things, as pure functions: communities of a graph, and clusters and trees of vectors.
//!
//! Nothing here does I/O, starts a thread, reads a clock or asks for randomness, and no result depends on the order
//! of the input. So equal input gives equal output, whatever its history:
//!
//! - [`hierarchy`] divides a [`Graph`] into communities in levels.
//! - [`leiden`] gives one level of it, and [`modularity`] says how good a partition is.
//! - [`tree`] joins vectors ([`Points`]) to nodes around centers that hashes choose, layer by layer.
//! - [`soft_clusters`] divides vectors as RAPTOR does: a vector may be in several clusters. [`soft_tree`] does so layer
//!   by layer.
//! - [`layout`] gives the nodes of a graph places on a plane; here alone the order of nodes matters.

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
