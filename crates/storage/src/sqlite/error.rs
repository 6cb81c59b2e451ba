//! Maps SQLite's errors to store errors.

use std::io;
use std::path::Path;

use graphloom_core::StoreError;
use rusqlite::{ErrorCode, ffi};
use tantivy::TantivyError;
use tantivy::directory::error::{OpenReadError, OpenWriteError};

use super::locks;

/// `EIO`, for which the standard library has no error kind.
const DEVICE_FAILED: i32 = 5;

/// Adds the operation to the error of a failed database call.
pub(super) trait Context<T> {
    /// Names the operation.
    fn during(self, operation: &str) -> Result<T, StoreError>;
    /// Names the file that was being opened.
    fn opening(self, path: &Path) -> Result<T, StoreError>;
}

impl<T> Context<T> for rusqlite::Result<T> {
    fn during(self, operation: &str) -> Result<T, StoreError> {
        self.map_err(|source| backend(operation.to_owned(), source))
    }

    fn opening(self, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| opening(source, path))
    }
}

/// Returns the error for a file that could not be opened.
pub(super) fn opening(source: rusqlite::Error, path: &Path) -> StoreError {
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            StoreError::Corrupt { path: path.display().to_string(), what: source.to_string() }
        }
        _ => classified(backend(format!("opening {}", path.display()), source), path),
    }
}

/// True if an error shows that the file does not contain what was written to it.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    match error {
        Error::SqliteFailure(code, _) => {
            matches!(code.code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
                || code.extended_code == ffi::SQLITE_IOERR_SHORT_READ
        }
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..)
        | Error::BlobSizeError
        // Every statement fits the tables of this release. If one does not compile, the tables were changed.
        | Error::SqlInputError { .. } => true,
        _ => false,
    }
}

pub(super) fn backend(
    operation: String,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::Backend { operation, source: source.into() }
}

/// Translates the error for the store at `path` by the error codes of its cause, never by its message.
pub(super) fn classified(error: StoreError, path: &Path) -> StoreError {
    let StoreError::Backend { operation, source } = error else { return error };
    let shown = || path.display().to_string();
    if source.downcast_ref::<rusqlite::Error>().is_some_and(is_damage) {
        return StoreError::Corrupt { path: shown(), what: format!("{operation}: {source}") };
    }
    let of_disk = source.downcast_ref::<io::Error>();
    let of_disk = of_disk.or_else(|| source.downcast_ref::<TantivyError>().and_then(of_index));
    let condition = match (source.downcast_ref::<rusqlite::Error>(), of_disk) {
        (Some(error), _) => Condition::of_database(error),
        (None, Some(error)) if error.raw_os_error() == Some(DEVICE_FAILED) => Some(Condition::Failing),
        (None, Some(error)) => Condition::of_disk(error),
        (None, None) => None,
    };
    match condition {
        Some(Condition::Busy) => {
            let holder = locks::holder_of(path).map(|holder| holder.to_string());
            StoreError::Busy { path: shown(), holder }
        }
        Some(Condition::Full) => StoreError::DiskFull { path: shown() },
        Some(Condition::ReadOnly) => StoreError::ReadOnly { path: shown() },
        Some(Condition::Failing) => {
            StoreError::DiskFailed { path: shown(), what: format!("{operation}: {source}") }
        }
        None => StoreError::Backend { operation, source },
    }
}

/// Returns the disk error behind a failure to read or write the full-text index.
fn of_index(error: &TantivyError) -> Option<&io::Error> {
    match error {
        TantivyError::IoError(error)
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error: error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: error, .. }) => Some(error),
        _ => None,
    }
}

