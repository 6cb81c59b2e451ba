//! `graphloom retry`: retries failed and damaged chunks, failed chunk contexts, stopped and cancelled documents, and failed
//! nodes of layers.

use graphloom_core::{DocumentFilter, DocumentId, DocumentStatus, Snapshot, TrackId, statuses_of};
use graphloom_engine::derive::DeriveReport;
use graphloom_engine::index::{self, MissingContexts};
use serde::Serialize;

use super::indexing::{RunOutcome, Session};
use super::{App, indexing};
use crate::args::RetryArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::render::{count, plain};
use crate::{documents, wire};

#[derive(Serialize)]
struct Summary {
    event: &'static str,
    track: TrackId,
    queued_documents: u32,
    queued_chunks: u32,
    run: RunOutcome,
    /// The outcome of retrying chunk contexts; `None` if there were none to retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<RunOutcome>,
    /// The layers in which nodes had failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    derived: Vec<DeriveReport>,
}

/// Queues failures again and indexes them.
pub(crate) async fn run(app: &App, args: &RetryArgs) -> anyhow::Result<Exit> {
    wire::require_workspace(&app.config).await?;
    let Session { worker, view, indexing } =
        Session::begin(app, args.building.budget, wire::build_on(args.building.switch)).await?;
    let snapshot = indexing.engine.store.snapshot().await?;
    let mut named = args.documents.clone();
    named.extend(documents::ids_of_tracks(snapshot.as_ref(), &args.track).await?);
    let filter = args.conditions.resolve(&named, snapshot.as_ref(), &app.here).await?;
    let cancelled = args.cancelled || !named.is_empty();
    let ids = to_retry(snapshot.as_ref(), filter.unwrap_or_default(), cancelled).await?;
    drop(snapshot);
    let track = wire::track_of("retry", worker.as_ref());
    let queued = index::retry(&indexing.engine, &ids, Some(&track)).await?;
    if queued.documents > 0 {
        indexing::print_track(app, &track)?;
    }
    app.output.note(format_args!(
        "{} of {} queued again",
        count(queued.chunks, "chunk"),
        count(queued.documents, "document")
    ));
    let interrupt = Interrupt::listen()?;
    let ran = indexing::run(app, &indexing, &interrupt, &view).await?;
    let mut context = None;
    let mut exit = ran.exit();
    if matches!(exit, Exit::Done | Exit::Partly) {
        let MissingContexts { again, by_others } = index::without_context(&indexing.engine, &ids).await?;
        for (who, chunks) in by_others {
            app.output.warn(format_args!(
                "{} failed to get a context from {}, which `contextual` no longer selects; `graphloom contextualize` recomputes all \
                 contexts of a document",
                count(chunks, "chunk"),
                plain(&who)
            ));
            exit = Exit::Partly;
        }
        if !again.is_empty() {
            let contextualized = indexing::contextualize(app, &indexing, &interrupt, &view, &again).await?;
            exit = if contextualized.exit() == Exit::Done { exit } else { contextualized.exit() };
            context = Some(contextualized);
        }
    }
    let mut derived = Vec::new();
    if matches!(exit, Exit::Done | Exit::Partly) && !interrupt.is_requested() {
        derived = indexing::derive_failed(app, &indexing, &interrupt, &view).await?;
        exit = match exit {
            _ if interrupt.is_requested() => Exit::Interrupted,
            _ if derived.iter().any(|layer| layer.over_budget.is_some()) => Exit::OverBudget,
            _ if derived.iter().any(|layer| layer.failed > 0) => Exit::Partly,
            exit => exit,
        };
    }
    if app.output.json {
        let (queued_documents, queued_chunks) = (queued.documents, queued.chunks);
        let summary =
            Summary { event: "summary", track, queued_documents, queued_chunks, run: ran, context, derived };
        app.output.json(&summary)?;
        summary.context.as_ref().unwrap_or(&summary.run).print_end(app);
    } else {
        ran.print(app, "retry")?;
        if let Some(contextualized) = &context {
            let chunks = contextualized.report.as_ref().map_or(0, |report| report.contextualized);
            app.output.line(format_args!("{} got a context", count(chunks, "chunk")))?;
            contextualized.print(app, "retry")?;
        }
        for layer in &derived {
            super::derive::print_derived(app, layer)?;
        }
        context.as_ref().unwrap_or(&ran).print_end(app);
    }
    Ok(exit)
}

/// Returns the documents that match `filter` and stopped or have failed or damaged chunks, merged or not; also cancelled
/// documents if `cancelled` is set.
async fn to_retry(
    snapshot: &dyn Snapshot,
    filter: DocumentFilter,
    cancelled: bool,
) -> anyhow::Result<Vec<DocumentId>> {
    let admitted = filter.select(snapshot).await?;
    let ids: Vec<DocumentId> = admitted.into_iter().map(|document| document.id).collect();
    let statuses = statuses_of(snapshot, &ids).await?;
    let unfinished = |status: &DocumentStatus| match status {
        // If a document is not merged yet, only its failed chunks are queued.
        DocumentStatus::Failed { .. }
        | DocumentStatus::Incomplete { .. }
        | DocumentStatus::Indexing { .. } => true,
        DocumentStatus::Cancelled { .. } => cancelled,
        DocumentStatus::Waiting | DocumentStatus::Ready { .. } => false,
    };
    Ok(ids.into_iter().zip(statuses).filter(|(_, status)| unfinished(status)).map(|(id, _)| id).collect())
}
