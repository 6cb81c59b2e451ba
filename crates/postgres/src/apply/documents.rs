//! Documents, their texts, jobs and runs.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{Batch, DocumentId, NewDocument, OriginalStamp, SetOriginal, Visibility};
use graphloom_rules::batch::invalid;

use super::{SearchChanges, chunks, conversations, layers, require_all, unknown};
use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::Session;

pub(super) async fn apply(
    session: &Session,
    batch: &Batch,
    touched: &mut SearchChanges,
) -> Result<(), Fault> {
    remove(session, &batch.remove_documents, touched).await?;
    conversations::remove_answers(session, &batch.remove_documents).await?;
    put(session, &batch.put_documents, touched).await?;
    set_originals(session, &batch.set_originals).await?;
    activate(session, &batch.activate_documents, touched).await?;
    put_jobs(session, batch).await?;
    put_tracks(session, batch).await
}

async fn remove(
    session: &Session,
    documents: &[DocumentId],
    touched: &mut SearchChanges,
) -> Result<(), Fault> {
    if documents.is_empty() {
        return Ok(());
    }
    let documents: Vec<&str> = documents.iter().map(DocumentId::as_str).collect();
    let sql =
        "DELETE FROM chunks WHERE workspace_id = $1 AND document = ANY($2) RETURNING id, extraction_key";
    let (mut removed, mut released) = (Vec::new(), BTreeSet::new());
    for row in session.rows(sql, &[&documents]).await? {
        removed.push(get::<String>(&row, 0)?);
        released.extend(get::<Option<String>>(&row, 1)?);
    }
    let sql = "DELETE FROM renewals WHERE workspace_id = $1 AND chunk = ANY($2) RETURNING extraction_key";
    for row in session.rows(sql, &[&removed]).await? {
        released.extend(get::<Option<String>>(&row, 0)?);
    }
    chunks::release(session, released).await?;
    for table in ["situations", "mentions", "facts", "claims"] {
        let sql = format!("DELETE FROM {table} WHERE workspace_id = $1 AND chunk = ANY($2)");
        session.run(&sql, &[&removed]).await?;
    }
    let vectors = "DELETE FROM vectors WHERE workspace_id = $1 AND kind = 0 AND id = ANY($2)";
    session.run(vectors, &[&removed]).await?;
    session.run("DELETE FROM documents WHERE workspace_id = $1 AND id = ANY($2)", &[&documents]).await?;
    for table in ["texts", "originals", "jobs", "tracks"] {
        let sql = format!("DELETE FROM {table} WHERE workspace_id = $1 AND document = ANY($2)");
        session.run(&sql, &[&documents]).await?;
    }
    layers::remove_nodes_of(session, rows::CHUNK_MEMBER, &removed, touched).await?;
    touched.chunks.extend(removed);
    Ok(())
}

async fn put(session: &Session, new: &[NewDocument], touched: &mut SearchChanges) -> Result<(), Fault> {
    if new.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = new.iter().map(|new| new.document.id.as_str()).collect();
    let texts: Vec<&[u8]> = new.iter().map(|new| new.text.as_bytes()).collect();
    let differing = "SELECT n.id FROM unnest($2::text[], $3::bytea[]) AS n (id, text) \
        JOIN texts t ON t.workspace_id = $1 AND t.document = n.id AND t.text <> n.text \
        WHERE EXISTS (SELECT FROM chunks c WHERE c.workspace_id = $1 AND c.document = n.id)";
    if let Some(row) = session.rows(differing, &[&ids, &texts]).await?.first() {
        let id: &str = get(row, 0)?;
        return Err(invalid(format!("{id} has chunks, so its text cannot change")).into());
    }
    let new: BTreeMap<&str, &NewDocument> = new.iter().map(|new| (new.document.id.as_str(), new)).collect();
    let ids: Vec<&str> = new.keys().copied().collect();
    let sources: Vec<&str> = new.values().map(|new| new.document.source.as_str()).collect();
    let hashes: Vec<&str> = new.values().map(|new| new.document.content_hash.as_str()).collect();
    let live: Vec<bool> = new.values().map(|new| new.document.visibility == Visibility::Live).collect();
    let added: Vec<i64> = new.values().map(|new| new.document.added_at.0 as i64).collect();
    let bodies = new.values().map(|new| rows::body(&new.document)).collect::<Result<Vec<_>, _>>()?;
    let texts: Vec<&[u8]> = new.values().map(|new| new.text.as_bytes()).collect();
    let sql = "INSERT INTO documents \
            SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::bool[], $6::int8[], $7::text[]) \
        ON CONFLICT (workspace_id, id) DO UPDATE SET source = EXCLUDED.source, content_hash = EXCLUDED.content_hash, \
            live = EXCLUDED.live, added_at = EXCLUDED.added_at, body = EXCLUDED.body";
    session.run(sql, &[&ids, &sources, &hashes, &live, &added, &bodies]).await?;
    let sql = "INSERT INTO texts SELECT $1, * FROM unnest($2::text[], $3::bytea[]) \
        ON CONFLICT (workspace_id, document) DO UPDATE SET text = EXCLUDED.text";
    session.run(sql, &[&ids, &texts]).await?;
    show_chunks(session, &ids, touched).await
}

