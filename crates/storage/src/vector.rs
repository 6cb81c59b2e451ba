//! The stored form of a vector and the score of a pair; every store rounds and scores with these, so that all of
//! them give the same hits.

use graphloom_core::VectorHit;
use half::f16;
use half::slice::HalfFloatSliceExt;

/// Scales to unit length; a vector of zeros stays as it is.
pub(crate) fn to_unit(vector: &[f32]) -> Vec<f32> {
    let norm = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if norm == 0.0 {
        return vector.to_vec();
    }
    vector.iter().map(|&x| (f64::from(x) / norm) as f32).collect()
}

/// The stored form: unit length, half precision, little-endian.
///
/// Half precision halves the file; the rounding (2^-11 relative per component) moves a cosine by less than 0.0005,
/// far below what separates neighbours.
pub(crate) fn encode(vector: &[f32]) -> Vec<u8> {
    let mut halves = vec![f16::ZERO; vector.len()];
    halves.convert_from_f32_slice(&to_unit(vector));
    halves.into_iter().flat_map(f16::to_le_bytes).collect()
}

/// Reads what [`encode`] wrote into `out`.
pub(crate) fn decode_into(stored: &[u8], out: &mut Vec<f32>) {
    let halves: Vec<f16> =
        stored.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]])).collect();
    out.resize(halves.len(), 0.0);
    halves.convert_to_f32_slice(out);
}

/// Reads what [`encode`] wrote.
pub(crate) fn decode(stored: &[u8]) -> Vec<f32> {
    let mut out = Vec::new();
    decode_into(stored, &mut out);
    out
}

/// Cosine of a unit query and a stored vector. The order of the additions is fixed, so that equal vectors score
/// equal everywhere.
pub(crate) fn cosine(unit_query: &[f32], stored: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0f32; LANES];
    let (query, query_rest) = unit_query.as_chunks::<LANES>();
    let (stored, stored_rest) = stored.as_chunks::<LANES>();
    for (q, s) in query.iter().zip(stored) {
        for lane in 0..LANES {
            sums[lane] += q[lane] * s[lane];
        }
    }
    let rest: f32 = query_rest.iter().zip(stored_rest).map(|(q, s)| q * s).sum();
    (sums.iter().sum::<f32>() + rest).clamp(-1.0, 1.0)
}

/// The order of hits: highest score first, ties by ascending id.
pub(crate) fn rank(hits: &mut Vec<VectorHit>, limit: usize) {
    hits.sort_by(|x, y| y.score.total_cmp(&x.score).then_with(|| x.id.cmp(&y.id)));
    hits.truncate(limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_vector_has_unit_length_and_scores_one_with_itself() {
        let vector = [3.0, 4.0, 0.0, 12.0, 0.0];
        let stored = decode(&encode(&vector));
        assert!((cosine(&to_unit(&vector), &stored) - 1.0).abs() < 5e-4);
        assert_eq!(decode(&encode(&[0.0, 0.0])), [0.0, 0.0]);
    }
}
