//! Joins nodes into groups of bounded size; every decision is local.

use crate::network::{Network, renumber};

/// State of the groups in [`gather`].
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    /// Number of graph nodes in each group.
    pub(crate) sizes: Vec<u32>,
    /// Breaks ties: the lowest priority among the nodes of each group.
    pub(crate) priorities: Vec<u64>,
    /// Weight of all edges of its nodes, including edges that the network leaves out.
    pub(crate) strength: Vec<f64>,
}

impl Groups {
    pub(crate) fn join(&self, labels: &[u32], count: usize) -> Self {
        let mut joined =
            Self { sizes: vec![0; count], priorities: vec![u64::MAX; count], strength: vec![0.0; count] };
        for (node, label) in labels.iter().enumerate() {
            let label = *label as usize;
            joined.sizes[label] += self.sizes[node];
            joined.priorities[label] = joined.priorities[label].min(self.priorities[node]);
            joined.strength[label] += self.strength[node];
        }
        joined
    }
}

/// Upper bound on the rounds of [`gather`]. It ends far earlier, because every round joins some of the remaining pairs.
const MAX_ROUNDS: usize = 1_000;

/// Joins groups that are each other's best neighbor, repeatedly, as long as no group exceeds `max` nodes. Returns the group
/// of each node of the network; the numbering has gaps.
pub(crate) fn gather(network: &Network, groups: &Groups, max: u32) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..network.len() as u32).collect();
    let mut groups = groups.clone();
    let mut owned: Option<Network> = None;
    for _ in 0..MAX_ROUNDS {
        let current = owned.as_ref().unwrap_or(network);
        let best: Vec<u32> =
            (0..current.len()).map(|group| best_neighbor(current, &groups, group, max)).collect();
        let mut joined: Vec<u32> = (0..current.len() as u32).collect();
        let mut any = false;
        for (group, other) in best.iter().enumerate() {
            if *other != u32::MAX && (group as u32) < *other && best[*other as usize] == group as u32 {
                joined[*other as usize] = group as u32;
                any = true;
            }
        }
        if !any {
            break;
        }
        let count = renumber(&mut joined);
        let next = current.aggregate(&joined, count);
        groups = groups.join(&joined, count);
        labels.iter_mut().for_each(|label| *label = joined[*label as usize]);
        owned = Some(next);
    }
    labels
}

fn best_neighbor(network: &Network, groups: &Groups, group: usize, max: u32) -> u32 {
    let room = max.saturating_sub(groups.sizes[group]);
    let mut best: (f64, u64, u32) = (f64::NEG_INFINITY, u64::MAX, u32::MAX);
    for (other, weight) in network.neighbors(group) {
        let index = other as usize;
        if groups.sizes[index] > room {
            continue;
        }
        // The two terms of Newman's modularity as a ratio: the weight between both, and the product of their strengths.
        let like = weight / (groups.strength[group] * groups.strength[index]);
        let pair = pair_priority(groups.priorities[group], groups.priorities[index]);
        if like > best.0 || (like == best.0 && pair < best.1) {
            best = (like, pair, other);
        }
    }
    best.2
}

/// Orders pairs of equal weight the same way from both sides, so every round joins at least one pair.
fn pair_priority(a: u64, b: u64) -> u64 {
    crate::priority::mix(a ^ b)
}
