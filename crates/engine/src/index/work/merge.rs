//! Merging ready documents into the graph: several small ones in one commit, a large one in slices of a commit each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, Document, DocumentId, Extraction, ExtractionKey, Job, JobState,
    Records, Require, Snapshot, Stage, StoreError, Visibility,
};

use super::prepare::{chunk_texts, situating_texts};
use super::stop::Stop;
use super::{Ready, Run};
use crate::commit::GraphChanges;
use crate::extract::{rules_key, said_by_rules};
use crate::graph::{Derivation, GraphChange, Summaries};
use crate::index::IndexError;
use crate::index::unload::unload;

/// The chunks of a ready document that enter the graph in one commit.
#[derive(Clone)]
struct Slice<'a> {
    ready: &'a Ready,
    chunks: Range<usize>,
}

impl<'a> Slice<'a> {
    fn whole(ready: &'a Ready) -> Self {
        Self { ready, chunks: 0..ready.chunks.len() }
    }

    /// Whether nothing of the document entered before.
    fn is_first(&self) -> bool {
        self.chunks.start == 0
    }

    fn is_last(&self) -> bool {
        self.chunks.end == self.ready.chunks.len()
    }

    /// Whether this slice puts a staged version in the place of the live one.
    fn replaces(&self) -> bool {
        self.is_first() && self.ready.document.visibility == Visibility::Staged
    }
}

/// A chunk whose records enter the graph.
struct Brought {
    chunk: Chunk,
    key: ExtractionKey,
    /// What rules say of it, which is stored with the merge for it costs nothing to make again.
    by_rules: Option<Extraction>,
    /// What becomes of its extraction with the merge, where that changes.
    set: Option<ChunkExtraction>,
}

