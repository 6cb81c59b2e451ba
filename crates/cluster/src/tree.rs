//! An agglomerative tree of vectors with bounded fan-out, in which adding or removing a vector changes little.

use crate::cells::{Cell, cells};
use crate::hierarchy::CommunityId;
use crate::points::Points;
use crate::priority;

/// Settings of [`tree`].
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSettings {
    /// Maximum number of children of a node. At least 2.
    pub max_children: usize,
    /// Smaller groups are joined to the groups around them.
    pub min_children: usize,
    /// On average, one in this many vectors or nodes is a center of the layer above.
    pub vectors_per_center: u64,
    /// Maximum number of layers above the leaves; 5 in RAPTOR.
    pub max_layers: u32,
    /// Determines which vectors are centers.
    pub seed: u64,
}

impl Default for TreeSettings {
    fn default() -> Self {
        Self { max_children: 10, min_children: 3, vectors_per_center: 3, max_layers: 5, seed: 0 }
    }
}

/// A node above the leaves: vectors that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeNode {
    /// The hash of its members' names: equal members give equal ids, whatever happens to the rest of the tree.
    pub id: CommunityId,
    /// 1 is the layer above the leaves. Children may be in any layer below.
    pub layer: u32,
    /// Positions of the nodes that contain it as a child; none at the top, and at most one if clusters do not overlap.
    pub parents: Vec<usize>,
    /// Positions of its child nodes.
    pub children: Vec<usize>,
    /// Vectors that are direct children, ascending.
    pub leaves: Vec<u32>,
    /// All vectors below it, ascending.
    pub members: Vec<u32>,
}

/// Nodes above vectors, layer by layer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    /// In ascending order of layer and, within a layer, of their first members.
    pub nodes: Vec<TreeNode>,
}

/// Joins vectors into nodes and nodes into larger nodes, each to the nearest center, until one is left.
///
/// - The hash of a vector's name decides whether it is a center of the first layer. Among these, the hash decides again
///   which are centers of the second layer, and so on. Each vector is joined to the center with the highest cosine.
/// - A node's position is its center, not the mean of its members, so it stays in place when they change.
/// - Groups with fewer than `min_children` members are joined to the groups around them, and groups with more than
///   `max_children` are divided in the same way. An item that is still alone is passed on to the next layer, so no node has
///   a single child.
/// - A vector that is not a center changes only the nodes above it. A center changes the groups around it and the nodes
///   above those; they are few, because it takes few members from each.
/// - It ends for any input. Equal vectors are distributed over equally near centers by their names.
///
/// Source: levels by hashes as in skip lists (Pugh, 1990) and Merkle search trees (Auvolat and Taïani, 2019), with the
/// nearest center in place of the order of keys.
pub fn tree(points: &Points, settings: &TreeSettings) -> Tree {
    let priorities: Vec<u64> =
        points.names().iter().map(|name| priority::of_name(settings.seed, name)).collect();
    let mut items: Vec<Item> =
        (0..points.len() as u32).map(|leaf| Item { kind: ItemKind::Leaf(leaf), center: leaf }).collect();
    let mut nodes: Vec<TreeNode> = Vec::new();
    for layer in 1..=settings.max_layers {
        if items.len() < 2 {
            break;
        }
        let rows: Vec<&[f32]> = items.iter().map(|item| points.vector(item.center as usize)).collect();
        let own: Vec<u64> = items
            .iter()
            .map(|item| priority::mix(priorities[item.center as usize] ^ u64::from(layer)))
            .collect();
        let mut cells = cells(&rows, &own, settings);
        let first = |item: u32| match items[item as usize].kind {
            ItemKind::Leaf(leaf) => leaf,
            ItemKind::Node(position) => nodes[position].members[0],
        };
        cells.sort_by_cached_key(|cell| cell.items.iter().map(|item| first(*item)).min());
        items = cells.iter().map(|cell| join(cell, layer, &items, points, &mut nodes)).collect();
    }
    Tree { nodes }
}

/// A vector or node that can be joined to others.
#[derive(Clone, Copy)]
struct Item {
    kind: ItemKind,
    /// The vector at its position.
    center: u32,
}

#[derive(Clone, Copy)]
enum ItemKind {
    Leaf(u32),
    Node(usize),
}

