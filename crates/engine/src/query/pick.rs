//! Picks chunks for entities or relations, by their vectors or by polling.

use std::collections::{BTreeMap, BTreeSet};

/// The chunks behind ranked entities or relations, each chunk in the first list that contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sources<T> {
    /// One list per entity or relation, in rank order. Within a list, chunks that occur in most lists come first.
    pub(super) lists: Vec<Vec<T>>,
}

impl<T: Ord + Clone> Sources<T> {
    /// Returns the sources of entities. Keeps a list even if earlier lists took all its chunks.
    pub(super) fn of_entities(lists: &[Vec<T>]) -> Self {
        let named: Vec<_> = lists.iter().filter(|list| !list.is_empty()).cloned().collect();
        Self { lists: deduplicated(named) }
    }

    /// Returns the sources of relations. Leaves out chunks that were already picked for an entity, and lists that become empty.
    pub(super) fn of_relations(lists: &[Vec<T>], chosen: &BTreeSet<T>) -> Self {
        let free =
            |list: &Vec<T>| list.iter().filter(|chunk| !chosen.contains(chunk)).cloned().collect::<Vec<T>>();
        let mut lists = deduplicated(lists.iter().map(free).collect());
        lists.retain(|list| !list.is_empty());
        Self { lists }
    }

    /// Returns the `related_chunk_number × lists / 2` chunks most similar to the question, best first, ties by id. Empty if
    /// the similarity of any chunk is unknown.
    pub(super) fn by_similarity(
        &self,
        related_chunk_number: u32,
        similarity: impl Fn(&T) -> Option<f32>,
    ) -> Vec<T> {
        let number = related_chunk_number as usize * self.lists.len() / 2;
        let scored: Option<Vec<(T, f32)>> =
            self.lists.iter().flatten().map(|chunk| Some((chunk.clone(), similarity(chunk)?))).collect();
        let mut scored = scored.unwrap_or_default();
        scored.sort_by(|(a, one), (b, other)| other.total_cmp(one).then_with(|| a.cmp(b)));
        scored.into_iter().take(number).map(|(chunk, _)| chunk).collect()
    }

    /// Picks chunks by weighted polling: the first list gives up to `max` chunks, the last one 1, the lists between on a line
    /// from one to the other. Missing chunks are taken from the first lists that still have some.
    pub(super) fn by_polling(&self, max: u32) -> Vec<T> {
        if max == 0 {
            return Vec::new();
        }
        let quotas = quotas(self.lists.len(), max);
        let mut picked = Vec::new();
        let mut used = Vec::with_capacity(self.lists.len());
        let mut unused_quota = 0;
        for (list, quota) in self.lists.iter().zip(quotas) {
            let taken = quota.min(list.len());
            picked.extend_from_slice(&list[..taken]);
            used.push(taken);
            unused_quota += quota - taken;
        }
        let left = self.lists.iter().zip(used).flat_map(|(list, used)| &list[used..]);
        picked.extend(left.take(unused_quota).cloned());
        picked
    }
}

/// Returns how many chunks each of `lists` may give: `max` for the first, 1 for the last, linear between, halves rounded to
/// even. A single list may give `max`.
fn quotas(lists: usize, max: u32) -> Vec<usize> {
    let quota = |rank: usize| {
        let ratio = if lists == 1 { 0.0 } else { rank as f64 / (lists - 1) as f64 };
        (f64::from(max) - ratio * f64::from(max - 1)).round_ties_even() as usize
    };
    (0..lists).map(quota).collect()
}

