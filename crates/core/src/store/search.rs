//! The part of a snapshot that searches: vectors and full text.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::{ContentHash, FilteredIds, ItemKey, ItemKind, LayerName, Revision};

/// Vectors and full text.
#[async_trait]
pub trait Search: Send + Sync {
    /// Returns the workspace's embedding space; `None` before the first vector.
    async fn embedding(&self) -> Result<Option<EmbeddingSpec>, StoreError>;

    /// Returns stored vectors: unit length, rounded to the store's precision.
    async fn vectors(&self, items: &[ItemKey]) -> Result<Vec<Option<Vec<f32>>>, StoreError>;

    /// Returns the hits of each request: highest score first, ties by ascending id, at most as many as the request's limit. A
    /// store may answer requests in parallel, and may answer requests that differ only in the vector in one pass.
    async fn search(&self, requests: &[SearchRequest]) -> Result<Vec<Vec<Hit>>, StoreError>;

    /// Returns the rebuildable indexes and the revision to which each is up to date.
    async fn projections(&self) -> Result<Vec<Projection>, StoreError>;
}

/// The embedding space of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddingSpec {
    /// The embedder's name including prefixes.
    pub model: String,
    /// Length of its vectors.
    pub dimensions: u32,
}

/// The identity of a vector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VectorEntry {
    /// The embedded item.
    pub item: ItemKey,
    /// Hash of the embedded text, so that unchanged text is not embedded again.
    pub inputs_hash: ContentHash,
}

/// A search for items of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRequest {
    /// Kind of the items.
    pub kind: ItemKind,
    /// The query: a vector or words.
    pub by: By,
    /// Maximum hits.
    pub limit: usize,
    /// Restricts the search to these items; `None` for all. Excluded items do not count towards `limit`, but
    /// they count in word frequencies.
    pub filtered: Option<Arc<FilteredIds>>,
    /// Restricts the search to the nodes of one layer in the same way; `None` for all. Items of other kinds
    /// do not belong to any layer.
    pub layer: Option<LayerName>,
}

impl SearchRequest {
    /// Searches for the items nearest to a vector.
    pub fn by_vector(kind: ItemKind, vector: Vec<f32>, limit: usize, min_score: f32) -> Self {
        Self { kind, by: By::Vector { vector, min_score }, limit, filtered: None, layer: None }
    }

    /// Searches for the items that match words best.
    pub fn by_words(kind: ItemKind, words: impl Into<String>, limit: usize) -> Self {
        let by = By::Words { text: words.into(), faint: Vec::new() };
        Self { kind, by, limit, filtered: None, layer: None }
    }

    /// Gives these words of a keyword search less weight than the others. Does not change a vector search.
    #[must_use]
    pub fn with_faint(mut self, words: Vec<String>) -> Self {
        match &mut self.by {
            By::Words { faint, .. } => *faint = words,
            By::Vector { .. } => {}
        }
        self
    }

    /// Restricts the search to these items.
    #[must_use]
    pub fn filtered(self, filtered: Option<Arc<FilteredIds>>) -> Self {
        Self { filtered, ..self }
    }

    /// Restricts the search to the nodes of this layer.
    #[must_use]
    pub fn in_layer(self, layer: LayerName) -> Self {
        Self { layer: Some(layer), ..self }
    }
}

/// The query of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// Finds the nearest vectors by cosine. Exact, unless the store documents a number of vectors above which
    /// the search is approximate.
    Vector {
        /// The query vector, with the space's dimensions.
        vector: Vec<f32>,
        /// Minimum cosine.
        min_score: f32,
    },
    /// Finds the best matches of these words by BM25: in chunk texts with their contexts; in entity names and
    /// descriptions; in the entities, keywords and descriptions of relations; or in titles and texts of
    /// nodes. Syntax characters are ordinary text.
    Words {
        /// The words.
        text: String,
        /// Those of the words that mean little on their own, such as articles. They get a quarter of the weight of the others.
        faint: Vec<String>,
    },
}

/// A search result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The item.
    pub item: ItemKey,
    /// Cosine or BM25 score. BM25 scores are comparable only within one result.
    pub score: f32,
}

/// A rebuildable index beside the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Projection {
    /// Name, such as `full_text`.
    pub name: String,
    /// The revision to which it is up to date.
    pub watermark: Revision,
    /// Number of entries.
    pub entries: u64,
}
