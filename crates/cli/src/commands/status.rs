//! `graphloom status`: documents, failures, costs and indexes.

use std::collections::BTreeMap;

use graphloom_core::{
    Call, CallOutcome, DocumentId, DocumentStatus, EmbeddingSpec, ExtractionKey, Projection, Revision, Role,
    Snapshot, StoreCounts,
};
use serde::Serialize;

use super::App;
use crate::fault::Exit;
use crate::output::render::{bytes, count, one_line, plain, status};
use crate::{documents, wire};

/// Documents printed for people; `--json` gives all.
const MOST_PRINTED: usize = 50;

/// Ledger rows read at once.
const CALL_PAGE: usize = 1000;
/// Extractions read at once.
const EXTRACTION_PAGE: usize = 500;

#[derive(Serialize)]
struct Status {
    workspace: String,
    file: String,
    file_bytes: u64,
    revision: Revision,
    counts: StoreCounts,
    embedding: Option<EmbeddingSpec>,
    projections: Vec<Projection>,
    by_status: BTreeMap<&'static str, u64>,
    documents: Vec<Listed>,
    calls: Vec<Spent>,
    rejects: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct Listed {
    id: DocumentId,
    source: String,
    #[serde(flatten)]
    status: DocumentStatus,
    staged: bool,
    failed_chunks: Vec<IllChunk>,
    damaged_chunks: Vec<IllChunk>,
}

#[derive(Serialize)]
struct IllChunk {
    ordinal: u32,
    reason: String,
}

/// What one model cost in one role.
#[derive(Serialize)]
struct Spent {
    role: Role,
    model: String,
    calls: u64,
    failed: u64,
    prompt_tokens: u64,
    cached_prompt_tokens: u64,
    completion_tokens: u64,
    duration_ms: u64,
}

/// Prints the workspace's status.
pub(crate) async fn run(app: &App) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config)?;
    let snapshot = store.snapshot().await?;
    let status = read(app, snapshot.as_ref()).await?;
    if app.output.json {
        app.output.json(&status)?
    } else {
        print(app, &status)?
    }
    Ok(Exit::Done)
}

async fn read(app: &App, snapshot: &dyn Snapshot) -> anyhow::Result<Status> {
    let file = wire::workspace_file(&app.config);
    let mut by_status: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut listed = Vec::new();
    documents::for_each_state(snapshot, |state| {
        *by_status.entry(status_name(&state.status)).or_default() += 1;
        listed.push(Listed {
            id: state.document.id,
            source: state.document.source,
            status: state.status,
            staged: state.document.visibility == graphloom_core::Visibility::Staged,
            failed_chunks: ill_chunks(state.failed_chunks),
            damaged_chunks: ill_chunks(state.damaged_chunks),
        });
    })
    .await?;
    listed.sort_by(|a, b| (&a.source, &a.id).cmp(&(&b.source, &b.id)));
    Ok(Status {
        workspace: app.config.workspace.to_string(),
        file_bytes: std::fs::metadata(&file).map_or(0, |metadata| metadata.len()),
        file: file.display().to_string(),
        revision: snapshot.revision(),
        counts: snapshot.counts().await?,
        embedding: snapshot.embedding().await?,
        projections: snapshot.projections().await?,
        by_status,
        documents: listed,
        calls: spent(snapshot).await?,
        rejects: rejects(snapshot).await?,
    })
}

fn ill_chunks(chunks: Vec<(u32, String)>) -> Vec<IllChunk> {
    chunks.into_iter().map(|(ordinal, reason)| IllChunk { ordinal, reason }).collect()
}

/// How many pieces of the stored extraction answers were no records, by reason.
async fn rejects(snapshot: &dyn Snapshot) -> anyhow::Result<BTreeMap<&'static str, u64>> {
    let mut by_reason = BTreeMap::new();
    let mut after: Option<ExtractionKey> = None;
    loop {
        let page = snapshot.scan_extractions(after.as_ref(), EXTRACTION_PAGE).await?;
        for reject in page.iter().flat_map(|extraction| &extraction.rejects) {
            *by_reason.entry(reject.reason.name()).or_default() += 1;
        }
        if page.len() < EXTRACTION_PAGE {
            return Ok(by_reason);
        }
        after = page.into_iter().next_back().map(|extraction| extraction.key);
    }
}

