//! `graphloom copy`: copies workspaces between data folders and databases.

use graphloom::stores::{workspaces, workspaces_at};
use graphloom_core::WorkspaceId;
use graphloom_engine::copy::CopyReport;
use serde::Serialize;

use super::App;
use super::copying::{copy_one, index_copy, no_workspaces};
use crate::args::CopyArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::render::count;

/// A line of `--json`.
#[derive(Serialize)]
struct CopyOutput<'a> {
    workspace: &'a WorkspaceId,
    from: String,
    to: String,
    #[serde(flatten)]
    report: CopyReport,
}

/// Copies one workspace or all workspaces, and prints a line for each. Stops at the first failure.
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
    if names.is_empty() {
        return Err(no_workspaces(from.as_ref()).into());
    }
    let interrupt = Interrupt::listen()?;
    for workspace in &names {
        let report = tokio::select! {
            report = copy_one(app, workspace, from.as_ref(), to.as_ref()) => report?,
            () = interrupt.wait() => {
                app.output.note("stopped; run the same command to continue");
                return Ok(Exit::Interrupted);
            }
        };
        index_copy(workspace, to.as_ref()).await;
        print(app, CopyOutput { workspace, from: from.place(), to: to.place(), report })?;
    }
    Ok(Exit::Done)
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
