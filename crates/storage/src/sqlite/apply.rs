//! Applies a batch inside the writer's transaction. On an error the caller rolls back to where it began.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Batch, Call, Chunk, ChunkExtraction, ChunkId, Decision, DocumentId, Entity, EntityKey, Extraction, Fact,
    GraphKey, Job, Mention, NewDocument, QueueState, Relation, RelationKey, Renewal, Require, Revision,
    Situation, SituationOutcome, StoreError, Summary, VectorKind, VectorRow, Visibility,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::cache;
use super::changes::{self, LINKS, TEXT, Touched, VECTOR, touch};
use super::error::Context;
use super::text::{self, Slicer};
use super::vector_tree::{self, TreeLimits};
use super::{revisions, rows};
use crate::rules::{self, conflict, invalid};
use crate::vector;

pub(super) fn apply(conn: &Connection, trees: TreeLimits, batch: &Batch) -> Result<Revision, StoreError> {
    rules::check(batch)?;
    let (revision, graph_revision) = revisions(conn).during("reading the revision")?;
    batch.require.iter().try_for_each(|require| check_require(conn, graph_revision, require))?;
    if batch.is_empty() {
        return Ok(revision);
    }
    let revision = Revision(revision.0 + 1);
    let graph_revision = if batch.touches_graph() { revision } else { graph_revision };
    set_embedding(conn, batch)?;

    let mut touched = Touched::new();
    for id in &batch.remove_documents {
        remove_document(conn, trees, id, &mut touched).during("removing a document")?;
    }
    for new in &batch.put_documents {
        put_document(conn, new, &mut touched)?;
    }
    for id in &batch.activate_documents {
        let (number, live) = document(conn, id)?.ok_or_else(|| unknown_document(id))?;
        if !live {
            conn.prepare_cached("UPDATE documents SET live = 1 WHERE id = ?1")
                .and_then(|mut update| update.execute([number]))
                .and_then(|_| touch_chunks_of(conn, number, &mut touched))
                .during("activating a document")?;
        }
    }
    for job in &batch.put_jobs {
        let (number, _) = document(conn, &job.document)?.ok_or_else(|| unknown_document(&job.document))?;
        put_job(conn, number, job).during("putting a job")?;
    }
    for (track, id) in &batch.put_tracks {
        let (number, _) = document(conn, id)?.ok_or_else(|| unknown_document(id))?;
        conn.prepare_cached("INSERT OR IGNORE INTO tracks (track, document) VALUES (?1, ?2)")
            .and_then(|mut insert| insert.execute(params![track.as_str(), number]))
            .during("noting which run queued a document")?;
    }
    if let Some(queue) = batch.set_queue {
        set_queue(conn, queue).during("setting the state of the queue")?;
    }
    put_chunks(conn, batch, &mut touched)?;
    put_situations(conn, batch, &mut touched)?;
    for decision in &batch.put_decisions {
        put_decision(conn, decision).during("putting a decision")?;
    }
    put_graph(conn, batch, &mut touched)?;
    put_views(conn, trees, batch, &mut touched).during("putting entities and relations")?;
    put_vectors(conn, trees, &batch.put_vectors, &mut touched).during("putting vectors")?;
    for call in &batch.append_calls {
        append_call(conn, call).during("appending to the ledger")?;
    }
    cache::remember(conn, &batch.clear_caches, &batch.put_cached).during("remembering answers")?;
    changes::append(conn, &touched).during("logging changes")?;
    conn.prepare_cached("UPDATE state SET revision = ?1, graph_revision = ?2")
        .and_then(|mut update| {
            update.execute(params![rows::signed(revision.0), rows::signed(graph_revision.0)])
        })
        .during("counting the revision")?;
    Ok(revision)
}

fn check_require(conn: &Connection, graph_revision: Revision, require: &Require) -> Result<(), StoreError> {
    match require {
        Require::Lease { document, lease } => {
            let job = super::read::job(conn, document).during("reading a lease")?;
            match job {
                Some(job) if job.lease == *lease => Ok(()),
                Some(_) => Err(conflict(format!("the lease of {document} has changed"))),
                None => Err(conflict(format!("{document} has no job"))),
            }
        }
        Require::GraphUnchangedSince(revision) if graph_revision > *revision => {
            Err(conflict(format!("the graph changed at {graph_revision} after {revision}")))
        }
        Require::GraphUnchangedSince(_) => Ok(()),
        Require::SourceIs { source, documents } => {
            let found = super::read::documents_by(conn, "source", source).during("reading a source")?;
            match found.into_iter().find(|document| !documents.contains(&document.id)) {
                Some(other) => Err(conflict(format!("source {source:?} has another document {}", other.id))),
                None => Ok(()),
            }
        }
    }
}

