//! The part of a snapshot that covers pending work.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{DocumentPage, DocumentsFound, StoreError};
use crate::{DocumentId, Job, QueueState, StatusKind, Timestamp, TrackId};

/// Jobs, and the runs that queued them.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Returns jobs by document.
    async fn jobs(&self, documents: &[DocumentId]) -> Result<Vec<Option<Job>>, StoreError>;

    /// Returns the number of documents by status, including staged ones. A status without documents has no entry.
    async fn status_counts(&self) -> Result<BTreeMap<StatusKind, u64>, StoreError>;

    /// Returns a page of the documents, and the number of documents on all pages. Reads neither texts nor whole documents.
    async fn document_page(&self, page: &DocumentPage) -> Result<DocumentsFound, StoreError>;

    /// Returns whether the queue is paused.
    async fn queue(&self) -> Result<QueueState, StoreError>;

    /// Returns the existing documents that each run queued, ascending; empty for an unknown run.
    async fn documents_of_tracks(&self, tracks: &[TrackId]) -> Result<Vec<Vec<DocumentId>>, StoreError>;

    /// Returns the runs that queued each document, ascending.
    async fn tracks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<TrackId>>, StoreError>;

    /// Returns at most `limit` [open](crate::JobState::is_open) jobs whose lease is absent or expired at
    /// `now`, oldest first (`created_at`, then document).
    async fn claimable_jobs(&self, now: Timestamp, limit: usize) -> Result<Vec<Job>, StoreError>;

    /// Returns jobs with a lease, by document. Not paged, because there are only as many as are in progress.
    async fn leased_jobs(&self) -> Result<Vec<Job>, StoreError>;
}
