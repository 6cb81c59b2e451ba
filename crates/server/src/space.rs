//! The workspaces that are open, each with its engines and its worker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::WorkspaceId;
use graphloom_engine::Engine;
use graphloom_engine::money::Prices;
use tokio::sync::{OnceCell, Semaphore, watch};

use crate::app::Indexing;
use crate::host::{Host, Missing, Opened};
use crate::ingest::Ingest;
use crate::limits::Limits;
use crate::problem::Problem;

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
    /// What works on its documents.
    pub(crate) ingest: Arc<Ingest>,
    /// Whether the server stops.
    pub(crate) stop: watch::Receiver<bool>,
    /// When it was last asked for.
    used: Mutex<Instant>,
}

impl Space {
    fn used(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The open workspaces. One is opened when it is first asked for, and closed where there is no room for another, nobody has
/// asked for it for a while and nothing is to be done in it.
pub(crate) struct Spaces {
    host: Arc<dyn Host>,
    open: Mutex<BTreeMap<WorkspaceId, Cell>>,
    most: usize,
    idle: Duration,
    indexing: Indexing,
    stop: watch::Receiver<bool>,
}

/// A workspace that is open, or that somebody opens.
type Cell = Arc<OnceCell<Arc<Space>>>;

impl Spaces {
    pub(crate) fn new(
        host: Arc<dyn Host>,
        limits: &Limits,
        indexing: Indexing,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self { host, open: Mutex::default(), most: limits.workspaces, idle: limits.idle, indexing, stop }
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
                let opened = self.host.open(id, missing).await?;
                let unknown = || Problem::not_found(format!("no workspace {id}"));
                Ok::<_, Problem>(self.start(id, opened.ok_or_else(unknown)?))
            })
            .await?;
        *space.used() = Instant::now();
        Ok(Arc::clone(space))
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

    fn start(&self, id: &WorkspaceId, opened: Opened) -> Arc<Space> {
        let Opened { asking, indexing, user_prompt_prefix, prices, embeds_by_service, .. } = opened.clone();
        let ingest = match self.indexing {
            Indexing::On => Ingest::start(id.clone(), opened, self.stop.clone()),
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
            ingest,
            stop: self.stop.clone(),
            used: Mutex::new(Instant::now()),
        })
    }
}
