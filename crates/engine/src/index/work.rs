//! Working through the jobs: embed chunks, extract each, merge what is ready.
//!
//! Every step is one commit, so a run may end anywhere (dropped, killed, out of power) and the next one goes on from
//! the last commit. Documents are prepared side by side; one merger applies them to the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use futures::channel::mpsc;
use futures::{SinkExt, Stream, StreamExt, TryStreamExt, stream};
use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, Document, DocumentId, Extraction, ExtractionKey, Job, JobState,
    Lease, ModelError, Progress, ProgressSink, Records, Renewal, Require, Stage, StoreError, Timestamp,
    TrackId, VectorKind, Visibility,
};

use super::settle::settle;
use super::{IndexError, MAX_CONFLICTS, RunReport};
use crate::Engine;
use crate::extract::{Extracted, extract_by_model, extract_by_rules, extraction_key};
use crate::graph::{DeriveError, GraphChange, Summaries, embed, rederive};
use crate::offline::RULES;

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
    let run = Run::new(engine, progress);
    let jobs = stream::unfold((), |()| async { run.claim().await.transpose().map(|jobs| (jobs, ())) })
        .map_ok(|jobs| stream::iter(jobs.into_iter().map(Ok::<_, IndexError>)))
        .try_flatten();
    run.work_through(jobs, |job| run.prepare(job)).await
}

/// What a [`retry`] queued again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Queued {
    /// Documents: with failed chunks, stopped, or cancelled.
    pub documents: u32,
    /// Failed and damaged chunks.
    pub chunks: u32,
}

/// Queues the failed and damaged chunks of these documents again, and documents that stopped or were cancelled; [`run`]
/// then works on them. What was saved of damaged chunks counts until then. The documents are noted as queued by the run `track`.
pub async fn retry(
    engine: &Engine,
    documents: &[DocumentId],
    track: Option<&TrackId>,
) -> Result<Queued, IndexError> {
    for _ in 0..MAX_CONFLICTS {
        let snapshot = engine.store.snapshot().await?;
        let chunks = snapshot.chunks_of(documents).await?;
        let jobs = snapshot.jobs(documents).await?;
        let (mut batch, mut queued) = (Batch::default(), Queued::default());
        for (chunks, job) in chunks.into_iter().zip(jobs) {
            let Some(job) = job else { continue };
            let again: Vec<(ChunkId, ChunkExtraction)> = chunks.iter().filter_map(asked_again).collect();
            let state = match job.state {
                JobState::Accepted | JobState::Chunked | JobState::Merged if again.is_empty() => continue,
                JobState::Accepted => JobState::Accepted,
                JobState::Chunked | JobState::Merged => JobState::Chunked,
                JobState::Failed { .. } | JobState::Cancelled => {
                    let ids: Vec<String> = chunks.iter().map(|chunk| chunk.id.to_string()).collect();
                    let vectors = snapshot.vectors(VectorKind::Chunk, &ids).await?;
                    if vectors.iter().all(Option::is_some) { JobState::Chunked } else { JobState::Accepted }
                }
            };
            queued.documents += 1;
            queued.chunks += again.len() as u32;
            batch.set_extractions.extend(again);
            batch.put_tracks.extend(track.map(|track| (track.clone(), job.document.clone())));
            let require = Require::Lease { document: job.document.clone(), lease: job.lease.clone() };
            batch.require.push(require);
            // Whoever works on it would not see what is queued again, so it is taken up anew.
            batch.put_jobs.push(Job { state, lease: None, ..job });
        }
        drop(snapshot);
        match engine.store.commit(batch).await {
            Ok(_) => return Ok(queued),
            Err(error) if error.is_conflict() => tracing::debug!(%error, "queueing again"),
            Err(error) => return Err(error.into()),
        }
    }
    let what = format!("other processes worked on the same documents {MAX_CONFLICTS} times in a row");
    Err(StoreError::Conflict { what }.into())
}

