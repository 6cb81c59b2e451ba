//! Translates database errors into the errors that callers see.

use std::time::Duration;

use deadpool_postgres::PoolError;
use graphloom_core::StoreError;
use tokio_postgres::error::SqlState;

/// Why a step failed: a rule refused it, or the database failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The error is passed to the caller unchanged.
    Refused(StoreError),
    /// The database reported an error, or the connection broke.
    Database(tokio_postgres::Error),
    /// The database did not answer for this long, though the connection stayed open. The statement may have been executed.
    Silent(Duration),
    /// No connection was available.
    Pool(PoolError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Database(error),
            other => Self::Pool(other),
        }
    }
}

impl Fault {
    /// True if the same transaction may succeed later or on another connection: the connection broke, the server
    /// restarts, or other transactions were in the way.
    pub(crate) fn is_passing(&self) -> bool {
        let error = match self {
            Self::Refused(_) => return false,
            Self::Pool(_) | Self::Silent(_) => return true,
            Self::Database(error) => error,
        };
        let Some(state) = error.code() else {
            // An error without a code comes from the connection, or from the driver refusing the arguments.
            return error.is_closed() || is_of_connection(error);
        };
        state.code().starts_with("08")
            || [
                &SqlState::ADMIN_SHUTDOWN,
                &SqlState::CRASH_SHUTDOWN,
                &SqlState::CANNOT_CONNECT_NOW,
                &SqlState::TOO_MANY_CONNECTIONS,
                &SqlState::T_R_SERIALIZATION_FAILURE,
                &SqlState::T_R_DEADLOCK_DETECTED,
                // A server that is not promoted yet.
                &SqlState::READ_ONLY_SQL_TRANSACTION,
            ]
            .contains(&state)
    }

    /// Returns the error for callers. `database` names the database, without a password.
    pub(crate) fn into_store(self, operation: &str, database: &str) -> StoreError {
        let path = || database.to_owned();
        let passing = self.is_passing();
        let error = match self {
            Self::Refused(error) => return error,
            Self::Pool(error) => {
                return StoreError::Unavailable { database: path(), what: format!("{operation}: {error}") };
            }
            Self::Silent(waited) => {
                let waited = waited.as_secs();
                let what =
                    format!("{operation}: the server accepted the request but did not answer for {waited} s");
                return StoreError::Unavailable { database: path(), what };
            }
            Self::Database(error) => error,
        };
        let what = message(&error);
        match error.code() {
            Some(state) if *state == SqlState::DISK_FULL => StoreError::DiskFull { path: path() },
            Some(state) if *state == SqlState::READ_ONLY_SQL_TRANSACTION => {
                StoreError::ReadOnly { path: path() }
            }
            Some(state) if [&SqlState::LOCK_NOT_AVAILABLE, &SqlState::QUERY_CANCELED].contains(&state) => {
                StoreError::Busy { path: path(), holder: None }
            }
            Some(state) if *state == SqlState::CHARACTER_NOT_IN_REPERTOIRE => StoreError::Invalid {
                what: "a key or a name holds a null character, which the database cannot store".to_owned(),
            },
            _ if passing => {
                StoreError::Unavailable { database: path(), what: format!("{operation}: {what}") }
            }
            _ => StoreError::Backend {
                operation: format!("{operation} in {database}: {what}"),
                source: Box::new(error),
            },
        }
    }
}

/// Returns the message of the server or the operating system, because the driver's own text is only `db error`.
pub(crate) fn message(error: &tokio_postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        return db.message().to_owned();
    }
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.unwrap_or_else(|| error.to_string())
}

fn is_of_connection(error: &tokio_postgres::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    error.to_string().starts_with("error connecting") || error.to_string().starts_with("timeout")
}
