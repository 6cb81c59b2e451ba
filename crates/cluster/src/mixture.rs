//! Mixtures of Gaussians: expectation-maximization, and the choice of the number of Gaussians.

use crate::priority;

/// A mixture of Gaussians with full covariances.
pub(crate) struct Mixture {
    parts: Vec<Gaussian>,
    /// Bayesian information criterion on the data that it was fitted to; lower is better.
    pub(crate) bic: f64,
}

struct Gaussian {
    /// Logarithm of the share of rows that it explains, minus that of its normalization.
    log_scale: f64,
    mean: Vec<f64>,
    /// Inverse of the Cholesky factor of the covariance, a lower triangle, row by row.
    inverse: Vec<f64>,
}

/// Rounds of k-means for the start, and maximum rounds of expectation-maximization.
const MEANS_ROUNDS: usize = 10;
const MAX_ROUNDS: usize = 100;

/// Fitting ends when the mean log-likelihood of a row rises by less than this; as in scikit-learn.
const LEAST_RISE: f64 = 1e-3;

/// Added to variances, as a share of the mean variance of the data, so that a Gaussian of equal rows stays finite.
const REGULARIZATION: f64 = 1e-4;

/// Returns the mixture with the lowest Bayesian information criterion, with 1 to `max_parts` Gaussians.
///
/// It tries numbers that grow by a quarter each, then all numbers between the neighbors of the best. `seed` determines
/// where the means start. Rows must have equal lengths.
///
/// Source: Schwarz, "Estimating the dimension of a model", 1978; as in RAPTOR (Sarthi et al., 2024), which tries all
/// numbers.
pub(crate) fn best_mixture(rows: &[Vec<f64>], max_parts: usize, seed: u64) -> Mixture {
    let max_parts = max_parts.clamp(1, rows.len().max(1));
    let mut tried: std::collections::BTreeMap<usize, Mixture> = std::collections::BTreeMap::new();
    let mut parts = 1;
    while parts <= max_parts {
        tried.insert(parts, fit(rows, parts, seed));
        parts = (parts + 1).max(parts * 5 / 4);
    }
    let best = |tried: &std::collections::BTreeMap<usize, Mixture>| {
        tried.iter().min_by(|a, b| a.1.bic.total_cmp(&b.1.bic)).map_or(1, |(parts, _)| *parts)
    };
    let coarse = best(&tried);
    let from = tried.range(..coarse).next_back().map_or(1, |(parts, _)| parts + 1);
    let to = tried.range(coarse + 1..).next().map_or(coarse + 1, |(parts, _)| *parts);
    for parts in from..to {
        tried.entry(parts).or_insert_with(|| fit(rows, parts, seed));
    }
    let found = best(&tried);
    tried.remove(&found).unwrap_or_else(|| fit(rows, 1, seed))
}

fn fit(rows: &[Vec<f64>], parts: usize, seed: u64) -> Mixture {
    let dimensions = rows.first().map_or(0, Vec::len);
    let floor = REGULARIZATION * mean_variance(rows).max(f64::MIN_POSITIVE.sqrt());
    let mut shares: Vec<Vec<f64>> = start(rows, parts, seed)
        .into_iter()
        .map(|part| (0..parts).map(|other| f64::from(u8::from(part == other))).collect())
        .collect();
    let mut mixture = Mixture { parts: maximize(rows, &shares, parts, floor), bic: f64::INFINITY };
    let mut before = f64::NEG_INFINITY;
    let mut likelihood = before;
    for _ in 0..MAX_ROUNDS {
        likelihood = 0.0;
        for (row, shares) in rows.iter().zip(&mut shares) {
            likelihood += mixture.shares_into(row, shares);
        }
        if likelihood - before < LEAST_RISE * rows.len() as f64 {
            break;
        }
        before = likelihood;
        mixture.parts = maximize(rows, &shares, parts, floor);
    }
    let free = (parts - 1) + parts * dimensions + parts * dimensions * (dimensions + 1) / 2;
    mixture.bic = free as f64 * (rows.len().max(1) as f64).ln() - 2.0 * likelihood;
    mixture
}

