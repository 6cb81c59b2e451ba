//! `graphloom retry`: failed and damaged chunks and stopped documents again.

use std::sync::Arc;

use graphloom_core::{DocumentId, DocumentStatus, Snapshot};
use graphloom_engine::index::{self, RunReport};
use serde::Serialize;

use super::indexing::Ran;
use super::{App, indexing};
use crate::args::RetryArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::progress::ProgressView;
use crate::output::render::count;
use crate::{documents, wire};

#[derive(Serialize)]
struct Summary {
    event: &'static str,
    queued_chunks: u32,
    run: Ran,
}

/// Queues what failed and works until done.
pub(crate) async fn run(app: &App, args: &RetryArgs) -> anyhow::Result<Exit> {
    wire::require_workspace(&app.config)?;
    let worker = wire::register_worker(&app.config)?;
    let view = Arc::new(ProgressView::new(app.output));
    let indexing = wire::indexing(app, &worker, indexing::listener(&view), args.spending.budget).await?;
    let snapshot = indexing.engine.store.snapshot().await?;
    let ids = match args.documents.as_slice() {
        [] => failed(snapshot.as_ref()).await?,
        references => {
            let mut ids = Vec::new();
            for reference in references {
                let versions = documents::find(snapshot.as_ref(), reference, &app.current_dir).await?;
                ids.extend(versions.into_iter().map(|document| document.id));
            }
            ids
        }
    };
    drop(snapshot);
    let queued_chunks = index::retry(&indexing.engine, &ids).await?;
    app.output.note(format_args!("{} queued again", count(queued_chunks, "chunk")));
    let interrupt = Interrupt::listen()?;
    let ran = indexing::run(app, &indexing, &interrupt, &view).await?;
    let run_failed = ran.report.as_ref().is_some_and(RunReport::is_partial) || ran.failures.total > 0;
    let over_budget = ran.over_budget().map(str::to_owned);
    let exit = match (ran.interrupted, &over_budget, run_failed) {
        (true, ..) => Exit::Interrupted,
        (false, Some(_), _) => Exit::OverBudget,
        (false, None, true) => Exit::Partly,
        (false, None, false) => Exit::Done,
    };
    if app.output.json {
        app.output.json(&Summary { event: "summary", queued_chunks, run: ran })?;
    } else {
        ran.print(app)?;
    }
    if exit == Exit::Interrupted {
        app.output.warn(indexing::GO_ON);
    }
    if let Some(what) = over_budget {
        indexing::say_over_budget(app, &what);
    }
    Ok(exit)
}

/// Every document that stopped or has failed or damaged chunks.
async fn failed(snapshot: &dyn Snapshot) -> anyhow::Result<Vec<DocumentId>> {
    let mut failed = Vec::new();
    documents::for_each_state(snapshot, |state| {
        let unfinished = !state.failed_chunks.is_empty()
            || !state.damaged_chunks.is_empty()
            || matches!(state.status, DocumentStatus::Failed { .. });
        if unfinished {
            failed.push(state.document.id);
        }
    })
    .await?;
    Ok(failed)
}
