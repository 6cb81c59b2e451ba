//! `graphloom work`: indexes everything that is queued, without adding anything.

use serde::Serialize;

use super::indexing::{RunOutcome, Session};
use super::{App, indexing};
use crate::args::WorkArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::wire;

#[derive(Serialize)]
struct Summary {
    event: &'static str,
    run: RunOutcome,
}

/// Indexes until no document is left that this process can claim.
pub(crate) async fn run(app: &App, args: &WorkArgs) -> anyhow::Result<Exit> {
    wire::require_workspace(&app.config).await?;
    let Session { worker: _worker, view, indexing } =
        Session::begin(app, args.building.budget, wire::build_on(args.building.switch)).await?;
    let interrupt = Interrupt::listen()?;
    let run = indexing::run(app, &indexing, &interrupt, &view).await?;
    let summary = Summary { event: "summary", run };
    if app.output.json {
        app.output.json(&summary)?;
    } else {
        if summary.run.is_idle() {
            app.output.summary("nothing is queued")?;
        }
        summary.run.print(app, "retry")?;
    }
    summary.run.print_end(app);
    Ok(summary.run.exit())
}
