//! The stored form of a vector and the score of a pair. Every store rounds and scores with these functions, so that all
//! stores return the same hits.

pub mod question;
pub mod sparse;
pub mod table;

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::search::ScoredId;

/// Scales a vector to unit length; a zero vector stays as it is.
pub fn to_unit(vector: &[f32]) -> Vec<f32> {
    let norm = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if norm == 0.0 {
        return vector.to_vec();
    }
    vector.iter().map(|&x| (f64::from(x) / norm) as f32).collect()
}

/// Largest code of a stored number; its rounded quarter still fits in a byte with its sign.
const MAX_CODE: f32 = 509.0;
/// Added to the coarse part of a code, so that stored bytes are unsigned.
pub const ZERO: u8 = 128;

/// First byte of a vector of which only the nonzero numbers are stored. No other vector begins with it, because a coarse
/// part is at least -127.
const SPARSE: u8 = 0;
/// A vector is stored sparsely if that takes less than four fifths of the whole form, because the whole form is faster to
/// read.
const SPARSE_SHARE: usize = 4;
const WHOLE_SHARE: usize = 5;
/// Unit of the numbers in a sparse vector. Older releases stored them in units of 1.
const COARSE: sparse::Unit = sparse::Unit::Four;

/// Returns the stored form: whole numbers from -509 to 509, proportional to the vector. The first part has one byte per
/// number, its coarse part: a quarter of the number, rounded, plus [`ZERO`]. The second part has two bits per number for
/// the difference to the coarse part.
///
/// A vector has unit length, so the factor need not be stored. The rounding moves a cosine by about 0.0001, far below what
/// separates neighbors, and a scan reads the coarse parts as they are. Half precision would take 8/5 of the space.
///
/// If that is much shorter, as for the hashed words of a name, only the nonzero coarse parts are stored ([`sparse`]). There
/// are few of them and they take few different values, so omitting the rest moves a cosine by less than 0.001.
pub fn encode(vector: &[f32]) -> Vec<u8> {
    of_codes(&codes(vector))
}

/// Returns the codes of a vector, which are whole numbers.
pub fn codes(vector: &[f32]) -> Vec<i16> {
    let largest = vector.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
    let scale = if largest > 0.0 { MAX_CODE / largest } else { 0.0 };
    vector.iter().map(|&x| (x * scale).round() as i16).collect()
}

/// Returns the stored form of a vector with these codes.
pub fn of_codes(codes: &[i16]) -> Vec<u8> {
    let all = codes.len() + codes.len().div_ceil(4);
    let is_short = |sparse: &Vec<u8>| sparse.len() * WHOLE_SHARE < all * SPARSE_SHARE;
    let coarse: Vec<i16> = codes.iter().map(|&code| coarse(code)).collect();
    sparse::write(&coarse, COARSE, vec![SPARSE]).filter(is_short).unwrap_or_else(|| whole(codes))
}

/// Returns the form that contains every number.
pub fn whole(codes: &[i16]) -> Vec<u8> {
    let mut stored: Vec<u8> = codes.iter().map(|&code| coarse_byte(code)).collect();
    stored.extend(codes.chunks(4).map(|four| {
        let bits = four.iter().enumerate().map(|(at, &code)| (fine(code) + 2) << (2 * at));
        bits.fold(0u8, |byte, bits| byte | bits as u8)
    }));
    stored
}

fn coarse(code: i16) -> i16 {
    (code + 2) >> 2
}

fn coarse_byte(code: i16) -> u8 {
    (coarse(code) + i16::from(ZERO)) as u8
}

/// Returns the difference to the coarse part: from -2 to 1.
fn fine(code: i16) -> i16 {
    code - 4 * coarse(code)
}

/// Returns the number of dimensions of a stored vector.
pub fn dimensions(stored: &[u8]) -> usize {
    match stored {
        [SPARSE, packed @ ..] => sparse::length(packed),
        all => all.len() * 4 / 5,
    }
}

/// True if a vector is stored sparsely.
pub fn is_sparse(stored: &[u8]) -> bool {
    stored.first() == Some(&SPARSE)
}

