//! The workspaces that are open, each with its engines and its worker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::WorkspaceId;
use graphloom_engine::Engine;
use graphloom_engine::money::Prices;
use tokio::sync::{OnceCell, Semaphore, watch};

use crate::app::Indexing;
use crate::host::{Host, Missing, Opened};
use crate::ingest::Ingest;
use crate::limits::MAX_WORKSPACES;
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
}

/// The open workspaces. One is opened when it is first asked for, and stays open.
pub(crate) struct Spaces {
    host: Arc<dyn Host>,
    open: Mutex<BTreeMap<WorkspaceId, Arc<OnceCell<Arc<Space>>>>>,
    indexing: Indexing,
    stop: watch::Receiver<bool>,
}

impl Spaces {
    pub(crate) fn new(host: Arc<dyn Host>, indexing: Indexing, stop: watch::Receiver<bool>) -> Self {
        Self { host, open: Mutex::default(), indexing, stop }
    }

    /// The workspace of this name, opened where it is not.
    pub(crate) async fn get(&self, id: &WorkspaceId, missing: Missing) -> Result<Arc<Space>, Problem> {
        let cell = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() >= MAX_WORKSPACES && !open.contains_key(id) {
                open.retain(|_, cell| cell.initialized() || Arc::strong_count(cell) > 1);
                if open.len() >= MAX_WORKSPACES {
                    let what = format!("{MAX_WORKSPACES} workspaces are open, more than one server takes");
                    return Err(Problem::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, what));
                }
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
        Ok(Arc::clone(space))
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
        })
    }
}
