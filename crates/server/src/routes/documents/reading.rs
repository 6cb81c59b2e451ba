//! Reads one document: details, text, chunks, and spans as citations name them.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use graphloom_core::{
    Chunk, ChunkContext, ChunkContextOutcome, ChunkExtraction, ChunkId, Document, DocumentId, Format,
    GraphKey, Part, PartMark, Snapshot, Span, StoreError, Visibility,
};
use graphloom_engine::index::{self, RenewalState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::listing::{DocumentItem, items};
use crate::apart::apart;
use crate::guard::Admission;
use crate::input::{ExistingWorkspace, Params, PathName};
use crate::place::PlaceItem;
use crate::problem::Problem;
use crate::reasons::Reasons;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Maximum chunks per page.
const MAX_CHUNKS: usize = 100;
/// Maximum span of a quote, in bytes.
const MAX_QUOTE: u64 = 1 << 20;

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/documents/{document_id}",
        "One document: status, format, failures and number of entities",
        || get(document),
    )
    .reads()
    .gives(Gives::Json(schema::<DocumentDetail>)),
    Route::get(
        "/documents/{document_id}/text",
        "The text of a document, whose bytes citations refer to",
        || get(text),
    )
    .reads()
    .load(Load::Whole),
    Route::get(
        "/documents/{document_id}/original",
        "The file that a document was read from, if it is kept: PDF files that have original_bytes",
        || get(original),
    )
    .reads()
    .load(Load::Whole)
    .gives(Gives::Media(&["application/pdf"])),
    Route::get("/documents/{document_id}/chunks", "The chunks of a document, in order", || get(chunks))
        .reads()
        .takes(Takes::Query(schema::<ChunksParams>))
        .gives(Gives::Json(schema::<ChunkPage>)),
    Route::get(
        "/documents/{document_id}/passage",
        "A span of a document: lines, pages, verbatim quote",
        || get(passage),
    )
    .reads()
    .takes(Takes::Query(schema::<PassageParams>))
    .gives(Gives::Json(schema::<PlaceItem>)),
    Route::get("/chunks/{chunk_id}", "One chunk: text, place, entities and relations", || get(chunk))
        .reads()
        .gives(Gives::Json(schema::<ChunkDetail>)),
];

/// Details of a document.
#[derive(Serialize, JsonSchema)]
struct DocumentDetail {
    #[serde(flatten)]
    item: DocumentItem,
    title: String,
    /// Format of the source.
    format: &'static str,
    /// Encoding of the source.
    encoding: String,
    /// Whether line numbers of the text are those of the source file.
    lines_match_source: bool,
    /// Start of its pages, slides or sheets.
    parts: Vec<PartItem>,
    /// Length of the file it was read from, if that is kept.
    original_bytes: Option<u64>,
    /// Whether it is a new version that is not in use yet.
    staged: bool,
    /// Runs that queued it.
    track_ids: Vec<String>,
    /// Number of entities it mentions.
    entities: usize,
    /// Number of relations it states.
    relations: usize,
    /// Chunks whose extraction failed.
    failed_chunks: Vec<ChunkFault>,
    /// Chunks whose extraction lost records.
    damaged_chunks: Vec<ChunkFault>,
    /// Chunks whose context failed.
    chunks_without_context: Vec<ChunkFault>,
    /// Progress of a re-extraction.
    re_extraction: Option<ReExtraction>,
}

/// A page, slide or sheet.
#[derive(Serialize, JsonSchema)]
struct PartItem {
    /// Its first byte in the text.
    offset: u64,
    /// Such as `p. 3`, `slide 2`, `sheet Budget`.
    name: String,
    /// Its number, if it is a page.
    page: Option<u32>,
}

/// A failed chunk.
#[derive(Serialize, JsonSchema)]
struct ChunkFault {
    /// Position among the chunks, from 0.
    ordinal: u32,
    reason: String,
}

