//! Pages of tables in the order of their outer ids.

use graphloom_core::table::{Page, PageOf, Table};
use graphloom_core::{EntityKey, GraphKey, ItemKey, VectorEntry};
use rusqlite::types::Value;
use rusqlite::{Connection, Result, Row, params, params_from_iter};

use super::descriptions::Descriptions;
use super::read::{owner_columns, query, select, sql_limit, summary, with_text};
use super::text::Slicer;
use super::{conversations, layers, rows, sums};

const JOBS: &str = "documents d JOIN jobs j ON j.document = d.id";
const CHUNKS: &str = "chunks c JOIN documents d ON d.id = c.document";
const RENEWALS: &str = "chunks c JOIN renewals r ON r.chunk = c.id";
const CHUNK_CONTEXTS: &str = "chunks c JOIN situations s ON s.chunk = c.id";
const MENTIONS: &str = "chunks c CROSS JOIN mentions m ON m.chunk = c.id";
const FACTS: &str = "chunks c CROSS JOIN facts f ON f.chunk = c.id";
const CLAIMS: &str = "chunks c CROSS JOIN claims k ON k.chunk = c.id";
const SUMMARY: &str = "kind, a, b, key, text, row_sum('summaries', kind, a, b, key, text) = sum";

/// Reads a page of a table.
pub(super) fn page<T: Table>(
    conn: &Connection,
    table: T,
    after: Option<&T::Key>,
    limit: usize,
) -> Result<Vec<T::Row>> {
    let mut page = Page { table, after: after.cloned(), limit, rows: Vec::new() };
    read(conn, T::page_of(&mut page))?;
    Ok(page.rows)
}

