//! Removes documents and everything derived from them in one commit; records of large documents first, in slices.

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

/// Chunks of documents whose removal is derived for a preview; of more, only documents and chunks are counted.
const MAX_PREVIEWED_CHUNKS: usize = 20_000;

/// What removing documents would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct RemovalPreview {
    /// Documents.
    pub documents: u32,
    /// Their chunks.
    pub chunks: u32,
    /// What would happen to the graph; `None` if they have more than 20,000 chunks.
    pub graph: Option<RemovedFromGraph>,
    /// Kept answers of conversations that would be removed.
    pub answers: u64,
}

/// What removing documents would do to the graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct RemovedFromGraph {
    /// Entities that nothing else mentions.
    pub entities: u32,
    /// Relations that nothing else states.
    pub relations: u32,
    /// Entities and relations that would read differently.
    pub changed: u32,
}

/// What [`delete`] would do now, without doing it and without asking a model. Unknown ids are ignored.
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

/// The number of kept answers that go with these documents.
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