#[derive(Serialize, JsonSchema)]
struct ReExtraction {
    /// The model.
    model: String,
    /// Number of chunks to extract.
    chunks: u32,
    /// Number of chunks extracted so far.
    extracted: u32,
    /// Chunks that keep their old extraction.
    failed_chunks: Vec<ChunkFault>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChunksParams {
    /// Position of the first chunk, from 0.
    #[serde(default)]
    from: usize,
    /// Maximum chunks, 1 to 100.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = MAX_CHUNKS))]
    limit: usize,
}

fn fifty() -> usize {
    50
}

#[derive(Serialize, JsonSchema)]
struct ChunkPage {
    chunks: Vec<ChunkItem>,
    /// Number of chunks of the document.
    total_count: usize,
    /// Value of `from` for the next page.
    next: Option<usize>,
}

/// A chunk.
#[derive(Serialize, JsonSchema)]
struct ChunkItem {
    id: String,
    /// Position among the chunks, from 0.
    ordinal: u32,
    #[serde(flatten)]
    place: PlaceItem,
    tokens: u32,
    /// Headings above it, outermost first.
    breadcrumb: Vec<String>,
    extraction: Extraction,
    /// Why it failed or which records were lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The context indexed with the chunk; never quoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk_context: Option<String>,
}

/// The state of a chunk's extraction.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Extraction {
    Pending,
    Done,
    Damaged,
    Failed,
}

/// A chunk with its entities and relations.
#[derive(Serialize, JsonSchema)]
struct ChunkDetail {
    #[serde(flatten)]
    item: ChunkItem,
    /// Names of the entities, ordered by key.
    entities: Vec<String>,
    /// Names of both entities of each relation.
    relations: Vec<[String; 2]>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PassageParams {
    /// First byte.
    start: u64,
    /// End byte (exclusive).
    end: u64,
}

async fn document(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    PathName(id): PathName,
) -> Result<axum::Json<DocumentDetail>, Problem> {
    let reasons = Reasons::for_caller(&admitted);
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let ids = [DocumentId::from_stored(id.as_str())];
        let state = index::states_of(snapshot, &ids).await?.into_iter().flatten().next();
        let item = items(snapshot, &ids, reasons).await?.into_iter().next();
        let (Some(state), Some(item)) = (state, item) else { return Err(no_document(&id)) };
        let chunks = snapshot.chunk_ids_of(&ids).await?.into_iter().flatten().collect::<Vec<_>>();
        let keys = snapshot.graph_keys_of(&chunks).await?;
        let entities = keys.iter().filter(|key| matches!(key, GraphKey::Entity(_))).count();
        let tracks = snapshot.tracks_of(&ids).await?.into_iter().flatten();
        let original = snapshot.original_stamps(&ids).await?.into_iter().flatten().next();
        let document = state.document;
        Ok(axum::Json(DocumentDetail {
            item,
            format: document.format.name(),
            encoding: document.encoding,
            lines_match_source: document.lines_match_source,
            parts: document.parts.iter().map(PartItem::from).collect(),
            original_bytes: original.map(|stamp| stamp.bytes),
            staged: document.visibility == Visibility::Staged,
            title: document.title,
            track_ids: tracks.map(|track| track.to_string()).collect(),
            relations: keys.len() - entities,
            entities,
            failed_chunks: faults(state.failed_chunks, reasons),
            damaged_chunks: faults(state.damaged_chunks, Reasons::InFull),
            chunks_without_context: faults(state.chunks_without_context, reasons),
            re_extraction: state.renewal.map(|renewal| ReExtraction::of(renewal, reasons)),
        }))
    })
    .await
}

async fn text(
    ExistingWorkspace(space): ExistingWorkspace,
    PathName(id): PathName,
) -> Result<Response, Problem> {
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let (_, text) = document_of(snapshot.as_ref(), &id).await?;
        Ok(text.into_response())
    })
    .await
}

/// If a browser opens the file itself, it runs nothing and loads nothing.
const ORIGINAL_POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

