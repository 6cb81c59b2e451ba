//! The indexing queue and the removal of documents.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::routing::{delete, get, post};
use graphloom_core::{
    Batch, CacheKind, DocumentFilter, DocumentId, Snapshot, StatusKind, StoreError, TrackId, table,
};
use graphloom_engine::index::{self, RemovalPreview, RemovedFromGraph, RequeueReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Right, hex, random};
use crate::apart::apart;
use crate::app::now;
use crate::guard::Admission;
use crate::ingest::{RE_EXTRACT, named};
use crate::input::{ExistingWorkspace, Json};
use crate::limits::MAX_IDS;
use crate::problem::Problem;
use crate::reasons::Reasons;
use crate::route::{Gives, Load, Needs, Route, Takes, schema};
use crate::routes::budget::BudgetItem;
use crate::space::Space;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/documents/pipeline_status", "The progress of indexing", || get(pipeline_status))
        .reads()
        .gives(Gives::Json(schema::<PipelineStatus>)),
    Route::post("/documents/cancel_pipeline", "Removes all documents from the queue", || post(cancel))
        .writes()
        .gives(Gives::Json(schema::<StatusMessage>)),
    Route::post(
        "/documents/reprocess_failed",
        "Queues failed, damaged and cancelled documents again, and chunks without context",
        || post(reprocess),
    )
    .writes()
    .gives(Gives::Json(schema::<Reprocessing>)),
    Route::post(
        "/documents/re_extract",
        "Extracts documents again with the workspace's model, in the background; they answer as before meanwhile",
        || post(re_extract),
    )
    .writes()
    .takes(Takes::Json(schema::<ReExtractDocuments>))
    .gives(Gives::Json(schema::<StatusMessage>)),
    Route::post("/documents/scan", "Queues failed documents again; the server has no folder to scan", || {
        post(scan)
    })
    .writes()
    .gives(Gives::Json(schema::<Reprocessing>)),
    Route::post("/documents/clear_cache", "Clears cached answers to questions", || post(clear_cache))
        .writes()
        .gives(Gives::Json(schema::<StatusMessage>)),
    Route::delete(
        "/documents/delete_document",
        "Removes documents and everything derived only from them",
        || delete(delete_documents),
    )
    .writes()
    .takes(Takes::Json(schema::<DeleteDocuments>))
    .gives(Gives::Json(schema::<DeleteAnswer>)),
    Route::post("/documents/removal_preview", "What removing documents would change", || post(preview))
        .reads()
        .load(Load::Whole)
        .takes(Takes::Json(schema::<PreviewDocuments>))
        .gives(Gives::Json(schema::<RemovalPreviewItem>)),
    Route::delete("/documents", "Removes all documents of the workspace", || delete(clear))
        .needs(Needs::Workspace(Right::Admin))
        .load(Load::Change)
        .gives(Gives::Json(schema::<StatusMessage>)),
];

/// The progress of indexing.
#[derive(Serialize, JsonSchema)]
struct PipelineStatus {
    /// Whether this server is indexing.
    busy: bool,
    job_name: &'static str,
    job_start: Option<String>,
    /// Documents in the run so far.
    docs: usize,
    /// Same as `docs`, since documents are not processed in batches.
    batchs: usize,
    /// Finished documents in the run.
    cur_batch: usize,
    latest_message: String,
    history_messages: Vec<String>,
    /// Always empty: other processes have no caches to update.
    update_status: std::collections::BTreeMap<String, Vec<bool>>,
    /// Always `false`: cancelled documents leave the queue immediately.
    cancellation_requested: bool,
    cancellation_reason: Option<String>,
    cancellation_detail: Option<String>,
    /// Always `false`: a removal is done when the response is sent.
    destructive_busy: bool,
    /// Always 0: documents are queued when the response is sent.
    pending_enqueues: usize,
    /// Always `false`: the server has no folder to scan.
    scanning: bool,
    scanning_exclusive: bool,
    /// Always `false`: a killed run needs no repair.
    recovery_required: bool,
    recovery_kind: Option<String>,
    recovery_message: Option<String>,
    /// Whether indexing is paused.
    paused: bool,
    /// What must happen before queued documents are indexed; `null` if nothing is queued or nothing holds it up.
    waits_for: Option<WaitsFor>,
    /// The budget of the workspace; `null` if model calls are not limited.
    budget: Option<BudgetItem>,
    /// Extractions in the workspace without entities.
    empty_extractions: u64,
}

