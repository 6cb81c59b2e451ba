//! Vectors of texts from a table of token vectors, distilled from an encoder. No network runs when a text is embedded.
//!
//! Each token of the vocabulary is encoded alone. Principal components shorten the vectors and are scaled
//! towards equal variance, so that what all tokens share counts little. A token is weighted by its rank in
//! the vocabulary, which is ordered by frequency: rare tokens say more about a text.
//!
//! Sources: Tulkens, van Dongen, "Model2Vec", 2024; Arora, Liang, Ma, "A Simple but Tough-to-Beat Baseline for
//! Sentence Embeddings", ICLR 2017; Raunak, Gupta, Metze, "Effective Dimensionality Reduction for Word Embeddings",
//! RepL4NLP 2019.

use std::fs::{self, File};
use std::path::Path;

use crate::folder::{FolderError, Settings};
use crate::matrix::{PackedMatrix, Rows, Scratch, multiply};
use crate::model::{Model, normalize};
use crate::tokenizer::Tokenizer;
use crate::weights::{Tensors, Weights, write_tensor};

/// Name of the table's file, beside the weights.
pub const TABLE_FILE: &str = "static.safetensors";

/// Name of the table in its file.
const TENSOR: &str = "tokens";

// Embedders with a table are named after the weights only, so tables made with other constants would need another name.

/// Maximum length of the vectors.
const MAX_DIMENSIONS: usize = 256;

/// How far the variances of the components are equalized: 0 leaves them, 1 makes them equal.
const WHITENING: f32 = 0.75;

/// Exponent of the logarithm of the rank in the weight of a token.
const RANK_EXPONENT: i32 = 3;

/// Saturation of repetition, as in BM25.
const SATURATION: f32 = 1.2;

/// Number of tokens whose vectors are computed at a time.
const BATCH: usize = 2048;

/// A table of token vectors.
#[derive(Debug)]
pub struct TokenTable {
    tokenizer: Tokenizer,
    dimensions: usize,
    /// The weighted vector of each token.
    vectors: Vec<f32>,
}

/// Returns the length of the vectors in a table distilled from a model.
pub fn table_dimensions(settings: &Settings) -> usize {
    settings.dimensions().min(settings.bert.vocab_size).min(MAX_DIMENSIONS)
}

/// Distils the table of the model in `folder` into its [`TABLE_FILE`]. Blocks for some seconds and uses `threads` threads.
pub fn distil(folder: &Path, settings: &Settings, threads: usize) -> Result<(), FolderError> {
    let model = Model::read(folder, settings)?;
    let (tokens, size, to) = (settings.bert.vocab_size, settings.dimensions(), table_dimensions(settings));
    let mut vectors = Vec::with_capacity(tokens * size);
    for first in (0..tokens).step_by(BATCH) {
        let texts: Vec<Vec<Vec<u32>>> =
            (first..tokens.min(first + BATCH)).map(|id| vec![model.tokenizer().mark(id as u32)]).collect();
        vectors.extend(model.embed(&texts, threads).into_iter().flatten());
    }
    let mut table = components(&mut vectors, size, to);
    for (vector, weight) in table.chunks_exact_mut(to).zip(model.tokenizer().ranks(tokens)) {
        normalize(vector);
        let weight = (weight as f32).ln().powi(RANK_EXPONENT);
        vector.iter_mut().for_each(|x| *x *= weight);
    }
    let file = folder.join(TABLE_FILE);
    let write = || -> std::io::Result<()> {
        let partial = folder.join(format!("{TABLE_FILE}.partial"));
        write_tensor(&mut File::create(&partial)?, TENSOR, &[tokens, to], &table)?;
        fs::rename(&partial, &file)
    };
    write().map_err(|source| FolderError::Write { file: file.clone(), source })
}

impl TokenTable {
    /// Loads the table and the tokenizer in `folder`.
    pub fn read(folder: &Path, settings: &Settings) -> Result<Self, FolderError> {
        let unusable = |what: String| FolderError::Unusable { folder: folder.to_owned(), what };
        let tokenizer = settings.tokenizer(folder)?;
        let file = folder.join(TABLE_FILE);
        let dimensions = table_dimensions(settings);
        let shape = [settings.bert.vocab_size, dimensions];
        let opened = File::open(&file).map_err(|source| FolderError::Read { file, source })?;
        let vectors =
            Weights::open(opened).and_then(|mut weights| weights.read(TENSOR, &shape)).map_err(unusable)?;
        Ok(Self { tokenizer, dimensions, vectors })
    }

    /// Returns the unit-length vector of a text; a zero vector if it has no token.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut ids = self.tokenizer.plain(text);
        ids.sort_unstable();
        let mut vector = vec![0.0; self.dimensions];
        for same in ids.chunk_by(|a, b| a == b) {
            let count = same.len() as f32;
            let weight = count * (1.0 + SATURATION) / (count + SATURATION);
            let row = &self.vectors[same[0] as usize * self.dimensions..][..self.dimensions];
            vector.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
        }
        normalize(&mut vector);
        vector
    }
}

