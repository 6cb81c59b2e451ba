//! Communities in levels: those of the Leiden algorithm, divided further down to a bounded size.

use std::fmt;

use crate::gather::{Groups, gather};
use crate::graph::Graph;
use crate::leiden::{LeidenSettings, leiden};
use crate::network::{members_of, renumber};
use crate::priority;

/// Settings of [`hierarchy`].
#[derive(Debug, Clone, PartialEq)]
pub struct HierarchySettings {
    /// A community with more members is divided; 10 in GraphRAG. At least 1.
    pub max_community_size: usize,
    /// Ratio between the sizes of levels: the smallest parts have at most `max_community_size` members, parts one level up
    /// at most this many times more, and so on. At least 2.
    pub level_factor: usize,
    /// Settings for the division into level 0.
    pub leiden: LeidenSettings,
}

impl Default for HierarchySettings {
    fn default() -> Self {
        Self { max_community_size: 10, level_factor: 8, leiden: LeidenSettings::default() }
    }
}

/// Identifies a community: the hash of its members' names.
///
/// A community with the same members has the same id, whatever happens to the rest of the graph and whichever level it is
/// on. Within a hierarchy ids are unique, because parts have fewer members than the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommunityId(pub [u8; 32]);

impl CommunityId {
    /// Returns the id of the community with these members, which are given in ascending order.
    pub fn new<'a>(members: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for member in members {
            hasher.update(&(member.len() as u64).to_le_bytes());
            hasher.update(member.as_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for CommunityId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Nodes that belong together and are connected with each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Community {
    /// Its id, computed from its members.
    pub id: CommunityId,
    /// 0 is the coarsest level.
    pub level: u32,
    /// Position of the community that contains it; `None` on level 0.
    pub parent: Option<usize>,
    /// Positions of its parts; empty for a leaf.
    pub children: Vec<usize>,
    /// Nodes of the graph, ascending.
    pub members: Vec<u32>,
}

/// The communities of a graph on all levels.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hierarchy {
    /// In ascending order of level and, within a level, of their first members.
    pub communities: Vec<Community>,
}

impl Hierarchy {
    /// Returns the number of levels.
    pub fn levels(&self) -> u32 {
        self.communities.last().map_or(0, |last| last.level + 1)
    }

