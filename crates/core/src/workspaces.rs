//! The traits behind which workspaces are stored. Code above them knows neither files nor databases.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{
    BudgetChange, BudgetOutcome, Clock, Loss, RepairReport, Store, StoreError, WorkspaceBudget, WorkspaceId,
};

/// All workspaces of one folder or database.
#[async_trait]
pub trait Workspaces: Send + Sync {
    /// Returns the location, for display: a folder, or the address of a database without user and password.
    fn place(&self) -> String;

    /// Returns the workspaces, by name.
    async fn list(&self) -> Result<Vec<WorkspaceId>, StoreError>;

    /// True if the workspace exists, even if its data is lost. Opening a damaged workspace reports what is wrong.
    async fn exists(&self, workspace: &WorkspaceId) -> Result<bool, StoreError>;

    /// Returns the settings that the workspace is built with; empty if it does not exist or stores none.
    /// Never creates, migrates or repairs a workspace.
    async fn settings_of(&self, workspace: &WorkspaceId) -> Result<BTreeMap<String, String>, StoreError>;

    /// Opens the workspace and migrates it to this release. Creates it if it is missing.
    ///
    /// - `patience`: how long a commit waits for other processes, if the store uses locks between processes.
    async fn open(
        &self,
        workspace: &WorkspaceId,
        patience: Patience,
    ) -> Result<Arc<dyn WorkspaceStore>, StoreError>;

    /// Returns the workspaces in which a worker would find work, by name: unclaimed documents, or summaries
    /// to write. `None` if the store would have to open each workspace to find out.
    async fn with_work(&self) -> Result<Option<Vec<WorkspaceId>>, StoreError>;

    /// Deletes the workspace with everything in it, including backups. Does nothing if it does not exist.
    /// Stores that have it open fail from then on.
    async fn delete(&self, workspace: &WorkspaceId) -> Result<(), StoreError>;

    /// Blocks commits to the workspace until the result is dropped. Reading continues. Commits wait, and fail
    /// if the workspace is deleted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Gone`] if the workspace does not exist.
    async fn hold(&self, workspace: &WorkspaceId) -> Result<Box<dyn HeldWorkspace>, StoreError>;

    /// Returns the texts that all processes share; `None` if they are files in the data folder.
    fn shared_texts(&self) -> Option<Arc<dyn SharedTexts>>;

    /// Returns the texts in which the processes share the rate limits of model services. They cover about a
    /// minute and are not part of any backup.
    fn limits(&self) -> Arc<dyn SharedTexts>;

    /// Returns the processes that work on these workspaces.
    fn workers(&self) -> &dyn Workers;

    /// Returns the repairs of damaged workspaces; `None` if the storage repairs itself.
    fn repairs(&self) -> Option<&dyn Repairs>;
}

/// The schema version of a database or of a workspace file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaVersion {
    /// The database or the file, for display.
    pub place: String,
    /// Its current version; 0 if it has no tables yet.
    pub found: u32,
    /// The version that this release migrates older ones to.
    pub supported: u32,
}

/// A workspace whose commits are blocked.
#[async_trait]
pub trait HeldWorkspace: Send + Sync {
    /// Deletes the workspace with everything in it. No commit was made while it was held.
    async fn delete(self: Box<Self>) -> Result<(), StoreError>;
}

/// Small texts stored beside the workspaces, each with a version that grows with every change.
#[async_trait]
pub trait SharedTexts: Send + Sync {
    /// Returns the location, for display.
    fn place(&self) -> String;

    /// Returns the clock that all processes share; `None` if it is the clock of this host.
    fn clock(&self) -> Option<Arc<dyn Clock>>;

    /// Returns the version and the text with this name; `None` if there is none.
    async fn read(&self, name: &str) -> Result<Option<(u64, String)>, StoreError>;

    /// Replaces the text if it has this version (0 if it must not exist yet). True if it was replaced.
    async fn replace(&self, name: &str, version: u64, text: &str) -> Result<bool, StoreError>;
}

/// Tries once to change the JSON value stored in a text. Returns `None` if another process changed the text meanwhile.
///
/// For values that may be lost: a text that is missing or cannot be parsed counts as the default value.
///
/// - `change`: returns its result, and whether it changed the value.
pub async fn try_change_json<Value, Output>(
    texts: &dyn SharedTexts,
    name: &str,
    change: impl FnOnce(&mut Value) -> (Output, bool),
) -> Result<Option<Output>, StoreError>
where
    Value: Default + Serialize + DeserializeOwned,
{
    let (version, mut value) = match texts.read(name).await? {
        Some((version, text)) => (version, serde_json::from_str(&text).unwrap_or_default()),
        None => (0, Value::default()),
    };
    let (output, is_changed) = change(&mut value);
    if !is_changed {
        return Ok(Some(output));
    }
    let text =
        serde_json::to_string(&value).map_err(|error| StoreError::Invalid { what: error.to_string() })?;
    Ok(texts.replace(name, version, &text).await?.then_some(output))
}

