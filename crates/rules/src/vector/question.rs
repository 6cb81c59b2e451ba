//! Compares a question's vector with the coarse parts of many rows at once.

use pulp::{Simd, WithSimd};

use super::ZERO;

/// Rows are padded to a multiple of this, so that SIMD code has no remainder.
pub const LANES: usize = 32;
/// Added to every bound for rounding errors of the arithmetic itself.
const SLACK: f32 = 1e-5;

/// A query in numbers of up to 16 bits: much finer than the rows at the same cost, so that its own rounding hardly matters.
pub struct Question {
    codes: Vec<i16>,
    /// The amount that the rows' offset adds to every sum of products.
    offset: i64,
    scale: f32,
    length: f32,
    residual: f32,
}

impl Question {
    /// Builds the question from a vector of unit length.
    pub fn new(unit: &[f32]) -> Self {
        // The largest code whose products with any row sum up within 32 bits.
        let most = (i32::MAX / (i32::from(u8::MAX) * unit.len().max(1) as i32)).clamp(1, i32::from(i16::MAX));
        let largest = unit.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
        let scale = if largest > 0.0 { largest / most as f32 } else { 1.0 };
        let mut codes: Vec<i16> = unit.iter().map(|x| (x / scale).round() as i16).collect();
        let length = unit.iter().map(|x| x * x).sum::<f32>().sqrt();
        let residual =
            unit.iter().zip(&codes).map(|(x, &c)| (x - f32::from(c) * scale).powi(2)).sum::<f32>().sqrt();
        let offset = codes.iter().map(|&c| i64::from(c)).sum::<i64>() * i64::from(ZERO);
        codes.resize(unit.len().next_multiple_of(LANES), 0);
        Self { codes, offset, scale, length, residual }
    }

    /// Returns the maximum difference between a row's score and its estimate.
    #[inline(always)]
    fn error(&self, residual: f32) -> f32 {
        residual * self.length + self.residual * (1.01 + residual) + SLACK
    }

    /// Returns the upper bound of a row's score, from its estimate.
    pub fn upper(&self, estimate: f32, residual: f32) -> f32 {
        // Scores are clamped to this range, so bounds must be too; otherwise ties at its ends would be lost.
        (estimate + self.error(residual)).clamp(-1.0, 1.0)
    }

    /// Computes the bounds of each row's score, from its product.
    pub fn bounds(&self, rows: Products<'_>, uppers: &mut [f32], lowers: &mut [f32]) {
        let bounds = Bounds { question: self, rows, uppers, lowers };
        pulp::Arch::new().dispatch(bounds);
    }

    /// Appends to `out` the product with each row of codes, before it is multiplied by the row's scale.
    pub fn dots(&self, rows: &[&[u8]], out: &mut Vec<f32>) {
        pulp::Arch::new().dispatch(Dots { question: self, rows, out });
    }
}

/// Products of a question with rows: for each row the product, the row's scale and its residual.
#[derive(Clone, Copy)]
pub struct Products<'a> {
    /// The product.
    pub dots: &'a [f32],
    /// Value of a coarse part of 1.
    pub scales: &'a [f32],
    /// Length of the difference between the vector and its coarse parts.
    pub residuals: &'a [f32],
}

// The code below is compiled once for each instruction set, and the widest one that the machine supports is used; all of
// them round alike. Only code that is inlined into `with_simd` is compiled this way.

struct Bounds<'a> {
    question: &'a Question,
    rows: Products<'a>,
    uppers: &'a mut [f32],
    lowers: &'a mut [f32],
}

impl WithSimd for Bounds<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { question, rows: Products { dots, scales, residuals }, uppers, lowers } = self;
        let rows = dots.iter().zip(scales).zip(residuals).zip(uppers).zip(lowers);
        for ((((dot, scale), residual), upper), lower) in rows {
            let (estimate, error) = (dot * scale, question.error(*residual));
            *upper = (estimate + error).clamp(-1.0, 1.0);
            *lower = (estimate - error).clamp(-1.0, 1.0);
        }
    }
}

struct Dots<'a> {
    question: &'a Question,
    rows: &'a [&'a [u8]],
    out: &'a mut Vec<f32>,
}

impl WithSimd for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { question: Question { codes, offset, scale, .. }, rows, out } = self;
        for row in rows {
            // The compiler generates the best SIMD code from narrow unsigned numbers that are widened.
            let products =
                row.iter().zip(codes).map(|(&row, &code)| i32::from(i16::from(row)) * i32::from(code));
            let sum: i32 = products.sum();
            out.push((i64::from(sum) - offset) as f32 * scale);
        }
    }
}
