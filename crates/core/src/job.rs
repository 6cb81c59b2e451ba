//! Jobs: the unit of ingestion, kept on disk. A document's status is derived from its job and its chunks.

use serde::{Deserialize, Serialize};

use crate::{ChunkCounts, DocumentId, FilterError, Timestamp};

/// The remaining work of an accepted document, committed together with the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The document.
    pub document: DocumentId,
    /// Progress of the job.
    pub state: JobState,
    /// The worker that claimed it, and until when.
    pub lease: Option<Lease>,
    /// Number of times it was claimed.
    pub attempts: u32,
    /// When it was accepted; older jobs are claimed first.
    pub created_at: Timestamp,
}

/// Progress of a job. Each step is one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum JobState {
    /// Text and chunks are stored. If the document is live, full-text search finds it.
    Accepted,
    /// Chunk vectors are stored too, unless the document is staged. Extraction is in progress.
    Chunked,
    /// All extractions are in the graph. Failed chunks are recorded with the chunks.
    Merged,
    /// Stopped. A person has to resolve the reason.
    Failed {
        /// The reason, as a message.
        reason: String,
    },
    /// Removed from the queue by a person. Stored extractions are kept in case it is queued again.
    Cancelled,
}

impl JobState {
    /// True if a worker may claim the job.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Accepted | Self::Chunked => true,
            Self::Merged | Self::Failed { .. } | Self::Cancelled => false,
        }
    }
}

/// Whether the jobs of a workspace are processed. Stored with the workspace, so it applies to every worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "queue")]
pub enum QueueState {
    /// Jobs are processed.
    #[default]
    Running,
    /// No job is processed, and no model is called for jobs, until a person resumes the queue.
    Paused {
        /// When the queue was paused.
        since: Timestamp,
    },
}

impl QueueState {
    /// True if the queue is paused.
    pub fn is_paused(self) -> bool {
        match self {
            Self::Running => false,
            Self::Paused { .. } => true,
        }
    }
}

/// A worker's claim on a job. Another worker may take over an expired lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Unique per worker.
    pub owner: String,
    /// When the claim expires.
    pub expires_at: Timestamp,
}

/// A document's status for display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum DocumentStatus {
    /// Accepted, but not yet found by vector search.
    Waiting,
    /// Searchable; extraction or merging is in progress.
    Indexing {
        /// Chunks with an extraction.
        extracted: u32,
        /// Chunks whose extraction failed.
        failed: u32,
        /// Number of chunks.
        chunks: u32,
    },
    /// In the graph, complete.
    Ready {
        /// Number of chunks.
        chunks: u32,
    },
    /// In the graph, but some chunks failed, lost records, or have no context.
    Incomplete {
        /// Chunks whose extraction failed.
        failed: u32,
        /// Chunks that lost records.
        damaged: u32,
        /// Chunks whose context failed.
        without_context: u32,
        /// Number of chunks.
        chunks: u32,
    },
    /// Stopped.
    Failed {
        /// The reason.
        reason: String,
    },
    /// Removed from the queue.
    Cancelled {
        /// Chunks with an extraction.
        extracted: u32,
        /// Chunks whose extraction failed.
        failed: u32,
        /// Number of chunks.
        chunks: u32,
    },
}

/// A document's status without details, as used in filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusKind {
    /// [`DocumentStatus::Failed`].
    Failed,
    /// [`DocumentStatus::Incomplete`].
    Incomplete,
    /// [`DocumentStatus::Cancelled`].
    Cancelled,
    /// [`DocumentStatus::Indexing`].
    Indexing,
    /// [`DocumentStatus::Waiting`].
    Waiting,
    /// [`DocumentStatus::Ready`].
    Ready,
}

impl StatusKind {
    /// Every status, starting with those that need attention.
    pub const ALL: [Self; 6] =
        [Self::Failed, Self::Incomplete, Self::Cancelled, Self::Indexing, Self::Waiting, Self::Ready];

    /// Returns the status's name in output and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
            Self::Cancelled => "cancelled",
            Self::Indexing => "indexing",
            Self::Waiting => "waiting",
            Self::Ready => "ready",
        }
    }
}

impl std::str::FromStr for StatusKind {
    type Err = FilterError;

    fn from_str(name: &str) -> Result<Self, FilterError> {
        let found = Self::ALL.into_iter().find(|status| status.name() == name);
        found.ok_or_else(|| FilterError::Status(name.to_owned()))
    }
}

impl DocumentStatus {
    /// Returns the status without its details.
    pub fn kind(&self) -> StatusKind {
        match self {
            Self::Waiting => StatusKind::Waiting,
            Self::Indexing { .. } => StatusKind::Indexing,
            Self::Ready { .. } => StatusKind::Ready,
            Self::Incomplete { .. } => StatusKind::Incomplete,
            Self::Failed { .. } => StatusKind::Failed,
            Self::Cancelled { .. } => StatusKind::Cancelled,
        }
    }

    /// Derives the status from a job and the states of the document's chunks.
    pub fn derive(state: &JobState, counts: ChunkCounts) -> Self {
        let ChunkCounts { chunks, extracted, failed, damaged, without_context } = counts;
        match state {
            JobState::Accepted => Self::Waiting,
            JobState::Chunked => Self::Indexing { extracted, failed, chunks },
            JobState::Merged if failed + damaged + without_context > 0 => {
                Self::Incomplete { failed, damaged, without_context, chunks }
            }
            JobState::Merged => Self::Ready { chunks },
            JobState::Failed { reason } => Self::Failed { reason: reason.clone() },
            JobState::Cancelled => Self::Cancelled { extracted, failed, chunks },
        }
    }
}
