//! Pages of tables in the order of their keys. The empty key sorts before all others.

use graphloom_core::table::{Page, PageOf, Table};
use graphloom_core::{ContentHash, ItemKey, Summary, SummaryKey, VectorEntry};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use super::PostgresSnapshot;
use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::Arguments;

/// Reads the columns `key, text`, starting at column `from`.
pub(super) fn summary(row: &Row, from: usize) -> Result<Summary, Fault> {
    let key = SummaryKey::from_stored(get::<String>(row, from)?);
    Ok(Summary { key, text: rows::utf8(get(row, from + 1)?)? })
}

impl PostgresSnapshot {
    /// Reads the page.
    pub(super) async fn fill(&self, page: PageOf<'_>) -> Result<(), Fault> {
        match page {
            PageOf::Documents(page) => {
                let after = page.after.as_ref().map_or("", |id| id.as_str());
                let sql = "SELECT body, live FROM documents WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3";
                page.rows = self.select(sql, &[&after, &rows::limit(page.limit)], rows::document).await?;
            }
            PageOf::DocumentsBySource(page) => {
                // Sources sort by their first characters, because only those have an index.
                let sql = "SELECT body, live FROM documents WHERE workspace_id = $1 \
                    AND left(source, 256) >= left($2, 256) AND (source, id) > ($2, $3) \
                    ORDER BY left(source, 256), source, id LIMIT $4";
                let after = page.after.as_ref();
                let (source, id) = after.map_or(("", ""), |(source, id)| (source.as_str(), id.as_str()));
                let arguments: &Arguments<'_> = &[&source, &id, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, rows::document).await?;
            }
            PageOf::DocumentsByDate(page) => {
                let sql = "SELECT body, live FROM documents WHERE workspace_id = $1 AND (added_at, id) < ($2, $3) \
                    ORDER BY added_at DESC, id DESC LIMIT $4";
                let (added, id) = match &page.after {
                    Some((added, id)) => (i64::try_from(added.0).unwrap_or(i64::MAX), id.as_str()),
                    // Sorts after every id.
                    None => (i64::MAX, "\u{10ffff}"),
                };
                let arguments: &Arguments<'_> = &[&added, &id, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, rows::document).await?;
            }
            PageOf::Jobs(page) => self.bodies(page, "jobs", "document").await?,
            PageOf::Chunks(page) => {
                let after = page.after.as_ref().map_or("", |id| id.as_str());
                let chunk = rows::CHUNK;
                let sql = format!(
                    "SELECT {chunk} FROM chunks c WHERE c.workspace_id = $1 AND c.id > $2 ORDER BY c.id LIMIT $3"
                );
                page.rows = self.select(&sql, &[&after, &rows::limit(page.limit)], rows::chunk).await?;
            }
            PageOf::Renewals(page) => self.bodies(page, "renewals", "chunk").await?,
            PageOf::ChunkContexts(page) => self.bodies(page, "situations", "chunk").await?,
            PageOf::Extractions(page) => self.bodies(page, "extractions", "key").await?,
            PageOf::Mentions(page) => {
                let sql = "SELECT body FROM mentions WHERE workspace_id = $1 AND (chunk, ordinal) > ($2, $3) \
                    ORDER BY chunk, ordinal LIMIT $4";
                let after = page.after.as_ref();
                let (chunk, ordinal) = after.map_or(("", -1), |(id, at)| (id.as_str(), i64::from(*at)));
                let arguments: &Arguments<'_> = &[&chunk, &ordinal, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, |row| rows::parsed(row, 0)).await?;
            }
            PageOf::Facts(page) => {
                let sql = "SELECT body, weight FROM facts WHERE workspace_id = $1 AND (chunk, ordinal) > ($2, $3) \
                    ORDER BY chunk, ordinal LIMIT $4";
                let after = page.after.as_ref();
                let (chunk, ordinal) = after.map_or(("", -1), |(id, at)| (id.as_str(), i64::from(*at)));
                let arguments: &Arguments<'_> = &[&chunk, &ordinal, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, rows::fact).await?;
            }
            PageOf::Claims(page) => {
                let sql = "SELECT body FROM claims WHERE workspace_id = $1 AND (chunk, ordinal) > ($2, $3) \
                    ORDER BY chunk, ordinal LIMIT $4";
                let after = page.after.as_ref();
                let (chunk, ordinal) = after.map_or(("", -1), |(id, at)| (id.as_str(), i64::from(*at)));
                let arguments: &Arguments<'_> = &[&chunk, &ordinal, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, |row| rows::parsed(row, 0)).await?;
            }
            PageOf::Decisions(page) => {
                let sql = "SELECT body FROM decisions WHERE workspace_id = $1 AND (place, id) > ($2, $3) \
                    ORDER BY place, id LIMIT $4";
                let (place, id) = match &page.after {
                    Some((place, id)) => (i64::try_from(*place).unwrap_or(i64::MAX), id.as_str()),
                    None => (-1, ""),
                };
                let arguments: &Arguments<'_> = &[&place, &id, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, |row| rows::parsed(row, 0)).await?;
            }
            PageOf::Entities(page) => self.bodies(page, "entities", "key").await?,
            PageOf::Relations(page) => {
                let sql = "SELECT body, weight FROM relations WHERE workspace_id = $1 AND (a, b) > ($2, $3) \
                    ORDER BY a, b LIMIT $4";
                let after = page.after.as_ref();
                let (a, b) = after.map_or(("", ""), |key| (key.a().as_str(), key.b().as_str()));
                let arguments: &Arguments<'_> = &[&a, &b, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, rows::relation).await?;
            }
            PageOf::Summaries(page) => {
                let sql = "SELECT kind, a, b, key, text FROM summaries WHERE workspace_id = $1 \
                    AND (kind, a, b, key) > ($2, $3, $4, $5) ORDER BY kind, a, b, key LIMIT $6";
                let ((kind, a, b), key) = match &page.after {
                    Some((owner, key)) => (rows::graph_columns(owner), key.as_str()),
                    None => ((-1, "", ""), ""),
                };
                let arguments: &Arguments<'_> = &[&kind, &a, &b, &key, &rows::limit(page.limit)];
                let read = |row: &Row| Ok((rows::graph_key(row, 0)?, summary(row, 3)?));
                page.rows = self.select(sql, arguments, read).await?;
            }
            PageOf::Nodes(page) => {
                let sql = "SELECT body FROM nodes WHERE workspace_id = $1 AND layer = $2 \
                    AND level = coalesce($3, level) AND key > $4 ORDER BY key LIMIT $5";
                let (layer, level) = (page.table.layer.as_str(), page.table.level.map(i64::from));
                let after = page.after.as_ref().map_or("", |key| key.as_str());
                let arguments: &Arguments<'_> = &[&layer, &level, &after, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, |row| rows::parsed(row, 0)).await?;
            }
            PageOf::Stale(page) => {
                let sql = "SELECT kind, a, b FROM stale WHERE workspace_id = $1 AND (kind, a, b) > ($2, $3, $4) \
                    ORDER BY kind, a, b LIMIT $5";
                let (kind, a, b) = page.after.as_ref().map_or((-1, "", ""), rows::graph_columns);
                let arguments: &Arguments<'_> = &[&kind, &a, &b, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, |row| rows::graph_key(row, 0)).await?;
            }
            PageOf::Vectors(page) => {
                let sql = "SELECT id, inputs_hash FROM vectors WHERE workspace_id = $1 AND kind = $2 AND id > $3 \
                    ORDER BY id LIMIT $4";
                let kind = page.table.kind;
                let after = page.after.as_ref().map(ItemKey::id).unwrap_or_default();
                let after = &*after;
                let read = |row: &Row| {
                    let inputs_hash = ContentHash::from_stored(get::<String>(row, 1)?);
                    Ok(VectorEntry { item: rows::item(kind, get(row, 0)?)?, inputs_hash })
                };
                let arguments: &Arguments<'_> = &[&rows::kind_code(kind), &after, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, read).await?;
            }
            PageOf::Calls(page) => {
                let sql =
                    "SELECT body FROM calls WHERE workspace_id = $1 AND place > $2 ORDER BY place LIMIT $3";
                let skip = i64::try_from(page.after.unwrap_or(0)).unwrap_or(i64::MAX);
                let arguments: &Arguments<'_> = &[&skip, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, |row| rows::parsed(row, 0)).await?;
            }
            PageOf::Conversations(page) => self.bodies(page, "conversations", "id").await?,
            PageOf::Exchanges(page) => {
                let sql = "SELECT body FROM exchanges WHERE workspace_id = $1 \
                    AND conversation = coalesce($2, conversation) AND (conversation, ordinal) > ($3, $4) \
                    ORDER BY conversation, ordinal LIMIT $5";
                let of = page.table.conversation.as_ref().map(|id| id.as_str());
                let after = page.after.as_ref();
                let (id, ordinal) = after.map_or(("", -1), |(id, at)| (id.as_str(), i64::from(*at)));
                let arguments: &Arguments<'_> = &[&of, &id, &ordinal, &rows::limit(page.limit)];
                page.rows = self.select(sql, arguments, |row| rows::parsed(row, 0)).await?;
            }
        }
        Ok(())
    }

    /// Reads the bodies of a table whose key is one column.
    async fn bodies<T>(&self, page: &mut Page<T>, table: &str, key: &str) -> Result<(), Fault>
    where
        T: Table,
        T::Key: ToString,
        T::Row: DeserializeOwned,
    {
        let sql = format!(
            "SELECT body FROM {table} WHERE workspace_id = $1 AND {key} > $2 ORDER BY {key} LIMIT $3"
        );
        let after = page.after.as_ref().map(ToString::to_string).unwrap_or_default();
        page.rows =
            self.select(&sql, &[&after, &rows::limit(page.limit)], |row| rows::parsed(row, 0)).await?;
        Ok(())
    }

    /// Returns the rows of a statement, converted by `read`.
    async fn select<T>(
        &self,
        sql: &str,
        arguments: &Arguments<'_>,
        read: impl Fn(&Row) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        self.session.rows(sql, arguments).await?.iter().map(read).collect()
    }
}
