//! Reads the whole state of a workspace for consistency checks.

use std::collections::BTreeMap;

use graphloom_core::{DocumentId, DocumentStatus, GraphKey, ItemKind, Snapshot, StoreError, table};
use graphloom_engine::index::{DocumentState, states_of};

use crate::passage_of;
use crate::protocol::Dump;

/// Rows per read.
const PAGE: usize = 1000;

/// Counts the documents by status.
pub(crate) async fn statuses(snapshot: &dyn Snapshot) -> Result<BTreeMap<&'static str, usize>, StoreError> {
    let mut counts = BTreeMap::new();
    for state in states(snapshot).await? {
        *counts.entry(status_name(&state.status)).or_default() += 1;
    }
    Ok(counts)
}

/// Returns the whole state.
pub(crate) async fn dump(snapshot: &dyn Snapshot) -> Result<Dump, StoreError> {
    let mut dump = Dump::default();
    let mut passages: BTreeMap<DocumentId, String> = BTreeMap::new();
    for DocumentState { document, status, .. } in states(snapshot).await? {
        let passage = passage_of(&document.source).to_owned();
        if let DocumentStatus::Failed { reason } = &status {
            dump.doc_errors.insert(passage.clone(), reason.clone());
        }
        dump.docs.insert(passage.clone(), status_name(&status));
        passages.insert(document.id, passage);
    }

    let mut pages = snapshot.pages(table::Chunks);
    while let Some(page) = pages.next().await? {
        dump.chunks.extend(page.into_iter().map(|chunk| {
            let passage = passages.get(&chunk.document).cloned().unwrap_or_default();
            (chunk.id.to_string(), passage)
        }));
    }

    let mut pages = snapshot.pages(table::Entities);
    while let Some(page) = pages.next().await? {
        let keys: Vec<GraphKey> = page.iter().map(|entity| GraphKey::Entity(entity.key.clone())).collect();
        let sources = snapshot.chunks_behind(&keys, None, usize::MAX).await?;
        for (entity, chunks) in page.into_iter().zip(sources) {
            let chunks = chunks.iter().map(ToString::to_string).collect();
            dump.entity_sources.insert(entity.key.to_string(), chunks);
            dump.entities.push(entity.key.to_string());
        }
    }

    let mut pages = snapshot.pages(table::Relations);
    while let Some(page) = pages.next().await? {
        dump.edges.extend(page.into_iter().map(|relation| (relation.key.to_string(), relation.weight)));
    }

    dump.chunk_vectors = vector_ids(snapshot, ItemKind::Chunk).await?;
    dump.entity_vectors = vector_ids(snapshot, ItemKind::Entity).await?;
    dump.edge_vectors = vector_ids(snapshot, ItemKind::Relation).await?;
    Ok(dump)
}

async fn vector_ids(snapshot: &dyn Snapshot, kind: ItemKind) -> Result<Vec<String>, StoreError> {
    let entries = snapshot.pages(table::Vectors { kind }).all().await?;
    Ok(entries.into_iter().map(|entry| entry.item.id().into_owned()).collect())
}

/// Returns the ids of all documents.
pub(crate) async fn document_ids(snapshot: &dyn Snapshot) -> Result<Vec<DocumentId>, StoreError> {
    let mut ids = Vec::new();
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        ids.extend(page.into_iter().map(|document| document.id));
    }
    Ok(ids)
}

/// Returns all documents with their status.
async fn states(snapshot: &dyn Snapshot) -> Result<Vec<DocumentState>, StoreError> {
    let mut found = Vec::new();
    for page in document_ids(snapshot).await?.chunks(PAGE) {
        found.extend(states_of(snapshot, page).await?.into_iter().flatten());
    }
    Ok(found)
}

/// Returns the harness's name for a status; a finished document is `processed`.
fn status_name(status: &DocumentStatus) -> &'static str {
    match status {
        DocumentStatus::Waiting => "waiting",
        DocumentStatus::Indexing { .. } => "indexing",
        DocumentStatus::Ready { .. } => "processed",
        DocumentStatus::Incomplete { .. } => "incomplete",
        DocumentStatus::Failed { .. } => "failed",
        DocumentStatus::Cancelled { .. } => "cancelled",
    }
}
