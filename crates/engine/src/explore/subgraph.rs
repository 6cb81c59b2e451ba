//! Returns the neighbourhood of an entity, or the entities with the most relations, within limits.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use graphloom_core::{Entity, EntityKey, Relation, RelationKey, Snapshot, StoreError};
use serde::Serialize;

use super::labels::popular_labels;
use crate::edit::find_entity;

/// Maximum number of entities in a result [LightRAG].
pub const MAX_NODES: usize = 1000;
/// Maximum distance from the start.
pub const MAX_DEPTH: u32 = 20;
/// Entities whose relations are read at once.
const PAGE: usize = 100;
/// The label for the whole graph.
const EVERYTHING: &str = "*";

/// Selects a part of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubgraphQuery {
    /// The start: an entity's name, or `*` for the best connected entities.
    pub label: String,
    /// Maximum distance from the start, in relations; at most [`MAX_DEPTH`].
    pub max_depth: u32,
    /// Maximum number of entities; [`subgraph`] returns at most [`MAX_NODES`].
    pub max_nodes: usize,
}

impl Default for SubgraphQuery {
    /// LightRAG's defaults: everything within three relations.
    fn default() -> Self {
        Self { label: EVERYTHING.to_owned(), max_depth: 3, max_nodes: MAX_NODES }
    }
}

/// A part of the graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Subgraph {
    /// Its entities, in the order they were reached.
    pub nodes: Vec<GraphNode>,
    /// The relations among them, by key.
    pub edges: Vec<Relation>,
    /// Whether entities were left out.
    pub truncated: bool,
    /// The limits that left something out.
    pub truncated_by: Vec<Limit>,
    /// Entities that were found but left out; there may be more behind them.
    pub left_out: u64,
}

/// An entity and its distance from the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphNode {
    /// The distance, in relations.
    pub depth: u32,
    /// The entity.
    #[serde(flatten)]
    pub entity: Entity,
}

/// A limit of a [`SubgraphQuery`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `max_depth`.
    Depth,
    /// `max_nodes`.
    Nodes,
}

/// Returns the part of the graph that `query` selects; `None` if no entity has that name.
///
/// The search is breadth-first. Within a depth the best connected entities come first, ties by name. Unlike LightRAG's, the result
/// also says when the depth limit left something out.
pub fn subgraph<'a>(
    snapshot: &'a dyn Snapshot,
    query: &'a SubgraphQuery,
) -> BoxFuture<'a, Result<Option<Subgraph>, StoreError>> {
    within(snapshot, query, MAX_NODES)
}

/// Same as [`subgraph`], with at most `most` entities.
pub(super) fn within<'a>(
    snapshot: &'a dyn Snapshot,
    query: &'a SubgraphQuery,
    most: usize,
) -> BoxFuture<'a, Result<Option<Subgraph>, StoreError>> {
    Box::pin(async move {
        let max_nodes = query.max_nodes.min(most);
        let mut graph = Subgraph::default();
        let mut around = Neighbourhood::default();
        if query.label == EVERYTHING {
            let best = popular_labels(snapshot, max_nodes).await?;
            let keys: Vec<EntityKey> = best.into_iter().map(|label| label.key).collect();
            let entities = snapshot.entities(&keys).await?.into_iter().flatten();
            graph.nodes = entities.map(|entity| GraphNode { depth: 0, entity }).collect();
            let left_out = snapshot.counts().await?.entities.saturating_sub(graph.nodes.len() as u64);
            graph.leave_out(Limit::Nodes, left_out);
        } else {
            let Some(start) = find_entity(snapshot, &query.label).await? else { return Ok(None) };
            let max_depth = query.max_depth.min(MAX_DEPTH);
            reach(snapshot, start, max_depth, max_nodes, &mut graph, &mut around).await?;
        }
        let keys: Vec<EntityKey> = graph.nodes.iter().map(|node| node.entity.key.clone()).collect();
        around.read(snapshot, &keys).await?;
        let kept: BTreeSet<EntityKey> = keys.into_iter().collect();
        let is_inside = |relation: &Relation| relation.key.ends().into_iter().all(|end| kept.contains(end));
        graph.edges = around.relations.into_values().filter(is_inside).collect();
        Ok(Some(graph))
    })
}

impl Subgraph {
    fn leave_out(&mut self, limit: Limit, count: u64) {
        if count > 0 {
            self.truncated = true;
            self.truncated_by.push(limit);
            self.left_out += count;
        }
    }
}

async fn reach(
    snapshot: &dyn Snapshot,
    start: Entity,
    max_depth: u32,
    max_nodes: usize,
    graph: &mut Subgraph,
    around: &mut Neighbourhood,
) -> Result<(), StoreError> {
    if max_nodes == 0 {
        graph.leave_out(Limit::Nodes, 1);
        return Ok(());
    }
    let mut seen = BTreeSet::from([start.key.clone()]);
    let mut edge = vec![start.key.clone()];
    graph.nodes.push(GraphNode { depth: 0, entity: start });
    for depth in 1..=max_depth + 1 {
        let mut next: BTreeSet<EntityKey> = BTreeSet::new();
        for ends in around.read(snapshot, &edge).await? {
            next.extend(ends.into_iter().filter(|end| !seen.contains(end)));
        }
        if next.is_empty() {
            return Ok(());
        }
        if depth > max_depth {
            graph.leave_out(Limit::Depth, next.len() as u64);
            return Ok(());
        }
        let keys: Vec<EntityKey> = next.iter().cloned().collect();
        let mut entities: Vec<Entity> = snapshot.entities(&keys).await?.into_iter().flatten().collect();
        entities.sort_by(|one, other| {
            (other.degree, &one.name, &one.key).cmp(&(one.degree, &other.name, &other.key))
        });
        let left_out = (entities.len() + graph.nodes.len()).saturating_sub(max_nodes);
        entities.truncate(entities.len() - left_out);
        seen.extend(next);
        edge = entities.iter().map(|entity| entity.key.clone()).collect();
        graph.nodes.extend(entities.into_iter().map(|entity| GraphNode { depth, entity }));
        graph.leave_out(Limit::Nodes, left_out as u64);
        if left_out > 0 {
            return Ok(());
        }
    }
    Ok(())
}

/// Relations read so far, each once.
#[derive(Default)]
struct Neighbourhood {
    relations: BTreeMap<RelationKey, Relation>,
    /// The entities whose relations were read.
    read: BTreeSet<EntityKey>,
}

impl Neighbourhood {
    /// Reads the relations of the entities that were not read before; returns the ends of the relations read.
    async fn read(
        &mut self,
        snapshot: &dyn Snapshot,
        entities: &[EntityKey],
    ) -> Result<Vec<[EntityKey; 2]>, StoreError> {
        let missing: Vec<EntityKey> =
            entities.iter().filter(|key| self.read.insert((*key).clone())).cloned().collect();
        let mut ends = Vec::new();
        for keys in missing.chunks(PAGE) {
            for relation in snapshot.relations_of(keys).await?.into_iter().flatten() {
                ends.push(relation.key.ends().map(EntityKey::clone));
                self.relations.insert(relation.key.clone(), relation);
            }
        }
        Ok(ends)
    }
}
