//! Handles missing rows: marks or queues everything that can be derived again, and reports the rest.

use std::collections::BTreeMap;

use graphloom_core::ContentHash;
use rusqlite::types::Value;
use rusqlite::{Connection, Result, params};

use super::super::apply::count_records;
use super::super::vector_tree::{self, TreeLimits};
use super::super::{descriptions, originals, rows, text};
use super::rebuild::CopyLosses;
use graphloom_core::{LostEvidence, LostKind, RepairReport};

/// Removes rows whose owner is missing, and rows that nothing refers to.
const REMOVE_ORPHANS: &str = "
    DELETE FROM segments WHERE document NOT IN (SELECT id FROM documents);
    DELETE FROM originals WHERE document NOT IN (SELECT id FROM documents);
    DELETE FROM jobs WHERE document NOT IN (SELECT id FROM documents);
    DELETE FROM tracks WHERE document NOT IN (SELECT id FROM documents);
    DELETE FROM chunks WHERE document NOT IN (SELECT id FROM documents);
    DELETE FROM renewals WHERE chunk NOT IN (SELECT id FROM chunks);
    DELETE FROM situations WHERE chunk NOT IN (SELECT id FROM chunks);
    DELETE FROM mentions WHERE chunk NOT IN (SELECT id FROM chunks);
    DELETE FROM facts WHERE chunk NOT IN (SELECT id FROM chunks);
    DELETE FROM claims WHERE chunk NOT IN (SELECT id FROM chunks);
    DELETE FROM renewals WHERE extraction IS NOT NULL AND extraction NOT IN (SELECT key FROM extractions);
    DELETE FROM extractions WHERE key NOT IN (SELECT extraction FROM chunks WHERE extraction IS NOT NULL)
        AND key NOT IN (SELECT extraction FROM renewals WHERE extraction IS NOT NULL);
";

const REMOVE_SEGMENTS_OF_ORIGINALS: &str =
    "DELETE FROM original_segments WHERE document NOT IN (SELECT document FROM originals)";

/// Removes exchanges without a conversation, and restores the index by which answers are removed with their documents.
const INDEX_EXCHANGES: &str = "
    DELETE FROM exchanges WHERE conversation NOT IN (SELECT id FROM conversations);
    INSERT OR IGNORE INTO exchange_documents (document, conversation, ordinal)
        SELECT d.value, e.conversation, e.ordinal
        FROM exchanges e, json_each(e.body, '$.answer.rests_on.documents') d WHERE e.rests_on = 0;
";

/// Removes relations without facts. If there are decisions, one of them may have created a relation, which deriving
/// again decides.
const REMOVE_UNSTATED: &str = "
    DELETE FROM relations WHERE NOT EXISTS (SELECT 1 FROM decisions)
        AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.a = relations.a AND f.b = relations.b AND f.set_aside = 0);
";

/// Removes views without vectors, so that they are embedded when they are derived again, and then vectors without
/// views. If a chunk has no vector, its document is embedded again later.
const REMOVE_HALF_VECTORS: &str = "
    DELETE FROM vectors WHERE slot NOT IN (SELECT slot FROM vector_data);
    DELETE FROM entities WHERE key NOT IN (SELECT key FROM vectors WHERE kind = 1);
    DELETE FROM relations WHERE a || char(9) || b NOT IN (SELECT key FROM vectors WHERE kind = 2);
    DELETE FROM vectors WHERE kind = 0 AND key NOT IN (SELECT key FROM chunks);
    DELETE FROM vectors WHERE kind = 1 AND key NOT IN (SELECT key FROM entities);
    DELETE FROM vectors WHERE kind = 2 AND key NOT IN (SELECT a || char(9) || b FROM relations);
    DELETE FROM vector_data WHERE slot NOT IN (SELECT slot FROM vectors);
";

/// Removes all nodes of layers, to be derived again. If a node or one of its members is missing, everything built on it
/// is incomplete.
const EMPTY_LAYERS: &str = "
    DELETE FROM node_members;
    DELETE FROM nodes;
    DELETE FROM vectors WHERE kind = 3;
    UPDATE layers SET complete = 0;
";

