//! Scans: pages of whole tables in the order of their outer ids.

use graphloom_core::{
    Call, Chunk, ChunkId, Decision, DecisionId, Document, DocumentId, Entity, EntityKey, Extraction,
    ExtractionKey, Fact, GraphKey, Job, Mention, Relation, RelationKey, Renewal, Situation, Summary,
    Timestamp, VectorEntry, VectorKind,
};
use rusqlite::types::ToSql;
use rusqlite::{Connection, Result, Row, params};

use super::descriptions::Descriptions;
use super::read::{owner_columns, query, select, sql_limit, summary, with_text};
use super::text::Slicer;
use super::{rows, sums};

/// A page of `columns FROM from`, by `key`, after a value of it.
fn page<T>(
    conn: &Connection,
    (columns, from, key): (&str, &str, &str),
    after: Option<&[&dyn ToSql]>,
    limit: usize,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let limit = sql_limit(limit);
    let places: &str = match key.split(',').count() {
        1 => "?2",
        2 => "?2, ?3",
        3 => "?2, ?3, ?4",
        _ => "?2, ?3, ?4, ?5",
    };
    match after {
        Some(after) => {
            let sql = query(columns, &format!("{from} WHERE ({key}) > ({places}) ORDER BY {key} LIMIT ?1"));
            let mut values: Vec<&dyn ToSql> = vec![&limit];
            values.extend_from_slice(after);
            select(conn, &sql, values.as_slice(), read)
        }
        None => select(conn, &query(columns, &format!("{from} ORDER BY {key} LIMIT ?1")), [limit], read),
    }
}

pub(super) fn documents(
    conn: &Connection,
    after: Option<&DocumentId>,
    limit: usize,
) -> Result<Vec<Document>> {
    let after = after.map(DocumentId::as_str);
    page(
        conn,
        (rows::DOCUMENT, "documents", "key"),
        one(&after).as_ref().map(|a| a.as_slice()),
        limit,
        rows::document,
    )
}

/// Reads the table from end to end: by key, each row would be looked up at another place of the file.
pub(super) fn documents_where(
    conn: &Connection,
    wanted: &mut dyn FnMut(&Document) -> bool,
) -> Result<Vec<Document>> {
    let mut select = conn.prepare_cached(&query(rows::DOCUMENT, "documents"))?;
    let mut found = Vec::new();
    for document in select.query_map([], rows::document)? {
        let document = document?;
        if wanted(&document) {
            found.push(document);
        }
    }
    found.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    Ok(found)
}

pub(super) fn documents_by_source(
    conn: &Connection,
    after: Option<(&str, &DocumentId)>,
    limit: usize,
) -> Result<Vec<Document>> {
    let table = (rows::DOCUMENT, "documents", "source, key");
    match after {
        Some((source, id)) => page(conn, table, Some(&[&source, &id.as_str()]), limit, rows::document),
        None => page(conn, table, None, limit, rows::document),
    }
}

/// Latest first.
pub(super) fn documents_by_date(
    conn: &Connection,
    after: Option<(Timestamp, &DocumentId)>,
    limit: usize,
) -> Result<Vec<Document>> {
    let (at, id) = match after {
        Some((at, id)) => (rows::signed(at.0), id.as_str()),
        // No key is empty, so nothing of this last moment is left out.
        None => (i64::MAX, "\u{10ffff}"),
    };
    let from = "documents WHERE (added_at, key) < (?1, ?2) ORDER BY added_at DESC, key DESC LIMIT ?3";
    select(conn, &query(rows::DOCUMENT, from), params![at, id, sql_limit(limit)], rows::document)
}

pub(super) fn jobs(conn: &Connection, after: Option<&DocumentId>, limit: usize) -> Result<Vec<Job>> {
    let after = after.map(DocumentId::as_str);
    let table = (rows::JOB, "documents d JOIN jobs j ON j.document = d.id", "d.key");
    page(conn, table, one(&after).as_ref().map(|a| a.as_slice()), limit, rows::job)
}

pub(super) fn chunks(conn: &Connection, after: Option<&ChunkId>, limit: usize) -> Result<Vec<Chunk>> {
    let after = after.map(ChunkId::as_str);
    let table = (rows::CHUNK, "chunks c JOIN documents d ON d.id = c.document", "c.key");
    let found = page(conn, table, one(&after).as_ref().map(|a| a.as_slice()), limit, rows::chunk)?;
    let mut slicer = Slicer::new(conn);
    found.into_iter().map(|found| with_text(&mut slicer, found)).collect()
}

pub(super) fn renewals(conn: &Connection, after: Option<&ChunkId>, limit: usize) -> Result<Vec<Renewal>> {
    let after = after.map(ChunkId::as_str);
    let table = (rows::RENEWAL, "chunks c JOIN renewals r ON r.chunk = c.id", "c.key");
    page(conn, table, one(&after).as_ref().map(|a| a.as_slice()), limit, rows::renewal)
}

pub(super) fn situations(conn: &Connection, after: Option<&ChunkId>, limit: usize) -> Result<Vec<Situation>> {
    let after = after.map(ChunkId::as_str);
    let table = (rows::SITUATION, "chunks c JOIN situations s ON s.chunk = c.id", "c.key");
    page(conn, table, one(&after).as_ref().map(|a| a.as_slice()), limit, rows::situation)
}

pub(super) fn extractions(
    conn: &Connection,
    after: Option<&ExtractionKey>,
    limit: usize,
) -> Result<Vec<Extraction>> {
    let after = after.map(ExtractionKey::as_str);
    page(
        conn,
        (rows::EXTRACTION, "extractions", "key"),
        one(&after).as_ref().map(|a| a.as_slice()),
        limit,
        rows::extraction,
    )
}

