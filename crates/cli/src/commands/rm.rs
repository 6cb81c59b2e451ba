//! `graphloom rm`: removes documents and everything derived only from them.

use graphloom_core::{Document, DocumentId};
use graphloom_engine::index;
use serde::Serialize;

use super::App;
use crate::args::RmArgs;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, plain};
use crate::{documents, wire};

#[derive(Serialize)]
struct RemoveOutput {
    documents: Vec<Document>,
    /// What was removed; `null` for a dry run.
    removal: Option<index::Removal>,
}

/// Removes the documents in one commit. Removes nothing if one of them is unknown. Documents selected by
/// conditions are removed only with `--yes`.
pub(crate) async fn run(app: &App, args: &RmArgs) -> anyhow::Result<Exit> {
    let engine = wire::deleting_engine(app).await?;
    let snapshot = engine.store.snapshot().await?;
    let mut named = args.documents.clone();
    named.extend(documents::ids_of_tracks(snapshot.as_ref(), &args.track).await?);
    let filter = args.conditions.resolve(&named, snapshot.as_ref(), &app.here).await?;
    let found = filter.unwrap_or_default().select(snapshot.as_ref()).await?;
    drop(snapshot);
    let is_unconfirmed = !args.conditions.is_empty() && !args.yes;
    if args.dry_run || (is_unconfirmed && !found.is_empty()) {
        return only_list(app, args, found);
    }
    let ids: Vec<DocumentId> = found.iter().map(|document| document.id.clone()).collect();
    let removal = index::delete(&engine, &ids).await?;
    let removed = RemoveOutput { documents: found, removal: Some(removal) };
    if app.output.json {
        app.output.json(&removed)?;
        return Ok(Exit::Done);
    }
    for document in &removed.documents {
        app.output.summary(format_args!("removed {} ({})", plain(&document.source), document.id))?;
    }
    app.output.summary(format_args!(
        "{}, {}, {}, {} removed; {} entities and relations updated",
        count(removal.documents, "document"),
        count(removal.chunks, "chunk"),
        count(removal.entities, "entity"),
        count(removal.relations, "relation"),
        removal.changed,
    ))?;
    if removal.stale > 0 {
        app.output.warn(format_args!(
            "{} could not be summarized again; `graphloom retry` tries again",
            count(removal.stale, "description")
        ));
    }
    Ok(Exit::Done)
}

/// Lists what would be removed. Without `--dry-run` this is an error, since the removal was not confirmed.
fn only_list(app: &App, args: &RmArgs, documents: Vec<Document>) -> anyhow::Result<Exit> {
    let number = count(documents.len() as u64, "document");
    if app.output.json {
        app.output.json(&RemoveOutput { documents, removal: None })?;
    } else {
        for document in &documents {
            app.output.line(format_args!("would remove {} ({})", plain(&document.source), document.id))?;
        }
    }
    if args.dry_run {
        app.output.note(format_args!("{number} would be removed; nothing was removed"));
        return Ok(Exit::Done);
    }
    Err(Fault::usage(format!("nothing was removed: the conditions match {number}"))
        .help("add --yes to remove them, or --dry-run to list them")
        .into())
}
