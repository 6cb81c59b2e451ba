//! RAPTOR's clustering: soft clusters of all vectors, then soft clusters inside each.

use std::collections::BTreeSet;

use crate::mixture::best_mixture;
use crate::points::Points;
use crate::priority;
use crate::reduce::by_neighbors;

/// Settings of [`soft_clusters`].
#[derive(Debug, Clone, PartialEq)]
pub struct SoftSettings {
    /// Dimensions to which vectors are reduced; 10 in RAPTOR.
    pub dimensions: usize,
    /// Maximum number of clusters that one step may find; 50 in RAPTOR.
    pub max_clusters: usize,
    /// A vector is in every cluster that it belongs to with more than this probability; 0.1 in RAPTOR.
    pub min_membership: f64,
    /// Maximum sum of the sizes of a cluster's members; 3500 tokens in RAPTOR.
    pub max_size: u64,
    /// Determines where mixtures start.
    pub seed: u64,
}

impl Default for SoftSettings {
    fn default() -> Self {
        Self { dimensions: 10, max_clusters: 50, min_membership: 0.1, max_size: 3500, seed: 0 }
    }
}

/// Maximum number of layers of summaries above the leaves; 5 in RAPTOR.
pub const MAX_SOFT_LAYERS: u32 = 5;

/// Number of neighbors in local steps, as in RAPTOR; global steps use the square root of the number of vectors.
const LOCAL_NEIGHBORS: usize = 10;

/// Maximum number of neighbors of a vector in a global step.
const MAX_NEIGHBORS: usize = 30;

/// Maximum number of vectors to which a mixture is fitted; the others are assigned to its clusters.
const MAX_FITTED: usize = 4096;

/// Divides vectors into clusters that may overlap, for one layer of a tree.
///
/// - `sizes`: tokens of each vector's text, by number.
/// - Returns the numbers of each cluster's members, ascending; clusters are sorted and distinct. Every vector is in at
///   least one of them, even if all its probabilities are low.
/// - Returns nothing if there are too few vectors to divide (at most `dimensions + 1`), or if there would be as many
///   clusters as vectors or more: the layer below is then the last. The number of layers is therefore finite, and
///   [`MAX_SOFT_LAYERS`] limits it.
/// - A cluster whose size exceeds `max_size` is divided again. If that is not possible, it is cut along its widest
///   direction; a vector that is too large by itself is alone.
/// - Above 4096 vectors, mixtures are fitted to the vectors whose names have the lowest hashes and assign the others, so
///   time grows linearly with the number of vectors, not with its square.
///
/// Source: RAPTOR (Sarthi et al., 2024), which reduces by UMAP. Here vectors are reduced to the eigenvectors that UMAP
/// starts from, which need no random numbers.
pub fn soft_clusters(points: &Points, sizes: &[u32], settings: &SoftSettings) -> Vec<Vec<u32>> {
    if points.len() <= settings.dimensions + 1 {
        return Vec::new();
    }
    let all: Vec<u32> = (0..points.len() as u32).collect();
    let neighbors = ((points.len() - 1) as f64).sqrt() as usize;
    let mut found: BTreeSet<Vec<u32>> = BTreeSet::new();
    for global in divide(points, &all, neighbors.min(MAX_NEIGHBORS), settings) {
        for local in divide(points, &global, LOCAL_NEIGHBORS, settings) {
            fit_size(points, sizes, local, settings, &mut found);
        }
    }
    if found.len() < points.len() { found.into_iter().collect() } else { Vec::new() }
}

/// Returns soft clusters of these vectors; a single one with all of them if there are too few.
fn divide(points: &Points, members: &[u32], neighbors: usize, settings: &SoftSettings) -> Vec<Vec<u32>> {
    let dimensions = settings.dimensions.min(members.len().saturating_sub(2));
    if members.len() <= settings.dimensions + 1 || dimensions == 0 {
        return vec![members.to_vec()];
    }
    let rows = by_neighbors(points, members, neighbors.max(2), dimensions, settings.seed);
    let mixture = if rows.len() <= MAX_FITTED {
        best_mixture(&rows, settings.max_clusters, settings.seed)
    } else {
        let name = |index: usize| points.names()[members[index] as usize].as_str();
        let mut chosen: Vec<usize> = (0..rows.len()).collect();
        chosen.sort_by_cached_key(|index| priority::of_name(settings.seed, name(*index)));
        chosen.truncate(MAX_FITTED);
        let fitted: Vec<Vec<f64>> = chosen.into_iter().map(|index| rows[index].clone()).collect();
        best_mixture(&fitted, settings.max_clusters, settings.seed)
    };
    let mut clusters: Vec<Vec<u32>> = Vec::new();
    for (row, number) in rows.iter().zip(members) {
        let shares = mixture.shares(row);
        let most = (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b])).unwrap_or(0);
        clusters.resize(shares.len(), Vec::new());
        for (part, (cluster, share)) in clusters.iter_mut().zip(shares).enumerate() {
            if share > settings.min_membership || part == most {
                cluster.push(*number);
            }
        }
    }
    clusters.retain(|cluster| !cluster.is_empty());
    clusters
}

