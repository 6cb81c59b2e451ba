//! An agglomerative tree of vectors with bounded fan-out.

use crate::hierarchy::CommunityId;
use crate::neighbors::nearest;
use crate::points::{Points, dot};
use crate::priority;

/// How [`tree`] joins vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSettings {
    /// A node has at most so many children. At least 2.
    pub max_children: usize,
    /// Layers above the leaves; 5 in RAPTOR.
    pub max_layers: u32,
    /// Each vector is compared with so many of its nearest.
    pub neighbors: usize,
    /// Vectors or nodes that are less similar than this are not joined; at -1 all are.
    pub min_similarity: f32,
    /// Decides ties.
    pub seed: u64,
}

impl Default for TreeSettings {
    fn default() -> Self {
        Self { max_children: 10, max_layers: 5, neighbors: 15, min_similarity: -1.0, seed: 0 }
    }
}

/// A node above the leaves: vectors that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeNode {
    /// The hash of its members' names: equal members give an equal id, whatever happened to the rest of the tree.
    pub id: CommunityId,
    /// 1 is the layer above the leaves. Children may be of any layer below.
    pub layer: u32,
    /// Positions of the nodes that join it; none at the top, and at most one where clusters do not overlap.
    pub parents: Vec<usize>,
    /// Positions of the nodes that it joins.
    pub children: Vec<usize>,
    /// Vectors that it joins directly, ascending.
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

/// Joins vectors to nodes and nodes to larger nodes by average linkage, until one is left or nothing is similar.
///
/// - A pair joins if each is the other's most similar: by the mean cosine between their vectors, among the nearest
///   neighbors of each. Pairs join in rounds until nodes have `max_children` children, then the next layer begins.
/// - What joins nothing on a layer is offered to the next one, so no node has a single child.
/// - Each decision looks at neighbors alone. A vector more or less changes the nodes above it and few others.
/// - Ends for any input. Equal vectors join like any others, in an order that their names decide.
/// - Compares all pairs up to 4096 vectors and buckets of near ones above that. Memory is that of the vectors twice and
///   of `neighbors` numbers for each.
///
/// Source: average linkage with reciprocal pairs (Murtagh, 1983); as a tree for retrieval: Psi-RAG (arXiv 2605.00529).
pub fn tree(points: &Points, settings: &TreeSettings) -> Tree {
    let mut items: Vec<Item> = (0..points.len())
        .map(|number| Item {
            what: What::Leaf(number as u32),
            sum: points.vector(number).to_vec(),
            count: 1,
            priority: priority::of_name(settings.seed, &points.names()[number]),
        })
        .collect();
    let mut nodes: Vec<TreeNode> = Vec::new();
    for layer in 1..=settings.max_layers {
        let mut groups = join(&items, settings);
        if groups.iter().all(|group| group.len() == 1) {
            break;
        }
        let below = std::mem::take(&mut items);
        let mut below: Vec<Option<Item>> = below.into_iter().map(Some).collect();
        let first = |item: &Option<Item>| match item.as_ref().map(|item| &item.what) {
            Some(What::Leaf(number)) => *number,
            Some(What::Node(position)) => nodes[*position].members[0],
            None => u32::MAX,
        };
        groups.sort_by_cached_key(|group| group.iter().map(|item| first(&below[*item as usize])).min());
        for group in groups {
            let group: Vec<Item> = group.iter().filter_map(|item| below[*item as usize].take()).collect();
            items.push(if group.len() == 1 {
                group.into_iter().next().expect("the group has one item")
            } else {
                node_of(group, layer, points, &mut nodes)
            });
        }
    }
    Tree { nodes }
}

/// A vector or a node that may be joined.
struct Item {
    what: What,
    /// Sum of the vectors in it.
    sum: Vec<f32>,
    count: u32,
    priority: u64,
}

enum What {
    Leaf(u32),
    Node(usize),
}

