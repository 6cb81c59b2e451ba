//! Documents and their jobs.

use graphloom_core::{ChunkId, DocumentId, ItemKind, Job, Member, NewDocument, StoreError, Visibility};
use rusqlite::{Connection, OptionalExtension, params};

use super::chunks::release;
use super::layers::remove_nodes_of;
use super::vectors::remove_vector;
use crate::rules::invalid;
use crate::sqlite::changes::{BatchKeys, LINKS, TEXT, VECTOR, touch};
use crate::sqlite::error::Context;
use crate::sqlite::vector_tree::TreeLimits;
use crate::sqlite::{rows, text};

/// Returns a document's number and whether it is live.
pub(super) fn document(conn: &Connection, id: &DocumentId) -> Result<Option<(i64, bool)>, StoreError> {
    conn.prepare_cached("SELECT id, live FROM documents WHERE key = ?1")
        .and_then(|mut select| {
            select.query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .during("finding a document")
}

/// Records every chunk of a document as touched, because its visibility has changed.
pub(super) fn touch_chunks_of(
    conn: &Connection,
    document: i64,
    touched: &mut BatchKeys,
) -> rusqlite::Result<()> {
    let mut select = conn.prepare_cached("SELECT key FROM chunks WHERE document = ?1")?;
    let mut found = select.query([document])?;
    while let Some(row) = found.next()? {
        touch(touched, ItemKind::Chunk, row.get_ref(0)?.as_str()?, VECTOR | TEXT | LINKS);
    }
    Ok(())
}

/// Removes a document. Its segments, original, job, tracks, chunks, renewals, chunk contexts, mentions, facts and
/// claims are removed by cascade.
pub(super) fn remove_document(
    conn: &Connection,
    trees: TreeLimits,
    id: &DocumentId,
    touched: &mut BatchKeys,
) -> rusqlite::Result<()> {
    let mut select = conn.prepare_cached("SELECT id FROM documents WHERE key = ?1")?;
    let Some(number) = select.query_row([id.as_str()], |row| row.get::<_, i64>(0)).optional()? else {
        return Ok(());
    };
    let mut chunks = conn.prepare_cached("SELECT key, extraction FROM chunks WHERE document = ?1")?;
    let chunks: Vec<(String, Option<String>)> =
        chunks.query_map([number], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    let mut renewed = conn.prepare_cached(
        "SELECT r.extraction FROM chunks c JOIN renewals r ON r.chunk = c.id
         WHERE c.document = ?1 AND r.extraction IS NOT NULL",
    )?;
    let renewed: Vec<String> =
        renewed.query_map([number], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    conn.prepare_cached("DELETE FROM documents WHERE id = ?1")?.execute([number])?;
    for (chunk, _) in &chunks {
        remove_vector(conn, trees, ItemKind::Chunk, chunk)?;
        remove_nodes_of(conn, trees, &Member::Chunk(ChunkId::from_stored(&**chunk)), touched)?;
        touch(touched, ItemKind::Chunk, chunk, VECTOR | TEXT | LINKS);
    }
    let named = chunks.into_iter().filter_map(|(_, extraction)| extraction);
    named.chain(renewed).try_for_each(|extraction| release(conn, &extraction))
}

pub(super) fn put_document(
    conn: &Connection,
    new: &NewDocument,
    touched: &mut BatchKeys,
) -> Result<(), StoreError> {
    let known = document(conn, &new.document.id)?;
    let mut write = || -> rusqlite::Result<bool> {
        let Some((number, was_live)) = known else {
            text::write(conn, upsert_document(conn, new)?, &new.text)?;
            return Ok(true);
        };
        let is_live = new.document.visibility == Visibility::Live;
        if was_live != is_live {
            touch_chunks_of(conn, number, touched)?;
        }
        if text::read_all(conn, number)? != new.text {
            let mut chunked = conn.prepare_cached("SELECT 1 FROM chunks WHERE document = ?1 LIMIT 1")?;
            if chunked.exists([number])? {
                return Ok(false);
            }
            text::write(conn, number, &new.text)?;
        }
        upsert_document(conn, new)?;
        Ok(true)
    };
    if write().during("putting a document")? {
        Ok(())
    } else {
        Err(invalid(format!("{} has chunks, so its text cannot change", new.document.id)))
    }
}

fn upsert_document(conn: &Connection, new: &NewDocument) -> rusqlite::Result<i64> {
    let d = &new.document;
    let live = d.visibility == Visibility::Live;
    conn.prepare_cached(
        "INSERT INTO documents (key, source, title, content_hash, text_bytes, format, encoding, lines_match_source,
            meta, live, added_at, parts, remarks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
         ON CONFLICT (key) DO UPDATE SET source = ?2, title = ?3, content_hash = ?4, text_bytes = ?5, format = ?6,
            encoding = ?7, lines_match_source = ?8, meta = ?9, live = ?10, added_at = ?11,
            parts = ?12, remarks = ?13
         RETURNING id",
    )?
    .query_row(
        params![
            d.id.as_str(),
            d.source,
            d.title,
            d.content_hash.as_str(),
            rows::signed(d.text_bytes),
            d.format.name(),
            d.encoding,
            d.lines_match_source,
            rows::to_json(&d.meta)?,
            live,
            rows::signed(d.added_at.0),
            rows::to_json(&d.parts)?,
            rows::to_json(&d.remarks)?
        ],
        |row| row.get(0),
    )
}

pub(super) fn put_job(conn: &Connection, document: i64, job: &Job) -> rusqlite::Result<()> {
    let (state, reason) = rows::job_state(&job.state);
    let owner = job.lease.as_ref().map(|lease| lease.owner.as_str());
    let expires_at = job.lease.as_ref().map(|lease| rows::signed(lease.expires_at.0));
    conn.prepare_cached(
        "INSERT OR REPLACE INTO jobs (document, state, reason, owner, expires_at, attempts, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        document,
        state,
        reason,
        owner,
        expires_at,
        job.attempts,
        rows::signed(job.created_at.0)
    ])
    .map(drop)
}

pub(super) fn unknown_document(id: &DocumentId) -> StoreError {
    invalid(format!("{id} does not exist"))
}
