//! Creates, opens, backs up and migrates a file.

mod migrations;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use graphloom_core::{Revision, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::error::{Context, backend, classified, opening};
use super::listing;
use super::locks::LockPatience;
use super::place::{self, Place};
use super::reserve;
use super::sums;
use super::unindexed::{self, OpenGuard, ReaderGuard, Readers};
use super::unlocked::{self, Stamp};
use crate::private;
use migrations::{MIGRATIONS, Migration};

/// How long a read connection waits for another process that recovers or creates the file.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Prepared statements kept per connection, enough for every statement of this crate.
const STATEMENT_CACHE: usize = 128;
/// Page cache of the write connection, in KiB (negative, as SQLite requires). It has room for the pages of one merge
/// and for the inner nodes of trees of a million vectors, which many merges read.
const WRITER_CACHE_KIB: i32 = -32768;
/// Page cache of a read connection.
const READER_CACHE_KIB: i32 = -4096;
/// Size to which the log is truncated after a checkpoint.
const WAL_LIMIT_BYTES: i64 = 64 << 20;
/// Size of the file that is written to check for disk space: what the smallest commit needs.
const PROBE_BYTES: usize = 128 << 10;
/// The schema version to which this release migrates older files.
pub(super) const SUPPORTED: u32 = MIGRATIONS.len() as u32;
/// Marks the file as ours: `GrLm`.
const APPLICATION_ID: i32 = 0x4772_4c6d;

/// Opens the file for writing. Creates or migrates it first if necessary.
///
/// # Errors
///
/// [`StoreError::Lost`] if commits are missing. Then nothing is written and the log is not emptied, so that the rest
/// can be inspected.
pub(super) fn open_writer(
    path: &Path,
    waiting: &Arc<LockPatience>,
) -> Result<(Connection, Place), StoreError> {
    let marked = place::read_mark(path).filter(|marked| marked.revision > Revision(0));
    place::require_file(path, marked.as_ref())?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // SQLite gives the log and its index the permissions of the file.
    private::create_missing_file(path).map_err(|e| backend(format!("creating {}", path.display()), e))?;
    let readers = Readers::of(path);
    let opening = readers.opening();
    opening.require_none(path)?;
    let mut conn = Connection::open_with_flags(path, flags).opening(path)?;
    waiting.guide(&mut conn).opening(path)?;
    denied(path).map_err(|error| classified(backend("opening".to_owned(), error), path))?;
    // When the last connection to a file closes, SQLite copies the log into the file. A damaged log must not be copied.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).opening(path)?;
    place::require_reached(path, marked.as_ref(), &place::committed(&conn).opening(path)?)?;
    bring_up_to_date(&mut conn, path, MIGRATIONS)?;
    // SQLite does not wait here by itself if another process opens the file, too.
    waiting.until_free(|| conn.pragma_update(None, "journal_mode", "WAL")).opening(path)?;
    // The writer copies the log itself, after it has answered.
    conn.pragma_update(None, "wal_autocheckpoint", 0).opening(path)?;
    conn.pragma_update(None, "synchronous", "FULL").opening(path)?;
    // What a user removes must not stay readable in free pages of the file.
    conn.pragma_update(None, "secure_delete", true).opening(path)?;
    conn.pragma_update(None, "foreign_keys", true).opening(path)?;
    conn.pragma_update(None, "journal_size_limit", WAL_LIMIT_BYTES).opening(path)?;
    sums::keep(&conn).opening(path)?;
    tune(&conn, WRITER_CACHE_KIB).opening(path)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).opening(path)?;
    let found = place::committed(&conn).opening(path)?;
    if found.revision > Revision(0) {
        place::raise_mark(path, &found);
    }
    let place = Place::of(path, found.store);
    drop(opening);
    reserve::keep(path);
    Ok((conn, place))
}

/// Creates an empty file of this release in memory.
pub(super) fn new_in_memory() -> rusqlite::Result<Connection> {
    let conn = Connection::open_in_memory()?;
    sums::register(&conn)?;
    MIGRATIONS.iter().try_for_each(|migration| migration(&conn))?;
    // As in a new file, tables created after the checksums were introduced have checksums, too.
    sums::cover(&conn)?;
    Ok(conn)
}

/// True if a file has the schema version of this release.
pub(super) fn is_of_this_release(conn: &Connection) -> rusqlite::Result<bool> {
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(version == MIGRATIONS.len() as i64)
}

/// A read connection.
pub(super) struct ReadConnection {
    pub(super) conn: Connection,
    /// The state of the file, if no locks keep it from changing.
    pub(super) unlocked: Option<Stamp>,
    /// Present if the connection reads the log without its index.
    pub(super) unindexed: Option<ReaderGuard>,
}

