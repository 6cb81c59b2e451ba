//! `graphloom work`: everything that waits, without adding anything.

use std::sync::Arc;

use serde::Serialize;

use super::indexing::Ran;
use super::{App, indexing};
use crate::args::WorkArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::progress::ProgressView;
use crate::wire;

#[derive(Serialize)]
struct Summary {
    event: &'static str,
    run: Ran,
}

/// Works until nothing is left that this process can take.
pub(crate) async fn run(app: &App, args: &WorkArgs) -> anyhow::Result<Exit> {
    wire::require_workspace(&app.config)?;
    let worker = wire::register_worker(&app.config)?;
    let view = Arc::new(ProgressView::new(app.output));
    let indexing = wire::indexing(
        app,
        &worker,
        indexing::listener(&view),
        args.building.budget,
        wire::BuiltWith::of(args.building.switch),
    )
    .await?;
    let interrupt = Interrupt::listen()?;
    let run = indexing::run(app, &indexing, &interrupt, &view).await?;
    let summary = Summary { event: "summary", run };
    if app.output.json {
        app.output.json(&summary)?;
    } else {
        if summary.run.is_idle() {
            app.output.summary("nothing waits")?;
        }
        summary.run.print(app, "retry")?;
    }
    summary.run.say_end(app);
    Ok(summary.run.exit())
}