async fn set_originals(session: &Session, originals: &[SetOriginal]) -> Result<(), Fault> {
    if originals.is_empty() {
        return Ok(());
    }
    require_all(session, "documents", "id", &originals.iter().map(|set| set.document.as_str()).collect())
        .await?;
    for SetOriginal { document, bytes } in originals {
        let Some(bytes) = bytes else {
            let sql = "DELETE FROM originals WHERE workspace_id = $1 AND document = $2";
            session.run(sql, &[&document.as_str()]).await?;
            continue;
        };
        let sql = "INSERT INTO originals VALUES ($1, $2, $3, $4) \
            ON CONFLICT (workspace_id, document) DO UPDATE SET hash = EXCLUDED.hash, bytes = EXCLUDED.bytes";
        let hash = OriginalStamp::of(bytes).hash;
        session.run(sql, &[&document.as_str(), &hash.as_str(), &bytes.as_slice()]).await?;
    }
    Ok(())
}

async fn activate(
    session: &Session,
    documents: &[DocumentId],
    touched: &mut SearchChanges,
) -> Result<(), Fault> {
    if documents.is_empty() {
        return Ok(());
    }
    let ids: BTreeSet<&str> = documents.iter().map(DocumentId::as_str).collect();
    require_all(session, "documents", "id", &ids).await?;
    let ids: Vec<&str> = ids.into_iter().collect();
    let sql = "UPDATE documents SET live = true WHERE workspace_id = $1 AND id = ANY($2)";
    session.run(sql, &[&ids]).await?;
    show_chunks(session, &ids, touched).await
}

/// Makes the chunks of these documents as visible as they are.
async fn show_chunks(
    session: &Session,
    documents: &[&str],
    touched: &mut SearchChanges,
) -> Result<(), Fault> {
    let sql = "UPDATE chunks c SET live = d.live FROM documents d \
        WHERE c.workspace_id = $1 AND c.document = ANY($2) \
            AND d.workspace_id = $1 AND d.id = c.document AND c.live <> d.live \
        RETURNING c.id";
    for row in session.rows(sql, &[&documents]).await? {
        touched.chunks.insert(get(&row, 0)?);
    }
    Ok(())
}

async fn put_jobs(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_jobs.is_empty() {
        return Ok(());
    }
    let jobs: BTreeMap<&str, _> = batch.put_jobs.iter().map(|job| (job.document.as_str(), job)).collect();
    require_all(session, "documents", "id", &jobs.keys().copied().collect()).await?;
    let ids: Vec<&str> = jobs.keys().copied().collect();
    let open: Vec<bool> = jobs.values().map(|job| job.state.is_open()).collect();
    let until = |job: &graphloom_core::Job| job.lease.as_ref().map(|lease| lease.expires_at.0 as i64);
    let leases: Vec<Option<i64>> = jobs.values().map(|job| until(job)).collect();
    let owner = |job: &graphloom_core::Job| job.lease.as_ref().map(|lease| lease.owner.clone());
    let owners: Vec<Option<String>> = jobs.values().map(|job| owner(job)).collect();
    let created: Vec<i64> = jobs.values().map(|job| job.created_at.0 as i64).collect();
    let bodies = jobs.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO jobs SELECT $1, * FROM unnest($2::text[], $3::bool[], $4::int8[], $5::int8[], $6::text[], $7::text[]) \
        ON CONFLICT (workspace_id, document) DO UPDATE SET is_open = EXCLUDED.is_open, lease_until = EXCLUDED.lease_until, \
            created_at = EXCLUDED.created_at, body = EXCLUDED.body, lease_owner = EXCLUDED.lease_owner";
    session.run(sql, &[&ids, &open, &leases, &created, &bodies, &owners]).await?;
    Ok(())
}

async fn put_tracks(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_tracks.is_empty() {
        return Ok(());
    }
    require_all(session, "documents", "id", &batch.put_tracks.iter().map(|(_, id)| id.as_str()).collect())
        .await?;
    let tracks: Vec<&str> = batch.put_tracks.iter().map(|(track, _)| track.as_str()).collect();
    let documents: Vec<&str> = batch.put_tracks.iter().map(|(_, id)| id.as_str()).collect();
    let sql = "INSERT INTO tracks SELECT $1, * FROM unnest($2::text[], $3::text[]) ON CONFLICT DO NOTHING";
    session.run(sql, &[&tracks, &documents]).await?;
    Ok(())
}

/// The texts of the documents that a batch puts, and of the others that it puts chunks of, by id with their visibility.
pub(super) async fn texts_of(
    session: &Session,
    batch: &Batch,
    ids: BTreeSet<&str>,
) -> Result<BTreeMap<String, (String, bool)>, Fault> {
    let new: BTreeMap<&str, &str> =
        batch.put_documents.iter().map(|new| (new.document.id.as_str(), new.text.as_str())).collect();
    let sql = "SELECT d.id, d.live, CASE WHEN d.id = ANY($3) THEN NULL ELSE t.text END \
        FROM documents d JOIN texts t ON t.workspace_id = $1 AND t.document = d.id \
        WHERE d.workspace_id = $1 AND d.id = ANY($2)";
    let wanted: Vec<&str> = ids.iter().copied().collect();
    let known: Vec<&str> = new.keys().copied().collect();
    let mut texts = BTreeMap::new();
    for row in session.rows(sql, &[&wanted, &known]).await? {
        let (id, live): (String, bool) = (get(&row, 0)?, get(&row, 1)?);
        let text = match get::<Option<&[u8]>>(&row, 2)? {
            Some(text) => rows::utf8(text)?,
            None => new.get(id.as_str()).ok_or_else(|| unknown(&id))?.to_string(),
        };
        texts.insert(id, (text, live));
    }
    match ids.into_iter().find(|id| !texts.contains_key(*id)) {
        Some(missing) => Err(unknown(missing)),
        None => Ok(texts),
    }
}