/// Opens a read connection to a file that exists and is up to date. If the files that SQLite shares between processes
/// cannot be created, it reads without them.
pub(super) fn open_reader(path: &Path) -> Result<ReadConnection, StoreError> {
    let readers = Readers::of(path);
    let mut pauses = unindexed::PAUSES_MS.into_iter();
    let opened = loop {
        let opened = try_to_read(path, &mut readers.opening());
        match (opened, pauses.next()) {
            (Ok(opened), _) => break opened,
            (Err(OpenFailure::ForNow(_)), Some(pause)) => std::thread::sleep(Duration::from_millis(pause)),
            (Err(OpenFailure::ForNow(error) | OpenFailure::ForGood(error)), _) => {
                return Err(unwritable(opening(error, path), path));
            }
        }
    };
    sums::register(&opened.conn).opening(path)?;
    listing::register(&opened.conn).opening(path)?;
    tune(&opened.conn, READER_CACHE_KIB).opening(path)?;
    Ok(opened)
}

/// Why a file could not be opened for reading.
enum OpenFailure {
    /// Opening may succeed in a moment.
    ForNow(rusqlite::Error),
    ForGood(rusqlite::Error),
}

fn try_to_read(path: &Path, opening: &mut OpenGuard<'_>) -> Result<ReadConnection, OpenFailure> {
    let shared = match opening.is_read_unindexed() {
        // Otherwise it would not be counted as a connection without the index.
        true => None,
        false => Some(open_shared_reader(path)),
    };
    let reason = match shared {
        Some(Ok(conn)) => return Ok(ReadConnection { conn, unlocked: None, unindexed: None }),
        Some(Err(error)) if !unlocked::may_help(&error) => return Err(OpenFailure::ForGood(error)),
        Some(Err(error)) => Some(error),
        None => None,
    };
    if let Some((conn, stamp)) = unlocked::open(path).map_err(OpenFailure::ForGood)? {
        return Ok(ReadConnection { conn, unlocked: Some(stamp), unindexed: None });
    }
    match (opening.read(path), reason) {
        (Ok(Some((conn, reading))), _) => {
            Ok(ReadConnection { conn, unlocked: None, unindexed: Some(reading) })
        }
        (Ok(None), Some(reason)) => Err(OpenFailure::ForGood(reason)),
        (Ok(None), None) => Err(OpenFailure::ForGood(rusqlite::Error::InvalidPath(path.to_owned()))),
        (Err(_), Some(reason)) => Err(OpenFailure::ForNow(reason)),
        (Err(error), None) => Err(OpenFailure::ForNow(error)),
    }
}

/// Opens a connection that uses the index of the log like all others.
fn open_shared_reader(path: &Path) -> rusqlite::Result<Connection> {
    has_room(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.pragma_update(None, "query_only", true)?;
    // SQLite opens the files beside it only now.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(conn)
}

/// Returns the place of a file that cannot be opened for writing because of `reason`. Fails with `reason` if the file
/// cannot be read either, or has another version.
pub(super) fn readable(path: &Path, reason: StoreError) -> Result<Place, StoreError> {
    let marked = place::read_mark(path).filter(|marked| marked.revision > Revision(0));
    let Ok(mut reader) = open_reader(path) else { return Err(reason) };
    let look = reader.conn.transaction_with_behavior(TransactionBehavior::Deferred).opening(path)?;
    if version_of(&look, path, SUPPORTED)? != SUPPORTED {
        return Err(reason);
    }
    let found = place::committed(&look).opening(path)?;
    place::require_reached(path, marked.as_ref(), &found)?;
    Ok(Place::read_only(path, found.store))
}

/// Explains an error of SQLite that only says that a file could not be opened or written: if the folder of `path`
/// cannot be written, returns the reason. Otherwise returns the same error.
pub(super) fn unwritable(error: StoreError, path: &Path) -> StoreError {
    let StoreError::Backend { operation, source } = error else { return error };
    let is_unclear = source.downcast_ref::<rusqlite::Error>().is_some_and(unlocked::may_help);
    match probe(path) {
        Err(reason @ (StoreError::DiskFull { .. } | StoreError::ReadOnly { .. })) if is_unclear => reason,
        _ => StoreError::Backend { operation, source },
    }
}

/// Fails if a test makes writes of this thread fail.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests deny anything"))]
fn denied(path: &Path) -> std::io::Result<()> {
    #[cfg(test)]
    if let Some(kind) = DENIED.get()
        && (!UNTIL_RELEASED.get() || reserve::reserve_of(path).exists())
    {
        return Err(kind.into());
    }
    Ok(())
}

/// Fails if a test leaves no space for the index of the log.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests deny anything"))]
fn has_room(path: &Path) -> rusqlite::Result<()> {
    #[cfg(test)]
    if denied(path).is_err() {
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_SHMSIZE);
        return Err(rusqlite::Error::SqliteFailure(full, None));
    }
    Ok(())
}

