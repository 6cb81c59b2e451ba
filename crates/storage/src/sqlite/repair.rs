//! Repairs a damaged or shortened store.
//!
//! If commits are missing, the store is accepted as it is. If it is damaged, all intact rows are copied to a new file
//! ([`mend`]). Missing views are marked as stale, so that the worker derives them again from their evidence. Evidence
//! that exists nowhere else is reported as lost. In both cases, the files are copied first ([`keep_copy`]).

mod rebuild;
mod requeue;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use graphloom_core::{Loss, RepairReport, Revision, StoreError, WorkspaceId};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::EXTENSION;
use super::error::{Context, backend};
use super::locks::{LockPatience, Patience};
use super::place::{self, CommitMark};
use super::removal::remove_folder;
use super::{schema, sums};

/// Most copies of one damaged store that are kept.
const MAX_COPIES: usize = 1000;
/// Suffixes of the files that belong to a store, starting with the store itself.
const PARTS: [&str; 3] = ["", "-wal", "-mark"];

/// Returns the commits that a workspace has lost according to its mark. `None` if no loss is known.
pub fn loss(data_dir: &Path, workspace: &WorkspaceId) -> Result<Option<Loss>, StoreError> {
    let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
    let marked = place::read_mark(&path).filter(|marked| marked.revision > Revision(0));
    let found = found(&path, marked.as_ref())?;
    Ok(match (place::require_reached(&path, marked.as_ref(), &found), marked) {
        (Err(_), Some(marked)) => Some(Loss { found: found.revision, committed: marked.revision }),
        _ => None,
    })
}

/// Accepts a store as it is, whatever its mark says. A file that is too short to be a database is removed, so that the
/// workspace can start again.
///
/// Keep a copy first ([`keep_copy`]).
pub fn accept_loss(data_dir: &Path, workspace: &WorkspaceId) -> Result<(), StoreError> {
    let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
    if place::require_file(&path, None).is_err() || !path.exists() {
        return remove_all(&path, &PARTS);
    }
    place::set_mark(&path, &found(&path, None)?);
    Ok(())
}

/// Copies the existing files of a workspace beside them under a free name, and returns the copies.
pub fn keep_copy(data_dir: &Path, workspace: &WorkspaceId) -> Result<Vec<PathBuf>, StoreError> {
    let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
    let named = |number: usize, part: &str| place::beside(&path, &format!(".damaged-{number}{part}"));
    let is_free = |number: &usize| PARTS.iter().all(|part| !named(*number, part).exists());
    let number = (1..=MAX_COPIES).find(is_free).ok_or_else(|| {
        backend(format!("copying {}", path.display()), format!("{MAX_COPIES} copies are kept already"))
    })?;
    let mut copies = Vec::new();
    for part in PARTS {
        let (from, to) = (place::beside(&path, part), named(number, part));
        if from.exists() {
            let failed = |e| backend(format!("copying {} to {}", from.display(), to.display()), e);
            std::fs::copy(&from, &to).map_err(failed)?;
            copies.push(to);
        }
    }
    Ok(copies)
}

/// Returns the last revision in the file, without changing the file or its log.
fn found(path: &Path, marked: Option<&CommitMark>) -> Result<CommitMark, StoreError> {
    if place::require_file(path, marked).is_err() || !path.exists() {
        return Ok(CommitMark { store: String::new(), revision: Revision(0) });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).opening(path)?;
    conn.busy_timeout(schema::BUSY_TIMEOUT).opening(path)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).opening(path)?;
    place::committed(&conn).opening(path).map_err(|error| schema::unwritable(error, path))
}