    /// Returns the partition on a level: for each node the position of its community on that level, or of the leaf that
    /// contains it on a level above.
    pub fn partition(&self, level: u32) -> Vec<u32> {
        let nodes = self.communities.iter().filter(|community| community.level == 0);
        let mut partition = vec![0; nodes.map(|community| community.members.len()).sum()];
        let until = self.communities.partition_point(|community| community.level <= level);
        for (position, community) in self.communities[..until].iter().enumerate() {
            for member in &community.members {
                partition[*member as usize] = position as u32;
            }
        }
        partition
    }
}

/// Divides a graph into communities, and every community of more than `max_community_size` members into smaller ones.
///
/// - Level 0 is the partition of [`leiden`]: every node is in one community, a node without edges in one of its own.
/// - The children of a community divide its members: each member is in exactly one child, and a child has fewer members
///   than its parent.
/// - No leaf has more than `max_community_size` members, and every community is connected. A node whose neighbors are all
///   in full communities is therefore alone in one.
/// - Below level 0, nodes and then parts are joined if they are each other's best neighbor, by the weight between them
///   relative to what their strengths let expect, and within the size limit of the level. Each of these decisions looks
///   only at neighbors, so a change of the graph changes the parts that it touches and few others.
///
/// Source: GraphRAG (Edge et al., "From Local to Global", 2024) for the levels and the size. GraphRAG runs the Leiden
/// algorithm on every level; how a community is divided then depends on the whole community, and a change of one edge
/// changes more of its parts.
pub fn hierarchy(graph: &Graph, settings: &HierarchySettings) -> Hierarchy {
    let max = settings.max_community_size.max(1);
    let roots = leiden(graph, &settings.leiden);
    let levels = parts_by_size(graph, &roots, settings);
    let mut communities: Vec<Community> = Vec::new();
    let mut wave: Vec<Part> =
        groups_of(&roots).map(|members| Part { parent: None, members, sizes_left: levels.len() }).collect();
    let mut level = 0;
    while !wave.is_empty() {
        wave.sort_unstable_by_key(|part| part.members.first().copied());
        let mut next = Vec::new();
        for part in wave {
            let position = communities.len();
            if let Some(parent) = part.parent {
                communities[parent].children.push(position);
            }
            if part.members.len() > max {
                next.extend(children_of(&part, position, &levels));
            }
            let names = part.members.iter().map(|node| graph.names()[*node as usize].as_str());
            communities.push(Community {
                id: CommunityId::new(names),
                level,
                parent: part.parent,
                children: Vec::new(),
                members: part.members,
            });
        }
        wave = next;
        level += 1;
    }
    Hierarchy { communities }
}

struct Part {
    parent: Option<usize>,
    members: Vec<u32>,
    /// Number of finer partitions left in the list of partitions by size.
    sizes_left: usize,
}

/// Returns the parts of a community in the coarsest partition that divides it.
fn children_of(part: &Part, position: usize, levels: &[Vec<u32>]) -> Vec<Part> {
    for (sizes_left, partition) in levels[..part.sizes_left].iter().enumerate().rev() {
        let mut labels: Vec<u32> = part.members.iter().map(|node| partition[*node as usize]).collect();
        if renumber(&mut labels) > 1 {
            let groups = groups_of(&labels);
            return groups
                .map(|group| {
                    let members = group.iter().map(|index| part.members[*index as usize]).collect();
                    Part { parent: Some(position), members, sizes_left }
                })
                .collect();
        }
    }
    Vec::new()
}

/// Returns partitions inside the communities of `roots`, the one with the smallest parts first.
fn parts_by_size(graph: &Graph, roots: &[u32], settings: &HierarchySettings) -> Vec<Vec<u32>> {
    let largest = groups_of(roots).map(|members| members.len()).max().unwrap_or(0);
    let priorities = graph.names().iter().map(|name| priority::of_name(settings.leiden.seed, name)).collect();
    let strength = graph.network.strength.clone();
    let mut groups = Groups { sizes: vec![1; graph.len()], priorities, strength };
    let mut network = graph.network.within(roots);
    let mut labels: Vec<u32> = (0..graph.len() as u32).collect();
    let mut partitions = Vec::new();
    let mut max = settings.max_community_size.max(1);
    while max < largest || partitions.is_empty() {
        let mut joined = gather(&network, &groups, u32::try_from(max).unwrap_or(u32::MAX));
        let count = renumber(&mut joined);
        network = network.aggregate(&joined, count);
        groups = groups.join(&joined, count);
        labels.iter_mut().for_each(|label| *label = joined[*label as usize]);
        partitions.push(labels.clone());
        max = max.saturating_mul(settings.level_factor.max(2));
    }
    partitions
}

/// Returns the members of each group, in order of the group numbers, which have no gaps.
fn groups_of(labels: &[u32]) -> impl Iterator<Item = Vec<u32>> {
    let groups = labels.iter().max().map_or(0, |last| *last as usize + 1);
    let (starts, members) = members_of(labels, groups);
    (0..groups).map(move |group| members[starts[group] as usize..starts[group + 1] as usize].to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::Edge;
    use crate::graph::tests::{KARATE, graph_of};

    fn names<'a>(graph: &'a Graph, community: &Community) -> Vec<&'a str> {
        community.members.iter().map(|node| graph.names()[*node as usize].as_str()).collect()
    }

    #[test]
    fn every_community_is_divided_until_none_is_too_large() {
        let graph = graph_of(KARATE);
        let hierarchy = hierarchy(&graph, &HierarchySettings::default());
        assert!(hierarchy.levels() >= 2);
        for community in &hierarchy.communities {
            assert_eq!(community.children.is_empty(), community.members.len() <= 10, "{community:?}");
        }
    }

    #[test]
    fn a_star_is_divided_into_the_hub_with_some_leaves_and_single_leaves() {
        let star: String = (10..60).map(|leaf| format!("hub-{leaf} ")).collect();
        let graph = graph_of(&star);
        let hierarchy = hierarchy(&graph, &HierarchySettings::default());
        assert_eq!(hierarchy.communities.iter().filter(|community| community.level == 0).count(), 1);
        let leaves = hierarchy.communities.iter().filter(|community| community.children.is_empty());
        let mut sizes: Vec<usize> = leaves.map(|community| community.members.len()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes.len(), 42);
        assert_eq!((sizes[0], sizes[41]), (1, 10));
    }

    #[test]
    fn components_and_nodes_without_edges_are_their_own_communities() {
        let graph = graph_of("a-b b-c a-c x-y y-z x-z alone");
        let hierarchy = hierarchy(&graph, &HierarchySettings::default());
        let found: Vec<_> = hierarchy.communities.iter().map(|community| names(&graph, community)).collect();
        assert_eq!(found, [vec!["a", "b", "c"], vec!["alone"], vec!["x", "y", "z"]]);
        assert_eq!(hierarchy.partition(0), [0, 1, 0, 0, 2, 2, 2]);
    }

