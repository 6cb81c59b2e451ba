//! The links that PageRank walks: all of them, or those around the question if the store cannot keep them all in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphloom_core::{ChunkId, EntityKey, GraphKey, LinkGraph, Links, RelationKey, StoreError};

use crate::filtered::FilteredSnapshot;

/// Chunks read for an entity that the question names. The trust in PageRank counts a name with this many chunks as common.
const CHUNKS_OF_NAME: usize = 200;
/// Chunks read for any other entity or relation.
const CHUNKS_OF_KEY: usize = 20;
/// Steps from chunk to chunk. With a damping of 0.5, chunks farther away get less than 1/64 of the weight.
const STEPS: usize = 3;
/// Maximum number of chunks in [`PartialLinks`]. Chunks of rare entities and relations come first.
const MAX_CHUNKS: usize = 5_000;

/// The links that PageRank walks for a question.
pub(super) struct WalkedLinks {
    pub(super) graph: Arc<LinkGraph>,
    /// Approximate number of chunks, entities and relations of all links.
    pub(super) nodes: usize,
    part: Option<PartialLinks>,
}

/// The links read so far, if the workspace has too many links to keep them all.
#[derive(Default)]
struct PartialLinks {
    links: BTreeMap<ChunkId, Vec<GraphKey>>,
    /// Keys whose chunks were read.
    followed: BTreeSet<GraphKey>,
}

impl WalkedLinks {
    /// Returns all links, or those of chunks that mention one of these names.
    pub(super) async fn naming(
        scope: &FilteredSnapshot<'_>,
        names: impl FnOnce() -> Vec<EntityKey>,
    ) -> Result<Self, StoreError> {
        let nodes = match scope.snapshot.links().await? {
            Links::Whole(graph) => return Ok(Self { nodes: graph.len(), graph, part: None }),
            Links::TooMany { nodes } => nodes,
        };
        let mut part = PartialLinks::default();
        let names = names().into_iter().map(GraphKey::Entity).collect();
        let behind = part.follow(scope, names, CHUNKS_OF_NAME).await?;
        part.read(scope, behind).await?;
        Ok(Self { graph: Arc::new(part.graph()), nodes, part: Some(part) })
    }

    /// Adds the links around these passages and facts, and around the links read so far. Does nothing if all links are known.
    pub(super) async fn around(
        &mut self,
        scope: &FilteredSnapshot<'_>,
        passages: impl Iterator<Item = &ChunkId>,
        facts: impl Iterator<Item = &RelationKey>,
    ) -> Result<(), StoreError> {
        let Some(part) = &mut self.part else { return Ok(()) };
        let facts = facts.cloned().map(GraphKey::Relation).collect();
        let behind = part.follow(scope, facts, CHUNKS_OF_KEY).await?;
        part.read(scope, passages.cloned().chain(behind).collect()).await?;
        for _ in 0..STEPS {
            let keys = part.links.values().flatten().cloned().collect();
            let behind = part.follow(scope, keys, CHUNKS_OF_KEY).await?;
            part.read(scope, behind).await?;
        }
        self.graph = Arc::new(part.graph());
        Ok(())
    }
}

impl PartialLinks {
    /// Returns the chunks of the keys that were not followed before; keys with the fewest chunks come first.
    async fn follow(
        &mut self,
        scope: &FilteredSnapshot<'_>,
        mut keys: BTreeSet<GraphKey>,
        most: usize,
    ) -> Result<Vec<ChunkId>, StoreError> {
        keys.retain(|key| !self.followed.contains(key));
        let keys: Vec<GraphKey> = keys.into_iter().collect();
        let mut behind = scope.chunks_behind(&keys, most).await?;
        behind.sort_by_key(Vec::len);
        self.followed.extend(keys);
        Ok(behind.into_iter().flatten().collect())
    }

    async fn read(&mut self, scope: &FilteredSnapshot<'_>, chunks: Vec<ChunkId>) -> Result<(), StoreError> {
        let mut seen = BTreeSet::new();
        let chunks: Vec<ChunkId> = (chunks.into_iter())
            .filter(|chunk| !self.links.contains_key(chunk) && seen.insert(chunk.clone()))
            .take(MAX_CHUNKS.saturating_sub(self.links.len()))
            .collect();
        let links = scope.snapshot.links_of(&chunks).await?;
        self.links.extend(chunks.into_iter().zip(links));
        Ok(())
    }

    fn graph(&self) -> LinkGraph {
        LinkGraph::of(self.links.iter().map(|(chunk, keys)| (chunk.clone(), keys.clone())))
    }
}
