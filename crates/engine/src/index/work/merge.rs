//! Merges prepared documents into the graph: several small ones in one commit, a large one in slices with one commit each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, Document, DocumentId, Extraction, ExtractionKey, Job, JobState,
    Records, Require, Snapshot, Stage, StoreError, Visibility,
};

use super::prepare::{chunk_texts, context_texts};
use super::stop::Stop;
use super::{ExtractedDocument, Run};
use crate::commit::GraphChanges;
use crate::extract::{rules_key, run_rules};
use crate::graph::{Derivation, GraphChange, Summaries};
use crate::index::IndexError;
use crate::index::unload::unload;

/// Chunks whose texts are read at a time.
const READ_CHUNKS: usize = 16;

/// The next chunks of a prepared document, which enter the graph in one commit.
struct Slice {
    ready: ExtractedDocument,
    /// End of the slice, as a chunk index; it starts where the last slice ended.
    end: usize,
    chunk_records: Vec<ChunkRecords>,
    /// The number of their records.
    records: usize,
}

impl Slice {
    fn chunks(&self) -> usize {
        self.end - self.ready.entered
    }

    /// True if no earlier slice of the document has entered the graph.
    fn is_first(&self) -> bool {
        self.ready.entered == 0
    }

    fn is_last(&self) -> bool {
        self.end == self.ready.chunks.len()
    }

    /// True if this slice replaces the live version with the staged one.
    fn replaces(&self) -> bool {
        self.is_first() && self.ready.document.visibility == Visibility::Staged
    }
}

/// A chunk whose records enter the graph.
struct ChunkRecords {
    chunk: Chunk,
    extraction: RecordSource,
    /// The new state of the chunk's extraction, if the merge changes it.
    set: Option<ChunkExtraction>,
}

/// Where the records of a chunk come from.
enum RecordSource {
    /// An extraction by rules. It is stored with the merge, because it costs nothing to compute again.
    ByRules(Extraction),
    /// A stored extraction.
    Stored(Records),
}

impl ChunkRecords {
    fn records(&self) -> &Records {
        match &self.extraction {
            RecordSource::ByRules(extraction) => &extraction.records,
            RecordSource::Stored(records) => records,
        }
    }

    fn by_rules(&self) -> Option<&Extraction> {
        match &self.extraction {
            RecordSource::ByRules(extraction) => Some(extraction),
            RecordSource::Stored(_) => None,
        }
    }
}

