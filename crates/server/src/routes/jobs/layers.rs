//! Layers: their state, the cost of deriving one, deriving in the background, and following its progress.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, post};
use graphloom_core::{Snapshot, StoreError};
use graphloom_engine::derive::{self, DeriveEstimate, LayerKind, LayerStatus, layer_states};
use graphloom_engine::money::{Budget, Limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::following::{Feed, JobEvent, Target};
use crate::apart::{apart, apart_in_background};
use crate::guard::Admission;
use crate::ingest::within;
use crate::input::{ExistingWorkspace, Params, PathName};
use crate::problem::Problem;
use crate::route::{Gives, Load, Route, Takes, schema};
use crate::routes::documents::{StepItem, TotalItem};
use crate::space::Space;

pub(in crate::routes) const ROUTES: &[Route] = &[
    Route::get("/layers", "The derived layers and whether each is up to date", || get(list))
        .reads()
        .gives(Gives::Json(schema::<Layers>)),
    Route::post("/layers/{layer}/estimate", "Estimates the cost of bringing a layer up to date", || {
        post(estimate)
    })
    .writes()
    .load(Load::Whole)
    .gives(Gives::Json(schema::<LayerEstimate>)),
    Route::post("/layers/{layer}/derive", "Brings a layer up to date in the background", || post(start))
        .writes()
        .takes(Takes::Query(schema::<DeriveParams>))
        .gives(Gives::Json(schema::<LayerItem>)),
    Route::get("/layers/{layer}/events", "Events of deriving a layer until it is done", || get(events))
        .reads()
        .load(Load::Stream)
        .gives(Gives::Events(schema::<JobEvent>)),
];

#[derive(Serialize, JsonSchema)]
struct Layers {
    layers: Vec<LayerItem>,
}

/// A layer: a view derived from the whole workspace.
#[derive(Serialize, JsonSchema)]
pub(super) struct LayerItem {
    /// `communities` or `tree`.
    layer: String,
    /// Whether it was ever derived.
    derived: bool,
    /// Whether it is complete and nothing that it rests on has changed since.
    current: bool,
    /// Whether this server derives it now or is about to.
    deriving: bool,
    /// Number of nodes on each level, starting with level 0.
    levels: Vec<u64>,
    /// Nodes without a text because a model failed; deriving again tries again.
    failed: u64,
}

#[derive(Deserialize, JsonSchema)]
struct DeriveParams {
    /// Stop before exceeding this budget: tokens such as `2M`, `500k` or `900tokens`, or money such as `1.50`.
    budget: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct LayerEstimate {
    layer: String,
    /// Nodes that the layer would have.
    nodes: u64,
    /// Of those, nodes that cost nothing.
    free: u64,
    /// The calls by purpose.
    steps: Vec<StepItem>,
    total: TotalItem,
    /// Models without a configured price; their steps are missing in all sums of money.
    unpriced: BTreeSet<String>,
}

async fn list(ExistingWorkspace(space): ExistingWorkspace) -> Result<axum::Json<Layers>, Problem> {
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let states = layer_states(snapshot.as_ref()).await?;
        let layers = LayerKind::ALL.into_iter().map(|kind| LayerItem::of(&space, kind, &states));
        Ok(axum::Json(Layers { layers: layers.collect() }))
    })
    .await
}

async fn estimate(
    ExistingWorkspace(space): ExistingWorkspace,
    PathName(layer): PathName,
) -> Result<axum::Json<LayerEstimate>, Problem> {
    let kind = kind_of(&layer)?;
    apart_in_background(async move || {
        let estimate =
            derive::estimate(&space.indexing, kind.deriver(), space.embeds_by_service, &space.prices).await?;
        let DeriveEstimate { layer, nodes, free, steps, total, unpriced } = estimate;
        Ok(axum::Json(LayerEstimate {
            layer: layer.to_string(),
            nodes,
            free,
            steps: steps.into_iter().map(StepItem::from).collect(),
            total: TotalItem::of(total.calls, total.input_tokens, total.output_tokens, total.price),
            unpriced,
        }))
    })
    .await
}

async fn start(
    ExistingWorkspace(space): ExistingWorkspace,
    PathName(layer): PathName,
    Params(DeriveParams { budget }): Params<DeriveParams>,
) -> Result<axum::Json<LayerItem>, Problem> {
    let kind = kind_of(&layer)?;
    let budget = budget.map(|text| budget_of(&space, &text)).transpose()?;
    space.ingest.derive(kind, budget);
    let snapshot = space.indexing.store.snapshot().await?;
    Ok(axum::Json(LayerItem::read(&space, snapshot.as_ref(), kind).await?))
}

/// Parses a budget; a problem if it is invalid or there are no prices for it.
fn budget_of(space: &Space, text: &str) -> Result<Arc<Budget>, Problem> {
    let limit = Limit::parse(text).ok_or_else(|| {
        let remedy = "write tokens, such as 2M or 500k, or money, such as 1.50";
        Problem::invalid("budget is no limit").remedy(Some(remedy))
    })?;
    let budget = Budget::new(limit, space.prices.clone());
    within(&budget, &space.indexing, space.embeds_by_service).map_err(|error| {
        let remedy = "configure its price, or limit tokens instead, such as 2M";
        Problem::invalid(format!("the budget is in money: {error}")).remedy(Some(remedy))
    })?;
    Ok(budget)
}

async fn events(
    ExistingWorkspace(space): ExistingWorkspace,
    PathName(layer): PathName,
    admitted: Admission,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    Ok(Feed::response(space, Target::Layer(kind_of(&layer)?), &headers, admitted))
}

fn kind_of(name: &str) -> Result<LayerKind, Problem> {
    LayerKind::named(name).ok_or_else(|| {
        let names: Vec<&str> = LayerKind::ALL.into_iter().map(LayerKind::name).collect();
        let shown: String = name.chars().take(100).flat_map(char::escape_default).collect();
        Problem::not_found(format!("no layer \"{shown}\"; there are {}", names.join(" and ")))
    })
}

impl LayerItem {
    pub(super) async fn read(
        space: &Space,
        snapshot: &dyn Snapshot,
        kind: LayerKind,
    ) -> Result<Self, StoreError> {
        Ok(Self::of(space, kind, &layer_states(snapshot).await?))
    }

    fn of(space: &Space, kind: LayerKind, states: &[LayerStatus]) -> Self {
        let state = states.iter().find(|state| state.layer.as_str() == kind.name());
        Self {
            layer: kind.name().to_owned(),
            derived: state.is_some(),
            current: state.is_some_and(|state| state.current),
            deriving: space.ingest.derives(kind),
            levels: state.map(|state| state.levels.clone()).unwrap_or_default(),
            failed: state.map_or(0, |state| state.failed),
        }
    }

    pub(super) fn is_current(&self) -> bool {
        self.current
    }
}
