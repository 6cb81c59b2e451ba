//! Removes documents and everything derived from them in one commit; records of large documents first, in slices.

use futures::future::BoxFuture;
use graphloom_core::DocumentId;

use super::IndexError;
use super::unload::unload;
use crate::Engine;
use crate::commit::GraphChanges;
use crate::graph::{Derivation, GraphChange, Summaries};

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
    /// Of those, how many lack their summary, because the model failed or others kept changing the graph meanwhile; the
    /// next run makes it.
    pub stale: u32,
}

/// Removes documents with everything that only they support, and derives again what they shared. Unknown ids are
/// ignored. Many documents cost one derivation, and models are asked only for summaries that changed. Where other processes
/// change the graph meanwhile, this waits for its turn. The records of a document of more chunks than a commit takes leave in
/// slices before it; the summaries that this changes are left to the next run.
pub fn delete<'a>(engine: &'a Engine, ids: &'a [DocumentId]) -> BoxFuture<'a, Result<Removal, IndexError>> {
    Box::pin(async move {
        let unloaded = unload(engine, ids).await?;
        let mut changes = GraphChanges::new(engine);
        let outcome = try_delete(&mut changes, ids).await;
        let removal = changes.end(outcome).await?;
        Ok(Removal {
            entities: removal.entities + unloaded.entities,
            relations: removal.relations + unloaded.relations,
            changed: removal.changed + unloaded.changed,
            ..removal
        })
    })
}

async fn try_delete(changes: &mut GraphChanges<'_>, ids: &[DocumentId]) -> Result<Removal, IndexError> {
    loop {
        let snapshot = changes.snapshot().await?;
        let known: Vec<DocumentId> =
            snapshot.documents(ids).await?.into_iter().flatten().map(|document| document.id).collect();
        if known.is_empty() {
            return Ok(Removal::default());
        }
        let chunks: Vec<_> =
            snapshot.chunks_of(&known).await?.into_iter().flatten().map(|chunk| chunk.id).collect();
        let removed_chunks = chunks.len() as u32;
        let change = GraphChange { removed: chunks.into_iter().collect(), ..GraphChange::default() };
        let (Derivation { mut batch, unfinished, .. }, texts) =
            changes.derive(snapshot.as_ref(), &change, Summaries::Now).await?;
        let derived_from = snapshot.graph_revision();
        drop(snapshot);
        changes.embed(texts, None, &mut batch).await?;
        let removal = Removal {
            documents: known.len() as u32,
            chunks: removed_chunks,
            entities: batch.remove_entities.len() as u32,
            relations: batch.remove_relations.len() as u32,
            changed: (batch.put_entities.len() + batch.put_relations.len()) as u32,
            stale: unfinished,
        };
        batch.remove_documents = known;
        if changes.commit(derived_from, batch).await? {
            return Ok(removal);
        }
    }
}
