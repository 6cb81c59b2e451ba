//! `graphloom retry`: failed and damaged chunks and stopped documents again.

use std::sync::Arc;

use graphloom_core::{DocumentFilter, DocumentId, DocumentStatus, Snapshot, statuses_of};
use graphloom_engine::index::{self, RunReport};
use serde::Serialize;

use super::indexing::Ran;
use super::{App, indexing};
use crate::args::RetryArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::progress::ProgressView;
use crate::output::render::count;
use crate::wire;

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
    let filter = args.conditions.resolve(&args.documents, snapshot.as_ref(), &app.current_dir).await?;
    let ids = to_retry(snapshot.as_ref(), filter.unwrap_or_default()).await?;
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

/// The documents that `filter` admits and that stopped or have failed or damaged chunks, whether merged already or not.
async fn to_retry(snapshot: &dyn Snapshot, filter: DocumentFilter) -> anyhow::Result<Vec<DocumentId>> {
    let admitted = filter.select(snapshot).await?;
    let ids: Vec<DocumentId> = admitted.into_iter().map(|document| document.id).collect();
    let statuses = statuses_of(snapshot, &ids).await?;
    let unfinished = |status: &DocumentStatus| match status {
        // Of a document that is not merged yet only the chunks that are not well are queued.
        DocumentStatus::Failed { .. }
        | DocumentStatus::Incomplete { .. }
        | DocumentStatus::Indexing { .. } => true,
        DocumentStatus::Waiting | DocumentStatus::Ready { .. } => false,
    };
    Ok(ids.into_iter().zip(statuses).filter(|(_, status)| unfinished(status)).map(|(id, _)| id).collect())
}
