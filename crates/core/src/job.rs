//! Jobs: the durable unit of ingestion. A document's status is derived from its job and its chunks.

use serde::{Deserialize, Serialize};

use crate::{ChunkCounts, DocumentId, FilterError, Timestamp};

/// The work that one accepted document still needs. It is committed together with the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The document.
    pub document: DocumentId,
    /// How far it is.
    pub state: JobState,
    /// Who works on it, until when.
    pub lease: Option<Lease>,
    /// How many times it was claimed.
    pub attempts: u32,
    /// When it was accepted; earlier jobs are claimed first.
    pub created_at: Timestamp,
}

/// How far a job is; each step is one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum JobState {
    /// Text and chunks are stored; if the document is live, words find it.
    Accepted,
    /// Chunk vectors are stored too, unless the document is staged; extractions arrive.
    Chunked,
    /// Everything extracted is in the graph. Chunks that failed are listed with the chunks.
    Merged,
    /// Stopped for a reason that only a person can remove.
    Failed {
        /// Why, for people.
        reason: String,
    },
    /// Taken out of the queue by a person. What was read of it stays, for when it is queued again.
    Cancelled,
}

impl JobState {
    /// Whether a worker may take the job up.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Accepted | Self::Chunked => true,
            Self::Merged | Self::Failed { .. } | Self::Cancelled => false,
        }
    }
}

/// Whether the jobs of a workspace are worked on. It is stored with the workspace and holds for every worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "queue")]
pub enum QueueState {
    /// Jobs are taken up.
    #[default]
    Running,
    /// No job is taken up and no model is asked for one, until a person resumes.
    Paused {
        /// Since when.
        since: Timestamp,
    },
}

impl QueueState {
    /// Whether work waits for a person.
    pub fn is_paused(self) -> bool {
        match self {
            Self::Running => false,
            Self::Paused { .. } => true,
        }
    }
}

/// A worker's claim on a job. An expired lease may be taken by another worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Unique per worker.
    pub owner: String,
    /// After this the claim is void.
    pub expires_at: Timestamp,
}

/// A document's status, as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum DocumentStatus {
    /// Accepted; vectors do not find it yet.
    Waiting,
    /// Searchable; extraction or merging is under way.
    Indexing {
        /// Chunks with an extraction.
        extracted: u32,
        /// Chunks whose extraction failed.
        failed: u32,
        /// Chunks.
        chunks: u32,
    },
    /// In the graph, complete.
    Ready {
        /// Chunks.
        chunks: u32,
    },
    /// In the graph, but some chunks failed, lost records, or are not situated.
    Incomplete {
        /// Chunks whose extraction failed.
        failed: u32,
        /// Chunks of whose extraction records were lost.
        damaged: u32,
        /// Chunks whose situating failed.
        unsituated: u32,
        /// Chunks.
        chunks: u32,
    },
    /// Stopped.
    Failed {
        /// Why.
        reason: String,
    },
    /// Taken out of the queue.
    Cancelled {
        /// Chunks with an extraction.
        extracted: u32,
        /// Chunks whose extraction failed.
        failed: u32,
        /// Chunks.
        chunks: u32,
    },
}

/// A document's status without its details, as filters name it.
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
    /// Every status, those that need attention first.
    pub const ALL: [Self; 6] =
        [Self::Failed, Self::Incomplete, Self::Cancelled, Self::Indexing, Self::Waiting, Self::Ready];

    /// The status's name in output and on the command line.
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
    /// The status without its details.
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

    /// The status that follows from a job and what became of its document's chunks.
    pub fn derive(state: &JobState, counts: ChunkCounts) -> Self {
        let ChunkCounts { chunks, extracted, failed, damaged, unsituated } = counts;
        match state {
            JobState::Accepted => Self::Waiting,
            JobState::Chunked => Self::Indexing { extracted, failed, chunks },
            JobState::Merged if failed + damaged + unsituated > 0 => {
                Self::Incomplete { failed, damaged, unsituated, chunks }
            }
            JobState::Merged => Self::Ready { chunks },
            JobState::Failed { reason } => Self::Failed { reason: reason.clone() },
            JobState::Cancelled => Self::Cancelled { extracted, failed, chunks },
        }
    }
}
