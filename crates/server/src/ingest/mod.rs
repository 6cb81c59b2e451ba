//! The worker of a workspace: indexes queued documents in the background.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use graphloom_core::{
    DocumentId, Progress, ProgressSink, Snapshot, StoreError, Timestamp, Upkeep, WorkspaceId, table,
};
use graphloom_engine::Engine;
use graphloom_engine::derive::{LayerKind, derive};
use graphloom_engine::index::{self, IndexError, MissingContexts, RunReport, StopRequest};
use graphloom_engine::money::{Budget, NoPrice, WhenShort};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use crate::background::in_background;
use crate::events::EventLog;
use crate::host::OpenWorkspace;
use crate::index_turns::IndexTurns;
use crate::limits::Limits;
use crate::problem::chain;
use crate::quiet::Activity;
use crate::reasons::Reasons;

/// How often to check for work left by another process.
const LOOK: Duration = Duration::from_secs(30);
/// Maximum pause after failed runs.
const LONGEST_REST: Duration = Duration::from_secs(900);
/// Maximum messages kept [LightRAG].
const MAX_MESSAGES: usize = 1000;

/// What the workers of all workspaces keep to.
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
    /// What the next run works with; `None` if it never runs.
    opened: Mutex<Option<Arc<OpenWorkspace>>>,
    wake: Notify,
    /// Another process queued documents, or left some.
    found: Notify,
    limits: Arc<IngestLimits>,
    state: Mutex<Pipeline>,
    /// Documents whose failed chunk contexts are retried after the next run.
    again: Mutex<BTreeSet<DocumentId>>,
    /// Documents that are extracted again after the next run.
    renewing: Mutex<BTreeSet<DocumentId>>,
    /// Layers to derive after the next run.
    layers: Mutex<Layering>,
    /// Numbers of chunks that failed, lost records, or got no context.
    chunk_failures: [AtomicU64; 3],
    /// Events for streams.
    pub(crate) events: EventLog,
    /// Learns that a run has ended.
    activity: Arc<Activity>,
    ended: watch::Receiver<bool>,
}

/// The layers that clients want.
#[derive(Debug, Default)]
struct Layering {
    /// With what may be spent, if that is limited.
    wanted: BTreeMap<LayerKind, Option<Arc<Budget>>>,
    deriving: Option<LayerKind>,
    /// Why the last attempt at a layer failed.
    failures: BTreeMap<LayerKind, String>,
}

/// The state of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pipeline {
    /// Whether a run is in progress.
    pub(crate) busy: bool,
    /// When the latest run started.
    pub(crate) started_at: Option<Timestamp>,
    /// Number of documents in the run so far.
    pub(crate) documents: usize,
    /// Number of documents that are finished, whatever the outcome.
    pub(crate) done: usize,
    /// Documents in the run, and whether each is finished.
    at: BTreeMap<DocumentId, bool>,
    /// Messages, latest last.
    pub(crate) messages: VecDeque<Message>,
    /// Whether there was nothing to do at the last check, and no notification has arrived since.
    idle: bool,
    /// Number of notifications.
    woken: u64,
    /// Whether the worker has ended for good.
    closed: bool,
}

/// A message of a run.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    what: String,
    /// The reason, for a failure.
    reason: Option<String>,
}

