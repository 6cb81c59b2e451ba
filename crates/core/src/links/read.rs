//! Reads the link graph from the tables of any store.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::{LinkGraph, LinkGraphBuilder};
use crate::{ChunkId, GraphKey, Snapshot, StoreError, Visibility, table};

/// The link graph of the chunks of live documents: the one that the store keeps, or one read from its mentions and
/// facts, which takes a while and as much memory as there are links.
pub async fn link_graph(snapshot: &dyn Snapshot) -> Result<Arc<LinkGraph>, StoreError> {
    if let Some(kept) = snapshot.links().await? {
        return Ok(kept);
    }
    let live = live_chunks(snapshot).await?;
    let mut keys: BTreeMap<ChunkId, BTreeSet<GraphKey>> = BTreeMap::new();
    let mut pages = snapshot.pages(table::Mentions);
    while let Some(page) = pages.next().await? {
        for mention in page.into_iter().filter(|it| !it.set_aside && live.contains(&it.chunk)) {
            keys.entry(mention.chunk).or_default().insert(GraphKey::Entity(mention.entity));
        }
    }
    let mut pages = snapshot.pages(table::Facts);
    while let Some(page) = pages.next().await? {
        for fact in page.into_iter().filter(|it| !it.set_aside && live.contains(&it.chunk)) {
            let of_chunk = keys.entry(fact.chunk).or_default();
            of_chunk.extend(fact.relation.ends().map(|end| GraphKey::Entity(end.clone())));
            of_chunk.insert(GraphKey::Relation(fact.relation));
        }
    }
    let mut builder = LinkGraphBuilder::default();
    for (chunk, keys) in keys {
        builder.add(&chunk, &keys.into_iter().collect::<Vec<_>>());
    }
    Ok(Arc::new(builder.build()))
}

async fn live_chunks(snapshot: &dyn Snapshot) -> Result<HashSet<ChunkId>, StoreError> {
    let mut live = HashSet::new();
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        let documents = page.into_iter().filter(|document| document.visibility == Visibility::Live);
        let documents: Vec<_> = documents.map(|document| document.id).collect();
        live.extend(snapshot.chunk_ids_of(&documents).await?.into_iter().flatten());
    }
    Ok(live)
}