impl Run<'_> {
    /// Merges documents into the graph, with one derivation and one commit for as many as fit the limits on chunks and records. A
    /// larger document enters in slices; those after the first are left to [`Run::merge_slice`], in `large`.
    pub(super) async fn merge(
        &self,
        documents: Vec<ExtractedDocument>,
        large: &mut VecDeque<ExtractedDocument>,
    ) -> Result<(), IndexError> {
        let index = &self.engine.index;
        let mut together: Vec<Slice> = Vec::new();
        let (mut chunks, mut records) = (0, 0);
        for ready in documents {
            if ready.chunks.len() > index.max_merge_chunks.max(1) {
                large.push_back(ready);
                continue;
            }
            let Some(slice) = self.next_slice(ready).await? else { continue };
            if !slice.is_last() {
                large.extend(self.enter(slice).await?);
                continue;
            }
            (chunks, records) = (chunks + slice.chunks(), records + slice.records);
            if chunks > index.max_merge_chunks || records > self.pace.records(index.max_merge_records) {
                self.merge_whole(std::mem::take(&mut together)).await?;
                (chunks, records) = (slice.chunks(), slice.records);
            }
            together.push(slice);
        }
        self.merge_whole(together).await
    }

    /// Merges documents in one commit. If that fails for a reason of one document, each is tried alone.
    async fn merge_whole(&self, documents: Vec<Slice>) -> Result<(), IndexError> {
        match self.merge_slices(&documents).await {
            Ok(_) => Ok(()),
            Err(stop) if documents.len() == 1 => {
                let ExtractedDocument { job, document, .. } = &documents[0].ready;
                self.stop(job, document, stop).await.map(drop)
            }
            Err(Stop::Fatal(error)) => Err(error),
            Err(Stop::Paused) => {
                self.paused();
                Ok(())
            }
            Err(Stop::Requested) => {
                self.note_stop_request();
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

    /// Merges the next slice of a large document; returns the document if more slices follow.
    ///
    /// Each slice is a complete change of the graph, so questions find what has entered so far. A run that starts over merges the
    /// same slices again, which changes nothing. A new version replaces the old one with its first slice.
    pub(super) async fn merge_slice(
        &self,
        ready: ExtractedDocument,
    ) -> Result<Option<ExtractedDocument>, IndexError> {
        match self.next_slice(ready).await? {
            Some(slice) => self.enter(slice).await,
            None => Ok(None),
        }
    }

    /// Merges a slice; returns the document if more slices follow.
    async fn enter(&self, slice: Slice) -> Result<Option<ExtractedDocument>, IndexError> {
        let merged = self.merge_slices(std::slice::from_ref(&slice)).await;
        let is_last = slice.is_last();
        let Slice { mut ready, end, .. } = slice;
        match merged {
            Ok(_) if is_last => Ok(None),
            Ok(mut jobs) => {
                if self.engine.models.extract.is_none() {
                    self.advanced(&ready.document, Stage::Merge, end, ready.chunks.len());
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

    /// Merges slices in one commit and returns their jobs after it.
    async fn merge_slices(&self, slices: &[Slice]) -> Result<Vec<Job>, Stop> {
        if slices.is_empty() {
            return Ok(Vec::new());
        }
        self.unload_replaced(slices).await?;
        let mut changes = GraphChanges::new(self.engine);
        let outcome = self.try_merge(&mut changes, slices).await;
        changes.end(outcome).await
    }

    /// Removes the records of large replaced versions from the graph, so that the rest of them fits into one commit.
    async fn unload_replaced(&self, slices: &[Slice]) -> Result<(), Stop> {
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
            Err(error @ (IndexError::OtherSettings(_) | IndexError::AbsentModels(_))) => {
                Err(Stop::Fatal(error))
            }
        }
    }

    async fn try_merge(&self, changes: &mut GraphChanges<'_>, slices: &[Slice]) -> Result<Vec<Job>, Stop> {
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
            // A version replaced by another one in this same merge leaves without having entered.
            let entering: Vec<&Slice> =
                slices.iter().filter(|slice| !replaced.contains(&slice.ready.document.id)).collect();
            let mut change = GraphChange::default();
            let chunk_records = entering.iter().flat_map(|slice| &slice.chunk_records);
            change.added.extend(
                chunk_records
                    .map(|chunk_records| (chunk_records.chunk.clone(), chunk_records.records().clone())),
            );
            let replaced: Vec<DocumentId> = replaced.into_iter().collect();
            let old_chunks = snapshot.chunks_of(&replaced).await?;
            change.removed =
                old_chunks.into_iter().flatten().map(|chunk| chunk.id).collect::<BTreeSet<ChunkId>>();
            let (Derivation { mut batch, .. }, texts) =
                changes.derive(snapshot.as_ref(), &change, Summaries::Later).await?;
            drop(change);
            let derived_from = snapshot.graph_revision();
            drop(snapshot);
            let (count, started_at) = (texts.len(), self.engine.clock.now());
            changes.embed(texts, None, &mut batch).await?;
            self.pace.count(count, self.engine.clock.now().0.saturating_sub(started_at.0));
            batch.remove_documents = replaced;
            // Layers become outdated even if no chunk names anything.
            batch.outdates_layers = true;
            for slice in &entering {
                self.finish(changes, slice, &mut batch).await?;
            }
            let jobs = batch.put_jobs.clone();
            if changes.commit(derived_from, batch).await.map_err(Stop::overtaken)? {
                for slice in entering {
                    self.extracted(slice.chunk_records.iter().filter_map(ChunkRecords::by_rules));
                    if slice.is_last() {
                        self.finished(&slice.ready);
                    }
                }
                return Ok(jobs);
            }
        }
    }

    /// Returns the next slice of a document; `None` if the document stopped.
    async fn next_slice(&self, ready: ExtractedDocument) -> Result<Option<Slice>, IndexError> {
        let mut slice = Slice { end: ready.entered, ready, chunk_records: Vec::new(), records: 0 };
        match self.fill_slice(&mut slice).await {
            Ok(()) => Ok(Some(slice)),
            Err(stop) => self.stop(&slice.ready.job, &slice.ready.document, stop).await.map(|_| None),
        }
    }

    /// Adds chunks with their records to a slice, as many as fit into one commit and at least one.
    async fn fill_slice(&self, slice: &mut Slice) -> Result<(), Stop> {
        let index = &self.engine.index;
        let most = index.max_merge_chunks.max(1).min(slice.ready.chunks.len() - slice.ready.entered);
        let most_records = self.pace.records(index.max_merge_records);
        while slice.chunks() < most && slice.records <= most_records {
            let next = slice.end..slice.end + READ_CHUNKS.min(most - slice.chunks());
            let ids: Vec<ChunkId> =
                slice.ready.chunks[next.clone()].iter().map(|chunk| chunk.id.clone()).collect();
            let stored = self.engine.store.snapshot().await?.chunks(&ids).await?;
            for (at, stored) in next.zip(stored) {
                if let Some(chunk_records) = self.chunk_records(&slice.ready, at, stored).await? {
                    let Records { entities, relations, claims, themes: _ } = chunk_records.records();
                    let records = entities.len() + relations.len() + claims.len();
                    if slice.chunks() > 0 && slice.records + records > most_records {
                        return Ok(());
                    }
                    slice.records += records;
                    slice.chunk_records.push(chunk_records);
                }
                slice.end = at + 1;
            }
        }
        Ok(())
    }

    /// Returns the chunk at index `at` of a document with its records: from its stored extraction, or from the rules without an
    /// extraction model. `None` if it adds none.
    ///
    /// - `stored`: the chunk with its text.
    async fn chunk_records(
        &self,
        ready: &ExtractedDocument,
        at: usize,
        stored: Option<Chunk>,
    ) -> Result<Option<ChunkRecords>, Stop> {
        let engine = self.engine;
        let known = &ready.chunks[at];
        if !ready.adds_records_of(known) {
            return Ok(None);
        }
        let Some(chunk) = stored else { return Err(Stop::Lost) };
        let by_rules = engine.models.extract.is_none();
        let rules_key = || rules_key(engine, &chunk);
        if by_rules && known.extraction.is_queued() {
            let key = rules_key();
            let set = Some(ChunkExtraction::Done { key: key.clone() });
            let extraction = run_rules(engine, &chunk, key);
            // Gives a request to stop the run a chance to be handled.
            yield_now().await;
            return Ok(Some(ChunkRecords { chunk, extraction: RecordSource::ByRules(extraction), set }));
        }
        let Some(key) = known.extraction.key().cloned() else { return Ok(None) };
        let is_large = ready.chunks.len() > engine.index.max_merge_chunks;
        if is_large && by_rules && ready.renewed.is_none() && key == rules_key() {
            // Extractions by rules are stored with the slice that adds them, so an earlier run has added this one.
            return Ok(None);
        }
        let stored = engine.store.snapshot().await?.extractions(std::slice::from_ref(&key)).await?;
        let records =
            stored.into_iter().flatten().next().map(|extraction| extraction.records).unwrap_or_default();
        let set = ready.renewed.as_ref().map(|_| known.extraction.clone());
        Ok(Some(ChunkRecords { chunk, extraction: RecordSource::Stored(records), set }))
    }

    /// Adds to the batch what completes or continues a document's job, besides the graph itself.
    async fn finish(
        &self,
        changes: &mut GraphChanges<'_>,
        slice: &Slice,
        batch: &mut Batch,
    ) -> Result<(), Stop> {
        let Slice { ready, chunk_records, .. } = slice;
        if slice.replaces() {
            batch.activate_documents.push(ready.document.id.clone());
            // The chunks of a larger document are already embedded.
            if ready.chunks.len() <= self.engine.index.max_merge_chunks {
                let ids: Vec<ChunkId> = ready.chunks.iter().map(|chunk| chunk.id.clone()).collect();
                let snapshot = self.engine.store.snapshot().await?;
                let chunk_contexts = snapshot.chunk_contexts(&ids).await?;
                let chunks: Vec<Chunk> = snapshot.chunks(&ids).await?.into_iter().flatten().collect();
                drop(snapshot);
                let texts = chunk_texts(&chunks, &context_texts(chunk_contexts.iter().flatten()));
                changes.embed(texts, Some(&ready.document.id), batch).await?;
            }
        }
        batch.require.push(Require::JobIs(ready.job.clone()));
        batch.put_jobs.push(if slice.is_last() {
            Job { state: JobState::Merged, lease: None, ..ready.job.clone() }
        } else {
            Job { lease: Some(self.lease(self.engine.clock.now())), ..ready.job.clone() }
        });
        let by_rules = chunk_records.iter().filter_map(ChunkRecords::by_rules);
        let by_rules: BTreeMap<&ExtractionKey, &Extraction> =
            by_rules.map(|extraction| (&extraction.key, extraction)).collect();
        batch.put_extractions.extend(by_rules.into_values().cloned());
        for ChunkRecords { chunk, set, .. } in chunk_records {
            if ready.renewed.is_some() {
                batch.remove_renewals.push(chunk.id.clone());
            }
            batch.set_extractions.extend(set.clone().map(|set| (chunk.id.clone(), set)));
        }
        Ok(())
    }
}

/// Yields once to the other tasks of this thread.
async fn yield_now() {
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

/// True if every document's job is still as it was prepared.
async fn still_ours(snapshot: &dyn Snapshot, slices: &[Slice]) -> Result<bool, StoreError> {
    let ids: Vec<DocumentId> = slices.iter().map(|slice| slice.ready.document.id.clone()).collect();
    let jobs = snapshot.jobs(&ids).await?;
    Ok(jobs.iter().zip(slices).all(|(job, slice)| job.as_ref() == Some(&slice.ready.job)))
}

/// Returns the other versions of a document's source.
async fn other_versions(snapshot: &dyn Snapshot, document: &Document) -> Result<Vec<DocumentId>, StoreError> {
    let versions = snapshot.documents_of_sources(std::slice::from_ref(&document.source)).await?;
    Ok(versions.into_iter().flatten().map(|version| version.id).filter(|id| *id != document.id).collect())
}
