//! Reads a write-ahead log without its index on disk, if there is no space for one.
//!
//! The processes that have a store open share an index of its log: a file of at least 32 KiB, which the first process
//! creates. On a full disk it cannot. A connection that may only read that file (`readonly_shm`) instead builds its own
//! index in memory. It also holds a lock that keeps others from copying the log into the store and from overwriting it
//! (`walBeginShmUnreliable` in SQLite). As soon as another process has created the file, such a connection uses it.
//!
//! All connections of a process use the file through one handle. While one of them may only read it, none can write,
//! and a connection opened in that time never can. So each store is opened by one thread of the process at a time, and
//! for writing only while no connection reads it this way ([`Readers`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use graphloom_core::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::place::beside;
use super::unlocked;
use crate::private;

/// Pauses between attempts to read, in milliseconds. Other processes that try to create the index are briefly in the way.
pub(super) const PAUSES_MS: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 200];

/// Number of connections in this process that read the log of each store without its index.
static READERS: Mutex<BTreeMap<PathBuf, Arc<Mutex<usize>>>> = Mutex::new(BTreeMap::new());

/// The counter for one store.
pub(super) struct Readers(Arc<Mutex<usize>>);

/// One counted connection, until this is dropped. It must be dropped after its connection.
pub(super) struct ReaderGuard(Arc<Mutex<usize>>);

/// The right to open a store, which one thread of the process has at a time.
pub(super) struct OpenGuard<'a> {
    readers: &'a Readers,
    number: MutexGuard<'a, usize>,
}

impl Readers {
    /// Returns the counter for the store at `path`.
    pub(super) fn of(path: &Path) -> Self {
        let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
        Self(Arc::clone(readers.entry(path.to_owned()).or_default()))
    }

    /// Waits until no other thread is opening the store.
    pub(super) fn opening(&self) -> OpenGuard<'_> {
        OpenGuard { readers: self, number: self.0.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// True if there are such connections.
    pub(super) fn exist(&self) -> bool {
        *self.opening().number > 0
    }
}

impl OpenGuard<'_> {
    /// True if a connection reads without the index.
    pub(super) fn is_read_unindexed(&self) -> bool {
        *self.number > 0
    }

    /// Fails if a connection reads without the index, because a new connection could not write.
    pub(super) fn require_none(&self, path: &Path) -> Result<(), StoreError> {
        let holder = Some("questions of this process that began while the disk was full".to_owned());
        match self.is_read_unindexed() {
            true => Err(StoreError::Busy { path: path.display().to_string(), holder }),
            false => Ok(()),
        }
    }

    /// Opens a connection that reads without the index. `None` if the path of the store cannot be passed to SQLite.
    pub(super) fn read(&mut self, path: &Path) -> rusqlite::Result<Option<(Connection, ReaderGuard)>> {
        let Some(uri) = unlocked::uri(path, "readonly_shm=1") else { return Ok(None) };
        // An empty file needs no space. If it cannot be created, opening reports the reason.
        let _ = private::create_missing_file(&beside(path, "-shm"));
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(uri, flags)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn.busy_timeout(Duration::ZERO)?;
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        *self.number += 1;
        Ok(Some((conn, ReaderGuard(Arc::clone(&self.readers.0)))))
    }
}

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}
