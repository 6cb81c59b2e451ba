//! Works through the jobs: embeds chunks, extracts each, merges what is ready.
//!
//! Every step is one commit, so a run may end anywhere (dropped, killed, power lost) and the next one continues from
//! the last commit. Documents are prepared concurrently; one merger applies them to the graph.

mod arriving;
mod contexts;
mod extract;
mod lease;
mod merge;
mod pace;
mod permits;
mod prepare;
mod report;
mod share;
mod step;
mod stop;
mod turns;

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};

use futures::channel::mpsc;
use futures::future::BoxFuture;
use futures::{FutureExt, SinkExt, Stream, StreamExt, TryStreamExt, stream};
use graphloom_core::{Batch, ModelError, ProgressSink, StopRequest};

pub use extract::MAX_DAMAGED_ATTEMPTS;
pub(super) use lease::release_leases;
pub use lease::{abandon, claimable};
pub(super) use prepare::{ExtractedDocument, chunk_texts};
pub(crate) use stop::needs_a_person;

use super::settings::{note_missing_model, replace_missing_model};
use super::settle::settle;
use super::{IndexError, RunReport, require_settings};
use crate::Engine;
use crate::derive::{DeriveError, derive};
pub(super) use pace::Pace;
use permits::Permits;
use share::ClaimedDocuments;
use turns::KeyTurns;

/// Prepared documents that may wait for the merger, per document in preparation. Beyond that the extraction waits, which bounds
/// memory.
const READY_FOR_EACH_AT_WORK: usize = 4;
/// Maximum number of documents per merge. Entities that they share are derived and embedded once.
const MERGE_DOCUMENTS: usize = 64;
/// Number of documents after which stale entities and relations are settled before the end of the run.
const DOCUMENTS_UNTIL_SETTLED: usize = 16_384;

/// Works until this worker can claim no more jobs, and reports what was done.
///
/// - `gone`: true if the worker of that name has ended; its jobs are queued again at the start.
/// - A chunk whose extraction fails is recorded and left to [`super::retry`]; it never fails its document. A document that
///   cannot continue for now (for example because embedding fails) is reported, left as it is, and continued by the next run.
/// - A model that needs a person to fix something (wrong key, nothing listening) ends the run with an error, after the answers to
///   calls in flight are stored. Committed work stays.
/// - Dropping the future cancels the run; nothing is half-written.
///
/// The future is `Send`, so a run can be a task of its own.
pub fn run<'a>(
    engine: &'a Engine,
    progress: ProgressSink<'a>,
    gone: &'a (dyn Fn(&str) -> bool + Send + Sync),
) -> BoxFuture<'a, Result<RunReport, IndexError>> {
    Box::pin(async move {
        // A dropped run may have left a commit in progress. Its leases are visible only after that commit.
        engine.store.commit(Batch::default()).await?;
        require_settings(engine).await?;
        replace_missing_model(engine).await?;
        release_leases(engine, |lease| lease.owner == engine.index.worker || gone(&lease.owner)).await?;
        let run = Run::new(engine, progress);
        let jobs = stream::unfold((), |()| async { run.claim().await.transpose().map(|jobs| (jobs, ())) })
            .map_ok(|jobs| stream::iter(jobs.into_iter().map(Ok::<_, IndexError>)))
            .try_flatten();
        let prepare = |job| async {
            let prepared = run.prepare(job).await;
            run.taken.end_one();
            prepared
        };
        // Boxed, because the compiler cannot prove that the bare stream is `Send`.
        let outcome = run.work_through(jobs.boxed(), prepare).await;
        if let Err(IndexError::Model(ModelError::NoSuchModel { model, .. })) = &outcome {
            note_missing_model(engine, model).await?;
        }
        let mut report = outcome?;
        derive_layers(engine, progress, gone, &mut report).await?;
        Ok(report)
    })
}

/// Updates the layers that the engine derives after indexing.
async fn derive_layers(
    engine: &Engine,
    progress: ProgressSink<'_>,
    gone: &(dyn Fn(&str) -> bool + Send + Sync),
    report: &mut RunReport,
) -> Result<(), IndexError> {
    for kind in &engine.index.layers {
        if report.paused || report.stopped || report.over_budget.is_some() {
            break;
        }
        match derive(engine, kind.deriver(), progress, gone).await {
            Ok(derived) => {
                report.paused |= derived.paused && !engine.index.stop.is_made();
                report.over_budget.clone_from(&derived.over_budget);
                report.derived.push(derived);
            }
            Err(DeriveError::Busy { layer, owner }) => {
                tracing::info!(%layer, owner, "another process derives the layer");
            }
            Err(DeriveError::Store { source, .. }) => return Err(source.into()),
            Err(DeriveError::Model { source, .. }) => return Err(source.into()),
        }
    }
    Ok(())
}