impl Mixture {
    /// Returns the probability with which a row belongs to each Gaussian.
    pub(crate) fn shares(&self, row: &[f64]) -> Vec<f64> {
        let mut shares = vec![0.0; self.parts.len()];
        self.shares_into(row, &mut shares);
        shares
    }

    /// Does the same in place, and returns the row's log-likelihood.
    fn shares_into(&self, row: &[f64], shares: &mut [f64]) -> f64 {
        for (share, part) in shares.iter_mut().zip(&self.parts) {
            *share = part.log_density(row);
        }
        let largest = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        shares.iter_mut().for_each(|share| *share = (*share - largest).exp());
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        largest + sum.ln()
    }
}

impl Gaussian {
    fn log_density(&self, row: &[f64]) -> f64 {
        let mut square = 0.0;
        let mut from = 0;
        for line in 0..row.len() {
            let entries = &self.inverse[from..=from + line];
            let value: f64 = entries
                .iter()
                .zip(row.iter().zip(&self.mean))
                .map(|(entry, (value, mean))| entry * (value - mean))
                .sum();
            square += value * value;
            from += line + 1;
        }
        self.log_scale - 0.5 * square
    }
}

/// Returns the Gaussians that explain the rows best, given the share of each row in each Gaussian.
fn maximize(rows: &[Vec<f64>], shares: &[Vec<f64>], parts: usize, floor: f64) -> Vec<Gaussian> {
    let dimensions = rows.first().map_or(0, Vec::len);
    (0..parts)
        .map(|part| {
            let weight: f64 = shares.iter().map(|shares| shares[part]).sum::<f64>() + 1e-12;
            let mut mean = vec![0.0; dimensions];
            for (row, shares) in rows.iter().zip(shares) {
                mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += shares[part] * value);
            }
            mean.iter_mut().for_each(|mean| *mean /= weight);
            // The lower triangle, row by row.
            let mut covariance = vec![0.0; dimensions * (dimensions + 1) / 2];
            for (row, shares) in rows.iter().zip(shares) {
                if shares[part] < 1e-9 {
                    continue;
                }
                let mut entry = covariance.iter_mut();
                for line in 0..dimensions {
                    let scaled = shares[part] * (row[line] - mean[line]);
                    for column in 0..=line {
                        if let Some(entry) = entry.next() {
                            *entry += scaled * (row[column] - mean[column]);
                        }
                    }
                }
            }
            covariance.iter_mut().for_each(|entry| *entry /= weight);
            (0..dimensions).for_each(|line| covariance[line * (line + 3) / 2] += floor);
            let (inverse, log_determinant) = inverse_root(&covariance, dimensions, floor);
            let share = weight / rows.len().max(1) as f64;
            let normalization =
                0.5 * dimensions as f64 * (2.0 * std::f64::consts::PI).ln() + 0.5 * log_determinant;
            Gaussian { log_scale: share.ln() - normalization, mean, inverse }
        })
        .collect()
}

/// Returns the inverse of the Cholesky factor of a covariance, both as lower triangles, and the logarithm of its
/// determinant.
fn inverse_root(covariance: &[f64], dimensions: usize, floor: f64) -> (Vec<f64>, f64) {
    let at = |line: usize, column: usize| line * (line + 1) / 2 + column;
    let mut root = vec![0.0; covariance.len()];
    let mut log_determinant = 0.0;
    for line in 0..dimensions {
        for column in 0..=line {
            let known: f64 = (0..column).map(|k| root[at(line, k)] * root[at(column, k)]).sum();
            let rest = covariance[at(line, column)] - known;
            root[at(line, column)] = if line == column {
                let square = rest.max(floor);
                log_determinant += square.ln();
                square.sqrt()
            } else {
                rest / root[at(column, column)]
            };
        }
    }
    let mut inverse = vec![0.0; covariance.len()];
    for column in 0..dimensions {
        for line in column..dimensions {
            let known: f64 = (column..line).map(|k| root[at(line, k)] * inverse[at(k, column)]).sum();
            let unit = f64::from(u8::from(line == column));
            inverse[at(line, column)] = (unit - known) / root[at(line, line)];
        }
    }
    (inverse, log_determinant)
}