/// Marks entities and relations as stale if their row is missing or its counts differ from their evidence. Adds empty
/// rows for the missing ones and sets the number of relations of each stale entity, because deriving again continues
/// from these counts.
const MARK_STALE: &str = "
    INSERT OR IGNORE INTO stale (kind, a, b)
        SELECT DISTINCT 1, a, b FROM facts f
        WHERE set_aside = 0 AND NOT EXISTS (SELECT 1 FROM relations r WHERE r.a = f.a AND r.b = f.b);
    INSERT OR IGNORE INTO relations (a, b, keywords, description, weight, fact_count, inputs_hash)
        SELECT DISTINCT a, b, '[]', '', 0.0, 0, '' FROM facts WHERE set_aside = 0;
    INSERT OR IGNORE INTO stale (kind, a, b)
        SELECT 1, a, b FROM relations r WHERE fact_count
            <> (SELECT count(*) FROM facts f WHERE f.a = r.a AND f.b = r.b AND f.set_aside = 0);
    INSERT OR IGNORE INTO stale (kind, a, b)
        SELECT 0, key, '' FROM (
            SELECT entity AS key FROM mentions WHERE set_aside = 0
            UNION SELECT a FROM facts WHERE set_aside = 0 UNION SELECT b FROM facts WHERE set_aside = 0
        ) WHERE key NOT IN (SELECT key FROM entities);
    INSERT OR IGNORE INTO entities (key, name, kind, description, mention_count, degree, inputs_hash)
        SELECT a, '', '', '', 0, 0, '' FROM stale WHERE kind = 0;
    INSERT OR IGNORE INTO stale (kind, a, b)
        SELECT 0, key, '' FROM entities e
        WHERE mention_count <> (SELECT count(*) FROM mentions m WHERE m.entity = e.key AND m.set_aside = 0)
            OR degree <> (SELECT count(*) FROM relations WHERE a = e.key)
                + (SELECT count(*) FROM relations WHERE b = e.key);
    UPDATE entities SET degree = (SELECT count(*) FROM relations WHERE a = key)
        + (SELECT count(*) FROM relations WHERE b = key)
    WHERE key IN (SELECT a FROM stale WHERE kind = 0);
";

/// Brings the copied rows into a state from which the worker derives everything that is missing.
///
/// - `conn`: the new file, in a transaction, with references not enforced.
pub(super) fn requeue(conn: &Connection, missing: &CopyLosses) -> Result<RepairReport> {
    let mut mended = RepairReport::default();
    for row in &missing.rows {
        *mended.damaged_rows.entry(row.table.clone()).or_default() += 1;
    }
    mended.unreadable_tables.clone_from(&missing.unreadable);
    report_lost(missing, &mut mended);
    remove_incomplete_documents(conn, missing, &mut mended)?;
    conn.execute_batch(REMOVE_ORPHANS)?;
    remove_broken_originals(conn, &mut mended)?;
    conn.execute_batch(INDEX_EXCHANGES)?;
    conn.execute(
        "INSERT INTO jobs (document, state, attempts, created_at)
         SELECT id, 0, 0, added_at FROM documents WHERE id NOT IN (SELECT document FROM jobs)",
        [],
    )?;
    ask_again(conn, &mut mended)?;
    merge_again(conn, missing)?;
    conn.execute_batch(REMOVE_UNSTATED)?;
    if !(missing.rows.is_empty() && missing.unreadable.is_empty()) {
        conn.execute_batch(EMPTY_LAYERS)?;
    }
    conn.execute_batch(REMOVE_HALF_VECTORS)?;
    conn.execute_batch(
        "UPDATE jobs SET state = 0 WHERE state IN (1, 2) AND document IN (
            SELECT document FROM chunks WHERE key NOT IN (SELECT key FROM vectors WHERE kind = 0))",
    )?;
    mark_stale(conn, missing)?;
    count_all_records(conn)?;
    number_calls(conn)?;
    vector_tree::build_trees(conn, TreeLimits::default())?;
    conn.execute("UPDATE state SET revision = revision + 1, graph_revision = revision + 1, evidence_revision = revision + 1", [])?;
    let count = |sql: &str| conn.query_row(sql, [], |row| rows::unsigned(row, 0));
    mended.views_to_derive = count("SELECT count(*) FROM stale")?;
    mended.documents_to_work_on = count("SELECT count(*) FROM jobs WHERE state < 2")?;
    Ok(mended)
}

