//! Means with confidence intervals, and significance tests. Random numbers have a fixed seed, so equal values give
//! equal results.

use serde::{Deserialize, Serialize};

/// Number of resamples of a bootstrap interval.
pub const RESAMPLES: usize = 2000;

/// Number of random sign flips of a permutation test that does not try all flips.
pub const FLIPS: usize = 20_000;

/// Maximum number of differing pairs for which all sign flips are tried.
const MOST_EXACT: u32 = 14;

/// Seed of all random numbers.
const SEED: u64 = 0x6772_6170_686c_6f6f;

/// The normal quantile of a two-sided 95% interval.
const Z: f64 = 1.959_963_984_540_054;

/// A mean with its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Returns the mean of `values` with its percentile bootstrap confidence interval; all 0 if empty.
///
/// Source: Efron, Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13.
pub fn estimate(values: &[f64]) -> Estimate {
    let mean = mean(values);
    if values.is_empty() {
        return Estimate { mean, low: mean, high: mean };
    }
    let mut random = Random::new();
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sum: f64 = (0..values.len()).map(|_| values[random.below(values.len())]).sum();
            sum / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    Estimate { mean, low: quantile_sorted(&means, 0.025), high: quantile_sorted(&means, 0.975) }
}

/// Returns the mean; 0 if empty.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the quantile `share` (0 to 1) of `values` with linear interpolation; 0 if empty.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_sorted(&sorted, share)
}

fn quantile_sorted(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = share.clamp(0.0, 1.0) * last as f64;
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64)
}

/// Returns the p-value of the two-sided sign-flip permutation test: the probability of a mean at least as far from 0 as
/// that of `differences` if the signs are random. Tries all flips for up to 14 nonzero differences, otherwise 20,000
/// random flips.
///
/// Source: Smucker, Allan, Carterette, "A comparison of statistical significance tests for information retrieval
/// evaluation", CIKM 2007.
pub fn sign_flip_p(differences: &[f64]) -> f64 {
    let differences: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    if differences.is_empty() {
        return 1.0;
    }
    // Rounding errors from a different order of addition must not make a mean count as smaller.
    let observed = differences.iter().sum::<f64>().abs() - 1e-9;
    let exact = u32::try_from(differences.len()).ok().filter(|count| *count <= MOST_EXACT);
    if let Some(count) = exact {
        let all = 1_u32 << count;
        let as_far =
            (0..all).filter(|flips| flipped(&differences, |at| flips >> at & 1 == 1) >= observed).count();
        return as_far as f64 / f64::from(all);
    }
    let mut random = Random::new();
    let as_far = (0..FLIPS)
        .filter(|_| {
            let mut bits = 0;
            flipped(&differences, |at| {
                if at % 64 == 0 {
                    bits = random.next();
                }
                bits >> (at % 64) & 1 == 1
            }) >= observed
        })
        .count();
    (as_far + 1) as f64 / (FLIPS + 1) as f64
}

fn flipped(differences: &[f64], mut is_flipped: impl FnMut(usize) -> bool) -> f64 {
    let signed =
        differences.iter().enumerate().map(|(at, value)| if is_flipped(at) { -value } else { *value });
    signed.sum::<f64>().abs()
}

/// Adjusts p-values for multiple comparisons and keeps their order. If values below .05 are called significant, the
/// probability that any of these is a false positive is at most 5%.
///
/// Source: Holm, "A simple sequentially rejective multiple test procedure", 1979.
pub fn holm(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|one, other| ps[*one].total_cmp(&ps[*other]).then(one.cmp(other)));
    let mut adjusted = vec![0.0; ps.len()];
    let mut largest: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        largest = largest.max((ps[at] * (ps.len() - rank) as f64).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
}

/// Returns the share `count / all` with its Wilson confidence interval, which is 0 to 1 if `all` is 0.
///
/// Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
pub fn share(count: usize, all: usize) -> Estimate {
    if all == 0 {
        return Estimate { mean: 0.0, low: 0.0, high: 1.0 };
    }
    let (n, p) = (all as f64, count as f64 / all as f64);
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    Estimate { mean: p, low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
}

/// A random number generator with the same sequence in every run.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014 (SplitMix64).
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(SEED)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`; the bias of the multiplication is below 2^-32 for any list in memory.
    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-6, "{got} {expected}");
    }

    #[test]
    fn quantiles_are_linear_between_neighbours() {
        close(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
        close(quantile(&[1.0, 2.0, 3.0, 4.0], 0.9), 3.7);
        close(quantile(&[5.0], 0.99), 5.0);
        close(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn all_sign_flips_of_few_differences_are_counted() {
        // Of the 8 flips, only no flip and all flips are as far from 0.
        close(sign_flip_p(&[1.0, 1.0, 1.0, 0.0]), 0.25);
        // The observed sum is 1 + 1 - 1 = 1; every flip is at least as far.
        close(sign_flip_p(&[1.0, 1.0, -1.0]), 1.0);
        close(sign_flip_p(&[0.0, 0.0]), 1.0);
    }

    #[test]
    fn only_many_differences_of_one_sign_are_significant() {
        assert!(sign_flip_p(&[0.5; 40]) < 0.001);
        let both: Vec<f64> = (0..40).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!(sign_flip_p(&both) > 0.9);
    }

    #[test]
    fn p_values_are_corrected_by_holms_method() {
        for (got, expected) in holm(&[0.01, 0.04, 0.03]).into_iter().zip([0.03, 0.06, 0.06]) {
            close(got, expected);
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        let Estimate { mean, low, high } = share(65, 125);
        close(mean, 0.52);
        assert!((low - 0.4332).abs() < 1e-3 && (high - 0.6056).abs() < 1e-3, "{low} {high}");
        assert_eq!(share(0, 0), Estimate { mean: 0.0, low: 0.0, high: 1.0 });
    }

    #[test]
    fn the_interval_of_equal_values_is_a_point() {
        assert_eq!(estimate(&[0.5; 9]), Estimate { mean: 0.5, low: 0.5, high: 0.5 });
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_mean_and_lies_within_the_values(
            values in proptest::collection::vec(0.0_f64..1.0, 2..40),
        ) {
            let Estimate { mean, low, high } = estimate(&values);
            let least = values.iter().copied().fold(f64::MAX, f64::min);
            let most = values.iter().copied().fold(f64::MIN, f64::max);
            prop_assert!(least - 1e-9 <= low && low <= mean + 1e-9 && mean <= high + 1e-9 && high <= most + 1e-9);
            prop_assert_eq!(estimate(&values), Estimate { mean, low, high });
        }

        #[test]
        fn a_p_value_is_a_share_and_does_not_depend_on_the_direction(values in proptest::collection::vec(-1.0_f64..1.0, 0..13)) {
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            let p = sign_flip_p(&values);
            prop_assert!(p > 0.0 && p <= 1.0);
            prop_assert!((p - sign_flip_p(&turned)).abs() < 1e-9);
        }
    }
}