fn node_of(group: Vec<Item>, layer: u32, points: &Points, nodes: &mut Vec<TreeNode>) -> Item {
    let position = nodes.len();
    let mut node = TreeNode {
        id: CommunityId::new([]),
        layer,
        parents: Vec::new(),
        children: Vec::new(),
        leaves: Vec::new(),
        members: Vec::new(),
    };
    let mut joined = Item { what: What::Node(position), sum: Vec::new(), count: 0, priority: u64::MAX };
    for item in group {
        match item.what {
            What::Leaf(number) => {
                node.leaves.push(number);
                node.members.push(number);
            }
            What::Node(child) => {
                nodes[child].parents.push(position);
                node.children.push(child);
                node.members.extend(&nodes[child].members);
            }
        }
        joined.add(&item.sum, item.count, item.priority);
    }
    node.children.sort_unstable();
    node.leaves.sort_unstable();
    node.members.sort_unstable();
    node.id = CommunityId::new(node.members.iter().map(|number| points.names()[*number as usize].as_str()));
    nodes.push(node);
    joined
}

impl Item {
    fn add(&mut self, sum: &[f32], count: u32, priority: u64) {
        if self.sum.is_empty() {
            self.sum = sum.to_vec();
        } else {
            self.sum.iter_mut().zip(sum).for_each(|(own, other)| *own += other);
        }
        self.count += count;
        self.priority = self.priority.min(priority);
    }
}

/// A group while a layer is made.
struct Group {
    items: Vec<u32>,
    mean: Item,
    /// Groups that may be joined, by number; those that are gone lead to what they became.
    near: Vec<u32>,
}

/// Rounds on one layer; each joins one pair at least, so as many joins as a layer has end far earlier.
const MAX_ROUNDS: usize = 1_000;

/// Groups of at most `max_children` items, each ascending.
fn join(items: &[Item], settings: &TreeSettings) -> Vec<Vec<u32>> {
    let max = settings.max_children.max(2);
    let directions: Vec<Vec<f32>> = items.iter().map(|item| direction(&item.sum)).collect();
    let priorities: Vec<u64> = items.iter().map(|item| item.priority).collect();
    let near = nearest(&directions, &priorities, settings.neighbors.max(1));
    let mut groups: Vec<Option<Group>> = items
        .iter()
        .zip(symmetric(&near))
        .enumerate()
        .map(|(number, (item, near))| {
            let mut mean = Item { what: What::Leaf(0), sum: Vec::new(), count: 0, priority: u64::MAX };
            mean.add(&item.sum, item.count, item.priority);
            Some(Group { items: vec![number as u32], mean, near })
        })
        .collect();
    let mut became: Vec<u32> = (0..items.len() as u32).collect();
    for _ in 0..MAX_ROUNDS {
        let best: Vec<u32> = (0..groups.len())
            .map(|number| {
                groups[number].as_ref().map_or(u32::MAX, |group| best_of(&groups, group, max, settings))
            })
            .collect();
        let mut any = false;
        for number in 0..groups.len() {
            let other = best[number] as usize;
            if best[number] != u32::MAX && number < other && best[other] == number as u32 {
                any = true;
                became[other] = number as u32;
                if let (Some(taken), Some(group)) = (groups[other].take(), groups[number].as_mut()) {
                    group.items.extend(taken.items);
                    group.mean.add(&taken.mean.sum, taken.mean.count, taken.mean.priority);
                    group.near.extend(taken.near);
                }
            }
        }
        if !any {
            break;
        }
        for (number, group) in groups.iter_mut().enumerate() {
            if let Some(group) = group {
                group.near.iter_mut().for_each(|other| *other = became[*other as usize]);
                group.near.retain(|other| *other as usize != number);
                group.near.sort_unstable();
                group.near.dedup();
            }
        }
    }
    let mut joined: Vec<Vec<u32>> = groups.into_iter().flatten().map(|group| group.items).collect();
    joined.iter_mut().for_each(|group| group.sort_unstable());
    joined
}

