//! How the descriptions of records and views are stored.
//!
//! The rules take descriptions from the words of the document, and a view's description is mostly the descriptions of
//! its records, one per line. So if it is shorter, a stored description lists the parts of the document that it quotes
//! ([`quotes`]) or the records that it repeats. Such a description is a blob, any other is text. Callers see only text.
//!
//! ```text
//! view   twice the bytes of a literal, the literal; or twice the number of a chunk plus one, the ordinal of the record;
//!        and again; numbers as in a quotation
//! ```
//!
//! The text of a document with chunks never changes, and records are removed with their document. A view may outlive a
//! record that it repeats. Its description is then written out first ([`write_out`]).

use std::collections::BTreeSet;

use graphloom_core::{Batch, ChunkId, EntityKey, GraphKey, RelationKey};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::quotes::{self, Source};
use super::read::query;
use super::text::{self, Slicer};
use super::{read, rows, sums};

/// Shorter descriptions are stored as text.
const MIN_REPEATED: usize = 16;
/// Most records of a view that its description is compared with.
const MAX_RECORDS: i64 = 64;
/// Separates the descriptions of records in the description of a view.
const SEPARATOR: char = '\n';

/// Reads descriptions, and finds what they repeat.
pub(super) struct Descriptions<'a> {
    conn: &'a Connection,
    slicer: Slicer<'a>,
    source: Option<(i64, Source)>,
}

/// A view, identified by its key columns.
#[derive(Clone, Copy)]
pub(super) enum View<'a> {
    Entity(&'a str),
    Relation(&'a str, &'a str),
}

impl<'a> View<'a> {
    /// Returns the relation with this key.
    pub(super) fn of(key: &'a RelationKey) -> Self {
        Self::Relation(key.a().as_str(), key.b().as_str())
    }
}

impl<'a> Descriptions<'a> {
    pub(super) fn new(conn: &'a Connection) -> Self {
        Self { conn, slicer: Slicer::new(conn), source: None }
    }