pub(super) fn mentions(
    conn: &Connection,
    after: Option<(&ChunkId, u32)>,
    limit: usize,
) -> Result<Vec<Mention>> {
    let table = (rows::MENTION, "chunks c CROSS JOIN mentions m ON m.chunk = c.id", "c.key, m.ordinal");
    let mut descriptions = Descriptions::new(conn);
    by_chunk(conn, table, after, limit, |row| rows::mention(row, &mut descriptions))
}

pub(super) fn facts(conn: &Connection, after: Option<(&ChunkId, u32)>, limit: usize) -> Result<Vec<Fact>> {
    let table = (rows::FACT, "chunks c CROSS JOIN facts f ON f.chunk = c.id", "c.key, f.ordinal");
    let mut descriptions = Descriptions::new(conn);
    by_chunk(conn, table, after, limit, |row| rows::fact(row, &mut descriptions))
}

fn by_chunk<T>(
    conn: &Connection,
    table: (&str, &str, &str),
    after: Option<(&ChunkId, u32)>,
    limit: usize,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    match after {
        Some((chunk, ordinal)) => page(conn, table, Some(&[&chunk.as_str(), &ordinal]), limit, read),
        None => page(conn, table, None, limit, read),
    }
}

pub(super) fn decisions(
    conn: &Connection,
    after: Option<(u64, &DecisionId)>,
    limit: usize,
) -> Result<Vec<Decision>> {
    let table = (rows::DECISION, "decisions", "place, key");
    match after {
        Some((order, id)) => {
            let order = rows::signed(order);
            page(conn, table, Some(&[&order, &id.as_str()]), limit, rows::decision)
        }
        None => page(conn, table, None, limit, rows::decision),
    }
}

pub(super) fn entities(conn: &Connection, after: Option<&EntityKey>, limit: usize) -> Result<Vec<Entity>> {
    let mut descriptions = Descriptions::new(conn);
    let after = after.map(EntityKey::as_str);
    page(conn, (rows::ENTITY, "entities", "key"), one(&after).as_ref().map(|a| a.as_slice()), limit, |row| {
        rows::entity(row, &mut descriptions)
    })
}

pub(super) fn relations(
    conn: &Connection,
    after: Option<&RelationKey>,
    limit: usize,
) -> Result<Vec<Relation>> {
    let table = (rows::RELATION, "relations", "a, b");
    let mut descriptions = Descriptions::new(conn);
    let read = |row: &Row<'_>| rows::relation(row, &mut descriptions);
    match after {
        Some(key) => page(conn, table, Some(&[&key.a().as_str(), &key.b().as_str()]), limit, read),
        None => page(conn, table, None, limit, read),
    }
}

pub(super) fn summaries(
    conn: &Connection,
    after: Option<(&GraphKey, &str)>,
    limit: usize,
) -> Result<Vec<(GraphKey, Summary)>> {
    let read = |row: &Row<'_>| {
        sums::require(row, 5, "summaries")?;
        Ok((graph_key(row)?, summary(row, 3)?))
    };
    let columns = "kind, a, b, key, text, row_sum('summaries', kind, a, b, key, text) = sum";
    let table = (columns, "summaries", "kind, a, b, key");
    match after {
        Some((owner, key)) => {
            let (kind, a, b) = owner_columns(owner);
            page(conn, table, Some(&[&kind, &a, &b, &key]), limit, read)
        }
        None => page(conn, table, None, limit, read),
    }
}

pub(super) fn stale(conn: &Connection, after: Option<&GraphKey>, limit: usize) -> Result<Vec<GraphKey>> {
    let table = ("kind, a, b", "stale", "kind, a, b");
    match after {
        Some(key) => {
            let (kind, a, b) = owner_columns(key);
            page(conn, table, Some(&[&kind, &a, &b]), limit, graph_key)
        }
        None => page(conn, table, None, limit, graph_key),
    }
}

/// What the columns kind, a and b name.
fn graph_key(row: &Row<'_>) -> Result<GraphKey> {
    Ok(match row.get(0)? {
        0 => GraphKey::Entity(EntityKey::from_stored(row.get::<_, String>(1)?)),
        _ => GraphKey::Relation(rows::relation_key(row, 1)?),
    })
}

pub(super) fn vectors(
    conn: &Connection,
    kind: VectorKind,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<VectorEntry>> {
    let read = |row: &Row<'_>| Ok(VectorEntry { kind, id: row.get(0)?, inputs_hash: rows::hash(row, 1)? });
    let (code, limit) = (rows::kind_code(kind), sql_limit(limit));
    match after {
        Some(after) => {
            let sql =
                "SELECT key, inputs_hash FROM vectors WHERE kind = ?1 AND key > ?2 ORDER BY key LIMIT ?3";
            select(conn, sql, params![code, after, limit], read)
        }
        None => {
            let sql = "SELECT key, inputs_hash FROM vectors WHERE kind = ?1 ORDER BY key LIMIT ?2";
            select(conn, sql, params![code, limit], read)
        }
    }
}

pub(super) fn calls(conn: &Connection, skip: u64, limit: usize) -> Result<Vec<Call>> {
    // Rows are numbered from 1 without gaps: the ledger is only appended to.
    let sql = query(rows::CALL, "calls WHERE id > ?1 ORDER BY id LIMIT ?2");
    let skip = i64::try_from(skip).unwrap_or(i64::MAX);
    select(conn, &sql, params![skip, sql_limit(limit)], rows::call)
}

fn one<'a>(after: &'a Option<&'a str>) -> Option<[&'a dyn ToSql; 1]> {
    after.as_ref().map(|after| [after as &dyn ToSql])
}
