//! Workspaces that are files in one folder.
//!
//! Opening, listing, repairing and maintenance block, so they run on separate threads. A thread takes the priority of its caller.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::channel::oneshot;
use graphloom_core::{
    Batch, BudgetChange, BudgetOutcome, Clock, Finding, GraphTurn, HeldWorkspace, Loss, Patience,
    RepairReport, Repairs, Revision, SchemaVersion, SharedTexts, Snapshot, Store, StoreError, StoreSize,
    Upkeep, Workers, WorkspaceBudget, WorkspaceId, WorkspaceStore, Workspaces,
};

use rusqlite::{Connection, OpenFlags};

use super::error::{Context, backend};
use super::removal::remove_folder;
use super::{EXTENSION, SqliteStore, exists, list_workspaces, place, repair, schema_version, settings_of};
use crate::texts::FileTexts;
use crate::workers::LockFiles;

/// How long a deletion waits for a commit in progress.
const LAST_COMMITS: Duration = Duration::from_secs(30);

/// The workspaces of a folder, each a file `NAME.graphloom` with other files beside it.
pub struct FileWorkspaces {
    folder: PathBuf,
    workers: LockFiles,
}

impl FileWorkspaces {
    /// Returns the workspaces of this folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { workers: LockFiles::new(&folder), folder }
    }

    /// Returns the schema versions of all files, sorted by name. Changes nothing.
    pub async fn schema_versions(&self) -> Result<Vec<SchemaVersion>, StoreError> {
        let folder = self.folder.clone();
        let read =
            move || list_workspaces(&folder)?.iter().map(|name| schema_version(&folder, name)).collect();
        apart("reading schema versions", read).await
    }
}

#[async_trait]
impl Workspaces for FileWorkspaces {
    fn place(&self) -> String {
        self.folder.display().to_string()
    }

    async fn list(&self) -> Result<Vec<WorkspaceId>, StoreError> {
        let folder = self.folder.clone();
        apart("listing workspaces", move || list_workspaces(&folder)).await
    }

    async fn exists(&self, workspace: &WorkspaceId) -> Result<bool, StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        apart("looking for a workspace", move || Ok(exists(&folder, &workspace))).await
    }

    async fn settings_of(&self, workspace: &WorkspaceId) -> Result<BTreeMap<String, String>, StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        apart("reading settings", move || settings_of(&folder, &workspace)).await
    }

    async fn open(
        &self,
        workspace: &WorkspaceId,
        patience: Patience,
    ) -> Result<Arc<dyn WorkspaceStore>, StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        let open = move || SqliteStore::open_patiently(&folder, workspace, patience);
        Ok(Arc::new(FileStore(Arc::new(apart("opening a workspace", open).await?))))
    }

    async fn with_work(&self) -> Result<Option<Vec<WorkspaceId>>, StoreError> {
        Ok(None)
    }

    async fn delete(&self, workspace: &WorkspaceId) -> Result<(), StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        apart("deleting a workspace", move || delete(&folder, &workspace)).await
    }

    async fn hold(&self, workspace: &WorkspaceId) -> Result<Box<dyn HeldWorkspace>, StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        Ok(Box::new(apart("holding a workspace", move || HeldFile::hold(folder, workspace)).await?))
    }

    fn shared_texts(&self) -> Option<Arc<dyn SharedTexts>> {
        None
    }

    fn limits(&self) -> Arc<dyn SharedTexts> {
        Arc::new(FileTexts::new(self.folder.join("limits")))
    }

    fn workers(&self) -> &dyn Workers {
        &self.workers
    }

    fn repairs(&self) -> Option<&dyn Repairs> {
        Some(self)
    }
}

#[async_trait]
impl Repairs for FileWorkspaces {
    async fn loss(&self, workspace: &WorkspaceId) -> Result<Option<Loss>, StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        apart("looking for lost commits", move || repair::loss(&folder, &workspace)).await
    }

    async fn accept_loss(&self, workspace: &WorkspaceId) -> Result<(), StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        apart("accepting a loss", move || repair::accept_loss(&folder, &workspace)).await
    }

    async fn keep_copy(&self, workspace: &WorkspaceId) -> Result<Vec<PathBuf>, StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        apart("copying a workspace", move || repair::keep_copy(&folder, &workspace)).await
    }

    async fn forget_indexes(&self, workspace: &WorkspaceId) -> Result<(), StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        apart("removing indexes", move || repair::forget_projections(&folder, &workspace)).await
    }

    async fn mend(&self, workspace: &WorkspaceId) -> Result<RepairReport, StoreError> {
        let (folder, workspace) = (self.folder.clone(), workspace.clone());
        apart("repairing a workspace", move || repair::mend(&folder, &workspace)).await
    }
}

