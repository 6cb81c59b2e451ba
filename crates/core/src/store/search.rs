//! The part of a snapshot that finds: vectors and full text.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::{Allowed, ContentHash, Revision};

/// Vectors and full text.
#[async_trait]
pub trait Search: Send + Sync {
    /// The workspace's embedding space; `None` before the first vector.
    async fn embedding(&self) -> Result<Option<EmbeddingSpec>, StoreError>;

    /// Stored vectors; unit length, rounded to the store's precision.
    async fn vectors(&self, kind: VectorKind, ids: &[String]) -> Result<Vec<Option<Vec<f32>>>, StoreError>;

    /// For each query vector, the nearest entries of `kind` by cosine: highest score first, ties by ascending id,
    /// at most `limit`, none below `min_score`. Exact, unless the store documents a number of entries above which
    /// it is approximate.
    async fn search_vectors(&self, query: &VectorQuery) -> Result<Vec<Vec<VectorHit>>, StoreError>;

    /// Best matches for the words of `query` by BM25: highest score first, ties by ascending id, at most `limit`.
    /// Syntax characters are ordinary text. Scores are comparable only within one result.
    async fn search_text(&self, query: &TextQuery) -> Result<Vec<VectorHit>, StoreError>;

    /// Several searches at once, with the results of [`search_vectors`](Self::search_vectors) and
    /// [`search_text`](Self::search_text) in order. A store may run them in parallel.
    async fn search_all(&self, vectors: &[VectorQuery], texts: &[TextQuery]) -> Result<Found, StoreError> {
        let mut found = Found::default();
        for query in vectors {
            found.by_vector.push(self.search_vectors(query).await?);
        }
        for query in texts {
            found.by_text.push(self.search_text(query).await?);
        }
        Ok(found)
    }

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

/// The kind of an embedded item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorKind {
    /// A chunk; ids are [`ChunkId`](crate::ChunkId)s.
    Chunk,
    /// An entity; ids are [`EntityKey`](crate::EntityKey)s.
    Entity,
    /// A relation; ids are printed [`RelationKey`](crate::RelationKey)s.
    Relation,
    /// A node of a layer; ids are [`NodeKey`](crate::NodeKey)s.
    Node,
}

impl VectorKind {
    /// All kinds, in order.
    pub const ALL: [Self; 4] = [Self::Chunk, Self::Entity, Self::Relation, Self::Node];
}

/// The identity of a vector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VectorEntry {
    /// Kind of the embedded item.
    pub kind: VectorKind,
    /// Its id.
    pub id: String,
    /// Hash of the embedded text; the same text is not embedded again.
    pub inputs_hash: ContentHash,
}

/// A batch of nearest-neighbour searches.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    /// Kind of entries to search.
    pub kind: VectorKind,
    /// The query vectors, each with the space's dimensions.
    pub vectors: Vec<Vec<f32>>,
    /// Maximum hits per vector.
    pub limit: usize,
    /// Minimum cosine.
    pub min_score: f32,
    /// Restricts the search to these entries; `None` for all. Other entries do not count towards `limit`.
    pub within: Option<Arc<Allowed>>,
}

/// The kind of entries in a full-text search.
pub type TextKind = VectorKind;

/// A full-text search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuery {
    /// Kind of entries: chunk texts with their situating texts; entity names and descriptions; the entities,
    /// keywords and descriptions of relations; or titles and texts of nodes.
    pub kind: TextKind,
    /// The words.
    pub text: String,
    /// Maximum hits.
    pub limit: usize,
    /// Restricts the search to these entries; `None` for all. Other entries do not count towards `limit`, but they
    /// do count in the frequency of words.
    pub within: Option<Arc<Allowed>>,
}

/// Results of several searches, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// For each vector query and each of its vectors, the nearest entries.
    pub by_vector: Vec<Vec<Vec<VectorHit>>>,
    /// For each text query: the best matches.
    pub by_text: Vec<Vec<VectorHit>>,
}

/// A scored entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VectorHit {
    /// The entry's id.
    pub id: String,
    /// Cosine or BM25 score.
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
