//! Removes the records of large documents from the graph in slices, so that removing the rest fits into one commit.

use graphloom_core::{ChunkExtraction, ChunkId, DocumentId, Job, JobState, Require, Snapshot, StoreError};

use super::IndexError;
use crate::Engine;
use crate::commit::GraphChanges;
use crate::extract::is_boilerplate;
use crate::graph::{Derivation, GraphChange, Summaries};

/// How the graph changed.
#[derive(Debug, Default)]
pub(super) struct UnloadOutcome {
    /// Entities that nothing mentions any more.
    pub(super) entities: u32,
    /// Relations that nothing states any more.
    pub(super) relations: u32,
    /// Entities and relations whose text changed.
    pub(super) changed: u32,
}

/// Removes the records of large documents from the graph, with one commit per slice of chunks, except for the last slice of each
/// document. So documents that fit into one commit are not touched.
///
/// Until it is removed, the document counts as cancelled, with chunks that still need extraction. If the removal stops halfway,
/// the document can be removed or queued again.
pub(super) async fn unload(engine: &Engine, documents: &[DocumentId]) -> Result<UnloadOutcome, IndexError> {
    let mut unloaded = UnloadOutcome::default();
    for id in documents {
        let chunks = engine.store.snapshot().await?.chunks_of(std::slice::from_ref(id)).await?;
        let extracted = chunks.into_iter().flatten().filter(|chunk| chunk.extraction.key().is_some());
        let extracted: Vec<ChunkId> = extracted.map(|chunk| chunk.id).collect();
        let mut rest = extracted.as_slice();
        loop {
            let slice = first_slice(engine, rest).await?;
            if slice.len() == rest.len() {
                break;
            }
            let mut changes = GraphChanges::new(engine);
            let outcome = unload_slice(&mut changes, id, slice).await;
            let UnloadOutcome { entities, relations, changed } = changes.end(outcome).await?;
            unloaded.entities += entities;
            unloaded.relations += relations;
            unloaded.changed += changed;
            rest = &rest[slice.len()..];
        }
    }
    Ok(unloaded)
}

/// Returns the first of these chunks: as many as can leave the graph in one commit.
async fn first_slice<'a>(engine: &Engine, chunks: &'a [ChunkId]) -> Result<&'a [ChunkId], StoreError> {
    let index = &engine.index;
    let chunks = &chunks[..chunks.len().min(index.max_merge_chunks.max(1))];
    let snapshot = engine.store.snapshot().await?;
    let mut touched = 0;
    for (at, chunk) in chunks.iter().enumerate().filter(|_| chunks.len() > 1) {
        touched += snapshot.graph_keys_of(std::slice::from_ref(chunk)).await?.len();
        if at > 0 && touched > index.max_merge_records {
            return Ok(&chunks[..at]);
        }
    }
    Ok(chunks)
}

/// Removes one slice from the graph; does nothing if the document no longer exists.
async fn unload_slice(
    changes: &mut GraphChanges<'_>,
    document: &DocumentId,
    slice: &[ChunkId],
) -> Result<UnloadOutcome, IndexError> {
    loop {
        let snapshot = changes.snapshot().await?;
        let Some(job) = job_of(snapshot.as_ref(), document).await? else {
            return Ok(UnloadOutcome::default());
        };
        let change = GraphChange { removed: slice.iter().cloned().collect(), ..GraphChange::default() };
        let (Derivation { mut batch, .. }, texts) =
            changes.derive(snapshot.as_ref(), &change, Summaries::Later).await?;
        let derived_from = snapshot.graph_revision();
        let chunks = snapshot.chunks(slice).await?.into_iter().flatten();
        let to_extract: Vec<ChunkId> =
            chunks.filter(|chunk| !is_boilerplate(chunk)).map(|chunk| chunk.id).collect();
        drop(snapshot);
        changes.embed(texts, None, &mut batch).await?;
        batch.require.push(Require::JobIs(job.clone()));
        batch.clear_graph_of = slice.to_vec();
        batch.set_extractions =
            to_extract.into_iter().map(|chunk| (chunk, ChunkExtraction::Pending)).collect();
        batch.put_jobs.push(Job { state: JobState::Cancelled, lease: None, ..job });
        let unloaded = UnloadOutcome {
            entities: batch.remove_entities.len() as u32,
            relations: batch.remove_relations.len() as u32,
            changed: (batch.put_entities.len() + batch.put_relations.len()) as u32,
        };
        if changes.commit(derived_from, batch).await? {
            return Ok(unloaded);
        }
    }
}

async fn job_of(snapshot: &dyn Snapshot, document: &DocumentId) -> Result<Option<Job>, StoreError> {
    Ok(snapshot.jobs(std::slice::from_ref(document)).await?.into_iter().next().flatten())
}
