//! Finds the shortest path between two entities, within limits.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use graphloom_core::{Entity, EntityKey, Relation, RelationKey, Snapshot, StoreError};

/// Maximum number of relations in a path.
pub const MAX_PATH_LENGTH: u32 = 8;
/// Maximum number of entities that a search visits.
const MAX_SEEN: usize = 20_000;
/// Entities whose relations are read at once.
const PAGE: usize = 100;

/// The result of a search for a path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSearch {
    /// The path; `None` if there is none within the limits.
    pub path: Option<GraphPath>,
    /// Number of entities visited.
    pub seen: u64,
    /// Whether a limit ended the search. If so, a path may exist even if none was found.
    pub is_limited: bool,
}

/// A path through the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphPath {
    /// The entities from the first to the last, both included.
    pub entities: Vec<Entity>,
    /// The relations between them, in the same order.
    pub relations: Vec<Relation>,
}

/// One side of the search. For each entity reached: the entity before it, and the weight of the relation between them.
struct Side {
    before: BTreeMap<EntityKey, Option<(EntityKey, f64)>>,
    edge: BTreeSet<EntityKey>,
}

impl Side {
    fn at(start: &EntityKey) -> Self {
        Self { before: BTreeMap::from([(start.clone(), None)]), edge: BTreeSet::from([start.clone()]) }
    }

    /// Extends this side by one relation.
    async fn advance(&mut self, snapshot: &dyn Snapshot) -> Result<(), StoreError> {
        let edge: Vec<EntityKey> = std::mem::take(&mut self.edge).into_iter().collect();
        let mut reached: BTreeMap<EntityKey, (EntityKey, f64)> = BTreeMap::new();
        for keys in edge.chunks(PAGE) {
            let relations = snapshot.relations_of(keys).await?;
            for (key, relation) in
                keys.iter().zip(relations).flat_map(|(key, all)| all.into_iter().map(move |it| (key, it)))
            {
                for end in relation.key.ends() {
                    if self.before.contains_key(end) {
                        continue;
                    }
                    // If several relations lead to an entity, the heaviest; ties by the key of the entity before it.
                    let known = reached.get(end);
                    if known.is_none_or(|(_, weight)| relation.weight > *weight) {
                        reached.insert(end.clone(), (key.clone(), relation.weight));
                    }
                }
            }
        }
        self.edge = reached.keys().cloned().collect();
        self.before.extend(reached.into_iter().map(|(key, way)| (key, Some(way))));
        Ok(())
    }

    /// Returns the path from this entity back to the start.
    fn way_back(&self, from: &EntityKey) -> Vec<EntityKey> {
        let mut way = vec![from.clone()];
        while let Some(Some((before, _))) = way.last().and_then(|key| self.before.get(key)) {
            way.push(before.clone());
        }
        way
    }
}

/// Finds a path with as few relations as possible, at most `max_length` and [`MAX_PATH_LENGTH`]. If there are several, it takes the
/// one through the entity with the fewest relations, which says more than a path through a hub; ties by key.
///
/// The search runs from both ends at once and visits at most 20,000 entities.
pub fn shortest_path<'a>(
    snapshot: &'a dyn Snapshot,
    from: &'a EntityKey,
    to: &'a EntityKey,
    max_length: u32,
) -> BoxFuture<'a, Result<PathSearch, StoreError>> {
    Box::pin(async move {
        let (mut near, mut far) = (Side::at(from), Side::at(to));
        let mut length = 0;
        loop {
            let seen = (near.before.len() + far.before.len()) as u64;
            let met: Vec<EntityKey> =
                near.before.keys().filter(|key| far.before.contains_key(*key)).cloned().collect();
            if !met.is_empty() {
                let degrees = snapshot.degrees(&met).await?;
                let best = met.iter().zip(degrees).min_by_key(|(key, degree)| (*degree, (*key).clone()));
                let Some((middle, _)) = best else { break };
                let mut way = near.way_back(middle);
                way.reverse();
                way.extend(far.way_back(middle).into_iter().skip(1));
                let path = path_along(snapshot, &way).await?;
                return Ok(PathSearch { path: Some(path), seen, is_limited: false });
            }
            let is_over = near.edge.is_empty() || far.edge.is_empty();
            let is_limited = length >= max_length.min(MAX_PATH_LENGTH) || seen as usize >= MAX_SEEN;
            if is_over || is_limited {
                return Ok(PathSearch { path: None, seen, is_limited: !is_over });
            }
            let smaller = if near.edge.len() <= far.edge.len() { &mut near } else { &mut far };
            smaller.advance(snapshot).await?;
            length += 1;
        }
        Ok(PathSearch { path: None, seen: 0, is_limited: false })
    })
}

async fn path_along(snapshot: &dyn Snapshot, way: &[EntityKey]) -> Result<GraphPath, StoreError> {
    let entities = snapshot.entities(way).await?.into_iter().flatten().collect();
    let keys: Vec<RelationKey> =
        way.windows(2).filter_map(|ends| RelationKey::new(ends[0].clone(), ends[1].clone())).collect();
    let relations = snapshot.relations(&keys).await?.into_iter().flatten().collect();
    Ok(GraphPath { entities, relations })
}
