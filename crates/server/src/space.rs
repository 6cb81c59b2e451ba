//! The open workspaces with their engines and workers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::{StoreError, Upkeep, Worker, WorkspaceId, WorkspaceStore};
use graphloom_engine::Engine;
use graphloom_engine::chunk_context::ContextWriter;
use graphloom_engine::money::Prices;
use serde::Serialize;
use tokio::sync::{OnceCell, Semaphore, watch};

use crate::app::Indexing;
use crate::host::{Host, HostError, IfMissing, OpenWorkspace, Pauses};
use crate::ingest::{Ingest, IngestLimits};
use crate::limits::Limits;
use crate::metrics::{LastRead, Metrics, counted};
use crate::problem::Problem;
use crate::quiet::Activity;
use crate::routes::Pictures;

/// An open workspace.
pub(crate) struct Space {
    /// Its name.
    pub(crate) id: WorkspaceId,
    /// Answers questions.
    pub(crate) asking: Engine,
    /// Indexes and edits.
    pub(crate) indexing: Engine,
    /// Instructions for the answer model that precede those of every question.
    pub(crate) user_prompt_prefix: String,
    /// Configured prices of models.
    pub(crate) prices: Prices,
    /// Whether embedding calls a service.
    pub(crate) embeds_by_service: bool,
    /// One request at a time checks which sources are new and accepts them.
    pub(crate) accepting: Semaphore,
    /// The store of both engines.
    pub(crate) store: Arc<dyn WorkspaceStore>,
    /// This process among the workers.
    worker: Arc<dyn Worker>,
    /// The model services that indexing waits for.
    pub(crate) pauses: Arc<Pauses>,
    /// The latest pictures of its graph.
    pub(crate) pictures: Pictures,
    /// The latest counts of the store.
    last_read: Mutex<Option<LastRead>>,
    /// The worker.
    pub(crate) ingest: Arc<Ingest>,
    /// Whether the server is stopping.
    pub(crate) stop: watch::Receiver<bool>,
    /// Time of the last request.
    used: Mutex<Instant>,
    /// Time and result of the last test.
    probed: tokio::sync::Mutex<Option<(Instant, Option<String>)>>,
}

impl Space {
    /// The names of the models of services that the workspace calls.
    pub(crate) fn models(&self) -> BTreeSet<String> {
        let (asking, indexing) = (&self.asking.models, &self.indexing.models);
        let context = match &indexing.context_writer {
            ContextWriter::Model(model) => Some(model),
            ContextWriter::Off | ContextWriter::Headings => None,
        };
        let chat = [&indexing.extract, &indexing.summarize, &asking.keywords, &asking.answer];
        let chat = chat.into_iter().flatten().chain(context).map(|model| model.name().to_owned());
        let embedder = self.embeds_by_service.then(|| indexing.embedder.name().to_owned());
        let reranker = asking.reranker.as_ref().map(|reranker| reranker.name().to_owned());
        chat.chain(embedder).chain(reranker).collect()
    }

    /// The latest counts of the store.
    pub(crate) fn last_read(&self) -> std::sync::MutexGuard<'_, Option<LastRead>> {
        self.last_read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn used(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long the result of a test is reused.
const PROBED_EVERY: Duration = Duration::from_secs(5);
/// Time limit of a test.
const PROBED_WITHIN: Duration = Duration::from_secs(5);

impl Space {
    /// True if the workspace must be opened again: it was moved or deleted, or another process replaced its vectors with those of
    /// another embedder.
    async fn is_outdated(&self) -> Result<bool, StoreError> {
        let snapshot = match self.store.snapshot().await {
            Err(StoreError::Gone { .. }) => return Ok(true),
            snapshot => snapshot?,
        };
        let space = snapshot.embedding().await?;
        Ok(space.is_some_and(|space| space.model != self.asking.models.embedder.name()))
    }

    /// What is wrong with the store; `None` if it can be read and written.
    pub(crate) async fn fault(&self) -> Option<String> {
        if let Some(damage) = self.asking.store.fault() {
            return Some(damage);
        }
        let mut probed = self.probed.lock().await;
        if let Some((at, fault)) = &*probed
            && at.elapsed() < PROBED_EVERY
        {
            return fault.clone();
        }
        let probing = async {
            self.store.maintain(Upkeep::Probe).await?;
            self.worker.try_again()
        };
        let fault = match tokio::time::timeout(PROBED_WITHIN, probing).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Problem::from(error).words()),
            Err(_) => Some("its store does not respond".to_owned()),
        };
        *probed = Some((Instant::now(), fault.clone()));
        fault
    }
}

/// A workspace that is not usable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SpaceFault {
    /// Its name.
    pub(crate) workspace: WorkspaceId,
    /// The reason.
    pub(crate) reason: String,
}

/// Why a workspace could not be opened.
#[derive(Debug, Clone)]
struct OpenFailure {
    reason: String,
    is_of_store: bool,
}

