//! Lists documents with their status.

use std::collections::{BTreeMap, BTreeSet};

use axum::routing::{get, post};
use graphloom_core::{
    ChunkId, DocumentId, DocumentOrder, DocumentPage, DocumentStatus, DocumentsFound, Snapshot, StatusKind,
    StoreError, TrackId,
};
use graphloom_engine::index::{self, DocumentState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apart::apart;
use crate::guard::Admission;
use crate::input::{ExistingWorkspace, Json, PathName};
use crate::limits::MAX_IDS;
use crate::problem::Problem;
use crate::reasons::Reasons;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Maximum characters of a summary [LightRAG].
const SUMMARY_CHARS: usize = 250;
/// Maximum characters of a search.
const MAX_SEARCH_CHARS: usize = 200;
/// Allowed page sizes [LightRAG].
const PAGE_SIZES: std::ops::RangeInclusive<usize> = 10..=200;

pub(super) const ROUTES: &[Route] = &[
    Route::post("/documents/paginated", "A page of the documents, with the number of each status", || {
        post(paginated)
    })
    .reads()
    .takes(Takes::Json(schema::<DocumentsRequest>))
    .gives(Gives::Json(schema::<PaginatedDocuments>)),
    Route::post(
        "/documents/select",
        "The ids of the documents that match, such as to remove all of them",
        || post(select),
    )
    .reads()
    .load(Load::Whole)
    .takes(Takes::Json(schema::<SelectDocuments>))
    .gives(Gives::Json(schema::<SelectedDocuments>)),
    Route::get("/documents/status_counts", "The number of documents by status", || get(status_counts))
        .reads()
        .gives(Gives::Json(schema::<StatusCounts>)),
    Route::get("/documents/track_status/{track_id}", "The documents of one upload or insertion", || {
        get(track_status)
    })
    .reads()
    .gives(Gives::Json(schema::<TrackStatus>)),
];

/// A status with LightRAG's name. `parsing`, `analyzing` and `preprocessed` never occur, since documents are read
/// before they are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DocStatus {
    Pending,
    Parsing,
    Analyzing,
    Processing,
    Preprocessed,
    Processed,
    Failed,
}