/// A stored vector as the scan reads it.
pub struct Coarse<'a> {
    /// The coarse part of each number, plus [`ZERO`].
    pub codes: Cow<'a, [u8]>,
    /// Value of a coarse part of 1.
    pub scale: f32,
    /// Length of the difference between the vector and its coarse parts.
    pub residual: f32,
}

/// Reads the coarse parts of what [`encode`] wrote.
pub fn read_coarse(stored: &[u8]) -> Coarse<'_> {
    let (mut squares, mut left) = (0i64, 0i64);
    let mut add = |code: i32, fine: i32| {
        squares += i64::from(code * code);
        left += i64::from(fine * fine);
    };
    let codes = if let [SPARSE, packed @ ..] = stored {
        let mut codes = vec![ZERO; sparse::length(packed)];
        for (at, code) in sparse::entries(packed) {
            codes[at] = coarse_byte(code);
            add(i32::from(code), i32::from(fine(code)));
        }
        Cow::Owned(codes)
    } else {
        let (codes, fine) = stored.split_at(dimensions(stored));
        for_each_code(codes, fine, add);
        Cow::Borrowed(codes)
    };
    let unit = proportion(squares);
    Coarse { codes, scale: 4.0 * unit, residual: unit * (left as f32).sqrt() }
}

/// Decodes what [`encode`] wrote into `out`.
pub fn decode_into(stored: &[u8], out: &mut Vec<f32>) {
    let mut squares = 0i64;
    out.clear();
    if let [SPARSE, packed @ ..] = stored {
        out.resize(sparse::length(packed), 0.0);
        for (at, code) in sparse::entries(packed) {
            squares += i64::from(code) * i64::from(code);
            out[at] = f32::from(code);
        }
    } else {
        let (codes, fine) = stored.split_at(dimensions(stored));
        out.reserve(codes.len());
        for_each_code(codes, fine, |code, _| {
            squares += i64::from(code * code);
            out.push(code as f32);
        });
    }
    let unit = proportion(squares);
    out.iter_mut().for_each(|x| *x *= unit);
}

/// Returns the vector that [`encode`] wrote.
pub fn decode(stored: &[u8]) -> Vec<f32> {
    let mut out = Vec::new();
    decode_into(stored, &mut out);
    out
}

/// Returns the value of a code of 1 in a vector of unit length, from the sum of the squared codes.
fn proportion(squares: i64) -> f32 {
    if squares == 0 { 0.0 } else { (1.0 / (squares as f64).sqrt()) as f32 }
}

/// Calls `each` with every code and its difference to the coarse part.
fn for_each_code(codes: &[u8], fine: &[u8], mut each: impl FnMut(i32, i32)) {
    for (four, bits) in codes.chunks(4).zip(fine) {
        for (at, coarse) in four.iter().enumerate() {
            let fine = i32::from(bits >> (2 * at) & 3) - 2;
            each(4 * (i32::from(*coarse) - i32::from(ZERO)) + fine, fine);
        }
    }
}

