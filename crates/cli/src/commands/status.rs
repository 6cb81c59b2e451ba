//! `graphloom status`: documents, failures, costs and indexes.

use std::collections::BTreeMap;

use graphloom::files::bytes;
use graphloom_core::{
    Call, CallOutcome, DocumentId, DocumentStatus, EmbeddingSpec, Lease, Projection, QueueState, Revision,
    Role, Snapshot, StatusKind, StoreCounts, Timestamp, Visibility, WorkspaceStore, table,
};
use graphloom_engine::derive::{LayerStatus, layer_states};
use graphloom_engine::index::{
    DocumentState, ListError, Listing, RenewalState, WaitsFor, count_by_status, list, waits_for,
};
use serde::Serialize;

use super::App;
use super::budget::{fields, words};
use super::cost::tokens;
use super::indexing::nothing_named;
use crate::args::{SortArg, StatusArgs};
use crate::fault::{Exit, Fault};
use crate::output::render::{count, is_interrupted, name, one_line, plain, status};
use crate::{documents, wire};

/// Maximum documents listed by default; `--json` lists all.
const MOST_PRINTED: usize = 50;

#[derive(Serialize)]
struct Status {
    workspace: String,
    file: String,
    /// Size of the file; `None` in a database.
    file_bytes: Option<u64>,
    revision: Revision,
    #[serde(flatten)]
    queue: QueueState,
    /// What has to happen before indexing continues.
    waits_for: Option<WaitsFor>,
    /// The budget and the amount spent; `None` if model calls are not limited.
    budget: Option<serde_json::Value>,
    #[serde(skip)]
    budget_words: Option<String>,
    counts: StoreCounts,
    embedding: Option<EmbeddingSpec>,
    projections: Vec<Projection>,
    by_status: BTreeMap<&'static str, u64>,
    /// Number of documents of the workspace that a process is working on.
    in_progress: u64,
    /// Number of documents that match the conditions.
    matching: u64,
    documents: Vec<DocumentRow>,
    /// The value of `--next` for the next page.
    next: Option<DocumentId>,
    calls: Vec<ModelCost>,
    /// Number of chunks with a context, by its author.
    contextualized: BTreeMap<String, u64>,
    rejects: BTreeMap<&'static str, u64>,
    /// Number of extractions without records.
    empty_extractions: u64,
    /// Derived layers.
    layers: Vec<LayerStatus>,
    /// The models and settings the workspace is built with.
    settings: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct DocumentRow {
    id: DocumentId,
    source: String,
    added_at: Timestamp,
    meta: BTreeMap<String, String>,
    #[serde(flatten)]
    status: DocumentStatus,
    /// Whether it is partly indexed and no process continues it.
    interrupted: bool,
    staged: bool,
    /// Remarks, for example about parts that were not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    failed_chunks: Vec<ChunkProblem>,
    damaged_chunks: Vec<ChunkProblem>,
    /// Chunks whose context failed.
    chunks_without_context: Vec<ChunkProblem>,
    /// Progress of a re-extraction.
    renewal: Option<RenewalState>,
}

#[derive(Serialize)]
struct ChunkProblem {
    ordinal: u32,
    reason: String,
}

/// Cost of one model in one role.
#[derive(Serialize)]
struct ModelCost {
    role: Role,
    model: String,
    calls: u64,
    failed: u64,
    prompt_tokens: u64,
    cached_prompt_tokens: u64,
    completion_tokens: u64,
    /// Calls for which the service reported no tokens.
    uncounted_calls: u64,
    duration_ms: u64,
    rejects: u64,
}

/// Prints the workspace's status.
pub(crate) async fn run(app: &App, args: &StatusArgs) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let status = read(app, args, store.as_ref(), snapshot.as_ref()).await?;
    if app.output.json {
        app.output.json(&status)?
    } else {
        print(app, args, &status)?
    }
    Ok(Exit::Done)
}

