//! Lists documents with their status.

use std::collections::{BTreeMap, BTreeSet};

use axum::routing::{get, post};
use graphloom_core::{
    ChunkId, Document, DocumentFilter, DocumentId, DocumentStatus, Snapshot, StatusKind, StoreError, TrackId,
    table,
};
use graphloom_engine::index::{self, DocumentState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apart::apart;
use crate::guard::Admission;
use crate::input::{Existing, Json, PathName};
use crate::problem::Problem;
use crate::reasons::Reasons;
use crate::route::{Gives, Route, Takes, schema};

/// Documents per read when looking for a page.
const SCAN: usize = 500;
/// Maximum characters of a summary [LightRAG].
const SUMMARY_CHARS: usize = 250;
/// Allowed page sizes [LightRAG].
const PAGE_SIZES: std::ops::RangeInclusive<usize> = 10..=200;

pub(super) const ROUTES: &[Route] = &[
    Route::post("/documents/paginated", "A page of the documents, with the number of each status", || {
        post(paginated)
    })
    .reads()
    .takes(Takes::Json(schema::<DocumentsRequest>))
    .gives(Gives::Json(schema::<PaginatedDocuments>)),
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
    Existing(space): Existing,
    admitted: Admission,
    Json(request): Json<DocumentsRequest>,
) -> Result<axum::Json<PaginatedDocuments>, Problem> {
    let DocumentsRequest { page, page_size, sort_field, sort_direction, .. } = request;
    if page == 0 || !PAGE_SIZES.contains(&page_size) {
        return Err(Problem::invalid("page must be at least 1, and page_size from 10 to 200"));
    }
    let wanted = request.status_filters.or_else(|| request.status_filter.map(|status| vec![status]));
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let of_kinds = snapshot.status_counts().await?;
        let kinds: Option<BTreeSet<StatusKind>> =
            wanted.map(|wanted| wanted.into_iter().flat_map(DocStatus::kinds).collect());
        let counted = |kind: &StatusKind| kinds.as_ref().is_none_or(|kinds| kinds.contains(kind));
        let total: u64 = of_kinds.iter().filter(|(kind, _)| counted(kind)).map(|(_, count)| count).sum();
        let skip = (page as u64 - 1).saturating_mul(page_size as u64);
        let documents = match (skip < total, kinds) {
            (false, _) => Vec::new(),
            (true, kinds) => {
                let filter =
                    DocumentFilter { status: kinds.unwrap_or_default(), ..DocumentFilter::default() };
                let order = Order { field: sort_field, direction: sort_direction };
                let ids = order.page(snapshot, &filter, total, skip, page_size as u64).await?;
                items(snapshot, &ids, Reasons::for_caller(&admitted)).await?
            }
        };
        let total_pages = total.div_ceil(page_size as u64);
        let pagination = Pagination {
            page,
            page_size,
            total_count: total,
            total_pages,
            has_next: (page as u64) < total_pages,
            has_prev: page > 1,
        };
        Ok(axum::Json(PaginatedDocuments { documents, pagination, status_counts: by_name(&of_kinds) }))
    })
    .await
}

async fn status_counts(Existing(space): Existing) -> Result<axum::Json<StatusCounts>, Problem> {
    let counts = space.indexing.store.snapshot().await?.status_counts().await?;
    Ok(axum::Json(StatusCounts { status_counts: by_name(&counts) }))
}

async fn track_status(
    Existing(space): Existing,
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

/// A sort order.
#[derive(Debug, Clone, Copy)]
struct Order {
    field: SortField,
    direction: SortDirection,
}

impl Order {
    /// The ids of a page, in order. The store reads each order in one direction. Pages of the other direction are
    /// counted from the end, so its first pages cost as much as the last pages of the first direction.
    async fn page(
        self,
        snapshot: &dyn Snapshot,
        filter: &DocumentFilter,
        total: u64,
        skip: u64,
        size: u64,
    ) -> Result<Vec<DocumentId>, StoreError> {
        let natural = match self.field {
            SortField::CreatedAt | SortField::UpdatedAt => SortDirection::Desc,
            SortField::Id | SortField::FilePath => SortDirection::Asc,
        };
        let size = size.min(total.saturating_sub(skip));
        let is_reversed = self.direction != natural;
        let from = if is_reversed { total - skip - size } else { skip };
        let (mut ids, mut seen, mut after): (Vec<DocumentId>, u64, Option<Document>) = (Vec::new(), 0, None);
        while (ids.len() as u64) < size {
            let page = self.scan(snapshot, after.as_ref()).await?;
            let is_last = page.len() < SCAN;
            after = page.last().cloned();
            for document in filter.admitted(snapshot, page).await? {
                if seen >= from && (ids.len() as u64) < size {
                    ids.push(document.id);
                }
                seen += 1;
            }
            if is_last {
                break;
            }
        }
        if is_reversed {
            ids.reverse();
        }
        Ok(ids)
    }

    async fn scan(
        self,
        snapshot: &dyn Snapshot,
        after: Option<&Document>,
    ) -> Result<Vec<Document>, StoreError> {
        match self.field {
            SortField::CreatedAt | SortField::UpdatedAt => {
                let after = after.map(|after| (after.added_at, after.id.clone()));
                snapshot.scan(table::DocumentsByDate, after.as_ref(), SCAN).await
            }
            SortField::FilePath => {
                let after = after.map(|after| (after.source.clone(), after.id.clone()));
                snapshot.scan(table::DocumentsBySource, after.as_ref(), SCAN).await
            }
            SortField::Id => snapshot.scan(table::Documents, after.map(|after| &after.id), SCAN).await,
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
    let told = |(ordinal, reason): &(u32, String)| (*ordinal, reasons.tell(reason.clone()));
    // Lost records are not a message of a model service, so they need not be hidden.
    let first = failed_chunks.first().map(told).or(damaged_chunks.first().cloned());
    let first = first.or(chunks_without_context.first().map(told));
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