/// Returns the node above a cell, or the cell's only item.
fn join(cell: &Cell, layer: u32, items: &[Item], points: &Points, nodes: &mut Vec<TreeNode>) -> Item {
    if let [alone] = cell.items[..] {
        return items[alone as usize];
    }
    let position = nodes.len();
    let (mut children, mut leaves, mut members) = (Vec::new(), Vec::new(), Vec::new());
    for item in &cell.items {
        match items[*item as usize].kind {
            ItemKind::Leaf(number) => {
                leaves.push(number);
                members.push(number);
            }
            ItemKind::Node(child) => {
                nodes[child].parents.push(position);
                children.push(child);
                members.extend(&nodes[child].members);
            }
        }
    }
    children.sort_unstable();
    leaves.sort_unstable();
    members.sort_unstable();
    let id = CommunityId::new(members.iter().map(|number| points.names()[*number as usize].as_str()));
    nodes.push(TreeNode { id, layer, parents: Vec::new(), children, leaves, members });
    Item { kind: ItemKind::Node(position), center: items[cell.center as usize].center }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::soft::tests::around;

    fn tree_of(names: &[String], values: &[f32], settings: &TreeSettings) -> (Points, Tree) {
        let points = Points::new(names, 8, values).expect("finite values");
        let tree = tree(&points, settings);
        (points, tree)
    }

    #[test]
    fn vectors_of_one_topic_are_joined_before_different_topics() {
        let (names, values) = around(5, 8);
        let (points, tree) = tree_of(&names, &values, &TreeSettings::default());
        let topic = |number: &u32| points.names()[*number as usize].split('-').next().map(str::to_owned);
        let first: Vec<_> = tree.nodes.iter().filter(|node| node.layer == 1).collect();
        assert!(first.iter().all(|node| node.members.iter().map(topic).collect::<BTreeSet<_>>().len() == 1));
        assert_eq!(tree.nodes.last().map(|top| (top.members.len(), top.parents.len())), Some((40, 0)));
    }

    #[test]
    fn one_more_vector_changes_fewer_than_two_nodes_per_layer_on_average() {
        let (names, values) = around(12, 20);
        let (points, whole) = tree_of(&names, &values, &TreeSettings::default());
        let (mut new, mut above) = (0, 0);
        for without in 0..names.len() {
            let (mut some_names, mut some_values) = (names.clone(), values.clone());
            let name = some_names.remove(without);
            some_values.drain(8 * without..8 * without + 8);
            let (_, before) = tree_of(&some_names, &some_values, &TreeSettings::default());
            let ids: BTreeSet<_> = before.nodes.iter().map(|node| node.id).collect();
            new += whole.nodes.iter().filter(|node| !ids.contains(&node.id)).count();
            let number = points.names().iter().position(|known| *known == name).map(|number| number as u32);
            above += whole
                .nodes
                .iter()
                .filter(|node| node.members.iter().any(|member| Some(*member) == number))
                .count();
        }
        assert!(new <= 2 * above, "{new} new nodes, {above} above the vectors that are");
    }

    #[test]
    fn vectors_that_fit_in_one_node_are_one_node() {
        let (names, values) = around(5, 2);
        let (_, tree) = tree_of(&names, &values, &TreeSettings::default());
        assert_eq!(tree.nodes.iter().map(|node| node.leaves.len()).collect::<Vec<_>>(), [10]);
        let (_, none) = tree_of(&names[..1], &values[..8], &TreeSettings::default());
        assert_eq!(none, Tree::default());
    }

    #[test]
    fn thousands_of_equal_vectors_are_spread_over_nodes() {
        let names: Vec<String> = (0..3_000).map(|number| format!("copy-{number}")).collect();
        let (_, tree) = tree_of(&names, &[0.5; 24_000], &TreeSettings::default());
        assert!((400..1_200).contains(&tree.nodes.len()), "{}", tree.nodes.len());
        assert_eq!(tree.nodes.iter().filter(|node| node.parents.is_empty()).count(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn nodes_are_nested_and_keep_their_fan_out_in_any_order(
            topics in 1_u64..5,
            count in 1_u64..16,
            copies in 0_usize..20,
            max_children in 2_usize..12,
            vectors_per_center in 1_u64..20,
            min_children in 1_usize..5,
            turn in 0_usize..64,
        ) {
            let (mut names, mut values) = around(topics, count);
            for copy in 0..copies {
                names.push(format!("copy-{copy}"));
                values.extend_from_within(..8);
            }
            let settings = TreeSettings { max_children, min_children, vectors_per_center, max_layers: 20, seed: 0 };
            let (points, plain) = tree_of(&names, &values, &settings);
            let turn = turn % names.len();
            names.rotate_left(turn);
            values.rotate_left(8 * turn);
            prop_assert_eq!(&plain, &tree_of(&names, &values, &settings).1);
            for (position, node) in plain.nodes.iter().enumerate() {
                let fan_out = node.children.len() + node.leaves.len();
                prop_assert!((2..=max_children).contains(&fan_out));
                let mut members = node.leaves.clone();
                for child in &node.children {
                    prop_assert_eq!(&plain.nodes[*child].parents, &[position]);
                    prop_assert!(plain.nodes[*child].layer < node.layer);
                    members.extend(&plain.nodes[*child].members);
                }
                members.sort_unstable();
                prop_assert_eq!(&members, &node.members);
            }
            let tops: Vec<usize> = plain.nodes.iter().filter(|node| node.parents.is_empty()).map(|node| node.members.len()).collect();
            prop_assert_eq!(tops, if points.len() > 1 { vec![points.len()] } else { vec![] });
        }
    }
}
