//! The port through which the server gets its workspaces.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use graphloom_core::{StoreError, WorkspaceId};
use graphloom_engine::Engine;
use graphloom_engine::index::{Reading, Source};
use graphloom_engine::money::Prices;
use graphloom_engine::parse::ParseLimits;

/// Brings what the server serves: the program implements it with its stores, models and readers.
#[async_trait]
pub trait Host: Send + Sync {
    /// The workspaces that exist, ascending.
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, HostError>;

    /// A workspace with everything it is served with; `None` where it does not exist and is not to be made.
    ///
    /// The server calls it once for each workspace and keeps what it gets.
    async fn open(&self, workspace: &WorkspaceId, missing: Missing) -> Result<Option<Opened>, HostError>;

    /// Reads sources that strangers sent into text, each where it can be stopped; the order stays.
    async fn read(&self, sources: Vec<Source>, limits: ParseLimits) -> Vec<Reading>;
}

/// What to do about a workspace that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Make it.
    Create,
    /// Leave it so.
    Leave,
}

/// An open workspace.
#[derive(Clone)]
pub struct Opened {
    /// Answers questions: its calls fail when their attempts are used up, for somebody waits.
    pub asking: Engine,
    /// Indexes and edits: its calls wait for services that are down. On the same store.
    pub indexing: Engine,
    /// Instructions for the answer model that stand before those of every question.
    pub user_prompt_prefix: String,
    /// What models cost, as configured.
    pub prices: Prices,
    /// Whether vectors are made by a service; models in process cost nothing.
    pub embeds_by_service: bool,
    /// Whether the worker of a name has ended.
    pub gone: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// The store's file; `None` where it is none.
    pub file: Option<PathBuf>,
    /// The model services that indexing waits for.
    pub pauses: Arc<Pauses>,
    /// Brings the indexes beside the store up to date; called where it may block.
    pub catch_up: Arc<dyn Fn() -> Result<(), StoreError> + Send + Sync>,
    /// Has the store give back the memory that it keeps for what comes next; called where it may block.
    pub rest: Arc<dyn Fn() + Send + Sync>,
    /// Whether the store can be read and written; called where it may block.
    pub probe: Arc<dyn Fn() -> Result<(), StoreError> + Send + Sync>,
}

/// Model services that are waited for. Whoever opens a workspace tells it, and whoever watches the server reads it.
#[derive(Debug, Default)]
pub struct Pauses {
    paused: Mutex<BTreeSet<String>>,
    total: AtomicU64,
}

impl Pauses {
    /// A service is waited for.
    pub fn pause(&self, service: &str) {
        if self.lock().insert(service.to_owned()) {
            self.total.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A service answers again.
    pub fn resume(&self, service: &str) {
        self.lock().remove(service);
    }

    /// How many services are waited for.
    pub fn paused(&self) -> usize {
        self.lock().len()
    }

    /// How often one began to be waited for.
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
    /// What is wrong, with its causes.
    pub message: String,
    /// What can be done about it.
    pub remedy: Option<String>,
    /// Whether its store cannot be opened, and not how it is configured is wrong.
    pub is_of_store: bool,
}
