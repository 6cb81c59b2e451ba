//! `graphloom re-extract`: extracts documents again, for example with another model.

use graphloom_core::{DocumentId, TrackId};
use graphloom_engine::index::{self, Estimator, RenewalPlan};
use serde::Serialize;

use super::indexing::{RunOutcome, Session};
use super::{App, estimate, indexing};
use crate::args::ReExtractArgs;
use crate::fault::{Exit, Fault};
use crate::interrupt::Interrupt;
use crate::output::render::count;
use crate::{documents, wire};

#[derive(Serialize)]
struct Summary {
    event: &'static str,
    track: TrackId,
    #[serde(flatten)]
    plan: RenewalPlan,
    run: RunOutcome,
}

/// Extracts the documents again and updates the graph.
pub(crate) async fn run(app: &App, args: &ReExtractArgs) -> anyhow::Result<Exit> {
    wire::require_workspace(&app.config).await?;
    if args.estimate {
        return estimate(app, args).await;
    }
    let Session { worker, view, indexing } =
        Session::begin(app, args.building.budget, wire::build_once(args.building.switch)).await?;
    let ids = named(app, &indexing.engine, args).await?;
    let track = wire::track_of("re-extract", worker.as_ref());
    let gone = wire::gone(&app.config)?;
    let plan = index::plan_renewal(&indexing.engine, &ids, Some(&track), &gone).await?;
    if plan.renewed.is_empty() && plan.unchanged.is_empty() && plan.busy.is_empty() {
        let fault = Fault::failed("none of these documents is in the graph yet");
        return Err(fault.help("`graphloom work` or `graphloom retry` indexes them").into());
    }
    if !plan.renewed.is_empty() {
        indexing::print_track(app, &track)?;
    }
    let what = format_args!(
        "{} of {} to extract again",
        count(plan.chunks, "chunk"),
        count(plan.renewed.len() as u64, "document")
    );
    app.output.note(what);
    let interrupt = Interrupt::listen()?;
    let run = indexing::renew(app, &indexing, &interrupt, &view, &plan.renewed).await?;
    let summary = Summary { event: "summary", track, plan, run };
    if app.output.json {
        app.output.json(&summary)?;
    } else {
        print(app, &summary)?;
    }
    summary.run.print_end(app);
    Ok(match summary.run.exit() {
        Exit::Done if !(summary.plan.busy.is_empty() && summary.plan.not_ready.is_empty()) => Exit::Partly,
        exit => exit,
    })
}

/// Prints the estimated cost. Sends nothing and stores nothing.
async fn estimate(app: &App, args: &ReExtractArgs) -> anyhow::Result<Exit> {
    let engine = wire::estimating(app).await?;
    let ids = named(app, &engine, args).await?;
    let mut estimator = Estimator::new(&engine, wire::embeds_by_service(&engine));
    estimator.renew(&ids).await?;
    estimate::print(app, estimator.finish())?;
    Ok(Exit::Done)
}

/// Returns the named documents. If a source has a staged version, the live one is used.
async fn named(
    app: &App,
    engine: &graphloom_engine::Engine,
    args: &ReExtractArgs,
) -> anyhow::Result<Vec<DocumentId>> {
    let snapshot = engine.store.snapshot().await?;
    let ids = documents::find_all(snapshot.as_ref(), &args.documents, &args.track, &app.here).await?;
    let live = snapshot.documents(&ids).await?.into_iter().flatten();
    let live = live.filter(|document| document.visibility == graphloom_core::Visibility::Live);
    Ok(live.map(|document| document.id).collect())
}

fn print(app: &App, summary: &Summary) -> anyhow::Result<()> {
    let RenewalPlan { unchanged, busy, not_ready, .. } = &summary.plan;
    for (documents, what) in [
        (unchanged, "already extracted by this model"),
        (busy, "already being re-extracted by another process"),
        (not_ready, "not in the graph yet; index with `graphloom work` or `graphloom retry` first"),
    ] {
        if !documents.is_empty() {
            app.output.advise(format_args!("{} {what}", count(documents.len() as u64, "document")))?;
        }
    }
    summary.run.print(app, "re-extract")
}