impl DocStatus {
    const ALL: [Self; 7] = [
        Self::Pending,
        Self::Parsing,
        Self::Analyzing,
        Self::Processing,
        Self::Preprocessed,
        Self::Processed,
        Self::Failed,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Parsing => "parsing",
            Self::Analyzing => "analyzing",
            Self::Processing => "processing",
            Self::Preprocessed => "preprocessed",
            Self::Processed => "processed",
            Self::Failed => "failed",
        }
    }

    /// An incomplete document is in the graph and searchable, so it counts as processed, with its failure as
    /// `error_msg`.
    fn of(status: StatusKind) -> Self {
        match status {
            StatusKind::Waiting => Self::Pending,
            StatusKind::Indexing => Self::Processing,
            StatusKind::Ready | StatusKind::Incomplete => Self::Processed,
            StatusKind::Failed | StatusKind::Cancelled => Self::Failed,
        }
    }

    fn kinds(self) -> impl Iterator<Item = StatusKind> {
        StatusKind::ALL.into_iter().filter(move |kind| Self::of(*kind) == self)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SortField {
    CreatedAt,
    #[default]
    UpdatedAt,
    Id,
    FilePath,
    /// Graphloom only.
    ContentLength,
    /// Those that need attention first. Graphloom only.
    Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SortDirection {
    Asc,
    #[default]
    Desc,
}

/// Selects a page of documents.
#[derive(Debug, Deserialize, JsonSchema)]
struct DocumentsRequest {
    /// Only this status; ignored if `status_filters` is set.
    status_filter: Option<DocStatus>,
    /// Only these statuses.
    status_filters: Option<Vec<DocStatus>>,
    /// Page number, from 1.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    page: usize,
    /// Documents per page, 10 to 200.
    #[serde(default = "fifty")]
    #[schemars(range(min = 10, max = 200))]
    page_size: usize,
    /// `created_at` and `updated_at` are both the time when it was added.
    #[serde(default)]
    sort_field: SortField,
    #[serde(default)]
    sort_direction: SortDirection,
    /// Only documents whose name contains this, in any case. Graphloom only.
    #[serde(default)]
    #[schemars(length(max = MAX_SEARCH_CHARS))]
    search: String,
}

/// Selects documents.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SelectDocuments {
    /// Only these statuses.
    status_filters: Option<Vec<DocStatus>>,
    /// Only documents whose name contains this, in any case.
    #[serde(default)]
    #[schemars(length(max = MAX_SEARCH_CHARS))]
    search: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SelectedDocuments {
    /// Number of documents that match.
    total: u64,
    /// The first 10,000 of them by name.
    ids: Vec<String>,
}

fn first() -> usize {
    1
}

fn fifty() -> usize {
    50
}

/// A document.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DocumentItem {
    id: String,
    /// The start of its text.
    content_summary: String,
    /// Length of its text in bytes.
    content_length: u64,
    status: DocStatus,
    created_at: String,
    updated_at: String,
    /// The latest run that queued it.
    track_id: Option<String>,
    chunks_count: Option<u32>,
    /// Why it stopped or which part failed.
    error_msg: Option<String>,
    /// Remarks, for example about parts that were not read. Graphloom only.
    remarks: Vec<String>,
    metadata: BTreeMap<String, String>,
    file_path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Pagination {
    page: usize,
    page_size: usize,
    total_count: u64,
    total_pages: u64,
    has_next: bool,
    has_prev: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PaginatedDocuments {
    documents: Vec<DocumentItem>,
    pagination: Pagination,
    /// Number of documents by status, and `all`.
    status_counts: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StatusCounts {
    /// Number of documents by status, and `all`.
    status_counts: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TrackStatus {
    track_id: String,
    documents: Vec<DocumentItem>,
    total_count: usize,
    status_summary: BTreeMap<&'static str, u64>,
}

async fn paginated(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    Json(request): Json<DocumentsRequest>,
) -> Result<axum::Json<PaginatedDocuments>, Problem> {
    let DocumentsRequest { page, page_size, sort_field, sort_direction, .. } = request;
    if page == 0 || !PAGE_SIZES.contains(&page_size) {
        return Err(Problem::invalid("page must be at least 1, and page_size from 10 to 200"));
    }
    let name = name_of(&request.search)?;
    let wanted = request.status_filters.or_else(|| request.status_filter.map(|status| vec![status]));
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let of_kinds = snapshot.status_counts().await?;
        let request = DocumentPage {
            order: sort_field.order(),
            descending: sort_direction == SortDirection::Desc,
            status: kinds_of(wanted),
            name,
            skip: (page - 1).saturating_mul(page_size),
            limit: page_size,
        };
        let DocumentsFound { ids, total } = snapshot.document_page(&request).await?;
        let documents = items(snapshot, &ids, Reasons::for_caller(&admitted)).await?;
        let pagination = Pagination::of(page, page_size, total);
        Ok(axum::Json(PaginatedDocuments { documents, pagination, status_counts: by_name(&of_kinds) }))
    })
    .await
}

async fn select(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(SelectDocuments { status_filters, search }): Json<SelectDocuments>,
) -> Result<axum::Json<SelectedDocuments>, Problem> {
    let name = name_of(&search)?;
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let (order, descending, skip, limit) = (DocumentOrder::Source, false, 0, MAX_IDS);
        let request = DocumentPage { order, descending, status: kinds_of(status_filters), name, skip, limit };
        let DocumentsFound { ids, total } = snapshot.document_page(&request).await?;
        Ok(axum::Json(SelectedDocuments { total, ids: ids.iter().map(ToString::to_string).collect() }))
    })
    .await
}

/// The name to search for.
fn name_of(search: &str) -> Result<String, Problem> {
    match search.chars().count() > MAX_SEARCH_CHARS {
        true => Err(Problem::invalid(format!("search may have {MAX_SEARCH_CHARS} characters"))),
        false => Ok(search.trim().to_owned()),
    }
}

/// The wanted statuses; `None` if all are wanted. Some of LightRAG's never occur, so the set may be empty.
fn kinds_of(wanted: Option<Vec<DocStatus>>) -> Option<BTreeSet<StatusKind>> {
    wanted.map(|wanted| wanted.into_iter().flat_map(DocStatus::kinds).collect())
}

async fn status_counts(
    ExistingWorkspace(space): ExistingWorkspace,
) -> Result<axum::Json<StatusCounts>, Problem> {
    let counts = space.indexing.store.snapshot().await?.status_counts().await?;
    Ok(axum::Json(StatusCounts { status_counts: by_name(&counts) }))
}

async fn track_status(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    PathName(track_id): PathName,
) -> Result<axum::Json<TrackStatus>, Problem> {
    let track = TrackId::new(&track_id).map_err(|error| Problem::invalid(error.to_string()))?;
    let snapshot = space.indexing.store.snapshot().await?;
    let ids = snapshot.documents_of_tracks(std::slice::from_ref(&track)).await?.into_iter().next();
    let reasons = Reasons::for_caller(&admitted);
    let documents = items(snapshot.as_ref(), &ids.unwrap_or_default(), reasons).await?;
    let mut status_summary: BTreeMap<&'static str, u64> = BTreeMap::new();
    for document in &documents {
        *status_summary.entry(document.status.name()).or_default() += 1;
    }
    Ok(axum::Json(TrackStatus { track_id, total_count: documents.len(), documents, status_summary }))
}

/// Every LightRAG status, and `all`.
fn by_name(counts: &BTreeMap<StatusKind, u64>) -> BTreeMap<&'static str, u64> {
    let mut by_name: BTreeMap<&'static str, u64> =
        DocStatus::ALL.into_iter().map(|status| (status.name(), 0)).collect();
    for (kind, count) in counts {
        *by_name.entry(DocStatus::of(*kind).name()).or_default() += count;
    }
    by_name.insert("all", counts.values().sum());
    by_name
}

