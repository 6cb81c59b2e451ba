//! Removes what a batch deletes with its documents, entities, relations and layers. Runs before the batch's additions.

use std::collections::BTreeSet;

use graphloom_core::{Batch, DocumentId, ItemKind, LayerName};
use tokio::try_join;

use super::{SearchChanges, chunks, conversations, layers, remove_rows, remove_vectors, views};
use crate::error::Fault;
use crate::rows::get;
use crate::session::Session;

pub(super) async fn apply(
    session: &Session,
    batch: &Batch,
    touched: &mut SearchChanges,
) -> Result<(), Fault> {
    let documents: Vec<&str> = batch.remove_documents.iter().map(DocumentId::as_str).collect();
    let layers: Vec<&str> = batch.remove_layers.iter().map(LayerName::as_str).collect();
    let (removed, mut released) = remove_chunks(session, &documents).await?;
    let (renewed, (), exchanges, (), nodes, ()) = try_join!(biased;
        remove_of_chunks(session, &removed),
        remove_documents(session, &documents),
        conversations::resting_on(session, &documents),
        views::remove(session, batch),
        layers::leaving(session, batch, &removed),
        remove_rows(session, &["layers"], "name", &layers)
    )?;
    released.extend(renewed);
    try_join!(biased;
        chunks::release(session, released),
        conversations::remove_answers(session, exchanges),
        layers::remove_nodes(session, &nodes)
    )?;
    touched.chunks.extend(removed);
    touched.nodes.extend(nodes);
    Ok(())
}

/// Removes the chunks of documents. Returns the chunks and their extractions.
async fn remove_chunks(
    session: &Session,
    documents: &[&str],
) -> Result<(Vec<String>, BTreeSet<String>), Fault> {
    let (mut removed, mut released) = (Vec::new(), BTreeSet::new());
    if documents.is_empty() {
        return Ok((removed, released));
    }
    let sql =
        "DELETE FROM chunks WHERE workspace_id = $1 AND document = ANY($2) RETURNING id, extraction_key";
    for row in session.rows(sql, &[&documents]).await? {
        removed.push(get(&row, 0)?);
        released.extend(get::<Option<String>>(&row, 1)?);
    }
    Ok((removed, released))
}

/// Removes everything that belongs to these chunks. Returns the extractions of their renewals.
async fn remove_of_chunks(session: &Session, chunks: &[String]) -> Result<BTreeSet<String>, Fault> {
    let (renewed, (), ()) = try_join!(biased;
        chunks::remove_renewals(session, chunks),
        remove_rows(session, &["situations", "mentions", "facts", "claims"], "chunk", chunks),
        remove_vectors(session, ItemKind::Chunk, chunks)
    )?;
    Ok(renewed)
}

async fn remove_documents(session: &Session, documents: &[&str]) -> Result<(), Fault> {
    try_join!(biased;
        remove_rows(session, &["documents"], "id", documents),
        remove_rows(session, &["texts", "originals", "jobs", "tracks"], "document", documents)
    )
    .map(drop)
}
