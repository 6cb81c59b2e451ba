//! Groups of like things, as pure functions: communities of a graph.
//!
//! Nothing here does I/O, starts a thread, reads a clock or asks for randomness, and no result depends on the order
//! of the input. So equal input gives equal output, whatever its history:
//!
//! - [`hierarchy`] divides a [`Graph`] into communities in levels.
//! - [`leiden`] gives one level of it, and [`modularity`] says how good a partition is.

mod gather;
mod graph;
mod hierarchy;
mod leiden;
mod network;
mod priority;

pub use graph::{Edge, Graph, GraphError, modularity};
pub use hierarchy::{Community, CommunityId, Hierarchy, HierarchySettings, hierarchy};
pub use leiden::{LeidenSettings, leiden};