/// Reports evidence that exists nowhere else. Damage to chunks and texts is reported with their documents.
fn report_lost(missing: &CopyLosses, mended: &mut RepairReport) {
    for row in &missing.rows {
        let (kind, id, what) = match row.table.as_str() {
            "documents" => {
                (LostKind::Document, row.text("source").or_else(|| row.text("key")), "its row is damaged")
            }
            "decisions" => (LostKind::Decision, row.text("body"), "an edit of the graph is damaged"),
            "situations" => (LostKind::ChunkContext, row.text("text"), "the context of a chunk is damaged"),
            "renewals" => {
                (LostKind::Renewal, row.text("model"), "a chunk that is extracted again is damaged")
            }
            "layers" => (LostKind::Layer, row.text("name"), "a derived layer is damaged"),
            "calls" => (LostKind::Call, row.text("model"), "a row of the ledger is damaged"),
            "conversations" => (LostKind::Conversation, row.text("id"), "a conversation is damaged"),
            "exchanges" => {
                (LostKind::Conversation, row.text("conversation"), "a question of a conversation is damaged")
            }
            "state" => (LostKind::State, row.text("model"), "the workspace's own row was damaged"),
            "budget" => (LostKind::State, row.text("id"), "the budget of the workspace was damaged"),
            _ => continue,
        };
        mended.lost.push(LostEvidence { kind, id: id.unwrap_or("unknown").to_owned(), what });
    }
    for table in &missing.unreadable {
        let what = match table.as_str() {
            "documents" | "segments" | "chunks" => "documents may be missing",
            "budget" => "the budget of the workspace is missing",
            "decisions" => "edits of the graph may be missing",
            "calls" => "rows of the ledger may be missing",
            "conversations" | "exchanges" => "conversations may be missing",
            "originals" | "original_segments" => "originals of documents may be missing",
            _ => continue,
        };
        mended.lost.push(LostEvidence { kind: LostKind::Table, id: table.clone(), what });
    }
}

/// Removes documents with missing text or chunks. They must be added again.
fn remove_incomplete_documents(
    conn: &Connection,
    missing: &CopyLosses,
    mended: &mut RepairReport,
) -> Result<()> {
    // The document of a damaged row is unknown, because the damage may be in the document's number.
    let chunks_missing = missing.any_of("chunks");
    let mut select =
        conn.prepare("SELECT id, source, text_bytes, content_hash FROM documents ORDER BY id")?;
    let documents: Vec<(i64, String, u64, String)> = select
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, rows::unsigned(row, 2)?, row.get(3)?)))?
        .collect::<Result<_>>()?;
    for (id, source, bytes, hash) in documents {
        let whole = text::read_all(conn, id)
            .ok()
            .filter(|text| text.len() as u64 == bytes && ContentHash::of(text.as_bytes()).as_str() == hash);
        let what = match &whole {
            None => Some("its text is damaged"),
            Some(text) if chunks_missing && !has_all_chunks(conn, id, text)? => {
                Some("some of its chunks are damaged")
            }
            Some(_) => None,
        };
        let Some(what) = what else { continue };
        conn.execute("DELETE FROM documents WHERE id = ?1", [id])?;
        mended.lost.push(LostEvidence { kind: LostKind::Document, id: source, what });
    }
    Ok(())
}

/// Removes incomplete originals. Adding their files again restores them.
fn remove_broken_originals(conn: &Connection, mended: &mut RepairReport) -> Result<()> {
    for id in originals::remove_broken(conn)? {
        let what = "its original is damaged; its text is not";
        mended.lost.push(LostEvidence { kind: LostKind::Original, id, what });
    }
    conn.execute(REMOVE_SEGMENTS_OF_ORIGINALS, []).map(drop)
}

/// True if the chunks are numbered without gaps and reach the end of the text, or if the document has no chunks yet.
fn has_all_chunks(conn: &Connection, document: i64, text: &str) -> Result<bool> {
    let mut select =
        conn.prepare_cached("SELECT ordinal, stop FROM chunks WHERE document = ?1 ORDER BY ordinal")?;
    let chunks: Vec<(usize, usize)> = select
        .query_map([document], |row| {
            Ok((rows::unsigned(row, 0)? as usize, rows::unsigned(row, 1)? as usize))
        })?
        .collect::<Result<_>>()?;
    let numbered = chunks.iter().enumerate().all(|(at, (ordinal, _))| at == *ordinal);
    let end = chunks.iter().map(|(_, stop)| *stop).max().unwrap_or(0);
    Ok(numbered && text.get(end..).is_some_and(|rest| rest.trim().is_empty()))
}

