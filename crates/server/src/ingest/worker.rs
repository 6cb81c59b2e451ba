//! The loop of the worker: looks for work, takes its turn, and executes a run.

use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use graphloom_core::{DocumentId, StoreError, Upkeep, WorkspaceId, table};
use graphloom_engine::index::{self, RunReport, StopRequest};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::{Ingest, IngestLimits, Pipeline, RE_EXTRACT};
use crate::background::in_background;
use crate::host::OpenWorkspace;
use crate::problem::chain;

/// How often to check for work left by another process.
const LOOK: Duration = Duration::from_secs(30);
/// How long a run may take to record the calls that were given up when the process stops.
const LAST_COMMITS: Duration = Duration::from_millis(400);
/// Maximum pause after failed runs.
const LONGEST_REST: Duration = Duration::from_secs(900);

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunEnd {
    /// Nothing has to be retried.
    Well,
    /// Something has to be retried, after a pause.
    Badly,
    /// The budget was too small; it may be larger after a pause.
    OverBudget,
    /// The run gave its turn to another workspace.
    Unfinished,
}

/// Whether there is work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Work that can be done now.
    Work,
    /// Later: the queue is paused, or another process is working on it.
    Later,
    /// None.
    Nothing,
}

impl Ingest {
    pub(super) async fn work(self: Arc<Self>, workspace: WorkspaceId, mut stop: watch::Receiver<bool>) {
        let mut rest = LOOK;
        while !*stop.borrow() {
            let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let Some(opened) = opened else { return };
            let ended = match self.waits(&opened).await {
                Ok(Waiting::Work) => {
                    let turn = tokio::select! {
                        turn = self.limits.turns.take() => turn,
                        _ = stop.wait_for(|stop| *stop) => return,
                    };
                    if !self.begin(&opened) {
                        return;
                    }
                    let ended = Arc::clone(&self).run_apart(&workspace, &opened, &stop).await;
                    drop(turn);
                    Some(ended)
                }
                Ok(Waiting::Later | Waiting::Nothing) => None,
                Err(error) => {
                    tracing::error!(%workspace, error = chain(&error), "checking the queue failed");
                    Some(RunEnd::Badly)
                }
            };
            if ended == Some(RunEnd::Unfinished) {
                continue;
            }
            if ended == Some(RunEnd::Well) {
                // This check only records whether anything is left; that is processed after a pause.
                if let Err(error) = self.waits(&opened).await {
                    tracing::error!(%workspace, error = chain(&error), "checking the queue failed");
                }
            }
            let has_failed = ended == Some(RunEnd::Badly);
            rest = if has_failed { (rest * 2).min(LONGEST_REST) } else { LOOK };
            let keeps_pause = has_failed || ended == Some(RunEnd::OverBudget);
            let is_rested = tokio::select! {
                () = self.wake.notified() => false,
                () = self.found.notified(), if !keeps_pause => false,
                () = tokio::time::sleep(rest) => true,
                _ = stop.wait_for(|stop| *stop) => false,
            };
            if is_rested {
                self.requeue_unavailable(&workspace, &opened).await;
            }
            if self.lock().closed {
                return;
            }
        }
    }

    /// Queues the documents again whose service was not available.
    async fn requeue_unavailable(&self, workspace: &WorkspaceId, opened: &OpenWorkspace) {
        let documents: Vec<_> = std::mem::take(&mut *self.unavailable()).into_iter().collect();
        if let Err(error) = index::retry(&opened.indexing, &documents, None).await {
            tracing::error!(%workspace, error = chain(&error), "queueing failed documents again failed");
            self.unavailable().extend(documents);
        }
    }

    fn unavailable(&self) -> MutexGuard<'_, BTreeSet<DocumentId>> {
        self.unavailable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a run; `false` if the worker has ended for good.
    fn begin(&self, opened: &OpenWorkspace) -> bool {
        let started_at = Some(opened.indexing.clock.now());
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        let (messages, woken) = (std::mem::take(&mut state.messages), state.woken);
        *state = Pipeline { busy: true, started_at, messages, woken, ..Pipeline::default() };
        state.say("indexing began".to_owned());
        drop(state);
        self.events.run_begins();
        true
    }