/// Returns the number of documents that running processes are working on. A killed process no longer counts, although its leases
/// are still valid.
pub(super) async fn in_progress(app: &App, snapshot: &dyn Snapshot) -> anyhow::Result<u64> {
    let (gone, now) = (wire::gone(&app.config)?, wire::now());
    let is_at_work = |lease: &Lease| lease.expires_at > now && !gone(&lease.owner);
    let leased = snapshot.leased_jobs().await?;
    Ok(leased.iter().filter(|job| job.lease.as_ref().is_some_and(is_at_work)).count() as u64)
}

async fn read(
    app: &App,
    args: &StatusArgs,
    store: &dyn WorkspaceStore,
    snapshot: &dyn Snapshot,
) -> anyhow::Result<Status> {
    let filter = args.filter.resolve(snapshot, &app.here).await?.unwrap_or_default();
    let limit = args.limit.unwrap_or(if app.output.json { usize::MAX } else { MOST_PRINTED });
    let after = match &args.next {
        Some(reference) => documents::find(snapshot, reference, &app.here).await?.pop(),
        None => None,
    };
    let after = after.map(|document| document.id);
    let Listing { documents, next } =
        list(snapshot, &filter, args.sort.into(), after.as_ref(), limit).await.map_err(with_remedy)?;
    let by_status = count_by_status(snapshot, &filter).await?;
    let rejects = snapshot.reject_counts().await?;
    let budget = store.budget().await?;
    let in_progress = in_progress(app, snapshot).await?;
    Ok(Status {
        in_progress,
        workspace: app.config.workspace.to_string(),
        file_bytes: store.size().map(|size| size.data),
        file: store.place(),
        revision: snapshot.revision(),
        queue: snapshot.queue().await?,
        waits_for: waits_for(snapshot, budget.as_ref()).await?,
        budget_words: budget.as_ref().map(|budget| words(Some(budget))),
        budget: budget.map(fields),
        counts: snapshot.counts().await?,
        embedding: snapshot.embedding().await?,
        projections: snapshot.projections().await?,
        matching: by_status.values().sum(),
        by_status: by_status.into_iter().map(|(status, number)| (status.name(), number)).collect(),
        documents: documents.into_iter().map(|state| DocumentRow::of(state, in_progress)).collect(),
        next,
        calls: spent(snapshot).await?,
        contextualized: snapshot.chunk_context_counts().await?,
        empty_extractions: snapshot.empty_extractions().await?,
        layers: layer_states(snapshot).await?,
        settings: snapshot.settings().await?,
        rejects: rejects.into_iter().map(|(reason, number)| (reason.name(), number)).collect(),
    })
}

fn chunk_problems(chunks: Vec<(u32, String)>) -> Vec<ChunkProblem> {
    chunks.into_iter().map(|(ordinal, reason)| ChunkProblem { ordinal, reason }).collect()
}

impl DocumentRow {
    fn of(state: DocumentState, in_progress: u64) -> Self {
        let DocumentState { document, status, failed_chunks, damaged_chunks, .. } = state;
        let DocumentState { chunks_without_context, renewal, .. } = state;
        Self {
            interrupted: is_interrupted(&status, in_progress),
            id: document.id,
            source: document.source,
            added_at: document.added_at,
            meta: document.meta,
            remarks: document.remarks,
            status,
            staged: document.visibility == Visibility::Staged,
            failed_chunks: chunk_problems(failed_chunks),
            damaged_chunks: chunk_problems(damaged_chunks),
            chunks_without_context: chunk_problems(chunks_without_context),
            renewal,
        }
    }
}

fn with_remedy(error: ListError) -> anyhow::Error {
    match error {
        ListError::Gone(_) => Fault::failed(error.to_string()).help("start again with the first page").into(),
        ListError::Store(_) => error.into(),
    }
}

