//! The port behind which workspaces are kept. What is above it knows neither files nor databases.

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
    /// Where they are, for people: a folder, or the address of a database without user and password.
    fn place(&self) -> String;

    /// The workspaces, by name.
    async fn list(&self) -> Result<Vec<WorkspaceId>, StoreError>;

    /// Whether the workspace exists. One whose data is lost exists; opening it says what is wrong.
    async fn exists(&self, workspace: &WorkspaceId) -> Result<bool, StoreError>;

    /// The settings that the workspace is built with; empty if it does not exist or stores none. Creates, migrates and repairs
    /// nothing.
    async fn settings_of(&self, workspace: &WorkspaceId) -> Result<BTreeMap<String, String>, StoreError>;

    /// Opens the workspace and brings it up to date with this release; creates it if it is missing.
    ///
    /// - `patience`: how long a commit waits for other processes, if the store is one that they lock.
    async fn open(
        &self,
        workspace: &WorkspaceId,
        patience: Patience,
    ) -> Result<Arc<dyn WorkspaceStore>, StoreError>;

    /// The workspaces that a worker would find work in, by name: documents that nobody works on, or descriptions to write.
    /// `None` if that is not known without opening each of them.
    async fn with_work(&self) -> Result<Option<Vec<WorkspaceId>>, StoreError>;

    /// Deletes the workspace with everything in it, backups too; nothing if there is none. Stores that are open on it fail from
    /// then on.
    async fn delete(&self, workspace: &WorkspaceId) -> Result<(), StoreError>;

    /// Lets nobody commit to the workspace until the result is dropped. Reading goes on; commits wait, and fail if it is deleted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Gone`] if there is none.
    async fn hold(&self, workspace: &WorkspaceId) -> Result<Box<dyn HeldWorkspace>, StoreError>;

    /// Texts that every process of this place shares; `None` if they are files of the data folder.
    fn shared_texts(&self) -> Option<Arc<dyn SharedTexts>>;

    /// Texts in which the processes of this place keep the limits of model services together. They hold what a minute needs, and
    /// are in no backup.
    fn limits(&self) -> Arc<dyn SharedTexts>;

    /// The processes that work on these workspaces.
    fn workers(&self) -> &dyn Workers;

    /// Repairs damaged workspaces; `None` if the place where they are kept repairs itself.
    fn repairs(&self) -> Option<&dyn Repairs>;
}

/// The version of the tables of a database or of a workspace file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaVersion {
    /// The database or the file, for people.
    pub place: String,
    /// The version that it has; 0 if it has no tables yet.
    pub found: u32,
    /// The version that this release makes of an older one.
    pub supported: u32,
}

/// A workspace to which nobody can commit.
#[async_trait]
pub trait HeldWorkspace: Send + Sync {
    /// Deletes it with everything in it. No commit was made since it is held.
    async fn delete(self: Box<Self>) -> Result<(), StoreError>;
}

/// Small texts beside the workspaces, each with a version that grows with every change.
#[async_trait]
pub trait SharedTexts: Send + Sync {
    /// Where they are, for people.
    fn place(&self) -> String;

    /// The clock that all its processes share; `None` if that is the clock of this host.
    fn clock(&self) -> Option<Arc<dyn Clock>>;

    /// The version and the text of this name; `None` if there is none.
    async fn read(&self, name: &str) -> Result<Option<(u64, String)>, StoreError>;

    /// Replaces the text if it has this version, 0 for a text that does not exist; returns whether it had.
    async fn replace(&self, name: &str, version: u64, text: &str) -> Result<bool, StoreError>;
}

/// Tries once to change the value that a text holds as JSON. Returns `None` if another process changed it meanwhile.
///
/// For values that may be forgotten: a text that is missing or cannot be parsed counts as the default value.
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

/// The open store of a workspace, and its upkeep.
#[async_trait]
pub trait WorkspaceStore: Store {
    /// Where it is, for people.
    fn place(&self) -> String;

    /// How much room it takes; `None` if that is not known at a low price.
    fn size(&self) -> Option<StoreSize>;

