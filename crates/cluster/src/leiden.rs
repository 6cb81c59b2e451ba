//! The Leiden algorithm: local moving, refinement, aggregation, repeated until nothing moves.

use std::collections::VecDeque;

use crate::graph::Graph;
use crate::network::{Network, renumber};
use crate::priority;

/// Settings of [`leiden`].
#[derive(Debug, Clone, PartialEq)]
pub struct LeidenSettings {
    /// Larger values give more and smaller communities; 1 is modularity as defined by Newman and Girvan.
    pub resolution: f64,
    /// Communities whose gains differ by at most this share of the weight of a node's edges count as equal; the names of
    /// its neighbors then decide between them. A larger value keeps more communities unchanged when the graph changes, and
    /// costs modularity. 0 always takes the best.
    pub tolerance: f64,
    /// Determines the order in which nodes are visited.
    pub seed: u64,
    /// Maximum number of iterations. Each iteration starts from the result of the last one, until nothing improves.
    pub max_iterations: u32,
}

impl Default for LeidenSettings {
    fn default() -> Self {
        Self { resolution: 1.0, tolerance: 0.01, seed: 0, max_iterations: 10 }
    }
}

/// Divides a graph into connected communities of high modularity.
///
/// Returns the community of each node, numbered in order of their first nodes. Every node is in exactly one community; a
/// node without edges is alone.
///
/// The seed and the names of the nodes determine the order of visits and break ties. The result therefore depends neither
/// on the order of edges nor on any state, and with a `tolerance` a change of one part of a graph seldom affects another.
///
/// Source: Traag, Waltman, van Eck, "From Louvain to Leiden: guaranteeing well-connected communities", 2019. Unlike there,
/// refinement joins the best allowed community instead of a random one, and names decide between nearly equal choices.
pub fn leiden(graph: &Graph, settings: &LeidenSettings) -> Vec<u32> {
    let priorities: Vec<u64> =
        graph.names().iter().map(|name| priority::of_name(settings.seed, name)).collect();
    divide(&graph.network, &priorities, settings)
}

/// Does the same as [`leiden`] on a network; nodes with a low priority number are visited first.
pub(crate) fn divide(network: &Network, priorities: &[u64], settings: &LeidenSettings) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..network.len() as u32).collect();
    if network.total <= 0.0 {
        return labels;
    }
    let terms = Terms {
        scale: settings.resolution / network.total,
        tolerance: settings.tolerance.max(0.0),
        joins_single: true,
    };
    for _ in 0..settings.max_iterations {
        let before = labels.clone();
        pass(network, priorities, &mut labels, &terms);
        if labels == before {
            break;
        }
    }
    network.connect(&mut labels);
    labels
}

/// Conditions under which a node moves to another community.
#[derive(Clone)]
struct Terms {
    /// Resolution divided by the total strength of the whole network.
    scale: f64,
    tolerance: f64,
    /// True while nodes are single nodes of the graph, not groups.
    joins_single: bool,
}

/// Runs once through all levels of aggregation, starting from `labels`.
fn pass(base: &Network, priorities: &[u64], labels: &mut [u32], terms: &Terms) {
    let mut groups = labels.to_vec();
    // For each node of the base network, its node in the current network.
    let mut within: Option<Vec<u32>> = None;
    let mut owned: Option<Network> = None;
    let mut terms = terms.clone();
    let mut priorities = priorities.to_vec();
    loop {
        let network = owned.as_ref().unwrap_or(base);
        let order = order_of(&priorities);
        move_nodes(network, &order, &priorities, &mut groups, &terms);
        match &within {
            None => labels.copy_from_slice(&groups),
            Some(within) => {
                labels.iter_mut().zip(within).for_each(|(label, node)| *label = groups[*node as usize]);
            }
        }
        let mut refined = refine(network, &order, &groups, terms.scale);
        let count = renumber(&mut refined);
        if count == network.len() {
            break;
        }
        let next = network.aggregate(&refined, count);
        let mut next_groups = vec![0; count];
        let mut next_priorities = vec![u64::MAX; count];
        for (node, group) in refined.iter().enumerate() {
            next_groups[*group as usize] = groups[node];
            // The lowest priority of its members: it seldom changes when a group gains or loses one.
            let priority = &mut next_priorities[*group as usize];
            *priority = (*priority).min(priorities[node]);
        }
        renumber(&mut next_groups);
        within = Some(match within {
            None => refined,
            Some(within) => within.into_iter().map(|node| refined[node as usize]).collect(),
        });
        groups = next_groups;
        priorities = next_priorities;
        owned = Some(next);
        terms.joins_single = false;
    }
    renumber(labels);
}

fn order_of(priorities: &[u64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..priorities.len() as u32).collect();
    order.sort_unstable_by_key(|node| (priorities[*node as usize], *node));
    order
}

/// Minimum gain of a move, as a share of the node's strength, so that rounding never moves a node back and forth.
const LEAST_GAIN: f64 = 1e-9;

