//! A weighted, undirected graph with named nodes, ordered only by their names.

use crate::network::Network;

/// An edge between two nodes, given by their positions in the list of names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// One end.
    pub a: usize,
    /// The other end; equal to `a` for a loop.
    pub b: usize,
    /// Strength of the link: positive and finite.
    pub weight: f64,
}

impl Edge {
    /// Returns an edge between the nodes at positions `a` and `b`.
    pub fn new(a: usize, b: usize, weight: f64) -> Self {
        Self { a, b, weight }
    }
}

/// Why a list of edges does not form a graph.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// An edge refers to a node that does not exist.
    #[error("edge {edge} ends at node {node}, but there are {nodes} nodes")]
    UnknownNode {
        /// Position of the edge.
        edge: usize,
        /// The position that it refers to.
        node: usize,
        /// Number of names.
        nodes: usize,
    },
    /// A weight is zero, negative, infinite or not a number.
    #[error("edge {edge} has the weight {weight}; weights must be positive and finite")]
    Weight {
        /// Position of the edge.
        edge: usize,
        /// Its weight.
        weight: f64,
    },
    /// There are more nodes or edges than 32-bit numbers can count.
    #[error("{nodes} nodes and {edges} edges are more than fit: at most {max} of each", max = Graph::MAX)]
    TooLarge {
        /// Number of names.
        nodes: usize,
        /// Number of edges.
        edges: usize,
    },
}

/// A weighted, undirected graph whose nodes are numbered in ascending order of their names.
///
/// - Equal names are one node.
/// - Weights of parallel edges add up, in whichever direction they are given.
/// - A node without edges is kept.
/// - The same names and edges in any order give the same graph: weights are added in ascending order, so sums are equal in
///   every bit.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    names: Vec<String>,
    pub(crate) network: Network,
}

impl Graph {
    /// The largest number of nodes, and of edges.
    pub const MAX: usize = (u32::MAX / 2) as usize;

    /// Returns the graph of `edges` between `names`; edges refer to nodes by their positions in `names`.
    pub fn new<N: AsRef<str>>(names: &[N], edges: &[Edge]) -> Result<Self, GraphError> {
        if names.len() > Self::MAX || edges.len() > Self::MAX {
            return Err(GraphError::TooLarge { nodes: names.len(), edges: edges.len() });
        }
        for (position, edge) in edges.iter().enumerate() {
            if let Some(node) = [edge.a, edge.b].into_iter().find(|node| *node >= names.len()) {
                return Err(GraphError::UnknownNode { edge: position, node, nodes: names.len() });
            }
            if !(edge.weight.is_finite() && edge.weight > 0.0) {
                return Err(GraphError::Weight { edge: position, weight: edge.weight });
            }
        }
        let mut by_name: Vec<u32> = (0..names.len() as u32).collect();
        by_name.sort_unstable_by(|a, b| names[*a as usize].as_ref().cmp(names[*b as usize].as_ref()));
        let mut sorted: Vec<String> = Vec::with_capacity(names.len());
        let mut rank = vec![0_u32; names.len()];
        for position in by_name {
            let name = names[position as usize].as_ref();
            if sorted.last().is_none_or(|last| last != name) {
                sorted.push(name.to_owned());
            }
            rank[position as usize] = (sorted.len() - 1) as u32;
        }
        let ends = edges.iter().map(|edge| (rank[edge.a], rank[edge.b], edge.weight)).collect();
        let network = Network::from_edges(sorted.len(), ends);
        Ok(Self { names: sorted, network })
    }

    /// Returns the number of nodes, which is the number of different names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the names in ascending order; a node's number is its position here.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the neighbors of a node in ascending order, without the node itself, with the weight of all edges to each.
    pub fn neighbors(&self, node: usize) -> impl Iterator<Item = (usize, f64)> {
        self.network.neighbors(node).map(|(neighbor, weight)| (neighbor as usize, weight))
    }

    /// Returns the sum of the weights of all edges, loops included.
    pub fn weight(&self) -> f64 {
        self.network.total / 2.0
    }
}

