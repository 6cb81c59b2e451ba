//! Why a document does not progress, and how that is recorded and reported.

use graphloom_core::{Batch, Document, Job, JobState, ModelError, Progress, Require, StoreError};

use super::step::is_renewal;
use super::{Ready, Run};
use crate::chain;
use crate::index::IndexError;

/// Why a document did not get on.
pub(in super::super) enum Stop {
    /// It was removed, replaced or taken over meanwhile: no longer ours.
    Lost,
    /// It waits for the next run.
    Later(String),
    /// Nothing helps but a change by a person, and then [`crate::index::retry`].
    Failed(String),
    /// The budget does not reach; the next run goes on.
    OverBudget(String),
    /// The queue was paused; a run after it is resumed continues.
    Paused,
    /// The run was asked to end; the next one goes on.
    Asked,
    /// The whole run ends.
    Fatal(IndexError),
}

impl Stop {
    /// Why a change of the graph was not made: where others kept changing it, the next run tries again.
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
            error => Self::Later(chain(&error)),
        }
    }
}

impl Run<'_> {
    /// Tells why a document does not get on; an error where the whole run does not.
    pub(in super::super) async fn stop(
        &self,
        job: &Job,
        document: &Document,
        stop: Stop,
    ) -> Result<Option<Ready>, IndexError> {
        match stop {
            Stop::Lost => self.lost(document).await?,
            Stop::Paused => self.paused(),
            Stop::Asked => self.asked_to_stop(),
            Stop::Later(reason) => self.stopped(document, reason),
            Stop::Failed(reason) => self.fail(job, document, reason).await?,
            Stop::OverBudget(what) => self.over_budget(what),
            Stop::Fatal(error) => return Err(error),
        }
        Ok(None)
    }

    /// Tells of a document that is no longer ours where somebody took it out of the queue.
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

    /// Records that a job cannot go on, unless it is no longer ours.
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

/// Whether every further call would fail the same way until a person changes something.
pub(crate) fn needs_a_person(error: &ModelError) -> bool {
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
