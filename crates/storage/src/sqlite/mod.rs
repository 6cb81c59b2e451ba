//! The embedded store: one SQLite file per workspace, with rebuildable projections beside it.
//!
//! One thread per open store writes; each snapshot reads on a connection of its own inside a read transaction. Both
//! work while other processes use the same file.

mod apply;
mod cache;
mod changes;
mod error;
mod full_text;
mod links;
mod locks;
mod log;
mod question;
mod read;
mod rows;
mod scan;
mod schema;
mod snapshot;
#[cfg(test)]
mod tests;
mod text;
mod vector_tree;
mod vectors;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use graphloom_core::{Batch, Revision, Snapshot, Store, StoreError, WorkspaceId};
use rusqlite::Connection;

use error::{Context, backend, classified};
pub use locks::Patience;
use locks::Waiting;
use log::{Gate, Passage};
use vector_tree::TreeLimits;

/// The ending of a workspace's file.
const EXTENSION: &str = "graphloom";
/// Idle read connections kept for the next snapshot.
const MAX_IDLE_READERS: usize = 4;

/// A workspace in a SQLite file.
///
/// Reads are short and run on the caller's thread. Dropping the store ends its writer thread; snapshots stay
/// readable.
pub struct SqliteStore {
    writer: writer::Writer,
    shared: Arc<Shared>,
}

impl SqliteStore {
    /// Opens `<data_dir>/<workspace>.graphloom`, creating folder and file where missing. An older file is copied to
    /// a backup beside it and migrated.
    ///
    /// Projections are neither read nor built here, so opening is quick whatever their state. Commits wait for other
    /// processes as long as those write.
    pub fn open(data_dir: &Path, workspace: WorkspaceId) -> Result<Self, StoreError> {
        Self::open_patiently(data_dir, workspace, Patience::Endless)
    }

    /// The same with a limit of how long commits wait for other processes.
    pub fn open_patiently(
        data_dir: &Path,
        workspace: WorkspaceId,
        patience: Patience,
    ) -> Result<Self, StoreError> {
        Self::open_with(data_dir, workspace, patience, TreeLimits::default())
    }

    /// The same with other limits of the vector trees.
    fn open_with(
        data_dir: &Path,
        workspace: WorkspaceId,
        patience: Patience,
        trees: TreeLimits,
    ) -> Result<Self, StoreError> {
        std::fs::create_dir_all(data_dir)
            .map_err(|e| backend(format!("creating the data folder {}", data_dir.display()), e))?;
        let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
        let waiting = Waiting::new(&path, patience);
        let conn = schema::open_writer(&path, &waiting)?;
        let gate = Arc::<Gate>::default();
        let writer = writer::Writer::start(conn, &path, trees, waiting, Arc::clone(&gate))
            .map_err(|e| backend("starting the writer".to_owned(), e))?;
        let projections = data_dir.join(format!("{workspace}.projections"));
        let shared = Shared {
            full_text: full_text::FullText::new(projections.join("full_text")),
            vectors: vectors::Vectors::new(trees),
            links: links::Links::new(projections.join("links")),
            readers: Mutex::default(),
            gate,
            path,
            workspace,
        };
        Ok(Self { writer, shared: Arc::new(shared) })
    }

    /// Brings the full-text projection up to the latest commit, so that the next search need not, and empties the
    /// write-ahead log. A projection that another process is writing is left to that process.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        self.writer.shrink_log();
        let reader = Reader::begin(&self.shared, self.shared.gate.pass_now())?;
        self.shared.full_text.ready(&reader).map(drop)
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn workspace(&self) -> &WorkspaceId {
        &self.shared.workspace
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let passage = self.shared.gate.pass().await;
        Ok(Box::new(snapshot::SqliteSnapshot::new(Reader::begin(&self.shared, passage)?)))
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        self.writer.commit(batch).await
    }
}

/// The workspaces of a data folder, by name; none where the folder does not exist.
pub fn list_workspaces(data_dir: &Path) -> Result<Vec<WorkspaceId>, StoreError> {
    let failed = |e: std::io::Error| backend(format!("listing {}", data_dir.display()), e);
    let entries = match std::fs::read_dir(data_dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed(e)),
    };
    let mut workspaces = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let is_ours = path.extension().is_some_and(|extension| extension == EXTENSION);
        let name = path.file_stem().and_then(|stem| stem.to_str());
        if let (true, Some(Ok(workspace))) = (is_ours, name.map(WorkspaceId::new)) {
            workspaces.push(workspace);
        }
    }
    workspaces.sort();
    Ok(workspaces)
}

/// What snapshots and the store share.
struct Shared {
    workspace: WorkspaceId,
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    gate: Arc<Gate>,
    vectors: vectors::Vectors,
    links: links::Links,
    full_text: full_text::FullText,
}

/// A read connection inside a read transaction; goes back to the pool when dropped.
struct Reader {
    shared: Arc<Shared>,
    conn: Pooled,
    revision: Revision,
    graph_revision: Revision,
    /// Given up after the connection.
    _passage: Passage,
}

impl Reader {
    fn begin(shared: &Arc<Shared>, passage: Passage) -> Result<Self, StoreError> {
        let idle = shared.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = match idle {
            Some(conn) => conn,
            None => schema::open_reader(&shared.path)?,
        };
        let conn = Pooled { conn: Some(conn), shared: Arc::clone(shared) };
        // The first read fixes what the transaction sees.
        let (revision, graph_revision) =
            begin(&conn).during("taking a snapshot").map_err(|error| classified(error, &shared.path))?;
        Ok(Self { shared: Arc::clone(shared), conn, revision, graph_revision, _passage: passage })
    }
}

fn begin(conn: &Connection) -> rusqlite::Result<(Revision, Revision)> {
    conn.prepare_cached("BEGIN")?.execute([])?;
    revisions(conn)
}

/// The revision and the graph's revision.
fn revisions(conn: &Connection) -> rusqlite::Result<(Revision, Revision)> {
    conn.prepare_cached("SELECT revision, graph_revision FROM state")?
        .query_row([], |row| Ok((Revision(rows::unsigned(row, 0)?), Revision(rows::unsigned(row, 1)?))))
}

/// A connection on loan from the pool.
struct Pooled {
    /// Present until dropped.
    conn: Option<Connection>,
    shared: Arc<Shared>,
}

impl std::ops::Deref for Pooled {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn.as_ref().expect("the connection is taken only when dropping")
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let Some(conn) = self.conn.take() else { return };
        let ended =
            conn.is_autocommit() || conn.prepare_cached("ROLLBACK").and_then(|mut s| s.execute([])).is_ok();
        let mut idle = self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if ended && idle.len() < MAX_IDLE_READERS {
            idle.push(conn);
        }
    }
}
