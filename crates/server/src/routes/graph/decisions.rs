//! Lists and undoes decisions about the graph.

use axum::routing::{get, post};
use graphloom_core::{Decision, Decisions};
use graphloom_engine::edit::{self, Edit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::apart::apart;
use crate::input::{ExistingWorkspace, Json, Params};
use crate::problem::Problem;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Maximum decisions per page.
const MAX_DECISIONS: usize = 1000;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/graph/decisions", "The edits of the graph, latest first", || get(list))
        .reads()
        .load(Load::Look)
        .takes(Takes::Query(schema::<DecisionsParams>))
        .gives(Gives::Json(schema::<DecisionPage>)),
    Route::post("/graph/decisions/undo", "Undoes an edit: the given one, or the latest in effect", || {
        post(undo)
    })
    .writes()
    .takes(Takes::Json(schema::<Undo>))
    .gives(Gives::Json(schema::<UndoResponse>)),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DecisionsParams {
    /// Number of latest decisions to skip.
    #[serde(default)]
    skip: usize,
    /// Maximum decisions, 1 to 1000.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = MAX_DECISIONS))]
    limit: usize,
}

fn fifty() -> usize {
    50
}

#[derive(Serialize, JsonSchema)]
struct DecisionPage {
    decisions: Vec<DecisionItem>,
    total_count: usize,
}

/// A decision.
#[derive(Serialize, JsonSchema)]
struct DecisionItem {
    /// Id for `/graph/decisions/undo`.
    id: String,
    made_at: String,
    /// Such as `edit_entity`, `merge_entities`, `undo`.
    action: &'static str,
    /// The decision, with entity keys at that time.
    details: Value,
    /// The decision that undid it; `null` if it is in effect.
    undone_by: Option<String>,
}

/// The decision to undo; exactly one of the two fields is required.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Undo {
    /// The id of a decision or the start of it.
    decision: Option<String>,
    /// `true` for the latest decision in effect.
    latest: Option<bool>,
}

impl Undo {
    /// The id; `None` for the latest. An empty request undoes nothing.
    fn wanted(self) -> Result<Option<String>, Problem> {
        match (self.decision, self.latest.unwrap_or(false)) {
            (Some(decision), false) => Ok(Some(decision)),
            (None, true) => Ok(None),
            (Some(_), true) => Err(Problem::invalid("decision and latest cannot both be set")),
            (None, false) => Err(Problem::invalid("no decision given").remedy(Some(
                "set decision to an id, or \"latest\": true for the latest decision in effect",
            ))),
        }
    }
}

/// The outcome of undoing a decision.
#[derive(Serialize, JsonSchema)]
struct UndoResponse {
    /// The decision that was undone.
    undone: String,
    /// The decision that undid it; undoing this one restores the other.
    decision: String,
    /// New and changed entities.
    entities: Vec<String>,
    /// Both entities of new and changed relations.
    relations: Vec<[String; 2]>,
    /// Keys of removed entities.
    removed_entities: Vec<String>,
    /// Keys of both entities of removed relations.
    removed_relations: Vec<[String; 2]>,
}

async fn list(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(DecisionsParams { skip, limit }): Params<DecisionsParams>,
) -> Result<axum::Json<DecisionPage>, Problem> {
    if !(1..=MAX_DECISIONS).contains(&limit) {
        return Err(Problem::invalid(format!("limit must be from 1 to {MAX_DECISIONS}")));
    }
    apart(async move || {
        let decisions = Decisions::read(space.indexing.store.snapshot().await?.as_ref()).await?;
        let latest = decisions.all().iter().rev().skip(skip).take(limit);
        let item = |decision: &Decision| DecisionItem {
            id: decision.id.to_string(),
            made_at: decision.made_at.to_iso(),
            action: decision.action.name(),
            // Serializing plain data cannot fail.
            details: serde_json::to_value(&decision.action).unwrap_or_default(),
            undone_by: decisions.undone_by(&decision.id).map(ToString::to_string),
        };
        let listed = latest.map(item).collect();
        Ok(axum::Json(DecisionPage { decisions: listed, total_count: decisions.all().len() }))
    })
    .await
}

async fn undo(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(undo): Json<Undo>,
) -> Result<axum::Json<UndoResponse>, Problem> {
    let decision = undo.wanted()?;
    apart(async move || {
        let edited = edit::apply(&space.indexing, &Edit::Undo { decision }).await?;
        let undone = match &edited.decision.action {
            graphloom_core::Action::Undo { decision } => decision.to_string(),
            other => other.name().to_owned(),
        };
        let ends = |key: &graphloom_core::RelationKey| [key.a().to_string(), key.b().to_string()];
        Ok(axum::Json(UndoResponse {
            undone,
            decision: edited.decision.id.to_string(),
            entities: edited.entities.into_iter().map(|entity| entity.name).collect(),
            relations: edited.relations.iter().map(|relation| ends(&relation.key)).collect(),
            removed_entities: edited.removed_entities.iter().map(ToString::to_string).collect(),
            removed_relations: edited.removed_relations.iter().map(ends).collect(),
        }))
    })
    .await
}
