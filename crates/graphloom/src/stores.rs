//! Where workspaces are kept: in files of the data folder, or in a PostgreSQL database.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use graphloom_core::{Batch, GraphTurn, Revision, Snapshot, Store, StoreError, WorkspaceId};
use graphloom_postgres::{Database, PostgresStore};
use graphloom_storage::check::Finding;
use graphloom_storage::sqlite::{self, Patience, SqliteStore};

use crate::config::Config;
use crate::error::Result;

/// The databases this process has opened, by address. Each has threads and connections, so one serves all stores.
static DATABASES: Mutex<BTreeMap<String, Database>> = Mutex::new(BTreeMap::new());

/// All workspaces of one configuration.
pub enum Workspaces {
    /// Files of this folder.
    Files(PathBuf),
    /// Rows of this database.
    Database(Database),
}

impl Workspaces {
    /// Where the configuration keeps workspaces. A database is connected to by the first call and brought up to date.
    ///
    /// # Errors
    ///
    /// A database that does not answer within seconds, or cannot hold workspaces.
    pub fn of(config: &Config) -> Result<Self> {
        let Some(store) = &config.store else { return Ok(Self::Files(config.data_dir.clone())) };
        let mut opened = DATABASES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = opened.get(store.reveal()) {
            return Ok(Self::Database(database.clone()));
        }
        let database = Database::open(store.reveal())?;
        opened.insert(store.reveal().to_owned(), database.clone());
        Ok(Self::Database(database))
    }

    /// The folder, or the address of the database without user and password.
    pub fn place(&self) -> String {
        match self {
            Self::Files(folder) => folder.display().to_string(),
            Self::Database(database) => database.name().to_owned(),
        }
    }

    /// The workspaces, by name.
    pub fn list(&self) -> Result<Vec<WorkspaceId>> {
        match self {
            Self::Files(folder) => Ok(sqlite::list_workspaces(folder)?),
            Self::Database(database) => Ok(database.list()?),
        }
    }

    /// Whether the workspace exists.
    pub fn exists(&self, workspace: &WorkspaceId) -> Result<bool> {
        match self {
            Self::Files(folder) => Ok(sqlite::exists(folder, workspace)),
            Self::Database(database) => Ok(database.exists(workspace)?),
        }
    }

    /// The settings that the workspace is built with; empty if it does not exist or stores none.
    pub fn settings_of(&self, workspace: &WorkspaceId) -> Result<BTreeMap<String, String>> {
        match self {
            Self::Files(folder) => Ok(sqlite::settings_of(folder, workspace)?),
            Self::Database(database) => Ok(database.settings_of(workspace)?),
        }
    }

    /// The store of a workspace, made if it is missing.
    ///
    /// - `patience`: how long a write waits for other processes that write to the file. A database has limits of its own.
    pub fn open(&self, workspace: &WorkspaceId, patience: Patience) -> Result<Arc<OpenStore>> {
        let workspace = workspace.clone();
        Ok(Arc::new(match self {
            Self::Files(folder) => OpenStore::File(SqliteStore::open_patiently(folder, workspace, patience)?),
            Self::Database(database) => OpenStore::Database(database.open_or_create(workspace)?),
        }))
    }
}

/// The open store of one workspace.
pub enum OpenStore {
    /// In a file.
    File(SqliteStore),
    /// In a database.
    Database(PostgresStore),
}

impl OpenStore {
    /// Whether the workspace can be read and, as far as can be known without a commit, written. Tries once.
    pub fn probe(&self) -> Result<(), StoreError> {
        match self {
            Self::File(store) => store.probe(),
            Self::Database(store) => store.probe(),
        }
    }

    /// Brings the full-text index up to date. In a database, a commit does that itself.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        match self {
            Self::File(store) => store.catch_up(),
            Self::Database(_) => Ok(()),
        }
    }

    /// Damage of the store's files. A database verifies its own.
    pub fn verify(&self) -> Result<Vec<Finding>, StoreError> {
        match self {
            Self::File(store) => store.verify(),
            Self::Database(_) => Ok(Vec::new()),
        }
    }

    /// Releases what an idle store does not need.
    pub fn rest(&self) {
        match self {
            Self::File(store) => store.rest(),
            Self::Database(store) => store.rest(),
        }
    }

    fn store(&self) -> &dyn Store {
        match self {
            Self::File(store) => store,
            Self::Database(store) => store,
        }
    }
}

#[async_trait]
impl Store for OpenStore {
    fn workspace(&self) -> &WorkspaceId {
        self.store().workspace()
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.store().snapshot().await
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        self.store().commit(batch).await
    }

    fn fault(&self) -> Option<String> {
        self.store().fault()
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        self.store().graph_turn().await
    }
}
