//! The cache of model results for questions and layers, so that no result is paid for twice.

use serde::{Deserialize, Serialize};

use crate::ContentHash;

/// Maximum entries of each kind in a store; the oldest are removed first.
pub const MAX_CACHE_ENTRIES: usize = 4096;

/// Maximum bytes of values of each kind in a store; the oldest are removed first.
pub const MAX_CACHE_BYTES: u64 = 16 << 20;

/// The kind of a cache entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Keywords that the keyword model found in a question.
    Keywords,
    /// The answer model's answer to a prompt.
    Answer,
    /// The vector of a search text.
    Vector,
    /// The text that a model wrote for a node of a layer.
    Node,
    /// The vector of an indexed text by a new embedder, until it replaces the present one.
    NextVector,
}

impl CacheKind {
    /// All kinds, in order.
    pub const ALL: [Self; 5] = [Self::Keywords, Self::Answer, Self::Vector, Self::Node, Self::NextVector];

    /// True if the oldest entries are removed beyond [`MAX_CACHE_ENTRIES`] and [`MAX_CACHE_BYTES`]. Entries
    /// of other kinds are kept until their kind is cleared.
    pub fn is_bounded(self) -> bool {
        match self {
            Self::Keywords | Self::Answer | Self::Vector | Self::Node => true,
            Self::NextVector => false,
        }
    }

    /// Returns the name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keywords => "keywords",
            Self::Answer => "answer",
            Self::Vector => "vector",
            Self::Node => "node",
            Self::NextVector => "next_vector",
        }
    }
}

/// A cache entry.
///
/// The key is the hash of everything that can change the value, so an entry is never outdated. Entries are
/// neither evidence nor views: they are not part of the canonical state and can be dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// Kind of the entry.
    pub kind: CacheKind,
    /// Hash of everything the value depends on.
    pub key: ContentHash,
    /// The value, encoded by the writer.
    pub value: Vec<u8>,
}

/// Size of the cache for one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSize {
    /// The kind.
    pub kind: CacheKind,
    /// Number of entries.
    pub entries: u64,
    /// Total bytes of their values.
    pub bytes: u64,
}
