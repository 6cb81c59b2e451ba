//! Entity names and parts of the graph.

use std::collections::BTreeMap;

use axum::routing::get;
use graphloom_core::{Entity, EntityKey, GraphKey, Relation};
use graphloom_engine::edit::find_entity;
use graphloom_engine::explore::{
    self, GraphPath, MAX_DEPTH, MAX_LABELS, MAX_MATCHES, MAX_NODES, MAX_PATH_LENGTH, PathSearch, Subgraph,
    SubgraphQuery,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::apart::apart;
use crate::behind::Behind;
use crate::input::{ExistingWorkspace, Params};
use crate::problem::Problem;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Maximum chunks listed per entity or relation.
const MAX_CHUNKS_BEHIND: usize = 10;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/graph/label/list", "The names of all entities", || get(list))
        .reads()
        .gives(Gives::Json(schema::<Vec<String>>)),
    Route::get("/graph/label/popular", "The names of the entities with the most relations", || get(popular))
        .reads()
        .takes(Takes::Query(schema::<PopularParams>))
        .gives(Gives::Json(schema::<Vec<String>>)),
    Route::get("/graph/label/search", "The names that match a text, best first", || get(search))
        .reads()
        .takes(Takes::Query(schema::<SearchParams>))
        .gives(Gives::Json(schema::<Vec<String>>)),
    Route::get(
        "/graphs",
        "The neighbourhood of an entity, or with * the entities with the most relations",
        || get(graphs),
    )
    .reads()
    .takes(Takes::Query(schema::<GraphParams>))
    .gives(Gives::Json(schema::<Graph>)),
    Route::get("/graph/path", "The shortest path between two entities", || get(path))
        .reads()
        .load(Load::Whole)
        .takes(Takes::Query(schema::<PathParams>))
        .gives(Gives::Json(schema::<PathAnswer>)),
    Route::get("/graph/entity/exists", "Whether an entity has this name", || get(exists))
        .reads()
        .takes(Takes::Query(schema::<ExistsParams>))
        .gives(Gives::Json(schema::<Exists>)),
];

#[derive(Deserialize, JsonSchema)]
struct PopularParams {
    /// Maximum names, 1 to 1000.
    #[serde(default = "three_hundred")]
    #[schemars(range(min = 1, max = MAX_LABELS))]
    limit: usize,
}

#[derive(Deserialize, JsonSchema)]
struct SearchParams {
    /// The text to search for.
    q: String,
    /// Maximum names, 1 to 100.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = MAX_MATCHES))]
    limit: usize,
}

#[derive(Deserialize, JsonSchema)]
struct GraphParams {
    /// Entity name, or `*`.
    label: String,
    /// Maximum distance in relations; at least 1.
    #[serde(default = "three")]
    #[schemars(range(min = 1))]
    max_depth: u32,
    /// Maximum entities; at least 1.
    #[serde(default = "thousand")]
    #[schemars(range(min = 1))]
    max_nodes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct ExistsParams {
    /// The name, in any spelling that leads to the entity.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PathParams {
    /// The first entity's name.
    from: String,
    /// The last entity's name.
    to: String,
    /// Maximum relations, 1 to 8.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = MAX_PATH_LENGTH))]
    max_length: u32,
}

fn eight() -> u32 {
    MAX_PATH_LENGTH
}

fn three_hundred() -> usize {
    300
}

fn fifty() -> usize {
    50
}

fn three() -> u32 {
    3
}

fn thousand() -> usize {
    MAX_NODES
}

#[derive(Serialize, JsonSchema)]
struct Exists {
    exists: bool,
}

/// A part of the graph.
#[derive(Serialize, JsonSchema)]
struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Whether connected entities were left out.
    is_truncated: bool,
}

#[derive(Serialize, JsonSchema)]
struct PathAnswer {
    /// Its entities from the first to the last, and its relations in the same order; `null` if there is none within the limits.
    path: Option<Graph>,
    /// Number of entities visited.
    seen: u64,
    /// Whether a limit ended the search, so that a path may still exist.
    is_limited: bool,
}

#[derive(Serialize, JsonSchema)]
struct Node {
    /// The entity's name.
    id: String,
    labels: Vec<String>,
    /// `entity_id`, `entity_type`, `description`, `source_id`, `file_path`.
    properties: Value,
}

#[derive(Serialize, JsonSchema)]
struct Edge {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    source: String,
    target: String,
    /// `weight`, `description`, `keywords`, `source_id`, `file_path`.
    properties: Value,
}

async fn list(ExistingWorkspace(space): ExistingWorkspace) -> Result<axum::Json<Vec<String>>, Problem> {
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let labels = explore::all_labels(snapshot.as_ref()).await?;
        Ok(axum::Json(labels.into_iter().map(|label| label.name).collect()))
    })
    .await
}

async fn popular(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(PopularParams { limit }): Params<PopularParams>,
) -> Result<axum::Json<Vec<String>>, Problem> {
    within("limit", limit, MAX_LABELS)?;
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let labels = explore::popular_labels(snapshot.as_ref(), limit).await?;
        Ok(axum::Json(labels.into_iter().map(|label| label.name).collect()))
    })
    .await
}

