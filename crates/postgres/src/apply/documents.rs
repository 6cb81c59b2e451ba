//! Documents, their texts, jobs and runs.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use graphloom_core::{Batch, DocumentId, NewDocument, OriginalStamp, SetOriginal, Visibility};
use graphloom_rules::batch::invalid;
use tokio::try_join;

use super::{require_all, unknown};
use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::{Arguments, Session};

/// Puts and changes documents and jobs. Returns the chunks whose visibility changed.
pub(super) async fn put(session: &Session, batch: &Batch) -> Result<Vec<String>, Fault> {
    let (mut shown, (), activated, (), ()) = try_join!(biased;
        put_documents(session, &batch.put_documents),
        set_originals(session, &batch.set_originals),
        activate(session, &batch.activate_documents),
        put_jobs(session, batch),
        put_tracks(session, batch)
    )?;
    shown.extend(activated);
    Ok(shown)
}

async fn put_documents(session: &Session, new: &[NewDocument]) -> Result<Vec<String>, Fault> {
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let all: Vec<&str> = new.iter().map(|new| new.document.id.as_str()).collect();
    let all_texts: Vec<&[u8]> = new.iter().map(|new| new.text.as_bytes()).collect();
    let differing = "SELECT n.id FROM unnest($2::text[], $3::bytea[]) AS n (id, text) \
        JOIN texts t ON t.workspace_id = $1 AND t.document = n.id AND t.text <> n.text \
        WHERE EXISTS (SELECT FROM chunks c WHERE c.workspace_id = $1 AND c.document = n.id)";
    let differs = async {
        match session.rows(differing, &[&all, &all_texts]).await?.first() {
            Some(row) => {
                let id: &str = get(row, 0)?;
                Err(Fault::from(invalid(format!("{id} has chunks, so its text cannot change"))))
            }
            None => Ok(()),
        }
    };
    let new: BTreeMap<&str, &NewDocument> = new.iter().map(|new| (new.document.id.as_str(), new)).collect();
    let ids: Vec<&str> = new.keys().copied().collect();
    let sources: Vec<&str> = new.values().map(|new| new.document.source.as_str()).collect();
    let hashes: Vec<&str> = new.values().map(|new| new.document.content_hash.as_str()).collect();
    let live: Vec<bool> = new.values().map(|new| new.document.visibility == Visibility::Live).collect();
    let added: Vec<i64> = new.values().map(|new| new.document.added_at.0 as i64).collect();
    let bodies = new.values().map(|new| rows::body(&new.document)).collect::<Result<Vec<_>, _>>()?;
    let texts: Vec<&[u8]> = new.values().map(|new| new.text.as_bytes()).collect();
    let put = "INSERT INTO documents \
            SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::bool[], $6::int8[], $7::text[]) \
        ON CONFLICT (workspace_id, id) DO UPDATE SET source = EXCLUDED.source, content_hash = EXCLUDED.content_hash, \
            live = EXCLUDED.live, added_at = EXCLUDED.added_at, body = EXCLUDED.body";
    let put_texts = "INSERT INTO texts SELECT $1, * FROM unnest($2::text[], $3::bytea[]) \
        ON CONFLICT (workspace_id, document) DO UPDATE SET text = EXCLUDED.text";
    let of_put: &Arguments<'_> = &[&ids, &sources, &hashes, &live, &added, &bodies];
    let of_texts: &Arguments<'_> = &[&ids, &texts];
    let ((), _, _, shown) = try_join!(biased;
        differs,
        session.run(put, of_put),
        session.run(put_texts, of_texts),
        show_chunks(session, &ids)
    )?;
    Ok(shown)
}

async fn set_originals(session: &Session, originals: &[SetOriginal]) -> Result<(), Fault> {
    if originals.is_empty() {
        return Ok(());
    }
    let last: BTreeMap<&str, Option<&[u8]>> = originals
        .iter()
        .map(|set| (set.document.as_str(), set.bytes.as_deref().map(Vec::as_slice)))
        .collect();
    let set = last.iter().map(|(document, bytes)| set_original(session, document, *bytes));
    let documents = last.keys().copied().collect();
    try_join!(biased; require_all(session, "documents", "id", documents), try_join_all(set)).map(drop)
}

async fn set_original(session: &Session, document: &str, bytes: Option<&[u8]>) -> Result<(), Fault> {
    let Some(bytes) = bytes else {
        let sql = "DELETE FROM originals WHERE workspace_id = $1 AND document = $2";
        return session.run(sql, &[&document]).await.map(drop);
    };
    let sql = "INSERT INTO originals VALUES ($1, $2, $3, $4) \
        ON CONFLICT (workspace_id, document) DO UPDATE SET hash = EXCLUDED.hash, bytes = EXCLUDED.bytes";
    let hash = OriginalStamp::of(bytes).hash;
    session.run(sql, &[&document, &hash.as_str(), &bytes]).await.map(drop)
}

async fn activate(session: &Session, documents: &[DocumentId]) -> Result<Vec<String>, Fault> {
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let ids: BTreeSet<&str> = documents.iter().map(DocumentId::as_str).collect();
    let all: Vec<&str> = ids.iter().copied().collect();
    let sql = "UPDATE documents SET live = true WHERE workspace_id = $1 AND id = ANY($2)";
    let of_ids: &Arguments<'_> = &[&all];
    let ((), _, shown) = try_join!(biased;
        require_all(session, "documents", "id", ids),
        session.run(sql, of_ids),
        show_chunks(session, &all)
    )?;
    Ok(shown)
}

/// Gives the chunks of these documents the visibility of their document. Returns the chunks that changed.
async fn show_chunks(session: &Session, documents: &[&str]) -> Result<Vec<String>, Fault> {
    let sql = "UPDATE chunks c SET live = d.live FROM documents d \
        WHERE c.workspace_id = $1 AND c.document = ANY($2) \
            AND d.workspace_id = $1 AND d.id = c.document AND c.live <> d.live \
        RETURNING c.id";
    session.rows(sql, &[&documents]).await?.iter().map(|row| get(row, 0)).collect()
}

async fn put_jobs(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_jobs.is_empty() {
        return Ok(());
    }
    let jobs: BTreeMap<&str, _> = batch.put_jobs.iter().map(|job| (job.document.as_str(), job)).collect();
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
    let of_jobs: &Arguments<'_> = &[&ids, &open, &leases, &created, &bodies, &owners];
    try_join!(biased;
        require_all(session, "documents", "id", jobs.keys().copied().collect()),
        session.run(sql, of_jobs)
    )
    .map(drop)
}

async fn put_tracks(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_tracks.is_empty() {
        return Ok(());
    }
    let tracks: Vec<&str> = batch.put_tracks.iter().map(|(track, _)| track.as_str()).collect();
    let documents: Vec<&str> = batch.put_tracks.iter().map(|(_, id)| id.as_str()).collect();
    let sql = "INSERT INTO tracks SELECT $1, * FROM unnest($2::text[], $3::text[]) ON CONFLICT DO NOTHING";
    let of_tracks: &Arguments<'_> = &[&tracks, &documents];
    try_join!(biased;
        require_all(session, "documents", "id", documents.iter().copied().collect()),
        session.run(sql, of_tracks)
    )
    .map(drop)
}

/// Returns text and visibility by id: of the documents that a batch puts, and of other documents whose chunks it puts.
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
