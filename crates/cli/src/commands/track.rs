//! `graphloom status --track`: the documents and progress of one run.

use std::collections::BTreeMap;

use graphloom_core::{DocumentId, DocumentStatus, TrackId};
use graphloom_engine::index::{DocumentState, RenewalState, states_of};
use serde::Serialize;

use super::App;
use super::status::{in_progress, print_renewal};
use crate::fault::Exit;
use crate::output::render::{count, is_interrupted, name, one_line, status};
use crate::{documents, wire};

/// Maximum documents printed; `--json` prints all.
const MOST_PRINTED: usize = 50;

#[derive(Serialize)]
struct TrackOutput {
    track: TrackId,
    /// Number of documents of the run that still exist.
    total: usize,
    by_status: BTreeMap<&'static str, u64>,
    /// Number of documents that are done, failed or cancelled.
    settled: usize,
    documents: Vec<DocumentRow>,
}

#[derive(Serialize)]
struct DocumentRow {
    id: DocumentId,
    source: String,
    #[serde(flatten)]
    status: DocumentStatus,
    interrupted: bool,
    failed_chunks: Vec<(u32, String)>,
    damaged_chunks: Vec<(u32, String)>,
    chunks_without_context: Vec<(u32, String)>,
    renewal: Option<RenewalState>,
}

/// Prints the documents of a run with their status.
pub(crate) async fn run(app: &App, track: &TrackId) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let ids = documents::find_all(snapshot.as_ref(), &[], std::slice::from_ref(track), &app.here).await?;
    let states = states_of(snapshot.as_ref(), &ids).await?;
    let in_progress = in_progress(app, snapshot.as_ref()).await?;
    drop(snapshot);
    let mut by_status: BTreeMap<&'static str, u64> = BTreeMap::new();
    let listed = states.into_iter().flatten().map(|state| {
        let DocumentState { document, status, failed_chunks, damaged_chunks, .. } = state;
        let DocumentState { chunks_without_context, renewal, .. } = state;
        *by_status.entry(status.kind().name()).or_default() += 1;
        let (id, source) = (document.id, document.source);
        let interrupted = is_interrupted(&status, in_progress);
        DocumentRow {
            id,
            source,
            status,
            interrupted,
            failed_chunks,
            damaged_chunks,
            chunks_without_context,
            renewal,
        }
    });
    let mut documents: Vec<DocumentRow> = listed.collect();
    documents.sort_by(|a, b| (&a.source, &a.id).cmp(&(&b.source, &b.id)));
    let settled = documents.iter().filter(|listed| is_settled(listed)).count();
    let tracked = TrackOutput { track: track.clone(), total: documents.len(), by_status, settled, documents };
    if app.output.json {
        app.output.json(&tracked)?
    } else {
        print(app, &tracked)?
    }
    Ok(Exit::Done)
}

fn is_settled(listed: &DocumentRow) -> bool {
    match listed.status {
        DocumentStatus::Waiting | DocumentStatus::Indexing { .. } => false,
        DocumentStatus::Ready { .. }
        | DocumentStatus::Incomplete { .. }
        | DocumentStatus::Failed { .. }
        | DocumentStatus::Cancelled { .. } => listed.renewal.as_ref().is_none_or(|renewal| {
            renewal.extracted as usize + renewal.failed_chunks.len() >= renewal.chunks as usize
        }),
    }
}

fn print(app: &App, tracked: &TrackOutput) -> anyhow::Result<()> {
    let output = &app.output;
    output.line(format_args!("{} {}", output.heading("run"), tracked.track))?;
    let has_interrupted = tracked.documents.iter().any(|listed| listed.interrupted);
    let by_status = tracked.by_status.iter().map(|(name, number)| match *name {
        "indexing" if has_interrupted => format!("{number} interrupted"),
        name => format!("{number} {name}"),
    });
    let by_status: Vec<String> = by_status.collect();
    output.line(format_args!(
        "{} of {} done: {}",
        tracked.settled,
        count(tracked.total as u64, "document"),
        by_status.join(", ")
    ))?;
    for listed in tracked.documents.iter().take(MOST_PRINTED) {
        output.line(format_args!(
            "  {}: {}",
            name(&listed.source),
            status(&listed.status, listed.interrupted)
        ))?;
        for (what, chunks) in [
            ("failed", &listed.failed_chunks),
            ("damaged", &listed.damaged_chunks),
            ("without context", &listed.chunks_without_context),
        ] {
            for (ordinal, reason) in chunks {
                output.line(format_args!("    chunk {ordinal} {what}: {}", one_line(reason, 300)))?;
            }
        }
        if let Some(renewal) = &listed.renewal {
            print_renewal(app, renewal)?;
        }
    }
    if has_interrupted {
        output.note("some documents are not finished: run `graphloom work` to continue");
    }
    if let Some(more) = tracked.documents.len().checked_sub(MOST_PRINTED).filter(|more| *more > 0) {
        output.line(format_args!("  and {more} more; --json lists all"))?;
    }
    Ok(())
}
