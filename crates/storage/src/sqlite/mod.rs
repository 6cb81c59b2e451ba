//! The embedded store: one SQLite file per workspace, with rebuildable projections beside it.
//!
//! Each open store has one thread that writes. Each snapshot reads on its own connection inside a read transaction.
//! Both work while other processes use the same file.

mod apply;
mod budget;
mod cache;
mod changes;
mod conversations;
mod descriptions;
mod error;
mod full_text;
mod layers;
mod links;
mod listing;
mod locks;
mod log;
mod originals;
mod place;
mod quotes;
mod read;
mod removal;
pub mod repair;
mod reserve;
mod rows;
mod scan;
mod schema;
mod snapshot;
mod sums;
#[cfg(test)]
mod tests;
mod text;
mod turn;
mod unindexed;
mod unlocked;
mod vector_tree;
mod vectors;
mod verify;
mod workspaces;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use graphloom_core::{
    Batch, BudgetChange, BudgetOutcome, Finding, GraphTurn, Patience, Revision, SchemaVersion, Snapshot,
    Store, StoreError, WorkspaceBudget, WorkspaceId,
};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use error::{Context, backend, classified};
use locks::LockPatience;
use log::{Gate, Passage};
use place::Place;
use schema::ReadConnection;
use unindexed::Readers;
use vector_tree::TreeLimits;
pub use workspaces::FileWorkspaces;
pub(crate) use workspaces::apart;
use writer::Writer;

use crate::private;

/// The file extension of a workspace.
const EXTENSION: &str = "graphloom";
/// Most idle read connections kept for the next snapshots.
const MAX_IDLE_READERS: usize = 4;

/// A workspace in a SQLite file.
///
/// Reads are short and run on the caller's thread. Dropping the store ends its writer thread, but snapshots stay readable.
pub struct SqliteStore {
    /// `None` while the file or its folder cannot be written. Each commit tries again.
    writer: Mutex<Option<Arc<Writer>>>,
    waiting: Arc<LockPatience>,
    trees: TreeLimits,
    turns: turn::Turns,
    shared: Arc<Shared>,
}

/// Returns the settings that the workspace `<data_dir>/<workspace>.graphloom` is built with. Empty if it does not
/// exist, or if it stores none because it is from an older release. Creates and migrates nothing, and waits for
/// nothing.
fn settings_of(data_dir: &Path, workspace: &WorkspaceId) -> Result<BTreeMap<String, String>, StoreError> {
    let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
    if !path.is_file() {
        return Ok(BTreeMap::new());
    }
    let ReadConnection { conn, unlocked: _unlocked, unindexed: _unindexed } = look_at(&path)?;
    let has_column = "SELECT count(*) FROM pragma_table_info('state') WHERE name = 'settings'";
    match conn.query_row(has_column, [], |row| row.get::<_, i64>(0)).opening(&path)? {
        0 => Ok(BTreeMap::new()),
        _ => rows::settings(&conn).opening(&path),
    }
}

fn schema_version(data_dir: &Path, workspace: &WorkspaceId) -> Result<SchemaVersion, StoreError> {
    let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
    let ReadConnection { conn, unlocked: _unlocked, unindexed: _unindexed } = look_at(&path)?;
    let found = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).opening(&path)?;
    Ok(SchemaVersion { place: path.display().to_string(), found, supported: schema::SUPPORTED })
}

/// Opens a connection that changes nothing, whatever the version of the file.
fn look_at(path: &Path) -> Result<ReadConnection, StoreError> {
    let look = schema::open_reader(path)?;
    // When the last connection to a file closes, SQLite copies the log into the file. Only a connection that has
    // checked the log may do that.
    look.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).opening(path)?;
    Ok(look)
}

impl SqliteStore {
    /// Opens `<data_dir>/<workspace>.graphloom`. Creates folder and file if they are missing. An older file is first
    /// copied to a backup beside it and then migrated.
    ///
    /// Opening is fast whatever the state of the projections, because it neither reads nor builds them. Commits wait as
    /// long as other processes write. If the disk is full or read-only, the store still opens if it can be read.
    /// Commits then fail with the reason until the store can be written.
    pub fn open(data_dir: &Path, workspace: WorkspaceId) -> Result<Self, StoreError> {
        Self::open_patiently(data_dir, workspace, Patience::Endless)
    }

    /// Like [`open`](Self::open), with a limit on how long commits wait for other processes.
    pub fn open_patiently(
        data_dir: &Path,
        workspace: WorkspaceId,
        patience: Patience,
    ) -> Result<Self, StoreError> {
        Self::open_with(data_dir, workspace, patience, TreeLimits::default())
    }