/// Fills the page.
pub(super) fn read(conn: &Connection, page: PageOf<'_>) -> Result<()> {
    let mut descriptions = Descriptions::new(conn);
    match page {
        PageOf::Documents(page) => {
            let after = id(page.after.as_ref());
            page.rows =
                select_after(conn, (rows::DOCUMENT, "documents", "key"), after, page.limit, rows::document)?;
        }
        PageOf::DocumentsBySource(page) => {
            let after = page.after.as_ref().map(|(source, id)| vec![text(source), text(id)]);
            let table = (rows::DOCUMENT, "documents", "source, key");
            page.rows = select_after(conn, table, after, page.limit, rows::document)?;
        }
        PageOf::DocumentsByDate(page) => {
            let (at, id) = match &page.after {
                Some((at, id)) => (rows::signed(at.0), id.as_str()),
                // No key is empty, so no document of the last possible moment is left out.
                None => (i64::MAX, "\u{10ffff}"),
            };
            let from = "documents WHERE (added_at, key) < (?1, ?2) ORDER BY added_at DESC, key DESC LIMIT ?3";
            let values = params![at, id, sql_limit(page.limit)];
            page.rows = select(conn, &query(rows::DOCUMENT, from), values, rows::document)?;
        }
        PageOf::Jobs(page) => {
            let after = id(page.after.as_ref());
            page.rows = select_after(conn, (rows::JOB, JOBS, "d.key"), after, page.limit, rows::job)?;
        }
        PageOf::Chunks(page) => {
            let after = id(page.after.as_ref());
            let chunks = select_after(conn, (rows::CHUNK, CHUNKS, "c.key"), after, page.limit, rows::chunk)?;
            let mut slicer = Slicer::new(conn);
            page.rows =
                chunks.into_iter().map(|chunk| with_text(&mut slicer, chunk)).collect::<Result<_>>()?;
        }
        PageOf::Renewals(page) => {
            let after = id(page.after.as_ref());
            page.rows =
                select_after(conn, (rows::RENEWAL, RENEWALS, "c.key"), after, page.limit, rows::renewal)?;
        }
        PageOf::ChunkContexts(page) => {
            let after = id(page.after.as_ref());
            let table = (rows::CHUNK_CONTEXT, CHUNK_CONTEXTS, "c.key");
            page.rows = select_after(conn, table, after, page.limit, rows::chunk_context)?;
        }
        PageOf::Extractions(page) => {
            let after = id(page.after.as_ref());
            let table = (rows::EXTRACTION, "extractions", "key");
            page.rows = select_after(conn, table, after, page.limit, rows::extraction)?;
        }
        PageOf::Mentions(page) => {
            let after = page.after.as_ref().map(|(chunk, ordinal)| vec![text(chunk), (*ordinal).into()]);
            let table = (rows::MENTION, MENTIONS, "c.key, m.ordinal");
            let read = |row: &Row<'_>| rows::mention(row, &mut descriptions);
            page.rows = select_after(conn, table, after, page.limit, read)?;
        }
        PageOf::Facts(page) => {
            let after = page.after.as_ref().map(|(chunk, ordinal)| vec![text(chunk), (*ordinal).into()]);
            let table = (rows::FACT, FACTS, "c.key, f.ordinal");
            let read = |row: &Row<'_>| rows::fact(row, &mut descriptions);
            page.rows = select_after(conn, table, after, page.limit, read)?;
        }
        PageOf::Claims(page) => {
            let after = page.after.as_ref().map(|(chunk, ordinal)| vec![text(chunk), (*ordinal).into()]);
            let table = (rows::CLAIM, CLAIMS, "c.key, k.ordinal");
            page.rows = select_after(conn, table, after, page.limit, rows::claim)?;
        }
        PageOf::Decisions(page) => {
            let after = page.after.as_ref().map(|(order, id)| vec![rows::signed(*order).into(), text(id)]);
            let table = (rows::DECISION, "decisions", "place, key");
            page.rows = select_after(conn, table, after, page.limit, rows::decision)?;
        }
        PageOf::Entities(page) => {
            let after = id(page.after.as_ref());
            let read = |row: &Row<'_>| rows::entity(row, &mut descriptions);
            page.rows = select_after(conn, (rows::ENTITY, "entities", "key"), after, page.limit, read)?;
        }
        PageOf::Relations(page) => {
            let after = page.after.as_ref().map(|key| vec![text(key.a()), text(key.b())]);
            let read = |row: &Row<'_>| rows::relation(row, &mut descriptions);
            page.rows = select_after(conn, (rows::RELATION, "relations", "a, b"), after, page.limit, read)?;
        }
        PageOf::Summaries(page) => {
            let after =
                page.after.as_ref().map(|(owner, key)| [owner_values(owner), vec![text(key)]].concat());
            let read = |row: &Row<'_>| {
                sums::require(row, 5, "summaries")?;
                Ok((graph_key(row)?, summary(row, 3)?))
            };
            let table = (SUMMARY, "summaries", "kind, a, b, key");
            page.rows = select_after(conn, table, after, page.limit, read)?;
        }
        PageOf::Nodes(page) => {
            let (layer, level) = (&page.table.layer, page.table.level);
            page.rows = layers::nodes_of_layer(conn, layer, level, page.after.as_ref(), page.limit)?;
        }
        PageOf::Stale(page) => {
            let after = page.after.as_ref().map(owner_values);
            let table = ("kind, a, b", "stale", "kind, a, b");
            page.rows = select_after(conn, table, after, page.limit, graph_key)?;
        }
        PageOf::Vectors(page) => {
            let kind = page.table.kind;
            let read = |row: &Row<'_>| {
                Ok(VectorEntry { item: rows::item(kind, row, 0)?, inputs_hash: rows::hash(row, 1)? })
            };
            // No id is empty.
            let after = page.after.as_ref().map(ItemKey::id).unwrap_or_default();
            let sql =
                "SELECT key, inputs_hash FROM vectors WHERE kind = ?1 AND key > ?2 ORDER BY key LIMIT ?3";
            let values = params![rows::kind_code(kind), after, sql_limit(page.limit)];
            page.rows = select(conn, sql, values, read)?;
        }
        PageOf::Calls(page) => {
            // Rows are numbered from 1 without gaps, because the ledger is append-only.
            let sql = query(rows::CALL, "calls WHERE id > ?1 ORDER BY id LIMIT ?2");
            let skip = i64::try_from(page.after.unwrap_or(0)).unwrap_or(i64::MAX);
            page.rows = select(conn, &sql, params![skip, sql_limit(page.limit)], rows::call)?;
        }
        PageOf::Conversations(page) => {
            let table = (conversations::CONVERSATION, "conversations", "id");
            let after = id(page.after.as_ref());
            page.rows = select_after(conn, table, after, page.limit, conversations::conversation_of)?;
        }
        PageOf::Exchanges(page) => {
            let of = page.table.conversation.as_ref();
            page.rows = conversations::exchanges(conn, of, page.after.as_ref(), page.limit)?;
        }
    }
    Ok(())
}

/// Reads rows of `columns FROM from`, ordered by `key`, after these key values.
fn select_after<T>(
    conn: &Connection,
    (columns, from, key): (&str, &str, &str),
    after: Option<Vec<Value>>,
    limit: usize,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let limit = Value::from(sql_limit(limit));
    let Some(after) = after else {
        return select(conn, &query(columns, &format!("{from} ORDER BY {key} LIMIT ?1")), [limit], read);
    };
    let places: Vec<String> = (0..after.len()).map(|at| format!("?{}", at + 2)).collect();
    let places = places.join(", ");
    let sql = query(columns, &format!("{from} WHERE ({key}) > ({places}) ORDER BY {key} LIMIT ?1"));
    select(conn, &sql, params_from_iter(std::iter::once(limit).chain(after)), read)
}

fn text(value: impl ToString) -> Value {
    Value::from(value.to_string())
}

/// Returns a key of one column.
fn id(key: Option<&impl ToString>) -> Option<Vec<Value>> {
    key.map(|key| vec![text(key.to_string())])
}

fn owner_values(owner: &GraphKey) -> Vec<Value> {
    let (kind, a, b) = owner_columns(owner);
    vec![kind.into(), text(a), text(b)]
}

/// Reads the entity or relation in the columns kind, a and b.
fn graph_key(row: &Row<'_>) -> Result<GraphKey> {
    Ok(match row.get(0)? {
        0 => GraphKey::Entity(EntityKey::from_stored(row.get::<_, String>(1)?)),
        _ => GraphKey::Relation(rows::relation_key(row, 1)?),
    })
}
