//! Reduces vectors to few dimensions, for mixtures of Gaussians.

use crate::neighbors::nearest;
use crate::points::{Points, dot};
use crate::priority;

/// Iterations of the power method; the dimensions that matter converge far earlier.
const ITERATIONS: usize = 60;

/// Returns each vector as up to `dimensions` numbers, row by row, such that vectors with common neighbors are near each
/// other: the leading eigenvectors of the random walk on the graph of nearest neighbors.
///
/// UMAP starts from the same numbers. They need no randomness. Equal vectors have equal neighbors and come out near each
/// other.
///
/// Source: Belkin, Niyogi, "Laplacian Eigenmaps", 2003.
pub(crate) fn by_neighbors(
    points: &Points,
    members: &[u32],
    neighbors: usize,
    dimensions: usize,
    seed: u64,
) -> Vec<Vec<f64>> {
    let rows: Vec<&[f32]> = members.iter().map(|number| points.vector(*number as usize)).collect();
    let priorities: Vec<u64> =
        members.iter().map(|number| priority::of_name(seed, &points.names()[*number as usize])).collect();
    let near = nearest(&rows, &priorities, neighbors);
    let mut weights: Vec<Vec<(u32, f64)>> = vec![Vec::new(); rows.len()];
    for (row, others) in near.iter().enumerate() {
        // As in UMAP: relative to the nearest neighbor and scaled by the others, so that dense and sparse regions are
        // alike.
        let distance = |other: u32| (1.0 - f64::from(dot(rows[row], rows[other as usize]))).max(0.0);
        let least = others.first().map_or(0.0, |other| distance(*other));
        let scale =
            others.iter().map(|other| distance(*other) - least).sum::<f64>() / others.len().max(1) as f64;
        for other in others {
            let weight = if scale > 0.0 { (-(distance(*other) - least) / scale).exp() } else { 1.0 };
            weights[row].push((*other, weight));
            weights[*other as usize].push((row as u32, weight));
        }
    }
    let root_of_degree: Vec<f64> = weights
        .iter_mut()
        .map(|row| {
            row.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            row.iter().map(|(_, weight)| weight).sum::<f64>().sqrt().max(f64::MIN_POSITIVE)
        })
        .collect();
    // The first eigenvector is known: it reflects how many neighbors a vector has, not which.
    let mut basis: Vec<Vec<f64>> = vec![root_of_degree.clone()];
    for dimension in 1..=dimensions {
        let value =
            |row: usize| priority::mix(priorities[row] ^ dimension as u64) as f64 / u64::MAX as f64 - 0.5;
        basis.push((0..rows.len()).map(value).collect());
    }
    for _ in 0..ITERATIONS {
        orthonormalize(&mut basis);
        for column in &mut basis[1..] {
            // Half of the walk stays in place, so that all eigenvalues are positive and the largest come first.
            *column = (0..rows.len())
                .map(|row| {
                    let others = weights[row].iter().map(|(other, weight)| {
                        weight * column[*other as usize]
                            / (root_of_degree[row] * root_of_degree[*other as usize])
                    });
                    column[row] + others.sum::<f64>()
                })
                .collect();
        }
    }
    orthonormalize(&mut basis);
    let scale = (rows.len() as f64).sqrt();
    (0..rows.len()).map(|row| basis[1..].iter().map(|column| column[row] * scale).collect()).collect()
}

/// Makes columns orthogonal to the ones before them and scales them to length 1; a column that depends on those becomes
/// zero.
fn orthonormalize(columns: &mut [Vec<f64>]) {
    for index in 0..columns.len() {
        let (before, rest) = columns.split_at_mut(index);
        let column = &mut rest[0];
        let whole = column.iter().map(|value| value * value).sum::<f64>().sqrt();
        // Done twice, because rounding leaves a remainder of the first subtraction.
        for _ in 0..2 {
            for earlier in before.iter() {
                let share: f64 = column.iter().zip(earlier).map(|(a, b)| a * b).sum();
                column.iter_mut().zip(earlier).for_each(|(a, b)| *a -= share * b);
            }
        }
        let length = column.iter().map(|value| value * value).sum::<f64>().sqrt();
        let is_new = length > 1e-10 * whole;
        column.iter_mut().for_each(|value| *value = if is_new { *value / length } else { 0.0 });
    }
}
