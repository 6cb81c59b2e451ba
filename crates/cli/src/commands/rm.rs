//! `graphloom rm`: documents and everything that came from them alone.

use std::collections::BTreeMap;

use graphloom_core::{Document, DocumentId};
use graphloom_engine::index;
use serde::Serialize;

use super::App;
use crate::args::RmArgs;
use crate::fault::Exit;
use crate::output::render::{count, plain};
use crate::{documents, wire};

#[derive(Serialize)]
struct Removed {
    documents: Vec<Document>,
    removal: index::Removal,
}

/// Removes the documents in one commit; nothing is removed where one of them is unknown.
pub(crate) async fn run(app: &App, args: &RmArgs) -> anyhow::Result<Exit> {
    let engine = wire::deleting_engine(app).await?;
    let snapshot = engine.store.snapshot().await?;
    let mut found: BTreeMap<DocumentId, Document> = BTreeMap::new();
    for reference in &args.documents {
        let versions = documents::find(snapshot.as_ref(), reference, &app.current_dir).await?;
        found.extend(versions.into_iter().map(|document| (document.id.clone(), document)));
    }
    drop(snapshot);
    let ids: Vec<DocumentId> = found.keys().cloned().collect();
    let removal = index::delete(&engine, &ids).await?;
    let removed = Removed { documents: found.into_values().collect(), removal };
    if app.output.json {
        app.output.json(&removed)?;
        return Ok(Exit::Done);
    }
    for document in &removed.documents {
        app.output.line(format_args!("removed {} ({})", plain(&document.source), document.id))?;
    }
    app.output.line(format_args!(
        "{}, {}, {}, {} gone; {} entities and relations read differently now",
        count(removal.documents, "document"),
        count(removal.chunks, "chunk"),
        count(removal.entities, "entity"),
        count(removal.relations, "relation"),
        removal.changed,
    ))?;
    if removal.stale > 0 {
        app.output.warn(format_args!(
            "{} could not be summarised again; `graphloom retry` does it",
            count(removal.stale, "description")
        ));
    }
    Ok(Exit::Done)
}