async fn spent(snapshot: &dyn Snapshot) -> anyhow::Result<Vec<Spent>> {
    let mut by_model: BTreeMap<(Role, String), Spent> = BTreeMap::new();
    let mut read = 0;
    loop {
        let page = snapshot.scan_calls(read, CALL_PAGE).await?;
        let last = page.len() < CALL_PAGE;
        read += page.len() as u64;
        for call in page {
            let Call { role, model, prompt_tokens, cached_prompt_tokens, .. } = call;
            let Call { completion_tokens, duration_ms, outcome, .. } = call;
            let spent = by_model.entry((role, model.clone())).or_insert(Spent {
                role,
                model,
                calls: 0,
                failed: 0,
                prompt_tokens: 0,
                cached_prompt_tokens: 0,
                completion_tokens: 0,
                duration_ms: 0,
            });
            spent.calls += 1;
            spent.failed += u64::from(matches!(outcome, CallOutcome::Failed { .. }));
            spent.prompt_tokens += prompt_tokens;
            spent.cached_prompt_tokens += cached_prompt_tokens;
            spent.completion_tokens += completion_tokens;
            spent.duration_ms += duration_ms;
        }
        if last {
            return Ok(by_model.into_values().collect());
        }
    }
}

fn print(app: &App, shown: &Status) -> anyhow::Result<()> {
    let output = &app.output;
    output.line(format_args!("{} {}", output.heading("workspace"), shown.workspace))?;
    output.line(format_args!("file        {} ({})", shown.file, bytes(shown.file_bytes)))?;
    let StoreCounts { documents, chunks, entities, relations, .. } = shown.counts;
    output.line(format_args!(
        "holds       {}, {}, {}, {}",
        count(documents, "document"),
        count(chunks, "chunk"),
        count(entities, "entity"),
        count(relations, "relation"),
    ))?;
    match &shown.embedding {
        Some(space) => {
            output.line(format_args!("embedder    {} ({} dimensions)", space.model, space.dimensions))?;
        }
        None => output.line("embedder    none yet")?,
    }
    for Projection { name, watermark, entries } in &shown.projections {
        let behind = shown.revision.0.saturating_sub(watermark.0);
        let state =
            if behind == 0 { "up to date".to_owned() } else { format!("{} behind", count(behind, "commit")) };
        output.line(format_args!("index       {name}: {}, {state}", count(*entries, "row")))?;
    }
    if shown.counts.stale > 0 {
        output.line(format_args!(
            "stale       {} to be made again from all their passages; `graphloom retry` does it",
            count(shown.counts.stale, "description")
        ))?;
    }
    if !shown.calls.is_empty() {
        output.line(output.heading("model calls"))?;
    }
    for spent in &shown.calls {
        let failed = if spent.failed > 0 { format!(", {} failed", spent.failed) } else { String::new() };
        output.line(format_args!(
            "  {:<10} {}: {}{failed}, {} tokens in, {} tokens out",
            spent.role.name(),
            plain(&spent.model),
            count(spent.calls, "call"),
            spent.prompt_tokens,
            spent.completion_tokens,
        ))?;
    }
    if !shown.rejects.is_empty() {
        let by_reason: Vec<String> =
            shown.rejects.iter().map(|(reason, number)| format!("{number} {reason}")).collect();
        let all: u64 = shown.rejects.values().sum();
        output.line(format_args!(
            "rejected    {} of answers: {}",
            count(all, "piece"),
            by_reason.join(", ")
        ))?;
    }
    output.line(output.heading("documents"))?;
    for (name, number) in &shown.by_status {
        output.line(format_args!("  {number} {name}"))?;
    }
    // What needs attention first, so that a long list cannot hide it.
    let (well, ill): (Vec<&Listed>, Vec<&Listed>) = shown
        .documents
        .iter()
        .partition(|it| matches!(it.status, DocumentStatus::Ready { .. } | DocumentStatus::Waiting));
    for listed in ill.iter().chain(&well).take(MOST_PRINTED) {
        let staged = if listed.staged { ", a new version not yet in use" } else { "" };
        output.line(format_args!("  {}: {}{staged}", plain(&listed.source), status(&listed.status)))?;
        for (what, chunks) in [("failed", &listed.failed_chunks), ("damaged", &listed.damaged_chunks)] {
            for IllChunk { ordinal, reason } in chunks {
                output.line(format_args!("    chunk {ordinal} {what}: {}", one_line(reason, 300)))?;
            }
        }
    }
    if shown.documents.len() > MOST_PRINTED {
        let more = shown.documents.len() - MOST_PRINTED;
        output.line(format_args!("  and {more} more; --json lists all"))?;
    }
    if shown.documents.iter().any(|it| !it.failed_chunks.is_empty() || !it.damaged_chunks.is_empty()) {
        output.note("`graphloom retry` tries failed and damaged chunks again");
    }
    let unfinished = ["indexing", "waiting"].iter().any(|name| shown.by_status.contains_key(name));
    if unfinished {
        output.note(
            "some documents are not finished: run `graphloom retry`, or the same `graphloom add`, to go on",
        );
    }
    Ok(())
}

fn status_name(status: &DocumentStatus) -> &'static str {
    match status {
        DocumentStatus::Waiting => "waiting",
        DocumentStatus::Indexing { .. } => "indexing",
        DocumentStatus::Ready { .. } => "ready",
        DocumentStatus::Incomplete { .. } => "incomplete",
        DocumentStatus::Failed { .. } => "failed",
    }
}
