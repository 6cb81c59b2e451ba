//! Functions of single numbers and rows, written so that the compiler generates vector instructions.

use pulp::{Simd, WithSimd};

use crate::folder::Activation;

/// Number of values that are summed side by side.
const LANES: usize = 16;

/// Runs `work`, compiled for the widest vector instructions of this machine.
fn widest(work: impl FnOnce()) {
    struct Work<F>(F);
    impl<F: FnOnce()> WithSimd for Work<F> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            (self.0)();
        }
    }
    pulp::Arch::new().dispatch(Work(work));
}

/// Applies the activation to every value.
pub(crate) fn activate(activation: Activation, values: &mut [f32]) {
    widest(
        #[inline(always)]
        || match activation {
            Activation::Gelu => values.iter_mut().for_each(|x| *x = gelu(*x)),
            Activation::GeluTanh => values.iter_mut().for_each(|x| *x = gelu_tanh(*x)),
            Activation::Relu => values.iter_mut().for_each(|x| *x = x.max(0.0)),
        },
    );
}

/// Converts each row of `columns` scores into weights that sum to 1.
pub(crate) fn softmax(rows: &mut [f32], columns: usize) {
    widest(
        #[inline(always)]
        || {
            for row in rows.chunks_exact_mut(columns) {
                let most = fold(
                    row,
                    f32::NEG_INFINITY,
                    #[inline(always)]
                    |most, x| if x > most { x } else { most },
                );
                row.iter_mut().for_each(
                    #[inline(always)]
                    |x| *x = exp(*x - most),
                );
                let scale = 1.0
                    / fold(
                        row,
                        0.0,
                        #[inline(always)]
                        |sum, x| sum + x,
                    );
                row.iter_mut().for_each(
                    #[inline(always)]
                    |x| *x *= scale,
                );
            }
        },
    );
}

/// Normalizes each row to mean 0 and variance 1, and then scales and shifts each column.
#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Vec<f32>,
    pub(crate) epsilon: f32,
}

impl Norm {
    /// Adds `add` to `rows` and normalizes the sums.
    pub(crate) fn add_and_apply(&self, rows: &mut [f32], add: &[f32]) {
        let columns = self.scale.len();
        widest(
            #[inline(always)]
            || {
                for (row, add) in rows.chunks_exact_mut(columns).zip(add.chunks_exact(columns)) {
                    row.iter_mut().zip(add).for_each(
                        #[inline(always)]
                        |(x, add)| *x += add,
                    );
                    let mean = fold(
                        row,
                        0.0,
                        #[inline(always)]
                        |sum, x| sum + x,
                    ) / columns as f32;
                    let squares = fold(
                        row,
                        0.0,
                        #[inline(always)]
                        |sum, x| sum + (x - mean) * (x - mean),
                    );
                    let scale = 1.0 / (squares / columns as f32 + self.epsilon).sqrt();
                    for ((x, a), b) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
                        *x = (*x - mean) * scale * a + b;
                    }
                }
            },
        );
    }
}

/// Reduces a row in several lanes, and then the lanes.
#[inline(always)]
fn fold(row: &[f32], start: f32, add: impl Fn(f32, f32) -> f32) -> f32 {
    // `start` is neutral for the functions used here, except that the remainder adds its own values.
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = add(*lane, *x);
        }
    }
    if !rest.is_empty() {
        lanes[0] = rest.iter().fold(lanes[0], |folded, x| add(folded, *x));
    }
    if start == 0.0 { lanes.iter().sum() } else { lanes.iter().fold(start, |folded, x| add(folded, *x)) }
}

/// Returns `e^x` with a relative error below 3e-7, for `x` up to 88. Below -87 the result stays at `e^-87`.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Adding this rounds to an integer, which is then in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let x = if x < -87.0 { -87.0 } else { x };
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let whole = rounded - ROUND;
    // The logarithm of 2 in two parts, so that the difference is exact.
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let series = 1.0 / 720.0;
    let series = series * rest + 1.0 / 120.0;
    let series = series * rest + 1.0 / 24.0;
    let series = series * rest + 1.0 / 6.0;
    let series = series * rest + 0.5;
    let series = series * rest + 1.0;
    let series = series * rest + 1.0;
    series * f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23))
}

/// Returns `x` times the share of the normal distribution below `x`, with an absolute error below 1e-6.
///
/// Source: Abramowitz, Stegun, "Handbook of Mathematical Functions", 7.1.26.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series = 1.061_405_4 * t - 1.453_152;
    let series = series * t + 1.421_413_7;
    let series = series * t - 0.284_496_74;
    let series = (series * t + 0.254_829_6) * t;
    let above = 0.5 * series * exp(-z * z);
    x * if x < 0.0 { above } else { 1.0 - above }
}

/// Approximates [`gelu`] by a hyperbolic tangent, which some models were trained with.
#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    let y = 0.797_884_6 * (x + 0.044_715 * x * x * x);
    // (1 + tanh y) / 2 = 1 / (1 + e^-2y)
    let minus = if y < -43.0 { 86.0 } else { -2.0 * y };
    x / (1.0 + exp(minus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_accurate_to_seven_digits() {
        for i in -8700..=880 {
            let x = i as f32 / 100.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 3e-7 * (1.0 + f64::from(x.abs()) / 8.0), "{x}");
        }
        assert_eq!(exp(-1000.0), exp(-87.0));
    }

    #[test]
    fn activations_follow_their_definitions() {
        // The share of the normal distribution below x, by Simpson's rule.
        let share = |x: f64| {
            let (steps, density) =
                (2000, |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt());
            let h = x / f64::from(steps);
            let weight = |i| {
                if i == 0 || i == steps {
                    1.0
                } else if i % 2 == 1 {
                    4.0
                } else {
                    2.0
                }
            };
            0.5 + h / 3.0 * (0..=steps).map(|i| weight(i) * density(f64::from(i) * h)).sum::<f64>()
        };
        for i in -120..=120 {
            let x = i as f32 / 10.0;
            assert!((f64::from(gelu(x)) - f64::from(x) * share(f64::from(x))).abs() < 2e-6, "{x}");
            let y = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            assert!((gelu_tanh(x) - 0.5 * x * (1.0 + y.tanh())).abs() < 2e-6, "{x}");
        }
    }

    #[test]
    fn softmax_weights_sum_to_one_for_any_scores() {
        for columns in [1, 15, 16, 33] {
            let mut row: Vec<f32> = (0..columns).map(|i| (i % 7) as f32 * 30.0 - 200.0).collect();
            let largest = row.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
            let place = row.iter().position(|x| *x == largest).unwrap();
            softmax(&mut row, columns);
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!(row.iter().all(|x| (0.0..=row[place]).contains(x)));
        }
    }
}
