//! `graphloom contextualize`: recomputes the context of chunks in the graph after the configuration changed.

use graphloom_core::{DocumentFilter, DocumentId, Visibility};
use graphloom_engine::Engine;
use graphloom_engine::index::{self, ContextPlan, Estimator};
use serde::Serialize;

use super::indexing::{RunOutcome, Session};
use super::{App, estimate, indexing};
use crate::args::ContextualizeArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::render::count;
use crate::{documents, wire};

#[derive(Serialize)]
struct Summary {
    event: &'static str,
    #[serde(flatten)]
    plan: ContextPlan,
    run: RunOutcome,
}

/// Recomputes outdated contexts and embeds the changed chunks again.
pub(crate) async fn run(app: &App, args: &ContextualizeArgs) -> anyhow::Result<Exit> {
    wire::require_workspace(&app.config).await?;
    if args.estimate {
        let engine = wire::estimating(app).await?;
        let ids = named(app, &engine, args).await?;
        let mut estimator = Estimator::new(&engine, wire::embeds_by_service(&engine));
        estimator.contextualize(&ids).await?;
        estimate::print(app, estimator.finish())?;
        return Ok(Exit::Done);
    }
    let Session { worker: _worker, view, indexing } =
        Session::begin(app, args.building.budget, wire::build_once(args.building.switch)).await?;
    let ids = named(app, &indexing.engine, args).await?;
    let plan = index::plan_contexts(&indexing.engine, &ids, &wire::gone(&app.config)?).await?;
    let what = format_args!(
        "{} of {} need a new context",
        count(plan.chunks, "chunk"),
        count(plan.changed.len() as u64, "document")
    );
    app.output.note(what);
    let interrupt = Interrupt::listen()?;
    let run = indexing::contextualize(app, &indexing, &interrupt, &view, &plan.changed).await?;
    let summary = Summary { event: "summary", plan, run };
    if app.output.json {
        app.output.json(&summary)?;
    } else {
        print(app, &summary)?;
    }
    summary.run.print_end(app);
    Ok(match summary.run.exit() {
        Exit::Done if !summary.plan.busy.is_empty() => Exit::Partly,
        exit => exit,
    })
}

/// Returns the named documents, or all. If a source has a staged version, the live one is used.
async fn named(app: &App, engine: &Engine, args: &ContextualizeArgs) -> anyhow::Result<Vec<DocumentId>> {
    let snapshot = engine.store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let found = match args.documents.is_empty() && args.track.is_empty() {
        true => DocumentFilter::default().select(snapshot).await?,
        false => {
            let ids = documents::find_all(snapshot, &args.documents, &args.track, &app.here).await?;
            snapshot.documents(&ids).await?.into_iter().flatten().collect()
        }
    };
    let live = found.into_iter().filter(|document| document.visibility == Visibility::Live);
    Ok(live.map(|document| document.id).collect())
}

fn print(app: &App, summary: &Summary) -> anyhow::Result<()> {
    let contextualized = summary.run.report.as_ref().map_or(0, |report| report.contextualized);
    app.output.line(format_args!("{} got a new context", count(contextualized, "chunk")))?;
    let ContextPlan { unchanged, busy, not_ready, .. } = &summary.plan;
    for (documents, what) in [
        (unchanged, "up to date"),
        (busy, "already in progress in another process"),
        (
            not_ready,
            "not in the graph yet; `graphloom work` and `graphloom retry` add the context when they index it",
        ),
    ] {
        if !documents.is_empty() {
            app.output.advise(format_args!("{} {what}", count(documents.len() as u64, "document")))?;
        }
    }
    summary.run.print(app, "contextualize")
}