/// Replaces a damaged file with a new one that has every intact row. The worker then derives the missing views. Other
/// processes that have the workspace open are refused from then on.
///
/// Keep a copy first ([`keep_copy`]).
///
/// # Errors
///
/// [`StoreError::Corrupt`] if the file cannot be opened at all. It is then left as it is.
pub fn mend(data_dir: &Path, workspace: &WorkspaceId) -> Result<RepairReport, StoreError> {
    let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
    let marked = place::read_mark(&path);
    let old = open_damaged(&path)?;
    // Keeps others from committing to the old file. If its first page is too damaged for this lock, they cannot commit anyway.
    if let Err(error) = old.execute_batch("BEGIN IMMEDIATE") {
        tracing::warn!(%error, "the damaged file is read without keeping other processes out");
    }
    let copy = place::beside(&path, ".repairing");
    remove_all(&copy, &["", "-wal", "-shm", "-mark"])?;
    let (new, _) = schema::open_writer(&copy, &LockPatience::new(&copy, Patience::Endless))?;
    let rebuilt = (|| {
        new.execute_batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")?;
        let missing = rebuild::copy(&old, &new)?;
        requeue::restore_state(&new, &missing, marked.map_or(0, |marked| marked.revision.0))?;
        let mended = requeue::requeue(&new, &missing)?;
        new.execute_batch("COMMIT")?;
        new.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok((mended, place::committed(&new)?))
    })();
    drop(new);
    let (mended, committed) = match rebuilt.during("copying intact rows") {
        Ok(rebuilt) => rebuilt,
        Err(error) => {
            remove_all(&copy, &["", "-wal", "-shm", "-mark"])?;
            return Err(error);
        }
    };
    drop(old);
    // SQLite would take a log beside the new file for the log of the new file.
    remove_all(&path, &["-wal", "-shm"])?;
    let failed = |e: io::Error| backend(format!("putting {} in its place", path.display()), e);
    std::fs::rename(&copy, &path).map_err(failed)?;
    remove_all(&copy, &["-wal", "-shm", "-mark"])?;
    place::set_mark(&path, &committed);
    forget_projections(data_dir, workspace)?;
    Ok(mended)
}

/// Removes the full-text index and the copy of the links. The next search rebuilds them.
pub fn forget_projections(data_dir: &Path, workspace: &WorkspaceId) -> Result<(), StoreError> {
    let folder = data_dir.join(format!("{workspace}.projections"));
    remove_folder(&folder).map_err(|error| backend(format!("removing {}", folder.display()), error))
}

/// Opens a damaged file of this release.
fn open_damaged(path: &Path) -> Result<Connection, StoreError> {
    // Migrates an older file first. If that fails, the file is of this release or unreadable.
    let opened = schema::open_writer(path, &LockPatience::new(path, Patience::Endless)).map(drop);
    if let Err(error) = restore_definitions(path) {
        tracing::warn!(%error, "the definitions of tables stay as they are");
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).opening(path)?;
    conn.busy_timeout(schema::BUSY_TIMEOUT).opening(path)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).opening(path)?;
    sums::register(&conn).opening(path)?;
    // A damaged definition of an index must not keep the tables from being read.
    conn.pragma_update(None, "writable_schema", true).opening(path)?;
    let tables = sums::tables(&conn).opening(path)?;
    match (tables.is_empty(), opened) {
        (true, Err(error)) => Err(error),
        _ => Ok(conn),
    }
}

/// Restores the definitions of tables and indexes in a file of this release. The rows may be intact even if the name of
/// a column is damaged.
fn restore_definitions(path: &Path) -> rusqlite::Result<()> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(schema::BUSY_TIMEOUT)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if !schema::is_of_this_release(&conn)? {
        return Ok(());
    }
    conn.pragma_update(None, "writable_schema", true)?;
    let release = schema::new_in_memory()?;
    let mut defined = release.prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let mut defined = defined.query([])?;
    while let Some(row) = defined.next()? {
        let (kind, name, sql): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        conn.execute(
            "UPDATE sqlite_schema SET sql = ?3 WHERE type = ?1 AND name = ?2 AND sql IS NOT ?3",
            [kind, name, sql],
        )?;
    }
    Ok(())
}

fn remove_all(path: &Path, suffixes: &[&str]) -> Result<(), StoreError> {
    for suffix in suffixes {
        let file = place::beside(path, suffix);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(backend(format!("removing {}", file.display()), error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