    /// Executes a run in the background, so that its computing does not block requests.
    async fn run_apart(
        self: Arc<Self>,
        workspace: &WorkspaceId,
        opened: &Arc<OpenWorkspace>,
        stop: &watch::Receiver<bool>,
    ) -> RunEnd {
        let request = StopRequest::default();
        let mut stoppable = OpenWorkspace::clone(opened);
        stoppable.indexing.index.stop = request.clone();
        let (workspace, stop) = (workspace.clone(), stop.clone());
        let (runtime, worker) = (Handle::current(), Arc::clone(&self));
        let run = in_background(move || {
            runtime.block_on(async {
                // Dropping a run leaves nothing half-written.
                tokio::select! {
                    ended = worker.run(&workspace, &stoppable) => ended,
                    () = worker.ask_to_stop(request, stop) => RunEnd::Well,
                }
            })
        });
        let ended = run.await;
        self.lock().busy = false;
        self.activity.note();
        self.events.poke();
        ended.unwrap_or_else(|error| {
            tracing::error!(%error, "indexing panicked");
            self.events.run_failed("indexing panicked; see the server's log".to_owned());
            RunEnd::Badly
        })
    }

    /// Asks a run to end when the process stops, or when other workspaces have waited for the length of a slice. Returns when
    /// the process stops and the run has not ended in time, not even after its calls in flight were given up.
    async fn ask_to_stop(&self, request: StopRequest, mut stop: watch::Receiver<bool>) {
        let IngestLimits { turns, slice, finish } = &*self.limits;
        loop {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                () = tokio::time::sleep(*slice) => if turns.is_wanted() {
                    request.make();
                },
            }
        }
        request.make();
        tokio::time::sleep(*finish).await;
        request.give_up();
        tokio::time::sleep(LAST_COMMITS).await;
        if request.given_up() > 0 {
            tracing::warn!(calls = request.given_up(), "gave up model calls in flight, which may be billed");
        }
    }

    /// Executes a run.
    async fn run(&self, workspace: &WorkspaceId, opened: &OpenWorkspace) -> RunEnd {
        let show = |progress| {
            self.count(&progress);
            self.events.add(&progress);
            self.lock().show(progress);
        };
        let indexed = match self.limits.turns.leaves_queues() {
            true => Ok(RunReport::default()),
            false => index::run(&opened.indexing, &show, opened.gone.as_ref()).await,
        };
        let outcome = match indexed {
            // A pause applies to everything that is queued.
            Ok(report) if !report.paused && !report.stopped => {
                let again = async {
                    self.contextualize(opened, &show).await?;
                    self.renew(opened, &show).await
                };
                match again.await {
                    Ok(Some(renewed)) if renewed.stopped => Ok(RunReport { stopped: true, ..report }),
                    Ok(Some(renewed)) if renewed.over_budget.is_some() => {
                        Ok(RunReport { over_budget: renewed.over_budget, ..report })
                    }
                    Ok(_) => {
                        self.derive_wanted(opened, &show).await;
                        Ok(report)
                    }
                    Err(error) => Err(error),
                }
            }
            outcome => outcome,
        };
        let (store, runtime) = (Arc::clone(&opened.store), Handle::current());
        // The store's own thread gets the priority of the calling thread.
        match in_background(move || runtime.block_on(store.maintain(Upkeep::CatchUp))).await {
            Ok(Ok(())) => {}
            // The index is a cache; if updating it failed here, the next search updates it and reports errors.
            Ok(Err(error)) => {
                tracing::warn!(%workspace, error = chain(&error), "updating the full-text index failed")
            }
            Err(error) => {
                tracing::warn!(%workspace, error = chain(&error), "updating the full-text index failed")
            }
        }
        match outcome {
            Ok(report) if report.stopped => {
                let finished = report.finished;
                self.lock().say(format!("indexing was interrupted: {finished} documents in the graph"));
                tracing::debug!(%workspace, finished, "indexing was asked to stop");
                RunEnd::Unfinished
            }
            Ok(report) => {
                let went_well = !report.is_partial() && report.unavailable.is_empty();
                self.unavailable().extend(report.unavailable.iter().cloned());
                let summary = end_of(&report);
                if report.is_mostly_empty() {
                    let (empty, chunks) = (report.empty_chunks, report.extracted);
                    tracing::warn!(%workspace, empty, chunks, "most chunks produced no entities");
                }
                match went_well {
                    true => tracing::info!(%workspace, summary, "indexed"),
                    false => {
                        tracing::warn!(%workspace, summary, "indexing is incomplete and will be retried")
                    }
                }
                self.lock().say(summary);
                match report.over_budget {
                    Some(what) => {
                        let reason = format!("stopped by the budget: {what}");
                        tracing::warn!(%workspace, reason, "indexing waits for a larger budget");
                        self.events.run_failed(reason.clone());
                        self.lock().say_why("indexing waits for a larger budget".to_owned(), reason);
                        RunEnd::OverBudget
                    }
                    None if went_well => RunEnd::Well,
                    None => RunEnd::Badly,
                }
            }
            Err(error) => {
                let reason = chain(&error);
                tracing::warn!(%workspace, error = reason, "indexing failed and will be retried");
                self.events.run_failed(reason.clone());
                self.lock().say_why("indexing stopped".to_owned(), reason);
                RunEnd::Badly
            }
        }
    }

    /// Whether there is work now. Records if there is none at all.
    async fn waits(&self, opened: &OpenWorkspace) -> Result<Waiting, StoreError> {
        let before = self.lock().woken;
        let waiting = self.look(opened).await;
        let mut state = self.lock();
        // A notification during the check may be about work the check did not see.
        state.idle = matches!(waiting, Ok(Waiting::Nothing)) && state.woken == before;
        waiting
    }

    async fn look(&self, opened: &OpenWorkspace) -> Result<Waiting, StoreError> {
        let engine = &opened.indexing;
        let snapshot = engine.store.snapshot().await?;
        if snapshot.queue().await?.is_paused() {
            return Ok(Waiting::Later);
        }
        let has_requests = !self.again().is_empty()
            || !self.layers().wanted.is_empty()
            || !index::waiting_renewals(engine, RE_EXTRACT, opened.gone.as_ref()).await?.is_empty();
        let leaves_queue = self.limits.turns.leaves_queues();
        if has_requests || !leaves_queue && !snapshot.claimable_jobs(engine.clock.now(), 1).await?.is_empty()
        {
            return Ok(Waiting::Work);
        }
        // Leases of a killed process are void even before they expire.
        let left = index::queued(snapshot.as_ref()).await?;
        let is_queued = !left.is_empty();
        if leaves_queue {
            return Ok(if is_queued { Waiting::Later } else { Waiting::Nothing });
        }
        let jobs = snapshot.jobs(&left).await?;
        let is_left = jobs.into_iter().flatten().any(|job| {
            job.state.is_open()
                && job
                    .lease
                    .is_none_or(|lease| lease.owner == engine.index.worker || (opened.gone)(&lease.owner))
        });
        Ok(match is_left || !snapshot.scan(table::Stale, None, 1).await?.is_empty() {
            true => Waiting::Work,
            false if is_queued => Waiting::Later,
            false => Waiting::Nothing,
        })
    }
}

fn end_of(report: &RunReport) -> String {
    let mut summary = format!("indexing finished: {} documents in the graph", report.finished);
    for (count, what) in [
        (report.incomplete, "of them incomplete"),
        (report.empty_chunks, "chunks without entities"),
        (report.failed, "stopped"),
        (report.cancelled, "cancelled"),
        (report.stale, "descriptions without a summary"),
    ] {
        if count > 0 {
            summary.push_str(&format!(", {count} {what}"));
        }
    }
    if let Some(reason) = &report.stale_reason {
        summary.push_str(&format!(" ({reason})"));
    }
    summary
}