    /// Like [`open_patiently`](Self::open_patiently), with other limits of the vector trees.
    fn open_with(
        data_dir: &Path,
        workspace: WorkspaceId,
        patience: Patience,
        trees: TreeLimits,
    ) -> Result<Self, StoreError> {
        let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
        private::create_folder(data_dir)
            .map_err(|e| backend(format!("creating the data folder {}", data_dir.display()), e))
            .map_err(|error| classified(error, &path))?;
        // Closes what older releases left readable to other users: the store, its log, backups and projections.
        private::close_all_to_others(data_dir, &format!("{workspace}."));
        let projections = data_dir.join(format!("{workspace}.projections"));
        let waiting = LockPatience::new(&path, patience);
        let shared = Shared {
            full_text: full_text::FullText::new(projections.join("full_text")),
            vectors: vectors::Vectors::new(trees),
            links: links::Links::new(projections.join("links")),
            readers: Mutex::default(),
            gate: Arc::default(),
            seen: AtomicU64::new(0),
            fault: Mutex::default(),
            place: Mutex::new(None),
            path,
            workspace,
        };
        let turns = turn::Turns::beside(&shared.path);
        let store = Self { writer: Mutex::default(), waiting, trees, turns, shared: Arc::new(shared) };
        match store.writer().map(drop) {
            Err(reason @ (StoreError::DiskFull { .. } | StoreError::ReadOnly { .. })) => {
                let shown = reason.to_string();
                let place = schema::readable(&store.shared.path, reason)?;
                *store.shared.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(place));
                tracing::warn!(reason = shown, "the workspace can only be read");
            }
            opened => opened?,
        }
        Ok(store)
    }

    async fn commit_once(&self, batch: Batch) -> Result<Revision, StoreError> {
        self.writer()?.commit(batch).await.map_err(|error| self.shared.noting_damage(error))
    }

    /// Returns the writer, and starts it if it is not running.
    fn writer(&self) -> Result<Arc<Writer>, StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = &*writer {
            return Ok(Arc::clone(writer));
        }
        let path = &self.shared.path;
        // While a connection of this process is read-only because nothing could be written, SQLite would make new ones
        // read-only, too.
        self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if Readers::of(path).exist() {
            schema::probe(path)?;
            self.shared.gate.drain();
        }
        let (conn, place) =
            schema::open_writer(path, &self.waiting).map_err(|error| schema::unwritable(error, path))?;
        let place = Arc::new(place);
        let (waiting, gate) = (Arc::clone(&self.waiting), Arc::clone(&self.shared.gate));
        let started = Writer::start(conn, Arc::clone(&place), self.trees, waiting, gate)
            .map_err(|e| backend("starting the writer".to_owned(), e))?;
        *self.shared.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        Ok(Arc::clone(writer.insert(Arc::new(started))))
    }

    /// Checks that the workspace can be read and, as far as that can be known without a commit, written. Writes a small
    /// file beside it.
    fn probe(&self) -> Result<(), StoreError> {
        Reader::begin(&self.shared, self.shared.gate.pass_now())?;
        self.writer()?;
        schema::probe(&self.shared.path)
    }

    /// Updates the full-text projection to the latest commit, so that the next search need not, and empties the
    /// write-ahead log. If another process is writing the projection, that process updates it.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        if let Ok(writer) = self.writer() {
            writer.shrink_log();
        }
        let read = || {
            let reader = Reader::begin(&self.shared, self.shared.gate.pass_now())?;
            self.shared.full_text.ready(&reader).map(drop)
        };
        read().map_err(|error| self.shared.noting_damage(error))
    }

    /// Frees the memory that is kept for the next reads and writes: the page caches of the connections.
    pub fn rest(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(writer) = writer {
            writer.rest();
        }
        for reader in self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            forget_pages(&reader.conn);
        }
    }

    /// The budget of the workspace.
    async fn read_budget(&self) -> Result<Option<WorkspaceBudget>, StoreError> {
        let passage = self.shared.gate.pass().await;
        let read = || {
            let reader = Reader::begin(&self.shared, passage)?;
            let budget = budget::read(&reader.conn).during("reading the budget")?;
            reader.given(budget)
        };
        read().map_err(|error| self.shared.noting_damage(error))
    }

    /// Changes the budget of the workspace.
    async fn apply_to_budget(&self, change: BudgetChange) -> Result<BudgetOutcome, StoreError> {
        self.writer()?.change_budget(change).await.map_err(|error| self.shared.noting_damage(error))
    }

    /// Returns the damage in the store's files: pages, indexes, rows whose checksums do not match, and projections.
    /// Empty for sound files.
    fn verify(&self) -> Result<Vec<Finding>, StoreError> {
        verify::verify(&self.shared)
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn workspace(&self) -> &WorkspaceId {
        &self.shared.workspace
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let passage = self.shared.gate.pass().await;
        let reader =
            Reader::begin(&self.shared, passage).map_err(|error| self.shared.noting_damage(error))?;
        Ok(Box::new(snapshot::SqliteSnapshot::new(reader)))
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        if !frees_room(&batch) {
            return self.commit_once(batch).await;
        }
        // Users remove documents to free space. So a removal may use the reserved space, and then the space of files
        // that can be rebuilt.
        for make_room in [Shared::release_reserve, Shared::give_up_indexes] {
            match self.commit_once(batch.clone()).await {
                Err(StoreError::DiskFull { .. }) => make_room(&self.shared),
                committed => return committed,
            }
        }
        self.commit_once(batch).await
    }

    fn fault(&self) -> Option<String> {
        if let Err(error) = self.shared.require_unmoved() {
            return Some(error.to_string());
        }
        self.shared.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        self.turns.take().await.map_err(|error| self.shared.noting_damage(error))
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        self.turns.take_summaries().map_err(|error| self.shared.noting_damage(error))
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        Ok(1)
    }
}

