//! Links between entities whose vectors are near each other.
//!
//! Source: the synonym edges of HippoRAG 2 (Gutiérrez et al., ICML 2025), but only for entities that PageRank starts at.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{EntityKey, ItemKey, ItemKind, LinkGraph, NodeNumber, StoreError};

use crate::filtered::FilteredSnapshot;

/// Number of nearest entities considered.
const NEAREST: usize = 5;

/// Returns the links, listed at both ends. An entity of `entities` is linked with those of its nearest entities that have it
/// among their own nearest, at a cosine of `least` or more.
pub(super) async fn links(
    scope: &FilteredSnapshot<'_>,
    graph: &LinkGraph,
    entities: &BTreeSet<EntityKey>,
    least: f32,
) -> Result<BTreeMap<NodeNumber, Vec<NodeNumber>>, StoreError> {
    let nearest = nearest(scope, entities.iter().cloned().collect(), least).await?;
    let candidates: BTreeSet<EntityKey> = nearest.values().flatten().cloned().collect();
    let back = self::nearest(scope, candidates.into_iter().collect(), least).await?;
    let mut links: BTreeMap<NodeNumber, BTreeSet<NodeNumber>> = BTreeMap::new();
    for (entity, others) in &nearest {
        for other in others.iter().filter(|other| back.get(other).is_some_and(|keys| keys.contains(entity))) {
            if let (Some(one), Some(other)) = (graph.entity(entity), graph.entity(other)) {
                links.entry(one).or_default().insert(other);
                links.entry(other).or_default().insert(one);
            }
        }
    }
    let canonical = |nodes: BTreeSet<NodeNumber>| {
        let mut nodes: Vec<NodeNumber> = nodes.into_iter().collect();
        nodes.sort_by_key(|&node| (graph.order(node), node));
        nodes
    };
    Ok(links.into_iter().map(|(node, others)| (node, canonical(others))).collect())
}

/// Returns the nearest other entities of each entity that has a vector.
async fn nearest(
    scope: &FilteredSnapshot<'_>,
    entities: Vec<EntityKey>,
    least: f32,
) -> Result<BTreeMap<EntityKey, Vec<EntityKey>>, StoreError> {
    let items: Vec<ItemKey> = entities.iter().map(|key| ItemKey::Entity(key.clone())).collect();
    let vectors = scope.snapshot.vectors(&items).await?;
    let known: Vec<(EntityKey, Vec<f32>)> =
        entities.into_iter().zip(vectors).filter_map(|(key, vector)| Some((key, vector?))).collect();
    let vectors = known.iter().map(|(_, vector)| vector.clone()).collect();
    let hits = scope.nearest_to_each(ItemKind::Entity, vectors, NEAREST + 1, least).await?;
    let others = known.into_iter().zip(hits).map(|((key, _), hits)| {
        let others = hits.into_iter().filter_map(|hit| hit.item.into_entity());
        let others = others.filter(|other| *other != key).take(NEAREST).collect();
        (key, others)
    });
    Ok(others.collect())
}