/// What must happen before indexing continues.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WaitsFor {
    /// Indexing is paused and must be resumed.
    Resume,
    /// The budget must be raised.
    Budget,
    /// A model service that is down must become available again.
    Service,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
struct StatusMessage {
    status: &'static str,
    message: String,
}

#[derive(Serialize, JsonSchema)]
struct Reprocessing {
    status: &'static str,
    message: String,
    /// The run of a scan; empty after reprocessing, where documents keep their original run.
    track_id: String,
}

/// The documents to remove.
#[derive(Deserialize, JsonSchema)]
struct DeleteDocuments {
    /// Their ids.
    #[schemars(length(min = 1, max = MAX_IDS), inner(length(min = 1)))]
    doc_ids: Vec<String>,
    /// No effect: a file that is kept is always removed with its document.
    #[serde(default)]
    #[allow(dead_code, reason = "LightRAG clients send it")]
    delete_file: bool,
    /// No effect: extractions are always removed with their document.
    #[serde(default)]
    #[allow(dead_code, reason = "LightRAG clients send it")]
    delete_llm_cache: bool,
}

/// The documents to extract again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReExtractDocuments {
    /// Their ids.
    #[schemars(length(min = 1, max = MAX_IDS), inner(length(min = 1)))]
    doc_ids: Vec<String>,
}

impl ReExtractDocuments {
    pub(super) fn ids(self) -> Result<Vec<DocumentId>, Problem> {
        if self.doc_ids.is_empty() || self.doc_ids.len() > MAX_IDS {
            return Err(Problem::invalid(format!("doc_ids must have 1 to {MAX_IDS} ids")));
        }
        Ok(self.doc_ids.into_iter().map(DocumentId::from_stored).collect())
    }
}

/// The documents whose removal is previewed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PreviewDocuments {
    /// Their ids.
    #[schemars(length(min = 1, max = MAX_IDS), inner(length(min = 1)))]
    doc_ids: Vec<String>,
}

