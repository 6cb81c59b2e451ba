//! What people decided about the graph, and taking it back.

use axum::routing::{get, post};
use graphloom_core::{Decision, Decisions};
use graphloom_engine::edit::{self, Edit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::apart::apart;
use crate::input::{Existing, Json, Params};
use crate::problem::Problem;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Most decisions of one page.
const MAX_DECISIONS: usize = 1000;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/graph/decisions", "Every edit of the graph, the latest first", || get(list))
        .reads()
        .load(Load::Look)
        .takes(Takes::Query(schema::<DecisionsParams>))
        .gives(Gives::Json(schema::<DecisionPage>)),
    Route::post(
        "/graph/decisions/undo",
        "Takes an edit back: the one that is named, or the latest that holds",
        || post(undo),
    )
    .writes()
    .takes(Takes::Json(schema::<Undo>))
    .gives(Gives::Json(schema::<Undone>)),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DecisionsParams {
    /// How many of the latest to leave out.
    #[serde(default)]
    skip: usize,
    /// 1 to 1000.
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

/// Something that was decided.
#[derive(Serialize, JsonSchema)]
struct DecisionItem {
    /// What `/graph/decisions/undo` takes.
    id: String,
    made_at: String,
    /// Such as `edit_entity`, `merge_entities`, `undo`.
    action: &'static str,
    /// What was decided, with the keys of the graph as it read then.
    details: Value,
    /// The decision that took it back; it holds where there is none.
    undone_by: Option<String>,
}

/// Which decision to take back: one of the two is said.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Undo {
    /// The id of a decision or the beginning of it.
    decision: Option<String>,
    /// `true` for the latest that holds.
    latest: Option<bool>,
}

impl Undo {
    /// The id; `None` for the latest. Nothing is taken back by leaving something out.
    fn wanted(self) -> Result<Option<String>, Problem> {
        match (self.decision, self.latest.unwrap_or(false)) {
            (Some(decision), false) => Ok(Some(decision)),
            (None, true) => Ok(None),
            (Some(_), true) => Err(Problem::invalid("decision and latest cannot both be said")),
            (None, false) => Err(Problem::invalid("no decision is named")
                .remedy(Some("name its id in decision, or say \"latest\": true for the latest that holds"))),
        }
    }
}

/// What taking a decision back did.
#[derive(Serialize, JsonSchema)]
struct Undone {
    /// The decision that was taken back.
    undone: String,
    /// The decision that takes it back; undoing this one makes the other hold again.
    decision: String,
    /// Entities that are new or read differently.
    entities: Vec<String>,
    /// Names of the ends of relations that are new or read differently, by their keys.
    relations: Vec<[String; 2]>,
    /// Keys of entities that are gone.
    removed_entities: Vec<String>,
    /// Keys of both ends of relations that are gone.
    removed_relations: Vec<[String; 2]>,
}

async fn list(
    Existing(space): Existing,
    Params(DecisionsParams { skip, limit }): Params<DecisionsParams>,
) -> Result<axum::Json<DecisionPage>, Problem> {
    if !(1..=MAX_DECISIONS).contains(&limit) {
        return Err(Problem::invalid(format!("limit is from 1 to {MAX_DECISIONS}")));
    }
    apart(async move || {
        let decisions = Decisions::read(space.indexing.store.snapshot().await?.as_ref()).await?;
        let latest = decisions.all().iter().rev().skip(skip).take(limit);
        let item = |decision: &Decision| DecisionItem {
            id: decision.id.to_string(),
            made_at: decision.made_at.to_iso(),
            action: decision.action.name(),
            // Plain data is always JSON.
            details: serde_json::to_value(&decision.action).unwrap_or_default(),
            undone_by: decisions.undone_by(&decision.id).map(ToString::to_string),
        };
        let listed = latest.map(item).collect();
        Ok(axum::Json(DecisionPage { decisions: listed, total_count: decisions.all().len() }))
    })
    .await
}

async fn undo(Existing(space): Existing, Json(undo): Json<Undo>) -> Result<axum::Json<Undone>, Problem> {
    let decision = undo.wanted()?;
    apart(async move || {
        let edited = edit::apply(&space.indexing, &Edit::Undo { decision }).await?;
        let undone = match &edited.decision.action {
            graphloom_core::Action::Undo { decision } => decision.to_string(),
            other => other.name().to_owned(),
        };
        let ends = |key: &graphloom_core::RelationKey| [key.a().to_string(), key.b().to_string()];
        Ok(axum::Json(Undone {
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
