//! Working through the jobs: embed chunks, extract each, merge what is ready.
//!
//! Every step is one commit, so a run may end anywhere (dropped, killed, out of power) and the next one goes on from
//! the last commit. Documents are prepared side by side; one merger applies them to the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use futures::channel::mpsc;
use futures::{SinkExt, StreamExt, TryStreamExt, stream};
use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, Document, DocumentId, Extraction, ExtractionKey, Job, JobState,
    Lease, ModelError, Progress, ProgressSink, Records, Require, Stage, StoreError, Timestamp, VectorKind,
    Visibility,
};

use super::settle::settle;
use super::{IndexError, MAX_CONFLICTS, RunReport};
use crate::Engine;
use crate::extract::{Extracted, extract_by_model, extract_by_rules, extraction_key};
use crate::graph::{DeriveError, GraphChange, Summaries, embed, rederive};

/// Documents that may wait for the merger; more make the extraction wait, which bounds memory.
const READY_DOCUMENTS: usize = 64;
/// Most documents of one merge. Entities they share are derived and embedded once.
const MERGE_DOCUMENTS: usize = 64;
/// Documents after which stale entities and relations are derived again without waiting for the end of the run.
const DOCUMENTS_UNTIL_SETTLED: usize = 16_384;
/// Times a chunk is tried whose answers are damaged again and again; then the best of them counts as the answer.
pub const MAX_DAMAGED_ATTEMPTS: u32 = 3;
/// Jobs read per page when leases of gone workers are released.
const PAGE: usize = 500;

/// Works until no job is left that this worker can take, and says what was done.
///
/// - `gone` says whether the worker of that name has ended; its jobs are queued again at the start.
/// - A chunk whose extraction fails is recorded and left to [`retry`]; it never fails its document. A document that
///   cannot go on for now (its vectors fail, say) is reported, left as it is, and taken up by the next run.
/// - A model that nothing but a person can bring to answer (wrong key, nothing listening) ends the run with an error.
///   What was committed stays.
/// - Dropping the future cancels it; nothing is half-written.
pub async fn run(
    engine: &Engine,
    progress: ProgressSink<'_>,
    gone: &(dyn Fn(&str) -> bool + Send + Sync),
) -> Result<RunReport, IndexError> {
    // A run that was dropped may have left a commit under way; what it leased shows only after that.
    engine.store.commit(Batch::default()).await?;
    release_leases(engine, |lease| lease.owner == engine.index.worker || gone(&lease.owner)).await?;
    let calls = Permits::new(engine.index.max_concurrent_calls);
    let run = Run { engine, progress, calls, report: Mutex::default() };
    let (ready, merged) = mpsc::channel(READY_DOCUMENTS);
    let prepare = async {
        let mut ready = ready;
        let prepared =
            stream::unfold((), |()| async { run.claim().await.transpose().map(|jobs| (jobs, ())) })
                .map_ok(|jobs| stream::iter(jobs.into_iter().map(Ok::<_, IndexError>)))
                .try_flatten()
                .map_ok(|job| run.prepare(job))
                .try_buffer_unordered(engine.index.max_concurrent_documents.max(1));
        let mut prepared = std::pin::pin!(prepared);
        while let Some(document) = prepared.try_next().await? {
            // The merger ends before the preparation only with an error, which ends both.
            if let Some(document) = document
                && ready.send(document).await.is_err()
            {
                break;
            }
        }
        Ok::<(), IndexError>(())
    };
    let merge = async {
        let mut batches = merged.ready_chunks(MERGE_DOCUMENTS);
        let mut unsettled = 0;
        while let Some(documents) = batches.next().await {
            unsettled += documents.len();
            run.merge(documents).await?;
            if unsettled >= DOCUMENTS_UNTIL_SETTLED && !run.is_over_budget() {
                settle(engine, progress).await?;
                unsettled = 0;
            }
        }
        Ok::<(), IndexError>(())
    };
    let outcome = futures::try_join!(prepare, merge);
    release_leases(engine, |lease| lease.owner == engine.index.worker).await?;
    outcome?;
    let settled = settle(engine, progress).await?;
    let mut report = run.report.into_inner().unwrap_or_default();
    (report.stale, report.stale_reason) = (settled.unfinished, settled.reason);
    report.over_budget = report.over_budget.or(settled.over_budget);
    Ok(report)
}

