//! Removing documents: evidence and everything derived from it, in one commit.

use graphloom_core::{DocumentId, Require, StoreError};

use super::{IndexError, MAX_CONFLICTS};
use crate::Engine;
use crate::graph::{GraphChange, Summaries, rederive};

/// What a [`delete`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Removal {
    /// Documents.
    pub documents: u32,
    /// Their chunks.
    pub chunks: u32,
    /// Entities that nothing mentions any more.
    pub entities: u32,
    /// Relations that nothing states any more.
    pub relations: u32,
    /// Entities and relations that read differently now.
    pub changed: u32,
    /// Of those, how many lack their summary, for the model failed; the next run makes it.
    pub stale: u32,
}

/// Removes documents with everything that only they support, and derives again what they shared. Unknown ids are
/// ignored. Many documents cost one derivation, and models are asked only for summaries that changed.
pub async fn delete(engine: &Engine, ids: &[DocumentId]) -> Result<Removal, IndexError> {
    for _ in 0..MAX_CONFLICTS {
        let snapshot = engine.store.snapshot().await?;
        let known: Vec<DocumentId> =
            snapshot.documents(ids).await?.into_iter().flatten().map(|document| document.id).collect();
        if known.is_empty() {
            return Ok(Removal::default());
        }
        let chunks: Vec<_> =
            snapshot.chunks_of(&known).await?.into_iter().flatten().map(|chunk| chunk.id).collect();
        let removed_chunks = chunks.len() as u32;
        let change = GraphChange { removed: chunks.into_iter().collect(), ..GraphChange::default() };
        let derivation = rederive(engine, snapshot.as_ref(), &change, Summaries::Now).await?;
        let mut batch = derivation.batch;
        batch.require.push(Require::GraphUnchangedSince(snapshot.graph_revision()));
        drop(snapshot);
        let removal = Removal {
            documents: known.len() as u32,
            chunks: removed_chunks,
            entities: batch.remove_entities.len() as u32,
            relations: batch.remove_relations.len() as u32,
            changed: (batch.put_entities.len() + batch.put_relations.len()) as u32,
            stale: derivation.unfinished,
        };
        batch.remove_documents = known;
        match engine.store.commit(batch).await {
            Ok(_) => return Ok(removal),
            Err(error) if error.is_conflict() => tracing::debug!(%error, "deleting again"),
            Err(error) => return Err(error.into()),
        }
    }
    let what = format!("other processes changed the graph {MAX_CONFLICTS} times in a row");
    Err(StoreError::Conflict { what }.into())
}
