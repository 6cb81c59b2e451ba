//! Edge weights for dividing a graph into communities: as the documents state them, or by mutual information, with weak
//! edges and rare entities pruned.
//!
//! Relations by rules connect entities in the same sentence. Their weight counts sentences, so frequent entities are
//! connected with everything. Mutual information compares how often a pair occurs together with how often it would by
//! chance. The pairs that are left after pruning belong together.
//!
//! Source: GraphRAG 3, method `fast` (`prune_graph` and `edge_weights`), with its default limits. Differences: weights are
//! normalised to at most 1; pairs that occur together no more often than by chance are dropped, because a community cannot
//! have edges of negative weight; and the entity with the most relations stays if it belongs to a community.

use std::collections::BTreeSet;

use graphloom_cluster::Edge;

/// How edges are weighted for communities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EdgeWeights {
    /// The weights of the relations.
    #[default]
    Facts,
    /// Normalised pointwise mutual information, pruned.
    MutualInformation,
}

impl EdgeWeights {
    /// Returns the name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Facts => "facts",
            Self::MutualInformation => "pmi",
        }
    }

    /// Returns the weighting with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Facts, Self::MutualInformation].into_iter().find(|weights| weights.name() == name)
    }
}

/// Minimum mentions of an entity that is not pruned [GraphRAG].
pub const MIN_MENTIONS: u32 = 2;
/// Percentage of the edges that are pruned, the lightest first [GraphRAG].
pub const PRUNED_PERCENT: usize = 40;

/// Returns the edges of a graph, weighted by normalised pointwise mutual information and pruned.
///
/// With p(x) the share of an entity's mentions in all mentions, and p(x, y) the share of an edge's weight in all weights,
/// the weight of an edge is `log2(p(x, y) / (p(x) p(y))) / -log2 p(x, y)`: 1 if two entities are mentioned only together,
/// and 0 if they are mentioned together no more often than by chance.
///
/// - `mentions`: mentions of each node; a node that only relations name counts as one mention.
/// - Edges of nodes with fewer than [`MIN_MENTIONS`] mentions and edges without positive weight are dropped. Of the others,
///   the lightest [`PRUNED_PERCENT`] are dropped, except edges as light as the lightest one that stays.
/// - If all nodes are rarer, as in a single short document, none is pruned for being rare.
///
/// Source of the measure: Bouma, "Normalized (Pointwise) Mutual Information in Collocation Extraction", GSCL 2009.
pub(super) fn by_mutual_information(mentions: &[u32], edges: &[Edge]) -> Vec<Edge> {
    let all_mentions: f64 = mentions.iter().map(|count| f64::from((*count).max(1))).sum();
    let all_weights: f64 = edges.iter().map(|edge| edge.weight).sum();
    let frequent: BTreeSet<usize> =
        (0..mentions.len()).filter(|node| mentions[*node] >= MIN_MENTIONS).collect();
    let stays = |node: usize| frequent.is_empty() || frequent.contains(&node);
    let share = |node: usize| f64::from(mentions[node].max(1)) / all_mentions;
    let mut weighed: Vec<Edge> = edges
        .iter()
        .filter(|edge| stays(edge.a) && stays(edge.b))
        .filter_map(|edge| {
            let together = edge.weight / all_weights;
            let information = (together / (share(edge.a) * share(edge.b))).log2();
            // In a graph with a single edge, the edge has all of the weight.
            let most = -together.log2();
            let weight = if most > 0.0 { (information / most).min(1.0) } else { 1.0 };
            (weight > 0.0).then(|| Edge::new(edge.a, edge.b, weight))
        })
        .collect();
    let mut weights: Vec<f64> = weighed.iter().map(|edge| edge.weight).collect();
    weights.sort_by(f64::total_cmp);
    if let Some(least) = weights.get(weights.len() * PRUNED_PERCENT / 100) {
        weighed.retain(|edge| edge.weight >= *least);
    }
    weighed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_kept(mentions: &[u32], edges: &[(usize, usize, f64)], expected: &[(usize, usize)]) {
        let edges: Vec<Edge> = edges.iter().map(|&(a, b, weight)| Edge::new(a, b, weight)).collect();
        let kept = by_mutual_information(mentions, &edges);
        assert_eq!(kept.iter().map(|edge| (edge.a, edge.b)).collect::<Vec<_>>(), expected);
        assert!(kept.iter().all(|edge| edge.weight > 0.0 && edge.weight <= 1.0), "{kept:?}");
    }

    #[test]
    fn pairs_that_occur_together_more_often_than_by_chance_stay() {
        // 0 is mentioned everywhere; 1 and 2, and 3 and 4, only together.
        let edges = [(0, 1, 0.1), (0, 2, 0.2), (0, 3, 0.3), (1, 2, 3.0), (3, 4, 3.0)];
        check_kept(&[40, 3, 3, 3, 3], &edges, &[(1, 2), (3, 4)]);
    }

    #[test]
    fn rare_entities_are_dropped_unless_all_are_rare() {
        check_kept(&[2, 2, 1], &[(0, 1, 1.0), (1, 2, 1.0)], &[(0, 1)]);
        check_kept(&[1, 1], &[(0, 1, 1.0)], &[(0, 1)]);
        check_kept(&[], &[], &[]);
    }
}
