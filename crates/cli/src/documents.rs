//! Finds a document by source, id, or the start of an id.

use std::collections::BTreeSet;
use std::path::Path;

use graphloom::files::source_name;
use graphloom_core::{Document, DocumentId, Snapshot, TrackId, table};
use graphloom_providers::web::is_web_address;

use crate::fault::Fault;
use crate::output::render::name;
use graphloom::nearest;
use graphloom::project::Here;

/// Maximum matches and near matches listed in an error.
const MOST_NAMED: usize = 5;

/// Documents per read.
const PAGE: usize = 500;

/// Returns the documents that `reference` names. If a source has two versions, returns both, the live one first.
///
/// Tries in this order: an id, a stored source, a path from the current folder, the start of an id.
pub(crate) async fn find(
    snapshot: &dyn Snapshot,
    reference: &str,
    here: &Here,
) -> anyhow::Result<Vec<Document>> {
    let id = DocumentId::from_stored(reference);
    if let Some(document) = snapshot.documents(std::slice::from_ref(&id)).await?.into_iter().flatten().next()
    {
        return Ok(vec![document]);
    }
    let as_path = source_name(Path::new(reference), here).ok();
    let sources: Vec<String> = std::iter::once(reference.to_owned()).chain(as_path).collect();
    for mut versions in snapshot.documents_of_sources(&sources).await? {
        if !versions.is_empty() {
            versions.sort_by(|a, b| (a.visibility, &a.id).cmp(&(b.visibility, &b.id)));
            return Ok(versions);
        }
    }
    let matches = by_prefix(snapshot, reference).await?;
    match matches.len() {
        0 => Err(unknown(snapshot, reference, here).await?),
        1 => Ok(matches),
        _ => {
            let named: Vec<String> =
                matches.iter().map(|it| format!("{} ({})", it.id, name(&it.source))).collect();
            Err(Fault::failed(format!("{reference:?} matches several ids: {}", named.join(", ")))
                .help("use a longer id or the source")
                .into())
        }
    }
}

/// Returns the ids of all documents that `references` name or that the runs `tracks` queued, ascending.
pub(crate) async fn find_all(
    snapshot: &dyn Snapshot,
    references: &[String],
    tracks: &[TrackId],
    here: &Here,
) -> anyhow::Result<Vec<DocumentId>> {
    let mut ids: BTreeSet<DocumentId> = BTreeSet::new();
    for reference in references {
        let versions = find(snapshot, reference, here).await?;
        ids.extend(versions.into_iter().map(|document| document.id));
    }
    ids.extend(ids_of_tracks(snapshot, tracks).await?.into_iter().map(DocumentId::from_stored));
    Ok(ids.into_iter().collect())
}

/// Returns the ids of all documents that these runs queued; fails if a run has none left.
pub(crate) async fn ids_of_tracks(
    snapshot: &dyn Snapshot,
    tracks: &[TrackId],
) -> anyhow::Result<Vec<String>> {
    let mut ids = Vec::new();
    for (track, documents) in tracks.iter().zip(snapshot.documents_of_tracks(tracks).await?) {
        if documents.is_empty() {
            return Err(no_track(track).into());
        }
        ids.extend(documents.into_iter().map(|id| id.to_string()));
    }
    Ok(ids)
}

/// Returns the documents whose file is below this folder, staged ones included. The current folder can be `.`.
pub(crate) async fn below(
    snapshot: &dyn Snapshot,
    folder: &str,
    here: &Here,
) -> anyhow::Result<Vec<Document>> {
    let Ok(folder) = source_name(Path::new(folder), here) else { return Ok(Vec::new()) };
    // The sources of the project folder have no prefix in common.
    let prefix = if folder.is_empty() { folder } else { format!("{folder}/") };
    let is_below = |source: &str| match prefix.is_empty() {
        true => !source.starts_with('/') && !is_web_address(source),
        false => source.starts_with(&prefix),
    };
    let mut found = Vec::new();
    let mut after = (prefix.clone(), DocumentId::from_stored(""));
    loop {
        let page = snapshot.scan(table::DocumentsBySource, Some(&after), PAGE).await?;
        let Some(last) = page.last() else { return Ok(found) };
        after = (last.source.clone(), last.id.clone());
        let is_past = !last.source.starts_with(&prefix);
        found.extend(page.into_iter().filter(|document| is_below(&document.source)));
        if is_past {
            return Ok(found);
        }
    }
}

/// Returns the error for a run without documents.
fn no_track(track: &TrackId) -> Fault {
    Fault::failed(format!("run {track} has no documents"))
        .help("`graphloom add` prints the name of its run; removed and replaced documents are not listed")
}

/// Returns all documents by id, staged ones included.
async fn all(snapshot: &dyn Snapshot) -> anyhow::Result<Vec<Document>> {
    Ok(snapshot.pages(table::Documents).all().await?)
}

async fn by_prefix(snapshot: &dyn Snapshot, reference: &str) -> anyhow::Result<Vec<Document>> {
    const SHORTEST: usize = 3;
    let kind = "doc-";
    let digits = reference.strip_prefix(kind).unwrap_or(reference);
    if digits.len() < SHORTEST || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Vec::new());
    }
    let prefix = format!("{kind}{digits}");
    let after = DocumentId::from_stored(prefix.clone());
    let page = snapshot.scan(table::Documents, Some(&after), MOST_NAMED).await?;
    Ok(page.into_iter().take_while(|document| document.id.as_str().starts_with(&prefix)).collect())
}

async fn unknown(snapshot: &dyn Snapshot, reference: &str, here: &Here) -> anyhow::Result<anyhow::Error> {
    if !below(snapshot, reference, here).await?.is_empty() {
        let folder = source_name(Path::new(reference), here)?;
        let pattern = if folder.is_empty() { "**".to_owned() } else { format!("{folder}/**") };
        return Ok(Fault::failed(format!("{reference:?} is a folder, not a document"))
            .help(format!("`graphloom status --source '{}'` lists its documents", name(&pattern)))
            .into());
    }
    let documents = all(snapshot).await?;
    let sources = documents.iter().map(|document| document.source.as_str());
    let near = nearest(reference, sources, MOST_NAMED);
    let fault = Fault::failed(format!("the workspace has no document {reference:?}"));
    let help = match near.as_slice() {
        [] => "`graphloom status` lists all documents".to_owned(),
        near => format!("did you mean {}?", name(&near.join(", "))),
    };
    Ok(fault.help(help).into())
}
