//! Splits words into pieces of a vocabulary, the longest first.
//!
//! Source: Schuster, Nakajima, "Japanese and Korean voice search", ICASSP 2012.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

/// A vocabulary of word pieces.
#[derive(Debug)]
pub(super) struct WordPiece {
    /// Pieces that start a word.
    starts: HashMap<Box<str>, u32>,
    /// Pieces that continue a word, without their prefix.
    continues: HashMap<Box<str>, u32>,
    /// Length of the longest piece in bytes.
    longest: usize,
    unknown: u32,
    /// Maximum characters of a word that is split. Longer words are unknown.
    max_chars: usize,
}

#[derive(Deserialize)]
struct Wire {
    vocab: HashMap<String, u32>,
    unk_token: String,
    #[serde(default = "default_prefix")]
    continuing_subword_prefix: String,
    #[serde(default = "default_max_chars")]
    max_input_chars_per_word: usize,
}

fn default_prefix() -> String {
    "##".to_owned()
}

fn default_max_chars() -> usize {
    100
}

impl WordPiece {
    pub(super) fn read(model: Value) -> Result<Self, String> {
        match model["type"].as_str() {
            Some("WordPiece") => {}
            other => {
                return Err(format!(
                    "its tokenizer is of type {}, which is not supported",
                    other.unwrap_or("nothing")
                ));
            }
        }
        let wire: Wire =
            serde_json::from_value(model).map_err(|error| format!("its tokenizer is invalid: {error}"))?;
        let unknown = wire.vocab.get(&wire.unk_token);
        let unknown = *unknown.ok_or_else(|| format!("its tokenizer has no token {}", wire.unk_token))?;
        let longest = wire.vocab.keys().map(String::len).max().unwrap_or(0);
        let (mut starts, mut continues) = (HashMap::new(), HashMap::new());
        for (piece, id) in wire.vocab {
            if let Some(rest) = piece.strip_prefix(&wire.continuing_subword_prefix) {
                continues.insert(rest.into(), id);
            }
            starts.insert(piece.into(), id);
        }
        Ok(Self { starts, continues, longest, unknown, max_chars: wire.max_input_chars_per_word })
    }

    /// Returns the exclusive upper bound of the ids.
    pub(super) fn id_limit(&self) -> usize {
        self.starts.values().map(|id| *id as usize + 1).max().unwrap_or(0)
    }

    /// Returns the number of tokens in brackets: special tokens and unused places.
    pub(super) fn brackets(&self) -> usize {
        self.starts
            .keys()
            .filter(|piece| piece.len() > 2 && piece.starts_with('[') && piece.ends_with(']'))
            .count()
    }

    /// Appends the ids of a word's pieces, or the unknown id if it cannot be split.
    pub(super) fn encode(&self, word: &str, ids: &mut Vec<u32>) {
        let first = ids.len();
        if word.len() > self.max_chars && word.chars().count() > self.max_chars {
            ids.push(self.unknown);
            return;
        }
        let mut rest = word;
        while !rest.is_empty() {
            let pieces = if rest.len() == word.len() { &self.starts } else { &self.continues };
            let mut end = rest.len().min(self.longest);
            let found = loop {
                end = rest.floor_char_boundary(end);
                if end == 0 {
                    break None;
                }
                if let Some(id) = pieces.get(&rest[..end]) {
                    break Some(*id);
                }
                end -= 1;
            };
            let Some(id) = found else {
                ids.truncate(first);
                ids.push(self.unknown);
                return;
            };
            ids.push(id);
            rest = &rest[end..];
        }
    }
}
