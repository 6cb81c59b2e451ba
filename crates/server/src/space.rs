//! The workspaces that are open, each with its engines and its worker.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::{StoreError, WorkspaceId};
use graphloom_engine::Engine;
use graphloom_engine::money::Prices;
use serde::Serialize;
use tokio::sync::{OnceCell, Semaphore, watch};

use crate::app::Indexing;
use crate::host::{Host, HostError, Missing, Opened, Pauses};
use crate::ingest::Ingest;
use crate::limits::Limits;
use crate::metrics::{LastRead, Metrics, counted};
use crate::problem::Problem;
use crate::quiet::Activity;

/// An open workspace.
pub(crate) struct Space {
    /// Its name.
    pub(crate) id: WorkspaceId,
    /// Answers questions.
    pub(crate) asking: Engine,
    /// Indexes and edits.
    pub(crate) indexing: Engine,
    /// Instructions that stand before those of every question.
    pub(crate) user_prompt_prefix: String,
    /// What models cost, as configured.
    pub(crate) prices: Prices,
    /// Whether vectors are made by a service.
    pub(crate) embeds_by_service: bool,
    /// One at a time looks which sources are new and accepts them.
    pub(crate) accepting: Semaphore,
    /// The store's file; `None` where it is none.
    pub(crate) file: Option<PathBuf>,
    /// The model services that indexing waits for.
    pub(crate) pauses: Arc<Pauses>,
    /// What was last counted in the store.
    last_read: Mutex<Option<LastRead>>,
    /// What works on its documents.
    pub(crate) ingest: Arc<Ingest>,
    /// Whether the server stops.
    pub(crate) stop: watch::Receiver<bool>,
    /// When it was last asked for.
    used: Mutex<Instant>,
    /// Has its store give back the memory that it keeps.
    pub(crate) rest: Arc<dyn Fn() + Send + Sync>,
    /// Whether its store can be read and written.
    probe: Arc<dyn Fn() -> Result<(), StoreError> + Send + Sync>,
    /// When that was last found out, and what is wrong.
    probed: tokio::sync::Mutex<Option<(Instant, Option<String>)>>,
}

impl Space {
    /// What was last counted in the store.
    pub(crate) fn last_read(&self) -> std::sync::MutexGuard<'_, Option<LastRead>> {
        self.last_read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn used(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long the answer of a probe counts.
const PROBED_EVERY: Duration = Duration::from_secs(5);
/// How long a probe may take.
const PROBED_WITHIN: Duration = Duration::from_secs(5);

impl Space {
    /// What is wrong with its store; `None` where it can be read and written.
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
        let probe = Arc::clone(&self.probe);
        let probing = tokio::task::spawn_blocking(move || probe());
        let fault = match tokio::time::timeout(PROBED_WITHIN, probing).await {
            Ok(Ok(Ok(()))) => None,
            Ok(Ok(Err(error))) => Some(Problem::from(error).words()),
            Ok(Err(_)) => Some("looking at its store panicked; the server's log says why".to_owned()),
            Err(_) => Some("its store does not answer".to_owned()),
        };
        *probed = Some((Instant::now(), fault.clone()));
        fault
    }
}

/// A workspace that cannot be used as it should.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SpaceFault {
    /// Its name.
    pub(crate) workspace: WorkspaceId,
    /// What is wrong.
    pub(crate) reason: String,
}

/// Why a workspace could not be opened.
#[derive(Debug, Clone)]
struct Unopened {
    reason: String,
    is_of_store: bool,
}

/// The open workspaces. One is opened when it is first asked for, and closed where there is no room for another, nobody has
/// asked for it for a while and nothing is to be done in it.
pub(crate) struct Spaces {
    host: Arc<dyn Host>,
    open: Mutex<BTreeMap<WorkspaceId, Cell>>,
    /// Those that could not be opened when they were last asked for.
    unopened: Mutex<BTreeMap<WorkspaceId, Unopened>>,
    most: usize,
    idle: Duration,
    indexing: Indexing,
    watched: Watched,
    stop: watch::Receiver<bool>,
}

/// What learns of everything that goes on in the workspaces.
pub(crate) struct Watched {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) activity: Arc<Activity>,
}

/// A workspace that is open, or that somebody opens.
type Cell = Arc<OnceCell<Arc<Space>>>;

impl Spaces {
    pub(crate) fn new(
        host: Arc<dyn Host>,
        limits: &Limits,
        indexing: Indexing,
        watched: Watched,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let (open, unopened) = (Mutex::default(), Mutex::default());
        let (most, idle) = (limits.workspaces, limits.idle);
        Self { host, open, unopened, most, idle, indexing, watched, stop }
    }

