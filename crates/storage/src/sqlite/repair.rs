//! What can be done about a damaged or shortened store: take it as it is, after a copy.

use std::io;
use std::path::{Path, PathBuf};

use graphloom_core::{Revision, StoreError, WorkspaceId};
use rusqlite::{Connection, OpenFlags};

use super::EXTENSION;
use super::error::{Context, backend};
use super::place::{self, Committed};

/// Copies of one damaged store that are kept.
const MAX_COPIES: usize = 1000;
/// Endings of the files that belong to a store, the store's own first.
const PARTS: [&str; 3] = ["", "-wal", "-mark"];

/// What was committed to a store and is no longer there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Where the store ends; 0 where nothing is left.
    pub found: Revision,
    /// The last revision that was committed.
    pub committed: Revision,
}

/// What is lost of a workspace by what its mark says; `None` where nothing is known to be lost.
pub fn loss(data_dir: &Path, workspace: &WorkspaceId) -> Result<Option<Loss>, StoreError> {
    let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
    let marked = place::read_mark(&path).filter(|marked| marked.revision > Revision(0));
    let found = found(&path, marked.as_ref())?;
    Ok(match (place::require_reached(&path, marked.as_ref(), &found), marked) {
        (Err(_), Some(marked)) => Some(Loss { found: found.revision, committed: marked.revision }),
        _ => None,
    })
}

/// Takes a store as it is from now on, whatever its mark says. What is too short to be a database is put aside, so
/// that the workspace can begin again.
///
/// A copy should be kept first ([`keep_copy`]).
pub fn accept_loss(data_dir: &Path, workspace: &WorkspaceId) -> Result<(), StoreError> {
    let path = data_dir.join(format!("{workspace}.{EXTENSION}"));
    let failed = |e: io::Error| backend(format!("putting {} aside", path.display()), e);
    if place::require_file(&path, None).is_err() || !path.exists() {
        for suffix in PARTS {
            match std::fs::remove_file(place::beside(&path, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                Ok(()) | Err(_) => {}
            }
        }
        return Ok(());
    }
    place::set_mark(&path, &found(&path, None)?);
    Ok(())
}

/// Copies the files of a workspace beside them under a name that is free, and returns the copies; none of a file that
/// is not there.
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

/// How far the file is, without changing it or its log.
fn found(path: &Path, marked: Option<&Committed>) -> Result<Committed, StoreError> {
    if place::require_file(path, marked).is_err() || !path.exists() {
        return Ok(Committed { store: String::new(), revision: Revision(0) });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).opening(path)?;
    conn.busy_timeout(super::schema::BUSY_TIMEOUT).opening(path)?;
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).opening(path)?;
    place::committed(&conn).opening(path)
}