/// Returns the first `to` principal components of each row of `values`, partly whitened. Centers `values`.
fn components(values: &mut [f32], size: usize, to: usize) -> Vec<f32> {
    let rows = values.len() / size;
    let mut mean = vec![0.0f64; size];
    for row in values.chunks_exact(size) {
        mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x) / rows as f64);
    }
    for row in values.chunks_exact_mut(size) {
        row.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= *mean as f32);
    }
    let turned: Vec<f32> = (0..values.len()).map(|i| values[i % rows * size + i / rows]).collect();
    let (mut packed, mut scratch, mut products) =
        (PackedMatrix::default(), Scratch::default(), vec![0.0; size * size]);
    packed.set(Rows::dense(values, size));
    multiply(Rows::dense(&turned, rows), &packed, &mut products, size, &mut scratch);
    let covariance = products.iter().map(|x| f64::from(*x) / rows as f64).collect();
    let (variances, axes) = eigenvectors(covariance, size);
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|a, b| variances[*b].total_cmp(&variances[*a]).then(a.cmp(b)));
    let mut chosen = Vec::with_capacity(to * size);
    for axis in &order[..to] {
        let deviation = (variances[*axis].max(1e-12) as f32).sqrt();
        let column: Vec<f32> = (0..size).map(|row| axes[row * size + axis] as f32).collect();
        // An eigenvector's sign is arbitrary.
        let sign = if column.iter().sum::<f32>() < 0.0 { -1.0 } else { 1.0 };
        chosen.extend(column.iter().map(|x| x * sign / deviation.powf(WHITENING)));
    }
    packed.set_transposed(Rows::dense(&chosen, size));
    let mut out = vec![0.0; rows * to];
    multiply(Rows::dense(values, size), &packed, &mut out, to, &mut scratch);
    out
}

/// Returns eigenvalues and eigenvectors (in columns) of a symmetric matrix, by Jacobi rotations.
fn eigenvectors(mut matrix: Vec<f64>, size: usize) -> (Vec<f64>, Vec<f64>) {
    /// Enough for matrices with some thousand rows; convergence is quadratic.
    const MAX_SWEEPS: usize = 30;
    let mut axes = vec![0.0; size * size];
    (0..size).for_each(|i| axes[i * size + i] = 1.0);
    let trace: f64 = (0..size).map(|i| matrix[i * size + i].abs()).sum();
    for _ in 0..MAX_SWEEPS {
        let mut rest = 0.0;
        for p in 0..size {
            for q in p + 1..size {
                let x = matrix[p * size + q];
                rest += x * x;
                if x.abs() <= 1e-15 * trace {
                    continue;
                }
                let theta = (matrix[q * size + q] - matrix[p * size + p]) / (2.0 * x);
                let tan = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let cos = 1.0 / (tan * tan + 1.0).sqrt();
                let sin = tan * cos;
                // Rows of the matrix equal its columns, and rows of `axes` are eigenvectors.
                for i in 0..size {
                    let (a, b) = (matrix[i * size + p], matrix[i * size + q]);
                    matrix[i * size + p] = cos * a - sin * b;
                    matrix[i * size + q] = sin * a + cos * b;
                }
                for values in [&mut matrix, &mut axes] {
                    let (upper, lower) = values.split_at_mut(q * size);
                    for (a, b) in upper[p * size..][..size].iter_mut().zip(&mut lower[..size]) {
                        (*a, *b) = (cos * *a - sin * *b, sin * *a + cos * *b);
                    }
                }
            }
        }
        if rest.sqrt() <= 1e-11 * trace {
            break;
        }
    }
    let columns = (0..size * size).map(|i| axes[i % size * size + i / size]).collect();
    ((0..size).map(|i| matrix[i * size + i]).collect(), columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::small_folder;

    #[test]
    fn eigenvectors_rebuild_their_matrix() {
        let size = 9;
        let entry = |i: usize, j: usize| ((i * j + i + j) % 7) as f64 - 3.0;
        let matrix: Vec<f64> = (0..size * size).map(|i| entry(i / size, i % size)).collect();
        let (values, axes) = eigenvectors(matrix.clone(), size);
        for i in 0..size {
            for j in 0..size {
                let sum: f64 = (0..size).map(|k| axes[i * size + k] * values[k] * axes[j * size + k]).sum();
                assert!((sum - matrix[i * size + j]).abs() < 1e-9, "({i}, {j})");
            }
        }
    }

    #[test]
    fn components_are_centered_uncorrelated_and_ordered_by_variance() {
        let mut values: Vec<f32> =
            (0..60).map(|i| ((i * i + 3 * i) % 17) as f32 * (i % 3 + 1) as f32).collect();
        let out = components(&mut values, 3, 2);
        let dot = |a: usize, b: usize| out.chunks(2).map(|row| f64::from(row[a] * row[b])).sum::<f64>();
        assert!(out.chunks(2).map(|row| row[0]).sum::<f32>().abs() < 1e-2);
        assert!(dot(0, 1).abs() < 1e-3 * dot(0, 0) && dot(0, 0) > dot(1, 1));
    }

    #[test]
    fn a_distilled_table_gives_unit_vectors_that_follow_the_tokens() {
        let folder = small_folder();
        let settings = Settings::read(folder.path()).unwrap();
        let missing = TokenTable::read(folder.path(), &settings).unwrap_err();
        assert!(missing.to_string().ends_with(TABLE_FILE), "{missing}");
        distil(folder.path(), &settings, 2).unwrap();
        let table = TokenTable::read(folder.path(), &settings).unwrap();
        let vector = |text: &str| table.vector(text);
        let cosine = |a: &str, b: &str| vector(a).iter().zip(vector(b)).map(|(x, y)| x * y).sum::<f32>();
        assert_eq!(vector("food").len(), table_dimensions(&settings));
        assert!((cosine("a man", "a man") - 1.0).abs() < 1e-5);
        assert!((cosine("Man, a", "a man ,") - 1.0).abs() < 1e-5, "the order of tokens does not matter");
        assert!(cosine("man eating food", "food") > cosine("man eating", "food"));
        assert_eq!(vector(""), vec![0.0; table_dimensions(&settings)]);
    }
}
