//! Nearest vectors by cosine: exact for few vectors, approximate by buckets for many.

use crate::points::dot;
use crate::priority::mix;

/// Largest number of vectors for which every pair is compared.
const MAX_EXACT: usize = 4096;

/// Vectors per leader; the average is between this and twice as many.
const BUCKET: usize = 256;

/// Number of buckets in which a vector is stored and in which it looks for its neighbors.
const BUCKETS_PER_VECTOR: usize = 3;

/// Largest number of centers for which each is compared with every item.
const MAX_CENTERS: usize = 1024;

/// Centers per leader; the average is between this and twice as many.
const CENTERS_OF_LEADER: usize = 64;

/// Returns the numbers of the `count` nearest other rows for each row, nearest first; the lower priority wins ties.
///
/// Above [`MAX_EXACT`] rows, the rows with the lowest priorities are leaders; their number doubles when the number of rows
/// doubles. Each row is compared only with rows that share one of its nearest leaders. Besides the comparisons with the
/// leaders, this takes a few times 256 comparisons per row, and adding or removing a row changes the neighbors of few
/// others.
pub(crate) fn nearest<R: AsRef<[f32]>>(rows: &[R], priorities: &[u64], count: usize) -> Vec<Vec<u32>> {
    let all: Vec<u32> = (0..rows.len() as u32).collect();
    if rows.len() <= MAX_EXACT {
        return (0..rows.len()).map(|row| best(rows, priorities, row, all.iter().copied(), count)).collect();
    }
    let mut leaders = all;
    leaders.sort_unstable_by_key(|row| (priorities[*row as usize], *row));
    leaders.truncate((rows.len() / BUCKET + 1).next_power_of_two() / 2);
    leaders.sort_unstable();
    let led_by: Vec<Vec<u32>> = (0..rows.len())
        .map(|row| {
            let mut near = best(rows, priorities, row, leaders.iter().copied(), BUCKETS_PER_VECTOR);
            if leaders.binary_search(&(row as u32)).is_ok() {
                near.push(row as u32);
            }
            near
        })
        .collect();
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); leaders.len()];
    for (row, near) in led_by.iter().enumerate() {
        for leader in near {
            if let Ok(bucket) = leaders.binary_search(leader) {
                buckets[bucket].push(row as u32);
            }
        }
    }
    let mut candidates: Vec<u32> = Vec::new();
    (0..rows.len())
        .map(|row| {
            candidates.clear();
            for leader in &led_by[row] {
                if let Ok(bucket) = leaders.binary_search(leader) {
                    candidates.extend_from_slice(&buckets[bucket]);
                }
            }
            candidates.sort_unstable();
            candidates.dedup();
            best(rows, priorities, row, candidates.iter().copied(), count)
        })
        .collect()
}

/// Returns the nearest center of each item, in the order of `items`. Items are distributed over equally near centers by the
/// priorities of item and center.
///
/// Above [`MAX_CENTERS`] centers, some of them are leaders, and an item is compared only with centers that share one of its
/// nearest leaders.
pub(crate) fn nearest_center(
    rows: &[&[f32]],
    priorities: &[u64],
    items: &[u32],
    centers: &[u32],
) -> Vec<u32> {
    let closest = |item: u32, candidates: &mut dyn Iterator<Item = u32>| {
        let mut best: (f32, u64, u32) = (f32::NEG_INFINITY, u64::MAX, u32::MAX);
        for center in candidates {
            let similarity = dot(rows[item as usize], rows[center as usize]);
            if similarity < best.0 {
                continue;
            }
            let turn = mix(priorities[item as usize] ^ mix(priorities[center as usize]));
            if similarity > best.0 || (turn, center) < (best.1, best.2) {
                best = (similarity, turn, center);
            }
        }
        best.2
    };
    if centers.len() <= MAX_CENTERS {
        return items.iter().map(|item| closest(*item, &mut centers.iter().copied())).collect();
    }
    let mut leaders = centers.to_vec();
    leaders.sort_unstable_by_key(|center| (priorities[*center as usize], *center));
    leaders.truncate((centers.len() / CENTERS_OF_LEADER + 1).next_power_of_two() / 2);
    leaders.sort_unstable();
    let mut led: Vec<Vec<u32>> = vec![Vec::new(); leaders.len()];
    let near_leaders = |item: u32| {
        let near = best(rows, priorities, item as usize, leaders.iter().copied(), BUCKETS_PER_VECTOR);
        let own = leaders.binary_search(&item).ok();
        near.into_iter()
            .filter_map(|leader| leaders.binary_search(&leader).ok())
            .chain(own)
            .collect::<Vec<_>>()
    };
    for center in centers {
        near_leaders(*center).into_iter().for_each(|bucket| led[bucket].push(*center));
    }
    items
        .iter()
        .map(|item| {
            let mut candidates: Vec<u32> =
                near_leaders(*item).into_iter().flat_map(|bucket| led[bucket].iter().copied()).collect();
            candidates.sort_unstable();
            candidates.dedup();
            closest(*item, &mut candidates.into_iter())
        })
        .collect()
}

