//! Working through the jobs: embed chunks, extract each, merge what is ready.
//!
//! Every step is one commit, so a run may end anywhere (dropped, killed, out of power) and the next one goes on from
//! the last commit. Documents are prepared side by side; one merger applies them to the graph.

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

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures::channel::mpsc;
use futures::future::BoxFuture;
use futures::{FutureExt, SinkExt, Stream, StreamExt, TryStreamExt, stream};
use graphloom_core::{Batch, ProgressSink};

pub use extract::MAX_DAMAGED_ATTEMPTS;
pub(super) use lease::release_leases;
pub(super) use prepare::{Ready, chunk_texts};
pub(crate) use stop::needs_a_person;

use super::settle::settle;
use super::{IndexError, RunReport, require_settings};
use crate::Engine;
use crate::derive::{DeriveError, derive};
pub(super) use pace::Pace;
use permits::Permits;
use share::Taken;

/// Documents that may wait for the merger, for each of those that are worked on at once; more make the extraction wait, which
/// bounds memory.
const READY_FOR_EACH_AT_WORK: usize = 4;
/// Most documents of one merge. Entities they share are derived and embedded once.
const MERGE_DOCUMENTS: usize = 64;
/// Documents after which stale entities and relations are derived again without waiting for the end of the run.
const DOCUMENTS_UNTIL_SETTLED: usize = 16_384;

/// Works until no job is left that this worker can take, and says what was done.
///
/// - `gone` says whether the worker of that name has ended; its jobs are queued again at the start.
/// - A chunk whose extraction fails is recorded and left to [`super::retry`]; it never fails its document. A document that
///   cannot go on for now (its vectors fail, say) is reported, left as it is, and taken up by the next run.
/// - A model that nothing but a person can bring to answer (wrong key, nothing listening) ends the run with an error.
///   What was committed stays.
/// - Dropping the future cancels it; nothing is half-written.
///
/// The future is `Send`, so a run can be a task of its own.
pub fn run<'a>(
    engine: &'a Engine,
    progress: ProgressSink<'a>,
    gone: &'a (dyn Fn(&str) -> bool + Send + Sync),
) -> BoxFuture<'a, Result<RunReport, IndexError>> {
    Box::pin(async move {
        // A run that was dropped may have left a commit under way; what it leased shows only after that.
        engine.store.commit(Batch::default()).await?;
        require_settings(engine).await?;
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
        // In a box, for the compiler does not see that the bare stream is `Send`.
        let mut report = run.work_through(jobs.boxed(), prepare).await?;
        derive_layers(engine, progress, gone, &mut report).await?;
        Ok(report)
    })
}

/// Brings the layers up to date that the engine derives after indexing.
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

/// One run's view of the world.
pub(super) struct Run<'a> {
    pub(super) engine: &'a Engine,
    progress: ProgressSink<'a>,
    /// Held from before a call until its result is committed, so a crash costs no more calls than there are permits.
    calls: Permits,
    taken: Taken,
    pace: Pace,
    pub(super) report: Mutex<RunReport>,
}

impl<'a> Run<'a> {
    pub(super) fn new(engine: &'a Engine, progress: ProgressSink<'a>) -> Self {
        Self {
            engine,
            progress,
            calls: Permits::new(engine.index.max_concurrent_calls),
            taken: Taken::default(),
            pace: Pace::default(),
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
        let documents = engine.index.max_concurrent_documents.max(1);
        let (ready, merged) = mpsc::channel(documents * READY_FOR_EACH_AT_WORK);
        let prepare = async move {
            // A document waits for the merger by itself: the others hold permits and places at a model's service, which the
            // merger may need too, so they must go on.
            let prepared = tasks.map_ok(|task| {
                let (prepared, mut ready) = (prepare(task), ready.clone());
                async move {
                    if let Some(document) = prepared.await? {
                        // The merger ends before the preparation only with an error, which ends both.
                        let _ = ready.send(document).await;
                    }
                    Ok(())
                }
            });
            prepared.try_buffer_unordered(documents).try_collect::<()>().await
        };
        let merge = async {
            let mut batches = merged.ready_chunks(MERGE_DOCUMENTS);
            let mut unsettled = 0;
            // A slice of a large document takes turns with what else gets ready.
            let mut large: VecDeque<Ready> = VecDeque::new();
            loop {
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
        let outcome = futures::try_join!(prepare, merge);
        release_leases(engine, |lease| lease.owner == engine.index.worker).await?;
        outcome?;
        let settled = settle(engine, self.progress).await?;
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        report.stopped |= engine.index.stop.is_made();
        report.paused |= settled.paused;
        (report.stale, report.stale_reason) = (settled.unfinished, settled.reason);
        report.over_budget = report.over_budget.or(settled.over_budget);
        Ok(report)
    }
}