#[cfg(test)]
thread_local! {
    /// The error with which opening a store for writing fails in this thread.
    pub(super) static DENIED: std::cell::Cell<Option<std::io::ErrorKind>> = const { std::cell::Cell::new(None) };
    /// True if the failure ends once the reserve is released.
    pub(super) static UNTIL_RELEASED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Checks that files beside the store can be written, by writing one and removing it.
pub(super) fn probe(path: &Path) -> Result<(), StoreError> {
    let probe = place::beside(path, &format!(".{}.probe", std::process::id()));
    let written = denied(path).and_then(|()| std::fs::write(&probe, vec![1; PROBE_BYTES]));
    // Part of the file may have been written.
    let _ = std::fs::remove_file(&probe);
    written.map_err(|error| classified(backend(format!("writing beside {}", path.display()), error), path))
}

fn tune(conn: &Connection, cache_kib: i32) -> rusqlite::Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Without this, statements are compiled again whenever a bound limit or key changes.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.pragma_update(None, "cache_size", cache_kib)
}

/// Runs the missing migrations, after copying an older file to a backup beside it.
fn bring_up_to_date(conn: &mut Connection, path: &Path, migrations: &[Migration]) -> Result<(), StoreError> {
    sums::register(conn).opening(path)?;
    let supported = migrations.len() as u32;
    // One transaction, so that a file that another process is creating is seen either empty or complete.
    let look = conn.transaction_with_behavior(TransactionBehavior::Deferred).opening(path)?;
    let version = version_of(&look, path, supported)?;
    drop(look);
    if version == supported {
        return Ok(());
    }
    if version > 0 {
        back_up(conn, path, version)?;
    }
    // Another process may have migrated it in the meantime, so check again under the lock.
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate).opening(path)?;
    let version = version_of(&transaction, path, supported)?;
    sums::mark_damaged(&transaction).opening(path)?;
    for migration in &migrations[version as usize..] {
        migration(&transaction).map_err(|error| not_of_version(error, path, version))?;
    }
    // Tables may have gained columns after their checksums were first computed.
    if sums::are_kept(&transaction).opening(path)? {
        sums::cover(&transaction).opening(path)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).opening(path)?;
    transaction.pragma_update(None, "user_version", supported).opening(path)?;
    transaction.commit().opening(path)
}

/// If a migration itself fails, the schema is not that of the version, which is reported as damage.
fn not_of_version(error: rusqlite::Error, path: &Path, version: u32) -> StoreError {
    let refused = match &error {
        rusqlite::Error::SqlInputError { msg, .. } => Some(msg.clone()),
        rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::Unknown => Some(error.to_string()),
        _ => None,
    };
    match refused {
        Some(why) => StoreError::Corrupt {
            path: path.display().to_string(),
            what: format!("its tables do not match its schema version {version}: {why}"),
        },
        None => opening(error, path),
    }
}

/// Returns the schema version of the file, 0 for an empty file. Reads several values, so it must run in a transaction.
fn version_of(conn: &Connection, path: &Path, supported: u32) -> Result<u32, StoreError> {
    debug_assert!(!conn.is_autocommit(), "another process may create the file between two reads");
    let read = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).opening(path);
    let application = read("PRAGMA application_id")?;
    let tables = read("SELECT count(*) FROM sqlite_schema")?;
    let is_new = application == 0 && tables == 0;
    if !is_new && application != i64::from(APPLICATION_ID) {
        let what = "a database of another program".to_owned();
        return Err(StoreError::Corrupt { path: path.display().to_string(), what });
    }
    let found = u32::try_from(read("PRAGMA user_version")?).unwrap_or(u32::MAX);
    if found > supported {
        return Err(StoreError::Newer { path: path.display().to_string(), found, supported });
    }
    Ok(found)
}

/// Copies the file, including the contents of its log, to `<file>.v<version>.backup`.
fn back_up(conn: &Connection, path: &Path, version: u32) -> Result<(), StoreError> {
    let backup = place::beside(path, &format!(".v{version}.backup"));
    let partial = place::beside(path, &format!(".v{version}.{}.partial", std::process::id()));
    let operation = || format!("backing up {} to {}", path.display(), backup.display());
    if partial.exists() {
        std::fs::remove_file(&partial).map_err(|e| backend(operation(), e))?;
    }
    private::create_missing_file(&partial).map_err(|e| backend(operation(), e))?;
    conn.execute("VACUUM INTO ?1", [partial.to_string_lossy()]).map_err(|e| backend(operation(), e))?;
    std::fs::rename(&partial, &backup).map_err(|e| backend(operation(), e))?;
    tracing::info!(file = %path.display(), backup = %backup.display(), "backed up before migrating");
    Ok(())
}
