//! `graphloom cancel`: removes documents from the queue.

use graphloom_core::{Document, DocumentId};
use graphloom_engine::index;
use serde::Serialize;

use super::App;
use crate::args::CancelArgs;
use crate::fault::Exit;
use crate::output::render::name;
use crate::{documents, wire};

#[derive(Serialize)]
struct CancelOutput {
    /// Removed from the queue.
    cancelled: Vec<DocumentName>,
    /// Documents whose re-extraction was cancelled.
    kept: Vec<DocumentName>,
    /// Documents that were not in the queue.
    not_queued: Vec<DocumentName>,
}

#[derive(Serialize)]
struct DocumentName {
    id: DocumentId,
    source: String,
}

/// Removes documents from the queue. Changes nothing if one of the documents is unknown.
pub(crate) async fn run(app: &App, args: &CancelArgs) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let ids = if args.all {
        index::queued(snapshot.as_ref()).await?
    } else {
        documents::find_all(snapshot.as_ref(), &args.documents, &args.track, &app.here).await?
    };
    let names: Vec<Document> = snapshot.documents(&ids).await?.into_iter().flatten().collect();
    drop(snapshot);
    let done = index::cancel(store.as_ref(), &ids).await?;
    let named = |ids: Vec<DocumentId>| {
        let of = |id: DocumentId| {
            let source = names.iter().find(|document| document.id == id)?.source.clone();
            Some(DocumentName { id, source })
        };
        ids.into_iter().filter_map(of).collect()
    };
    let done = CancelOutput {
        cancelled: named(done.cancelled),
        kept: named(done.kept),
        not_queued: named(done.not_queued),
    };
    if app.output.json {
        app.output.json(&done)?;
        return Ok(Exit::Done);
    }
    let lines = [
        ("cancelled", &done.cancelled),
        ("cancelled the re-extraction of", &done.kept),
        ("not in the queue:", &done.not_queued),
    ];
    for (what, documents) in lines {
        for document in documents {
            app.output.line(format_args!("{what} {} ({})", name(&document.source), document.id))?;
        }
    }
    if ids.is_empty() {
        app.output.line("nothing is queued")?;
    }
    if !done.cancelled.is_empty() {
        app.output.note("`graphloom retry DOC` queues a document again, `graphloom rm DOC` removes it");
    }
    Ok(Exit::Done)
}