/// What removing documents would do.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RemovalPreview")]
struct RemovalPreviewItem {
    documents: u32,
    chunks: u32,
    /// What would happen to the graph; `null` if that takes too long to find out.
    graph: Option<RemovedFromGraphItem>,
    /// Kept answers of conversations that would be removed.
    answers: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RemovedFromGraph")]
struct RemovedFromGraphItem {
    /// Entities that nothing else mentions.
    entities: u32,
    /// Relations that nothing else states.
    relations: u32,
    /// Entities and relations whose text would change.
    changed: u32,
}

#[derive(Serialize, JsonSchema)]
struct DeleteAnswer {
    /// `deletion_started`, as in LightRAG, although the removal is already done.
    status: &'static str,
    message: String,
    doc_id: String,
}

async fn pipeline_status(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
) -> Result<axum::Json<PipelineStatus>, Problem> {
    let (pipeline, reasons) = (space.ingest.pipeline(), Reasons::for_caller(&admitted));
    let messages: Vec<String> =
        pipeline.messages.into_iter().map(|message| message.for_caller(reasons)).collect();
    let snapshot = space.indexing.store.snapshot().await?;
    let (paused, empty_extractions) =
        (snapshot.queue().await?.is_paused(), snapshot.empty_extractions().await?);
    let budget = space.store.budget().await?;
    let waits_for = match index::waits_for(snapshot.as_ref(), budget.as_ref()).await? {
        Some(index::WaitsFor::Resume) => Some(WaitsFor::Resume),
        Some(index::WaitsFor::Budget) => Some(WaitsFor::Budget),
        None => (space.pauses.paused() > 0).then_some(WaitsFor::Service),
    };
    let is_indexed_elsewhere = !snapshot.leased_jobs().await?.is_empty();
    Ok(axum::Json(PipelineStatus {
        busy: pipeline.busy || is_indexed_elsewhere,
        job_name: "indexing",
        job_start: pipeline.started_at.map(graphloom_core::Timestamp::to_iso),
        docs: pipeline.documents,
        batchs: pipeline.documents,
        cur_batch: pipeline.done,
        latest_message: messages.last().cloned().unwrap_or_default(),
        history_messages: messages,
        update_status: Default::default(),
        cancellation_requested: false,
        cancellation_reason: None,
        cancellation_detail: None,
        destructive_busy: false,
        pending_enqueues: 0,
        scanning: false,
        scanning_exclusive: false,
        recovery_required: false,
        recovery_kind: None,
        recovery_message: None,
        paused,
        waits_for,
        budget: budget.map(BudgetItem::from),
        empty_extractions,
    }))
}

async fn cancel(ExistingWorkspace(space): ExistingWorkspace) -> Result<axum::Json<StatusMessage>, Problem> {
    apart(async move || {
        let store = space.indexing.store.as_ref();
        let queued = index::queued(store.snapshot().await?.as_ref()).await?;
        if queued.is_empty() {
            let message = "Pipeline is not currently running. No cancellation needed.".to_owned();
            return Ok(axum::Json(StatusMessage { status: "not_busy", message }));
        }
        let cancelled = index::cancel(store, &queued).await?;
        let out: Vec<DocumentId> = cancelled.cancelled.iter().chain(&cancelled.kept).cloned().collect();
        space.ingest.cancelled(named(store.snapshot().await?.as_ref(), &out).await?);
        let message = format!(
            "{} documents removed from the queue; /documents/reprocess_failed queues them again",
            cancelled.cancelled.len() + cancelled.kept.len()
        );
        Ok(axum::Json(StatusMessage { status: "cancellation_requested", message }))
    })
    .await
}

async fn reprocess(ExistingWorkspace(space): ExistingWorkspace) -> Result<axum::Json<Reprocessing>, Problem> {
    let queued = retry(space, None).await?;
    let message = format!("{} documents and {} chunks queued again", queued.documents, queued.chunks);
    Ok(axum::Json(Reprocessing { status: "reprocessing_started", message, track_id: String::new() }))
}

async fn scan(ExistingWorkspace(space): ExistingWorkspace) -> Result<axum::Json<Reprocessing>, Problem> {
    let unique = random::<8>().map_err(|error| Problem::internal(&error))?;
    let track = TrackId::of_run("scan", now(), &hex(&unique));
    let queued = retry(space, Some(track.clone())).await?;
    let message = format!("{} failed documents queued again; upload new ones", queued.documents);
    Ok(axum::Json(Reprocessing { status: "scanning_started", message, track_id: track.to_string() }))
}

/// Queues failed, damaged and cancelled documents again, as part of the run `track`.
async fn retry(space: Arc<Space>, track: Option<TrackId>) -> Result<RequeueReport, Problem> {
    apart(async move || {
        let engine = &space.indexing;
        let snapshot = engine.store.snapshot().await?;
        let status = [StatusKind::Failed, StatusKind::Incomplete, StatusKind::Cancelled].into();
        let filter = DocumentFilter { status, ..DocumentFilter::default() };
        let failed = filter.select(snapshot.as_ref()).await?;
        drop(snapshot);
        let (ids, sources): (Vec<DocumentId>, Vec<String>) =
            failed.into_iter().map(|document| (document.id, document.source)).unzip();
        let queued = index::retry(engine, &ids, track.as_ref()).await?;
        space.ingest.retry(ids.into_iter().zip(sources).collect());
        Ok(queued)
    })
    .await
}

async fn re_extract(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(request): Json<ReExtractDocuments>,
) -> Result<axum::Json<StatusMessage>, Problem> {
    let ids = request.ids()?;
    apart(async move || {
        let known = named(space.indexing.store.snapshot().await?.as_ref(), &ids).await?;
        if known.is_empty() {
            return Err(Problem::not_found("none of these documents exists"));
        }
        // A run with other settings than the workspace's would be rejected in the background, without any message to the client.
        index::require_settings(&space.indexing).await?;
        let unique = random::<8>().map_err(|error| Problem::internal(&error))?;
        let track = TrackId::of_run(RE_EXTRACT, now(), &hex(&unique));
        let ids: Vec<DocumentId> = known.into_iter().map(|(id, _)| id).collect();
        let plan = index::note_renewal(&space.indexing, &ids, Some(&track)).await?;
        let mut message =
            format!("{} chunks of {} documents are extracted again", plan.chunks, plan.renewed.len());
        for (documents, why) in [
            (&plan.unchanged, "are by this model already"),
            (&plan.busy, "are being worked on"),
            (&plan.not_ready, "are not in the graph"),
        ] {
            if !documents.is_empty() {
                message.push_str(&format!(", {} {why}", documents.len()));
            }
        }
        space.ingest.wake();
        Ok(axum::Json(StatusMessage { status: "re_extraction_started", message }))
    })
    .await
}

async fn clear_cache(
    ExistingWorkspace(space): ExistingWorkspace,
) -> Result<axum::Json<StatusMessage>, Problem> {
    let store = &space.indexing.store;
    let clear_caches: Vec<CacheKind> = CacheKind::ALL.into_iter().filter(|kind| kind.is_bounded()).collect();
    store.commit(Batch { clear_caches, ..Batch::default() }).await?;
    let message = "Successfully cleared cached answers".to_owned();
    Ok(axum::Json(StatusMessage { status: "success", message }))
}

async fn delete_documents(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(request): Json<DeleteDocuments>,
) -> Result<axum::Json<DeleteAnswer>, Problem> {
    let ids: Vec<String> = request.doc_ids.iter().map(|id| id.trim().to_owned()).collect();
    if ids.is_empty() || ids.iter().any(String::is_empty) {
        return Err(Problem::invalid("doc_ids must not be empty"));
    }
    if ids.len() > MAX_IDS {
        return Err(Problem::invalid(format!("doc_ids must not have more than {MAX_IDS} ids")));
    }
    if ids.iter().collect::<BTreeSet<_>>().len() < ids.len() {
        return Err(Problem::invalid("Document IDs must be unique"));
    }
    apart(async move || {
        let documents: Vec<DocumentId> = ids.iter().map(|id| DocumentId::from_stored(id.as_str())).collect();
        let known = named(space.indexing.store.snapshot().await?.as_ref(), &documents).await?;
        let removal = index::delete(&space.indexing, &documents).await?;
        space.ingest.removed(&known);
        let unknown = documents.len() as u64 - u64::from(removal.documents);
        let mut message = format!("{} documents deleted", removal.documents);
        if unknown > 0 {
            message.push_str(&format!("; {unknown} ids are unknown"));
        }
        Ok(axum::Json(DeleteAnswer { status: "deletion_started", message, doc_id: ids.join(", ") }))
    })
    .await
}

async fn preview(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(PreviewDocuments { doc_ids }): Json<PreviewDocuments>,
) -> Result<axum::Json<RemovalPreviewItem>, Problem> {
    if doc_ids.is_empty() || doc_ids.len() > MAX_IDS {
        return Err(Problem::invalid(format!("doc_ids must have 1 to {MAX_IDS} ids")));
    }
    apart(async move || {
        let ids: Vec<DocumentId> = doc_ids.into_iter().map(DocumentId::from_stored).collect();
        let RemovalPreview { documents, chunks, graph, answers } =
            index::preview_removal(&space.indexing, &ids).await?;
        let graph = graph.map(|RemovedFromGraph { entities, relations, changed }| RemovedFromGraphItem {
            entities,
            relations,
            changed,
        });
        Ok(axum::Json(RemovalPreviewItem { documents, chunks, graph, answers }))
    })
    .await
}

async fn clear(ExistingWorkspace(space): ExistingWorkspace) -> Result<axum::Json<StatusMessage>, Problem> {
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let known = all(snapshot.as_ref()).await?;
        drop(snapshot);
        let ids: Vec<DocumentId> = known.iter().map(|(id, _)| id.clone()).collect();
        let removal = index::delete(&space.indexing, &ids).await?;
        space.ingest.removed(&known);
        let message =
            format!("{} documents deleted; graph edits are kept and can be undone", removal.documents);
        Ok(axum::Json(StatusMessage { status: "success", message }))
    })
    .await
}

/// All documents with their sources.
async fn all(snapshot: &dyn Snapshot) -> Result<Vec<(DocumentId, String)>, StoreError> {
    let mut known = Vec::new();
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        known.extend(page.into_iter().map(|document| (document.id, document.source)));
    }
    Ok(known)
}