/// The most similar group that fits, seen the same way from both sides.
fn best_of(groups: &[Option<Group>], group: &Group, max: usize, settings: &TreeSettings) -> u32 {
    let mut best: (f32, u64, u32) = (settings.min_similarity, u64::MAX, u32::MAX);
    for number in &group.near {
        let Some(other) = &groups[*number as usize] else { continue };
        if group.items.len() + other.items.len() > max {
            continue;
        }
        let pairs = group.mean.count as f32 * other.mean.count as f32;
        let similarity = dot(&group.mean.sum, &other.mean.sum) / pairs;
        let pair = priority::mix(group.mean.priority ^ other.mean.priority);
        if similarity > best.0 || (similarity == best.0 && pair < best.1) {
            best = (similarity, pair, *number);
        }
    }
    best.2
}

fn direction(sum: &[f32]) -> Vec<f32> {
    let length = dot(sum, sum).sqrt();
    sum.iter().map(|value| if length > 0.0 { value / length } else { 0.0 }).collect()
}

/// Neighbors in either direction, ascending.
fn symmetric(near: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut both: Vec<Vec<u32>> = near.to_vec();
    for (row, others) in near.iter().enumerate() {
        others.iter().for_each(|other| both[*other as usize].push(row as u32));
    }
    for others in &mut both {
        others.sort_unstable();
        others.dedup();
    }
    both
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
    fn vectors_of_a_topic_meet_before_those_of_different_topics() {
        let (names, values) = around(5, 8);
        let (points, tree) = tree_of(&names, &values, &TreeSettings::default());
        let topic = |number: &u32| points.names()[*number as usize].split('-').next().map(str::to_owned);
        let first: Vec<_> = tree.nodes.iter().filter(|node| node.layer == 1).collect();
        assert!(first.iter().all(|node| node.members.iter().map(topic).collect::<BTreeSet<_>>().len() == 1));
        assert_eq!(tree.nodes.last().map(|top| (top.members.len(), top.parents.len())), Some((40, 0)));
    }

    #[test]
    fn one_more_vector_changes_the_nodes_above_it_and_few_others() {
        let (names, values) = around(12, 20);
        let (_, before) = tree_of(&names[1..], &values[8..], &TreeSettings::default());
        let (_, after) = tree_of(&names, &values, &TreeSettings::default());
        let ids: BTreeSet<_> = before.nodes.iter().map(|node| node.id).collect();
        let new = after.nodes.iter().filter(|node| !ids.contains(&node.id)).count();
        assert!(new <= 12, "{new} of {} nodes are new", after.nodes.len());
    }

    #[test]
    fn vectors_that_are_not_similar_enough_are_not_joined() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let mut values = [0.0; 24];
        (values[0], values[8], values[17]) = (1.0, 1.0, 1.0);
        let settings = TreeSettings { min_similarity: 0.5, ..Default::default() };
        let (_, tree) = tree_of(&names, &values, &settings);
        assert_eq!(tree.nodes.len(), 1);
        assert_eq!(tree.nodes[0].leaves, [0, 1]);
        let (_, none) = tree_of(&names[..1], &values[..8], &settings);
        assert_eq!(none, Tree::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn nodes_nest_and_keep_their_fan_out_in_any_order(
            topics in 1_u64..5,
            count in 1_u64..16,
            copies in 0_usize..20,
            max_children in 2_usize..12,
            neighbors in 1_usize..20,
            turn in 0_usize..64,
        ) {
            let (mut names, mut values) = around(topics, count);
            for copy in 0..copies {
                names.push(format!("copy-{copy}"));
                values.extend_from_within(..8);
            }
            let settings = TreeSettings { max_children, neighbors, max_layers: 20, min_similarity: -1.0, seed: 0 };
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
