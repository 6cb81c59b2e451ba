//! Documents, chunks, and the evidence extracted from them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use graphloom_core::{
    Chunk, ChunkContext, ChunkContextKey, ChunkCounts, ChunkExtraction, ChunkId, ContentHash, Document,
    DocumentFilter, DocumentId, Evidence, Extraction, ExtractionKey, IsoDate, OriginalStamp, RejectReason,
    Renewal, StoreError,
};
use tokio_postgres::Row;

use super::{PostgresSnapshot, count, document_of, ids, second, second_id};
use crate::rows::{self, found, get, grouped};
use crate::session::Arguments;

/// Documents read at a time.
const PAGE: usize = 1000;

#[async_trait]
impl Evidence for PostgresSnapshot {
    async fn documents(&self, documents: &[DocumentId]) -> Result<Vec<Option<Document>>, StoreError> {
        let sql = "SELECT id, body, live FROM documents WHERE workspace_id = $1 AND id = ANY($2)";
        self.by_id(sql, ids(documents), document_of).await
    }

    async fn documents_of_sources(&self, sources: &[String]) -> Result<Vec<Vec<Document>>, StoreError> {
        let sql = "SELECT d.source, d.body, d.live FROM unnest($2::text[]) AS s (source) \
            JOIN documents d ON d.workspace_id = $1 AND left(d.source, 256) = left(s.source, 256) AND d.source = s.source \
            GROUP BY d.id, d.source, d.body, d.live ORDER BY d.id";
        self.each(sql, sources.iter().map(String::as_str).collect(), document_of).await
    }

    async fn documents_of_contents(&self, hashes: &[ContentHash]) -> Result<Vec<Vec<Document>>, StoreError> {
        let sql = "SELECT content_hash, body, live FROM documents \
            WHERE workspace_id = $1 AND content_hash = ANY($2) ORDER BY id";
        self.each(sql, hashes.iter().map(ContentHash::as_str).collect(), document_of).await
    }

