//! The part of a snapshot that finds: vectors and full text.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::{ContentHash, FilteredIds, ItemKey, ItemKind, LayerName, Revision};

/// Vectors and full text.
#[async_trait]
pub trait Search: Send + Sync {
    /// The workspace's embedding space; `None` before the first vector.
    async fn embedding(&self) -> Result<Option<EmbeddingSpec>, StoreError>;

    /// Stored vectors; unit length, rounded to the store's precision.
    async fn vectors(&self, items: &[ItemKey]) -> Result<Vec<Option<Vec<f32>>>, StoreError>;

    /// The hits of each request: highest score first, ties by ascending id, at most as many as the request's limit.
    /// A store may answer requests in parallel, and those that differ in the vector only in one pass.
    async fn search(&self, requests: &[SearchRequest]) -> Result<Vec<Vec<Hit>>, StoreError>;

    /// The rebuildable indexes and the revision each is up to date with.
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
    /// Hash of the embedded text; the same text is not embedded again.
    pub inputs_hash: ContentHash,
}

/// A search for items of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRequest {
    /// Kind of the items.
    pub kind: ItemKind,
    /// What is searched for.
    pub by: By,
    /// Maximum hits.
    pub limit: usize,
    /// Restricts the search to these items; `None` for all. Others do not count towards `limit`, but they do count
    /// in the frequency of words.
    pub filtered: Option<Arc<FilteredIds>>,
    /// Restricts the search to the nodes of one layer, in the same way; `None` for all. Other kinds of items belong to no layer.
    pub layer: Option<LayerName>,
}

impl SearchRequest {
    /// The items nearest to a vector.
    pub fn by_vector(kind: ItemKind, vector: Vec<f32>, limit: usize, min_score: f32) -> Self {
        Self { kind, by: By::Vector { vector, min_score }, limit, filtered: None, layer: None }
    }

    /// The items that match words best.
    pub fn by_words(kind: ItemKind, words: impl Into<String>, limit: usize) -> Self {
        let by = By::Words { text: words.into(), faint: Vec::new() };
        Self { kind, by, limit, filtered: None, layer: None }
    }

    /// The same search by words, in which these words of it count less than the others. A search by vector stays as it is.
    #[must_use]
    pub fn with_faint(mut self, words: Vec<String>) -> Self {
        match &mut self.by {
            By::Words { faint, .. } => *faint = words,
            By::Vector { .. } => {}
        }
        self
    }

    /// The same, restricted to these items.
    #[must_use]
    pub fn filtered(self, filtered: Option<Arc<FilteredIds>>) -> Self {
        Self { filtered, ..self }
    }

    /// The same, restricted to the nodes of this layer.
    #[must_use]
    pub fn in_layer(self, layer: LayerName) -> Self {
        Self { layer: Some(layer), ..self }
    }
}

/// What is searched for.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// The nearest vectors by cosine. Exact, unless the store documents a number of vectors above which it is
    /// approximate.
    Vector {
        /// The query vector, with the space's dimensions.
        vector: Vec<f32>,
        /// Minimum cosine.
        min_score: f32,
    },
    /// The best matches of these words by BM25, in chunk texts with their contexts; entity names and
    /// descriptions; the entities, keywords and descriptions of relations; or titles and texts of nodes. Syntax
    /// characters are ordinary text.
    Words {
        /// The words.
        text: String,
        /// Those of the words that say little by themselves, such as articles. They count a quarter of the others.
        faint: Vec<String>,
    },
}

/// An item that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The item.
    pub item: ItemKey,
    /// Cosine or BM25 score. Scores by words are comparable only within one result.
    pub score: f32,
}

/// A rebuildable index beside the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Projection {
    /// Name, such as `full_text`.
    pub name: String,
    /// The revision it is up to date with.
    pub watermark: Revision,
    /// Number of entries.
    pub entries: u64,
}
