//! What SQLite's errors mean to a caller.

use std::path::Path;

use graphloom_core::StoreError;
use rusqlite::ErrorCode;

/// Gives a failed database call its operation.
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
        self.map_err(|source| match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                StoreError::Corrupt { path: path.display().to_string(), what: source.to_string() }
            }
            _ => backend(format!("opening {}", path.display()), source),
        })
    }
}

pub(super) fn backend(
    operation: String,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::Backend { operation, source: source.into() }
}