/// Returns the part of each row by k-means, with initial means from k-means++.
fn start(rows: &[Vec<f64>], parts: usize, seed: u64) -> Vec<usize> {
    let mut means: Vec<Vec<f64>> = Vec::with_capacity(parts);
    let mut nearest = vec![f64::INFINITY; rows.len()];
    for part in 0..parts.min(rows.len()) {
        let total: f64 = nearest.iter().filter(|distance| distance.is_finite()).sum();
        let dice = priority::mix(seed ^ part as u64) as f64 / u64::MAX as f64;
        let chosen = if part == 0 {
            (dice * (rows.len() - 1) as f64) as usize
        } else {
            let mut left = dice * total;
            let found = nearest.iter().position(|distance| {
                left -= distance;
                left <= 0.0 && *distance > 0.0
            });
            found.unwrap_or(part)
        };
        for (row, nearest) in rows.iter().zip(&mut nearest) {
            *nearest = nearest.min(distance(row, &rows[chosen]));
        }
        means.push(rows[chosen].clone());
    }
    let mut labels = vec![0; rows.len()];
    for _ in 0..MEANS_ROUNDS {
        for (row, label) in rows.iter().zip(&mut labels) {
            let of = |part: &usize| distance(row, &means[*part]);
            *label = (0..means.len()).min_by(|a, b| of(a).total_cmp(&of(b))).unwrap_or(0);
        }
        for (part, mean) in means.iter_mut().enumerate() {
            let members = rows.iter().zip(&labels).filter(|(_, label)| **label == part).map(|(row, _)| row);
            let count = members.clone().count();
            if count > 0 {
                mean.fill(0.0);
                members.for_each(|row| mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value));
                mean.iter_mut().for_each(|mean| *mean /= count as f64);
            }
        }
    }
    labels
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn mean_variance(rows: &[Vec<f64>]) -> f64 {
    let dimensions = rows.first().map_or(0, Vec::len);
    let count = (rows.len() * dimensions).max(1) as f64;
    let mut mean = vec![0.0; dimensions];
    rows.iter().for_each(|row| mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value));
    mean.iter_mut().for_each(|mean| *mean /= rows.len().max(1) as f64);
    rows.iter().map(|row| distance(row, &mean)).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `count` rows around each center, evenly spread.
    fn around(centers: &[(f64, f64)], count: u64) -> Vec<Vec<f64>> {
        let noise = |row: u64, axis: u64| priority::mix(row * 2 + axis) as f64 / u64::MAX as f64 - 0.5;
        (0..count * centers.len() as u64)
            .map(|row| {
                let (x, y) = centers[row as usize % centers.len()];
                vec![x + noise(row, 0), y + noise(row, 1)]
            })
            .collect()
    }

    #[test]
    fn the_number_of_gaussians_equals_the_number_of_groups() {
        for centers in [vec![(0.0, 0.0)], vec![(0.0, 0.0), (9.0, 0.0), (0.0, 9.0), (9.0, 9.0), (20.0, 3.0)]] {
            let rows = around(&centers, 60);
            let mixture = best_mixture(&rows, 20, 1);
            assert_eq!(mixture.parts.len(), centers.len());
        }
    }

    #[test]
    fn a_row_between_two_groups_belongs_to_both_and_a_row_inside_belongs_to_one() {
        let rows = around(&[(0.0, 0.0), (3.0, 0.0)], 100);
        let mixture = fit(&rows, 2, 1);
        assert!(mixture.shares(&[0.0, 0.0]).iter().any(|share| *share > 0.99));
        let between: Vec<f64> = (0..=300).map(|step| step_share(&mixture, f64::from(step) / 100.0)).collect();
        assert!(between.iter().any(|share| (0.1..=0.9).contains(share)));
    }

    fn step_share(mixture: &Mixture, x: f64) -> f64 {
        mixture.shares(&[x, 0.0])[0]
    }

    #[test]
    fn equal_rows_are_one_group() {
        let rows = vec![vec![1.0, 2.0, 3.0]; 40];
        let mixture = best_mixture(&rows, 10, 1);
        assert_eq!(mixture.parts.len(), 1);
        assert_eq!(mixture.shares(&rows[0]), [1.0]);
    }
}