async fn spent(snapshot: &dyn Snapshot) -> anyhow::Result<Vec<ModelCost>> {
    let mut by_model: BTreeMap<(Role, String), ModelCost> = BTreeMap::new();
    let mut pages = snapshot.pages(table::Calls);
    while let Some(page) = pages.next().await? {
        for call in page {
            let uncounted = u64::from(call.is_uncounted());
            let Call { role, model, prompt_tokens, cached_prompt_tokens, .. } = call;
            let Call { completion_tokens, duration_ms, outcome, rejects, .. } = call;
            let spent = by_model.entry((role, model.clone())).or_insert(ModelCost {
                role,
                model,
                calls: 0,
                failed: 0,
                prompt_tokens: 0,
                cached_prompt_tokens: 0,
                completion_tokens: 0,
                uncounted_calls: 0,
                duration_ms: 0,
                rejects: 0,
            });
            spent.calls += 1;
            spent.failed += u64::from(matches!(outcome, CallOutcome::Failed { .. }));
            spent.prompt_tokens += prompt_tokens;
            spent.cached_prompt_tokens += cached_prompt_tokens;
            spent.completion_tokens += completion_tokens;
            spent.uncounted_calls += uncounted;
            spent.duration_ms += duration_ms;
            spent.rejects += u64::from(rejects);
        }
    }
    Ok(by_model.into_values().collect())
}

