//! Chunks with their extractions and chunk contexts.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Batch, Chunk, ChunkContext, ChunkContextOutcome, ChunkExtraction, ChunkId, Extraction, ItemKind, Renewal,
    StoreError,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::documents::{document, unknown_document};
use crate::rules::{self, invalid};
use crate::sqlite::changes::{BatchKeys, TEXT, VECTOR, touch};
use crate::sqlite::error::Context;
use crate::sqlite::rows;
use crate::sqlite::text::Slicer;

/// Puts chunks and extractions, and records which chunk names which extraction.
pub(super) fn put_chunks(
    conn: &Connection,
    batch: &Batch,
    touched: &mut BatchKeys,
) -> Result<(), StoreError> {
    let mut slicer = Slicer::new(conn);
    let mut named = BTreeSet::new();
    let mut name = |extraction: &ChunkExtraction| {
        named.extend(extraction.key().cloned());
    };
    for chunk in &batch.put_chunks {
        name(&chunk.extraction);
        put_chunk(conn, &mut slicer, chunk)?;
        touch(touched, ItemKind::Chunk, chunk.id.as_str(), VECTOR | TEXT);
    }
    for extraction in &batch.put_extractions {
        put_extraction(conn, extraction).during("putting an extraction")?;
    }
    let mut released: BTreeSet<String> = BTreeSet::new();
    for (id, extraction) in &batch.set_extractions {
        name(extraction);
        let (state, key, reason, attempts) = rows::chunk_state(extraction);
        let number = chunk_number(conn, id)?;
        released.extend(named_by(conn, "SELECT extraction FROM chunks WHERE id = ?1", number)?);
        conn.prepare_cached(
            "UPDATE chunks SET state = ?2, extraction = ?3, reason = ?4, attempts = ?5 WHERE id = ?1",
        )
        .and_then(|mut update| update.execute(params![number, state, key, reason, attempts]))
        .during("setting an extraction")?;
    }
    for id in &batch.remove_renewals {
        released.extend(
            conn.prepare_cached(
                "DELETE FROM renewals WHERE chunk = (SELECT id FROM chunks WHERE key = ?1) RETURNING extraction",
            )
            .and_then(|mut delete| {
                delete.query_row([id.as_str()], |row| row.get::<_, Option<String>>(0)).optional()
            })
            .during("ending a renewal")?
            .flatten(),
        );
    }
    for renewal in &batch.put_renewals {
        name(&renewal.extraction);
        let number = chunk_number(conn, &renewal.chunk)?;
        released.extend(named_by(conn, "SELECT extraction FROM renewals WHERE chunk = ?1", number)?);
        put_renewal(conn, number, renewal).during("putting a renewal")?;
    }
    for key in released {
        release(conn, &key).during("removing an extraction")?;
    }
    for key in named {
        let dangling: bool = conn
            .prepare_cached(
                "SELECT NOT EXISTS (SELECT 1 FROM extractions WHERE key = ?1)
                    AND (EXISTS (SELECT 1 FROM chunks WHERE extraction = ?1)
                        OR EXISTS (SELECT 1 FROM renewals WHERE extraction = ?1))",
            )
            .and_then(|mut select| select.query_row([key.as_str()], |row| row.get(0)))
            .during("checking extractions")?;
        if dangling {
            return Err(invalid(format!("a chunk names extraction {key}, which does not exist")));
        }
    }
    Ok(())
}

pub(super) fn put_chunk_contexts(
    conn: &Connection,
    batch: &Batch,
    touched: &mut BatchKeys,
) -> Result<(), StoreError> {
    for id in &batch.remove_chunk_contexts {
        conn.prepare_cached("DELETE FROM situations WHERE chunk = (SELECT id FROM chunks WHERE key = ?1)")
            .and_then(|mut delete| delete.execute([id.as_str()]))
            .during("removing a situation")?;
        touch(touched, ItemKind::Chunk, id.as_str(), TEXT);
    }
    for chunk_context in &batch.put_chunk_contexts {
        let number = chunk_number(conn, &chunk_context.chunk)?;
        put_chunk_context(conn, number, chunk_context).during("putting a situation")?;
        touch(touched, ItemKind::Chunk, chunk_context.chunk.as_str(), TEXT);
    }
    Ok(())
}