    /// Returns the stored form of a record's description. It may quote the record's chunk.
    pub(super) fn store_of_record(&mut self, chunk: i64, description: &str) -> Result<Value> {
        let text = || Value::Text(description.to_owned());
        if description.len() < MIN_REPEATED {
            return Ok(text());
        }
        if self.source.as_ref().is_none_or(|(of, _)| *of != chunk) {
            let mut select =
                self.conn.prepare_cached("SELECT document, start, stop FROM chunks WHERE id = ?1")?;
            let (document, start, stop): (i64, i64, i64) =
                select.query_row([chunk], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let (start, stop) = (start.unsigned_abs(), stop.unsigned_abs());
            let bytes = self.slicer.slice(document, start, stop)?.unwrap_or_default();
            self.source = Some((chunk, Source::new(start, bytes)));
        }
        let quotation = self.source.as_ref().and_then(|(_, source)| source.quote(description));
        Ok(quotation.map_or_else(text, Value::Blob))
    }

    /// Reads the description of a record of this document, in column `at`.
    pub(super) fn of_record(&mut self, row: &Row<'_>, at: usize, document: i64) -> Result<String> {
        let quotation = match row.get_ref(at)? {
            ValueRef::Blob(quotation) => quotation,
            text => return Ok(text.as_str()?.to_owned()),
        };
        let slicer = &mut self.slicer;
        let copied = quotes::read(quotation, |start, length, out| -> Result<()> {
            let stop = start.checked_add(length).ok_or_else(|| broken("a quotation"))?;
            out.extend(slicer.slice(document, start, stop)?.ok_or_else(|| broken("a quotation"))?);
            Ok(())
        })?;
        text::into_text(copied.ok_or_else(|| broken("a quotation"))?)
    }

    /// Returns the stored form of a view's description. It may repeat records of the view that are already stored.
    pub(super) fn store_of_view(&mut self, view: View<'_>, description: &str) -> Result<Value> {
        let as_text = || Value::Text(description.to_owned());
        if description.len() < MIN_REPEATED {
            return Ok(as_text());
        }
        let records = self.records(view)?;
        let (mut stored, mut literal, mut rest) = (Vec::new(), "", description);
        while !rest.is_empty() {
            let ends = |after: &str| after.is_empty() || after.starts_with(SEPARATOR);
            let repeated = records
                .iter()
                .filter(|(_, _, text)| rest.strip_prefix(text.as_str()).is_some_and(ends))
                .max_by_key(|(_, _, text)| text.len());
            let at = description.len() - rest.len();
            match repeated {
                Some((chunk, ordinal, text)) => {
                    put_literal(&mut stored, literal);
                    quotes::put_number(&mut stored, chunk.unsigned_abs() << 1 | 1);
                    quotes::put_number(&mut stored, *ordinal);
                    (literal, rest) = ("", &rest[text.len()..]);
                }
                None => {
                    let line = rest.find(SEPARATOR).map_or(rest.len(), |end| end + SEPARATOR.len_utf8());
                    literal = &description[at - literal.len()..at + line];
                    rest = &rest[line..];
                }
            }
        }
        put_literal(&mut stored, literal);
        Ok(if stored.len() * 2 < description.len() { Value::Blob(stored) } else { as_text() })
    }

    /// Returns chunk, ordinal and description of a view's records, up to [`MAX_RECORDS`].
    fn records(&mut self, view: View<'_>) -> Result<Vec<(i64, u64, String)>> {
        const COLUMNS: &str = "r.chunk, r.ordinal, r.description, c.document";
        let (sql, key) = match view {
            View::Entity(key) => {
                ("mentions r JOIN chunks c ON c.id = r.chunk WHERE r.entity = ?2 LIMIT ?1", vec![key])
            }
            View::Relation(a, b) => {
                ("facts r JOIN chunks c ON c.id = r.chunk WHERE r.a = ?2 AND r.b = ?3 LIMIT ?1", vec![a, b])
            }
        };
        let mut select = self.conn.prepare_cached(&query(COLUMNS, sql))?;
        let mut found = match key.as_slice() {
            [a, b] => select.query(params![MAX_RECORDS, a, b])?,
            _ => select.query(params![MAX_RECORDS, key[0]])?,
        };
        let mut records = Vec::new();
        while let Some(row) = found.next()? {
            let text = self.of_record(row, 2, row.get(3)?)?;
            if text.len() >= MIN_REPEATED {
                records.push((row.get(0)?, rows::unsigned(row, 1)?, text));
            }
        }
        Ok(records)
    }

    /// Reads the description of a view, in column `at`.
    pub(super) fn of_view(&mut self, row: &Row<'_>, at: usize, view: View<'_>) -> Result<String> {
        let mut rest = match row.get_ref(at)? {
            ValueRef::Blob(stored) => stored,
            text => return Ok(text.as_str()?.to_owned()),
        };
        let broken = || broken("a description");
        let mut text = Vec::new();
        while !rest.is_empty() {
            let head = quotes::take_number(&mut rest).ok_or_else(broken)?;
            if head & 1 == 0 {
                let length = usize::try_from(head >> 1).map_err(|_| broken())?;
                let (literal, after) = rest.split_at_checked(length).ok_or_else(broken)?;
                text.extend_from_slice(literal);
                rest = after;
            } else {
                let ordinal = quotes::take_number(&mut rest).ok_or_else(broken)?;
                let record = self.record(view, rows::signed(head >> 1), rows::signed(ordinal))?;
                text.extend(record.ok_or_else(broken)?.into_bytes());
            }
        }
        text::into_text(text)
    }

    /// Returns the description of one record of a view.
    fn record(&mut self, view: View<'_>, chunk: i64, ordinal: i64) -> Result<Option<String>> {
        const MENTION: &str = "SELECT m.entity, m.description, row_sum('mentions', m.entity, m.chunk, m.ordinal, m.name,
                m.kind, m.description, m.start, m.stop, m.set_aside) = m.sum, c.document
             FROM mentions m JOIN chunks c ON c.id = m.chunk WHERE m.chunk = ?1 AND m.ordinal = ?2 AND m.entity = ?3";
        const FACT: &str =
            "SELECT f.a, f.description, row_sum('facts', f.a, f.b, f.chunk, f.ordinal, f.source, f.target,
                f.source_is_a, f.keywords, f.description, f.weight, f.set_aside) = f.sum, c.document
             FROM facts f JOIN chunks c ON c.id = f.chunk
             WHERE f.chunk = ?1 AND f.ordinal = ?2 AND f.a = ?3 AND f.b = ?4";
        let conn = self.conn;
        let mut read = |row: &Row<'_>, table: &str| {
            sums::require(row, 2, table)?;
            self.of_record(row, 1, row.get(3)?)
        };
        match view {
            View::Entity(key) => conn
                .prepare_cached(MENTION)?
                .query_row(params![chunk, ordinal, key], |row| read(row, "mentions"))
                .optional(),
            View::Relation(a, b) => conn
                .prepare_cached(FACT)?
                .query_row(params![chunk, ordinal, a, b], |row| read(row, "facts"))
                .optional(),
        }
    }
}

