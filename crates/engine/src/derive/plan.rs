//! The planned nodes of a layer, before their texts are written.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{LayerNode, Member, NodeKey};

/// All nodes of a layer by key, without their texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LayerPlan {
    nodes: BTreeMap<NodeKey, LayerNode>,
}

impl LayerPlan {
    /// Builds the plan from a list without cycles; duplicate nodes are dropped.
    pub fn new(nodes: Vec<LayerNode>) -> Self {
        Self { nodes: nodes.into_iter().map(|node| (node.key.clone(), node)).collect() }
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// True if a node is planned.
    pub fn holds(&self, key: &NodeKey) -> bool {
        self.nodes.contains_key(key)
    }

    /// Returns the chunks and entities below these members, including those below nodes, ascending, without duplicates.
    pub fn below(&self, members: &[Member]) -> Vec<Member> {
        let mut found: BTreeSet<&Member> = BTreeSet::new();
        let mut seen: BTreeSet<&NodeKey> = BTreeSet::new();
        let mut open: Vec<&Member> = members.iter().collect();
        while let Some(member) = open.pop() {
            match member {
                Member::Node(key) if seen.insert(key) => {
                    open.extend(self.nodes.get(key).iter().flat_map(|node| &node.members));
                }
                Member::Node(_) => {}
                Member::Chunk(_) | Member::Entity(_) => drop(found.insert(member)),
            }
        }
        found.into_iter().cloned().collect()
    }

    /// Returns the nodes that are not a member of another node, by key.
    pub fn tops(&self) -> Vec<NodeKey> {
        let inner: BTreeSet<&NodeKey> = self.nodes.values().flat_map(member_nodes).collect();
        self.nodes.keys().filter(|key| !inner.contains(key)).cloned().collect()
    }

    /// Returns the nodes in steps: a node comes in a later step than the nodes it is built on; by key within a step.
    pub fn steps(&self) -> Vec<Vec<&LayerNode>> {
        let mut heights: BTreeMap<&NodeKey, usize> = BTreeMap::new();
        for key in self.nodes.keys() {
            self.measure(key, &mut heights);
        }
        let mut steps: Vec<Vec<&LayerNode>> = Vec::new();
        for (key, node) in &self.nodes {
            let height = heights.get(key).copied().unwrap_or(0);
            if steps.len() <= height {
                steps.resize(height + 1, Vec::new());
            }
            steps[height].push(node);
        }
        steps
    }

    /// Computes the height of a node: the length of the longest path down through planned nodes.
    fn measure<'a>(&'a self, key: &'a NodeKey, heights: &mut BTreeMap<&'a NodeKey, usize>) {
        let mut open = vec![key];
        while let Some(key) = open.last().copied() {
            let inner: Vec<&NodeKey> =
                self.nodes.get(key).map(|node| member_nodes(node).collect()).unwrap_or_default();
            let unknown = inner.iter().find(|inner| !heights.contains_key(**inner)).copied();
            match unknown {
                // A key cannot be its own ancestor, because keys are hashes of their members.
                Some(unknown) => open.push(unknown),
                None => {
                    let below = inner.iter().filter_map(|inner| heights.get(inner)).max();
                    let planned_below = inner.iter().any(|inner| self.nodes.contains_key(*inner));
                    let height = if planned_below { below.map_or(0, |below| below + 1) } else { 0 };
                    heights.insert(key, height);
                    open.pop();
                }
            }
        }
    }
}

/// Returns the nodes among a node's members.
pub(super) fn member_nodes(node: &LayerNode) -> impl Iterator<Item = &NodeKey> {
    node.members.iter().filter_map(|member| match member {
        Member::Node(key) => Some(key),
        Member::Chunk(_) | Member::Entity(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use graphloom_core::{ChunkId, LayerName};

    use super::*;

    fn node(level: u32, members: Vec<Member>) -> LayerNode {
        LayerNode::new(&LayerName::from_stored("tree"), level, members)
    }

    fn chunk(id: &str) -> Member {
        Member::Chunk(ChunkId::from_stored(id))
    }

    #[test]
    fn nodes_come_after_the_nodes_they_are_built_on() {
        let low = node(1, vec![chunk("a"), chunk("b")]);
        let middle = node(2, vec![Member::Node(low.key.clone()), chunk("c")]);
        let top = node(3, vec![Member::Node(low.key.clone()), Member::Node(middle.key.clone())]);
        let alone = node(1, vec![chunk("d"), chunk("e")]);
        let planned = LayerPlan::new(vec![top.clone(), middle.clone(), alone.clone(), low.clone()]);
        let steps: Vec<BTreeSet<&NodeKey>> = planned
            .steps()
            .into_iter()
            .map(|step| step.into_iter().map(|node| &node.key).collect())
            .collect();
        let expected = [
            BTreeSet::from([&low.key, &alone.key]),
            BTreeSet::from([&middle.key]),
            BTreeSet::from([&top.key]),
        ];
        assert_eq!(steps, expected);
        assert_eq!(planned.below(&top.members), ["a", "b", "c"].map(chunk));
        assert_eq!(planned.tops().into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([alone.key, top.key]));
    }
}