fn put_chunk_context(conn: &Connection, chunk: i64, chunk_context: &ChunkContext) -> rusqlite::Result<()> {
    let (text, reason, attempts) = match &chunk_context.outcome {
        ChunkContextOutcome::Written { text } => (Some(text), None, None),
        ChunkContextOutcome::Failed { reason, attempts } => (None, Some(reason), Some(*attempts)),
    };
    conn.prepare_cached(
        "INSERT OR REPLACE INTO situations (chunk, key, said_by, text, reason, attempts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![chunk, chunk_context.key.as_str(), chunk_context.by, text, reason, attempts])
    .map(drop)
}

/// Returns the extraction that a chunk or its renewal names.
fn named_by(conn: &Connection, sql: &str, chunk: i64) -> Result<Option<String>, StoreError> {
    conn.prepare_cached(sql)
        .and_then(|mut select| select.query_row([chunk], |row| row.get::<_, Option<String>>(0)).optional())
        .during("finding an extraction")
        .map(Option::flatten)
}

fn put_renewal(conn: &Connection, chunk: i64, renewal: &Renewal) -> rusqlite::Result<()> {
    let (state, key, reason, attempts) = rows::chunk_state(&renewal.extraction);
    conn.prepare_cached(
        "INSERT OR REPLACE INTO renewals (chunk, model, state, extraction, reason, attempts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![chunk, renewal.model, state, key, reason, attempts])
    .map(drop)
}

fn put_chunk(conn: &Connection, slicer: &mut Slicer<'_>, chunk: &Chunk) -> Result<(), StoreError> {
    let (document, _) = document(conn, &chunk.document)?.ok_or_else(|| unknown_document(&chunk.document))?;
    let (start, end) = (chunk.span.start, chunk.span.end);
    // A longer span cannot match, and reading it could take any amount of memory.
    let matches = if end.checked_sub(start) != Some(chunk.text.len() as u64) {
        false
    } else if chunk.text.is_empty() {
        let bytes: i64 = conn
            .query_row("SELECT text_bytes FROM documents WHERE id = ?1", [document], |row| row.get(0))
            .during("reading a text's length")?;
        slicer.is_border(document, start, bytes.unsigned_abs()).during("reading a text")?
    } else {
        let slice = slicer.slice(document, start, end).during("reading a text")?;
        slice.as_deref() == Some(chunk.text.as_bytes())
    };
    if !matches {
        return Err(invalid(format!("the text of {} is not bytes {start}..{end} of its document", chunk.id)));
    }
    let (state, key, reason, attempts) = rows::chunk_state(&chunk.extraction);
    let write = || {
        conn.prepare_cached(
            "INSERT INTO chunks (key, document, ordinal, start, stop, token_count, breadcrumb, state, extraction,
                reason, attempts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (key) DO UPDATE SET document = ?2, ordinal = ?3, start = ?4, stop = ?5, token_count = ?6,
                breadcrumb = ?7, state = ?8, extraction = ?9, reason = ?10, attempts = ?11 WHERE document = ?2",
        )?
        .execute(params![
            chunk.id.as_str(),
            document,
            chunk.ordinal,
            rows::signed(start),
            rows::signed(end),
            chunk.token_count,
            rows::to_json(&chunk.breadcrumb)?,
            state,
            key,
            reason,
            attempts
        ])
    };
    match write().during("putting a chunk")? {
        0 => Err(rules::of_another_document(&chunk.id)),
        _ => Ok(()),
    }
}

fn put_extraction(conn: &Connection, extraction: &Extraction) -> rusqlite::Result<()> {
    let number: i64 = conn
        .prepare_cached(
            "INSERT INTO extractions (key, model, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (key) DO UPDATE SET model = ?2, body = ?3 RETURNING id",
        )?
        .query_row(
            params![extraction.key.as_str(), extraction.model, rows::extraction_body(extraction)?],
            |row| row.get(0),
        )?;
    count_records(conn, number, extraction)
}

/// Stores the number of rejects in an extraction's answers, and whether it has no record at all. So both can be counted
/// over all extractions without reading answers.
pub(in crate::sqlite) fn count_records(
    conn: &Connection,
    number: i64,
    extraction: &Extraction,
) -> rusqlite::Result<()> {
    let mark = match extraction.records.name_nothing() {
        true => "INSERT OR IGNORE INTO empty_extractions (extraction) VALUES (?1)",
        false => "DELETE FROM empty_extractions WHERE extraction = ?1",
    };
    conn.prepare_cached(mark)?.execute([number])?;
    count_rejects(conn, number, extraction)
}

/// Stores the number of rejects in an extraction's answers, by reason.
pub(in crate::sqlite) fn count_rejects(
    conn: &Connection,
    number: i64,
    extraction: &Extraction,
) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM rejects WHERE extraction = ?1")?.execute([number])?;
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for reject in &extraction.rejects {
        *counts.entry(reject.reason.name()).or_default() += 1;
    }
    for (reason, count) in counts {
        conn.prepare_cached("INSERT INTO rejects (extraction, reason, number) VALUES (?1, ?2, ?3)")?
            .execute(params![number, reason, count])?;
    }
    Ok(())
}

/// Removes an extraction unless a chunk or a renewal names it.
pub(super) fn release(conn: &Connection, extraction: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "DELETE FROM extractions WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM chunks WHERE extraction = ?1)
            AND NOT EXISTS (SELECT 1 FROM renewals WHERE extraction = ?1)",
    )?
    .execute([extraction])
    .map(drop)
}

pub(super) fn chunk_number(conn: &Connection, id: &ChunkId) -> Result<i64, StoreError> {
    conn.prepare_cached("SELECT id FROM chunks WHERE key = ?1")
        .and_then(|mut select| select.query_row([id.as_str()], |row| row.get(0)).optional())
        .during("finding a chunk")?
        .ok_or_else(|| invalid(format!("{id} does not exist")))
}