async fn original(
    ExistingWorkspace(space): ExistingWorkspace,
    PathName(id): PathName,
) -> Result<Response, Problem> {
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let ids = [DocumentId::from_stored(id.as_str())];
        let document = snapshot.documents(&ids).await?.into_iter().flatten().next();
        let document = document.ok_or_else(|| no_document(&id))?;
        let bytes = snapshot.originals(&ids).await?.into_iter().flatten().next().ok_or_else(|| {
            Problem::not_found(format!("the file of document {id} is not kept"))
                .remedy(Some("add a PDF file of at most max_original_mb again to keep it"))
        })?;
        let is_pdf = document.format == Format::Pdf;
        let kind = if is_pdf { "application/pdf" } else { "application/octet-stream" };
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(ORIGINAL_POLICY)),
            (header::CONTENT_DISPOSITION, attachment_of(&document.source)),
        ];
        Ok((headers, bytes).into_response())
    })
    .await
}

/// Makes a browser save the file under the last part of its name, in the form of RFC 6266.
fn attachment_of(source: &str) -> HeaderValue {
    let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut value = "attachment; filename*=UTF-8''".to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => value.push(char::from(byte)),
            _ => value.push_str(&format!("%{byte:02X}")),
        }
    }
    HeaderValue::try_from(value).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

async fn chunks(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    PathName(id): PathName,
    Params(ChunksParams { from, limit }): Params<ChunksParams>,
) -> Result<axum::Json<ChunkPage>, Problem> {
    if !(1..=MAX_CHUNKS).contains(&limit) {
        return Err(Problem::invalid(format!("limit must be from 1 to {MAX_CHUNKS}")));
    }
    let reasons = Reasons::for_caller(&admitted);
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let (document, text) = document_of(snapshot, &id).await?;
        let all = snapshot.chunk_ids_of(std::slice::from_ref(&document.id)).await?;
        let all: Vec<ChunkId> = all.into_iter().flatten().collect();
        let page: Vec<ChunkId> = all.iter().skip(from).take(limit).cloned().collect();
        let next = from.saturating_add(page.len());
        let chunks = chunk_items(snapshot, &document, &text, &page, reasons).await?;
        let next = (next < all.len() && !page.is_empty()).then_some(next);
        Ok(axum::Json(ChunkPage { chunks, total_count: all.len(), next }))
    })
    .await
}

async fn passage(
    ExistingWorkspace(space): ExistingWorkspace,
    PathName(id): PathName,
    Params(PassageParams { start, end }): Params<PassageParams>,
) -> Result<axum::Json<PlaceItem>, Problem> {
    if start >= end || end - start > MAX_QUOTE {
        let what = format!("the span from start to end must have 1 to {MAX_QUOTE} bytes");
        return Err(Problem::invalid(what));
    }
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let (document, text) = document_of(snapshot.as_ref(), &id).await?;
        let place = PlaceItem::of(&document, &text, Span { start, end }).ok_or_else(|| {
            let what = format!(
                "bytes {start} to {end} exceed the text of {} bytes or split a character",
                text.len()
            );
            Problem::invalid(what).remedy(Some("use the span of a citation or a chunk unchanged"))
        })?;
        Ok(axum::Json(place))
    })
    .await
}

async fn chunk(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    PathName(id): PathName,
) -> Result<axum::Json<ChunkDetail>, Problem> {
    let reasons = Reasons::for_caller(&admitted);
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let ids = [ChunkId::from_stored(id.as_str())];
        let unknown = || Problem::not_found(format!("no chunk {id}"));
        let chunk = snapshot.chunks(&ids).await?.into_iter().flatten().next().ok_or_else(unknown)?;
        let (document, text) = document_of(snapshot, chunk.document.as_str()).await?;
        let item = chunk_items(snapshot, &document, &text, &ids, reasons).await?.into_iter().next();
        let keys = snapshot.graph_keys_of(&ids).await?;
        let (entities, relations) = names(snapshot, keys).await?;
        Ok(axum::Json(ChunkDetail { item: item.ok_or_else(unknown)?, entities, relations }))
    })
    .await
}

fn no_document(id: &str) -> Problem {
    Problem::not_found(format!("no document {id}"))
        .remedy(Some("POST /documents/paginated lists the documents"))
}

