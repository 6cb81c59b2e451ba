//! Vectors as values of the cache: four little-endian bytes for each number.

/// The bytes of a vector.
pub(crate) fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The numbers of a vector.
pub(crate) fn decode(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number))
}