fn set_embedding(conn: &Connection, batch: &Batch) -> Result<(), StoreError> {
    if batch.embedding.is_none() && batch.put_vectors.is_empty() {
        return Ok(());
    }
    let known = rows::embedding(conn).during("reading the embedding space")?;
    let space = match (&known, &batch.embedding) {
        (Some(known), Some(new)) if known != new => return Err(rules::embedding_mismatch(known, new)),
        (None, Some(new)) => {
            conn.prepare_cached("UPDATE state SET model = ?1, dimensions = ?2")
                .and_then(|mut update| update.execute(params![new.model, new.dimensions]))
                .during("setting the embedding space")?;
            Some(new)
        }
        (known, _) => known.as_ref(),
    };
    rules::check_dimensions(batch, space)
}

/// A document's number and whether it is live.
fn document(conn: &Connection, id: &DocumentId) -> Result<Option<(i64, bool)>, StoreError> {
    conn.prepare_cached("SELECT id, live FROM documents WHERE key = ?1")
        .and_then(|mut select| {
            select.query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .during("finding a document")
}

fn chunk_number(conn: &Connection, id: &ChunkId) -> Result<i64, StoreError> {
    conn.prepare_cached("SELECT id FROM chunks WHERE key = ?1")
        .and_then(|mut select| select.query_row([id.as_str()], |row| row.get(0)).optional())
        .during("finding a chunk")?
        .ok_or_else(|| invalid(format!("{id} does not exist")))
}

/// Notes every chunk of a document: whether they may be found has changed.
fn touch_chunks_of(conn: &Connection, document: i64, touched: &mut Touched) -> rusqlite::Result<()> {
    let mut select = conn.prepare_cached("SELECT key FROM chunks WHERE document = ?1")?;
    let mut found = select.query([document])?;
    while let Some(row) = found.next()? {
        touch(touched, VectorKind::Chunk, row.get_ref(0)?.as_str()?, VECTOR | TEXT | LINKS);
    }
    Ok(())
}

fn set_queue(conn: &Connection, queue: QueueState) -> rusqlite::Result<()> {
    let since = match queue {
        QueueState::Running => None,
        QueueState::Paused { since } => Some(rows::signed(since.0)),
    };
    conn.prepare_cached("UPDATE state SET paused_since = ?1")?.execute([since]).map(drop)
}

/// Removes an extraction that no chunk and no renewal names.
fn release(conn: &Connection, extraction: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "DELETE FROM extractions WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM chunks WHERE extraction = ?1)
            AND NOT EXISTS (SELECT 1 FROM renewals WHERE extraction = ?1)",
    )?
    .execute([extraction])
    .map(drop)
}

/// Removes a document; its segments, job, tracks, chunks, renewals, situations, mentions and facts go with it by cascade.
fn remove_document(
    conn: &Connection,
    trees: TreeLimits,
    id: &DocumentId,
    touched: &mut Touched,
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
        remove_vector(conn, trees, VectorKind::Chunk, chunk)?;
        touch(touched, VectorKind::Chunk, chunk, VECTOR | TEXT | LINKS);
    }
    let named = chunks.into_iter().filter_map(|(_, extraction)| extraction);
    named.chain(renewed).try_for_each(|extraction| release(conn, &extraction))
}

fn put_document(conn: &Connection, new: &NewDocument, touched: &mut Touched) -> Result<(), StoreError> {
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
            meta, live, added_at, parts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (key) DO UPDATE SET source = ?2, title = ?3, content_hash = ?4, text_bytes = ?5, format = ?6,
            encoding = ?7, lines_match_source = ?8, meta = ?9, live = ?10, added_at = ?11,
            parts = ?12
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
            rows::to_json(&d.parts)?
        ],
        |row| row.get(0),
    )
}

