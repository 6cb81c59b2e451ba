//! Products of matrices, where the right side is packed once and used with many left sides.
//!
//! The right side is stored in panels of 32 columns, the left side in blocks of a few rows, so that the inner
//! loop reads both in order and keeps its sums in registers. Sums are added in the order of the inner
//! dimension, whatever the block, so the product of a row does not depend on its neighbours.
//!
//! Source: Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication", TOMS 2008.

use pulp::{Simd, WithSimd};

/// Columns of a panel.
const WIDTH: usize = 32;

/// One row of a panel.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; WIDTH]);

const ZEROS: Line = Line([0.0; WIDTH]);

/// Rows of a matrix that may be part of a larger row-major matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// Starts with the first value of the first row.
    pub(crate) values: &'a [f32],
    /// Distance from one row to the next, in values.
    pub(crate) stride: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl<'a> Rows<'a> {
    /// Returns all rows of a matrix that is stored without gaps.
    pub(crate) fn dense(values: &'a [f32], columns: usize) -> Self {
        Self { values, stride: columns, rows: values.len() / columns, columns }
    }

    fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.stride..][..self.columns]
    }
}

/// The right side of a product, with a bias for each column.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackedMatrix {
    inner: usize,
    columns: usize,
    /// By panel, then by row.
    lines: Vec<Line>,
    /// By panel.
    bias: Vec<Line>,
}

impl PackedMatrix {
    /// Packs a dense layer. `weights` has a row for each output.
    pub(crate) fn layer(weights: Rows<'_>, bias: &[f32]) -> Self {
        let mut packed = Self::default();
        packed.set_transposed(weights);
        for (column, bias) in bias.iter().enumerate() {
            packed.bias[column / WIDTH].0[column % WIDTH] = *bias;
        }
        packed
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Sets the matrix to the transpose of `rows`, without bias.
    pub(crate) fn set_transposed(&mut self, rows: Rows<'_>) {
        self.clear(rows.columns, rows.rows);
        for (panel, lines) in self.lines.chunks_exact_mut(rows.columns.max(1)).enumerate() {
            for column in 0..WIDTH.min(rows.rows - panel * WIDTH) {
                for (line, value) in lines.iter_mut().zip(rows.row(panel * WIDTH + column)) {
                    line.0[column] = *value;
                }
            }
        }
    }

    /// Sets the matrix to `rows`, without bias.
    pub(crate) fn set(&mut self, rows: Rows<'_>) {
        self.clear(rows.rows, rows.columns);
        for row in 0..rows.rows {
            for (panel, values) in rows.row(row).chunks(WIDTH).enumerate() {
                self.lines[panel * rows.rows + row].0[..values.len()].copy_from_slice(values);
            }
        }
    }

    fn clear(&mut self, inner: usize, columns: usize) {
        let panels = columns.div_ceil(WIDTH);
        (self.inner, self.columns) = (inner, columns);
        self.lines.clear();
        self.lines.resize(panels * inner, ZEROS);
        self.bias.clear();
        self.bias.resize(panels, ZEROS);
    }
}

/// A buffer that products reuse.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    blocks: Vec<f32>,
}

/// Writes `left · right + bias` to `out`, whose rows are `stride` apart.
pub(crate) fn multiply(
    left: Rows<'_>,
    right: &PackedMatrix,
    out: &mut [f32],
    stride: usize,
    scratch: &mut Scratch,
) {
    pulp::Arch::new().dispatch(Multiply { left, right, out, stride, scratch });
}

struct Multiply<'a> {
    left: Rows<'a>,
    right: &'a PackedMatrix,
    out: &'a mut [f32],
    stride: usize,
    scratch: &'a mut Scratch,
}

/// Number of vectors of a block's row that are summed at a time.
const VECTORS: usize = 2;

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { left, right, out, stride, scratch } = self;
        // As many sums as fit into registers beside one row of the panel.
        let (most, step) = if S::REGISTER_COUNT >= 32 { (12, 4) } else { (6, 2) };
        scratch.blocks.clear();
        let mut row = 0;
        while row < left.rows {
            let rows = most.min((left.rows - row).next_multiple_of(step));
            match rows {
                12 => pack::<12>(left, row, &mut scratch.blocks),
                8 => pack::<8>(left, row, &mut scratch.blocks),
                6 => pack::<6>(left, row, &mut scratch.blocks),
                4 => pack::<4>(left, row, &mut scratch.blocks),
                _ => pack::<2>(left, row, &mut scratch.blocks),
            }
            row += rows;
        }
        for panel in 0..right.columns.div_ceil(WIDTH) {
            let lines = &right.lines[panel * right.inner..][..right.inner];
            let width = WIDTH.min(right.columns - panel * WIDTH);
            let mut row = 0;
            while row < left.rows {
                let rows = most.min((left.rows - row).next_multiple_of(step));
                let block = &scratch.blocks[row * right.inner..][..rows * right.inner];
                let place =
                    Place { row, rows: rows.min(left.rows - row), column: panel * WIDTH, width, stride };
                let bias = &right.bias[panel];
                match rows {
                    12 => tile::<S, 12>(simd, block, lines, bias, place, out),
                    8 => tile::<S, 8>(simd, block, lines, bias, place, out),
                    6 => tile::<S, 6>(simd, block, lines, bias, place, out),
                    4 => tile::<S, 4>(simd, block, lines, bias, place, out),
                    _ => tile::<S, 2>(simd, block, lines, bias, place, out),
                }
                row += rows;
            }
        }
    }
}

