//! Merging ready documents into the graph, several in one commit.

use std::collections::BTreeSet;

use graphloom_core::{
    Batch, Chunk, ChunkId, Document, DocumentId, ExtractionKey, Job, JobState, Records, Require, Snapshot,
    StoreError, Visibility,
};

use super::prepare::{chunk_texts, situating_texts};
use super::stop::Stop;
use super::{Ready, Run};
use crate::commit::GraphChanges;
use crate::graph::{Derivation, GraphChange, Summaries};
use crate::index::IndexError;

impl Run<'_> {
    /// Applies ready documents to the graph: one derivation and one commit for all of them. Where that fails for a
    /// reason of one document, each is tried alone.
    pub(super) async fn merge(&self, documents: Vec<Ready>) -> Result<(), IndexError> {
        match self.merge_all(&documents).await {
            Ok(()) => return Ok(()),
            Err(Stop::Fatal(error)) => return Err(error),
            Err(Stop::Later(reason)) if documents.len() == 1 => self.stopped(&documents[0].document, reason),
            Err(Stop::Failed(reason)) if documents.len() == 1 => {
                self.fail(&documents[0].job, &documents[0].document, reason).await?;
            }
            Err(Stop::Lost) if documents.len() == 1 => self.lost(&documents[0].document).await?,
            Err(Stop::Paused) => self.paused(),
            Err(Stop::OverBudget(what)) if documents.len() == 1 => self.over_budget(what),
            Err(Stop::Later(_) | Stop::Failed(_) | Stop::OverBudget(_) | Stop::Lost) => {
                for document in documents {
                    Box::pin(self.merge(vec![document])).await?;
                }
            }
        }
        Ok(())
    }

    async fn merge_all(&self, documents: &[Ready]) -> Result<(), Stop> {
        let mut changes = GraphChanges::new(self.engine);
        let outcome = self.try_merge(&mut changes, documents).await;
        changes.end(outcome).await
    }

    async fn try_merge(&self, changes: &mut GraphChanges<'_>, documents: &[Ready]) -> Result<(), Stop> {
        loop {
            let snapshot = changes.snapshot().await.map_err(Stop::overtaken)?;
            if snapshot.queue().await?.is_paused() {
                return Err(Stop::Paused);
            }
            if !still_ours(snapshot.as_ref(), documents).await? {
                return Err(Stop::Lost);
            }
            let mut replaced = BTreeSet::new();
            for ready in documents.iter().filter(|ready| ready.document.visibility == Visibility::Staged) {
                replaced.extend(other_versions(snapshot.as_ref(), &ready.document).await?);
            }
            // A version replaced by another of this very merge leaves without having entered.
            let documents: Vec<&Ready> =
                documents.iter().filter(|ready| !replaced.contains(&ready.document.id)).collect();
            let mut change = GraphChange::default();
            for ready in &documents {
                change.added.extend(records_of(snapshot.as_ref(), ready).await?);
            }
            let replaced: Vec<DocumentId> = replaced.into_iter().collect();
            let old_chunks = snapshot.chunks_of(&replaced).await?;
            change.removed =
                old_chunks.into_iter().flatten().map(|chunk| chunk.id).collect::<BTreeSet<ChunkId>>();
            let (Derivation { mut batch, .. }, texts) =
                changes.derive(snapshot.as_ref(), &change, Summaries::Later).await?;
            let derived_from = snapshot.graph_revision();
            drop(snapshot);
            changes.embed(texts, None, &mut batch).await?;
            batch.remove_documents = replaced;
            for ready in &documents {
                self.finish(changes, ready, &mut batch).await?;
            }
            if changes.commit(derived_from, batch).await.map_err(Stop::overtaken)? {
                documents.into_iter().for_each(|ready| self.finished(ready));
                return Ok(());
            }
        }
    }

    /// What ends a document's job besides the graph itself.
    async fn finish(
        &self,
        changes: &mut GraphChanges<'_>,
        ready: &Ready,
        batch: &mut Batch,
    ) -> Result<(), Stop> {
        if ready.document.visibility == Visibility::Staged {
            batch.activate_documents.push(ready.document.id.clone());
            let ids: Vec<ChunkId> = ready.chunks.iter().map(|chunk| chunk.id.clone()).collect();
            let situations = self.engine.store.snapshot().await?.situations(&ids).await?;
            let texts = chunk_texts(&ready.chunks, &situating_texts(situations.iter().flatten()));
            changes.embed(texts, Some(&ready.document.id), batch).await?;
        }
        batch.require.push(Require::JobIs(ready.job.clone()));
        batch.put_jobs.push(Job { state: JobState::Merged, lease: None, ..ready.job.clone() });
        batch.put_extractions.extend(ready.unstored.values().cloned());
        for chunk in ready.chunks.iter().filter(|chunk| ready.brings(chunk)) {
            let Some(key) = chunk.extraction.key() else { continue };
            if ready.renewed.is_some() {
                batch.remove_renewals.push(chunk.id.clone());
            }
            if ready.renewed.is_some() || ready.unstored.contains_key(key) {
                batch.set_extractions.push((chunk.id.clone(), chunk.extraction.clone()));
            }
        }
        Ok(())
    }
}

/// Whether every document's job is still as it was prepared.
async fn still_ours(snapshot: &dyn Snapshot, documents: &[Ready]) -> Result<bool, StoreError> {
    let ids: Vec<DocumentId> = documents.iter().map(|ready| ready.document.id.clone()).collect();
    let jobs = snapshot.jobs(&ids).await?;
    Ok(jobs.iter().zip(documents).all(|(job, ready)| job.as_ref() == Some(&ready.job)))
}

/// The records of a ready document's chunks, those without an extraction left out.
async fn records_of(snapshot: &dyn Snapshot, ready: &Ready) -> Result<Vec<(Chunk, Records)>, StoreError> {
    let brought = ready.chunks.iter().filter(|chunk| ready.brings(chunk));
    let chunks: Vec<(&Chunk, ExtractionKey)> =
        brought.filter_map(|chunk| Some((chunk, chunk.extraction.key()?.clone()))).collect();
    let keys: Vec<ExtractionKey> = chunks.iter().map(|(_, key)| key.clone()).collect();
    let stored = snapshot.extractions(&keys).await?;
    let with_records = chunks.into_iter().zip(stored).filter_map(|((chunk, key), stored)| {
        let records = match ready.unstored.get(&key) {
            Some(extraction) => extraction.records.clone(),
            None => stored?.records,
        };
        Some((chunk.clone(), records))
    });
    Ok(with_records.collect())
}

/// The other versions of a document's source.
async fn other_versions(snapshot: &dyn Snapshot, document: &Document) -> Result<Vec<DocumentId>, StoreError> {
    let versions = snapshot.documents_of_sources(std::slice::from_ref(&document.source)).await?;
    Ok(versions.into_iter().flatten().map(|version| version.id).filter(|id| *id != document.id).collect())
}