fn print(app: &App, args: &StatusArgs, shown: &Status) -> anyhow::Result<()> {
    let output = &app.output;
    output.line(format_args!("{} {}", output.heading("workspace"), shown.workspace))?;
    if shown.queue.is_paused() {
        output.advise("paused      indexing is paused; `graphloom resume` resumes it")?;
    }
    if let Some(budget) = &shown.budget_words {
        output.line(format_args!("budget      {budget}"))?;
    }
    if shown.waits_for == Some(WaitsFor::Budget) {
        output.advise("waits       for a larger budget; `graphloom budget AMOUNT` sets it")?;
    }
    match shown.file_bytes {
        Some(size) => output.line(format_args!("file        {} ({})", shown.file, bytes(size)))?,
        None => output.line(format_args!("database    {}", shown.file))?,
    }
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
    if let Some(models) = built_with(&shown.settings) {
        output.line(format_args!("built with  {models}"))?;
    }
    if !shown.contextualized.is_empty() {
        let by: Vec<String> =
            shown.contextualized.iter().map(|(by, number)| format!("{number} by {}", plain(by))).collect();
        output.line(format_args!("context     {} of {}", by.join(", "), count(chunks, "chunk")))?;
    }
    for Projection { name, watermark, entries } in &shown.projections {
        let behind = shown.revision.0.saturating_sub(watermark.0);
        let state =
            if behind == 0 { "up to date".to_owned() } else { format!("{} behind", count(behind, "commit")) };
        output.line(format_args!("index       {name}: {}, {state}", count(*entries, "row")))?;
    }
    for LayerStatus { layer, current, levels, failed } in &shown.layers {
        let state = match (current, failed) {
            (true, _) => "up to date".to_owned(),
            (false, 0) => format!("out of date; `graphloom derive {layer}` updates it"),
            (false, failed) => format!("{failed} failed; `graphloom retry` tries again"),
        };
        // Level 0 of a tree are the passages, which are not nodes.
        let levels: Vec<String> =
            levels.iter().filter(|nodes| **nodes > 0).map(ToString::to_string).collect();
        let levels = if levels.is_empty() { "no nodes".to_owned() } else { levels.join(" + ") };
        output.advise(format_args!("layer       {layer}: {levels}, {state}"))?;
    }
    if shown.counts.stale > 0 {
        output.advise(format_args!(
            "stale       {} to summarize again from all passages; `graphloom retry` does so",
            count(shown.counts.stale, "description")
        ))?;
    }
    if !shown.calls.is_empty() {
        output.line(output.heading("model calls"))?;
    }
    for spent in &shown.calls {
        let rejected = match spent.rejects {
            0 => String::new(),
            rejects => format!(", {} rejected", count(rejects, "piece")),
        };
        let failed = if spent.failed > 0 { format!(", {} failed", spent.failed) } else { String::new() };
        output.line(format_args!(
            "  {:<10} {}: {}{failed}, {}{rejected}",
            spent.role.name(),
            plain(&spent.model),
            count(spent.calls, "call"),
            tokens(spent.prompt_tokens, 0, spent.completion_tokens, spent.uncounted_calls),
        ))?;
    }
    if shown.empty_extractions > 0 {
        let extractions = shown.counts.extractions;
        // Chunks with the same text share an extraction.
        let noun = if extractions == chunks { "chunk" } else { "different chunk" };
        let line = nothing_named(shown.empty_extractions, extractions, noun);
        output.line(format_args!("empty       {line}"))?;
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
    let matching = if args.filter.is_empty() { "documents" } else { "documents that match" };
    output.line(output.heading(matching))?;
    if shown.matching == 0 && !args.filter.is_empty() {
        output.line("  no document matches")?;
    }
    for (name, number) in &shown.by_status {
        let is_interrupted = *name == StatusKind::Indexing.name() && shown.in_progress == 0;
        output.line(format_args!("  {number} {}", if is_interrupted { "interrupted" } else { name }))?;
    }
    for listed in &shown.documents {
        let staged = if listed.staged { ", a new version not yet in use" } else { "" };
        let date = match args.sort {
            SortArg::Date => format!("{}  ", listed.added_at.to_date()),
            SortArg::Source | SortArg::Status => String::new(),
        };
        output.line(format_args!(
            "  {date}{}: {}{staged}",
            name(&listed.source),
            status(&listed.status, listed.interrupted)
        ))?;
        for remark in &listed.remarks {
            output.line(format_args!("    partly read: {}", one_line(remark, 300)))?;
        }
        for (what, chunks) in [
            ("failed", &listed.failed_chunks),
            ("damaged", &listed.damaged_chunks),
            ("without context", &listed.chunks_without_context),
        ] {
            for ChunkProblem { ordinal, reason } in chunks {
                output.line(format_args!("    chunk {ordinal} {what}: {}", one_line(reason, 300)))?;
            }
        }
        if let Some(renewal) = &listed.renewal {
            print_renewal(app, renewal)?;
        }
    }
    if let Some(next) = &shown.next {
        let more = more_than(args, shown);
        output.line(format_args!("  {more}; --next {next} shows the next page, --limit sets its length"))?;
    }
    let ill = |it: &DocumentRow| {
        !(it.failed_chunks.is_empty() && it.damaged_chunks.is_empty() && it.chunks_without_context.is_empty())
    };
    if shown.documents.iter().any(ill) {
        output.note("`graphloom retry` retries failed and damaged chunks and those without context");
    }
    if shown.by_status.contains_key("cancelled") {
        output.note("`graphloom retry --cancelled` queues cancelled documents again");
    }
    let unfinished = ["indexing", "waiting"].iter().any(|name| shown.by_status.contains_key(name));
    if unfinished && shown.in_progress > 0 {
        output.note(format_args!("a process is indexing {}", count(shown.in_progress, "document")));
    } else if unfinished {
        output.note("some documents are not finished: run `graphloom work` to continue");
    }
    Ok(())
}

/// Says how many documents follow those shown. A later page does not know how many came before it.
fn more_than(args: &StatusArgs, shown: &Status) -> String {
    match (&args.next, shown.matching.saturating_sub(shown.documents.len() as u64)) {
        (None, more) => format!("and {more} more"),
        (Some(_), _) => format!("and more of {}", shown.matching),
    }
}

/// Describes the models that build the graph; `None` if the workspace has no stored settings.
fn built_with(settings: &BTreeMap<String, String>) -> Option<String> {
    let extract = settings.get("extract_llm")?;
    let shown = |model: &str| if model == "none" { "rules".to_owned() } else { plain(model).to_string() };
    Some(match settings.get("summarize_llm").filter(|model| *model != extract) {
        Some(summarize) => format!("{} and {} for summaries", shown(extract), shown(summarize)),
        None => shown(extract),
    })
}

/// Prints the progress and failures of a re-extraction.
pub(super) fn print_renewal(app: &App, renewal: &RenewalState) -> anyhow::Result<()> {
    let RenewalState { model, chunks, extracted, failed_chunks } = renewal;
    app.output.advise(format_args!(
        "    re-extraction by {}: {extracted} of {}; `graphloom re-extract` continues, `graphloom cancel` stops it",
        plain(model),
        count(*chunks, "chunk")
    ))?;
    for (ordinal, reason) in failed_chunks {
        let reason = one_line(reason, 300);
        app.output.line(format_args!("    chunk {ordinal} keeps its old extraction: {reason}"))?;
    }
    Ok(())
}
