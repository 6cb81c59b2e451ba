//! Determines the documents whose words an answer may repeat.

use std::collections::BTreeSet;

use graphloom_core::{ChunkId, GraphKey, RestsOn, StoreError};

use super::Retrieval;
use crate::Engine;

/// Maximum number of chunks that are looked up for one entity or relation, and for a whole answer. With more chunks, an
/// answer counts as resting on everything.
const MAX_CHUNKS: usize = 2000;

/// Returns the documents that an answer from `retrieval` rests on: those of its passages, of its claims, and of all mentions
/// and facts of its entities and relations. An answer with reports, points or summaries rests on everything, because they are
/// written from the whole workspace.
pub async fn rests_on(engine: &Engine, retrieval: &Retrieval) -> Result<RestsOn, StoreError> {
    if !(retrieval.nodes.is_empty() && retrieval.reports.is_empty() && retrieval.points.is_empty()) {
        return Ok(RestsOn::Everything);
    }
    let mut documents: BTreeSet<_> =
        retrieval.chunks.iter().map(|found| found.chunk.document.clone()).collect();
    let mut keys: BTreeSet<GraphKey> =
        retrieval.entities.iter().map(|found| GraphKey::Entity(found.entity.key.clone())).collect();
    keys.extend(retrieval.relations.iter().map(|found| GraphKey::Relation(found.relation.key.clone())));
    let mut chunks: BTreeSet<ChunkId> = BTreeSet::new();
    for found in &retrieval.claims {
        chunks.extend(found.claim.quotes.iter().map(|quote| quote.chunk.clone()));
        keys.insert(GraphKey::Entity(found.claim.subject.clone()));
        keys.extend(found.claim.object.clone().map(GraphKey::Entity));
    }
    if keys.is_empty() && chunks.is_empty() {
        return Ok(RestsOn::Documents(documents));
    }
    let snapshot = engine.store.snapshot().await?;
    let keys: Vec<GraphKey> = keys.into_iter().collect();
    for behind in snapshot.chunks_behind(&keys, None, MAX_CHUNKS).await? {
        if behind.len() == MAX_CHUNKS {
            return Ok(RestsOn::Everything);
        }
        chunks.extend(behind);
    }
    for found in &retrieval.chunks {
        chunks.remove(&found.chunk.id);
    }
    if chunks.len() > MAX_CHUNKS {
        return Ok(RestsOn::Everything);
    }
    let chunks: Vec<ChunkId> = chunks.into_iter().collect();
    documents.extend(snapshot.chunks(&chunks).await?.into_iter().flatten().map(|chunk| chunk.document));
    Ok(RestsOn::Documents(documents))
}