async fn document_of(snapshot: &dyn Snapshot, id: &str) -> Result<(Document, String), Problem> {
    let ids = [DocumentId::from_stored(id)];
    let document = snapshot.documents(&ids).await?.into_iter().flatten().next();
    let text = snapshot.texts(&ids).await?.into_iter().flatten().next();
    document.zip(text).ok_or_else(|| no_document(id))
}

/// Returns those of these chunks that exist, with their places in `text`, the text of their document.
async fn chunk_items(
    snapshot: &dyn Snapshot,
    document: &Document,
    text: &str,
    ids: &[ChunkId],
    reasons: Reasons,
) -> Result<Vec<ChunkItem>, StoreError> {
    let chunks = snapshot.chunks(ids).await?;
    let chunk_contexts = snapshot.chunk_contexts(ids).await?;
    let known = chunks.into_iter().zip(chunk_contexts);
    let item = |(chunk, chunk_context): (Option<Chunk>, _)| {
        ChunkItem::of(document, text, chunk?, chunk_context, reasons)
    };
    Ok(known.filter_map(item).collect())
}

impl ChunkItem {
    fn of(
        document: &Document,
        text: &str,
        chunk: Chunk,
        chunk_context: Option<ChunkContext>,
        reasons: Reasons,
    ) -> Option<Self> {
        let (extraction, reason) = match chunk.extraction {
            ChunkExtraction::Pending => (Extraction::Pending, None),
            ChunkExtraction::Done { .. } => (Extraction::Done, None),
            ChunkExtraction::Damaged { reason, .. } => (Extraction::Damaged, Some(reason)),
            ChunkExtraction::Failed { reason, .. } => (Extraction::Failed, Some(reasons.tell(reason))),
        };
        let chunk_context = chunk_context.and_then(|chunk_context| match chunk_context.outcome {
            ChunkContextOutcome::Written { text } => Some(text),
            ChunkContextOutcome::Failed { .. } => None,
        });
        Some(Self {
            id: chunk.id.to_string(),
            ordinal: chunk.ordinal,
            place: PlaceItem::of(document, text, chunk.span)?,
            tokens: chunk.token_count,
            breadcrumb: chunk.breadcrumb,
            extraction,
            reason,
            chunk_context,
        })
    }
}

/// The names of entities, and of both entities of relations.
async fn names(
    snapshot: &dyn Snapshot,
    keys: Vec<GraphKey>,
) -> Result<(Vec<String>, Vec<[String; 2]>), StoreError> {
    let (mut entities, mut relations) = (Vec::new(), Vec::new());
    for key in keys {
        match key {
            GraphKey::Entity(key) => entities.push(key),
            GraphKey::Relation(key) => relations.push(key),
        }
    }
    let ends: Vec<_> = relations.iter().flat_map(|key| [key.a().clone(), key.b().clone()]).collect();
    let name = |(entity, key): (Option<graphloom_core::Entity>, &graphloom_core::EntityKey)| {
        entity.map_or_else(|| key.to_string(), |entity| entity.name)
    };
    let named: Vec<String> =
        snapshot.entities(&entities).await?.into_iter().zip(&entities).map(name).collect();
    let ends: Vec<String> = snapshot.entities(&ends).await?.into_iter().zip(&ends).map(name).collect();
    let pairs = ends.chunks_exact(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect();
    Ok((named, pairs))
}

fn faults(chunks: Vec<(u32, String)>, reasons: Reasons) -> Vec<ChunkFault> {
    let fault = |(ordinal, reason)| ChunkFault { ordinal, reason: reasons.tell(reason) };
    chunks.into_iter().map(fault).collect()
}

impl ReExtraction {
    fn of(RenewalState { model, chunks, extracted, failed_chunks }: RenewalState, reasons: Reasons) -> Self {
        Self { model, chunks, extracted, failed_chunks: faults(failed_chunks, reasons) }
    }
}

impl From<&PartMark> for PartItem {
    fn from(PartMark { offset, part }: &PartMark) -> Self {
        let page = match part {
            Part::Page(number) => Some(*number),
            Part::Slide(_) | Part::Sheet(_) | Part::Message(_) => None,
        };
        Self { offset: *offset, name: part.to_string(), page }
    }
}