fn put_job(conn: &Connection, document: i64, job: &Job) -> rusqlite::Result<()> {
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

/// Chunks, extractions and which chunk names which.
fn put_chunks(conn: &Connection, batch: &Batch, touched: &mut Touched) -> Result<(), StoreError> {
    let mut slicer = Slicer::new(conn);
    let mut named = BTreeSet::new();
    let mut name = |extraction: &ChunkExtraction| {
        named.extend(extraction.key().cloned());
    };
    for chunk in &batch.put_chunks {
        name(&chunk.extraction);
        put_chunk(conn, &mut slicer, chunk)?;
        touch(touched, VectorKind::Chunk, chunk.id.as_str(), VECTOR | TEXT);
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

fn put_situations(conn: &Connection, batch: &Batch, touched: &mut Touched) -> Result<(), StoreError> {
    for id in &batch.remove_situations {
        conn.prepare_cached("DELETE FROM situations WHERE chunk = (SELECT id FROM chunks WHERE key = ?1)")
            .and_then(|mut delete| delete.execute([id.as_str()]))
            .during("removing a situation")?;
        touch(touched, VectorKind::Chunk, id.as_str(), TEXT);
    }
    for situation in &batch.put_situations {
        let number = chunk_number(conn, &situation.chunk)?;
        put_situation(conn, number, situation).during("putting a situation")?;
        touch(touched, VectorKind::Chunk, situation.chunk.as_str(), TEXT);
    }
    Ok(())
}

fn put_situation(conn: &Connection, chunk: i64, situation: &Situation) -> rusqlite::Result<()> {
    let (text, reason, attempts) = match &situation.outcome {
        SituationOutcome::Said { text } => (Some(text), None, None),
        SituationOutcome::Failed { reason, attempts } => (None, Some(reason), Some(*attempts)),
    };
    conn.prepare_cached(
        "INSERT OR REPLACE INTO situations (chunk, key, said_by, text, reason, attempts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![chunk, situation.key.as_str(), situation.by, text, reason, attempts])
    .map(drop)
}

/// The extraction that a chunk or its renewal names.
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
    // A longer span cannot match; reading it could take any amount of memory.
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
                breadcrumb = ?7, state = ?8, extraction = ?9, reason = ?10, attempts = ?11",
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
    write().during("putting a chunk").map(drop)
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
    count_rejects(conn, number, extraction)
}

/// Keeps how many pieces of an extraction's answers were no records, so that counting them all reads no answer.
pub(super) fn count_rejects(conn: &Connection, number: i64, extraction: &Extraction) -> rusqlite::Result<()> {
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

fn put_decision(conn: &Connection, decision: &Decision) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO decisions (place, key, made_at, body) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![
        rows::signed(decision.order),
        decision.id.as_str(),
        rows::signed(decision.made_at.0),
        rows::to_json(&decision.action)?
    ])
    .map(drop)
}

fn put_graph(conn: &Connection, batch: &Batch, touched: &mut Touched) -> Result<(), StoreError> {
    let mut touch_links = |chunk: &ChunkId| touch(touched, VectorKind::Chunk, chunk.as_str(), LINKS);
    batch.clear_graph_of.iter().for_each(&mut touch_links);
    batch.put_mentions.iter().for_each(|mention| touch_links(&mention.chunk));
    batch.put_facts.iter().for_each(|fact| touch_links(&fact.chunk));
    for chunk in &batch.clear_graph_of {
        for sql in [
            "DELETE FROM mentions WHERE chunk = (SELECT id FROM chunks WHERE key = ?1)",
            "DELETE FROM facts WHERE chunk = (SELECT id FROM chunks WHERE key = ?1)",
        ] {
            conn.prepare_cached(sql)
                .and_then(|mut delete| delete.execute([chunk.as_str()]))
                .during("clearing a chunk's graph")?;
        }
    }
    let mut numbers = ChunkNumbers { conn, last: None };
    for mention in &batch.put_mentions {
        put_mention(conn, numbers.of(&mention.chunk)?, mention).during("putting a mention")?;
    }
    for fact in &batch.put_facts {
        put_fact(conn, numbers.of(&fact.chunk)?, fact).during("putting a fact")?;
    }
    Ok(())
}

/// Chunk numbers; rows come chunk by chunk, so the last one is usually asked again.
struct ChunkNumbers<'a> {
    conn: &'a Connection,
    last: Option<(ChunkId, i64)>,
}

impl ChunkNumbers<'_> {
    fn of(&mut self, id: &ChunkId) -> Result<i64, StoreError> {
        match &self.last {
            Some((last, number)) if last == id => Ok(*number),
            _ => {
                let number = chunk_number(self.conn, id)?;
                self.last = Some((id.clone(), number));
                Ok(number)
            }
        }
    }
}