    async fn documents_matching(&self, filter: &DocumentFilter) -> Result<(Vec<Document>, u64), StoreError> {
        let sql = "SELECT count(*) FROM documents WHERE workspace_id = $1";
        let all = self.all(sql, &[], |row| rows::number(row, 0)).await?.into_iter().sum();
        // The database filters by date. Globs and comparisons of metadata have no equivalent in SQL.
        let sql = "SELECT body, live FROM documents \
            WHERE workspace_id = $1 AND id > $2 AND added_at >= $3 AND added_at <= $4 ORDER BY id LIMIT $5";
        let from = filter.accepted_after.as_ref().map_or(i64::MIN, IsoDate::start_ms);
        let until = filter.accepted_before.as_ref().map_or(i64::MAX, |date| date.end_ms() - 1);
        let (mut matching, mut after) = (Vec::new(), String::new());
        loop {
            let arguments: &Arguments<'_> = &[&after, &from, &until, &rows::limit(PAGE)];
            let page = self.all(sql, arguments, rows::document).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|document| document.id.to_string()).unwrap_or_default();
            matching.extend(page.into_iter().filter(|document| filter.admits_document(document)));
            if is_last {
                return Ok((matching, all));
            }
        }
    }

    async fn texts(&self, documents: &[DocumentId]) -> Result<Vec<Option<String>>, StoreError> {
        let sql = "SELECT document, text FROM texts WHERE workspace_id = $1 AND document = ANY($2)";
        self.by_id(sql, ids(documents), |row| rows::utf8(get(row, 1)?)).await
    }

    async fn originals(&self, documents: &[DocumentId]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let sql = "SELECT document, bytes FROM originals WHERE workspace_id = $1 AND document = ANY($2)";
        self.by_id(sql, ids(documents), |row| get::<Vec<u8>>(row, 1)).await
    }

    async fn original_stamps(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Option<OriginalStamp>>, StoreError> {
        let sql = "SELECT document, hash, octet_length(bytes)::bigint FROM originals \
            WHERE workspace_id = $1 AND document = ANY($2)";
        let stamp = |row: &Row| {
            let hash = ContentHash::from_stored(get::<String>(row, 1)?);
            Ok(OriginalStamp { hash, bytes: rows::number(row, 2)? })
        };
        self.by_id(sql, ids(documents), stamp).await
    }

    async fn chunks(&self, chunks: &[ChunkId]) -> Result<Vec<Option<Chunk>>, StoreError> {
        let chunk = rows::CHUNK;
        let sql = format!("SELECT {chunk}, c.id FROM chunks c WHERE c.workspace_id = $1 AND c.id = ANY($2)");
        let wanted: Vec<&str> = chunks.iter().map(ChunkId::as_str).collect();
        let read = self.all(&sql, &[&wanted], rows::chunk).await?;
        let read = read.into_iter().map(|chunk| (chunk.id.clone(), chunk)).collect();
        Ok(found(chunks.iter().cloned(), read))
    }

    async fn chunks_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Chunk>>, StoreError> {
        let chunk = rows::CHUNK;
        let sql = format!(
            "SELECT {chunk} FROM chunks c WHERE c.workspace_id = $1 AND c.document = ANY($2) ORDER BY c.ordinal, c.id"
        );
        let read = self.all(&sql, &[&ids(documents)], rows::chunk).await?;
        let rows = read.into_iter().map(|chunk| Ok((chunk.document.clone(), chunk)));
        self.done(grouped(documents.iter().cloned(), rows))
    }

    async fn chunk_ids_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<ChunkId>>, StoreError> {
        let sql = "SELECT document, id FROM chunks WHERE workspace_id = $1 AND document = ANY($2) ORDER BY ordinal, id";
        self.each(sql, ids(documents), |row| second_id(row).map(ChunkId::from_stored)).await
    }

    async fn chunk_counts_of(&self, documents: &[DocumentId]) -> Result<Vec<ChunkCounts>, StoreError> {
        let is =
            |state: &str| format!("count(*) FILTER (WHERE c.extraction LIKE '{{\"state\":\"{state}\"%')");
        let sql = format!(
            "SELECT c.document, count(*), {}, {}, {}, count(s.chunk) FROM chunks c \
             LEFT JOIN situations s ON s.workspace_id = $1 AND s.chunk = c.id AND s.failed \
             WHERE c.workspace_id = $1 AND c.document = ANY($2) GROUP BY c.document",
            is("done"),
            is("damaged"),
            is("failed")
        );
        let counts = |row: &Row| {
            Ok(ChunkCounts {
                chunks: count(row, 1)?,
                extracted: count(row, 2)? + count(row, 3)?,
                damaged: count(row, 3)?,
                failed: count(row, 4)?,
                without_context: count(row, 5)?,
            })
        };
        let found = self.by_id(&sql, ids(documents), counts).await?;
        Ok(found.into_iter().map(Option::unwrap_or_default).collect())
    }

    async fn extraction_states_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, ChunkExtraction)>>, StoreError> {
        let sql = "SELECT document, extraction, ordinal FROM chunks \
            WHERE workspace_id = $1 AND document = ANY($2) ORDER BY ordinal, id";
        self.each(sql, ids(documents), |row| Ok((count(row, 2)?, second(row)?))).await
    }

    async fn extractions(&self, keys: &[ExtractionKey]) -> Result<Vec<Option<Extraction>>, StoreError> {
        let sql = "SELECT key, body FROM extractions WHERE workspace_id = $1 AND key = ANY($2)";
        self.by_id(sql, keys.iter().map(ExtractionKey::as_str).collect(), second).await
    }

    async fn reject_counts(&self) -> Result<BTreeMap<RejectReason, u64>, StoreError> {
        let sql = "SELECT reason, count(*) FROM extractions, unnest(string_to_array(rejects, ' ')) AS reason \
            WHERE workspace_id = $1 GROUP BY reason";
        let reason = |row: &Row| Ok((RejectReason::from(get::<String>(row, 0)?), rows::number(row, 1)?));
        Ok(self.all(sql, &[], reason).await?.into_iter().collect())
    }

    async fn empty_extractions(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM extractions WHERE workspace_id = $1 AND is_empty";
        Ok(self.all(sql, &[], |row| rows::number(row, 0)).await?.into_iter().sum())
    }

    async fn renewals_of(&self, documents: &[DocumentId]) -> Result<Vec<Vec<Renewal>>, StoreError> {
        let sql = "SELECT c.document, r.body FROM chunks c \
            JOIN renewals r ON r.workspace_id = $1 AND r.chunk = c.id \
            WHERE c.workspace_id = $1 AND c.document = ANY($2) ORDER BY c.ordinal, c.id";
        self.each(sql, ids(documents), second).await
    }

    async fn chunk_contexts(&self, chunks: &[ChunkId]) -> Result<Vec<Option<ChunkContext>>, StoreError> {
        let sql = "SELECT chunk, body FROM situations WHERE workspace_id = $1 AND chunk = ANY($2)";
        self.by_id(sql, chunks.iter().map(ChunkId::as_str).collect(), second).await
    }

    async fn context_texts(&self, keys: &[ChunkContextKey]) -> Result<Vec<Option<String>>, StoreError> {
        let sql = "SELECT DISTINCT ON (key) key, body FROM situations \
            WHERE workspace_id = $1 AND key = ANY($2) AND NOT failed ORDER BY key, chunk";
        let keys = keys.iter().map(ChunkContextKey::as_str).collect();
        let found = self.by_id(sql, keys, second::<ChunkContext>).await?;
        Ok(found.into_iter().map(|chunk_context| chunk_context?.text().map(str::to_owned)).collect())
    }

    async fn failed_contexts_of(
        &self,
        documents: &[DocumentId],
    ) -> Result<Vec<Vec<(u32, String)>>, StoreError> {
        let sql = "SELECT c.document, s.body, c.ordinal FROM chunks c \
            JOIN situations s ON s.workspace_id = $1 AND s.chunk = c.id AND s.failed \
            WHERE c.workspace_id = $1 AND c.document = ANY($2) ORDER BY c.ordinal, c.id";
        let read = |row: &Row| {
            let chunk_context: ChunkContext = second(row)?;
            Ok((count(row, 2)?, chunk_context.failure().unwrap_or_default().to_owned()))
        };
        self.each(sql, ids(documents), read).await
    }

    async fn chunk_context_counts(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let sql = "SELECT author, count(*) FROM situations WHERE workspace_id = $1 GROUP BY author";
        Ok(self.all(sql, &[], |row| Ok((get(row, 0)?, rows::number(row, 1)?))).await?.into_iter().collect())
    }
}
