//! Explores the graph: entity names and neighbourhoods.

mod labels;
mod path;
mod picture;
mod subgraph;

pub use labels::{Label, MAX_LABELS, MAX_MATCHES, all_labels, popular_labels, search_labels};
pub use path::{GraphPath, MAX_PATH_LENGTH, PathSearch, shortest_path};
pub use picture::{MAX_PICTURE_NODES, Picture, picture};
pub use subgraph::{GraphNode, Limit, MAX_DEPTH, MAX_NODES, Subgraph, SubgraphQuery, subgraph};