async fn search(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(SearchParams { q, limit }): Params<SearchParams>,
) -> Result<axum::Json<Vec<String>>, Problem> {
    within("limit", limit, MAX_MATCHES)?;
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let labels = explore::search_labels(snapshot.as_ref(), &q, limit).await?;
        Ok(axum::Json(labels.into_iter().map(|label| label.name).collect()))
    })
    .await
}

async fn exists(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(ExistsParams { name }): Params<ExistsParams>,
) -> Result<axum::Json<Exists>, Problem> {
    let snapshot = space.asking.store.snapshot().await?;
    Ok(axum::Json(Exists { exists: find_entity(snapshot.as_ref(), &name).await?.is_some() }))
}

async fn graphs(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(GraphParams { label, max_depth, max_nodes }): Params<GraphParams>,
) -> Result<axum::Json<Graph>, Problem> {
    within("max_depth", max_depth as usize, usize::MAX)?;
    within("max_nodes", max_nodes, usize::MAX)?;
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        // As in LightRAG, larger values are reduced to the limit.
        let query =
            SubgraphQuery { label, max_depth: max_depth.min(MAX_DEPTH), max_nodes: max_nodes.min(MAX_NODES) };
        // As in LightRAG, an unknown entity has an empty neighbourhood.
        let found = explore::subgraph(snapshot, &query).await?.unwrap_or_default();
        let entities = found.nodes.iter().map(|node| GraphKey::Entity(node.entity.key.clone()));
        let relations = found.edges.iter().map(|edge| GraphKey::Relation(edge.key.clone()));
        let behind =
            Behind::of(snapshot, entities.chain(relations).collect(), MAX_CHUNKS_BEHIND, None).await?;
        Ok(axum::Json(graph_of(found, &behind)))
    })
    .await
}

async fn path(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(PathParams { from, to, max_length }): Params<PathParams>,
) -> Result<axum::Json<PathAnswer>, Problem> {
    within("max_length", max_length as usize, MAX_PATH_LENGTH as usize)?;
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let mut ends = Vec::new();
        for name in [&from, &to] {
            let found = find_entity(snapshot, name).await?;
            let unknown = || {
                Problem::not_found(format!("no entity is named {name:?}"))
                    .remedy(Some("GET /graph/label/search finds names"))
            };
            ends.push(found.ok_or_else(unknown)?.key);
        }
        let found = explore::shortest_path(snapshot, &ends[0], &ends[1], max_length).await?;
        let PathSearch { path, seen, is_limited } = found;
        let path = match path {
            None => None,
            Some(GraphPath { entities, relations }) => {
                let nodes = entities.iter().map(|entity| GraphKey::Entity(entity.key.clone()));
                let edges = relations.iter().map(|relation| GraphKey::Relation(relation.key.clone()));
                let keys = nodes.chain(edges).collect();
                let behind = Behind::of(snapshot, keys, MAX_CHUNKS_BEHIND, None).await?;
                Some(graph_from(entities, relations, false, &behind))
            }
        };
        Ok(axum::Json(PathAnswer { path, seen, is_limited }))
    })
    .await
}

fn graph_of(found: Subgraph, behind: &Behind) -> Graph {
    let entities = found.nodes.into_iter().map(|node| node.entity).collect();
    graph_from(entities, found.edges, found.truncated, behind)
}

fn graph_from(entities: Vec<Entity>, relations: Vec<Relation>, is_truncated: bool, behind: &Behind) -> Graph {
    let names: BTreeMap<EntityKey, String> =
        entities.iter().map(|entity| (entity.key.clone(), entity.name.clone())).collect();
    let name = |key: &EntityKey| names.get(key).cloned().unwrap_or_else(|| key.to_string());
    let nodes = entities.into_iter().map(|entity| {
        let (source_id, file_path) = behind.get(&GraphKey::Entity(entity.key));
        Node {
            id: entity.name.clone(),
            labels: vec![entity.name.clone()],
            properties: json!({
                "entity_id": entity.name,
                "entity_type": entity.kind,
                "description": entity.description,
                "source_id": source_id,
                "file_path": file_path,
            }),
        }
    });
    let edges = relations.into_iter().map(|edge| {
        let (source, target) = (name(edge.key.a()), name(edge.key.b()));
        let (source_id, file_path) = behind.get(&GraphKey::Relation(edge.key));
        Edge {
            id: format!("{source}-{target}"),
            kind: "DIRECTED",
            source,
            target,
            properties: json!({
                "weight": edge.weight,
                "description": edge.description,
                "keywords": edge.keywords.join(","),
                "source_id": source_id,
                "file_path": file_path,
            }),
        }
    });
    Graph { nodes: nodes.collect(), edges: edges.collect(), is_truncated }
}

pub(super) fn within(what: &str, value: usize, most: usize) -> Result<(), Problem> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(Problem::invalid(match most {
        usize::MAX => format!("{what} must be at least 1"),
        most => format!("{what} must be from 1 to {most}"),
    }))
}
