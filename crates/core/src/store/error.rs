//! Errors of stores.

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A precondition of the batch did not hold. Nothing was written. Read again and retry.
    #[error("commit refused: {what}")]
    Conflict {
        /// The precondition.
        what: String,
    },
    /// The batch violates the store's rules, which is a bug in the caller. Nothing was written.
    #[error("commit refused as invalid: {what}")]
    Invalid {
        /// The violation.
        what: String,
    },
    /// The vectors belong to a different embedding space than the workspace's.
    #[error("the workspace's vectors are from {expected}, not from {found}")]
    EmbeddingMismatch {
        /// The workspace's model and dimension.
        expected: String,
        /// The vectors' model and dimension.
        found: String,
    },
    /// The file was written by a later release.
    #[error("{path} has schema version {found}; this release reads up to {supported}")]
    Newer {
        /// The file.
        path: String,
        /// Its version.
        found: u32,
        /// The latest supported version.
        supported: u32,
    },
    /// The file is damaged or not a Graphloom store.
    #[error("reading {path}: {what}")]
    Corrupt {
        /// The file.
        path: String,
        /// The damage.
        what: String,
    },
    /// Another process holds the workspace. Nothing was written.
    #[error("{path} is in use by {}", holder.as_deref().unwrap_or("another process"))]
    Busy {
        /// The file.
        path: String,
        /// The process that holds it, if known.
        holder: Option<String>,
    },
    /// The disk is full. Nothing was written.
    #[error("the disk of {path} is full")]
    DiskFull {
        /// The file.
        path: String,
    },
    /// The file or its folder is read-only. Nothing was written.
    #[error("{path} cannot be written: it, its folder or its disk is read-only for this user")]
    ReadOnly {
        /// The file.
        path: String,
    },
    /// The disk failed to read or write. A commit that failed this way wrote nothing.
    #[error("the disk of {path} failed: {what}")]
    DiskFailed {
        /// The file.
        path: String,
        /// The operation and the system's error.
        what: String,
    },
    /// Committed data is missing: a file of the store is missing, or older than it was.
    #[error("reading {path}: {what}")]
    Lost {
        /// The file.
        path: String,
        /// What is missing.
        what: String,
    },
    /// A file of the store was moved, deleted or replaced while open. This handle writes nothing more,
    /// because it would be lost.
    #[error("{path} was moved, deleted or replaced while it was open; no further changes are written")]
    Gone {
        /// The missing file.
        path: String,
    },
    /// The database server cannot be reached. It is unknown whether a commit that failed this way was applied: read again.
    #[error("{database} is not available: {what}")]
    Unavailable {
        /// Its address, without a password.
        database: String,
        /// The operation and the cause.
        what: String,
    },
    /// The disk or the database failed.
    #[error("{operation}")]
    Backend {
        /// The operation.
        operation: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// True if the caller should read again and retry.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// True if the same call can succeed later without any change.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Conflict { .. } | Self::Busy { .. } | Self::Unavailable { .. } => true,
            Self::DiskFull { .. }
            | Self::ReadOnly { .. }
            | Self::DiskFailed { .. }
            | Self::Invalid { .. }
            | Self::EmbeddingMismatch { .. }
            | Self::Newer { .. }
            | Self::Corrupt { .. }
            | Self::Lost { .. }
            | Self::Gone { .. }
            | Self::Backend { .. } => false,
        }
    }

    /// Returns a remedy, if one is known, that does not refer to any user interface.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Newer { .. } => Some("update graphloom, or restore the backup beside the file".to_owned()),
            Self::EmbeddingMismatch { .. } => {
                Some("use the embedder the workspace was built with, or another workspace".to_owned())
            }
            Self::Corrupt { .. } => {
                Some("repair the workspace, or restore a backup".to_owned())
            }
            Self::Lost { .. } => Some(
                "restore the file and its write-ahead log (-wal), or a newer backup; or repair the workspace and accept \
                 the loss"
                    .to_owned(),
            ),
            Self::Gone { .. } => {
                Some("restore the file, or stop this program and start it again".to_owned())
            }
            Self::Busy { .. } => Some("wait until that process is done, or stop it, and try again".to_owned()),
            Self::DiskFull { .. } => Some("free some space on that disk and try again".to_owned()),
            Self::ReadOnly { .. } => {
                Some("allow this user to write the file and its folder, or copy both to a writable place".to_owned())
            }
            Self::DiskFailed { .. } => {
                Some("check the system's log for disk errors, and try again".to_owned())
            }
            Self::Unavailable { .. } => {
                Some("check that the database runs and that its address, user and password are right".to_owned())
            }
            Self::Conflict { .. } | Self::Invalid { .. } | Self::Backend { .. } => None,
        }
    }
}