/// True if a batch only removes documents or the records of chunks.
fn frees_room(batch: &Batch) -> bool {
    let removes = !(batch.remove_documents.is_empty() && batch.clear_graph_of.is_empty());
    removes
        && batch.put_documents.is_empty()
        && batch.activate_documents.is_empty()
        && batch.put_mentions.is_empty()
}

/// Changes the rows of a workspace through the store's connection, so that their checksums stay right.
#[cfg(test)]
pub(crate) fn execute(data_dir: &Path, sql: &str) {
    let path = data_dir.join(format!("{}.{EXTENSION}", WorkspaceId::default()));
    let waiting = LockPatience::new(&path, Patience::Endless);
    let (conn, _) = schema::open_writer(&path, &waiting).expect("the store opens");
    conn.execute_batch(sql).expect("the rows change");
}

/// True if the workspace exists: there is its file, or a mark of a file that is gone. Opening then reports the loss.
fn exists(data_dir: &Path, workspace: &WorkspaceId) -> bool {
    let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
    path.is_file() || place::is_marked(&path)
}

/// Returns the error for a failed write in a folder, in terms that users understand.
pub(crate) fn unwritable_folder(operation: &str, folder: &Path, error: std::io::Error) -> StoreError {
    classified(backend(format!("{operation} {}", folder.display()), error), folder)
}

