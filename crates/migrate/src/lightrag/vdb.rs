//! LightRAG's vector files: rows with the embedded text, and the vectors as one matrix.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::text_of;
use crate::Vectors;

/// Adds the vectors of a file. Skips rows without a text, which early releases write, and a matrix whose size does not match its
/// rows.
pub(super) fn add(rows: &Map<String, Value>, vectors: &mut Vectors) {
    let dimensions = rows.get("embedding_dim").and_then(Value::as_u64).unwrap_or(0) as usize;
    let data = rows.get("data").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let matrix = rows.get("matrix").and_then(Value::as_str).unwrap_or_default();
    let matrix = STANDARD.decode(matrix).unwrap_or_default();
    if dimensions == 0 || matrix.len() != data.len() * dimensions * size_of::<f32>() {
        return;
    }
    for (row, bytes) in data.iter().zip(matrix.chunks_exact(dimensions * size_of::<f32>())) {
        let text = text_of(row, "content");
        if !text.is_empty() {
            let value = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            vectors.add(&text, bytes.chunks_exact(size_of::<f32>()).map(value).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_matrix_gives_each_row_its_vector_and_a_broken_matrix_gives_none() {
        // The vectors (3, 4) and (0, 2) as 32-bit floats.
        let rows = |matrix: &str| {
            json!({
                "embedding_dim": 2,
                "data": [{ "content": "Ada met Bo in the old club." }, { "content": "Cy." }],
                "matrix": matrix,
            })
        };
        let read = |rows: Value| {
            let mut vectors = Vectors::default();
            add(rows.as_object().expect("an object"), &mut vectors);
            vectors.len()
        };
        assert_eq!(read(rows("AABAQAAAgEAAAAAAAAAAQA==")), 2);
        assert_eq!(read(rows("AABAQAAAgEA=")), 0);
        assert_eq!(read(rows("!")), 0);
    }
}
