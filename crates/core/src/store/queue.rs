//! The part of a snapshot about work to do.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{DocumentPage, DocumentsFound, StoreError};
use crate::{DocumentId, Job, QueueState, StatusKind, Timestamp, TrackId};

/// Jobs, and the runs that queued them.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Jobs by document.
    async fn jobs(&self, documents: &[DocumentId]) -> Result<Vec<Option<Job>>, StoreError>;

    /// Number of documents by status, including staged ones; no entry for 0.
    async fn status_counts(&self) -> Result<BTreeMap<StatusKind, u64>, StoreError>;

    /// A page of the documents, and the number of documents on all pages. Reads neither texts nor whole documents.
    async fn document_page(&self, page: &DocumentPage) -> Result<DocumentsFound, StoreError>;

    /// Whether the queue is paused.
    async fn queue(&self) -> Result<QueueState, StoreError>;

    /// The existing documents that each run queued, ascending; empty for an unknown run.
    async fn documents_of_tracks(&self, tracks: &[TrackId]) -> Result<Vec<Vec<DocumentId>>, StoreError>;

    /// The runs that queued each document, ascending.
    async fn tracks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<TrackId>>, StoreError>;

    /// [Open](crate::JobState::is_open) jobs whose lease is absent or expired at `now`, oldest
    /// first (`created_at`, then document), at most `limit`.
    async fn claimable_jobs(&self, now: Timestamp, limit: usize) -> Result<Vec<Job>, StoreError>;

    /// Jobs with a lease, by document. Unpaged, since there are only as many as are in progress.
    async fn leased_jobs(&self) -> Result<Vec<Job>, StoreError>;
}