/// Copies an error for other callers that it affects.
pub(super) fn repeated(error: &StoreError) -> StoreError {
    match error {
        StoreError::Busy { path, holder } => StoreError::Busy { path: path.clone(), holder: holder.clone() },
        StoreError::DiskFull { path } => StoreError::DiskFull { path: path.clone() },
        StoreError::ReadOnly { path } => StoreError::ReadOnly { path: path.clone() },
        StoreError::DiskFailed { path, what } => {
            StoreError::DiskFailed { path: path.clone(), what: what.clone() }
        }
        StoreError::Corrupt { path, what } => StoreError::Corrupt { path: path.clone(), what: what.clone() },
        StoreError::Lost { path, what } => StoreError::Lost { path: path.clone(), what: what.clone() },
        StoreError::Gone { path } => StoreError::Gone { path: path.clone() },
        StoreError::Unavailable { database, what } => {
            StoreError::Unavailable { database: database.clone(), what: what.clone() }
        }
        StoreError::Backend { operation, source } => backend(operation.clone(), source.to_string()),
        StoreError::Conflict { .. }
        | StoreError::Invalid { .. }
        | StoreError::EmbeddingMismatch { .. }
        | StoreError::Newer { .. } => backend("committing".to_owned(), error.to_string()),
    }
}

/// A condition that keeps a store from working although it is not damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// Another process holds a lock.
    Busy,
    /// The disk is full.
    Full,
    /// The file or its folder cannot be written.
    ReadOnly,
    /// The device fails to read or write.
    Failing,
}

impl Condition {
    pub(super) fn of_database(error: &rusqlite::Error) -> Option<Self> {
        let code = error.sqlite_error()?;
        match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(Self::Busy),
            ErrorCode::DiskFull => Some(Self::Full),
            // The index of the log could not get its disk space.
            ErrorCode::SystemIoFailure if code.extended_code == ffi::SQLITE_IOERR_SHMSIZE => Some(Self::Full),
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Some(Self::ReadOnly),
            ErrorCode::SystemIoFailure => Some(Self::Failing),
            _ => None,
        }
    }

    pub(super) fn of_disk(error: &io::Error) -> Option<Self> {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Some(Self::Full)
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Some(Self::ReadOnly),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_database(code: i32) -> StoreError {
        let source = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        classified(backend("committing".to_owned(), source), Path::new("w.graphloom"))
    }

    #[test]
    fn a_disk_error_says_what_is_wrong_with_the_disk() {
        assert!(matches!(check_database(ffi::SQLITE_FULL), StoreError::DiskFull { .. }));
        assert!(matches!(check_database(ffi::SQLITE_READONLY), StoreError::ReadOnly { .. }));
        assert!(matches!(check_database(ffi::SQLITE_IOERR_SHORT_READ), StoreError::Corrupt { .. }));
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_READ] {
            let error = check_database(code);
            assert!(matches!(&error, StoreError::DiskFailed { .. }), "{error:?}");
            assert!(error.to_string().starts_with("the disk of w.graphloom failed: committing"), "{error}");
        }
        let error = io::Error::from_raw_os_error(DEVICE_FAILED);
        let error = classified(backend("writing".to_owned(), error), Path::new("w.graphloom"));
        assert!(matches!(error, StoreError::DiskFailed { .. }), "{error:?}");
        let error = OpenReadError::wrap_io_error(io::Error::from_raw_os_error(DEVICE_FAILED), "a.idx".into());
        let error = backend("searching text".to_owned(), TantivyError::from(error));
        let error = classified(error, Path::new("w.graphloom"));
        assert!(matches!(error, StoreError::DiskFailed { .. }), "{error:?}");
        let conn = rusqlite::Connection::open_in_memory().expect("a database");
        conn.execute_batch("CREATE TABLE summaries (tuxt TEXT)").expect("a damaged table");
        let unknown = conn.prepare("SELECT text FROM summaries").map(drop).during("scanning summaries");
        let error = classified(unknown.expect_err("another column"), Path::new("w.graphloom"));
        assert!(
            matches!(&error, StoreError::Corrupt { what, .. } if what.contains("summaries")),
            "{error:?}"
        );
        let bug = check_database(ffi::SQLITE_ERROR);
        assert!(matches!(bug, StoreError::Backend { .. }), "{bug:?}");
    }
}