impl Run<'_> {
    /// Applies ready documents to the graph: one derivation and one commit for as many as have no more chunks together than
    /// a commit takes. Larger ones are put into `large`, for [`Run::merge_slice`].
    pub(super) async fn merge(
        &self,
        documents: Vec<Ready>,
        large: &mut VecDeque<Ready>,
    ) -> Result<(), IndexError> {
        let most = self.engine.index.max_merge_chunks.max(1);
        let mut together: Vec<Ready> = Vec::new();
        let mut chunks = 0;
        for ready in documents {
            if ready.chunks.len() > most {
                large.push_back(ready);
                continue;
            }
            if chunks + ready.chunks.len() > most {
                self.merge_whole(std::mem::take(&mut together)).await?;
                chunks = 0;
            }
            chunks += ready.chunks.len();
            together.push(ready);
        }
        self.merge_whole(together).await
    }

    /// Merges documents in one commit. Where that fails for a reason of one document, each is tried alone.
    async fn merge_whole(&self, documents: Vec<Ready>) -> Result<(), IndexError> {
        let slices: Vec<Slice<'_>> = documents.iter().map(Slice::whole).collect();
        match self.merge_slices(&slices).await {
            Ok(_) => Ok(()),
            Err(stop) if documents.len() == 1 => {
                self.stop(&documents[0].job, &documents[0].document, stop).await.map(drop)
            }
            Err(Stop::Fatal(error)) => Err(error),
            Err(Stop::Paused) => {
                self.paused();
                Ok(())
            }
            Err(Stop::Later(_) | Stop::Failed(_) | Stop::OverBudget(_) | Stop::Lost) => {
                for document in documents {
                    Box::pin(self.merge_whole(vec![document])).await?;
                }
                Ok(())
            }
        }
    }

    /// Merges the next slice of a large document; the document while more of it is to come.
    ///
    /// Each slice is a whole change of the graph, so questions meanwhile find what entered so far. A run that begins again
    /// merges the same slices again, which changes nothing. A new version takes the place of the old one with its first
    /// slice.
    pub(super) async fn merge_slice(&self, mut ready: Ready) -> Result<Option<Ready>, IndexError> {
        let end = (ready.entered + self.engine.index.max_merge_chunks.max(1)).min(ready.chunks.len());
        let slice = Slice { ready: &ready, chunks: ready.entered..end };
        match self.merge_slices(std::slice::from_ref(&slice)).await {
            Ok(mut jobs) => {
                if end == ready.chunks.len() {
                    return Ok(None);
                }
                if self.engine.models.extract.is_none() {
                    self.advanced(&ready.document, Stage::Extract, end, ready.chunks.len());
                }
                ready.entered = end;
                ready.document.visibility = Visibility::Live;
                if let Some(job) = jobs.pop() {
                    ready.job = job;
                }
                Ok(Some(ready))
            }
            Err(stop) => self.stop(&ready.job, &ready.document, stop).await.map(|_| None),
        }
    }

    /// Merges slices in one commit, and says what their jobs are then.
    async fn merge_slices(&self, slices: &[Slice<'_>]) -> Result<Vec<Job>, Stop> {
        if slices.is_empty() {
            return Ok(Vec::new());
        }
        self.unload_replaced(slices).await?;
        let brought = self.brought(slices).await?;
        let mut changes = GraphChanges::new(self.engine);
        let outcome = self.try_merge(&mut changes, slices, &brought).await;
        changes.end(outcome).await
    }

    /// Takes what large versions say that are replaced out of the graph, so that the rest of them fits one commit.
    async fn unload_replaced(&self, slices: &[Slice<'_>]) -> Result<(), Stop> {
        let snapshot = self.engine.store.snapshot().await?;
        if snapshot.queue().await?.is_paused() {
            return Err(Stop::Paused);
        }
        if !still_ours(snapshot.as_ref(), slices).await? {
            return Err(Stop::Lost);
        }
        let mut replaced = Vec::new();
        for slice in slices.iter().filter(|slice| slice.replaces()) {
            replaced.extend(other_versions(snapshot.as_ref(), &slice.ready.document).await?);
        }
        drop(snapshot);
        match unload(self.engine, &replaced).await {
            Ok(_) => Ok(()),
            Err(IndexError::Store(error)) => Err(Stop::overtaken(error)),
            Err(IndexError::Model(error)) => Err(error.into()),
        }
    }

    async fn try_merge(
        &self,
        changes: &mut GraphChanges<'_>,
        slices: &[Slice<'_>],
        brought: &[Vec<Brought>],
    ) -> Result<Vec<Job>, Stop> {
        loop {
            let snapshot = changes.snapshot().await.map_err(Stop::overtaken)?;
            if snapshot.queue().await?.is_paused() {
                return Err(Stop::Paused);
            }
            if !still_ours(snapshot.as_ref(), slices).await? {
                return Err(Stop::Lost);
            }
            let mut replaced = BTreeSet::new();
            for slice in slices.iter().filter(|slice| slice.replaces()) {
                replaced.extend(other_versions(snapshot.as_ref(), &slice.ready.document).await?);
            }
            // A version replaced by another of this very merge leaves without having entered.
            let entering = slices.iter().zip(brought);
            let entering: Vec<_> =
                entering.filter(|(slice, _)| !replaced.contains(&slice.ready.document.id)).collect();
            let mut change = GraphChange::default();
            for (_, brought) in &entering {
                change.added.extend(records_of(snapshot.as_ref(), brought).await?);
            }
            let replaced: Vec<DocumentId> = replaced.into_iter().collect();
            let old_chunks = snapshot.chunks_of(&replaced).await?;
            change.removed =
                old_chunks.into_iter().flatten().map(|chunk| chunk.id).collect::<BTreeSet<ChunkId>>();
            let (Derivation { mut batch, .. }, texts) =
                changes.derive(snapshot.as_ref(), &change, Summaries::Later).await?;
            drop(change);
            let derived_from = snapshot.graph_revision();
            drop(snapshot);
            changes.embed(texts, None, &mut batch).await?;
            batch.remove_documents = replaced;
            for (slice, brought) in &entering {
                self.finish(changes, slice, brought, &mut batch).await?;
            }
            let jobs = batch.put_jobs.clone();
            if changes.commit(derived_from, batch).await.map_err(Stop::overtaken)? {
                for (slice, brought) in entering {
                    let by_rules = brought.iter().filter(|brought| brought.by_rules.is_some()).count();
                    self.count(|report| report.extracted += by_rules as u32);
                    if slice.is_last() {
                        self.finished(slice.ready);
                    }
                }
                return Ok(jobs);
            }
        }
    }

    /// The chunks of each slice that bring records, with what rules say of those that no model is asked about.
    async fn brought(&self, slices: &[Slice<'_>]) -> Result<Vec<Vec<Brought>>, Stop> {
        let engine = self.engine;
        let by_rules = engine.models.extract.is_none();
        let mut all = Vec::with_capacity(slices.len());
        for Slice { ready, chunks } in slices {
            let brings: Vec<&Chunk> =
                ready.chunks[chunks.clone()].iter().filter(|chunk| ready.brings(chunk)).collect();
            let ids: Vec<ChunkId> = brings.iter().map(|chunk| chunk.id.clone()).collect();
            let stored = engine.store.snapshot().await?.chunks(&ids).await?;
            let mut brought = Vec::with_capacity(ids.len());
            for (known, stored) in brings.into_iter().zip(stored) {
                let Some(chunk) = stored else { return Err(Stop::Lost) };
                let rules_key = || rules_key(engine, &chunk);
                if by_rules && known.extraction.is_queued() {
                    let key = rules_key();
                    let said = said_by_rules(engine, &chunk, key.clone());
                    let set = Some(ChunkExtraction::Done { key: key.clone() });
                    brought.push(Brought { chunk, key, by_rules: Some(said), set });
                    // Whoever wants to stop the run can do so here.
                    breathe().await;
                } else if let Some(key) = known.extraction.key().cloned() {
                    let is_slice = chunks.len() < ready.chunks.len();
                    if is_slice && by_rules && ready.renewed.is_none() && key == rules_key() {
                        // What rules say is stored with the slice that brings it, so an earlier run brought it.
                        continue;
                    }
                    let set = ready.renewed.as_ref().map(|_| known.extraction.clone());
                    brought.push(Brought { chunk, key, by_rules: None, set });
                }
            }
            all.push(brought);
        }
        Ok(all)
    }

    /// What ends a document's job, or goes on with it, besides the graph itself.
    async fn finish(
        &self,
        changes: &mut GraphChanges<'_>,
        slice: &Slice<'_>,
        brought: &[Brought],
        batch: &mut Batch,
    ) -> Result<(), Stop> {
        let ready = slice.ready;
        if slice.replaces() {
            batch.activate_documents.push(ready.document.id.clone());
            // The chunks of a large one are embedded already.
            if slice.is_last() {
                let ids: Vec<ChunkId> = ready.chunks.iter().map(|chunk| chunk.id.clone()).collect();
                let snapshot = self.engine.store.snapshot().await?;
                let situations = snapshot.situations(&ids).await?;
                let chunks: Vec<Chunk> = snapshot.chunks(&ids).await?.into_iter().flatten().collect();
                drop(snapshot);
                let texts = chunk_texts(&chunks, &situating_texts(situations.iter().flatten()));
                changes.embed(texts, Some(&ready.document.id), batch).await?;
            }
        }
        batch.require.push(Require::JobIs(ready.job.clone()));
        batch.put_jobs.push(if slice.is_last() {
            Job { state: JobState::Merged, lease: None, ..ready.job.clone() }
        } else {
            Job { lease: Some(self.lease(self.engine.clock.now())), ..ready.job.clone() }
        });
        let by_rules = brought.iter().filter_map(|brought| brought.by_rules.as_ref());
        let by_rules: BTreeMap<&ExtractionKey, &Extraction> =
            by_rules.map(|extraction| (&extraction.key, extraction)).collect();
        batch.put_extractions.extend(by_rules.into_values().cloned());
        for Brought { chunk, set, .. } in brought {
            if ready.renewed.is_some() {
                batch.remove_renewals.push(chunk.id.clone());
            }
            batch.set_extractions.extend(set.clone().map(|set| (chunk.id.clone(), set)));
        }
        Ok(())
    }
}

/// Lets whoever waits beside this work have a turn.
async fn breathe() {
    let mut had_its_turn = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut had_its_turn, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// Whether every document's job is still as it was prepared.
async fn still_ours(snapshot: &dyn Snapshot, slices: &[Slice<'_>]) -> Result<bool, StoreError> {
    let ids: Vec<DocumentId> = slices.iter().map(|slice| slice.ready.document.id.clone()).collect();
    let jobs = snapshot.jobs(&ids).await?;
    Ok(jobs.iter().zip(slices).all(|(job, slice)| job.as_ref() == Some(&slice.ready.job)))
}

/// The records of chunks, those left out whose extraction is gone.
async fn records_of(
    snapshot: &dyn Snapshot,
    brought: &[Brought],
) -> Result<Vec<(Chunk, Records)>, StoreError> {
    let keys: Vec<ExtractionKey> = brought.iter().map(|brought| brought.key.clone()).collect();
    let stored = snapshot.extractions(&keys).await?;
    let with_records = brought.iter().zip(stored).filter_map(|(brought, stored)| {
        let records = match &brought.by_rules {
            Some(extraction) => extraction.records.clone(),
            None => stored?.records,
        };
        Some((brought.chunk.clone(), records))
    });
    Ok(with_records.collect())
}

/// The other versions of a document's source.
async fn other_versions(snapshot: &dyn Snapshot, document: &Document) -> Result<Vec<DocumentId>, StoreError> {
    let versions = snapshot.documents_of_sources(std::slice::from_ref(&document.source)).await?;
    Ok(versions.into_iter().flatten().map(|version| version.id).filter(|id| *id != document.id).collect())
}