/// Returns the `count` nearest of the candidates, without the row itself.
fn best<R: AsRef<[f32]>>(
    rows: &[R],
    priorities: &[u64],
    row: usize,
    candidates: impl Iterator<Item = u32>,
    count: usize,
) -> Vec<u32> {
    let mut found: Vec<(f32, u64, u32)> = Vec::with_capacity(count + 1);
    for other in candidates.filter(|other| *other as usize != row) {
        let entry =
            (dot(rows[row].as_ref(), rows[other as usize].as_ref()), priorities[other as usize], other);
        let is_before = |a: &(f32, u64, u32), b: &(f32, u64, u32)| {
            b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)).is_lt()
        };
        if found.len() == count && !found.last().is_some_and(|last| is_before(&entry, last)) {
            continue;
        }
        let place = found.partition_point(|earlier| is_before(earlier, &entry));
        found.insert(place, entry);
        found.truncate(count);
    }
    found.into_iter().map(|(_, _, other)| other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_neighbors_come_first_without_the_vector_itself() {
        let rows = [vec![1.0, 0.0], vec![0.8, 0.6], vec![0.0, 1.0]];
        assert_eq!(nearest(&rows, &[0, 1, 2], 2), [vec![1, 2], vec![0, 2], vec![1, 0]]);
    }

    /// Returns vectors around 50 directions, as texts are distributed around topics.
    fn rows_of_topics(count: u64) -> Vec<Vec<f32>> {
        let coordinate = |row: u64, axis: u64| (mix(row * 31 + axis) >> 40) as f32 / (1 << 24) as f32 - 0.5;
        (0..count)
            .map(|row| {
                let raw: Vec<f32> = (0..8)
                    .map(|axis| coordinate(1_000_000 + row % 50, axis) + 0.2 * coordinate(row, axis))
                    .collect();
                let length = dot(&raw, &raw).sqrt();
                raw.iter().map(|value| value / length).collect()
            })
            .collect()
    }

    #[test]
    fn buckets_find_most_of_the_exact_neighbors() {
        let rows = rows_of_topics(5000);
        let priorities: Vec<u64> = (0..5000).map(mix).collect();
        let found = nearest(&rows, &priorities, 5);
        let all = 0..rows.len() as u32;
        let agreed: usize = (0..100)
            .map(|row| {
                let exact = best(&rows, &priorities, row, all.clone(), 5);
                exact.iter().filter(|other| found[row].contains(other)).count()
            })
            .sum();
        assert!(agreed > 450, "{agreed} of 500");
    }

    #[test]
    fn leaders_find_most_nearest_centers() {
        let rows = rows_of_topics(6000);
        let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
        let priorities: Vec<u64> = (0..6000).map(mix).collect();
        let centers: Vec<u32> = (0..6000).filter(|row| row % 4 == 0).collect();
        let items: Vec<u32> = (0..6000).filter(|row| row % 60 == 1).collect();
        let found = nearest_center(&rows, &priorities, &items, &centers);
        let exact =
            items.iter().map(|item| best(&rows, &priorities, *item as usize, centers.iter().copied(), 1)[0]);
        let agreed = found.iter().zip(exact).filter(|(found, exact)| **found == *exact).count();
        assert!(agreed >= 95, "{agreed} of {}", items.len());
    }

    #[test]
    fn equally_near_centers_share_items() {
        let rows = [[1.0_f32, 0.0]; 300];
        let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
        let priorities: Vec<u64> = (0..300).map(mix).collect();
        let items: Vec<u32> = (0..300).collect();
        let found = nearest_center(&rows, &priorities, &items, &[1, 2, 3]);
        assert!((1..=3).all(|center| found.iter().filter(|found| **found == center).count() > 60));
    }
}
