//! Chunks, their extractions and renewals.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use graphloom_core::{Batch, Chunk, ChunkExtraction, ChunkId, ExtractionKey};
use graphloom_rules::batch::{invalid, of_another_document};
use tokio::try_join;
use tokio_postgres::types::ToSql;

use super::{documents, require_all, unknown};
use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::{Arguments, Session};

/// Stored data about the chunks that a batch puts.
#[derive(Default)]
pub(super) struct StoredChunks {
    /// Texts of their documents, with the visibility of each.
    texts: BTreeMap<String, (String, bool)>,
    /// Documents of the chunks that already exist.
    documents: HashMap<String, String>,
}

/// Reads what the database knows about the chunks that a batch puts. Runs after the batch's documents are put.
pub(super) async fn known(session: &Session, batch: &Batch) -> Result<StoredChunks, Fault> {
    if batch.put_chunks.is_empty() {
        return Ok(StoredChunks::default());
    }
    let of: BTreeSet<&str> = batch.put_chunks.iter().map(|chunk| chunk.document.as_str()).collect();
    let ids: Vec<&str> = batch.put_chunks.iter().map(|chunk| chunk.id.as_str()).collect();
    let sql = "SELECT id, document FROM chunks WHERE workspace_id = $1 AND id = ANY($2)";
    let of_ids: &Arguments<'_> = &[&ids];
    let (texts, found) =
        try_join!(biased; documents::texts_of(session, batch, of), session.rows(sql, of_ids))?;
    let documents = found.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?))).collect::<Result<_, Fault>>()?;
    Ok(StoredChunks { texts, documents })
}

/// Puts chunks and extractions and ends renewals. Returns the extractions that chunks and renewals named before.
pub(super) async fn put(
    session: &Session,
    batch: &Batch,
    known: StoredChunks,
) -> Result<BTreeSet<String>, Fault> {
    let ((), (), mut released, ended) = try_join!(biased;
        put_chunks(session, batch, known),
        put_extractions(session, batch),
        replaced_extractions(session, &batch.set_extractions),
        end_renewals(session, batch)
    )?;
    released.extend(ended);
    Ok(released)
}

/// Sets the extractions of chunks, puts renewals, and removes the extractions in `released` that nothing names any more.
pub(super) async fn settle(
    session: &Session,
    batch: &Batch,
    released: BTreeSet<String>,
) -> Result<(), Fault> {
    try_join!(biased;
        set_extractions(session, &batch.set_extractions),
        put_renewals(session, batch),
        release(session, released),
        check_named(session, batch)
    )
    .map(drop)
}

fn key_of(extraction: &ChunkExtraction) -> Option<&str> {
    extraction.key().map(ExtractionKey::as_str)
}

async fn put_chunks(session: &Session, batch: &Batch, known: StoredChunks) -> Result<(), Fault> {
    if batch.put_chunks.is_empty() {
        return Ok(());
    }
    let StoredChunks { texts, mut documents } = known;
    for chunk in &batch.put_chunks {
        let (start, end) = (chunk.span.start, chunk.span.end);
        let text = texts.get(chunk.document.as_str()).and_then(|(text, _)| chunk.span.slice(text));
        if text != Some(chunk.text.as_str()) {
            let id = &chunk.id;
            return Err(
                invalid(format!("the text of {id} is not bytes {start}..{end} of its document")).into()
            );
        }
        let document = documents.entry(chunk.id.to_string()).or_insert_with(|| chunk.document.to_string());
        if document != chunk.document.as_str() {
            return Err(of_another_document(&chunk.id).into());
        }
    }
    let chunks: BTreeMap<&str, &Chunk> =
        batch.put_chunks.iter().map(|chunk| (chunk.id.as_str(), chunk)).collect();
    let ids: Vec<&str> = chunks.keys().copied().collect();
    let of: Vec<&str> = chunks.values().map(|chunk| chunk.document.as_str()).collect();
    let ordinals: Vec<i64> = chunks.values().map(|chunk| i64::from(chunk.ordinal)).collect();
    let starts: Vec<i64> = chunks.values().map(|chunk| chunk.span.start as i64).collect();
    let ends: Vec<i64> = chunks.values().map(|chunk| chunk.span.end as i64).collect();
    let is_live = |chunk: &&&Chunk| texts.get(chunk.document.as_str()).is_some_and(|(_, live)| *live);
    let live: Vec<bool> = chunks.values().map(|chunk| is_live(&chunk)).collect();
    let states = chunks.values().map(|chunk| rows::body(&chunk.extraction)).collect::<Result<Vec<_>, _>>()?;
    let keys: Vec<Option<&str>> = chunks.values().map(|chunk| key_of(&chunk.extraction)).collect();
    let bodies = chunks.values().map(|chunk| rows::chunk_body(chunk)).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO chunks SELECT $1, * FROM unnest($2::text[], $3::text[], $4::int8[], $5::int8[], $6::int8[], \
            $7::bool[], $8::text[], $9::text[], $10::text[]) \
        ON CONFLICT (workspace_id, id) DO UPDATE SET ordinal = EXCLUDED.ordinal, span_start = EXCLUDED.span_start, \
            span_end = EXCLUDED.span_end, live = EXCLUDED.live, extraction = EXCLUDED.extraction, \
            extraction_key = EXCLUDED.extraction_key, body = EXCLUDED.body";
    session.run(sql, &[&ids, &of, &ordinals, &starts, &ends, &live, &states, &keys, &bodies]).await?;
    Ok(())
}

