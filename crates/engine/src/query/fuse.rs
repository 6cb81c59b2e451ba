//! Fuses several ranked lists into one.

use std::collections::{BTreeMap, BTreeSet};

/// Damps the head of each list. The value is that of the source.
const RECIPROCAL_RANK_K: f64 = 60.0;

/// Takes the first item of each list, then the second of each, and so on. Of items with the same key it keeps the first.
pub(super) fn round_robin<T, K: Ord>(lists: Vec<Vec<T>>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen = BTreeSet::new();
    let mut merged = Vec::with_capacity(lists.iter().map(Vec::len).sum());
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    loop {
        let mut ended = true;
        for item in lists.iter_mut().filter_map(Iterator::next) {
            ended = false;
            if seen.insert(key(&item)) {
                merged.push(item);
            }
        }
        if ended {
            return merged;
        }
    }
}

/// Fuses ranked lists by reciprocal rank: an item scores the sum of `1 / (60 + rank)`, rank from 1. Each list contains an
/// item at most once. Returns every item once, best first, ties in ascending order.
///
/// Source: Cormack, Clarke, Buettcher, "Reciprocal Rank Fusion", SIGIR 2009.
pub(super) fn reciprocal_ranks<T: Ord + Clone>(lists: &[Vec<T>]) -> Vec<(T, f64)> {
    by_rank(lists.iter().map(|list| (1.0, list)), RECIPROCAL_RANK_K)
}

/// Fuses ranked lists by weighted rank: an item scores the sum of `weight / rank`, rank from 1, so the head of the heaviest
/// list stays first. Otherwise like [`reciprocal_ranks`].
///
/// Source: Anthropic, "Introducing Contextual Retrieval", 2024, and its notebook.
pub(super) fn weighted_ranks<T: Ord + Clone>(lists: &[(f64, Vec<T>)]) -> Vec<(T, f64)> {
    by_rank(lists.iter().map(|(weight, list)| (*weight, list)), 0.0)
}

fn by_rank<'a, T: Ord + Clone + 'a>(lists: impl Iterator<Item = (f64, &'a Vec<T>)>, k: f64) -> Vec<(T, f64)> {
    fuse(lists.flat_map(|(weight, list)| {
        (1u32..).zip(list).map(move |(rank, item)| (item, weight / (k + f64::from(rank))))
    }))
}

/// Fuses ranked lists by weighted score: an item scores the sum of `weight * score / best score of the list`. A list thus
/// matters if its scores are far apart, and hardly at all among items that it scores alike. Otherwise like [`reciprocal_ranks`].
pub(super) fn weighted_scores<T: Ord + Clone>(lists: &[(f64, Vec<(T, f64)>)]) -> Vec<(T, f64)> {
    fuse(lists.iter().flat_map(|(weight, list)| {
        let best = list.first().map_or(0.0, |(_, score)| *score).max(f64::MIN_POSITIVE);
        list.iter().map(move |(item, score)| (item, weight * score / best))
    }))
}

fn fuse<'a, T: Ord + Clone + 'a>(scored: impl Iterator<Item = (&'a T, f64)>) -> Vec<(T, f64)> {
    let mut scores: BTreeMap<&T, f64> = BTreeMap::new();
    for (item, score) in scored {
        *scores.entry(item).or_default() += score;
    }
    let mut fused: Vec<(T, f64)> = scores.into_iter().map(|(item, score)| (item.clone(), score)).collect();
    fused.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    fused
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_take_turns_and_duplicates_are_dropped() {
        let lists = vec![vec!["a", "b", "c"], vec!["x", "a"], vec!["b"]];
        assert_eq!(round_robin(lists, |item| *item), ["a", "x", "b", "c"]);
    }

    #[test]
    fn the_best_of_the_heavier_list_stays_first_and_the_lighter_list_lifts_shared_items() {
        let fused = weighted_ranks(&[(0.8, vec!["a", "b", "c"]), (0.2, vec!["x", "c", "b"])]);
        assert_eq!(fused.iter().map(|(item, _)| *item).collect::<Vec<_>>(), ["a", "b", "c", "x"]);
        assert!((fused[1].1 - (0.8 / 2.0 + 0.2 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn the_gaps_between_scores_determine_the_order() {
        let order = |second: f64| {
            let lists = [(0.5, vec![("a", 9.0), ("b", 4.5)]), (0.5, vec![("b", 2.0), ("a", second)])];
            weighted_scores(&lists).into_iter().map(|(item, _)| item).collect::<Vec<_>>()
        };
        assert_eq!((order(1.9), order(0.1)), (vec!["a", "b"], vec!["b", "a"]));
        assert_eq!(weighted_scores(&[(1.0, vec![("a", 0.0)])]), [("a", 0.0)]);
    }

    #[test]
    fn an_item_in_both_lists_beats_the_best_of_one() {
        let fused = reciprocal_ranks(&[vec!["a", "c"], vec!["b", "c"]]);
        assert_eq!(fused.iter().map(|(item, _)| *item).collect::<Vec<_>>(), ["c", "a", "b"]);
    }

    proptest! {
        #[test]
        fn round_robin_keeps_every_item_once_and_starts_with_the_first_list(lists in vec(vec(0u8..20, 0..12), 0..4)) {
            let merged = round_robin(lists.clone(), |item| *item);
            let all: BTreeSet<u8> = lists.iter().flatten().copied().collect();
            prop_assert_eq!(merged.len(), all.len());
            prop_assert_eq!(merged.iter().copied().collect::<BTreeSet<u8>>(), all);
            let first_round: Vec<u8> = round_robin(lists.iter().map(|list| list.iter().take(1).copied().collect()).collect(), |item| *item);
            prop_assert_eq!(&merged[..first_round.len()], &first_round[..]);
        }

        #[test]
        fn round_robin_of_one_list_only_removes_duplicates(list in vec(0u8..20, 0..30)) {
            let mut seen = BTreeSet::new();
            let expected: Vec<u8> = list.iter().copied().filter(|item| seen.insert(*item)).collect();
            prop_assert_eq!(round_robin(vec![list], |item| *item), expected);
        }

        #[test]
        fn rank_fusion_ignores_the_order_of_lists(one in vec(0u8..9, 0..6), other in vec(0u8..9, 0..6)) {
            let distinct = |list: Vec<u8>| round_robin(vec![list], |item| *item);
            let (one, other) = (distinct(one), distinct(other));
            prop_assert_eq!(reciprocal_ranks(&[one.clone(), other.clone()]), reciprocal_ranks(&[other, one]));
        }
    }
}