/// Moves nodes to the neighboring community with the highest gain until no move gains.
fn move_nodes(network: &Network, order: &[u32], priorities: &[u64], groups: &mut [u32], terms: &Terms) {
    let scale = terms.scale;
    let nodes = network.len();
    let mut strength = vec![0.0_f64; nodes];
    let mut size = vec![0_u32; nodes];
    for (node, group) in groups.iter().enumerate() {
        strength[*group as usize] += network.strength[node];
        size[*group as usize] += 1;
    }
    let mut empty: Vec<u32> = (0..nodes as u32).rev().filter(|group| size[*group as usize] == 0).collect();
    let mut weight_to = vec![0.0_f64; nodes];
    // For each community next to the node: the lowest priority of the pairs.
    let mut preference = vec![u64::MAX; nodes];
    let mut touched: Vec<u32> = Vec::new();
    let mut queue: VecDeque<u32> = order.iter().copied().collect();
    let mut queued = vec![true; nodes];
    while let Some(node) = queue.pop_front() {
        let node = node as usize;
        queued[node] = false;
        let from = groups[node];
        let own = network.strength[node];
        for (neighbor, weight) in network.neighbors(node) {
            let group = groups[neighbor as usize];
            if weight_to[group as usize] == 0.0 {
                touched.push(group);
            }
            weight_to[group as usize] += weight;
            let pair = priority::mix(priorities[node] ^ priorities[neighbor as usize]);
            preference[group as usize] = preference[group as usize].min(pair);
        }
        strength[from as usize] -= own;
        size[from as usize] -= 1;
        let gain = |group: u32| weight_to[group as usize] - scale * own * strength[group as usize];
        let stay = gain(from);
        let best = touched.iter().map(|group| gain(*group)).fold(stay, f64::max);
        let mut to = from;
        // A single node of the graph joins any community that gains; a group that was joined later is not undone for a
        // small gain.
        let is_alone = terms.joins_single && size[from as usize] == 0;
        let least = if is_alone { LEAST_GAIN } else { LEAST_GAIN + terms.tolerance };
        if best > stay + least * own {
            // Every choice gains, so this ends.
            let enough = (best - terms.tolerance * own).max(stay + LEAST_GAIN * own);
            let near = touched.iter().copied().filter(|group| *group != from && gain(*group) >= enough);
            to = near.min_by_key(|group| preference[*group as usize]).unwrap_or(from);
        }
        for group in touched.drain(..) {
            weight_to[group as usize] = 0.0;
            preference[group as usize] = u64::MAX;
        }
        if best < 0.0
            && size[from as usize] > 0
            && let Some(group) = empty.last()
        {
            to = *group;
        }
        strength[to as usize] += own;
        size[to as usize] += 1;
        if to == from {
            continue;
        }
        if size[to as usize] == 1 && empty.last() == Some(&to) {
            empty.pop();
        }
        if size[from as usize] == 0 {
            empty.push(from);
        }
        groups[node] = to;
        for (neighbor, _) in network.neighbors(node) {
            if groups[neighbor as usize] != to && !queued[neighbor as usize] {
                queued[neighbor as usize] = true;
                queue.push_back(neighbor);
            }
        }
    }
}

/// Divides every group into well-connected parts: single nodes join parts of their group.
fn refine(network: &Network, order: &[u32], groups: &[u32], scale: f64) -> Vec<u32> {
    let nodes = network.len();
    let mut group_strength = vec![0.0_f64; nodes];
    for (node, group) in groups.iter().enumerate() {
        group_strength[*group as usize] += network.strength[node];
    }
    let mut parts: Vec<u32> = (0..nodes as u32).collect();
    let mut strength = network.strength.clone();
    let mut single = vec![true; nodes];
    // For each part: the weight from it to the rest of its group.
    let mut to_group: Vec<f64> = (0..nodes)
        .map(|node| {
            let inside = network.neighbors(node).filter(|(other, _)| groups[*other as usize] == groups[node]);
            inside.map(|(_, weight)| weight).sum()
        })
        .collect();
    let mut weight_to = vec![0.0_f64; nodes];
    let mut touched: Vec<u32> = Vec::new();
    for &node in order {
        let node = node as usize;
        let all = group_strength[groups[node] as usize];
        let own = network.strength[node];
        let well_connected = |part: usize, strength: &[f64], to_group: &[f64]| {
            to_group[part] >= scale * strength[part] * (all - strength[part])
        };
        if !single[node] || !well_connected(node, &strength, &to_group) {
            continue;
        }
        for (neighbor, weight) in network.neighbors(node) {
            if groups[neighbor as usize] == groups[node] {
                let part = parts[neighbor as usize];
                if weight_to[part as usize] == 0.0 {
                    touched.push(part);
                }
                weight_to[part as usize] += weight;
            }
        }
        let (mut to, mut best, mut weight_between) = (node, LEAST_GAIN * own, 0.0);
        for part in touched.drain(..) {
            let weight = std::mem::take(&mut weight_to[part as usize]);
            let gain = weight - scale * own * strength[part as usize];
            if gain > best && well_connected(part as usize, &strength, &to_group) {
                (to, best, weight_between) = (part as usize, gain, weight);
            }
        }
        if to != node {
            // A part has the number of one of its nodes, which was single until now.
            parts[node] = to as u32;
            strength[to] += own;
            to_group[to] += to_group[node] - 2.0 * weight_between;
            single[to] = false;
            single[node] = false;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::modularity;
    use crate::graph::tests::{KARATE, graph_of};

    #[test]
    fn the_karate_club_is_divided_optimally() {
        let graph = graph_of(KARATE);
        let labels = leiden(&graph, &LeidenSettings::default());
        assert!((modularity(&graph, &labels, 1.0) - 0.4198).abs() < 5e-5);
        assert_eq!(labels.iter().max(), Some(&3), "the best partition has four communities");
    }
}