impl Message {
    /// The message as a caller may see it.
    pub(crate) fn told(self, reasons: Reasons) -> String {
        let Self { what, reason } = self;
        match reason {
            Some(reason) => format!("{what}: {}", reasons.tell(reason)),
            None => what,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunEnd {
    /// Nothing has to be retried.
    Well,
    /// Something has to be retried, after a pause.
    Badly,
    /// The budget does not reach; it may be larger after a pause.
    OverBudget,
    /// It gave its turn to another workspace.
    Unfinished,
}

/// Whether there is work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Now.
    Work,
    /// Later: the queue is paused, or another process is working on it.
    Later,
    /// None.
    Nothing,
}

impl Pipeline {
    fn say(&mut self, what: String) {
        self.push(Message { what, reason: None });
    }

    fn say_why(&mut self, what: String, reason: String) {
        self.push(Message { what, reason: Some(reason) });
    }

    fn push(&mut self, message: Message) {
        if self.messages.len() >= MAX_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(message);
    }

    fn see(&mut self, document: &DocumentId, is_done: bool) {
        let before = self.at.get(document).copied();
        self.documents += usize::from(before.is_none());
        self.done += usize::from(is_done && before != Some(true));
        // A finished document stays finished while its chunks get a new context.
        self.at.insert(document.clone(), is_done || before == Some(true));
    }

    fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Accepted { .. } | Progress::Settled { .. } | Progress::Derived { .. } => {}
            Progress::Advanced { document, source, done, total, .. } => {
                let is_new = !self.at.contains_key(&document);
                self.see(&document, false);
                if is_new || done == total {
                    self.say(format!("{source}: {done} of {total} chunks"));
                }
            }
            Progress::ChunkFailed { source, ordinal, reason, .. } => {
                self.say_why(format!("{source}: chunk {ordinal} failed"), reason);
            }
            Progress::ChunkDamaged { source, ordinal, reason, .. } => {
                self.say(format!("{source}: chunk {ordinal} lost records: {reason}"));
            }
            Progress::ChunkWithoutContext { source, ordinal, reason, .. } => {
                self.say_why(format!("{source}: chunk {ordinal} has no context"), reason);
            }
            Progress::Finished { document, source, .. } => {
                self.see(&document, true);
                self.say(format!("{source}: in the graph"));
            }
            Progress::Cancelled { document, source } => {
                self.see(&document, true);
                self.say(format!("{source}: cancelled"));
            }
            Progress::Failed { document, source, reason } => {
                self.see(&document, true);
                self.say_why(format!("{source}: stopped"), reason);
            }
            Progress::Paused { service, reason, .. } => {
                self.say_why("waiting for a model service".to_owned(), format!("{service}: {reason}"));
            }
            Progress::Resumed { .. } => self.say("the model service is available again".to_owned()),
        }
    }
}

