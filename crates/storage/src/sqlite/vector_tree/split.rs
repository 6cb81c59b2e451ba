//! Splits the rows of a full node by direction.

use super::node;

/// Rounds of moving rows to the nearer direction. After that, few rows change.
const ROUNDS: usize = 6;
/// Neither part gets less than one in this many rows, even if all rows are equal.
const LEAST_SHARE: usize = 4;

/// The two parts of a node's rows, and the direction of each.
pub(super) struct Split {
    pub(super) stay: Vec<u8>,
    pub(super) go: Vec<u8>,
    pub(super) stay_direction: Vec<f32>,
    pub(super) go_direction: Vec<f32>,
}

/// Splits rows of `row_bytes` bytes in two by spherical 2-means.
///
/// Starts with the row that is farthest from the mean of all rows and the row farthest from that one. So the same rows
/// in the same order give the same parts. Rows keep their order within a part.
pub(super) fn in_two(rows: &[u8], row_bytes: usize) -> Split {
    let vectors: Vec<Vec<f32>> = rows.chunks_exact(row_bytes).map(node::direction).collect();
    let all: Vec<usize> = (0..vectors.len()).collect();
    let farthest = |from: &[f32]| {
        let score = |&row: &usize| dot(&vectors[row], from);
        all.iter().copied().min_by(|one, other| score(one).total_cmp(&score(other))).unwrap_or_default()
    };
    let first = farthest(&mean(&vectors, &all));
    let second = farthest(&vectors[first]);
    let mut directions = [vectors[first].clone(), vectors[second].clone()];
    let mut parts = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let now = apart(&vectors, &directions);
        if now == parts {
            break;
        }
        directions = [mean(&vectors, &now[0]), mean(&vectors, &now[1])];
        parts = now;
    }
    let bytes = |part: &[usize]| -> Vec<u8> {
        part.iter().flat_map(|&row| &rows[row * row_bytes..(row + 1) * row_bytes]).copied().collect()
    };
    let [stay_direction, go_direction] = directions;
    Split { stay: bytes(&parts[0]), go: bytes(&parts[1]), stay_direction, go_direction }
}

/// Returns the common direction of all rows.
pub(super) fn direction_of(rows: &[u8], row_bytes: usize) -> Vec<f32> {
    let vectors: Vec<Vec<f32>> = rows.chunks_exact(row_bytes).map(node::direction).collect();
    mean(&vectors, &(0..vectors.len()).collect::<Vec<usize>>())
}

/// Assigns each row to the nearer direction, ascending. The rows closest to the border go to the part that would
/// otherwise be too small.
fn apart(vectors: &[Vec<f32>], directions: &[Vec<f32>; 2]) -> [Vec<usize>; 2] {
    let leaning = |vector: &Vec<f32>| dot(vector, &directions[0]) - dot(vector, &directions[1]);
    let mut order: Vec<(f32, usize)> =
        vectors.iter().enumerate().map(|(row, vector)| (leaning(vector), row)).collect();
    order.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let least = (vectors.len() / LEAST_SHARE).max(1);
    let border = order.partition_point(|(leaning, _)| *leaning >= 0.0);
    let border = border.clamp(least, (vectors.len() - least).max(least));
    let mut parts = [order[..border].to_vec(), order[border..].to_vec()]
        .map(|part| part.into_iter().map(|(_, row)| row).collect::<Vec<usize>>());
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// Returns the direction of the sum of these rows, with unit length unless they cancel out.
fn mean(vectors: &[Vec<f32>], rows: &[usize]) -> Vec<f32> {
    let mut sum = vec![0.0f32; vectors.first().map_or(0, Vec::len)];
    for &row in rows {
        sum.iter_mut().zip(&vectors[row]).for_each(|(sum, x)| *sum += x);
    }
    crate::vector::to_unit(&sum)
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    crate::vector::cosine(one, other)
}
