//! Reads without locks if the files that SQLite needs for them cannot be created: on read-only media and full disks.
//!
//! Such a connection sees only the file and nothing of a log, so it is used only if the log is empty or missing.
//! Another process may still be able to write the file. A change shows in the log or in the file's time and length
//! ([`Stamp`]). Both are checked after every read, and if something has changed, the result is not returned.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::place::beside;

/// File metadata that every change of the file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    bytes: u64,
    modified: SystemTime,
}

impl Stamp {
    /// Returns the stamp of the file. `None` if a log or journal has data that is not in the file.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        for suffix in ["-wal", "-journal"] {
            match std::fs::metadata(beside(path, suffix)) {
                Ok(log) if log.len() > 0 => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let file = std::fs::metadata(path)?;
        Ok(Some(Self { bytes: file.len(), modified: file.modified()? }))
    }

    /// True if the file has not changed.
    pub(super) fn holds(&self, path: &Path) -> bool {
        Self::of(path).is_ok_and(|now| now == Some(*self))
    }
}

/// True if an error can come from files that cannot be created or written.
pub(super) fn may_help(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
        )
    )
}

/// Opens the file for reading without locks. `None` if its log has data, or if its path cannot be passed to SQLite.
pub(super) fn open(path: &Path) -> rusqlite::Result<Option<(Connection, Stamp)>> {
    let (Ok(Some(stamp)), Some(uri)) = (Stamp::of(path), uri(path, "immutable=1")) else { return Ok(None) };
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(uri, flags)?;
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(Some((conn, stamp)))
}

/// Returns the URI of a file that is only read, with a parameter for SQLite. `None` if the path is not valid UTF-8.
pub(super) fn uri(path: &Path, parameter: &str) -> Option<String> {
    let mut uri = "file:".to_owned();
    if cfg!(windows) && path.is_absolute() {
        uri.push('/');
    }
    for c in path.to_str()?.chars() {
        match c {
            '%' | '?' | '#' => uri.push_str(&format!("%{:02X}", u32::from(c))),
            '\\' if cfg!(windows) => uri.push('/'),
            c => uri.push(c),
        }
    }
    uri.push_str("?mode=ro&");
    uri.push_str(parameter);
    Some(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_valid_until_the_file_or_its_log_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.graphloom");
        std::fs::write(&path, "one").expect("written");
        let stamp = Stamp::of(&path).expect("metadata").expect("no log");
        assert!(stamp.holds(&path));
        std::fs::write(beside(&path, "-wal"), "").expect("written");
        assert!(stamp.holds(&path));
        std::fs::write(beside(&path, "-wal"), "a commit").expect("written");
        assert!(!stamp.holds(&path));
        std::fs::remove_file(beside(&path, "-wal")).expect("removed");
        std::fs::write(&path, "longer").expect("written");
        assert!(!stamp.holds(&path));
    }

    #[test]
    fn file_names_with_url_characters_can_be_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a?b#c%20d.graphloom");
        let made = Connection::open(&path).expect("a file");
        made.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (7)").expect("a table");
        drop(made);
        let (conn, _) = open(&path).expect("it opens").expect("no log");
        assert_eq!(conn.query_row("SELECT x FROM t", [], |row| row.get(0)), Ok(7));
    }
}