/// Queues the failed and damaged chunks of these documents again and returns how many there were; [`run`] then works on
/// them. What was saved of damaged ones counts until then.
pub async fn retry(engine: &Engine, documents: &[DocumentId]) -> Result<u32, IndexError> {
    let snapshot = engine.store.snapshot().await?;
    let chunks = snapshot.chunks_of(documents).await?;
    let jobs = snapshot.jobs(documents).await?;
    drop(snapshot);
    let mut batch = Batch::default();
    for (chunks, job) in chunks.into_iter().zip(jobs) {
        let Some(job) = job else { continue };
        let queued = chunks.into_iter().filter_map(|chunk| {
            let queued = match chunk.extraction {
                ChunkExtraction::Failed { .. } => ChunkExtraction::Pending,
                ChunkExtraction::Damaged { key, reason, attempts, again: false } => {
                    ChunkExtraction::Damaged { key, reason, attempts, again: true }
                }
                ChunkExtraction::Pending
                | ChunkExtraction::Done { .. }
                | ChunkExtraction::Damaged { again: true, .. } => return None,
            };
            Some((chunk.id, queued))
        });
        let before = batch.set_extractions.len();
        batch.set_extractions.extend(queued);
        if batch.set_extractions.len() == before && !matches!(job.state, JobState::Failed { .. }) {
            continue;
        }
        let state = if job.state == JobState::Accepted { JobState::Accepted } else { JobState::Chunked };
        let require = Require::Lease { document: job.document.clone(), lease: job.lease.clone() };
        batch.require.push(require);
        batch.put_jobs.push(Job { state, ..job });
    }
    let queued = batch.set_extractions.len() as u32;
    engine.store.commit(batch).await?;
    Ok(queued)
}