async fn put_extractions(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_extractions.is_empty() {
        return Ok(());
    }
    let extractions: BTreeMap<&str, _> =
        batch.put_extractions.iter().map(|extraction| (extraction.key.as_str(), extraction)).collect();
    let keys: Vec<&str> = extractions.keys().copied().collect();
    let empty: Vec<bool> = extractions.values().map(|extraction| extraction.records.name_nothing()).collect();
    let reasons = |extraction: &graphloom_core::Extraction| {
        extraction.rejects.iter().map(|reject| reject.reason.name()).collect::<Vec<_>>().join(" ")
    };
    let rejects: Vec<String> = extractions.values().map(|extraction| reasons(extraction)).collect();
    let bodies = extractions.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO extractions SELECT $1, * FROM unnest($2::text[], $3::bool[], $4::text[], $5::text[]) \
        ON CONFLICT (workspace_id, key) DO UPDATE SET is_empty = EXCLUDED.is_empty, rejects = EXCLUDED.rejects, \
            body = EXCLUDED.body";
    session.run(sql, &[&keys, &empty, &rejects, &bodies]).await?;
    Ok(())
}

/// Returns the extractions that are about to be replaced.
async fn replaced_extractions(
    session: &Session,
    set: &[(ChunkId, ChunkExtraction)],
) -> Result<BTreeSet<String>, Fault> {
    let mut replaced = BTreeSet::new();
    if set.is_empty() {
        return Ok(replaced);
    }
    let ids: Vec<&str> = set.iter().map(|(id, _)| id.as_str()).collect();
    let sql = "SELECT id, extraction_key FROM chunks WHERE workspace_id = $1 AND id = ANY($2)";
    let mut current: HashMap<String, Option<String>> = HashMap::new();
    for row in session.rows(sql, &[&ids]).await? {
        current.insert(get(&row, 0)?, get(&row, 1)?);
    }
    for (id, extraction) in set {
        let key = current.get_mut(id.as_str()).ok_or_else(|| unknown(id.as_str()))?;
        replaced.extend(std::mem::replace(key, key_of(extraction).map(str::to_owned)));
    }
    Ok(replaced)
}

async fn set_extractions(session: &Session, set: &[(ChunkId, ChunkExtraction)]) -> Result<(), Fault> {
    if set.is_empty() {
        return Ok(());
    }
    let last: BTreeMap<&str, &ChunkExtraction> =
        set.iter().map(|(id, extraction)| (id.as_str(), extraction)).collect();
    let ids: Vec<&str> = last.keys().copied().collect();
    let states = last.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let keys: Vec<Option<&str>> = last.values().map(|extraction| key_of(extraction)).collect();
    let sql = "UPDATE chunks c SET extraction = n.extraction, extraction_key = n.key \
        FROM unnest($2::text[], $3::text[], $4::text[]) AS n (id, extraction, key) \
        WHERE c.workspace_id = $1 AND c.id = n.id";
    session.run(sql, &[&ids, &states, &keys]).await?;
    Ok(())
}