fn put_literal(stored: &mut Vec<u8>, literal: &str) {
    if !literal.is_empty() {
        quotes::put_number(stored, (literal.len() as u64) << 1);
        stored.extend_from_slice(literal.as_bytes());
    }
}

fn broken(what: &str) -> rusqlite::Error {
    sums::damaged(format!("{what} repeats missing records or text"))
}

/// Writes out the descriptions of these views in full, because some of their records are about to be removed.
pub(super) fn write_out(conn: &Connection, keys: &BTreeSet<GraphKey>) -> Result<()> {
    for key in keys {
        match key {
            GraphKey::Entity(key) => {
                let is_stored_so = "SELECT 1 FROM entities WHERE key = ?1 AND typeof(description) = 'blob'";
                if conn.prepare_cached(is_stored_so)?.exists([key.as_str()])?
                    && let Some(entity) = read::entity(conn, key)?
                {
                    conn.prepare_cached("UPDATE entities SET description = ?2 WHERE key = ?1")?
                        .execute([key.as_str(), &entity.description])?;
                }
            }
            GraphKey::Relation(key) => {
                let (a, b) = (key.a().as_str(), key.b().as_str());
                let is_stored_so =
                    "SELECT 1 FROM relations WHERE a = ?1 AND b = ?2 AND typeof(description) = 'blob'";
                if conn.prepare_cached(is_stored_so)?.exists([a, b])?
                    && let Some(relation) = read::relation(conn, key)?
                {
                    conn.prepare_cached("UPDATE relations SET description = ?3 WHERE a = ?1 AND b = ?2")?
                        .execute([a, b, &relation.description])?;
                }
            }
        }
    }
    Ok(())
}

/// Empties descriptions that repeat missing records or text, as a damaged file leaves them, and marks their views as stale.
pub(super) fn forget_broken(conn: &Connection) -> Result<()> {
    let mut select = conn.prepare("SELECT key FROM entities WHERE typeof(description) = 'blob'")?;
    let keys: Vec<String> = select.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    for key in keys {
        if read::entity(conn, &EntityKey::from_stored(key.as_str())).is_err() {
            conn.execute("UPDATE entities SET description = '' WHERE key = ?1", [&key])?;
            conn.execute("INSERT OR IGNORE INTO stale (kind, a, b) VALUES (0, ?1, '')", [&key])?;
        }
    }
    let mut select = conn.prepare("SELECT a, b FROM relations WHERE typeof(description) = 'blob'")?;
    let keys: Vec<RelationKey> =
        select.query_map([], |row| rows::relation_key(row, 0))?.collect::<Result<_>>()?;
    for key in keys {
        if read::relation(conn, &key).is_err() {
            let ends = [key.a().as_str(), key.b().as_str()];
            conn.execute("UPDATE relations SET description = '' WHERE a = ?1 AND b = ?2", ends)?;
            conn.execute("INSERT OR IGNORE INTO stale (kind, a, b) VALUES (1, ?1, ?2)", ends)?;
        }
    }
    Ok(())
}

/// Returns the chunks whose records a batch overwrites without clearing them first.
pub(super) fn written_over(batch: &Batch) -> BTreeSet<&ChunkId> {
    let cleared: BTreeSet<&ChunkId> = batch.clear_graph_of.iter().collect();
    let mentioned = batch.put_mentions.iter().map(|mention| &mention.chunk);
    let stated = batch.put_facts.iter().map(|fact| &fact.chunk);
    mentioned.chain(stated).filter(|chunk| !cleared.contains(chunk)).collect()
}

#[cfg(test)]
mod tests {
    use graphloom_core::{Store, WorkspaceId, table};
    use tempfile::TempDir;

    use super::super::{SqliteStore, execute};
    use super::*;
    use crate::conformance::{block_on, sample};

    const FIRST: &str = "Ada Lovelace wrote the first program for a machine.";
    const SECOND: &str = "Ada knew Charles Babbage, who had drawn the machine.";

    /// Returns a store with two documents about Ada. Her description is the first sentence of each.
    fn stored() -> (SqliteStore, TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("the store opens");
        for (source, text) in [("a", format!("{FIRST} No more.")), ("b", format!("It is said: {SECOND}"))] {
            let mut batch = sample::indexed(source, &text, "ADA", "BOB");
            let said = if source == "a" { FIRST } else { SECOND };
            batch.put_mentions[0].description = said.to_owned();
            batch.put_facts[0].description = said.to_owned();
            batch.put_entities[0].description = format!("{FIRST}\n{SECOND}\nA mathematician.");
            batch.put_relations[0].description = said.to_owned();
            block_on(store.commit(batch)).expect("accepted");
        }
        (store, folder)
    }

