//! Jobs and runs.

use std::collections::BTreeMap;

use async_trait::async_trait;
use graphloom_core::{
    DocumentId, DocumentPage, DocumentsFound, Job, Queue, QueueState, StatusKind, StoreError, Timestamp,
    TrackId,
};

use super::{PostgresSnapshot, ids, second, second_id};
use crate::rows;

#[async_trait]
impl Queue for PostgresSnapshot {
    async fn jobs(&self, documents: &[DocumentId]) -> Result<Vec<Option<Job>>, StoreError> {
        let sql = "SELECT document, body FROM jobs WHERE workspace_id = $1 AND document = ANY($2)";
        self.by_id(sql, ids(documents), second).await
    }

    async fn status_counts(&self) -> Result<BTreeMap<StatusKind, u64>, StoreError> {
        self.done(self.count_statuses().await)
    }

    async fn document_page(&self, page: &DocumentPage) -> Result<DocumentsFound, StoreError> {
        self.done(self.find_page(page).await)
    }

    async fn queue(&self) -> Result<QueueState, StoreError> {
        let sql = "SELECT queue FROM workspaces WHERE id = $1";
        Ok(self.all(sql, &[], |row| rows::parsed(row, 0)).await?.pop().unwrap_or_default())
    }

    async fn documents_of_tracks(&self, tracks: &[TrackId]) -> Result<Vec<Vec<DocumentId>>, StoreError> {
        let sql = "SELECT track, document FROM tracks WHERE workspace_id = $1 AND track = ANY($2) ORDER BY document";
        let tracks = tracks.iter().map(TrackId::as_str).collect();
        self.each(sql, tracks, |row| second_id(row).map(DocumentId::from_stored)).await
    }

    async fn tracks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<TrackId>>, StoreError> {
        let sql = "SELECT document, track FROM tracks WHERE workspace_id = $1 AND document = ANY($2) ORDER BY track";
        self.each(sql, ids(documents), |row| second_id(row).map(TrackId::from_stored)).await
    }

    async fn claimable_jobs(&self, now: Timestamp, limit: usize) -> Result<Vec<Job>, StoreError> {
        let sql = "SELECT body FROM jobs WHERE workspace_id = $1 AND is_open AND coalesce(lease_until < $2, true) \
            ORDER BY created_at, document LIMIT $3";
        let now = i64::try_from(now.0).unwrap_or(i64::MAX);
        self.all(sql, &[&now, &rows::limit(limit)], |row| rows::parsed(row, 0)).await
    }

    async fn leased_jobs(&self) -> Result<Vec<Job>, StoreError> {
        let sql =
            "SELECT body FROM jobs WHERE workspace_id = $1 AND lease_until IS NOT NULL ORDER BY document";
        self.all(sql, &[], |row| rows::parsed(row, 0)).await
    }
}
