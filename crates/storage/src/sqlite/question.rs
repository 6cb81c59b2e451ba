//! A question's vector against many coarse parts at once.

use crate::vector::ZERO;

/// Rows are padded to a multiple of this.
pub(super) const LANES: usize = 32;
/// Added to every bound for the rounding of the arithmetic itself.
const SLACK: f32 = 1e-5;

/// A query in numbers of up to 16 bits: much finer than the rows at the same cost, so that its own rounding hardly
/// matters.
pub(super) struct Question {
    codes: Vec<i16>,
    /// What the rows' offset adds to every product sum.
    offset: i64,
    scale: f32,
    length: f32,
    residual: f32,
}

impl Question {
    pub(super) fn new(unit: &[f32]) -> Self {
        // The largest code whose products with any row add up inside 32 bits.
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

    /// How far a row's score may be from its estimate.
    #[inline(always)]
    fn error(&self, residual: f32) -> f32 {
        residual * self.length + self.residual * (1.01 + residual) + SLACK
    }

    /// The upper bound of a row's score, from its estimate.
    pub(super) fn upper(&self, estimate: f32, residual: f32) -> f32 {
        // Scores are cut to this range, so bounds are too: else ties at its ends would be lost.
        (estimate + self.error(residual)).clamp(-1.0, 1.0)
    }

    /// Bounds of each row's score, from its product.
    #[inline(always)]
    pub(super) fn bounds(
        &self,
        dots: &[f32],
        scales: &[f32],
        residuals: &[f32],
        uppers: &mut [f32],
        lowers: &mut [f32],
    ) {
        let rows = dots.iter().zip(scales).zip(residuals).zip(uppers).zip(lowers);
        for ((((dot, scale), residual), upper), lower) in rows {
            let (estimate, error) = (dot * scale, self.error(*residual));
            *upper = (estimate + error).clamp(-1.0, 1.0);
            *lower = (estimate - error).clamp(-1.0, 1.0);
        }
    }

    /// The product with each row of codes, before the row's scale. Written so that the compiler makes vector code of it:
    /// rows widen without a sign, and whole blocks leave no rest.
    #[inline(always)]
    pub(super) fn dots<'a>(&self, rows: impl Iterator<Item = &'a [u8]>, out: &mut Vec<f32>) {
        let (codes, _) = self.codes.as_chunks::<LANES>();
        for row in rows {
            let (row, _) = row.as_chunks::<LANES>();
            let mut sum = 0i32;
            for (row, codes) in row.iter().zip(codes) {
                let wide: [i16; LANES] = std::array::from_fn(|lane| i16::from(row[lane]));
                for lane in 0..LANES {
                    sum += i32::from(wide[lane]) * i32::from(codes[lane]);
                }
            }
            out.push((i64::from(sum) - self.offset) as f32 * self.scale);
        }
    }
}