/// Returns the modularity of a partition: the share of weight inside communities, minus `resolution` times the share that
/// would be inside if the same weight were distributed at random.
///
/// `labels` gives the community of each node, in any numbering. A graph without edges has modularity 0.
///
/// Source: Newman, Girvan, "Finding and evaluating community structure in networks", 2004; with the resolution parameter of
/// Reichardt and Bornholdt, 2006.
pub fn modularity(graph: &Graph, labels: &[u32], resolution: f64) -> f64 {
    graph.network.modularity(labels, resolution)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Zachary's karate club: the 78 pairs of its 34 members.
    pub(crate) const KARATE: &str = "1-2 1-3 1-4 1-5 1-6 1-7 1-8 1-9 1-11 1-12 1-13 1-14 1-18 1-20 1-22 1-32 2-3 2-4 \
        2-8 2-14 2-18 2-20 2-22 2-31 3-4 3-8 3-9 3-10 3-14 3-28 3-29 3-33 4-8 4-13 4-14 5-7 5-11 6-7 6-11 6-17 7-17 \
        9-31 9-33 9-34 10-34 14-34 15-33 15-34 16-33 16-34 19-33 19-34 20-34 21-33 21-34 23-33 23-34 24-26 24-28 \
        24-30 24-33 24-34 25-26 25-28 25-32 26-32 27-30 27-34 28-34 29-32 29-34 30-33 30-34 31-33 31-34 32-33 32-34 \
        33-34";

    /// Builds a graph from pairs of names, such as `"a-b b-c"`; every edge has weight 1.
    pub(crate) fn graph_of(pairs: &str) -> Graph {
        let mut names = Vec::new();
        let mut edges = Vec::new();
        for pair in pairs.split_whitespace() {
            let (a, b) = pair.split_once('-').unwrap_or((pair, pair));
            names.extend([a, b]);
            if a != b {
                edges.push(Edge::new(names.len() - 2, names.len() - 1, 1.0));
            }
        }
        Graph::new(&names, &edges).expect("weights are 1 and every edge names two nodes of the list")
    }

    #[test]
    fn weights_of_parallel_edges_add_up_in_both_directions() {
        let edges = [Edge::new(0, 1, 1.5), Edge::new(1, 0, 2.0), Edge::new(0, 1, 0.5)];
        let graph = Graph::new(&["b", "a"], &edges).expect("a graph");
        assert_eq!(graph.names(), ["a", "b"]);
        assert_eq!(graph.neighbors(0).collect::<Vec<_>>(), [(1, 4.0)]);
        assert_eq!(graph.neighbors(1).collect::<Vec<_>>(), [(0, 4.0)]);
        assert_eq!(graph.weight(), 4.0);
    }

    #[test]
    fn a_node_without_edges_is_kept_and_equal_names_are_one_node() {
        let graph = Graph::new(&["x", "lonely", "x"], &[Edge::new(0, 2, 1.0)]).expect("a graph");
        assert_eq!(graph.names(), ["lonely", "x"]);
        assert_eq!(graph.neighbors(1).count(), 0, "an edge between equal names is a loop");
        assert_eq!(graph.weight(), 1.0);
    }

    #[test]
    fn an_edge_to_an_unknown_node_and_an_invalid_weight_are_refused() {
        let unknown = Graph::new(&["a"], &[Edge::new(0, 3, 1.0)]).expect_err("there is no node 3");
        assert_eq!(unknown.to_string(), "edge 0 ends at node 3, but there are 1 nodes");
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refused = Graph::new(&["a", "b"], &[Edge::new(0, 1, weight)]);
            assert!(matches!(refused, Err(GraphError::Weight { edge: 0, .. })), "{weight}");
        }
    }

    #[test]
    fn the_modularity_of_the_karate_club_equals_the_published_value() {
        let graph = graph_of(KARATE);
        let one = vec![0; graph.len()];
        assert_eq!(modularity(&graph, &one, 1.0), 0.0);
        // The split that Zachary observed.
        let mr_hi = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22];
        let observed: Vec<u32> = graph
            .names()
            .iter()
            .map(|name| u32::from(mr_hi.contains(&name.parse::<i32>().expect("members are numbers"))))
            .collect();
        assert!((modularity(&graph, &observed, 1.0) - 0.3582).abs() < 5e-5);
    }
}
