//! Encodes vectors as cache values: four little-endian bytes per number.

/// Returns the bytes of a vector.
pub(crate) fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Returns the numbers of an encoded vector.
pub(crate) fn decode(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number))
}
