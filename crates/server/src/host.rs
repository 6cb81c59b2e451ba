//! The port through which the server gets its workspaces.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use graphloom_core::{SharedTexts, Worker, WorkspaceId, WorkspaceStore};
use graphloom_engine::Engine;
use graphloom_engine::index::{Source, SourceText};
use graphloom_engine::money::Prices;
use graphloom_readers::ParseLimits;

/// Provides workspaces and readers; implemented by the program with its stores and models.
#[async_trait]
pub trait Host: Send + Sync {
    /// The existing workspaces, ascending.
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, HostError>;

    /// Texts that all servers of the workspaces share; `None` if they are files of the data folder.
    fn shared_texts(&self) -> Option<Arc<dyn SharedTexts>>;

    /// The workspaces with documents that no process indexes, ascending; `None` if finding out would need to open each of them.
    async fn with_work(&self) -> Result<Option<Vec<WorkspaceId>>, HostError>;

    /// Opens a workspace; `None` if it does not exist and must not be created.
    ///
    /// The server calls this once per workspace and keeps the result.
    async fn open(
        &self,
        workspace: &WorkspaceId,
        missing: IfMissing,
    ) -> Result<Option<OpenWorkspace>, HostError>;

    /// Reads untrusted sources into text, isolated so that each can be stopped. Results are in the order of
    /// `sources`.
    async fn read(&self, sources: Vec<Source>, limits: ParseLimits) -> Vec<SourceText>;
}

/// What to do if a workspace does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    /// Create it.
    Create,
    /// Return `None`.
    Leave,
}

/// An open workspace.
#[derive(Clone)]
pub struct OpenWorkspace {
    /// Answers questions. A model call fails after its last attempt, because a client waits.
    pub asking: Engine,
    /// Indexes and edits on the same store. Model calls wait for services that are down.
    pub indexing: Engine,
    /// Instructions for the answer model that precede the user prompt of every question.
    pub user_prompt_prefix: String,
    /// Configured prices of models.
    pub prices: Prices,
    /// Whether embedding calls a service; models in this process cost nothing.
    pub embeds_by_service: bool,
    /// Whether the process of a worker has exited.
    pub gone: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// The store of both engines.
    pub store: Arc<dyn WorkspaceStore>,
    /// This process, whose name is on its leases.
    pub worker: Arc<dyn Worker>,
    /// The model services that indexing waits for.
    pub pauses: Arc<Pauses>,
}

/// Model services that are down. The host reports them; metrics read them.
#[derive(Debug, Default)]
pub struct Pauses {
    paused: Mutex<BTreeSet<String>>,
    total: AtomicU64,
}

impl Pauses {
    /// Indexing starts to wait for a service.
    pub fn pause(&self, service: &str) {
        if self.lock().insert(service.to_owned()) {
            self.total.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A service is available again.
    pub fn resume(&self, service: &str) {
        self.lock().remove(service);
    }

    /// Number of services being waited for.
    pub fn paused(&self) -> usize {
        self.lock().len()
    }

    /// Number of waits so far.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a workspace cannot be served.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// The error with its causes.
    pub message: String,
    /// The remedy for the administrator, if known; not sent to clients.
    pub remedy: Option<String>,
    /// Whether the store cannot be opened, as opposed to a configuration error.
    pub is_of_store: bool,
}
