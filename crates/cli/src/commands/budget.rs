//! `graphloom budget`: shows and sets the budget that all processes of the workspace share.

use std::collections::BTreeSet;

use graphloom_core::{BudgetChange, WorkspaceBudget};
use graphloom_engine::money::{Limit, MAX_WORKSPACE_MONEY, limit_of, limiting, number, shown};
use serde_json::json;

use super::App;
use crate::args::{BudgetArgs, WorkspaceLimit};
use crate::fault::{Exit, Fault};
use crate::wire;

/// Runs the command.
pub(crate) async fn run(app: &App, args: &BudgetArgs) -> anyhow::Result<Exit> {
    let budget = match args.amount {
        None => wire::open_store(&app.config).await?.budget().await?,
        Some(amount) => {
            let change = change(app, amount, args.restart)?;
            wire::open_or_create(&app.config).await?.change_budget(change).await?.budget
        }
    };
    if app.output.json {
        app.output.json(&json!({ "workspace": app.config.workspace, "budget": budget.map(fields) }))?;
        return Ok(Exit::Done);
    }
    app.output.line(words(budget.as_ref()))?;
    Ok(Exit::Done)
}

fn change(app: &App, amount: WorkspaceLimit, restart: bool) -> anyhow::Result<BudgetChange> {
    let limit = match amount {
        WorkspaceLimit::None => return Ok(BudgetChange::Put(None)),
        WorkspaceLimit::Of(limit) => limit,
    };
    if let Limit::Money(_) = limit {
        let roles = &app.config.models;
        let models = [&roles.context, &roles.extract, &roles.keywords, &roles.summarize, &roles.answer];
        let reranker = app.config.reranker.iter().map(ToString::to_string);
        let names: BTreeSet<String> =
            models.into_iter().flatten().map(ToString::to_string).chain(reranker).collect();
        if let Some(model) = names.into_iter().find(|model| app.config.prices.of(model).is_none()) {
            let help = format!(
                "set prices to {model}=INPUT/OUTPUT, in money per million tokens, or limit tokens instead, such as 2M"
            );
            let fault = Fault::usage(format!("the budget is in money: no price is configured for {model}"));
            return Err(fault.help(help).into());
        }
    }
    let most = || Fault::usage(format!("the budget is too large: at most {MAX_WORKSPACE_MONEY}"));
    Ok(limiting(limit, restart, wire::now()).ok_or_else(most)?)
}

/// Returns a budget and the amounts spent and left, as JSON numbers.
pub(super) fn fields(budget: WorkspaceBudget) -> serde_json::Value {
    let WorkspaceBudget { unit, amount, spent, since, refused, held } = budget;
    let in_flight: u64 = held.iter().map(|calls| calls.bounds.most).sum();
    json!({
        "unit": unit,
        "amount": number(unit, amount),
        "spent": number(unit, spent),
        "in_flight": number(unit, in_flight),
        "left": number(unit, amount.saturating_sub(spent)),
        "refused": refused.map(|refused| number(unit, refused)),
        "since": since.to_iso(),
    })
}

/// Describes a budget and how much of it is spent.
pub(super) fn words(budget: Option<&WorkspaceBudget>) -> String {
    let Some(budget) = budget else { return "no budget: model calls are not limited".to_owned() };
    let spent = shown(budget.unit, budget.spent);
    let share = match budget.amount {
        0 => 100,
        amount => u128::from(budget.spent) * 100 / u128::from(amount),
    };
    let since = budget.since.to_iso();
    let (day, time) = (&since[..10], &since[11..16]);
    format!("{spent} of {} spent since {day} {time} UTC ({share}%)", limit_of(budget))
}