/// Removes the batch's ended renewals and those that its new renewals replace. Returns their extractions.
async fn end_renewals(session: &Session, batch: &Batch) -> Result<BTreeSet<String>, Fault> {
    let put: BTreeSet<&str> = batch.put_renewals.iter().map(|renewal| renewal.chunk.as_str()).collect();
    let removed = batch.remove_renewals.iter().map(ChunkId::as_str);
    let ids: Vec<&str> = removed.chain(put.iter().copied()).collect();
    let ((), mut ended) =
        try_join!(biased; require_all(session, "chunks", "id", put), remove_renewals(session, &ids))?;
    let mut last = BTreeMap::new();
    for renewal in &batch.put_renewals {
        if let Some(replaced) = last.insert(renewal.chunk.as_str(), renewal) {
            ended.extend(key_of(&replaced.extraction).map(str::to_owned));
        }
    }
    Ok(ended)
}

/// Removes the renewals of chunks. Returns their extractions.
pub(super) async fn remove_renewals<Id: ToSql + Sync>(
    session: &Session,
    chunks: &[Id],
) -> Result<BTreeSet<String>, Fault> {
    if chunks.is_empty() {
        return Ok(BTreeSet::new());
    }
    let sql = "DELETE FROM renewals WHERE workspace_id = $1 AND chunk = ANY($2) RETURNING extraction_key";
    let removed = session.rows(sql, &[&chunks]).await?;
    let keys = removed.iter().map(|row| get::<Option<String>>(row, 0));
    keys.filter_map(Result::transpose).collect()
}

async fn put_renewals(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_renewals.is_empty() {
        return Ok(());
    }
    let last: BTreeMap<&str, _> =
        batch.put_renewals.iter().map(|renewal| (renewal.chunk.as_str(), renewal)).collect();
    let ids: Vec<&str> = last.keys().copied().collect();
    let keys: Vec<Option<&str>> = last.values().map(|renewal| key_of(&renewal.extraction)).collect();
    let bodies = last.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO renewals SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[])";
    session.run(sql, &[&ids, &keys, &bodies]).await?;
    Ok(())
}

/// Removes the extractions in `keys` that nothing names any more.
pub(super) async fn release(session: &Session, keys: BTreeSet<String>) -> Result<(), Fault> {
    if keys.is_empty() {
        return Ok(());
    }
    let keys: Vec<String> = keys.into_iter().collect();
    let sql = "DELETE FROM extractions e WHERE workspace_id = $1 AND key = ANY($2) \
        AND NOT EXISTS (SELECT FROM chunks c WHERE c.workspace_id = $1 AND c.extraction_key = e.key) \
        AND NOT EXISTS (SELECT FROM renewals r WHERE r.workspace_id = $1 AND r.extraction_key = e.key)";
    session.run(sql, &[&keys]).await?;
    Ok(())
}

/// Fails if a chunk or renewal names an extraction that does not exist. Only the final state of each chunk counts.
async fn check_named(session: &Session, batch: &Batch) -> Result<(), Fault> {
    let of_chunks = batch.put_chunks.iter().map(|chunk| &chunk.extraction);
    let of_sets = batch.set_extractions.iter().map(|(_, extraction)| extraction);
    let of_renewals = batch.put_renewals.iter().map(|renewal| &renewal.extraction);
    let named: BTreeSet<&str> = of_chunks.chain(of_sets).chain(of_renewals).filter_map(key_of).collect();
    if named.is_empty() {
        return Ok(());
    }
    let named: Vec<&str> = named.into_iter().collect();
    let sql = "SELECT key FROM unnest($2::text[]) AS key \
        WHERE NOT EXISTS (SELECT FROM extractions e WHERE e.workspace_id = $1 AND e.key = key.key) \
            AND (EXISTS (SELECT FROM chunks c WHERE c.workspace_id = $1 AND c.extraction_key = key.key) \
                OR EXISTS (SELECT FROM renewals r WHERE r.workspace_id = $1 AND r.extraction_key = key.key))";
    match session.rows(sql, &[&named]).await?.first() {
        Some(row) => {
            let missing: &str = get(row, 0)?;
            Err(invalid(format!("a chunk names extraction {missing}, which does not exist")).into())
        }
        None => Ok(()),
    }
}
