//! A part of the graph with a position for every entity.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use graphloom_cluster::{Link, layout};
use graphloom_core::{EntityKey, Snapshot, StoreError};

use super::subgraph::{Subgraph, SubgraphQuery, within};

/// Maximum number of entities in a picture.
pub const MAX_PICTURE_NODES: usize = 10_000;

/// A part of the graph with its layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The entities and relations.
    pub part: Subgraph,
    /// The position of each entity, in the same order. The first is in the middle.
    pub places: Vec<[f64; 2]>,
}

/// Returns the part of the graph that `query` selects, with at most [`MAX_PICTURE_NODES`] entities; `None` if no entity has that
/// name. Positions depend only on the part, so the same part always looks the same.
pub fn picture<'a>(
    snapshot: &'a dyn Snapshot,
    query: &'a SubgraphQuery,
) -> BoxFuture<'a, Result<Option<Picture>, StoreError>> {
    Box::pin(async move {
        let Some(part) = within(snapshot, query, MAX_PICTURE_NODES).await? else { return Ok(None) };
        let places = places_of(&part);
        Ok(Some(Picture { part, places }))
    })
}

fn places_of(part: &Subgraph) -> Vec<[f64; 2]> {
    let keys = part.nodes.iter().map(|node| &node.entity.key);
    let numbers: BTreeMap<&EntityKey, u32> = keys.clone().zip(0..).collect();
    let seeds: Vec<u64> = keys.map(|key| seed_of(key.as_str())).collect();
    let links = part.edges.iter().filter_map(|edge| {
        let (one, other) = (*numbers.get(edge.key.a())?, *numbers.get(edge.key.b())?);
        // Relations stated by many passages pull harder, but not in proportion.
        Some(Link { one, other, pull: (1.0 + edge.weight.max(0.0).ln_1p()).sqrt() })
    });
    layout(&seeds, &links.collect::<Vec<_>>())
}

/// Returns a number that depends only on the text (FNV-1a).
fn seed_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |seed, byte| {
        (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