/// The open store of a workspace, with its maintenance.
#[async_trait]
pub trait WorkspaceStore: Store {
    /// Returns the location, for display.
    fn place(&self) -> String;

    /// Returns the size; `None` if it cannot be determined cheaply.
    fn size(&self) -> Option<StoreSize>;

    /// Returns the clock that all processes share and by which leases expire; `None` if it is the clock of this host.
    fn clock(&self) -> Option<Arc<dyn Clock>>;

    /// Returns the budget of the workspace; `None` if it has none.
    async fn budget(&self) -> Result<Option<WorkspaceBudget>, StoreError>;

    /// [Applies](BudgetChange::applied_to) a change to the budget of the workspace. The change is durable, and changes of all
    /// processes are applied one at a time. It is not a commit: the revision stays the same.
    async fn change_budget(&self, change: BudgetChange) -> Result<BudgetOutcome, StoreError>;

    /// Does maintenance that keeps the store fast and small.
    async fn maintain(&self, upkeep: Upkeep) -> Result<(), StoreError>;

    /// Returns damage below the rows that a snapshot shows. Empty for an undamaged store, and for a store that verifies itself.
    async fn verify(&self) -> Result<Vec<Finding>, StoreError>;
}

/// A kind of maintenance of an open store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upkeep {
    /// Tests once whether the store can be read and, as far as this can be known without a commit, written.
    Probe,
    /// Updates the indexes to the latest commit, so that the next search does not have to.
    CatchUp,
    /// Releases memory and connections that the store keeps for later.
    Rest,
}

/// Size of an open store in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// Bytes of data.
    pub data: u64,
    /// Bytes of commits that are durable but not yet merged into the data.
    pub log: u64,
}

/// How long a commit waits while another process writes.
///
/// A lock is released when its holder ends for any reason, so the holder of a lock is always alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As long as the other process holds the lock. The store reports which process it is.
    Endless,
    /// This long. Then the commit fails with [`StoreError::Busy`].
    Limited(Duration),
}

/// The processes that work on workspaces. A lease is void once its process has ended.
#[async_trait]
pub trait Workers: Send + Sync {
    /// Registers this process under a unique name until the result is dropped or the process ends.
    ///
    /// # Errors
    ///
    /// [`StoreError::ReadOnly`] and [`StoreError::DiskFull`] if nothing can be written and registration is
    /// [required](Registration::Required).
    async fn register(&self, registration: Registration) -> Result<Arc<dyn Worker>, StoreError>;

    /// True if the process of this worker has ended; `false` if that is unknown, since its lease expires anyway. Fast.
    fn is_gone(&self, worker: &str) -> bool;
}

/// Whether a process must be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// Required, because the process only writes.
    Required,
    /// The process also reads. If nothing can be written, nobody can hold a lease, and [`Worker::try_again`]
    /// registers the process later.
    WhenWritable,
}

/// This process, as one of the workers.
pub trait Worker: Send + Sync {
    /// Returns its name in leases.
    fn name(&self) -> &str;

    /// Registers the process if it is not registered yet. Fast.
    fn try_again(&self) -> Result<(), StoreError>;
}

/// Damage found in a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The kind of the damaged row, such as `chunk`.
    pub kind: &'static str,
    /// The id of the damaged row.
    pub id: String,
    /// What is wrong, for display.
    pub what: String,
}

/// Repairs workspaces that are damaged or have lost commits. No process may have the workspace open meanwhile.
#[async_trait]
pub trait Repairs: Send + Sync {
    /// Returns what the workspace lost; `None` if no loss is known.
    async fn loss(&self, workspace: &WorkspaceId) -> Result<Option<Loss>, StoreError>;

    /// Accepts the loss: the present state counts as complete from now on. Keep a [copy](Self::keep_copy) first.
    async fn accept_loss(&self, workspace: &WorkspaceId) -> Result<(), StoreError>;

    /// Copies everything in the workspace and returns the paths of the copies.
    async fn keep_copy(&self, workspace: &WorkspaceId) -> Result<Vec<PathBuf>, StoreError>;

    /// Removes indexes that the next search builds again.
    async fn forget_indexes(&self, workspace: &WorkspaceId) -> Result<(), StoreError>;

    /// Keeps every undamaged row. A worker run then derives what is missing. Keep a [copy](Self::keep_copy) first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] if nothing can be read at all. The workspace is then left unchanged.
    async fn mend(&self, workspace: &WorkspaceId) -> Result<RepairReport, StoreError>;
}