/// The open workspaces. One is opened at its first request. It is closed if another needs its place, and it has
/// been unused for a while and has nothing to index.
pub(crate) struct Spaces {
    host: Arc<dyn Host>,
    open: Mutex<BTreeMap<WorkspaceId, Cell>>,
    /// Workspaces that failed to open at their last request.
    unopened: Mutex<BTreeMap<WorkspaceId, OpenFailure>>,
    most: usize,
    idle: Duration,
    indexing: Indexing,
    turns: Arc<IngestLimits>,
    watched: LiveState,
    stop: watch::Receiver<bool>,
    /// Held while a workspace whose embedder changed is reopened.
    reopening: tokio::sync::Mutex<()>,
}

/// State that is updated by everything that happens in the workspaces.
pub(crate) struct LiveState {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) activity: Arc<Activity>,
}

/// A workspace that is open or being opened.
type Cell = Arc<OnceCell<Arc<Space>>>;

impl Spaces {
    pub(crate) fn new(
        host: Arc<dyn Host>,
        limits: &Limits,
        indexing: Indexing,
        watched: LiveState,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let (open, unopened) = (Mutex::default(), Mutex::default());
        let (most, idle) = (limits.workspaces, limits.idle);
        let reopening = tokio::sync::Mutex::default();
        let turns = Arc::new(IngestLimits::of(limits));
        Self { host, open, unopened, most, idle, indexing, turns, watched, stop, reopening }
    }