    /// The clock that all its processes share, by which leases expire; `None` if that is the clock of this host.
    fn clock(&self) -> Option<Arc<dyn Clock>>;

    /// The budget of the workspace; `None` if it has none.
    async fn budget(&self) -> Result<Option<WorkspaceBudget>, StoreError>;

    /// [Applies](BudgetChange::applied_to) a change to the budget of the workspace, durably, and one at a time for all processes.
    /// It is no commit: the revision stays.
    async fn change_budget(&self, change: BudgetChange) -> Result<BudgetOutcome, StoreError>;

    /// Does what keeps the store quick and small.
    async fn maintain(&self, upkeep: Upkeep) -> Result<(), StoreError>;

    /// What is damaged below the rows that a snapshot shows; empty for a sound store, and for one that verifies itself.
    async fn verify(&self) -> Result<Vec<Finding>, StoreError>;
}

/// Something that keeps an open store in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upkeep {
    /// Tests whether it can be read and, for all that can be known without a commit, written. Tries once.
    Probe,
    /// Brings its indexes up to the latest commit, so that the next search need not.
    CatchUp,
    /// Releases memory and connections that it keeps for later.
    Rest,
}

/// Bytes of an open store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// Of its data.
    pub data: u64,
    /// Of commits that are durable and not yet among the data.
    pub log: u64,
}

/// How long a commit waits while another process writes.
///
/// A lock is given back when its holder ends, however it ends, so a lock that is held has a holder that lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As long as the other process holds the lock. A report says who it is.
    Endless,
    /// This long; then the commit fails with [`StoreError::Busy`].
    Limited(Duration),
}

/// The processes that work on workspaces. A lease whose process has ended is void.
#[async_trait]
pub trait Workers: Send + Sync {
    /// Registers this process under a name that no other has, until the result is dropped or the process ends.
    ///
    /// # Errors
    ///
    /// [`StoreError::ReadOnly`] and [`StoreError::DiskFull`] where nothing can be written, if registration is
    /// [required](Registration::Required).
    async fn register(&self, registration: Registration) -> Result<Arc<dyn Worker>, StoreError>;

    /// Whether the process of this worker has ended; `false` where that is not known, since its lease expires anyway. Quick.
    fn is_gone(&self, worker: &str) -> bool;
}

/// Whether a process can do without being registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// It cannot: it only writes.
    Required,
    /// It reads too. Where nothing can be written, nobody can hold a lease, and [`Worker::try_again`] registers it later.
    WhenWritable,
}

/// This process among the workers.
pub trait Worker: Send + Sync {
    /// Its name, for leases.
    fn name(&self) -> &str;

    /// Registers it if it is not registered yet. Quick.
    fn try_again(&self) -> Result<(), StoreError>;
}

/// Something in a store that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// What kind of row it is about, such as `chunk`.
    pub kind: &'static str,
    /// Which row.
    pub id: String,
    /// What is wrong, for people.
    pub what: String,
}

/// Repairs workspaces that are damaged or lack commits. No process may have the workspace open meanwhile.
#[async_trait]
pub trait Repairs: Send + Sync {
    /// What the workspace lost; `None` if nothing is known to be lost.
    async fn loss(&self, workspace: &WorkspaceId) -> Result<Option<Loss>, StoreError>;

    /// Takes the workspace as it is from now on. A [copy](Self::keep_copy) should be kept first.
    async fn accept_loss(&self, workspace: &WorkspaceId) -> Result<(), StoreError>;

    /// Copies everything of the workspace, and returns the copies.
    async fn keep_copy(&self, workspace: &WorkspaceId) -> Result<Vec<PathBuf>, StoreError>;

    /// Removes indexes that the next search makes again.
    async fn forget_indexes(&self, workspace: &WorkspaceId) -> Result<(), StoreError>;

    /// Keeps every row that is whole. A run of the worker then derives what is missing. A [copy](Self::keep_copy) should be kept
    /// first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] where nothing can be read at all; then it stays as it is.
    async fn mend(&self, workspace: &WorkspaceId) -> Result<RepairReport, StoreError>;
}