impl Pagination {
    fn of(page: usize, page_size: usize, total: u64) -> Self {
        let total_pages = total.div_ceil(page_size as u64);
        let (has_next, has_prev) = ((page as u64) < total_pages, page > 1);
        Self { page, page_size, total_count: total, total_pages, has_next, has_prev }
    }
}

impl SortField {
    fn order(self) -> DocumentOrder {
        match self {
            Self::CreatedAt | Self::UpdatedAt => DocumentOrder::Accepted,
            Self::Id => DocumentOrder::Id,
            Self::FilePath => DocumentOrder::Source,
            Self::ContentLength => DocumentOrder::Size,
            Self::Status => DocumentOrder::Status,
        }
    }
}

/// The documents with these ids, in order; missing ones are omitted.
pub(super) async fn items(
    snapshot: &dyn Snapshot,
    ids: &[DocumentId],
    reasons: Reasons,
) -> Result<Vec<DocumentItem>, StoreError> {
    let states = index::states_of(snapshot, ids).await?;
    let tracks = snapshot.tracks_of(ids).await?;
    // The start of a document is in its first chunk, so the whole text is not read.
    let firsts: Vec<Option<ChunkId>> =
        snapshot.chunk_ids_of(ids).await?.into_iter().map(|chunks| chunks.into_iter().next()).collect();
    let known: Vec<ChunkId> = firsts.iter().flatten().cloned().collect();
    let mut begins = snapshot.chunks(&known).await?.into_iter();
    let mut items = Vec::with_capacity(ids.len());
    for ((state, tracks), first) in states.into_iter().zip(tracks).zip(firsts) {
        let begin = first.and_then(|_| begins.next().flatten()).map(|chunk| chunk.text).unwrap_or_default();
        let Some(state) = state else { continue };
        let track = tracks.into_iter().next_back();
        items.push(item(state, track.map(|track| track.to_string()), &begin, reasons));
    }
    Ok(items)
}

fn item(state: DocumentState, track_id: Option<String>, begin: &str, reasons: Reasons) -> DocumentItem {
    let DocumentState { document, status, failed_chunks, damaged_chunks, chunks_without_context, .. } = state;
    let visible = |(ordinal, reason): &(u32, String)| (*ordinal, reasons.tell(reason.clone()));
    // Lost records are not a message of a model service, so they need not be hidden.
    let first = failed_chunks.first().map(visible).or(damaged_chunks.first().cloned());
    let first = first.or(chunks_without_context.first().map(visible));
    let first = first.map(|(ordinal, reason)| format!("chunk {ordinal}: {reason}")).unwrap_or_default();
    let (chunks_count, error_msg) = match &status {
        DocumentStatus::Waiting => (None, None),
        DocumentStatus::Indexing { chunks, .. } | DocumentStatus::Ready { chunks } => (Some(*chunks), None),
        DocumentStatus::Incomplete { failed, damaged, without_context, chunks } => {
            let contextualized = match without_context {
                0 => String::new(),
                without_context => format!(", {without_context} not contextualized"),
            };
            let what = format!(
                "{failed} chunks failed and {damaged} lost records{contextualized} of {chunks}; {first}"
            );
            (Some(*chunks), Some(what))
        }
        DocumentStatus::Failed { reason } => (None, Some(reasons.tell(reason.clone()))),
        DocumentStatus::Cancelled { chunks, .. } => (Some(*chunks), Some("User cancelled".to_owned())),
    };
    let mut summary: String = begin.chars().take(SUMMARY_CHARS).collect();
    if begin.chars().nth(SUMMARY_CHARS).is_some() {
        summary.push_str("...");
    }
    let at = document.added_at.to_iso();
    DocumentItem {
        id: document.id.to_string(),
        content_summary: summary,
        content_length: document.text_bytes,
        status: DocStatus::of(status.kind()),
        created_at: at.clone(),
        updated_at: at,
        track_id,
        chunks_count,
        error_msg,
        remarks: document.remarks,
        metadata: document.meta,
        file_path: document.source,
    }
}
