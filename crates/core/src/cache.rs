//! What is remembered of models' answers to questions, so that none is paid for twice.

use serde::{Deserialize, Serialize};

use crate::ContentHash;

/// Entries that a store keeps of each kind, at most; the oldest go first.
pub const MAX_CACHE_ENTRIES: usize = 4096;

/// Bytes of values that a store keeps of each kind, at most; the oldest go first.
pub const MAX_CACHE_BYTES: u64 = 16 << 20;

/// What an entry remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// What the keyword model said to a question.
    Keywords,
    /// What the answer model said to a prompt.
    Answer,
    /// The vector of a text that is searched for.
    Vector,
}

impl CacheKind {
    /// All kinds, in order.
    pub const ALL: [Self; 3] = [Self::Keywords, Self::Answer, Self::Vector];

    /// The kind's name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keywords => "keywords",
            Self::Answer => "answer",
            Self::Vector => "vector",
        }
    }
}

/// A remembered answer.
///
/// The key is the hash of everything that can change the value, so an entry is never out of date: what changes makes
/// another key. Entries are no evidence and no view: they are not part of the canonical state and can be dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// What it remembers.
    pub kind: CacheKind,
    /// Hash of all that the value depends on.
    pub key: ContentHash,
    /// The value, in a form of the writer's own.
    pub value: Vec<u8>,
}

/// How much is remembered of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSize {
    /// The kind.
    pub kind: CacheKind,
    /// Entries.
    pub entries: u64,
    /// Bytes of their values.
    pub bytes: u64,
}
