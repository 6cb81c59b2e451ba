//! Applies a batch inside the writer's transaction. After an error, the caller rolls back to the state before the batch.

mod chunks;
mod documents;
mod ghosts;
mod graph;
mod layers;
mod vectors;

use std::collections::BTreeMap;

use graphloom_core::{Batch, Call, Decision, DocumentId, QueueState, Require, Revision, StoreError};
use rusqlite::{Connection, params};

pub(super) use chunks::{count_records, count_rejects};
use chunks::{put_chunk_contexts, put_chunks};
use documents::{document, put_document, put_job, remove_document, touch_chunks_of, unknown_document};
use graph::{put_graph, put_views};
use layers::put_layers;
use vectors::{put_vectors, remove_all_vectors};

use super::changes::{self, BatchKeys};
use super::error::Context;
use super::vector_tree::TreeLimits;
use super::{Revisions, rows};
use super::{cache, conversations, originals};
use crate::rules::{self, conflict};

pub(super) fn apply(conn: &Connection, trees: TreeLimits, batch: &Batch) -> Result<Revision, StoreError> {
    rules::check(batch)?;
    let before = Revisions::read(conn).during("reading the revision")?;
    batch.require.iter().try_for_each(|require| check_require(conn, before, require))?;
    if batch.is_empty() {
        return Ok(before.latest);
    }
    let Revisions { latest: revision, graph, evidence } = before.after(batch);
    let mut touched = BatchKeys::new();
    if batch.replace_embedding {
        remove_all_vectors(conn, &mut touched).during("removing all vectors")?;
    }
    set_embedding(conn, batch)?;
    if let Some(settings) = &batch.set_settings {
        set_settings(conn, settings).during("storing the settings of the workspace")?;
    }

    let at_risk = ghosts::at_risk(conn, batch)?;
    ghosts::write_out(conn, batch)?;
    for id in &batch.remove_documents {
        remove_document(conn, trees, id, &mut touched).during("removing a document")?;
    }
    conversations::remove_answers(conn, &batch.remove_documents, revision)
        .during("removing answers that rest on a removed document")?;
    for new in &batch.put_documents {
        put_document(conn, new, &mut touched)?;
    }
    for set in &batch.set_originals {
        let (number, _) = document(conn, &set.document)?.ok_or_else(|| unknown_document(&set.document))?;
        let bytes = set.bytes.as_deref().map(Vec::as_slice);
        originals::set(conn, number, bytes).during("storing an original")?;
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
    put_chunk_contexts(conn, batch, &mut touched)?;
    for decision in &batch.put_decisions {
        put_decision(conn, decision).during("putting a decision")?;
    }
    put_graph(conn, batch, &mut touched)?;
    put_views(conn, trees, batch, &mut touched).during("putting entities and relations")?;
    ghosts::refuse(conn, &at_risk)?;
    put_layers(conn, trees, batch, &mut touched)?;
    put_vectors(conn, trees, &batch.put_vectors, &mut touched).during("putting vectors")?;
    for call in &batch.append_calls {
        append_call(conn, call).during("appending to the ledger")?;
    }
    cache::remember(conn, &batch.clear_caches, &batch.put_cached).during("remembering answers")?;
    conversations::apply(conn, batch)?;
    changes::append(conn, &touched).during("logging changes")?;
    conn.prepare_cached("UPDATE state SET revision = ?1, graph_revision = ?2, evidence_revision = ?3")
        .and_then(|mut update| update.execute([revision, graph, evidence].map(|it| rows::signed(it.0))))
        .during("counting the revision")?;
    Ok(revision)
}

fn check_require(conn: &Connection, before: Revisions, require: &Require) -> Result<(), StoreError> {
    match require {
        Require::JobIs(job) => {
            let stored = super::read::job(conn, &job.document).during("reading a job")?;
            rules::require_job(job, stored.as_ref())
        }
        Require::ExtractionIs { chunk, extraction } => {
            let stored = super::read::extraction_state(conn, chunk).during("reading a chunk's state")?;
            rules::require_extraction(chunk, extraction, stored.as_ref())
        }
        Require::GraphUnchangedSince(known) if before.graph > *known => {
            Err(conflict(format!("the graph changed at {} after {known}", before.graph)))
        }
        Require::GraphUnchangedSince(_) => Ok(()),
        Require::UnchangedSince(known) => rules::require_revision(*known, before.latest),
        Require::LayerIs { name, layer } => {
            let stored = super::layers::layer(conn, name).during("reading a layer")?;
            rules::require_layer(name, layer.as_ref(), stored.as_ref())
        }
        Require::SettingsAre(settings) => {
            let stored = rows::settings(conn).during("reading the settings of the workspace")?;
            rules::require_settings(settings, &stored)
        }
        Require::SourceIs { source, documents } => {
            let stored = super::read::documents_by(conn, "source", source).during("reading a source")?;
            rules::require_source(source, documents, &stored.iter().collect::<Vec<_>>())
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

fn set_settings(conn: &Connection, settings: &BTreeMap<String, String>) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE state SET settings = ?1")?.execute([rows::to_json(settings)?]).map(drop)
}

fn set_queue(conn: &Connection, queue: QueueState) -> rusqlite::Result<()> {
    let since = match queue {
        QueueState::Running => None,
        QueueState::Paused { since } => Some(rows::signed(since.0)),
    };
    conn.prepare_cached("UPDATE state SET paused_since = ?1")?.execute([since]).map(drop)
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