/// Returns the workspaces of a data folder, sorted by name. None if the folder does not exist.
fn list_workspaces(data_dir: &Path) -> Result<Vec<WorkspaceId>, StoreError> {
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

/// State shared by the store and its snapshots.
struct Shared {
    workspace: WorkspaceId,
    path: PathBuf,
    /// Where the files are, as last opened.
    place: Mutex<Option<Arc<Place>>>,
    /// The newest revision that a snapshot of this store has shown.
    seen: AtomicU64,
    /// Damage found in the files.
    fault: Mutex<Option<String>>,
    readers: Mutex<Vec<ReadConnection>>,
    gate: Arc<Gate>,
    vectors: vectors::Vectors,
    links: links::Links,
    full_text: full_text::FullText,
}

impl Shared {
    /// Returns the error for the caller. An error about damaged files is remembered.
    fn noting_damage(&self, error: StoreError) -> StoreError {
        let error = classified(error, &self.path);
        if let StoreError::Corrupt { .. } | StoreError::Lost { .. } = &error {
            tracing::error!(%error, "the store is damaged");
            self.fault
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert_with(|| error.to_string());
        }
        error
    }
}

/// A read connection inside a read transaction. It returns to the pool when dropped.
struct Reader {
    shared: Arc<Shared>,
    conn: PoolConnection,
    revisions: Revisions,
    /// Dropped after the connection.
    _passage: Passage,
}

impl Reader {
    fn begin(shared: &Arc<Shared>, passage: Passage) -> Result<Self, StoreError> {
        shared.require_unmoved()?;
        let seen = shared.seen.load(Ordering::Acquire);
        let mut pauses = unindexed::PAUSES_MS.into_iter();
        let (conn, revisions) = loop {
            let conn = PoolConnection { conn: Some(shared.idle_or_new()?), shared: Arc::clone(shared) };
            // The first read fixes what the transaction sees.
            match begin(&conn) {
                Ok(revisions) => break (conn, revisions),
                // Another process may be trying to create the index of the log.
                Err(_) if conn.reader().unindexed.is_some() && pauses.len() > 0 => {
                    std::thread::sleep(Duration::from_millis(pauses.next().unwrap_or_default()));
                }
                Err(error) => {
                    return Err(classified(backend("taking a snapshot".to_owned(), error), &shared.path));
                }
            }
        };
        let revision = revisions.latest;
        if revision.0 < seen {
            let what = format!("it went back from revision {seen} to {revision} while it was open");
            return Err(StoreError::Lost { path: shared.path.display().to_string(), what });
        }
        let reader = Self { shared: Arc::clone(shared), conn, revisions, _passage: passage };
        reader.given(())?;
        shared.seen.fetch_max(revision.0, Ordering::AcqRel);
        Ok(reader)
    }

    /// Returns `read`, unless files that no lock protected have changed in the meantime.
    fn given<T>(&self, read: T) -> Result<T, StoreError> {
        let path = &self.shared.path;
        match self.conn.unlocked() {
            Some(stamp) if !stamp.holds(path) => {
                let holder = Some("another process that changed it meanwhile".to_owned());
                Err(StoreError::Busy { path: path.display().to_string(), holder })
            }
            Some(_) | None => Ok(read),
        }
    }
}

impl Shared {
    /// Fails if the files are no longer in their place.
    fn require_unmoved(&self) -> Result<(), StoreError> {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        place.map_or(Ok(()), |place| place.require_unmoved())
    }

    /// Releases the space that is reserved for removals on a full disk.
    fn release_reserve(&self) {
        if reserve::release(&self.path) {
            let file = self.path.display();
            tracing::warn!(%file, "the disk is full; using the reserved space to remove documents");
        }
    }

    /// Removes the projections from a full disk.
    fn give_up_indexes(&self) {
        let removed = [self.full_text.give_up_folder(), self.links.give_up_copy()];
        if removed.contains(&true) {
            tracing::warn!(
                file = %self.path.display(),
                "the disk is full; the indexes beside the file were deleted to make room for the removal and will be rebuilt"
            );
        }
    }

    /// Returns a connection that reads the current state.
    fn idle_or_new(&self) -> Result<ReadConnection, StoreError> {
        let mut idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(reader) = idle.pop() {
            // A connection without locks never sees a change.
            if reader.unlocked.is_none_or(|stamp| stamp.holds(&self.path)) {
                return Ok(reader);
            }
        }
        drop(idle);
        schema::open_reader(&self.path)
    }
}

/// Makes a connection free its page cache.
fn forget_pages(conn: &Connection) {
    if let Err(error) = conn.execute_batch("PRAGMA shrink_memory") {
        tracing::debug!(%error, "a connection did not free its memory");
    }
}

fn begin(conn: &Connection) -> rusqlite::Result<Revisions> {
    conn.prepare_cached("BEGIN")?.execute([])?;
    Revisions::read(conn)
}

/// The last revision, and the last ones that changed the graph and the evidence.
#[derive(Clone, Copy)]
struct Revisions {
    latest: Revision,
    graph: Revision,
    evidence: Revision,
}

impl Revisions {
    fn read(conn: &Connection) -> rusqlite::Result<Self> {
        conn.prepare_cached(
            "SELECT revision, graph_revision, evidence_revision,
                row_sum('state', id, revision, graph_revision, model, dimensions, paused_since, store, settings,
                    evidence_revision) = sum FROM state",
        )?
        .query_row([], |row| {
            sums::require(row, 3, "state")?;
            let revision = |column| Ok::<_, rusqlite::Error>(Revision(rows::unsigned(row, column)?));
            Ok(Self { latest: revision(0)?, graph: revision(1)?, evidence: revision(2)? })
        })
    }

    /// Returns the revisions after a batch.
    fn after(self, batch: &Batch) -> Self {
        let latest = Revision(self.latest.0 + 1);
        let changed = |is_touched, before| if is_touched { latest } else { before };
        Self {
            latest,
            graph: changed(batch.touches_graph(), self.graph),
            evidence: changed(batch.touches_evidence(), self.evidence),
        }
    }
}

/// A connection on loan from the pool.
struct PoolConnection {
    /// `None` only during the drop.
    conn: Option<ReadConnection>,
    shared: Arc<Shared>,
}

impl PoolConnection {
    fn reader(&self) -> &ReadConnection {
        self.conn.as_ref().expect("the connection is taken only when dropping")
    }

    fn unlocked(&self) -> Option<unlocked::Stamp> {
        self.reader().unlocked
    }
}

impl std::ops::Deref for PoolConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.reader().conn
    }
}

impl Drop for PoolConnection {
    fn drop(&mut self) {
        let Some(reader) = self.conn.take() else { return };
        let conn = &reader.conn;
        let ended =
            conn.is_autocommit() || conn.prepare_cached("ROLLBACK").and_then(|mut s| s.execute([])).is_ok();
        let mut idle = self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection that reads without the index of the log keeps others from writing.
        if ended && reader.unindexed.is_none() && idle.len() < MAX_IDLE_READERS {
            idle.push(reader);
        }
    }
}
