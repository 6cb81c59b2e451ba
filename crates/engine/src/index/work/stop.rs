//! Why a document cannot continue, and how that is recorded and reported.

use std::sync::PoisonError;

use graphloom_core::{Batch, Document, Job, JobState, ModelError, Progress, Require, StoreError};

use super::step::is_renewal;
use super::{ExtractedDocument, Run};
use crate::chain;
use crate::index::IndexError;

/// Why a document cannot continue.
pub(in super::super) enum Stop {
    /// It was removed, replaced or claimed by another worker.
    Lost,
    /// It waits for the next run.
    Later(String),
    /// It needs a change by a person, then [`crate::index::retry`].
    Failed(String),
    /// The budget is used up; the next run continues.
    OverBudget(String),
    /// The queue was paused; a run after it is resumed continues.
    Paused,
    /// The run was asked to stop; the next one continues.
    Requested,
    /// The whole run ends.
    Fatal(IndexError),
}

impl Stop {
    /// Returns why a change of the graph was not committed. If others kept changing the graph, the next run tries again.
    pub(super) fn overtaken(error: StoreError) -> Self {
        if error.is_conflict() { Self::Later(chain(&error)) } else { Self::Fatal(error.into()) }
    }
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
            ModelError::Stopped { .. } => Self::Requested,
            error => Self::Later(chain(&error)),
        }
    }
}

impl Run<'_> {
    /// Reports why a document cannot continue. If the whole run cannot, it [ends](Run::end_with).
    pub(in super::super) async fn stop(
        &self,
        job: &Job,
        document: &Document,
        stop: Stop,
    ) -> Result<Option<ExtractedDocument>, IndexError> {
        match stop {
            Stop::Lost => self.lost(document).await?,
            Stop::Paused => self.paused(),
            Stop::Requested => self.note_stop_request(),
            Stop::Later(reason) => self.stopped(document, reason),
            Stop::Failed(reason) => self.fail(job, document, reason).await?,
            Stop::OverBudget(what) => self.over_budget(what),
            Stop::Fatal(error) => self.end_with(error),
        }
        Ok(None)
    }

    /// Ends the run with `error`, the first one if there are several: no further calls are started, but what the calls in flight
    /// return is stored, because it is paid for.
    pub(in super::super) fn end_with(&self, error: IndexError) {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.make();
    }

    pub(super) fn has_failed(&self) -> bool {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Takes the error with which the run ended.
    pub(in super::super) fn take_fatal(&self) -> Option<IndexError> {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Reports a document that this run no longer holds, if it was cancelled.
    pub(super) async fn lost(&self, document: &Document) -> Result<(), StoreError> {
        let snapshot = self.engine.store.snapshot().await?;
        let job = snapshot.jobs(std::slice::from_ref(&document.id)).await?.into_iter().next().flatten();
        if job.is_some_and(|job| job.state == JobState::Cancelled) {
            self.count(|report| report.cancelled += 1);
            let (document, source) = (document.id.clone(), document.source.clone());
            (self.progress)(Progress::Cancelled { document, source });
        }
        Ok(())
    }

    /// Records that a job failed, unless this worker no longer holds it.
    pub(super) async fn fail(
        &self,
        job: &Job,
        document: &Document,
        reason: String,
    ) -> Result<(), IndexError> {
        let require = vec![Require::JobIs(job.clone())];
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
}

/// True if every further call would fail the same way until a person fixes something.
pub(crate) fn needs_a_person(error: &ModelError) -> bool {
    match error {
        ModelError::Unauthorized { .. }
        | ModelError::Forbidden { .. }
        | ModelError::NoSuchModel { .. }
        | ModelError::QuotaUsedUp { .. }
        | ModelError::WrongAddress { .. }
        | ModelError::Unreachable { .. }
        | ModelError::ShapeRefused { .. }
        | ModelError::Local { .. } => true,
        ModelError::Timeout { .. }
        | ModelError::RateLimited { .. }
        | ModelError::Refused { .. }
        | ModelError::Server { .. }
        | ModelError::OverBudget { .. }
        | ModelError::Stopped { .. }
        | ModelError::Malformed { .. } => false,
    }
}