    /// Returns the workspace, opening it if necessary.
    pub(crate) async fn get(&self, id: &WorkspaceId, missing: IfMissing) -> Result<Arc<Space>, Problem> {
        let cell = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() >= self.most && !open.contains_key(id) {
                self.make_room(&mut open)?;
            }
            Arc::clone(open.entry(id.clone()).or_default())
        };
        let space = cell
            .get_or_try_init(|| async {
                let opened = self.host.open(id, missing).await;
                self.note(id, opened.as_ref().err());
                let opened = opened?;
                let unknown = || Problem::not_found(format!("no workspace {id}"));
                Ok::<_, Problem>(self.start(id, opened.ok_or_else(unknown)?, None))
            })
            .await?;
        *space.used() = Instant::now();
        match space.is_outdated().await? {
            true => self.reopen(id).await,
            false => Ok(Arc::clone(space)),
        }
    }

    /// Reopens a workspace that was moved, or whose vectors another process replaced with those of another embedder. Keeps its
    /// events and the work for the next run.
    async fn reopen(&self, id: &WorkspaceId) -> Result<Arc<Space>, Problem> {
        let _turn = self.reopening.lock().await;
        let known = {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.get(id).and_then(|cell| cell.get().cloned())
        };
        if let Some(space) = &known
            && !space.is_outdated().await?
        {
            return Ok(Arc::clone(space));
        }
        let opened = self.host.open(id, IfMissing::Leave).await;
        if let (Err(_), Some(space)) = (&opened, &known)
            && let Err(gone @ StoreError::Gone { .. }) = space.store.snapshot().await.map(drop)
        {
            // A missing file may come back, and then the workspace is served as it is.
            return Err(gone.into());
        }
        self.note(id, opened.as_ref().err());
        let opened = opened?.ok_or_else(|| Problem::not_found(format!("no workspace {id}")))?;
        tracing::info!(workspace = %id, place = opened.store.place(), embedder = opened.asking.models.embedder.name(), "opened again");
        let space = self.start(id, opened, known.map(|known| Arc::clone(&known.ingest)));
        let cell = Arc::new(OnceCell::new_with(Some(Arc::clone(&space))));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), cell);
        Ok(space)
    }

    /// Records whether a workspace could be opened.
    fn note(&self, id: &WorkspaceId, error: Option<&HostError>) {
        let mut unopened = self.unopened();
        match error {
            // The list need not be longer than the number of workspaces that can be open.
            Some(_) if unopened.len() >= self.most && !unopened.contains_key(id) => {}
            Some(error) => {
                let (reason, is_of_store) = (error.message.clone(), error.is_of_store);
                unopened.insert(id.clone(), OpenFailure { reason, is_of_store });
            }
            None => {
                unopened.remove(id);
            }
        }
    }

    fn unopened(&self) -> std::sync::MutexGuard<'_, BTreeMap<WorkspaceId, OpenFailure>> {
        self.unopened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the store of a workspace exists but could not be opened.
    pub(crate) fn is_store_unusable(&self, id: &WorkspaceId) -> bool {
        self.unopened().get(id).is_some_and(|unopened| unopened.is_of_store)
    }

    /// Why a workspace could not be opened at its last request.
    pub(crate) fn why_unopened(&self, id: &WorkspaceId) -> Option<String> {
        self.unopened().get(id).map(|unopened| unopened.reason.clone())
    }

    /// The number of workspaces that were opened or failed to open, and the unusable ones, ascending.
    pub(crate) async fn faults(&self) -> (usize, Vec<SpaceFault>) {
        let unopened = self.unopened().clone();
        let mut known = unopened.len();
        let mut faults: Vec<SpaceFault> = unopened
            .into_iter()
            .map(|(workspace, unopened)| SpaceFault { workspace, reason: unopened.reason })
            .collect();
        for space in self.opened() {
            known += 1;
            let fault = space.fault().await;
            faults.extend(fault.map(|reason| SpaceFault { workspace: space.id.clone(), reason }));
        }
        faults.sort_by(|one, other| one.workspace.cmp(&other.workspace));
        (known, faults)
    }

    /// Removes a failed entry, or closes the workspace that has been unused for longest.
    fn make_room(&self, open: &mut BTreeMap<WorkspaceId, Cell>) -> Result<(), Problem> {
        open.retain(|_, cell| cell.initialized() || Arc::strong_count(cell) > 1);
        if open.len() < self.most {
            return Ok(());
        }
        // Requests hold a cell until they hold its workspace. If there is one reference to each, no request uses
        // it, and none can start while both are locked.
        let unused = |cell: &Cell| {
            let space =
                cell.get().filter(|space| Arc::strong_count(cell) == 1 && Arc::strong_count(space) == 1)?;
            let since = *space.used();
            (since.elapsed() >= self.idle).then_some(since)
        };
        let mut idle: Vec<(Instant, WorkspaceId)> =
            open.iter().filter_map(|(id, cell)| Some((unused(cell)?, id.clone()))).collect();
        idle.sort();
        let closed = idle.into_iter().find(|(_, id)| {
            open.get(id).and_then(|cell| cell.get()).is_some_and(|space| space.ingest.close_if_idle())
        });
        let Some((_, id)) = closed else {
            let what = format!("too many open workspaces: the limit is {}", self.most);
            let seconds = self.idle.as_secs();
            let remedy = format!(
                "try again later: a workspace that is unused for {seconds} seconds and has nothing to index is closed to \
                 make room; or serve some workspaces from another process"
            );
            return Err(Problem::unavailable(what, self.idle).remedy(Some(remedy)));
        };
        tracing::info!(workspace = %id, "closed to make room for another workspace");
        open.remove(&id);
        Ok(())
    }

    /// The open workspaces, ascending.
    pub(crate) fn opened(&self) -> Vec<Arc<Space>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().filter_map(|cell| cell.get().cloned()).collect()
    }

    /// Opens all workspaces, so that their queued documents are indexed without a request.
    pub(crate) async fn open_all(&self) {
        let workspaces = match self.host.workspaces().await {
            Ok(workspaces) => workspaces,
            Err(error) => {
                return tracing::error!(%error, "listing workspaces failed; their queued documents wait");
            }
        };
        for workspace in workspaces {
            if let Err(problem) = self.get(&workspace, IfMissing::Leave).await {
                tracing::error!(%workspace, error = problem.words(), "a workspace is not served");
            }
        }
    }

    /// Opens the workspaces with waiting documents, so that they are indexed. Returns whether these workspaces are known; if not,
    /// opens all.
    pub(crate) async fn open_with_work(&self) -> bool {
        let found = match self.host.with_work().await {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.open_all().await;
                return false;
            }
            Err(error) => {
                tracing::warn!(%error, "looking for queued documents failed");
                return true;
            }
        };
        for workspace in found {
            match self.get(&workspace, IfMissing::Leave).await {
                Ok(space) => space.ingest.found_work(),
                Err(problem) => {
                    tracing::debug!(%workspace, error = problem.words(), "its queued documents wait");
                }
            }
        }
        true
    }

    /// Waits until all workers have ended.
    pub(crate) async fn stopped(&self) {
        for space in self.opened() {
            space.ingest.stopped().await;
        }
    }

    /// - `ingest`: the worker that the workspace already has.
    fn start(&self, id: &WorkspaceId, mut opened: OpenWorkspace, ingest: Option<Arc<Ingest>>) -> Arc<Space> {
        let known_prices = Arc::new(opened.prices.clone());
        opened.asking = counted(opened.asking, &self.watched.metrics, &known_prices);
        opened.indexing = counted(opened.indexing, &self.watched.metrics, &known_prices);
        let OpenWorkspace {
            asking,
            indexing,
            user_prompt_prefix,
            prices,
            embeds_by_service,
            store,
            worker,
            pauses,
            ..
        } = opened.clone();
        let ingest = match (ingest, self.indexing) {
            (Some(ingest), Indexing::On) => {
                ingest.work_with(opened);
                ingest.wake();
                ingest
            }
            (None, Indexing::On) => Ingest::start(
                id.clone(),
                opened,
                Arc::clone(&self.turns),
                Arc::clone(&self.watched.activity),
                self.stop.clone(),
            ),
            (_, Indexing::Off) => Ingest::idle(),
        };
        Arc::new(Space {
            id: id.clone(),
            asking,
            indexing,
            user_prompt_prefix,
            prices,
            embeds_by_service,
            accepting: Semaphore::new(1),
            store,
            worker,
            pauses,
            pictures: Pictures::default(),
            last_read: Mutex::default(),
            ingest,
            stop: self.stop.clone(),
            used: Mutex::new(Instant::now()),
            probed: tokio::sync::Mutex::default(),
        })
    }
}