/// Takes away the leases for which `which` holds, so that their jobs can be claimed.
async fn release_leases(engine: &Engine, which: impl Fn(&Lease) -> bool) -> Result<(), StoreError> {
    let mut after: Option<DocumentId> = None;
    loop {
        let snapshot = engine.store.snapshot().await?;
        let page = snapshot.scan_jobs(after.as_ref(), PAGE).await?;
        drop(snapshot);
        after = page.last().map(|job| job.document.clone());
        let end = page.len() < PAGE;
        for job in page {
            if job.lease.as_ref().is_some_and(&which) {
                let require =
                    vec![Require::Lease { document: job.document.clone(), lease: job.lease.clone() }];
                let batch = Batch { require, put_jobs: vec![Job { lease: None, ..job }], ..Batch::default() };
                match engine.store.commit(batch).await {
                    Ok(_) => {}
                    Err(error) if error.is_conflict() => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if end {
            return Ok(());
        }
    }
}

/// One run's view of the world.
struct Run<'a> {
    engine: &'a Engine,
    progress: ProgressSink<'a>,
    /// Held from before a call until its result is committed, so a crash costs no more calls than there are permits.
    calls: Permits,
    report: Mutex<RunReport>,
}

/// A bounded number of permits, shared by all documents of a run.
struct Permits {
    free: futures::lock::Mutex<mpsc::Receiver<()>>,
    back: mpsc::Sender<()>,
}

/// One permit; dropping it gives it back.
struct Permit(mpsc::Sender<()>);

impl Permits {
    fn new(count: usize) -> Self {
        let (mut back, free) = mpsc::channel(count.max(1));
        for _ in 0..count.max(1) {
            // The channel holds as many as there are permits, so there is room.
            let _ = back.try_send(());
        }
        Self { free: futures::lock::Mutex::new(free), back }
    }

    async fn acquire(&self) -> Permit {
        // The sender lives in `self`, so the channel never ends.
        let _ = self.free.lock().await.next().await;
        Permit(self.back.clone())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let _ = self.0.try_send(());
    }
}

/// A document all of whose chunks were asked about.
struct Ready {
    job: Job,
    document: Document,
    chunks: Vec<Chunk>,
    /// Extractions by rules, which are stored with the merge for they cost nothing to make again.
    unstored: BTreeMap<ExtractionKey, Extraction>,
}

/// Why a document did not get on.
enum Stop {
    /// It was removed, replaced or taken over meanwhile: no longer ours.
    Lost,
    /// It waits for the next run.
    Later(String),
    /// Nothing helps but a change by a person, and then [`retry`].
    Failed(String),
    /// The budget does not reach; the next run goes on.
    OverBudget(String),
    /// The whole run ends.
    Fatal(IndexError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        if error.is_conflict() { Self::Lost } else { Self::Fatal(error.into()) }
    }
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Self {
        match error {
            error if needs_a_person(&error) => Self::Fatal(error.into()),
            ModelError::Refused { .. } => Self::Failed(chain(&error)),
            ModelError::OverBudget { what, .. } => Self::OverBudget(what),
            error => Self::Later(chain(&error)),
        }
    }
}

impl Run<'_> {
    /// Claims the next jobs; `None` when there are none left to take.
    async fn claim(&self) -> Result<Option<Vec<Job>>, IndexError> {
        if self.is_over_budget() {
            return Ok(None);
        }
        let limit = self.engine.index.max_concurrent_documents.max(1) * 2;
        for _ in 0..MAX_CONFLICTS {
            let now = self.engine.clock.now();
            let snapshot = self.engine.store.snapshot().await?;
            let jobs = snapshot.claimable_jobs(now, limit).await?;
            drop(snapshot);
            if jobs.is_empty() {
                return Ok(None);
            }
            let mut batch = Batch::default();
            for job in jobs {
                batch
                    .require
                    .push(Require::Lease { document: job.document.clone(), lease: job.lease.clone() });
                batch.put_jobs.push(Job { lease: Some(self.lease(now)), attempts: job.attempts + 1, ..job });
            }
            let claimed = batch.put_jobs.clone();
            match self.engine.store.commit(batch).await {
                Ok(_) => return Ok(Some(claimed)),
                Err(error) if error.is_conflict() => tracing::debug!(%error, "claiming again"),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    fn lease(&self, now: Timestamp) -> Lease {
        Lease {
            owner: self.engine.index.worker.clone(),
            expires_at: Timestamp(now.0 + self.engine.index.lease_ms),
        }
    }

    /// Brings a document to where it can be merged; `None` where it is lost or waits for the next run.
    async fn prepare(&self, mut job: Job) -> Result<Option<Ready>, IndexError> {
        let snapshot = self.engine.store.snapshot().await?;
        let document =
            snapshot.documents(std::slice::from_ref(&job.document)).await?.into_iter().next().flatten();
        let chunks = snapshot.chunks_of(std::slice::from_ref(&job.document)).await?.into_iter().next();
        drop(snapshot);
        let (Some(document), Some(mut chunks)) = (document, chunks) else { return Ok(None) };
        let prepared = async {
            if job.state == JobState::Accepted {
                self.embed_chunks(&mut job, &document, &chunks).await?;
            }
            self.extract(&mut job, &document, &mut chunks).await
        };
        match prepared.await {
            Ok(unstored) => Ok(Some(Ready { job, document, chunks, unstored })),
            Err(Stop::Lost) => Ok(None),
            Err(Stop::Later(reason)) => {
                self.stopped(&document, reason);
                Ok(None)
            }
            Err(Stop::Failed(reason)) => {
                self.fail(&job, &document, reason).await?;
                Ok(None)
            }
            Err(Stop::OverBudget(what)) => {
                self.over_budget(what);
                Ok(None)
            }
            Err(Stop::Fatal(error)) => Err(error),
        }
    }

    /// Records that a job cannot go on, unless it is no longer ours.
    async fn fail(&self, job: &Job, document: &Document, reason: String) -> Result<(), IndexError> {
        let require = vec![Require::Lease { document: job.document.clone(), lease: job.lease.clone() }];
        let failed = Job { state: JobState::Failed { reason: reason.clone() }, lease: None, ..job.clone() };
        match self.engine.store.commit(Batch { require, put_jobs: vec![failed], ..Batch::default() }).await {
            Ok(_) => self.stopped(document, reason),
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Makes the chunks of a live document findable by vector; those of a staged one wait for the merge.
    async fn embed_chunks(&self, job: &mut Job, document: &Document, chunks: &[Chunk]) -> Result<(), Stop> {
        let mut batch = Batch::default();
        if document.visibility == Visibility::Live {
            embed(self.engine, chunk_texts(chunks), Some(&document.id), &mut batch).await?;
        }
        self.commit_step(job, JobState::Chunked, batch).await?;
        self.advanced(document, Stage::Chunk, chunks.len(), chunks.len());
        Ok(())
    }

    /// Commits `batch` with the job's next state and a renewed lease, if the job is still ours.
    async fn commit_step(&self, job: &mut Job, state: JobState, mut batch: Batch) -> Result<(), StoreError> {
        let next = Job { state, lease: Some(self.lease(self.engine.clock.now())), ..job.clone() };
        batch.require.push(Require::Lease { document: job.document.clone(), lease: job.lease.clone() });
        batch.put_jobs.push(next.clone());
        self.engine.store.commit(batch).await?;
        *job = next;
        Ok(())
    }

    /// Asks about every chunk that has no extraction yet. What a model says is committed as it arrives; what rules say
    /// is returned.
    async fn extract(
        &self,
        job: &mut Job,
        document: &Document,
        chunks: &mut [Chunk],
    ) -> Result<BTreeMap<ExtractionKey, Extraction>, Stop> {
        let total = chunks.len();
        let model = self.engine.models.extract.as_deref();
        let spec = &self.engine.index.extract;
        let prompts = &self.engine.prompts;
        let key_of = |chunk: &Chunk| extraction_key(chunk, spec, prompts, model.map(|model| model.name()));
        let mut wanted: BTreeMap<ExtractionKey, Vec<usize>> = BTreeMap::new();
        for (at, chunk) in chunks.iter().enumerate() {
            if chunk.extraction.is_queued() {
                wanted.entry(key_of(chunk)).or_default().push(at);
            }
        }
        let mut done = total - wanted.values().map(Vec::len).sum::<usize>();
        let Some(model) = model else {
            let mut unstored = BTreeMap::new();
            for (key, places) in wanted {
                for at in &places {
                    chunks[*at].extraction = ChunkExtraction::Done { key: key.clone() };
                }
                let extraction = extract_by_rules(&chunks[places[0]], key.clone());
                self.count(|report| report.extracted += places.len() as u32);
                unstored.insert(key, extraction);
            }
            self.advanced(document, Stage::Extract, total, total);
            return Ok(unstored);
        };

        let reused = self.reuse(job, chunks, &mut wanted).await?;
        done += reused;
        // One question per distinct text; the answers are applied to every chunk that asked.
        let questions: Vec<(ExtractionKey, Vec<usize>, Chunk)> = wanted
            .into_iter()
            .map(|(key, places)| (key, places.clone(), chunks[places[0]].clone()))
            .collect();
        let clock = self.engine.clock.as_ref();
        let mut answers = stream::iter(questions)
            .map(|(key, places, chunk)| async move {
                let permit = self.calls.acquire().await;
                (
                    key.clone(),
                    places,
                    extract_by_model(&chunk, key, spec, prompts, model, clock).await,
                    permit,
                )
            })
            .buffer_unordered(self.engine.index.max_concurrent_calls.max(1));
        let (mut fatal, mut over_budget) = (None, None);
        while let Some((key, places, Extracted { result, losses, mut calls }, permit)) = answers.next().await
        {
            calls.retain(|call| call.attempts > 0);
            let mut batch = Batch { append_calls: calls, ..Batch::default() };
            let state = match result {
                Ok(extraction) if losses.is_empty() => {
                    batch.put_extractions.push(extraction);
                    self.count(|report| report.extracted += places.len() as u32);
                    ChunkExtraction::Done { key }
                }
                Ok(saved) => {
                    let before: Vec<&ChunkExtraction> =
                        places.iter().map(|at| &chunks[*at].extraction).collect();
                    let (state, extraction) = self.damaged(key, saved, losses.describe(), &before).await?;
                    batch.put_extractions.push(extraction);
                    self.count(|report| report.extracted += places.len() as u32);
                    if let ChunkExtraction::Damaged { reason, .. } = &state {
                        self.count(|report| report.damaged_chunks += places.len() as u32);
                        places
                            .iter()
                            .for_each(|at| self.chunk_damaged(document, chunks[*at].ordinal, reason));
                    }
                    state
                }
                // The run ends, but not before what was paid for is stored.
                Err(error) if needs_a_person(&error) => {
                    fatal = Some(error);
                    let state = job.state.clone();
                    self.commit_step(job, state, batch).await?;
                    break;
                }
                // These chunks wait for the next run, and answers that are on their way are still stored.
                Err(ModelError::OverBudget { what, .. }) => {
                    over_budget = Some(what);
                    if !batch.append_calls.is_empty() {
                        let state = job.state.clone();
                        self.commit_step(job, state, batch).await?;
                    }
                    continue;
                }
                Err(error) => {
                    let reason = chain(&error);
                    self.count(|report| report.failed_chunks += places.len() as u32);
                    for at in &places {
                        self.chunk_failed(document, chunks[*at].ordinal, &reason);
                    }
                    ChunkExtraction::Failed { reason, attempts: job.attempts }
                }
            };
            for at in &places {
                let chunk = &mut chunks[*at];
                chunk.extraction = match (&state, &chunk.extraction) {
                    // What was saved before still counts.
                    (
                        ChunkExtraction::Failed { .. },
                        ChunkExtraction::Damaged { key, reason, attempts, .. },
                    ) => {
                        let (key, reason) = (key.clone(), reason.clone());
                        ChunkExtraction::Damaged { key, reason, attempts: *attempts, again: false }
                    }
                    _ => state.clone(),
                };
                batch.set_extractions.push((chunk.id.clone(), chunk.extraction.clone()));
            }
            let job_state = job.state.clone();
            self.commit_step(job, job_state, batch).await?;
            drop(permit);
            done += places.len();
            self.advanced(document, Stage::Extract, done, total);
        }
        match (fatal, over_budget) {
            (Some(error), _) => Err(Stop::Fatal(error.into())),
            (None, Some(what)) => Err(Stop::OverBudget(what)),
            (None, None) => Ok(BTreeMap::new()),
        }
    }

    /// The state of a chunk of whose answer records were lost, and the extraction that speaks for it: what was saved now, or
    /// `before` where that is more. After [`MAX_DAMAGED_ATTEMPTS`] it counts as the answer, its loss among its rejects.
    async fn damaged(
        &self,
        key: ExtractionKey,
        saved: Extraction,
        reason: String,
        before: &[&ChunkExtraction],
    ) -> Result<(ChunkExtraction, Extraction), StoreError> {
        let (mut best, mut attempts) = (saved, 1);
        for before in before {
            if let ChunkExtraction::Damaged { key, attempts: tried, .. } = before {
                attempts = attempts.max(tried + 1);
                let stored =
                    self.engine.store.snapshot().await?.extractions(std::slice::from_ref(key)).await?;
                let size = |records: &Records| records.entities.len() + records.relations.len();
                let more = |stored: &Extraction| size(&stored.records) > size(&best.records);
                if let Some(stored) = stored.into_iter().flatten().next().filter(more) {
                    best = stored;
                }
            }
        }
        if attempts >= MAX_DAMAGED_ATTEMPTS {
            return Ok((ChunkExtraction::Done { key: key.clone() }, Extraction { key, ..best }));
        }
        let key = best.key.clone();
        Ok((ChunkExtraction::Damaged { key, reason, attempts, again: false }, best))
    }

    /// Takes extractions that the store already has, so that nothing paid for is paid for again; returns how many
    /// chunks that settled.
    async fn reuse(
        &self,
        job: &mut Job,
        chunks: &mut [Chunk],
        wanted: &mut BTreeMap<ExtractionKey, Vec<usize>>,
    ) -> Result<usize, Stop> {
        let keys: Vec<ExtractionKey> = wanted.keys().cloned().collect();
        let snapshot = self.engine.store.snapshot().await?;
        let known = snapshot.extractions(&keys).await?;
        drop(snapshot);
        let mut batch = Batch::default();
        for (key, known) in keys.into_iter().zip(known) {
            if known.is_none() {
                continue;
            }
            for at in wanted.remove(&key).unwrap_or_default() {
                chunks[at].extraction = ChunkExtraction::Done { key: key.clone() };
                batch.set_extractions.push((chunks[at].id.clone(), chunks[at].extraction.clone()));
            }
        }
        let reused = batch.set_extractions.len();
        if reused > 0 {
            self.count(|report| report.reused += reused as u32);
            let state = job.state.clone();
            self.commit_step(job, state, batch).await?;
        }
        Ok(reused)
    }

    /// Applies ready documents to the graph: one derivation and one commit for all of them. Where that fails for a
    /// reason of one document, each is tried alone.
    async fn merge(&self, documents: Vec<Ready>) -> Result<(), IndexError> {
        match self.merge_all(&documents).await {
            Ok(()) => return Ok(()),
            Err(Stop::Fatal(error)) => return Err(error),
            Err(Stop::Later(reason)) if documents.len() == 1 => self.stopped(&documents[0].document, reason),
            Err(Stop::Failed(reason)) if documents.len() == 1 => {
                self.fail(&documents[0].job, &documents[0].document, reason).await?;
            }
            Err(Stop::Lost) if documents.len() == 1 => {}
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
        for _ in 0..MAX_CONFLICTS {
            let snapshot = self.engine.store.snapshot().await?;
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
            let derived = rederive(self.engine, snapshot.as_ref(), &change, Summaries::Later).await;
            let mut batch = match derived {
                Ok(derivation) => derivation.batch,
                Err(DeriveError::Store(error)) => return Err(error.into()),
                Err(DeriveError::Model(error)) => return Err(error.into()),
            };
            batch.require.push(Require::GraphUnchangedSince(snapshot.graph_revision()));
            drop(snapshot);
            batch.remove_documents = replaced;
            for ready in &documents {
                self.finish(ready, &mut batch).await?;
            }
            match self.engine.store.commit(batch).await {
                Ok(_) => {
                    documents.into_iter().for_each(|ready| self.finished(ready));
                    return Ok(());
                }
                // Another process merged first, or took a document away; look again.
                Err(error) if error.is_conflict() => tracing::debug!(%error, "merging again"),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Stop::Later(format!("other processes changed the graph {MAX_CONFLICTS} times in a row")))
    }

    /// What ends a document's job besides the graph itself.
    async fn finish(&self, ready: &Ready, batch: &mut Batch) -> Result<(), Stop> {
        if ready.document.visibility == Visibility::Staged {
            batch.activate_documents.push(ready.document.id.clone());
            embed(self.engine, chunk_texts(&ready.chunks), Some(&ready.document.id), batch).await?;
        }
        batch
            .require
            .push(Require::Lease { document: ready.job.document.clone(), lease: ready.job.lease.clone() });
        batch.put_jobs.push(Job { state: JobState::Merged, lease: None, ..ready.job.clone() });
        batch.put_extractions.extend(ready.unstored.values().cloned());
        for chunk in &ready.chunks {
            if let ChunkExtraction::Done { key } = &chunk.extraction
                && ready.unstored.contains_key(key)
            {
                batch.set_extractions.push((chunk.id.clone(), chunk.extraction.clone()));
            }
        }
        Ok(())
    }

    fn count(&self, change: impl FnOnce(&mut RunReport)) {
        if let Ok(mut report) = self.report.lock() {
            change(&mut report);
        }
    }

    fn over_budget(&self, what: String) {
        self.count(|report| {
            report.over_budget.get_or_insert(what);
        });
    }

    fn is_over_budget(&self) -> bool {
        self.report.lock().is_ok_and(|report| report.over_budget.is_some())
    }

    fn finished(&self, ready: &Ready) {
        let count = |of: fn(&ChunkExtraction) -> bool| {
            ready.chunks.iter().filter(|chunk| of(&chunk.extraction)).count() as u32
        };
        let failed = count(|extraction| matches!(extraction, ChunkExtraction::Failed { .. }));
        let damaged = count(|extraction| matches!(extraction, ChunkExtraction::Damaged { .. }));
        self.count(|report| {
            report.finished += 1;
            report.incomplete += u32::from(failed + damaged > 0);
        });
        let (document, source) = (ready.document.id.clone(), ready.document.source.clone());
        let chunks = ready.chunks.len() as u32;
        (self.progress)(Progress::Finished { document, source, chunks, failed, damaged });
    }

    fn stopped(&self, document: &Document, reason: String) {
        self.count(|report| report.failed += 1);
        (self.progress)(Progress::Failed {
            document: document.id.clone(),
            source: document.source.clone(),
            reason,
        });
    }

    fn chunk_failed(&self, document: &Document, ordinal: u32, reason: &str) {
        let (document, source) = (document.id.clone(), document.source.clone());
        (self.progress)(Progress::ChunkFailed { document, source, ordinal, reason: reason.to_owned() });
    }

    fn chunk_damaged(&self, document: &Document, ordinal: u32, reason: &str) {
        let (document, source) = (document.id.clone(), document.source.clone());
        (self.progress)(Progress::ChunkDamaged { document, source, ordinal, reason: reason.to_owned() });
    }

    fn advanced(&self, document: &Document, stage: Stage, done: usize, total: usize) {
        let (document, source) = (document.id.clone(), document.source.clone());
        (self.progress)(Progress::Advanced {
            document,
            source,
            stage,
            done: done as u32,
            total: total as u32,
        });
    }
}

/// Whether every document's job still carries the lease it was prepared under.
async fn still_ours(
    snapshot: &dyn graphloom_core::Snapshot,
    documents: &[Ready],
) -> Result<bool, StoreError> {
    let ids: Vec<DocumentId> = documents.iter().map(|ready| ready.document.id.clone()).collect();
    let jobs = snapshot.jobs(&ids).await?;
    Ok(jobs
        .iter()
        .zip(documents)
        .all(|(job, ready)| job.as_ref().is_some_and(|job| job.lease == ready.job.lease)))
}

/// The records of a ready document's chunks, those without an extraction left out.
async fn records_of(
    snapshot: &dyn graphloom_core::Snapshot,
    ready: &Ready,
) -> Result<Vec<(Chunk, Records)>, StoreError> {
    let chunks: Vec<(&Chunk, ExtractionKey)> =
        ready.chunks.iter().filter_map(|chunk| Some((chunk, chunk.extraction.key()?.clone()))).collect();
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
async fn other_versions(
    snapshot: &dyn graphloom_core::Snapshot,
    document: &Document,
) -> Result<Vec<DocumentId>, StoreError> {
    let versions = snapshot.documents_of_sources(std::slice::from_ref(&document.source)).await?;
    Ok(versions.into_iter().flatten().map(|version| version.id).filter(|id| *id != document.id).collect())
}

fn chunk_texts(chunks: &[Chunk]) -> Vec<(VectorKind, String, String)> {
    chunks.iter().map(|chunk| (VectorKind::Chunk, chunk.id.to_string(), chunk.text.clone())).collect()
}

/// Whether every further call would fail the same way until a person changes something.
pub(super) fn needs_a_person(error: &ModelError) -> bool {
    match error {
        ModelError::Unauthorized { .. }
        | ModelError::Unreachable { .. }
        | ModelError::ShapeRefused { .. }
        | ModelError::Local { .. } => true,
        ModelError::Timeout { .. }
        | ModelError::RateLimited { .. }
        | ModelError::Refused { .. }
        | ModelError::Server { .. }
        | ModelError::OverBudget { .. }
        | ModelError::Malformed { .. } => false,
    }
}

/// An error with its causes, for people.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
