//! The chunks and sources of entities and relations, in LightRAG's format.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{ChunkId, DocumentId, GraphKey, Snapshot, StoreError};

/// Separates ids and sources [LightRAG].
pub(crate) const SEPARATOR: &str = "<SEP>";

/// The chunks of some entities and relations, and the sources of these chunks.
pub(crate) struct Behind {
    chunks: BTreeMap<GraphKey, Vec<ChunkId>>,
    sources: BTreeMap<ChunkId, String>,
}

impl Behind {
    /// Collects at most `limit` chunks per key, and only those in `among`.
    pub(crate) async fn of(
        snapshot: &dyn Snapshot,
        keys: Vec<GraphKey>,
        limit: usize,
        among: Option<&BTreeSet<ChunkId>>,
    ) -> Result<Self, StoreError> {
        let mut behind = snapshot.chunks_behind(&keys, None, limit).await?;
        if let Some(among) = among {
            behind.iter_mut().for_each(|chunks| chunks.retain(|chunk| among.contains(chunk)));
        }
        let ids: BTreeSet<&ChunkId> = behind.iter().flatten().collect();
        let ids: Vec<ChunkId> = ids.into_iter().cloned().collect();
        let chunks: Vec<_> = snapshot.chunks(&ids).await?.into_iter().flatten().collect();
        let documents: BTreeSet<&DocumentId> = chunks.iter().map(|chunk| &chunk.document).collect();
        let documents: Vec<DocumentId> = documents.into_iter().cloned().collect();
        let known = snapshot.documents(&documents).await?.into_iter().flatten();
        let sources: BTreeMap<DocumentId, String> =
            known.map(|document| (document.id, document.source)).collect();
        let source_of = |document: &DocumentId| sources.get(document).cloned();
        Ok(Self {
            chunks: keys.into_iter().zip(behind).collect(),
            sources: chunks
                .iter()
                .filter_map(|chunk| Some((chunk.id.clone(), source_of(&chunk.document)?)))
                .collect(),
        })
    }

    /// The joined ids and the joined sources.
    pub(crate) fn get(&self, key: &GraphKey) -> (String, String) {
        let chunks = self.chunks.get(key).map(Vec::as_slice).unwrap_or_default();
        let ids: Vec<&str> = chunks.iter().map(ChunkId::as_str).collect();
        (ids.join(SEPARATOR), self.sources(key).join(SEPARATOR))
    }

    /// The sources in ascending order.
    pub(crate) fn sources(&self, key: &GraphKey) -> Vec<String> {
        let chunks = self.chunks.get(key).map(Vec::as_slice).unwrap_or_default();
        let sources: BTreeSet<&String> = chunks.iter().filter_map(|chunk| self.sources.get(chunk)).collect();
        sources.into_iter().cloned().collect()
    }
}