fn put_mention(conn: &Connection, chunk: i64, mention: &Mention) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO mentions (entity, chunk, ordinal, name, kind, description, start, stop,
            set_aside) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        mention.entity.as_str(),
        chunk,
        mention.ordinal,
        mention.name,
        mention.kind,
        mention.description,
        mention.span.map(|span| rows::signed(span.start)),
        mention.span.map(|span| rows::signed(span.end)),
        mention.set_aside
    ])
    .map(drop)
}

fn put_fact(conn: &Connection, chunk: i64, fact: &Fact) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO facts (a, b, chunk, ordinal, source, target, source_is_a, keywords, description,
            weight, set_aside) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        fact.relation.a().as_str(),
        fact.relation.b().as_str(),
        chunk,
        fact.ordinal,
        fact.source,
        fact.target,
        fact.source_is_a,
        rows::to_json(&fact.keywords)?,
        fact.description,
        fact.weight,
        fact.set_aside
    ])
    .map(drop)
}

fn put_views(
    conn: &Connection,
    trees: TreeLimits,
    batch: &Batch,
    touched: &mut Touched,
) -> rusqlite::Result<()> {
    for key in &batch.remove_entities {
        remove_entity(conn, trees, key, touched)?;
    }
    for entity in &batch.put_entities {
        put_entity(conn, entity)?;
        touch(touched, VectorKind::Entity, entity.key.as_str(), TEXT);
    }
    for key in &batch.remove_relations {
        remove_relation(conn, trees, key, touched)?;
    }
    for relation in &batch.put_relations {
        put_relation(conn, relation)?;
        touch(touched, VectorKind::Relation, &relation.key.to_string(), TEXT);
    }
    for (owner, summaries) in &batch.set_summaries {
        set_summaries(conn, owner, summaries)?;
    }
    for (key, is_stale) in &batch.set_stale {
        set_stale(conn, key, *is_stale)?;
    }
    Ok(())
}

fn remove_entity(
    conn: &Connection,
    trees: TreeLimits,
    key: &EntityKey,
    touched: &mut Touched,
) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM entities WHERE key = ?1")?.execute([key.as_str()])?;
    remove_vector(conn, trees, VectorKind::Entity, key.as_str())?;
    touch(touched, VectorKind::Entity, key.as_str(), VECTOR | TEXT);
    forget(conn, &GraphKey::Entity(key.clone()))
}

fn remove_relation(
    conn: &Connection,
    trees: TreeLimits,
    key: &RelationKey,
    touched: &mut Touched,
) -> rusqlite::Result<()> {
    let printed = key.to_string();
    conn.prepare_cached("DELETE FROM relations WHERE a = ?1 AND b = ?2")?
        .execute([key.a().as_str(), key.b().as_str()])?;
    remove_vector(conn, trees, VectorKind::Relation, &printed)?;
    touch(touched, VectorKind::Relation, &printed, VECTOR | TEXT);
    forget(conn, &GraphKey::Relation(key.clone()))
}

fn put_entity(conn: &Connection, entity: &Entity) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO entities (key, name, kind, description, mention_count, degree, inputs_hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        entity.key.as_str(),
        entity.name,
        entity.kind,
        entity.description,
        entity.mention_count,
        entity.degree,
        entity.inputs_hash.as_str()
    ])
    .map(drop)
}

fn put_relation(conn: &Connection, relation: &Relation) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO relations (a, b, keywords, description, weight, fact_count, inputs_hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        relation.key.a().as_str(),
        relation.key.b().as_str(),
        rows::to_json(&relation.keywords)?,
        relation.description,
        relation.weight,
        relation.fact_count,
        relation.inputs_hash.as_str()
    ])
    .map(drop)
}