/// The state of one run.
pub(super) struct Run<'a> {
    pub(super) engine: &'a Engine,
    progress: ProgressSink<'a>,
    /// Held from before a call until its result is committed, so a crash loses no more calls than there are permits.
    calls: Permits,
    /// Held from before a question is asked until its answer is committed, so that no two documents ask the same one.
    questions: KeyTurns,
    taken: ClaimedDocuments,
    pace: Pace,
    /// Made if the run is asked to stop or ends with an error.
    pub(super) stop: StopRequest,
    /// The error with which the run ends.
    fatal: Mutex<Option<IndexError>>,
    pub(super) report: Mutex<RunReport>,
}

impl<'a> Run<'a> {
    pub(super) fn new(engine: &'a Engine, progress: ProgressSink<'a>) -> Self {
        Self {
            engine,
            progress,
            calls: Permits::new(engine.index.max_concurrent_calls),
            questions: KeyTurns::default(),
            taken: ClaimedDocuments::default(),
            pace: Pace::default(),
            stop: engine.index.stop.child(),
            fatal: Mutex::default(),
            report: Mutex::default(),
        }
    }

    /// Prepares all `tasks`, a bounded number at once, merges the documents that become ready, and settles what that left
    /// stale.
    pub(super) async fn work_through<Task, Prepared>(
        &self,
        tasks: impl Stream<Item = Result<Task, IndexError>>,
        prepare: impl Fn(Task) -> Prepared,
    ) -> Result<RunReport, IndexError>
    where
        Prepared: Future<Output = Result<Option<ExtractedDocument>, IndexError>>,
    {
        let engine = self.engine;
        let documents = engine.index.max_concurrent_documents.max(1);
        let (ready, merged) = mpsc::channel(documents * READY_FOR_EACH_AT_WORK);
        let prepare = async move {
            // Each document waits for the merger on its own. The others hold permits and connections to the model service, which
            // the merger may need too, so they must keep running.
            let prepared = tasks.map(|task| {
                let (prepared, mut ready) = (task.map(&prepare), ready.clone());
                async move {
                    if let Some(document) = prepared?.await? {
                        // The merger only ends before the preparation if the run ends with an error.
                        let _ = ready.send(document).await;
                    }
                    Ok(())
                }
            });
            let mut prepared = pin!(prepared.buffer_unordered(documents));
            while let Some(outcome) = prepared.next().await {
                // The others go on, because the answers to their calls in flight are paid for.
                if let Err(error) = outcome {
                    self.end_with(error);
                }
            }
        };
        let merge = async {
            let mut batches = merged.ready_chunks(MERGE_DOCUMENTS);
            let mut unsettled = 0;
            // Slices of large documents alternate with other documents that become ready.
            let mut large: VecDeque<ExtractedDocument> = VecDeque::new();
            while !self.has_failed() {
                let documents = match large.is_empty() {
                    true => batches.next().await,
                    false => Some(batches.next().now_or_never().flatten().unwrap_or_default()),
                };
                let Some(documents) = documents else { break };
                unsettled += documents.len();
                self.merge(documents, &mut large).await?;
                if let Some(next) = large.pop_front() {
                    large.extend(self.merge_slice(next).await?);
                }
                if unsettled >= DOCUMENTS_UNTIL_SETTLED && !self.is_stopping() {
                    settle(engine, self.progress).await?;
                    unsettled = 0;
                }
            }
            Ok::<(), IndexError>(())
        };
        let merge = async {
            if let Err(error) = merge.await {
                self.end_with(error);
            }
        };
        self.stop.during(futures::future::join(prepare, merge)).await;
        release_leases(engine, |lease| lease.owner == engine.index.worker).await?;
        if let Some(error) = self.take_fatal() {
            return Err(error);
        }
        let settled = engine.index.stop.during(settle(engine, self.progress)).await?;
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        report.stopped |= engine.index.stop.is_made();
        report.paused |= settled.paused;
        (report.stale, report.stale_reason) = (settled.unfinished, settled.reason);
        report.over_budget = report.over_budget.or(settled.over_budget);
        Ok(report)
    }
}
