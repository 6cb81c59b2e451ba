//! A part of the graph with positions, for drawing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use graphloom_core::Revision;
use graphloom_engine::explore::{self, MAX_DEPTH, MAX_PICTURE_NODES, Picture, SubgraphQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apart::apart;
use crate::input::{ExistingWorkspace, Params};
use crate::problem::Problem;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Maximum pictures kept per workspace; a picture of 10,000 entities has about one megabyte.
const KEPT: usize = 4;

pub(super) const ROUTES: &[Route] = &[Route::get(
    "/graph/picture",
    "The neighbourhood of an entity, with a position of each entity for drawing",
    || get(picture),
)
.reads()
.load(Load::Whole)
.takes(Takes::Query(schema::<PictureParams>))
.gives(Gives::Json(schema::<GraphPicture>))];

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PictureParams {
    /// Entity name, or `*` for the entities with the most relations.
    label: String,
    /// Maximum distance in relations, 1 to 20.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = MAX_DEPTH))]
    max_depth: u32,
    /// Maximum entities, 1 to 10,000.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = MAX_PICTURE_NODES))]
    max_nodes: usize,
}

fn two() -> u32 {
    2
}

fn hundred() -> usize {
    100
}

/// A part of the graph as parallel lists, because a picture has many entities and relations.
#[derive(Debug, Serialize, JsonSchema)]
struct GraphPicture {
    /// The names of its entities, starting with the center; empty if no entity has the name.
    names: Vec<String>,
    /// The types that occur.
    kinds: Vec<String>,
    /// The type of each entity, as an index in `kinds`.
    kind_of: Vec<u32>,
    /// The position of each entity, around 0. The same part always has the same positions.
    x: Vec<f64>,
    y: Vec<f64>,
    /// One end of each relation, as an index in `names`.
    source: Vec<u32>,
    /// The other end.
    target: Vec<u32>,
    /// The weight of each relation.
    weight: Vec<f64>,
    /// Whether connected entities were left out.
    is_truncated: bool,
    /// The number of entities in the whole graph.
    total: u64,
}

impl GraphPicture {
    fn of(picture: Picture, total: u64) -> Self {
        let Picture { part, places } = picture;
        let numbers: BTreeMap<_, u32> =
            part.nodes.iter().map(|node| node.entity.key.clone()).zip(0..).collect();
        let names = part.nodes.iter().map(|node| node.entity.name.clone()).collect();
        let mut kinds: Vec<String> = part.nodes.iter().map(|node| node.entity.kind.clone()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let kind_of = |kind: &String| kinds.binary_search(kind).unwrap_or_default() as u32;
        let kind_of = part.nodes.iter().map(|node| kind_of(&node.entity.kind)).collect();
        let end = |key| numbers.get(key).copied().unwrap_or_default();
        Self {
            names,
            kind_of,
            kinds,
            x: places.iter().map(|place| rounded(place[0], 10.0)).collect(),
            y: places.iter().map(|place| rounded(place[1], 10.0)).collect(),
            source: part.edges.iter().map(|edge| end(edge.key.a())).collect(),
            target: part.edges.iter().map(|edge| end(edge.key.b())).collect(),
            weight: part.edges.iter().map(|edge| rounded(edge.weight, 1000.0)).collect(),
            is_truncated: part.truncated,
            total,
        }
    }
}

fn rounded(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}

/// The latest pictures of a workspace as they were sent, by state of the graph and request.
#[derive(Debug, Default)]
pub(crate) struct Pictures(Mutex<VecDeque<((Revision, PictureParams), Bytes)>>);

impl Pictures {
    fn get(&self, key: &(Revision, PictureParams)) -> Option<Bytes> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(other, _)| other == key).map(|(_, body)| body.clone())
    }

    fn keep(&self, key: (Revision, PictureParams), body: Bytes) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(other, _)| *other != key);
        kept.push_front((key, body));
        kept.truncate(KEPT);
    }
}

async fn picture(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(params): Params<PictureParams>,
) -> Result<impl IntoResponse, Problem> {
    super::exploring::within("max_depth", params.max_depth as usize, MAX_DEPTH as usize)?;
    super::exploring::within("max_nodes", params.max_nodes, MAX_PICTURE_NODES)?;
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let key = (snapshot.graph_revision(), params);
        let body = match space.pictures.get(&key) {
            Some(body) => body,
            None => {
                let PictureParams { label, max_depth, max_nodes } = key.1.clone();
                let query = SubgraphQuery { label, max_depth, max_nodes };
                let found = explore::picture(snapshot, &query).await?;
                let found = found
                    .unwrap_or_else(|| Picture { part: explore::Subgraph::default(), places: Vec::new() });
                let picture = GraphPicture::of(found, snapshot.counts().await?.entities);
                let body = serde_json::to_vec(&picture).map_err(|error| Problem::internal(&error))?;
                let body = Bytes::from(body);
                space.pictures.keep(key, body.clone());
                body
            }
        };
        Ok(([(CONTENT_TYPE, "application/json")], body))
    })
    .await
}
