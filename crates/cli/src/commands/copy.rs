//! `graphloom copy`: workspaces from one place to another.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphloom::stores::{workspaces, workspaces_at};
use graphloom_core::{Patience, WorkspaceId, Workspaces};
use graphloom_engine::copy::{CopyReport, copy};
use indicatif::ProgressBar;
use serde::Serialize;

use super::App;
use crate::args::CopyArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::render::count;

/// Minimum interval between lines of progress if there is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// A line of `--json`.
#[derive(Serialize)]
struct CopyOutput<'a> {
    workspace: &'a WorkspaceId,
    from: String,
    to: String,
    #[serde(flatten)]
    report: CopyReport,
}

/// Copies one workspace or all of them, and prints a line for each. Stops at the first that fails.
pub(crate) async fn run(app: &App, args: &CopyArgs) -> anyhow::Result<Exit> {
    let from = workspaces_at(&app.config, &args.from)?;
    let to = match &args.to {
        Some(to) => workspaces_at(&app.config, to)?,
        None => workspaces(&app.config)?,
    };
    let names = match args.all {
        true => from.list().await?,
        false => vec![app.config.workspace.clone()],
    };
    let interrupt = Interrupt::listen()?;
    for workspace in &names {
        let report = tokio::select! {
            report = copy_one(app, workspace, from.as_ref(), to.as_ref()) => report?,
            () = interrupt.wait() => {
                app.output.note("stopped; run the same command to continue");
                return Ok(Exit::Interrupted);
            }
        };
        print(app, CopyOutput { workspace, from: from.place(), to: to.place(), report })?;
    }
    Ok(Exit::Done)
}

async fn copy_one(
    app: &App,
    workspace: &WorkspaceId,
    from: &dyn Workspaces,
    to: &dyn Workspaces,
) -> anyhow::Result<CopyReport> {
    if !from.exists(workspace).await? {
        let missing = graphloom::Error::NoWorkspace { workspace: workspace.clone(), place: from.place() };
        return Err(missing.into());
    }
    let source = from.open(workspace, Patience::Endless).await?;
    let target = to.open(workspace, Patience::Endless).await?;
    let bar = app.output.bars.then(ProgressBar::new_spinner);
    let last_line = Mutex::new(Instant::now());
    let show = |table: &'static str, rows: u64| {
        let said = format!("copying {workspace}: {rows} {table}");
        if let Some(bar) = &bar {
            bar.set_message(said);
            bar.tick();
            return;
        }
        let mut last_line = last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if last_line.elapsed() >= PLAIN_INTERVAL {
            *last_line = Instant::now();
            app.output.note(said);
        }
    };
    let report = copy(source.as_ref(), target.as_ref(), &show).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(report?)
}

fn print(app: &App, output: CopyOutput<'_>) -> anyhow::Result<()> {
    if app.output.json {
        app.output.json(&output)?;
        return Ok(());
    }
    let CopyReport { hash, documents, copied, present } = &output.report;
    app.output.line(format_args!(
        "{}: {}, {} copied, {present} already there; both have the hash {hash}",
        output.workspace,
        count(*documents, "document"),
        count(*copied, "row"),
    ))?;
    Ok(())
}
