//! Scans: pages of rows in the order of their keys. No key is before the empty one.

use graphloom_core::{
    Chunk, ChunkId, ContentHash, Decision, DecisionId, Document, DocumentId, GraphKey, Relation, RelationKey,
    StoreError, Summary, SummaryKey, Timestamp, VectorEntry, VectorKind,
};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use super::PostgresSnapshot;
use crate::error::Fault;
use crate::rows::{self, get};

/// Columns `key, text` from this one on.
pub(super) fn summary(row: &Row, from: usize) -> Result<Summary, Fault> {
    let key = SummaryKey::from_stored(get::<String>(row, from)?);
    Ok(Summary { key, text: rows::utf8(get(row, from + 1)?)? })
}

impl PostgresSnapshot {
    /// The bodies of a table with a key of one column.
    pub(super) async fn scan<T: DeserializeOwned>(
        &self,
        table: &str,
        key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<T>, StoreError> {
        let sql = format!(
            "SELECT body FROM {table} WHERE workspace_id = $1 AND {key} > $2 ORDER BY {key} LIMIT $3"
        );
        let after = after.unwrap_or_default();
        self.all(&sql, &[&after, &rows::limit(limit)], |row| rows::parsed(row, 0)).await
    }

    /// Mentions or facts.
    pub(super) async fn scan_records<T>(
        &self,
        table: &str,
        columns: &str,
        after: Option<(&ChunkId, u32)>,
        limit: usize,
        read: impl Fn(&Row) -> Result<T, Fault>,
    ) -> Result<Vec<T>, StoreError> {
        let sql = format!(
            "SELECT {columns} FROM {table} WHERE workspace_id = $1 AND (chunk, ordinal) > ($2, $3) \
             ORDER BY chunk, ordinal LIMIT $4"
        );
        let (chunk, ordinal) =
            after.map_or(("", -1), |(chunk, ordinal)| (chunk.as_str(), i64::from(ordinal)));
        self.all(&sql, &[&chunk, &ordinal, &rows::limit(limit)], read).await
    }

    pub(super) async fn scan_documents(
        &self,
        after: Option<&DocumentId>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        let sql = "SELECT body, live FROM documents WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3";
        let after = after.map_or("", DocumentId::as_str);
        self.all(sql, &[&after, &rows::limit(limit)], rows::document).await
    }

    pub(super) async fn scan_documents_by_source(
        &self,
        after: Option<(&str, &DocumentId)>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        // The order of sources is that of their beginnings, of which there is an index.
        let sql = "SELECT body, live FROM documents WHERE workspace_id = $1 \
            AND left(source, 256) >= left($2, 256) AND (source, id) > ($2, $3) \
            ORDER BY left(source, 256), source, id LIMIT $4";
        let (source, id) = after.map_or(("", ""), |(source, id)| (source, id.as_str()));
        self.all(sql, &[&source, &id, &rows::limit(limit)], rows::document).await
    }

    pub(super) async fn scan_documents_by_date(
        &self,
        after: Option<(Timestamp, &DocumentId)>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        let sql = "SELECT body, live FROM documents WHERE workspace_id = $1 AND (added_at, id) < ($2, $3) \
            ORDER BY added_at DESC, id DESC LIMIT $4";
        let (added, id) = match after {
            Some((added, id)) => (i64::try_from(added.0).unwrap_or(i64::MAX), id.as_str()),
            // After every id.
            None => (i64::MAX, "\u{10ffff}"),
        };
        self.all(sql, &[&added, &id, &rows::limit(limit)], rows::document).await
    }

    pub(super) async fn scan_chunks(
        &self,
        after: Option<&ChunkId>,
        limit: usize,
    ) -> Result<Vec<Chunk>, StoreError> {
        let chunk = rows::CHUNK;
        let sql = format!(
            "SELECT {chunk} FROM chunks c WHERE c.workspace_id = $1 AND c.id > $2 ORDER BY c.id LIMIT $3"
        );
        let after = after.map_or("", ChunkId::as_str);
        self.all(&sql, &[&after, &rows::limit(limit)], rows::chunk).await
    }

    pub(super) async fn scan_decisions(
        &self,
        after: Option<(u64, &DecisionId)>,
        limit: usize,
    ) -> Result<Vec<Decision>, StoreError> {
        let sql = "SELECT body FROM decisions WHERE workspace_id = $1 AND (place, id) > ($2, $3) \
            ORDER BY place, id LIMIT $4";
        let (place, id) = match after {
            Some((place, id)) => (i64::try_from(place).unwrap_or(i64::MAX), id.as_str()),
            None => (-1, ""),
        };
        self.all(sql, &[&place, &id, &rows::limit(limit)], |row| rows::parsed(row, 0)).await
    }

    pub(super) async fn scan_relations(
        &self,
        after: Option<&RelationKey>,
        limit: usize,
    ) -> Result<Vec<Relation>, StoreError> {
        let sql = "SELECT body, weight FROM relations WHERE workspace_id = $1 AND (a, b) > ($2, $3) \
            ORDER BY a, b LIMIT $4";
        let (a, b) = after.map_or(("", ""), |key| (key.a().as_str(), key.b().as_str()));
        self.all(sql, &[&a, &b, &rows::limit(limit)], rows::relation).await
    }

    pub(super) async fn scan_summaries(
        &self,
        after: Option<(&GraphKey, &str)>,
        limit: usize,
    ) -> Result<Vec<(GraphKey, Summary)>, StoreError> {
        let sql = "SELECT kind, a, b, key, text FROM summaries WHERE workspace_id = $1 \
            AND (kind, a, b, key) > ($2, $3, $4, $5) ORDER BY kind, a, b, key LIMIT $6";
        let ((kind, a, b), key) = match after {
            Some((owner, key)) => (rows::graph_columns(owner), key),
            None => ((-1, "", ""), ""),
        };
        let read = |row: &Row| Ok((rows::graph_key(row, 0)?, summary(row, 3)?));
        self.all(sql, &[&kind, &a, &b, &key, &rows::limit(limit)], read).await
    }

    pub(super) async fn scan_stale(
        &self,
        after: Option<&GraphKey>,
        limit: usize,
    ) -> Result<Vec<GraphKey>, StoreError> {
        let sql = "SELECT kind, a, b FROM stale WHERE workspace_id = $1 AND (kind, a, b) > ($2, $3, $4) \
            ORDER BY kind, a, b LIMIT $5";
        let (kind, a, b) = after.map_or((-1, "", ""), rows::graph_columns);
        self.all(sql, &[&kind, &a, &b, &rows::limit(limit)], |row| rows::graph_key(row, 0)).await
    }

    pub(super) async fn scan_vectors(
        &self,
        kind: VectorKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<VectorEntry>, StoreError> {
        let sql = "SELECT id, inputs_hash FROM vectors WHERE workspace_id = $1 AND kind = $2 AND id > $3 \
            ORDER BY id LIMIT $4";
        let after = after.unwrap_or_default();
        let read = |row: &Row| {
            let inputs_hash = ContentHash::from_stored(get::<String>(row, 1)?);
            Ok(VectorEntry { kind, id: get(row, 0)?, inputs_hash })
        };
        self.all(sql, &[&rows::kind_code(kind), &after, &rows::limit(limit)], read).await
    }
}