    fn open(folder: &TempDir) -> Connection {
        Connection::open(folder.path().join("default.graphloom")).expect("a file")
    }

    /// Returns the total bytes and the number of descriptions in a table that repeat something.
    fn repeating(folder: &TempDir, table: &str) -> (i64, i64) {
        let sql = format!(
            "SELECT coalesce(sum(length(description)), 0), count(*) FROM {table} WHERE typeof(description) = 'blob'"
        );
        open(folder).query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("counted")
    }

    fn ada(store: &SqliteStore) -> (String, String) {
        let snapshot = block_on(store.snapshot()).expect("a snapshot");
        let entity =
            block_on(snapshot.entities(&[sample::key("ADA")])).expect("read").remove(0).expect("Ada");
        let relation = block_on(snapshot.relations(&[sample::pair("ADA", "BOB")]))
            .expect("read")
            .remove(0)
            .expect("a relation");
        (entity.description, relation.description)
    }

    fn expected() -> (String, String) {
        (format!("{FIRST}\n{SECOND}\nA mathematician."), SECOND.to_owned())
    }

    #[test]
    fn descriptions_that_repeat_a_document_take_few_bytes_and_are_read_unchanged() {
        let (store, folder) = stored();
        for (table, number) in [("mentions", 2), ("facts", 2), ("entities", 1), ("relations", 1)] {
            let (bytes, found) = repeating(&folder, table);
            assert_eq!(found, number, "{table}");
            assert!(bytes <= 30 * number, "{bytes} in {table}");
        }
        assert_eq!(ada(&store), expected());
        let snapshot = block_on(store.snapshot()).expect("a snapshot");
        let mentions = block_on(snapshot.mentions_of(&[sample::key("ADA")])).expect("read").remove(0);
        let mut said: Vec<&str> = mentions.iter().map(|mention| mention.description.as_str()).collect();
        said.sort_unstable();
        assert_eq!(said, [FIRST, SECOND]);
    }

    #[test]
    fn a_description_survives_the_removal_of_what_it_repeats() {
        let (store, folder) = stored();
        let snapshot = block_on(store.snapshot()).expect("a snapshot");
        let document = block_on(snapshot.scan(table::Documents, None, 9)).expect("read").remove(0);
        block_on(store.commit(Batch { remove_documents: vec![document.id], ..Batch::default() }))
            .expect("removed");
        assert_eq!(ada(&store), expected());
        assert_eq!(repeating(&folder, "entities").1, 0);
        // The record of the other document now says something else.
        let mention =
            block_on(block_on(store.snapshot()).expect("a snapshot").scan(table::Mentions, None, 1));
        let mut mention = mention.expect("read").remove(0);
        mention.description = "Nothing that is known before.".to_owned();
        block_on(store.commit(Batch { put_mentions: vec![mention], ..Batch::default() })).expect("put");
        assert_eq!(ada(&store).0, expected().0);
    }

    #[test]
    fn an_overwritten_record_is_no_longer_repeated() {
        let (store, folder) = stored();
        let snapshot = block_on(store.snapshot()).expect("a snapshot");
        for mut mention in block_on(snapshot.scan(table::Mentions, None, 9)).expect("read") {
            mention.description = "Nothing that is known before.".to_owned();
            block_on(store.commit(Batch { put_mentions: vec![mention], ..Batch::default() })).expect("put");
        }
        assert_eq!(ada(&store), expected());
        assert_eq!(repeating(&folder, "entities").1, 0);
    }

    #[test]
    fn views_that_repeat_a_missing_record_are_found_and_derived_again() {
        let (store, folder) = stored();
        drop(store);
        execute(folder.path(), "DELETE FROM mentions WHERE entity = 'ADA'; DELETE FROM facts");
        let conn = open(&folder);
        sums::register(&conn).expect("the function of sums");
        assert!(read::entity(&conn, &sample::key("ADA")).is_err());
        forget_broken(&conn).expect("forgotten");
        let stale: i64 = conn.query_row("SELECT count(*) FROM stale", [], |row| row.get(0)).expect("counted");
        assert_eq!(stale, 2);
        assert_eq!((repeating(&folder, "entities").1, repeating(&folder, "relations").1), (0, 0));
    }
}