/// An open store that other threads can work on.
struct FileStore(Arc<SqliteStore>);

#[async_trait]
impl WorkspaceStore for FileStore {
    fn place(&self) -> String {
        self.0.shared.path.display().to_string()
    }

    fn size(&self) -> Option<StoreSize> {
        let path = &self.0.shared.path;
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        Some(StoreSize { data: bytes(path), log: bytes(&place::beside(path, "-wal")) })
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    async fn budget(&self) -> Result<Option<WorkspaceBudget>, StoreError> {
        self.0.read_budget().await
    }

    async fn change_budget(&self, change: BudgetChange) -> Result<BudgetOutcome, StoreError> {
        self.0.apply_to_budget(change).await
    }

    async fn maintain(&self, upkeep: Upkeep) -> Result<(), StoreError> {
        let store = Arc::clone(&self.0);
        let work = move || match upkeep {
            Upkeep::Probe => store.probe(),
            Upkeep::CatchUp => store.catch_up(),
            Upkeep::Rest => {
                store.rest();
                Ok(())
            }
        };
        apart("keeping a workspace in order", work).await
    }

    async fn verify(&self) -> Result<Vec<Finding>, StoreError> {
        let store = Arc::clone(&self.0);
        apart("verifying a workspace", move || store.verify()).await
    }
}

#[async_trait]
impl Store for FileStore {
    fn workspace(&self) -> &WorkspaceId {
        self.0.workspace()
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.0.snapshot().await
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        self.0.commit(batch).await
    }

    fn fault(&self) -> Option<String> {
        self.0.fault()
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        self.0.graph_turn().await
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        self.0.summaries_turn().await
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        self.0.workers().await
    }
}

/// Removes every file of a workspace. The mark goes first, because without it and without its file, the workspace does not exist.
fn delete(folder: &Path, workspace: &WorkspaceId) -> Result<(), StoreError> {
    let failed = |path: &Path, error| backend(format!("removing {}", path.display()), error);
    let path = folder.join(format!("{workspace}.{EXTENSION}"));
    let mut files = vec![place::beside(&path, "-mark"), path];
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| failed(folder, error))?,
    };
    // Workspace names contain no full stop, so every file with this prefix belongs to this workspace.
    let prefix = format!("{workspace}.");
    for entry in entries {
        let entry = entry.map_err(|error| failed(folder, error))?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            files.push(entry.path());
        }
    }
    for file in files {
        let removed = match file.is_dir() {
            true => remove_folder(&file),
            false => std::fs::remove_file(&file),
        };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(&file, error)),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// A file whose write lock is held.
struct HeldFile {
    folder: PathBuf,
    workspace: WorkspaceId,
    /// Holds the lock.
    conn: Mutex<Connection>,
}

impl HeldFile {
    fn hold(folder: PathBuf, workspace: WorkspaceId) -> Result<Self, StoreError> {
        let path = folder.join(format!("{workspace}.{EXTENSION}"));
        if !path.is_file() {
            return Err(StoreError::Gone { path: path.display().to_string() });
        }
        let conn = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).opening(&path)?;
        conn.busy_timeout(LAST_COMMITS).opening(&path)?;
        conn.execute_batch("BEGIN IMMEDIATE").opening(&path)?;
        Ok(Self { folder, workspace, conn: Mutex::new(conn) })
    }
}

#[async_trait]
impl HeldWorkspace for HeldFile {
    async fn delete(self: Box<Self>) -> Result<(), StoreError> {
        let Self { folder, workspace, conn } = *self;
        let deleting = move || {
            delete(&folder, &workspace)?;
            // Processes that wait for the lock find the file gone.
            drop(conn);
            Ok(())
        };
        apart("deleting a workspace", deleting).await
    }
}

/// Runs blocking work on a separate thread, to its end even if the caller stops waiting.
pub(crate) async fn apart<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (reply, answer) = oneshot::channel();
    let span = tracing::Span::current();
    let run = move || {
        let _entered = span.entered();
        let _ = reply.send(work());
    };
    let thread = std::thread::Builder::new().name("workspace-files".to_owned());
    thread.spawn(run).map_err(|error| backend(operation.to_owned(), error))?;
    answer.await.unwrap_or_else(|_| Err(backend(operation.to_owned(), "the work on it panicked")))
}
