//! The worker of a workspace: indexes queued documents in the background.

mod pipeline;
mod requested;
mod worker;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use graphloom_core::{DocumentId, Progress, Snapshot, StoreError, WorkspaceId};
use graphloom_engine::derive::LayerKind;
use graphloom_engine::money::Budget;
use tokio::sync::{Notify, watch};

pub(crate) use pipeline::Pipeline;
pub(crate) use requested::{RE_EXTRACT, within};

use crate::events::EventLog;
use crate::host::OpenWorkspace;
use crate::index_turns::IndexTurns;
use crate::limits::Limits;
use crate::quiet::Activity;
use requested::Layering;

/// Limits that the workers of all workspaces share.
#[derive(Debug)]
pub(crate) struct IngestLimits {
    turns: IndexTurns,
    slice: Duration,
    finish: Duration,
}

impl IngestLimits {
    pub(crate) fn of(limits: &Limits) -> Self {
        Self { turns: IndexTurns::new(limits.workers), slice: limits.slice, finish: limits.finish }
    }
}

/// The worker of a workspace.
pub(crate) struct Ingest {
    /// The workspace for the next run; `None` if the worker never runs.
    opened: Mutex<Option<Arc<OpenWorkspace>>>,
    wake: Notify,
    /// Notifies that another process queued documents, or left some.
    found: Notify,
    limits: Arc<IngestLimits>,
    state: Mutex<Pipeline>,
    /// Documents whose failed chunk contexts are retried after the next run.
    again: Mutex<BTreeSet<DocumentId>>,
    /// Documents with chunks that failed because their service was not available. They are queued again after a pause.
    unavailable: Mutex<BTreeSet<DocumentId>>,
    /// Layers to derive after the next run.
    layers: Mutex<Layering>,
    /// Numbers of chunks that failed, lost records or got no context.
    chunk_failures: [AtomicU64; 3],
    /// Events for streams.
    pub(crate) events: EventLog,
    /// Is notified when a run has ended.
    activity: Arc<Activity>,
    ended: watch::Receiver<bool>,
}

/// Adds the sources of documents, for events. Omits documents that no longer exist.
pub(crate) async fn named(
    snapshot: &dyn Snapshot,
    documents: &[DocumentId],
) -> Result<Vec<(DocumentId, String)>, StoreError> {
    let known = snapshot.documents(documents).await?.into_iter().flatten();
    Ok(known.map(|document| (document.id, document.source)).collect())
}

impl Ingest {
    /// Starts the worker; it ends when `stop` is set.
    pub(crate) fn start(
        workspace: WorkspaceId,
        opened: OpenWorkspace,
        limits: Arc<IngestLimits>,
        activity: Arc<Activity>,
        stop: watch::Receiver<bool>,
    ) -> Arc<Self> {
        let (ending, ended) = watch::channel(false);
        let ingest = Arc::new(Self::ending_with(ended, limits, activity));
        ingest.work_with(opened);
        let worker = Arc::clone(&ingest);
        tokio::spawn(async move {
            worker.work(workspace, stop).await;
            // The receiver may be gone.
            let _ = ending.send(true);
        });
        ingest
    }

    /// Returns a worker that never runs.
    pub(crate) fn idle() -> Arc<Self> {
        let (_, ended) = watch::channel(true);
        let limits = Arc::new(IngestLimits::of(&Limits { workers: 0, ..Limits::default() }));
        let ingest = Self::ending_with(ended, limits, Arc::default());
        ingest.lock().idle = true;
        Arc::new(ingest)
    }

