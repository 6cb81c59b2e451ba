//! Reading a write-ahead log without its index on the disk, where there is no room for one.
//!
//! The processes that have a store open share an index of its log: a file of at least 32 KiB, which the first one makes.
//! On a full disk it cannot. A connection that may only read that file (`readonly_shm`) builds an index of its own in
//! memory instead, and holds a lock that keeps others from copying the log into the store and from writing over it
//! (`walBeginShmUnreliable` in SQLite). As soon as another process has made the file, such a connection uses it.
//!
//! All connections of one process use the file through one handle. While one of them may only read it, none can write,
//! and one that was opened meanwhile never could. So each store is opened by one thread of the process at a time, for
//! writing only while nobody reads it so ([`Readers`]).

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

/// Pauses between attempts to read, in milliseconds: other processes that try to make the index are in the way for moments.
pub(super) const PAUSES_MS: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 200];

/// How many connections of this process read the log of each store without its index.
static READERS: Mutex<BTreeMap<PathBuf, Arc<Mutex<usize>>>> = Mutex::new(BTreeMap::new());

/// Those of one store.
pub(super) struct Readers(Arc<Mutex<usize>>);

/// One of them, until dropped. It must be dropped after its connection.
pub(super) struct ReaderGuard(Arc<Mutex<usize>>);

/// The right to open a store, which one thread of the process has.
pub(super) struct OpenGuard<'a> {
    readers: &'a Readers,
    number: MutexGuard<'a, usize>,
}

impl Readers {
    /// Those of the store at `path`.
    pub(super) fn of(path: &Path) -> Self {
        let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
        Self(Arc::clone(readers.entry(path.to_owned()).or_default()))
    }

    /// Waits until no other thread opens the store.
    pub(super) fn opening(&self) -> OpenGuard<'_> {
        OpenGuard { readers: self, number: self.0.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Whether there are some.
    pub(super) fn exist(&self) -> bool {
        *self.opening().number > 0
    }
}

impl OpenGuard<'_> {
    /// Whether a connection reads without the index.
    pub(super) fn is_read_unindexed(&self) -> bool {
        *self.number > 0
    }

    /// An error where somebody reads without the index: who opens the store now could not write.
    pub(super) fn require_none(&self, path: &Path) -> Result<(), StoreError> {
        let holder = Some("questions of this process that began while the disk was full".to_owned());
        match self.is_read_unindexed() {
            true => Err(StoreError::Busy { path: path.display().to_string(), holder }),
            false => Ok(()),
        }
    }

    /// A connection that reads without the index; `None` where the store's name cannot be told to SQLite.
    pub(super) fn read(&mut self, path: &Path) -> rusqlite::Result<Option<(Connection, ReaderGuard)>> {
        let Some(uri) = unlocked::uri(path, "readonly_shm=1") else { return Ok(None) };
        // An empty file needs no room. Where it cannot be made, opening says what is wrong.
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