/// Appends a block of rows, column by column. Missing rows repeat the last one.
#[inline(always)]
fn pack<const ROWS: usize>(left: Rows<'_>, first: usize, blocks: &mut Vec<f32>) {
    let rows: [&[f32]; ROWS] = std::array::from_fn(|row| left.row((first + row).min(left.rows - 1)));
    let start = blocks.len();
    blocks.resize(start + ROWS * left.columns, 0.0);
    let (block, _) = blocks[start..].as_chunks_mut::<ROWS>();
    for (place, column) in block.iter_mut().enumerate() {
        for (value, row) in column.iter_mut().zip(rows) {
            *value = row[place];
        }
    }
}

/// Where the product of a block is written.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    rows: usize,
    column: usize,
    width: usize,
    stride: usize,
}

#[inline(always)]
fn tile<S: Simd, const ROWS: usize>(
    simd: S,
    block: &[f32],
    lines: &[Line],
    bias: &Line,
    place: Place,
    out: &mut [f32],
) {
    let (block, _) = block.as_chunks::<ROWS>();
    for part in 0..WIDTH / (VECTORS * S::F32_LANES) {
        let of_line = |line: &Line| -> [S::f32s; VECTORS] {
            let (vectors, _) = S::as_simd_f32s(&line.0);
            std::array::from_fn(|vector| vectors[part * VECTORS + vector])
        };
        let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
        for (lefts, line) in block.iter().zip(lines) {
            let rights = of_line(line);
            for (sums, left) in sums.iter_mut().zip(lefts) {
                let left = simd.splat_f32s(*left);
                for (sum, right) in sums.iter_mut().zip(rights) {
                    *sum = simd.mul_add_e_f32s(left, right, *sum);
                }
            }
        }
        let first = part * VECTORS * S::F32_LANES;
        if first >= place.width {
            return;
        }
        let width = (place.width - first).min(VECTORS * S::F32_LANES);
        let bias = of_line(bias);
        for (row, sums) in sums.iter().enumerate().take(place.rows) {
            let out = &mut out[(place.row + row) * place.stride + place.column + first..][..width];
            let (whole, rest) = S::as_mut_simd_f32s(out);
            for ((out, sum), bias) in whole.iter_mut().zip(sums).zip(bias) {
                *out = simd.add_f32s(*sum, bias);
            }
            if !rest.is_empty() {
                let last = width / S::F32_LANES;
                simd.partial_store_f32s(rest, simd.add_f32s(sums[last], bias[last]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, mut state: u32) -> Vec<f32> {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from((state >> 16) as u16) / 32_768.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn rows(values: &[f32], stride: usize, rows: usize, columns: usize) -> Rows<'_> {
        Rows { values, stride, rows, columns }
    }

    fn check_product(m: usize, k: usize, n: usize) {
        let (left, right, bias) = (numbers(m * (k + 3), 1), numbers(n * k, 2), numbers(n, 3));
        let (mut out, mut scratch) = (vec![7.0; m * (n + 1)], Scratch::default());
        let packed = PackedMatrix::layer(rows(&right, k, n, k), &bias);
        multiply(rows(&left, k + 3, m, k), &packed, &mut out, n + 1, &mut scratch);
        for i in 0..m {
            for j in 0..n {
                let dot: f32 = (0..k).map(|x| left[i * (k + 3) + x] * right[j * k + x]).sum();
                assert!((out[i * (n + 1) + j] - dot - bias[j]).abs() < 1e-4, "({i}, {j}) of {m} x {k} x {n}");
            }
            assert_eq!(out[i * (n + 1) + n], 7.0, "a value outside the product was written");
        }
    }

    #[test]
    fn products_of_all_shapes_equal_plain_sums() {
        for m in 1..=27 {
            for (k, n) in [(1, 1), (8, 31), (32, 32), (33, 65)] {
                check_product(m, k, n);
            }
        }
    }

    #[test]
    fn a_packed_matrix_equals_its_packed_transpose() {
        let values = numbers(5 * 40, 4);
        let transpose: Vec<f32> = (0..200).map(|i| values[i % 5 * 40 + i / 5]).collect();
        let (mut straight, mut turned) = (PackedMatrix::default(), PackedMatrix::default());
        straight.set(rows(&values, 40, 5, 40));
        turned.set_transposed(rows(&transpose, 5, 40, 5));
        let lines = |packed: &PackedMatrix| packed.lines.iter().map(|line| line.0).collect::<Vec<_>>();
        assert_eq!(lines(&straight), lines(&turned));
    }
}
