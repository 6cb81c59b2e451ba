//! Removes documents and everything derived from them in one commit. The records of large documents are removed first, in slices.

use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{ChunkId, DocumentId, RestsOn, Snapshot, table};

use super::IndexError;
use super::unload::unload;
use crate::Engine;
use crate::commit::GraphChanges;
use crate::graph::{Derivation, GraphChange, Summaries, derive};

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
    /// Entities and relations whose text changed.
    pub changed: u32,
    /// Of these, how many lack a summary, because the model failed or others kept changing the graph. The next run writes it.
    pub stale: u32,
}

/// Removes documents with everything that only they support, and derives what they shared again. Unknown ids are ignored. Any
/// number of documents costs one derivation, and an LLM is called only for summaries that change. If other processes change the
/// graph meanwhile, this waits for its turn. A document with more chunks than fit into a commit loses its records in slices first;
/// the summaries that this affects are left to the next run.
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

/// Chunk limit for previewing the effect on the graph; above it, only documents and chunks are counted.
const MAX_PREVIEWED_CHUNKS: usize = 20_000;

/// What removing documents would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct RemovalPreview {
    /// Documents.
    pub documents: u32,
    /// Their chunks.
    pub chunks: u32,
    /// The effect on the graph; `None` if they have more than 20,000 chunks.
    pub graph: Option<RemovedFromGraph>,
    /// Stored answers in conversations that would be removed.
    pub answers: u64,
}

/// The effect of removing documents on the graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct RemovedFromGraph {
    /// Entities that nothing else mentions.
    pub entities: u32,
    /// Relations that nothing else states.
    pub relations: u32,
    /// Entities and relations whose text would change.
    pub changed: u32,
}

/// Returns what [`delete`] would do now. Nothing is changed and no model is called. Unknown ids are ignored.
pub fn preview_removal<'a>(
    engine: &'a Engine,
    ids: &'a [DocumentId],
) -> BoxFuture<'a, Result<RemovalPreview, IndexError>> {
    Box::pin(async move {
        let snapshot = engine.store.snapshot().await?;
        let known: BTreeSet<DocumentId> =
            snapshot.documents(ids).await?.into_iter().flatten().map(|document| document.id).collect();
        let documents: Vec<DocumentId> = known.iter().cloned().collect();
        let removed: BTreeSet<ChunkId> =
            snapshot.chunk_ids_of(&documents).await?.into_iter().flatten().collect();
        let chunks = removed.len() as u32;
        let graph = match removed.len() > MAX_PREVIEWED_CHUNKS {
            true => None,
            false => {
                let change = GraphChange { removed, ..GraphChange::default() };
                let (Derivation { batch, .. }, _) =
                    derive(engine, snapshot.as_ref(), &change, Summaries::Known, &BTreeMap::new()).await?;
                Some(RemovedFromGraph {
                    entities: batch.remove_entities.len() as u32,
                    relations: batch.remove_relations.len() as u32,
                    changed: (batch.put_entities.len() + batch.put_relations.len()) as u32,
                })
            }
        };
        let answers = removed_answers(snapshot.as_ref(), &known).await?;
        Ok(RemovalPreview { documents: documents.len() as u32, chunks, graph, answers })
    })
}

/// Returns the number of stored answers that are removed with these documents.
async fn removed_answers(
    snapshot: &dyn Snapshot,
    documents: &BTreeSet<DocumentId>,
) -> Result<u64, IndexError> {
    if documents.is_empty() {
        return Ok(0);
    }
    let (mut count, mut losing) = (0, None);
    let mut pages = snapshot.pages(table::Exchanges { conversation: None });
    while let Some(page) = pages.next().await? {
        for exchange in page {
            let Some(answer) = exchange.answer else { continue };
            let rests = match &answer.rests_on {
                RestsOn::Everything => true,
                RestsOn::Documents(known) => !known.is_disjoint(documents),
            };
            if rests || losing.as_ref() == Some(&exchange.conversation) {
                losing = Some(exchange.conversation);
                count += 1;
            }
        }
    }
    Ok(count)
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