    /// Sets the workspace for the next run, for example after its embedder changed.
    pub(crate) fn work_with(&self, opened: OpenWorkspace) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(opened));
    }

    fn ending_with(ended: watch::Receiver<bool>, limits: Arc<IngestLimits>, activity: Arc<Activity>) -> Self {
        Self {
            opened: Mutex::default(),
            wake: Notify::new(),
            found: Notify::new(),
            limits,
            state: Mutex::default(),
            again: Mutex::default(),
            unavailable: Mutex::default(),
            layers: Mutex::default(),
            chunk_failures: Default::default(),
            events: EventLog::new(),
            activity,
            ended,
        }
    }

    /// Checks the queue now, because it changed.
    pub(crate) fn wake(&self) {
        {
            let mut state = self.lock();
            (state.idle, state.woken) = (false, state.woken.wrapping_add(1));
        }
        self.wake.notify_one();
        self.events.poke();
    }

    /// Checks the queue because another process left work, unless the last run failed and its pause is not over.
    pub(crate) fn found_work(&self) {
        self.found.notify_one();
    }

    /// Notes that a document was added to the queue.
    pub(crate) fn accepted(&self, document: DocumentId, source: String) {
        self.events.add(&Progress::Accepted { document, source });
    }

    /// Notes that documents were removed from the queue.
    pub(crate) fn cancelled(&self, documents: Vec<(DocumentId, String)>) {
        for (document, source) in documents {
            self.events.add(&Progress::Cancelled { document, source });
        }
        self.wake();
    }

    /// Notes that documents were removed.
    pub(crate) fn removed(&self, documents: &[(DocumentId, String)]) {
        for (document, source) in documents {
            self.events.removed(document, source);
        }
        // The next run also retries failed summaries.
        self.wake();
    }

    /// Notes that documents were queued again: checks the queue now, and later retries their failed chunk contexts.
    pub(crate) fn retry(&self, documents: Vec<(DocumentId, String)>) {
        for (document, source) in &documents {
            self.events.queued_again(document, source);
        }
        self.again().extend(documents.into_iter().map(|(document, _)| document));
        self.wake();
    }

    /// Requests to bring a layer up to date, within a budget if there is one.
    pub(crate) fn derive(&self, kind: LayerKind, budget: Option<Arc<Budget>>) {
        {
            let mut layers = self.layers();
            layers.wanted.insert(kind, budget);
            layers.failures.remove(&kind);
        }
        self.wake();
    }

    /// True if a layer is being brought up to date, or will be soon.
    pub(crate) fn derives(&self, kind: LayerKind) -> bool {
        let layers = self.layers();
        layers.deriving == Some(kind) || layers.wanted.contains_key(&kind)
    }

    /// Returns why the last attempt to bring a layer up to date failed; `None` if it did not fail.
    pub(crate) fn derive_failure(&self, kind: LayerKind) -> Option<String> {
        self.layers().failures.get(&kind).cloned()
    }

    /// Ends the worker for good if it has nothing to do; returns whether it has ended.
    pub(crate) fn close_if_idle(&self) -> bool {
        let mut state = self.lock();
        state.closed |= state.idle && !state.busy;
        if state.closed {
            self.wake.notify_one();
        }
        state.closed
    }

    /// The state of the current or latest run.
    pub(crate) fn pipeline(&self) -> Pipeline {
        self.lock().clone()
    }

    /// Whether a run is in progress.
    pub(crate) fn is_busy(&self) -> bool {
        self.lock().busy
    }

    /// Numbers of chunks that failed, lost records, or got no context since the workspace was opened.
    pub(crate) fn chunk_failures(&self) -> [u64; 3] {
        self.chunk_failures.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    fn count(&self, progress: &Progress) {
        let kind = match progress {
            Progress::ChunkFailed { .. } => 0,
            Progress::ChunkDamaged { .. } => 1,
            Progress::ChunkWithoutContext { .. } => 2,
            Progress::Accepted { .. }
            | Progress::Advanced { .. }
            | Progress::Finished { .. }
            | Progress::Cancelled { .. }
            | Progress::Failed { .. }
            | Progress::Settled { .. }
            | Progress::Derived { .. }
            | Progress::Paused { .. }
            | Progress::Resumed { .. } => return,
        };
        self.chunk_failures[kind].fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until the worker has ended.
    pub(crate) async fn stopped(&self) {
        // An error means that it has ended.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Pipeline> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn again(&self) -> std::sync::MutexGuard<'_, BTreeSet<DocumentId>> {
        self.again.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn layers(&self) -> std::sync::MutexGuard<'_, Layering> {
        self.layers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