/// Keeps each chunk only in the first list that contains it, and sorts chunks that occur in most lists first; ties keep their
/// order.
fn deduplicated<T: Ord + Clone>(lists: Vec<Vec<T>>) -> Vec<Vec<T>> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    let mut firsts: Vec<Vec<T>> = Vec::with_capacity(lists.len());
    for list in lists {
        let mut first = Vec::new();
        for chunk in list {
            let count = counts.entry(chunk.clone()).or_default();
            *count += 1;
            if *count == 1 {
                first.push(chunk);
            }
        }
        firsts.push(first);
    }
    for list in &mut firsts {
        list.sort_by_key(|chunk| std::cmp::Reverse(counts[chunk]));
    }
    firsts
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotas_fall_linearly_from_the_first_to_the_last() {
        for (lists, max, expected) in [
            (0, 5, vec![]),
            (1, 5, vec![5]),
            (2, 5, vec![5, 1]),
            (3, 5, vec![5, 3, 1]),
            (4, 5, vec![5, 4, 2, 1]),
            (5, 5, vec![5, 4, 3, 2, 1]),
            (3, 4, vec![4, 2, 1]),
            (3, 2, vec![2, 2, 1]),
            (4, 1, vec![1, 1, 1, 1]),
            (9, 5, vec![5, 4, 4, 4, 3, 2, 2, 2, 1]),
        ] {
            assert_eq!(quotas(lists, max), expected, "{lists} lists, at most {max}");
        }
    }

    fn check_polling(lists: &[&[u32]], max: u32, expected: &[u32]) {
        let sources = Sources { lists: lists.iter().map(|list| list.to_vec()).collect() };
        assert_eq!(sources.by_polling(max), expected, "{lists:?}, at most {max}");
    }

    #[test]
    fn polling_takes_quotas_first_and_then_fills_from_the_front() {
        check_polling(&[], 5, &[]);
        check_polling(&[&[1, 2]], 0, &[]);
        check_polling(&[&[1, 2, 3, 4, 5, 6]], 5, &[1, 2, 3, 4, 5]);
        check_polling(
            &[&[1, 2, 3, 4, 5, 6], &[11, 12, 13, 14], &[21, 22]],
            5,
            &[1, 2, 3, 4, 5, 11, 12, 13, 21],
        );
        // The second list leaves two of its quota; the first gives one more, then the third does.
        check_polling(&[&[1, 2, 3, 4, 5, 6], &[11], &[21, 22, 23]], 5, &[1, 2, 3, 4, 5, 11, 21, 6, 22]);
        check_polling(&[&[1], &[11], &[21]], 5, &[1, 11, 21]);
    }

    #[test]
    fn a_chunk_stays_with_the_first_list_that_names_it_and_shared_chunks_come_first() {
        let lists = vec![vec![1, 2, 3], vec![3, 1], vec![], vec![3, 4]];
        assert_eq!(Sources::of_entities(&lists).lists, [vec![3, 1, 2], vec![], vec![4]]);
        assert_eq!(Sources::of_relations(&lists, &[1, 4].into()).lists, [vec![3, 2]]);
    }

    #[test]
    fn similar_chunks_are_picked_best_first_and_an_unknown_vector_prevents_picking() {
        let sources = Sources { lists: vec![vec![1, 2, 3], vec![4, 5, 6]] };
        let similarity = |chunk: &u32| Some(-((*chunk as f32) - 4.0).abs());
        assert_eq!(sources.by_similarity(3, similarity), [4, 3, 5]);
        assert_eq!(sources.by_similarity(5, similarity), [4, 3, 5, 2, 6]);
        assert_eq!(sources.by_similarity(5, |chunk| (*chunk != 6).then_some(0.0)), Vec::<u32>::new());
        let one = Sources { lists: vec![vec![1, 2, 3]] };
        assert_eq!(one.by_similarity(5, similarity), [3, 2]);
        assert_eq!(one.by_similarity(1, similarity), Vec::<u32>::new());
    }

    proptest! {
        #[test]
        fn polling_picks_each_chunk_once_and_no_more_than_the_quotas_allow(
            lists in vec(vec(0u32..40, 0..8), 0..8),
            max in 0u32..7,
        ) {
            let sources = Sources::of_entities(&lists);
            let picked = sources.by_polling(max);
            let distinct: BTreeSet<u32> = picked.iter().copied().collect();
            let available: usize = sources.lists.iter().map(Vec::len).sum();
            let allowed: usize = if max == 0 { 0 } else { quotas(sources.lists.len(), max).iter().sum() };
            prop_assert_eq!(distinct.len(), picked.len());
            prop_assert_eq!(picked.len(), available.min(allowed));
        }

        #[test]
        fn quotas_never_grow_along_the_ranks(lists in 1usize..60, max in 1u32..20) {
            let quotas = quotas(lists, max);
            prop_assert_eq!(quotas[0], max as usize);
            prop_assert!(quotas.windows(2).all(|pair| pair[0] >= pair[1] && pair[1] >= 1));
        }
    }
}