/// A chunk's state once it is queued again; `None` where there is nothing to ask again.
fn asked_again(chunk: &Chunk) -> Option<(ChunkId, ChunkExtraction)> {
    let again = match &chunk.extraction {
        ChunkExtraction::Failed { .. } => ChunkExtraction::Pending,
        ChunkExtraction::Damaged { key, reason, attempts, again: false } => {
            let (key, reason) = (key.clone(), reason.clone());
            ChunkExtraction::Damaged { key, reason, attempts: *attempts, again: true }
        }
        ChunkExtraction::Pending
        | ChunkExtraction::Done { .. }
        | ChunkExtraction::Damaged { again: true, .. } => return None,
    };
    Some((chunk.id.clone(), again))
}

/// Takes away the leases for which `which` holds, so that their jobs can be claimed.
pub(super) async fn release_leases(
    engine: &Engine,
    which: impl Fn(&Lease) -> bool,
) -> Result<(), StoreError> {
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
pub(super) struct Run<'a> {
    pub(super) engine: &'a Engine,
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
pub(super) struct Ready {
    pub(super) job: Job,
    pub(super) document: Document,
    pub(super) chunks: Vec<Chunk>,
    /// Extractions by rules, which are stored with the merge for they cost nothing to make again.
    pub(super) unstored: BTreeMap<ExtractionKey, Extraction>,
    /// The chunks that were asked about anew, where the document is in the graph already.
    pub(super) renewed: Option<BTreeSet<ChunkId>>,
}

impl Ready {
    /// Whether what is said of the chunk enters the graph with this merge.
    fn brings(&self, chunk: &Chunk) -> bool {
        self.renewed.as_ref().is_none_or(|renewed| renewed.contains(&chunk.id))
    }
}

/// Whether a job is worked on to renew a document that is in the graph. What arrives is kept beside what is said of it,
/// until the whole takes its place.
fn is_renewal(job: &Job) -> bool {
    job.state == JobState::Merged
}

/// Why a document did not get on.
pub(super) enum Stop {
    /// It was removed, replaced or taken over meanwhile: no longer ours.
    Lost,
    /// It waits for the next run.
    Later(String),
    /// Nothing helps but a change by a person, and then [`retry`].
    Failed(String),
    /// The budget does not reach; the next run goes on.
    OverBudget(String),
    /// Somebody paused the queue; a run after it is resumed goes on.
    Paused,
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

impl<'a> Run<'a> {
    pub(super) fn new(engine: &'a Engine, progress: ProgressSink<'a>) -> Self {
        Self {
            engine,
            progress,
            calls: Permits::new(engine.index.max_concurrent_calls),
            report: Mutex::default(),
        }
    }

    /// Prepares everything that `tasks` brings, a bounded number side by side, merges what gets ready, and settles what
    /// that left stale.
    pub(super) async fn work_through<Task, Prepared>(
        &self,
        tasks: impl Stream<Item = Result<Task, IndexError>>,
        prepare: impl Fn(Task) -> Prepared,
    ) -> Result<RunReport, IndexError>
    where
        Prepared: Future<Output = Result<Option<Ready>, IndexError>>,
    {
        let engine = self.engine;
        let (ready, merged) = mpsc::channel(READY_DOCUMENTS);
        let prepare = async {
            let mut ready = ready;
            let documents = engine.index.max_concurrent_documents.max(1);
            let prepared = tasks.map_ok(prepare).try_buffer_unordered(documents);
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
                self.merge(documents).await?;
                if unsettled >= DOCUMENTS_UNTIL_SETTLED && !self.is_stopping() {
                    settle(engine, self.progress).await?;
                    unsettled = 0;
                }
            }
            Ok::<(), IndexError>(())
        };
        let outcome = futures::try_join!(prepare, merge);
        release_leases(engine, |lease| lease.owner == engine.index.worker).await?;
        outcome?;
        let settled = settle(engine, self.progress).await?;
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        report.paused |= settled.paused;
        (report.stale, report.stale_reason) = (settled.unfinished, settled.reason);
        report.over_budget = report.over_budget.or(settled.over_budget);
        Ok(report)
    }

    /// Claims the next jobs; `None` when there are none left to take.
    async fn claim(&self) -> Result<Option<Vec<Job>>, IndexError> {
        if self.is_stopping() {
            return Ok(None);
        }
        let limit = self.engine.index.max_concurrent_documents.max(1) * 2;
        for _ in 0..MAX_CONFLICTS {
            let now = self.engine.clock.now();
            let snapshot = self.engine.store.snapshot().await?;
            let jobs = snapshot.claimable_jobs(now, limit).await?;
            let queue = snapshot.queue().await?;
            drop(snapshot);
            if jobs.is_empty() {
                return Ok(None);
            }
            if queue.is_paused() {
                self.paused();
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

    pub(super) fn lease(&self, now: Timestamp) -> Lease {
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
            if let Some(stop) = self.halt(&document.id).await? {
                return Err(stop);
            }
            if job.state == JobState::Accepted {
                self.embed_chunks(&mut job, &document, &chunks).await?;
            }
            self.extract(&mut job, &document, &mut chunks).await
        };
        match prepared.await {
            Ok(unstored) => Ok(Some(Ready { job, document, chunks, unstored, renewed: None })),
            Err(stop) => self.stop(&job, &document, stop).await,
        }
    }

    /// Tells why a document does not get on; an error where the whole run does not.
    pub(super) async fn stop(
        &self,
        job: &Job,
        document: &Document,
        stop: Stop,
    ) -> Result<Option<Ready>, IndexError> {
        match stop {
            Stop::Lost => self.lost(document).await?,
            Stop::Paused => self.paused(),
            Stop::Later(reason) => self.stopped(document, reason),
            Stop::Failed(reason) => self.fail(job, document, reason).await?,
            Stop::OverBudget(what) => self.over_budget(what),
            Stop::Fatal(error) => return Err(error),
        }
        Ok(None)
    }

    /// Why nothing more may be asked about a document, where that is so.
    pub(super) async fn halt(&self, document: &DocumentId) -> Result<Option<Stop>, StoreError> {
        let snapshot = self.engine.store.snapshot().await?;
        if snapshot.queue().await?.is_paused() {
            return Ok(Some(Stop::Paused));
        }
        let job = snapshot.jobs(std::slice::from_ref(document)).await?.into_iter().next().flatten();
        let holder = job.and_then(|job| job.lease).map(|lease| lease.owner);
        Ok((holder.as_ref() != Some(&self.engine.index.worker)).then_some(Stop::Lost))
    }

    /// Stores what was paid for about a document that is no longer ours: the calls in any case; extractions and vectors
    /// while it waits for nobody in particular.
    async fn keep_paid(&self, document: &DocumentId, paid: Batch) -> Result<(), StoreError> {
        for _ in 0..MAX_CONFLICTS {
            let snapshot = self.engine.store.snapshot().await?;
            let job = snapshot.jobs(std::slice::from_ref(document)).await?.into_iter().next().flatten();
            drop(snapshot);
            let append_calls = paid.append_calls.clone();
            let batch = match job {
                Some(Job { state: JobState::Merged, .. } | Job { lease: Some(_), .. }) | None => {
                    Batch { append_calls, ..Batch::default() }
                }
                Some(Job { lease: None, .. }) => {
                    let answered = |(_, extraction): &&(ChunkId, ChunkExtraction)| extraction.key().is_some();
                    Batch {
                        require: vec![Require::Lease { document: document.clone(), lease: None }],
                        embedding: paid.embedding.clone(),
                        put_vectors: paid.put_vectors.clone(),
                        put_extractions: paid.put_extractions.clone(),
                        set_extractions: paid.set_extractions.iter().filter(answered).cloned().collect(),
                        append_calls,
                        ..Batch::default()
                    }
                }
            };
            match self.engine.store.commit(batch).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_conflict() => tracing::debug!(%error, "keeping again"),
                Err(error) => return Err(error),
            }
        }
        let what = format!("other processes took {document} {MAX_CONFLICTS} times in a row");
        Err(StoreError::Conflict { what })
    }

    /// Tells of a document that is no longer ours where somebody took it out of the queue.
    async fn lost(&self, document: &Document) -> Result<(), StoreError> {
        let snapshot = self.engine.store.snapshot().await?;
        let job = snapshot.jobs(std::slice::from_ref(&document.id)).await?.into_iter().next().flatten();
        if job.is_some_and(|job| job.state == JobState::Cancelled) {
            self.count(|report| report.cancelled += 1);
            let (document, source) = (document.id.clone(), document.source.clone());
            (self.progress)(Progress::Cancelled { document, source });
        }
        Ok(())
    }

    /// Records that a job cannot go on, unless it is no longer ours.
    async fn fail(&self, job: &Job, document: &Document, reason: String) -> Result<(), IndexError> {
        let require = vec![Require::Lease { document: job.document.clone(), lease: job.lease.clone() }];
        // A document that is in the graph stays there.
        let state =
            if is_renewal(job) { JobState::Merged } else { JobState::Failed { reason: reason.clone() } };
        let failed = Job { state, lease: None, ..job.clone() };
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
        if let Err(error) = self.commit_step(job, JobState::Chunked, batch.clone()).await {
            if error.is_conflict() {
                self.keep_paid(&document.id, batch).await?;
            }
            return Err(error.into());
        }
        self.advanced(document, Stage::Chunk, chunks.len(), chunks.len());
        Ok(())
    }

    /// Commits `batch` with the job's next state and a renewed lease, if the job is still ours.
    async fn commit_step(&self, job: &mut Job, state: JobState, mut batch: Batch) -> Result<(), StoreError> {
        if is_renewal(job) {
            let arrived = std::mem::take(&mut batch.set_extractions).into_iter();
            let model = self.engine.models.extract.as_deref().map_or(RULES, |model| model.name());
            let renewal = |(chunk, extraction)| Renewal { chunk, model: model.to_owned(), extraction };
            batch.put_renewals.extend(arrived.map(renewal));
        }
        let next = Job { state, lease: Some(self.lease(self.engine.clock.now())), ..job.clone() };
        batch.require.push(Require::Lease { document: job.document.clone(), lease: job.lease.clone() });
        batch.put_jobs.push(next.clone());
        self.engine.store.commit(batch).await?;
        *job = next;
        Ok(())
    }

    /// Asks about every chunk that has no extraction yet. What a model says is committed as it arrives; what rules say
    /// is returned.
    pub(super) async fn extract(
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
                let answer = match self.halt(&document.id).await {
                    Ok(None) => Ok(extract_by_model(&chunk, key.clone(), spec, prompts, model, clock).await),
                    Ok(Some(stop)) => Err(stop),
                    Err(error) => Err(error.into()),
                };
                (key, places, answer, permit)
            })
            .buffer_unordered(self.engine.index.max_concurrent_calls.max(1));
        let (mut fatal, mut over_budget, mut halted) = (None, None, None);
        while let Some((key, places, answer, permit)) = answers.next().await {
            let Extracted { result, losses, mut calls } = match answer {
                Ok(extracted) => extracted,
                // Nothing more is asked, and answers that are on their way are still stored.
                Err(stop) => {
                    halted.get_or_insert(stop);
                    continue;
                }
            };
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
            match self.commit_step(job, job_state, batch.clone()).await {
                Ok(()) => {}
                Err(error) if error.is_conflict() => {
                    self.keep_paid(&document.id, batch).await?;
                    halted.get_or_insert(Stop::Lost);
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            drop(permit);
            done += places.len();
            self.advanced(document, Stage::Extract, done, total);
        }
        match (fatal, halted, over_budget) {
            (Some(error), ..) => Err(Stop::Fatal(error.into())),
            (None, Some(stop), _) => Err(stop),
            (None, None, Some(what)) => Err(Stop::OverBudget(what)),
            (None, None, None) => Ok(BTreeMap::new()),
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
        for _ in 0..MAX_CONFLICTS {
            let snapshot = self.engine.store.snapshot().await?;
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

    fn paused(&self) {
        self.count(|report| report.paused = true);
    }

    /// Whether no more jobs are taken up: the budget does not reach, or somebody paused the queue.
    pub(super) fn is_stopping(&self) -> bool {
        self.report.lock().is_ok_and(|report| report.over_budget.is_some() || report.paused)
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