    /// The workspace of this name, opened where it is not.
    pub(crate) async fn get(&self, id: &WorkspaceId, missing: Missing) -> Result<Arc<Space>, Problem> {
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
                Ok::<_, Problem>(self.start(id, opened.ok_or_else(unknown)?))
            })
            .await?;
        *space.used() = Instant::now();
        Ok(Arc::clone(space))
    }

    /// Notes whether a workspace could be opened.
    fn note(&self, id: &WorkspaceId, error: Option<&HostError>) {
        let mut unopened = self.unopened();
        match error {
            // A list of as many as can be open says enough.
            Some(_) if unopened.len() >= self.most && !unopened.contains_key(id) => {}
            Some(error) => {
                let (reason, is_of_store) = (error.message.clone(), error.is_of_store);
                unopened.insert(id.clone(), Unopened { reason, is_of_store });
            }
            None => {
                unopened.remove(id);
            }
        }
    }

    fn unopened(&self) -> std::sync::MutexGuard<'_, BTreeMap<WorkspaceId, Unopened>> {
        self.unopened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the store of a workspace was there and could not be opened.
    pub(crate) fn is_store_unusable(&self, id: &WorkspaceId) -> bool {
        self.unopened().get(id).is_some_and(|unopened| unopened.is_of_store)
    }

    /// Why a workspace could not be opened when it was last asked for.
    pub(crate) fn reason_unopened(&self, id: &WorkspaceId) -> Option<String> {
        self.unopened().get(id).map(|unopened| unopened.reason.clone())
    }

    /// How many workspaces were opened or asked for in vain, and what is wrong with which of them, ascending.
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

    /// Takes away what was asked for in vain, or else the workspace that nobody has used for longest.
    fn make_room(&self, open: &mut BTreeMap<WorkspaceId, Cell>) -> Result<(), Problem> {
        open.retain(|_, cell| cell.initialized() || Arc::strong_count(cell) > 1);
        if open.len() < self.most {
            return Ok(());
        }
        // Who holds a cell is about to hold its workspace, and whoever reads it holds that: nobody does where there is one
        // of each, and nobody can begin while all of them are locked.
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
            let what = format!("{} workspaces are open, as many as one server takes", self.most);
            let seconds = self.idle.as_secs();
            let remedy = format!(
                "come back later: one that nobody uses for {seconds} seconds and in which nothing is to be indexed makes \
                 room; or serve some of them from another process"
            );
            return Err(Problem::unavailable(what, self.idle).remedy(Some(remedy)));
        };
        tracing::info!(workspace = %id, "closed, for another is opened");
        open.remove(&id);
        Ok(())
    }

    /// Those that are open, ascending.
    pub(crate) fn opened(&self) -> Vec<Arc<Space>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().filter_map(|cell| cell.get().cloned()).collect()
    }

    /// Opens every workspace that exists, so that what waits in them is worked on without anybody asking for it.
    pub(crate) async fn open_all(&self) {
        let workspaces = match self.host.workspaces().await {
            Ok(workspaces) => workspaces,
            Err(error) => return tracing::error!(%error, "workspaces cannot be listed; work in them waits"),
        };
        for workspace in workspaces {
            if let Err(problem) = self.get(&workspace, Missing::Leave).await {
                tracing::error!(%workspace, error = problem.words(), "a workspace is not served");
            }
        }
    }

    /// Waits until nothing works on documents any more.
    pub(crate) async fn stopped(&self) {
        for space in self.opened() {
            space.ingest.stopped().await;
        }
    }

    fn start(&self, id: &WorkspaceId, mut opened: Opened) -> Arc<Space> {
        let known_prices = Arc::new(opened.prices.clone());
        opened.asking = counted(opened.asking, &self.watched.metrics, &known_prices);
        opened.indexing = counted(opened.indexing, &self.watched.metrics, &known_prices);
        let Opened {
            asking,
            indexing,
            user_prompt_prefix,
            prices,
            embeds_by_service,
            file,
            pauses,
            probe,
            rest,
            ..
        } = opened.clone();
        let ingest = match self.indexing {
            Indexing::On => {
                Ingest::start(id.clone(), opened, Arc::clone(&self.watched.activity), self.stop.clone())
            }
            Indexing::Off => Ingest::idle(),
        };
        Arc::new(Space {
            id: id.clone(),
            asking,
            indexing,
            user_prompt_prefix,
            prices,
            embeds_by_service,
            accepting: Semaphore::new(1),
            file,
            pauses,
            last_read: Mutex::default(),
            ingest,
            stop: self.stop.clone(),
            used: Mutex::new(Instant::now()),
            probe,
            rest,
            probed: tokio::sync::Mutex::default(),
        })
    }
}