    #[test]
    fn a_community_keeps_its_id_when_the_rest_of_the_graph_changes() {
        let before = hierarchy(&graph_of("a-b b-c a-c x-y y-z x-z"), &HierarchySettings::default());
        let after = hierarchy(&graph_of("a-b b-c a-c x-y y-z x-z z-w x-w"), &HierarchySettings::default());
        assert_eq!(before.communities[0].id, after.communities[0].id);
        assert_ne!(before.communities[1].id, after.communities[1].id);
        assert_eq!(before.communities[0].id, CommunityId::new(["a", "b", "c"]));
    }

    #[test]
    fn a_graph_without_nodes_has_no_communities() {
        let graph = Graph::new::<&str>(&[], &[]).expect("a graph");
        assert_eq!(hierarchy(&graph, &HierarchySettings::default()), Hierarchy::default());
    }

    /// Edges of a random graph; weights are sums of powers of two, so additions are exact.
    fn edges() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
        proptest::collection::vec((0_u8..40, 0_u8..40, 1_u8..5), 0..160)
    }

    fn build(edges: &[(u8, u8, u8)], renamed: impl Fn(u8) -> usize) -> Graph {
        let mut names = vec![String::new(); 40];
        (0..40).for_each(|node| names[renamed(node)] = format!("n{node}"));
        let edges: Vec<Edge> = edges
            .iter()
            .map(|(a, b, weight)| Edge::new(renamed(*a), renamed(*b), f64::from(*weight)))
            .collect();
        Graph::new(&names, &edges).expect("weights are positive")
    }

    proptest! {
        #[test]
        fn order_direction_and_numbering_do_not_matter(edges in edges(), turn in 0_usize..40, swap in any::<u64>()) {
            let settings = HierarchySettings { max_community_size: 4, level_factor: 2, ..Default::default() };
            let plain = hierarchy(&build(&edges, usize::from), &settings);
            let mut other = edges;
            other.reverse();
            for (index, edge) in other.iter_mut().enumerate() {
                if swap >> (index % 64) & 1 == 1 {
                    *edge = (edge.1, edge.0, edge.2);
                }
            }
            prop_assert_eq!(plain, hierarchy(&build(&other, |node| (usize::from(node) + turn) % 40), &settings));
        }

        #[test]
        fn parallel_edges_equal_one_edge_with_their_total_weight(edges in edges()) {
            let settings = HierarchySettings { max_community_size: 4, ..Default::default() };
            let parts: Vec<_> =
                edges.iter().flat_map(|(a, b, weight)| vec![(*b, *a, 1); usize::from(*weight)]).collect();
            let whole = hierarchy(&build(&edges, usize::from), &settings);
            prop_assert_eq!(whole, hierarchy(&build(&parts, usize::from), &settings));
        }

        #[test]
        fn communities_are_nested_connected_and_bounded_in_size(
            edges in edges(),
            max in 1_usize..8,
            factor in 2_usize..4,
            tolerance in 0.0_f64..0.1,
            seed in any::<u64>(),
        ) {
            let leiden = LeidenSettings { tolerance, seed, ..Default::default() };
            let settings = HierarchySettings { max_community_size: max, level_factor: factor, leiden };
            let graph = build(&edges, usize::from);
            let hierarchy = hierarchy(&graph, &settings);
            let mut roots: Vec<u32> = Vec::new();
            for (position, community) in hierarchy.communities.iter().enumerate() {
                prop_assert!(is_connected(&graph, &community.members));
                if community.parent.is_none() {
                    prop_assert_eq!(community.level, 0);
                    roots.extend(&community.members);
                }
                if community.children.is_empty() {
                    prop_assert!(community.members.len() <= max);
                    continue;
                }
                prop_assert!(community.children.len() > 1);
                let mut of_children: Vec<u32> = Vec::new();
                for child in &community.children {
                    let child = &hierarchy.communities[*child];
                    prop_assert_eq!((child.parent, child.level), (Some(position), community.level + 1));
                    of_children.extend(&child.members);
                }
                of_children.sort_unstable();
                prop_assert_eq!(&of_children, &community.members);
            }
            roots.sort_unstable();
            prop_assert_eq!(roots, (0..40).collect::<Vec<u32>>());
        }
    }

    fn is_connected(graph: &Graph, members: &[u32]) -> bool {
        let mut labels = vec![1; graph.len()];
        members.iter().for_each(|node| labels[*node as usize] = 0);
        graph.network.connect(&mut labels);
        members.iter().all(|node| labels[*node as usize] == labels[members[0] as usize])
    }
}
