//! The budget of a workspace, which all servers and workers share.

use axum::extract::State;
use axum::routing::{delete, get, post};
use graphloom_core::{BudgetChange, BudgetUnit, WorkspaceBudget};
use graphloom_engine::money::{Limit, MAX_WORKSPACE_MONEY, limiting, number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Right;
use crate::app::App;
use crate::host::IfMissing;
use crate::input::{ExistingWorkspace, Json, ToMake};
use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route, Takes, schema};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/budget", "The budget for model calls, and the amount spent", || get(show))
        .reads()
        .gives(Gives::Json(schema::<BudgetAnswer>)),
    Route::post("/budget", "Sets the budget for model calls", || post(set))
        .needs(Needs::Workspace(Right::Admin))
        .load(Load::Change)
        .makes()
        .takes(Takes::Json(schema::<SetBudget>))
        .gives(Gives::Json(schema::<BudgetAnswer>)),
    Route::delete("/budget", "Removes the budget of the workspace", || delete(remove))
        .needs(Needs::Workspace(Right::Admin))
        .load(Load::Change)
        .gives(Gives::Json(schema::<BudgetAnswer>)),
];

/// The budget of the workspace.
#[derive(Serialize, JsonSchema)]
struct BudgetAnswer {
    /// `null` if model calls are not limited.
    budget: Option<BudgetItem>,
}

/// The limit of the budget and the amount spent, in tokens or in the currency of the prices.
#[derive(Serialize, JsonSchema)]
pub(super) struct BudgetItem {
    unit: BudgetUnitName,
    /// The limit.
    amount: f64,
    /// The amount spent since `since`, including the maximum cost of calls in flight.
    spent: f64,
    /// Of this, the amount reserved for calls in flight.
    in_flight: f64,
    /// The amount left.
    left: f64,
    /// The maximum cost of the latest call, if it was refused because of the budget.
    refused: Option<f64>,
    /// When counting began, in milliseconds since 1970.
    since: u64,
}

/// What a budget counts.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum BudgetUnitName {
    /// Tokens, sent and received together.
    Tokens,
    /// Money, in the currency of the prices.
    Money,
}

impl From<Option<WorkspaceBudget>> for BudgetAnswer {
    fn from(budget: Option<WorkspaceBudget>) -> Self {
        Self { budget: budget.map(BudgetItem::from) }
    }
}

impl From<WorkspaceBudget> for BudgetItem {
    fn from(budget: WorkspaceBudget) -> Self {
        let WorkspaceBudget { unit, amount, spent, since, refused, held } = budget;
        let in_flight: u64 = held.iter().map(|calls| calls.bounds.most).sum();
        Self {
            amount: number(unit, amount),
            spent: number(unit, spent),
            in_flight: number(unit, in_flight),
            left: number(unit, amount.saturating_sub(spent)),
            refused: refused.map(|refused| number(unit, refused)),
            since: since.0,
            unit: match unit {
                BudgetUnit::Tokens => BudgetUnitName::Tokens,
                BudgetUnit::Money => BudgetUnitName::Money,
            },
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetBudget {
    /// Tokens such as `2M`, `500k` or `900tokens`, or money such as `1.50`, which needs prices of all models.
    amount: String,
    /// Whether to reset the amount spent to 0. A change of the unit resets it too.
    #[serde(default)]
    restart: bool,
}

async fn show(ExistingWorkspace(space): ExistingWorkspace) -> Result<axum::Json<BudgetAnswer>, Problem> {
    Ok(axum::Json(space.store.budget().await?.into()))
}

async fn set(
    State(app): State<App>,
    ToMake(workspace): ToMake,
    Json(SetBudget { amount, restart }): Json<SetBudget>,
) -> Result<axum::Json<BudgetAnswer>, Problem> {
    let limit = Limit::parse(&amount).ok_or_else(|| {
        let remedy = "write tokens, such as 2M or 500k, or money, such as 1.50";
        Problem::invalid("amount is no limit").remedy(Some(remedy))
    })?;
    let space = app.spaces.get(&workspace, IfMissing::Create).await?;
    if let Limit::Money(_) = limit {
        let models = space.models();
        if let Some(model) = models.into_iter().find(|model| space.prices.of(model).is_none()) {
            let remedy = "configure its price, or limit tokens instead, such as 2M";
            let what = format!("the budget is in money: no price is configured for {model}");
            return Err(Problem::invalid(what).remedy(Some(remedy)));
        }
    }
    let most = || Problem::invalid(format!("amount is too large: at most {MAX_WORKSPACE_MONEY}"));
    let change = limiting(limit, restart, space.indexing.clock.now()).ok_or_else(most)?;
    let outcome = space.store.change_budget(change).await?;
    // Work that the old budget stopped may continue.
    space.ingest.wake();
    Ok(axum::Json(outcome.budget.into()))
}

async fn remove(ExistingWorkspace(space): ExistingWorkspace) -> Result<axum::Json<BudgetAnswer>, Problem> {
    let outcome = space.store.change_budget(BudgetChange::Put(None)).await?;
    space.ingest.wake();
    Ok(axum::Json(outcome.budget.into()))
}