fn set_summaries(conn: &Connection, owner: &GraphKey, summaries: &[Summary]) -> rusqlite::Result<()> {
    let (kind, a, b) = super::read::owner_columns(owner);
    conn.prepare_cached("DELETE FROM summaries WHERE kind = ?1 AND a = ?2 AND b = ?3")?
        .execute(params![kind, a, b])?;
    for summary in summaries {
        conn.prepare_cached(
            "INSERT OR REPLACE INTO summaries (kind, a, b, key, text) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![kind, a, b, summary.key.as_str(), summary.text])?;
    }
    Ok(())
}

/// What an entity or relation leaves behind besides its vector.
fn forget(conn: &Connection, key: &GraphKey) -> rusqlite::Result<()> {
    set_summaries(conn, key, &[])?;
    set_stale(conn, key, false)
}

fn set_stale(conn: &Connection, key: &GraphKey, is_stale: bool) -> rusqlite::Result<()> {
    let (kind, a, b) = super::read::owner_columns(key);
    let sql = if is_stale {
        "INSERT OR IGNORE INTO stale (kind, a, b) VALUES (?1, ?2, ?3)"
    } else {
        "DELETE FROM stale WHERE kind = ?1 AND a = ?2 AND b = ?3"
    };
    conn.prepare_cached(sql)?.execute(params![kind, a, b]).map(drop)
}

fn put_vectors(
    conn: &Connection,
    trees: TreeLimits,
    vectors: &[VectorRow],
    touched: &mut Touched,
) -> rusqlite::Result<()> {
    let mut find = conn.prepare_cached("SELECT slot FROM vectors WHERE kind = ?1 AND key = ?2")?;
    for row in vectors {
        let (kind, key, hash) =
            (rows::kind_code(row.entry.kind), &row.entry.id, row.entry.inputs_hash.as_str());
        let data = vector::encode(&row.vector);
        let known: Option<i64> = find.query_row(params![kind, key], |found| found.get(0)).optional()?;
        let slot = match known {
            Some(slot) => {
                conn.prepare_cached("UPDATE vectors SET inputs_hash = ?3 WHERE kind = ?1 AND key = ?2")?
                    .execute(params![kind, key, hash])?;
                conn.prepare_cached("UPDATE vector_data SET data = ?2 WHERE slot = ?1")?
                    .execute(params![slot, data])?;
                slot
            }
            None => {
                conn.prepare_cached("INSERT INTO vector_data (data) VALUES (?1)")?.execute([&data])?;
                let slot = conn.last_insert_rowid();
                conn.prepare_cached(
                    "INSERT INTO vectors (kind, key, inputs_hash, slot) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![kind, key, hash, slot])?;
                slot
            }
        };
        vector_tree::put(conn, trees, row.entry.kind, (slot, key), &data, known.is_none())?;
        touch(touched, row.entry.kind, key, VECTOR);
    }
    Ok(())
}

fn remove_vector(conn: &Connection, trees: TreeLimits, kind: VectorKind, key: &str) -> rusqlite::Result<()> {
    let mut delete =
        conn.prepare_cached("DELETE FROM vectors WHERE kind = ?1 AND key = ?2 RETURNING slot")?;
    let slot: Option<i64> =
        delete.query_row(params![rows::kind_code(kind), key], |row| row.get(0)).optional()?;
    if let Some(slot) = slot {
        conn.prepare_cached("DELETE FROM vector_data WHERE slot = ?1")?.execute([slot])?;
        vector_tree::remove(conn, trees, kind, slot)?;
    }
    Ok(())
}

fn append_call(conn: &Connection, call: &Call) -> rusqlite::Result<()> {
    let (outcome, reason) = rows::call_outcome(&call.outcome);
    conn.prepare_cached(
        "INSERT INTO calls (role, model, prompt_tokens, completion_tokens, attempts, started_at, duration_ms,
            outcome, reason, document, cached_prompt_tokens, rejects)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        call.role.name(),
        call.model,
        rows::signed(call.prompt_tokens),
        rows::signed(call.completion_tokens),
        call.attempts,
        rows::signed(call.started_at.0),
        rows::signed(call.duration_ms),
        outcome,
        reason,
        call.document.as_ref().map(DocumentId::as_str),
        rows::signed(call.cached_prompt_tokens),
        call.rejects
    ])
    .map(drop)
}

fn unknown_document(id: &DocumentId) -> StoreError {
    invalid(format!("{id} does not exist"))
}