/// Queues chunks with a missing extraction for a new one.
fn ask_again(conn: &Connection, mended: &mut RepairReport) -> Result<()> {
    const LACKING: &str = "extraction IS NOT NULL AND extraction NOT IN (SELECT key FROM extractions)";
    conn.execute(
        &format!("UPDATE jobs SET state = 1 WHERE state = 2 AND document IN (SELECT document FROM chunks WHERE {LACKING})"),
        [],
    )?;
    let queued = conn.execute(
        &format!(
            "UPDATE chunks SET state = 0, extraction = NULL, reason = NULL, attempts = NULL WHERE {LACKING}"
        ),
        [],
    )?;
    mended.chunks_to_ask_again = queued as u64;
    Ok(())
}

/// Queues documents with missing mentions, facts or claims to be merged again from their extractions. Queues all
/// documents if the affected ones are unknown, or if a decision is missing that said where records count. Documents
/// with missing chunk contexts are contextualized and embedded again.
fn merge_again(conn: &Connection, missing: &CopyLosses) -> Result<()> {
    let mut update = conn.prepare(
        "UPDATE jobs SET state = ?2 WHERE state IN (1, 2) AND document = (SELECT document FROM chunks WHERE id = ?1)",
    )?;
    for chunk in missing.chunks.iter().flatten() {
        update.execute([*chunk, 1])?;
    }
    for row in missing.rows_of("situations") {
        if let Some(chunk) = row.number("chunk") {
            update.execute([chunk, 0])?;
        }
    }
    if missing.any_of("decisions") || missing.chunks.is_none() {
        conn.execute("UPDATE jobs SET state = 1 WHERE state = 2", [])?;
    }
    Ok(())
}

fn mark_stale(conn: &Connection, missing: &CopyLosses) -> Result<()> {
    descriptions::forget_broken(conn)?;
    conn.execute_batch(MARK_STALE)?;
    let mut mark = conn.prepare("INSERT OR IGNORE INTO stale (kind, a, b) VALUES (?1, ?2, ?3)")?;
    for row in &missing.rows {
        match row.table.as_str() {
            "entities" => drop(row.text("key").map(|key| mark.execute(params![0, key, ""])).transpose()?),
            "relations" => {
                if let (Some(a), Some(b)) = (row.text("a"), row.text("b")) {
                    mark.execute(params![1, a, b])?;
                }
            }
            _ => {}
        }
    }
    // It is no longer known which views were stale.
    if missing.any_of("stale") {
        conn.execute_batch(
            "INSERT OR IGNORE INTO stale (kind, a, b) SELECT 0, key, '' FROM entities;
             INSERT OR IGNORE INTO stale (kind, a, b) SELECT 1, a, b FROM relations;",
        )?;
    }
    Ok(())
}

fn count_all_records(conn: &Connection) -> Result<()> {
    let mut numbers = conn.prepare("SELECT id FROM extractions")?;
    let numbers: Vec<i64> = numbers.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut select = conn.prepare(&format!("SELECT {} FROM extractions WHERE id = ?1", rows::EXTRACTION))?;
    for number in numbers {
        let extraction = select.query_row([number], rows::extraction)?;
        count_records(conn, number, &extraction)?;
    }
    Ok(())
}

/// Renumbers the rows of the ledger without gaps, in their order.
fn number_calls(conn: &Connection) -> Result<()> {
    let mut numbers = conn.prepare("SELECT id FROM calls ORDER BY id")?;
    let numbers: Vec<i64> = numbers.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut update = conn.prepare("UPDATE calls SET id = ?2 WHERE id = ?1")?;
    for (number, place) in numbers.into_iter().zip(1..) {
        if number != place {
            update.execute([number, place])?;
        }
    }
    Ok(())
}

/// Restores the damaged row of the workspace itself from its readable values and the last known revision.
pub(super) fn restore_state(conn: &Connection, missing: &CopyLosses, revision: u64) -> Result<()> {
    let Some(row) = missing.rows_of("state").next() else { return Ok(()) };
    let number = |column: &str| row.number(column).and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
    let revision = if revision > 0 { revision } else { number("revision") };
    let values: BTreeMap<&str, Value> = ["model", "dimensions", "paused_since", "settings"]
        .into_iter()
        .filter_map(|column| Some((column, row.values.get(column)?.clone())))
        .collect();
    let value = |column: &str| values.get(column).cloned().unwrap_or(Value::Null);
    let store = row.text("store").map(str::to_owned);
    conn.execute(
        "UPDATE state SET revision = ?1, graph_revision = ?1, evidence_revision = ?1, model = ?2, dimensions = ?3, paused_since = ?4,
            store = coalesce(?5, store), settings = ?6",
        params![
            rows::signed(revision),
            value("model"),
            value("dimensions"),
            value("paused_since"),
            store,
            value("settings")
        ],
    )
    .map(drop)
}
