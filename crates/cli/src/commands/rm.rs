//! `graphloom rm`: removes documents and everything derived only from them.

use graphloom_core::{Document, DocumentId};
use graphloom_engine::index;
use serde::Serialize;

use super::App;
use crate::args::RmArgs;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, name};
use crate::{documents, wire};

#[derive(Serialize)]
struct RemoveOutput {
    documents: Vec<Document>,
    /// What was removed; `null` for a dry run.
    removal: Option<index::Removal>,
}

/// Removes the documents in one commit. Removes nothing if one of them is unknown. Documents selected by conditions or below a
/// folder are removed only with `--yes`.
pub(crate) async fn run(app: &App, args: &RmArgs) -> anyhow::Result<Exit> {
    let engine = wire::deleting_engine(app).await?;
    let snapshot = engine.store.snapshot().await?;
    let (mut named, mut folders) = (Vec::new(), Vec::new());
    for reference in &args.documents {
        let below = match documents::find(snapshot.as_ref(), reference, &app.here).await {
            Ok(_) => Vec::new(),
            Err(error) => match documents::below(snapshot.as_ref(), reference, &app.here).await? {
                below if below.is_empty() => return Err(error),
                below => below,
            },
        };
        if below.is_empty() {
            named.push(reference.clone());
        } else {
            folders.push(reference.as_str());
            named.extend(below.into_iter().map(|document| document.id.to_string()));
        }
    }
    named.extend(documents::ids_of_tracks(snapshot.as_ref(), &args.track).await?);
    let filter = args.conditions.resolve(&named, snapshot.as_ref(), &app.here).await?;
    let found = filter.unwrap_or_default().select(snapshot.as_ref()).await?;
    drop(snapshot);
    let number = count(found.len() as u64, "document");
    let selects = match (args.conditions.is_empty(), folders.as_slice()) {
        (true, []) => None,
        (true, folders) => {
            let are = if found.len() == 1 { "is" } else { "are" };
            Some(format!("{number} {are} below {}", folders.join(" and ")))
        }
        (false, _) => Some(format!("the conditions match {number}")),
    };
    let unconfirmed = selects.filter(|_| !args.yes && !args.dry_run && !found.is_empty());
    if args.dry_run || unconfirmed.is_some() {
        return only_list(app, unconfirmed, found);
    }
    let ids: Vec<DocumentId> = found.iter().map(|document| document.id.clone()).collect();
    let removal = index::delete(&engine, &ids).await?;
    let removed = RemoveOutput { documents: found, removal: Some(removal) };
    if app.output.json {
        app.output.json(&removed)?;
        return Ok(Exit::Done);
    }
    for document in &removed.documents {
        app.output.summary(format_args!("removed {} ({})", name(&document.source), document.id))?;
    }
    app.output.summary(format_args!(
        "{}, {}, {}, {} removed; {} updated",
        count(removal.documents, "document"),
        count(removal.chunks, "chunk"),
        count(removal.entities, "entity"),
        count(removal.relations, "relation"),
        match removal.changed {
            1 => "1 entity or relation".to_owned(),
            changed => format!("{changed} entities and relations"),
        },
    ))?;
    if removal.stale > 0 {
        app.output.warn(format_args!(
            "{} could not be summarized again; `graphloom retry` tries again",
            count(removal.stale, "description")
        ));
    }
    Ok(Exit::Done)
}

/// Lists what would be removed.
///
/// - `unconfirmed`: what selects the documents, if their removal needs `--yes`. This is an error.
fn only_list(app: &App, unconfirmed: Option<String>, documents: Vec<Document>) -> anyhow::Result<Exit> {
    let number = count(documents.len() as u64, "document");
    if app.output.json {
        app.output.json(&RemoveOutput { documents, removal: None })?;
    } else {
        for document in &documents {
            app.output.line(format_args!("would remove {} ({})", name(&document.source), document.id))?;
        }
    }
    match unconfirmed {
        None => {
            app.output.note(format_args!("{number} would be removed; nothing was removed"));
            Ok(Exit::Done)
        }
        Some(selects) => Err(Fault::usage(format!("nothing was removed: {selects}"))
            .help("add --yes to remove them, or --dry-run to list them")
            .into()),
    }
}
