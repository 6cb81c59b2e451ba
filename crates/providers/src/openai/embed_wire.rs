//! Wire format of embeddings: base64 of little-endian floats, or lists of numbers.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Debug, Serialize)]
pub(super) struct EmbeddingBody<'a> {
    pub(super) model: &'a str,
    pub(super) input: &'a [String],
    pub(super) encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dimensions: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EmbeddingAnswer {
    #[serde(default)]
    pub(super) data: Vec<EmbeddingItem>,
    pub(super) usage: Option<EmbeddingUsage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EmbeddingItem {
    pub(super) index: Option<usize>,
    pub(super) embedding: Floats,
}

#[derive(Debug, Deserialize)]
pub(super) struct EmbeddingUsage {
    #[serde(default)]
    pub(super) prompt_tokens: u64,
}

/// A vector, parsed directly from either form.
#[derive(Debug, PartialEq)]
pub(super) struct Floats(pub(super) Vec<f32>);

impl<'de> Deserialize<'de> for Floats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FloatsVisitor)
    }
}

struct FloatsVisitor;

impl<'de> Visitor<'de> for FloatsVisitor {
    type Value = Floats;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a vector in base64 or as a list of numbers")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Floats, E> {
        decode(text).map(Floats).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Floats, A::Error> {
        let mut floats = Vec::with_capacity(list.size_hint().unwrap_or(0).min(MAX_RESERVED));
        while let Some(float) = list.next_element::<f32>()? {
            floats.push(float);
        }
        Ok(Floats(floats))
    }
}

/// Maximum number of floats to reserve memory for in advance.
const MAX_RESERVED: usize = 8192;

/// Base64 characters per step. 4096 characters are 3072 bytes, which are 768 floats, so no float spans two steps.
const PIECE: usize = 4096;

fn decode(text: &str) -> Result<Vec<f32>, String> {
    let mut floats = Vec::with_capacity(text.len() / 16 * 3 + 3);
    let mut bytes = [0u8; PIECE / 4 * 3];
    for piece in text.as_bytes().chunks(PIECE) {
        let len = STANDARD.decode_slice(piece, &mut bytes).map_err(|error| error.to_string())?;
        let (words, rest) = bytes[..len].as_chunks::<4>();
        if !rest.is_empty() {
            return Err("the base64 data is not a whole number of floats".to_owned());
        }
        floats.extend(words.iter().map(|word| f32::from_le_bytes(*word)));
    }
    Ok(floats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_give_the_same_floats() {
        let floats: Vec<f32> = (0u16..2000).map(|n| f32::from(n) / 7.0 - 3.0).collect();
        let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
        let encoded: Floats = serde_json::from_str(&format!("{:?}", STANDARD.encode(bytes))).unwrap();
        let listed: Floats = serde_json::from_str(&serde_json::to_string(&floats).unwrap()).unwrap();
        assert_eq!(encoded.0, floats);
        assert_eq!(listed.0, floats);
    }

    #[test]
    fn broken_base64_is_refused() {
        for text in ["\"AAA\"", "\"AAAAAAA=\"", "\"%%%%\"", "7"] {
            assert!(serde_json::from_str::<Floats>(text).is_err(), "{text}");
        }
    }
}