/// Adds the sources of documents for events; documents that no longer exist are omitted.
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
            // There may be no receiver any more.
            let _ = ending.send(true);
        });
        ingest
    }

    /// A worker that never runs.
    pub(crate) fn idle() -> Arc<Self> {
        let (_, ended) = watch::channel(true);
        let limits = Arc::new(IngestLimits::of(&Limits { workers: 0, ..Limits::default() }));
        let ingest = Self::ending_with(ended, limits, Arc::default());
        ingest.lock().idle = true;
        Arc::new(ingest)
    }

    /// The next run works with this, such as after the embedder of the workspace changed.
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
            renewing: Mutex::default(),
            layers: Mutex::default(),
            chunk_failures: Default::default(),
            events: EventLog::new(),
            activity,
            ended,
        }
    }

    /// The queue changed: check it now.
    pub(crate) fn wake(&self) {
        {
            let mut state = self.lock();
            (state.idle, state.woken) = (false, state.woken.wrapping_add(1));
        }
        self.wake.notify_one();
        self.events.poke();
    }

    /// Another process left work: check the queue, unless the last run failed and a pause is kept.
    pub(crate) fn found_work(&self) {
        self.found.notify_one();
    }

    /// A document was added to the queue.
    pub(crate) fn accepted(&self, document: DocumentId, source: String) {
        self.events.add(&Progress::Accepted { document, source });
    }

    /// Documents were removed from the queue.
    pub(crate) fn cancelled(&self, documents: Vec<(DocumentId, String)>) {
        for (document, source) in documents {
            self.events.add(&Progress::Cancelled { document, source });
        }
        self.wake();
    }

    /// Documents were removed.
    pub(crate) fn removed(&self, documents: &[(DocumentId, String)]) {
        for (document, source) in documents {
            self.events.removed(document, source);
        }
        // The next run writes summaries that failed.
        self.wake();
    }

    /// Documents were queued again: check now, and later retry their failed chunk contexts.
    pub(crate) fn retry(&self, documents: Vec<(DocumentId, String)>) {
        for (document, source) in &documents {
            self.events.queued_again(document, source);
        }
        self.again().extend(documents.into_iter().map(|(document, _)| document));
        self.wake();
    }

    /// Documents are to be extracted again.
    pub(crate) fn re_extract(&self, documents: impl IntoIterator<Item = DocumentId>) {
        self.renewing().extend(documents);
        self.wake();
    }

    /// A layer is to be brought up to date, within a budget if there is one.
    pub(crate) fn derive(&self, kind: LayerKind, budget: Option<Arc<Budget>>) {
        {
            let mut layers = self.layers();
            layers.wanted.insert(kind, budget);
            layers.failures.remove(&kind);
        }
        self.wake();
    }

    /// Whether a layer is being brought up to date, or is about to be.
    pub(crate) fn derives(&self, kind: LayerKind) -> bool {
        let layers = self.layers();
        layers.deriving == Some(kind) || layers.wanted.contains_key(&kind)
    }

    /// Why the last attempt to bring a layer up to date failed; `None` if it did not.
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

    fn renewing(&self) -> std::sync::MutexGuard<'_, BTreeSet<DocumentId>> {
        self.renewing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn layers(&self) -> std::sync::MutexGuard<'_, Layering> {
        self.layers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn work(self: Arc<Self>, workspace: WorkspaceId, mut stop: watch::Receiver<bool>) {
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
                // Only to note whether anything is left; it is processed after a pause.
                if let Err(error) = self.waits(&opened).await {
                    tracing::error!(%workspace, error = chain(&error), "checking the queue failed");
                }
            }
            let has_failed = ended == Some(RunEnd::Badly);
            rest = if has_failed { (rest * 2).min(LONGEST_REST) } else { LOOK };
            let keeps_pause = has_failed || ended == Some(RunEnd::OverBudget);
            tokio::select! {
                () = self.wake.notified() => {}
                () = self.found.notified(), if !keeps_pause => {}
                () = tokio::time::sleep(rest) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
            if self.lock().closed {
                return;
            }
        }
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
        let mut asked = OpenWorkspace::clone(opened);
        asked.indexing.index.stop = request.clone();
        let (workspace, stop) = (workspace.clone(), stop.clone());
        let (runtime, worker) = (Handle::current(), Arc::clone(&self));
        let run = in_background(move || {
            runtime.block_on(async {
                // Dropping a run leaves nothing half-written.
                tokio::select! {
                    ended = worker.run(&workspace, &asked) => ended,
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
    /// the process stops and the run has not ended in time.
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
                    Ok(()) => {
                        self.derive_wanted(opened, &show).await;
                        Ok(report)
                    }
                    Err(error) => Err(error),
                }
            }
            outcome => outcome,
        };
        let (store, runtime) = (Arc::clone(&opened.store), Handle::current());
        // The store's own thread takes the priority of the one that asks.
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
                let (said, went_well) = (end_of(&report), !report.is_partial());
                if report.is_mostly_empty() {
                    let (empty, chunks) = (report.empty_chunks, report.extracted);
                    tracing::warn!(%workspace, empty, chunks, "most chunks produced no entities");
                }
                match went_well {
                    true => tracing::info!(%workspace, said, "indexed"),
                    false => tracing::warn!(%workspace, said, "indexing is incomplete and will be retried"),
                }
                self.lock().say(said);
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

    /// Retries the failed chunk contexts of documents that were queued again. If this stops early, the rest waits
    /// for the next run.
    async fn contextualize(&self, opened: &OpenWorkspace, show: ProgressSink<'_>) -> Result<(), IndexError> {
        let engine = &opened.indexing;
        let waiting = std::mem::take(&mut *self.again());
        if waiting.is_empty() {
            return Ok(());
        }
        let documents: Vec<DocumentId> = waiting.into_iter().collect();
        let context = async {
            let MissingContexts { again, by_others } = index::without_context(engine, &documents).await?;
            for (who, chunks) in by_others {
                self.lock().say(format!(
                    "the context of {chunks} chunks by {who} failed and is not retried, since the setting `contextual` has \
                     changed"
                ));
            }
            index::contextualize(engine, &again, show).await
        };
        let outcome = context.await;
        if outcome.as_ref().map_or(true, |report| report.paused) {
            self.again().extend(documents);
        }
        outcome.map(|_| ())
    }

    /// Extracts documents again. If this stops early, the rest waits for the next run.
    async fn renew(&self, opened: &OpenWorkspace, show: ProgressSink<'_>) -> Result<(), IndexError> {
        let engine = &opened.indexing;
        let wanted: Vec<DocumentId> = std::mem::take(&mut *self.renewing()).into_iter().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let renew = async {
            // Planned here, where nothing else of this worker is under way.
            let plan = index::plan_renewal(engine, &wanted, None, opened.gone.as_ref()).await?;
            let (chunks, documents, unchanged) = (plan.chunks, plan.renewed.len(), plan.unchanged.len());
            self.lock().say(format!(
                "re-extraction: {chunks} chunks of {documents} documents; {unchanged} documents are by this model already, {} \
                 are not in the graph or being worked on",
                plan.busy.len() + plan.not_ready.len()
            ));
            index::renew(engine, &plan.renewed, show).await
        };
        let outcome = renew.await;
        if outcome.as_ref().map_or(true, |report| report.paused || report.stopped) {
            self.renewing().extend(wanted);
        }
        let report = outcome?;
        self.lock().say(format!("re-extraction finished: {} documents", report.finished));
        Ok(())
    }

    /// Derives the layers that clients want. What a pause interrupts waits for the next run.
    async fn derive_wanted(&self, opened: &OpenWorkspace, show: ProgressSink<'_>) {
        loop {
            let wanted = {
                let mut layers = self.layers();
                let wanted = layers.wanted.pop_first();
                layers.deriving = wanted.as_ref().map(|(kind, _)| *kind);
                wanted
            };
            let Some((kind, budget)) = wanted else { return };
            let engine = match &budget {
                None => Ok(opened.indexing.clone()),
                Some(budget) => within(budget, &opened.indexing, opened.embeds_by_service),
            };
            let outcome = match engine {
                Ok(engine) => derive(&engine, kind.deriver(), show, opened.gone.as_ref())
                    .await
                    .map_err(|error| chain(&error)),
                Err(error) => Err(chain(&error)),
            };
            let failure = match &outcome {
                Ok(derived) if derived.paused => None,
                Ok(derived) => {
                    let stopped =
                        || Some(format!("stopped by the budget: {}", derived.over_budget.as_ref()?));
                    derived.reason.clone().or_else(stopped)
                }
                Err(error) => Some(error.clone()),
            };
            let is_paused = outcome.as_ref().is_ok_and(|derived| derived.paused);
            {
                let mut layers = self.layers();
                layers.deriving = None;
                if is_paused {
                    layers.wanted.entry(kind).or_insert(budget);
                }
                if let Some(reason) = &failure {
                    layers.failures.insert(kind, reason.clone());
                }
            }
            if is_paused {
                return;
            }
            if let Some(reason) = &failure {
                self.lock().say_why(format!("{} is not complete", kind.name()), reason.clone());
            }
            self.events.derive_ended(&kind.deriver().layer(), outcome.as_ref().ok(), failure.as_deref());
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
        let is_asked_for =
            !self.again().is_empty() || !self.renewing().is_empty() || !self.layers().wanted.is_empty();
        let leaves_queue = self.limits.turns.leaves_queues();
        if is_asked_for || !leaves_queue && !snapshot.claimable_jobs(engine.clock.now(), 1).await?.is_empty()
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
    let mut said = format!("indexing finished: {} documents in the graph", report.finished);
    for (count, what) in [
        (report.incomplete, "of them incomplete"),
        (report.empty_chunks, "chunks without entities"),
        (report.failed, "stopped"),
        (report.cancelled, "cancelled"),
        (report.stale, "descriptions without a summary"),
    ] {
        if count > 0 {
            said.push_str(&format!(", {count} {what}"));
        }
    }
    if let Some(reason) = &report.stale_reason {
        said.push_str(&format!(" ({reason})"));
    }
    said
}

/// The engine with models that a budget pays for, as far as deriving a layer calls them. Models in this process cost nothing.
pub(crate) fn within(
    budget: &Arc<Budget>,
    engine: &Engine,
    embeds_by_service: bool,
) -> Result<Engine, NoPrice> {
    let mut engine = engine.clone();
    if let Some(model) = engine.models.summarize.take() {
        engine.models.summarize = Some(Arc::new(budget.model(model, WhenShort::Refuse)?));
    }
    if embeds_by_service {
        engine.models.embedder = Arc::new(budget.embedder(engine.models.embedder.clone())?);
    }
    Ok(engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_counts_once_and_old_messages_go() {
        let mut pipeline = Pipeline::default();
        let document = DocumentId::from_stored("doc-1");
        let source = "a.md".to_owned();
        for done in 0..=3 {
            let (document, source) = (document.clone(), source.clone());
            let stage = graphloom_core::Stage::Extract;
            pipeline.show(Progress::Advanced { document, source, stage, done, total: 3 });
        }
        for _ in 0..2 {
            let (document, source) = (document.clone(), source.clone());
            pipeline.show(Progress::Finished {
                document,
                source,
                chunks: 3,
                failed: 0,
                damaged: 0,
                without_context: 0,
            });
        }
        assert_eq!((pipeline.documents, pipeline.done), (1, 1));
        for is_done in [false, true] {
            pipeline.see(&document, is_done);
        }
        assert_eq!(
            (pipeline.documents, pipeline.done),
            (1, 1),
            "a new context does not count as another document"
        );
        for number in 0..2000 {
            pipeline.say(number.to_string());
        }
        assert_eq!(pipeline.messages.len(), MAX_MESSAGES);
        assert_eq!(pipeline.messages.back().map(|message| message.what.as_str()), Some("1999"));
    }
}
