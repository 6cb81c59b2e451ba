//! Copies workspaces between data folders and databases, for `copy`, `backup`, `restore` and `workspace move`.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::{BudgetChange, Patience, Upkeep, WorkspaceId, WorkspaceStore, Workspaces};
use graphloom_engine::copy::{CopyReport, copy};
use indicatif::ProgressBar;

use super::App;
use crate::fault::Fault;

/// Minimum interval between progress lines if there is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Returns the error for a place that has nothing to copy.
pub(crate) fn no_workspaces(from: &dyn Workspaces) -> Fault {
    let fault = Fault::usage(format!("there are no workspaces in {}", from.place()));
    fault.help("name the data folder that contains them, such as PROJECT/.graphloom, or a database")
}

/// Copies a workspace and shows progress.
pub(crate) async fn copy_one(
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
    copy_opened(app, workspace, source.as_ref(), target.as_ref()).await
}

/// Gives a copy the budget of its source, including the amount spent.
async fn copy_budget(source: &dyn WorkspaceStore, target: &dyn WorkspaceStore) -> anyhow::Result<()> {
    let budget = source.budget().await?;
    if target.budget().await? != budget {
        target.change_budget(BudgetChange::Put(budget)).await?;
    }
    Ok(())
}

/// Copies a workspace between open stores and shows progress.
pub(crate) async fn copy_opened(
    app: &App,
    workspace: &WorkspaceId,
    source: &dyn WorkspaceStore,
    target: &dyn WorkspaceStore,
) -> anyhow::Result<CopyReport> {
    let bar = app.output.bars.then(ProgressBar::new_spinner);
    let last_line = Mutex::new(Instant::now());
    let show = |table: &'static str, rows: u64| {
        let message = format!("copying {workspace}: {rows} {table}");
        if let Some(bar) = &bar {
            bar.set_message(message);
            bar.tick();
            return;
        }
        let mut last_line = last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if last_line.elapsed() >= PLAIN_INTERVAL {
            *last_line = Instant::now();
            app.output.note(message);
        }
    };
    let report = copy(source, target, &show).await;
    if report.is_ok() {
        copy_budget(source, target).await?;
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(report?)
}

/// Builds the search indexes of a copy, so that its first searches do not wait for them. They are a cache: if this fails,
/// they are built later.
pub(crate) async fn index_copy(workspace: &WorkspaceId, place: &dyn Workspaces) {
    let made = async { place.open(workspace, Patience::Endless).await?.maintain(Upkeep::CatchUp).await };
    if let Err(error) = made.await {
        tracing::warn!(%workspace, %error, "the copy is complete, but building its search indexes failed");
    }
}
