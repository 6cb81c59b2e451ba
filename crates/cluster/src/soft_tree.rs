//! RAPTOR's tree: soft clusters of vectors, then of the resulting nodes, layer by layer.

use std::collections::{BTreeMap, BTreeSet};

use crate::hierarchy::CommunityId;
use crate::points::Points;
use crate::soft::{MAX_SOFT_LAYERS, SoftSettings, soft_clusters};
use crate::tree::{Tree, TreeNode};

/// Joins vectors into nodes that may share them, and nodes into larger nodes, until they no longer form fewer clusters.
///
/// - `sizes`: tokens of each vector's text, by number; a node counts as `node_size`.
/// - A node's direction is the mean of the vectors below it. RAPTOR embeds the node's summary instead; there, the tree is
///   known only after all summaries of the layer below are written.
/// - A vector or node that is alone in its only cluster is passed on to the next layer; no node has a single child.
/// - It ends for any input, after at most [`MAX_SOFT_LAYERS`] layers. Up to `dimensions + 1` vectors give no nodes.
///
/// Source: RAPTOR (Sarthi et al., 2024), section 3.
pub fn soft_tree(points: &Points, sizes: &[u32], node_size: u32, settings: &SoftSettings) -> Tree {
    let mut items: Vec<Item> = (0..points.len() as u32).map(Item::Leaf).collect();
    let mut nodes: Vec<TreeNode> = Vec::new();
    for layer in 1..=MAX_SOFT_LAYERS {
        // Numbers of vectors depend on their names, so items are looked up by name.
        let by_name: BTreeMap<String, Item> =
            items.iter().map(|item| (item.name(points, &nodes), *item)).collect();
        let names: Vec<&str> = by_name.keys().map(String::as_str).collect();
        let ordered: Vec<Item> = by_name.values().copied().collect();
        let values: Vec<f32> = ordered.iter().flat_map(|item| item.direction(points, &nodes)).collect();
        let own_sizes: Vec<u32> = ordered.iter().map(|item| item.size(sizes, node_size)).collect();
        let Ok(layered) = Points::new(&names, points.dimensions(), &values) else { break };
        let clusters = soft_clusters(&layered, &own_sizes, settings);
        if clusters.iter().all(|cluster| cluster.len() < 2) {
            break;
        }
        let joined: BTreeSet<u32> =
            clusters.iter().filter(|cluster| cluster.len() > 1).flatten().copied().collect();
        let mut next: Vec<Item> = (0..ordered.len() as u32)
            .filter(|number| !joined.contains(number))
            .map(|number| ordered[number as usize])
            .collect();
        for cluster in clusters.into_iter().filter(|cluster| cluster.len() > 1) {
            let group: Vec<Item> = cluster.into_iter().map(|number| ordered[number as usize]).collect();
            next.push(Item::Node(add_node(group, layer, points, &mut nodes)));
        }
        items = next;
    }
    Tree { nodes }
}

#[derive(Clone, Copy)]
enum Item {
    Leaf(u32),
    Node(usize),
}

impl Item {
    /// Returns a vector's name, or a name for a node that is derived from its children's; the prefix tells the two apart.
    fn name(self, points: &Points, nodes: &[TreeNode]) -> String {
        match self {
            Self::Leaf(number) => format!("v{}", points.names()[number as usize]),
            Self::Node(position) => {
                let node = &nodes[position];
                let mut below: Vec<String> =
                    node.leaves.iter().map(|leaf| Self::Leaf(*leaf).name(points, nodes)).collect();
                below.extend(node.children.iter().map(|child| nodes[*child].id.to_string()));
                below.sort_unstable();
                format!("n{}", CommunityId::new(below.iter().map(String::as_str)))
            }
        }
    }

    fn direction(self, points: &Points, nodes: &[TreeNode]) -> Vec<f32> {
        match self {
            Self::Leaf(number) => points.vector(number as usize).to_vec(),
            Self::Node(position) => {
                let mut sum = vec![0.0; points.dimensions()];
                for member in &nodes[position].members {
                    let vector = points.vector(*member as usize);
                    sum.iter_mut().zip(vector).for_each(|(own, other)| *own += other);
                }
                sum
            }
        }
    }

    fn size(self, sizes: &[u32], node_size: u32) -> u32 {
        match self {
            Self::Leaf(number) => sizes.get(number as usize).copied().unwrap_or(0),
            Self::Node(_) => node_size,
        }
    }
}

fn add_node(group: Vec<Item>, layer: u32, points: &Points, nodes: &mut Vec<TreeNode>) -> usize {
    let position = nodes.len();
    let (mut children, mut leaves, mut members) = (Vec::new(), Vec::new(), BTreeSet::new());
    for item in group {
        match item {
            Item::Leaf(number) => {
                leaves.push(number);
                members.insert(number);
            }
            Item::Node(child) => {
                nodes[child].parents.push(position);
                children.push(child);
                members.extend(&nodes[child].members);
            }
        }
    }
    children.sort_unstable();
    leaves.sort_unstable();
    let members: Vec<u32> = members.into_iter().collect();
    let id = CommunityId::new(members.iter().map(|number| points.names()[*number as usize].as_str()));
    nodes.push(TreeNode { id, layer, parents: Vec::new(), children, leaves, members });
    position
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::soft::tests::around;

    fn tree_of(names: &[String], values: &[f32], settings: &SoftSettings) -> Tree {
        let points = Points::new(names, 8, values).expect("finite values");
        soft_tree(&points, &vec![100; points.len()], 100, settings)
    }

    #[test]
    fn clusters_of_clusters_become_nodes_above_them() {
        let (names, values) = around(12, 20);
        let tree = tree_of(&names, &values, &SoftSettings::default());
        let layers: BTreeSet<u32> = tree.nodes.iter().map(|node| node.layer).collect();
        assert!(layers.len() >= 2, "{layers:?}");
        // A vector that is alone in a cluster is passed on to the next layer.
        let joined: BTreeSet<u32> = tree.nodes.iter().flat_map(|node| node.leaves.clone()).collect();
        assert_eq!(joined.len(), names.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn layers_are_finite_and_lose_no_vector_in_any_order(
            topics in 1_u64..5,
            count in 1_u64..16,
            copies in 0_usize..20,
            max_size in 50_u64..2_000,
            turn in 0_usize..64,
        ) {
            let (mut names, mut values) = around(topics, count);
            for copy in 0..copies {
                names.push(format!("copy-{copy}"));
                values.extend_from_within(..8);
            }
            let settings = SoftSettings { max_size, ..Default::default() };
            let plain = tree_of(&names, &values, &settings);
            let turn = turn % names.len();
            names.rotate_left(turn);
            values.rotate_left(8 * turn);
            prop_assert_eq!(&plain, &tree_of(&names, &values, &settings));
            for (position, node) in plain.nodes.iter().enumerate() {
                prop_assert!(node.layer <= MAX_SOFT_LAYERS);
                prop_assert!(node.children.len() + node.leaves.len() > 1);
                for child in &node.children {
                    prop_assert!(plain.nodes[*child].parents.contains(&position));
                    prop_assert!(plain.nodes[*child].layer < node.layer);
                }
            }
        }
    }
}
