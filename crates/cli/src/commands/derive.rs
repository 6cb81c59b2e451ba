//! `graphloom derive`: brings a layer up to date with the graph.

use graphloom::BuildWith;
use graphloom_engine::derive::{self, DeriveEstimate, DeriveReport, LayerKind};
use serde::Serialize;

use super::App;
use super::indexing::{BudgetUse, Session, after_budget, until_stopped};
use crate::args::DeriveArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::render::{count, one_line};
use crate::wire;

#[derive(Serialize)]
struct Summary {
    event: &'static str,
    #[serde(flatten)]
    derived: Option<DeriveReport>,
    interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<BudgetUse>,
}

#[derive(Serialize)]
struct EstimateOutput {
    event: &'static str,
    #[serde(flatten)]
    estimate: DeriveEstimate,
}

/// Derives a layer from the whole graph.
pub(crate) async fn run(app: &App, args: &DeriveArgs) -> anyhow::Result<Exit> {
    wire::require_workspace(&app.config).await?;
    if args.estimate {
        return estimate(app, args).await;
    }
    let Session { worker: _worker, view, indexing } =
        Session::begin(app, args.budget, BuildWith::Once).await?;
    let deriver = LayerKind::from(args.layer).deriver();
    let interrupt = Interrupt::listen()?;
    let show = |progress| view.show(progress);
    let gone = wire::gone(&app.config)?;
    let work = derive::derive(&indexing.engine, deriver, &show, &gone);
    let outcome = until_stopped(app, &indexing.engine, &interrupt, work).await.transpose()?;
    view.finish()?;
    let budget = indexing.budget.as_deref().map(BudgetUse::of);
    // The engine reports a stop as a pause.
    let derived = outcome.filter(|derived| !(derived.paused && interrupt.is_requested()));
    let summary = Summary { event: "summary", interrupted: derived.is_none(), derived, budget };
    if app.output.json {
        app.output.json(&summary)?;
    } else {
        print(app, &summary)?;
    }
    Ok(match &summary.derived {
        None => Exit::Interrupted,
        Some(derived) if derived.paused => Exit::Paused,
        Some(derived) if derived.over_budget.is_some() => Exit::OverBudget,
        Some(derived) if !derived.current => Exit::Partly,
        Some(_) => Exit::Done,
    })
}

/// Prints what deriving would cost. Sends nothing and stores nothing.
async fn estimate(app: &App, args: &DeriveArgs) -> anyhow::Result<Exit> {
    let engine = wire::estimating(app).await?;
    let deriver = LayerKind::from(args.layer).deriver();
    let estimate =
        derive::estimate(&engine, deriver, wire::embeds_by_service(&engine), &app.config.prices).await?;
    if app.output.json {
        app.output.json(&EstimateOutput { event: "estimate", estimate })?;
        return Ok(Exit::Done);
    }
    let DeriveEstimate { layer, nodes, free, steps, total, unpriced } = &estimate;
    let free = if *free > 0 { format!(", {free} of them free of charge") } else { String::new() };
    app.output.line(format_args!("{layer}: {}{free}", count(*nodes, "node")))?;
    super::estimate::print_steps(app, steps, total, unpriced)?;
    Ok(Exit::Done)
}

fn print(app: &App, summary: &Summary) -> anyhow::Result<()> {
    let Some(derived) = &summary.derived else {
        app.output.note("stopped; run the same command to continue");
        return Ok(());
    };
    print_derived(app, derived)?;
    if derived.over_budget.is_some() {
        app.output.note(after_budget(summary.budget.as_ref()));
    }
    Ok(())
}

/// Prints the outcome of deriving a layer.
pub(super) fn print_derived(app: &App, derived: &DeriveReport) -> anyhow::Result<()> {
    let DeriveReport { layer, nodes, written, kept, removed, failed, .. } = derived;
    let parts = [(*written, "written"), (*kept, "unchanged"), (*removed, "removed"), (*failed, "failed")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    app.output.line(format_args!("{layer}: {}{parts}", count(*nodes, "node")))?;
    if let Some(reason) = &derived.reason {
        app.output.note(format_args!("failed: {}; run the same command to try again", one_line(reason, 300)));
    }
    if let Some(spent) = &derived.over_budget {
        app.output.note(format_args!("stopped by the budget: {}", one_line(spent, 300)));
    }
    if derived.paused {
        app.output.note("the workspace is paused: run `graphloom resume` and then this command again");
    } else if !derived.current && derived.failed == 0 && derived.over_budget.is_none() {
        app.output.note("other processes kept changing the graph; run the same command when they are done");
    }
    Ok(())
}