/// Returns the cosine of a unit query and a stored vector. The additions have a fixed order, so that equal vectors score
/// equally everywhere.
pub fn cosine(unit_query: &[f32], stored: &[f32]) -> f32 {
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

/// Orders hits: highest score first, ties by ascending id.
pub fn compare(x: &ScoredId, y: &ScoredId) -> Ordering {
    y.score.total_cmp(&x.score).then_with(|| x.id.cmp(&y.id))
}

/// Sorts the hits and keeps the first `limit`.
pub fn rank(hits: &mut Vec<ScoredId>, limit: usize) {
    hits.sort_by(compare);
    hits.truncate(limit);
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stored_vector_has_unit_length_and_scores_one_with_itself() {
        let vector = [3.0, 4.0, 0.0, 12.0, 0.0];
        let stored = decode(&encode(&vector));
        assert!((cosine(&to_unit(&vector), &stored) - 1.0).abs() < 1e-5);
        assert_eq!(decode(&encode(&[0.0, 0.0])), [0.0, 0.0]);
    }

    /// Generates vectors that are mostly zeros, and others.
    fn vectors() -> impl Strategy<Value = Vec<f32>> {
        let few = (1..1100usize, vec((0..1100usize, -1.0f32..1.0), 0..40)).prop_map(|(length, entries)| {
            let mut vector = vec![0.0; length];
            entries.into_iter().for_each(|(at, x)| vector[at % length] = x);
            vector
        });
        prop_oneof![vec(-1.0f32..1.0, 1..70), few]
    }

    #[test]
    fn a_vector_with_few_numbers_takes_few_bytes() {
        let mut vector = vec![0.0; 1024];
        [3, 400, 1023].into_iter().for_each(|at| vector[at] = 0.5);
        assert!(encode(&vector).len() < 20);
        assert_eq!(encode(&[1.0; 1024]).len(), 1280);
    }

    /// Returns a vector of 40 words with five weights, each in four places.
    fn words(seed: usize) -> Vec<f32> {
        let mut vector = vec![0.0; 1024];
        for word in 0..40 {
            let weight = [0.7, 1.0, 1.3, 2.3, 3.2][(seed + word) % 5];
            for probe in 0..4 {
                let place = (seed * 7919 + word * 104_729 + probe * 1_299_709) % 1024;
                vector[place] += if (word + probe) % 2 == 0 { weight } else { -weight };
            }
        }
        vector
    }

    #[test]
    fn storing_a_sparse_vector_changes_cosines_by_less_than_a_thousandth() {
        for seed in 1..50 {
            let (one, other) = (to_unit(&words(seed)), to_unit(&words(seed + 1)));
            let stored = encode(&other);
            assert!(is_sparse(&stored));
            let moved = (cosine(&one, &decode(&stored)) - cosine(&one, &other)).abs();
            assert!(moved < 0.001, "{moved}");
        }
    }

    #[test]
    fn a_sparse_vector_of_an_older_release_is_read_exactly() {
        let codes: Vec<i16> = (0..1024).map(|at| if at % 100 == 7 { 509 - at } else { 0 }).collect();
        let stored = sparse::write(&codes, sparse::Unit::One, vec![SPARSE]).expect("short enough");
        let expected: Vec<f32> = codes.iter().map(|&code| f32::from(code)).collect();
        assert_eq!(dimensions(&stored), 1024);
        let difference = cosine(&to_unit(&expected), &decode(&stored)) - 1.0;
        assert!(difference.abs() < 1e-6, "{difference}");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_read_without_a_panic(stored in vec(any::<u8>(), 0..40)) {
            let read = decode(&[&[SPARSE], stored.as_slice()].concat());
            prop_assert!(read.len() <= usize::from(u16::MAX));
        }

        #[test]
        fn a_vector_of_any_length_is_read_back_almost_unchanged(vector in vectors()) {
            let stored = encode(&vector);
            let back = decode(&stored);
            prop_assert_eq!(back.len(), vector.len());
            let unit = to_unit(&vector);
            let largest = unit.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
            // A sparse vector keeps only the coarse parts, which are four times as wide.
            let width = if is_sparse(&stored) { 4.0 } else { 1.0 };
            for (x, y) in unit.iter().zip(&back) {
                prop_assert!((x - y).abs() <= 2.0 * width * largest / MAX_CODE, "{} became {}", x, y);
            }
            prop_assert_eq!(encode(&back), stored, "reading and storing again changes nothing");
        }

        #[test]
        fn the_coarse_parts_differ_from_the_vector_by_the_residual(vector in vectors()) {
            let stored = encode(&vector);
            let coarse = read_coarse(&stored);
            let back = decode(&stored);
            let difference = back.iter().zip(coarse.codes.iter()).map(|(x, &code)| {
                (x - (f32::from(code) - f32::from(ZERO)) * coarse.scale).powi(2)
            });
            prop_assert!((difference.sum::<f32>().sqrt() - coarse.residual).abs() < 1e-5);
        }
    }
}
