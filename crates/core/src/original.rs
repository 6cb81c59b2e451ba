//! Originals: the files that documents were read from, kept to show their pages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ContentHash, DocumentId};

/// Identifies the content of an original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginalStamp {
    /// Hash of its bytes.
    pub hash: ContentHash,
    /// Number of bytes.
    pub bytes: u64,
}

impl OriginalStamp {
    /// Returns the stamp of a file with these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { hash: ContentHash::of(bytes), bytes: bytes.len() as u64 }
    }
}

/// A change of a document's original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetOriginal {
    /// The document.
    pub document: DocumentId,
    /// The bytes of the file; `None` removes the original.
    pub bytes: Option<Arc<Vec<u8>>>,
}