/// Adds a cluster, divided into parts if it is too large.
fn fit_size(
    points: &Points,
    sizes: &[u32],
    cluster: Vec<u32>,
    settings: &SoftSettings,
    found: &mut BTreeSet<Vec<u32>>,
) {
    if cluster.len() == 1 || size_of(&cluster, sizes) <= settings.max_size {
        found.insert(cluster);
        return;
    }
    // Without overlaps, so that together the parts are no larger than the whole.
    let hard = SoftSettings { min_membership: 1.0, ..settings.clone() };
    let parts = divide(points, &cluster, LOCAL_NEIGHBORS, &hard);
    if parts.len() > 1 {
        parts.into_iter().for_each(|part| fit_size(points, sizes, part, settings, found));
    } else {
        found.extend(cut(points, sizes, cluster, settings));
    }
}

/// Cuts a cluster into parts along its widest direction; each part is as large as allowed.
fn cut(points: &Points, sizes: &[u32], cluster: Vec<u32>, settings: &SoftSettings) -> Vec<Vec<u32>> {
    let rows = by_neighbors(points, &cluster, LOCAL_NEIGHBORS, 1, settings.seed);
    let mut order: Vec<(f64, u32)> = rows.iter().map(|row| row[0]).zip(cluster).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut parts: Vec<Vec<u32>> = Vec::new();
    let mut size = 0_u64;
    for (_, number) in order {
        let own = u64::from(sizes.get(number as usize).copied().unwrap_or(0));
        size = size.saturating_add(own);
        if parts.is_empty() || size > settings.max_size {
            parts.push(Vec::new());
            size = own;
        }
        if let Some(part) = parts.last_mut() {
            part.push(number);
        }
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

fn size_of(cluster: &[u32], sizes: &[u32]) -> u64 {
    cluster.iter().map(|number| u64::from(sizes.get(*number as usize).copied().unwrap_or(0))).sum()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns `count` vectors near each of `topics` directions in eight dimensions, named `t-i`.
    pub(crate) fn around(topics: u64, count: u64) -> (Vec<String>, Vec<f32>) {
        let value = |seed: u64| priority::mix(seed) as f32 / u64::MAX as f32 - 0.5;
        let mut names = Vec::new();
        let mut values = Vec::new();
        for (topic, number) in (0..topics).flat_map(|topic| (0..count).map(move |number| (topic, number))) {
            names.push(format!("{topic}-{number}"));
            let noise = |axis| 0.1 * value(1_000 + 8 * (topic * count + number) + axis);
            values.extend((0..8).map(|axis| value(topic * 8 + axis) + noise(axis)));
        }
        (names, values)
    }

    fn clusters_of(names: &[String], values: &[f32], settings: &SoftSettings) -> Vec<Vec<String>> {
        let points = Points::new(names, 8, values).expect("finite values");
        let sizes = vec![100; points.len()];
        let clusters = soft_clusters(&points, &sizes, settings);
        let name = |number: &u32| points.names()[*number as usize].clone();
        clusters.iter().map(|cluster| cluster.iter().map(name).collect()).collect()
    }

    #[test]
    fn a_cluster_has_one_topic() {
        let (names, values) = around(6, 20);
        let clusters = clusters_of(&names, &values, &SoftSettings::default());
        assert!(clusters.len() >= 6, "{} clusters", clusters.len());
        for cluster in &clusters {
            let topic = cluster[0].split('-').next();
            assert!(cluster.iter().all(|name| name.split('-').next() == topic), "{cluster:?}");
        }
    }

    #[test]
    fn few_vectors_are_not_clustered() {
        let (names, values) = around(1, 11);
        assert!(clusters_of(&names, &values, &SoftSettings::default()).is_empty());
        assert!(clusters_of(&[], &[], &SoftSettings::default()).is_empty());
    }

    #[test]
    fn equal_vectors_are_split_into_clusters_of_bounded_size() {
        let names: Vec<String> = (0..40).map(|number| format!("{number:02}")).collect();
        let settings = SoftSettings { max_size: 1_000, ..Default::default() };
        for value in [0.0, 1.0] {
            let clusters = clusters_of(&names, &[value; 320], &settings);
            assert!(clusters.iter().all(|cluster| cluster.len() <= 10), "{clusters:?}");
            assert_eq!(clusters.concat().len(), 40);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn every_vector_is_in_a_cluster_of_bounded_size_in_any_order(
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
            let plain = clusters_of(&names, &values, &settings);
            let turn = turn % names.len();
            names.rotate_left(turn);
            values.rotate_left(8 * turn);
            prop_assert_eq!(&plain, &clusters_of(&names, &values, &settings));
            if !plain.is_empty() {
                prop_assert!(plain.len() < names.len());
                let found: BTreeSet<&String> = plain.iter().flatten().collect();
                prop_assert_eq!(found.len(), names.len());
                prop_assert!(plain.iter().all(|cluster| cluster.len() == 1 || cluster.len() as u64 * 100 <= max_size));
            }
        }
    }
}
