//! Jobs: the remaining work per document, its progress and its events. A job has the id of its document.

mod following;
pub(super) mod layers;

use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, post};
use graphloom_core::{
    DocumentFilter, DocumentId, DocumentStatus, Job, MAX_FILTER_DOCUMENTS, Snapshot, StatusKind, StoreError,
    Timestamp, TrackId,
};
use graphloom_engine::index::{self, Cancellation, DocumentSort, DocumentState, ListError, Listing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::following::{Feed, JobEvent, Target};
use crate::apart::apart;
use crate::guard::Admission;
use crate::input::{ExistingWorkspace, Params, PathName};
use crate::problem::Problem;
use crate::reasons::Reasons;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Maximum jobs per page.
const MAX_JOBS: usize = 200;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/jobs", "The jobs, the latest first", || get(list))
        .reads()
        .takes(Takes::Query(schema::<JobsParams>))
        .gives(Gives::Json(schema::<JobPage>)),
    Route::get("/jobs/events", "Events of all jobs, or of the jobs of one run until all are done", || {
        get(events)
    })
    .reads()
    .load(Load::Stream)
    .takes(Takes::Query(schema::<EventsParams>))
    .gives(Gives::Events(schema::<JobEvent>)),
    Route::get("/jobs/{job_id}", "One job", || get(one)).reads().gives(Gives::Json(schema::<JobItem>)),
    Route::get("/jobs/{job_id}/events", "Events of one job until it is done", || get(events_of_one))
        .reads()
        .load(Load::Stream)
        .gives(Gives::Events(schema::<JobEvent>)),
    Route::post("/jobs/{job_id}/cancel", "Removes one job from the queue", || post(cancel))
        .writes()
        .gives(Gives::Json(schema::<JobItem>)),
    Route::post("/jobs/{job_id}/retry", "Queues one failed, damaged or cancelled job again", || post(retry))
        .writes()
        .gives(Gives::Json(schema::<JobItem>)),
];

/// Pattern of a list of statuses in the API description.
const LIST_OF_STATUSES: &str = "^(waiting|indexing|ready|incomplete|failed|cancelled)\
                                (,(waiting|indexing|ready|incomplete|failed|cancelled))*$";

/// The remaining work of one document.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct JobItem {
    /// The id of the document.
    id: String,
    file_path: String,
    /// `waiting`, `indexing`, `ready`, `incomplete`, `failed` or `cancelled`.
    status: &'static str,
    /// Number of chunks, if known.
    chunks: Option<u32>,
    /// Number of extracted chunks.
    extracted: Option<u32>,
    /// Number of failed chunks.
    failed: u32,
    /// Number of chunks that lost records.
    damaged: u32,
    /// Number of chunks without context.
    without_context: u32,
    /// Why it stopped.
    reason: Option<String>,
    /// Number of times it was started.
    attempts: u32,
    created_at: Option<String>,
    /// Until when a process holds it.
    leased_until: Option<String>,
    /// The runs that queued it.
    track_ids: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JobsParams {
    /// `waiting`, `indexing`, `ready`, `incomplete`, `failed`, `cancelled`, several separated by commas [default:
    /// all].
    #[schemars(regex(pattern = LIST_OF_STATUSES))]
    status: Option<String>,
    /// Only jobs of this run.
    track_id: Option<String>,
    /// Value of `next` from the previous page.
    after: Option<String>,
    /// Maximum jobs, 1 to 200.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = MAX_JOBS))]
    limit: usize,
}

fn fifty() -> usize {
    50
}

#[derive(Serialize, JsonSchema)]
struct JobPage {
    jobs: Vec<JobItem>,
    /// Value of `after` for the next page.
    next: Option<String>,
    /// Whether the queue is paused.
    paused: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventsParams {
    /// Only jobs of this run, until all are done.
    track_id: Option<String>,
}

async fn list(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    Params(JobsParams { status, track_id, after, limit }): Params<JobsParams>,
) -> Result<axum::Json<JobPage>, Problem> {
    if !(1..=MAX_JOBS).contains(&limit) {
        return Err(Problem::invalid(format!("limit must be from 1 to {MAX_JOBS}")));
    }
    let names =
        status.iter().flat_map(|names| names.split(',')).map(str::trim).filter(|name| !name.is_empty());
    let status = names.map(str::parse::<StatusKind>).collect::<Result<_, _>>();
    let status = status.map_err(|error| Problem::invalid(error.to_string()))?;
    let track = track_id.as_deref().map(track_of).transpose()?;
    let reasons = Reasons::for_caller(&admitted);
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let paused = snapshot.queue().await?.is_paused();
        let mut filter = DocumentFilter { status, ..DocumentFilter::default() };
        if let Some(track) = track {
            let of_track = snapshot.documents_of_tracks(&[track]).await?.into_iter().flatten();
            filter.documents = of_track.take(MAX_FILTER_DOCUMENTS).collect();
            // A filter without documents would match all.
            if filter.documents.is_empty() {
                return Ok(axum::Json(JobPage { jobs: Vec::new(), next: None, paused }));
            }
        }
        let after = after.map(DocumentId::from_stored);
        let listed = index::list(snapshot, &filter, DocumentSort::Date, after.as_ref(), limit).await;
        let Listing { documents, next } = listed.map_err(|error| match error {
            ListError::Gone(_) => Problem::invalid(error.to_string()).remedy(error.remedy()),
            ListError::Store(error) => error.into(),
        })?;
        let jobs = items(snapshot, documents, reasons).await?;
        Ok(axum::Json(JobPage { jobs, next: next.map(|next| next.to_string()), paused }))
    })
    .await
}

async fn one(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    PathName(id): PathName,
) -> Result<axum::Json<JobItem>, Problem> {
    let snapshot = space.indexing.store.snapshot().await?;
    let id = DocumentId::from_stored(id);
    item_of(snapshot.as_ref(), &id, Reasons::for_caller(&admitted))
        .await?
        .map(axum::Json)
        .ok_or_else(|| no_job(&id))
}

async fn events(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    Params(EventsParams { track_id }): Params<EventsParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let target = match track_id.as_deref().map(track_of).transpose()? {
        None => Target::All,
        Some(track) => {
            let snapshot = space.indexing.store.snapshot().await?;
            let known = snapshot.documents_of_tracks(std::slice::from_ref(&track)).await?;
            if known.iter().all(Vec::is_empty) {
                return Err(Problem::not_found(format!("run {track} has no documents")));
            }
            Target::Track(track)
        }
    };
    Ok(Feed::response(space, target, &headers, admitted))
}

async fn events_of_one(
    ExistingWorkspace(space): ExistingWorkspace,
    PathName(id): PathName,
    admitted: Admission,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = DocumentId::from_stored(id);
    let known = space.indexing.store.snapshot().await?.documents(std::slice::from_ref(&id)).await?;
    if known.into_iter().flatten().next().is_none() {
        return Err(no_job(&id));
    }
    Ok(Feed::response(space, Target::One(id), &headers, admitted))
}

async fn cancel(
    ExistingWorkspace(space): ExistingWorkspace,
    PathName(id): PathName,
) -> Result<axum::Json<JobItem>, Problem> {
    apart(async move || {
        let id = DocumentId::from_stored(id);
        let store = space.indexing.store.as_ref();
        let before = item_of(store.snapshot().await?.as_ref(), &id, Reasons::InFull)
            .await?
            .ok_or_else(|| no_job(&id))?;
        let Cancellation { cancelled, kept, .. } = index::cancel(store, std::slice::from_ref(&id)).await?;
        let out = cancelled.into_iter().chain(kept).map(|id| (id, before.file_path.clone()));
        space.ingest.cancelled(out.collect());
        let item = item_of(store.snapshot().await?.as_ref(), &id, Reasons::InFull).await?;
        item.map(axum::Json).ok_or_else(|| no_job(&id))
    })
    .await
}

async fn retry(
    ExistingWorkspace(space): ExistingWorkspace,
    PathName(id): PathName,
) -> Result<axum::Json<JobItem>, Problem> {
    apart(async move || {
        let id = DocumentId::from_stored(id);
        let store = space.indexing.store.as_ref();
        let before = item_of(store.snapshot().await?.as_ref(), &id, Reasons::InFull)
            .await?
            .ok_or_else(|| no_job(&id))?;
        let queued = index::retry(&space.indexing, std::slice::from_ref(&id), None).await?;
        // A document that is not queued may still have chunks without context.
        if queued.documents > 0 || before.without_context > 0 {
            space.ingest.retry(vec![(id.clone(), before.file_path)]);
        }
        let item = item_of(store.snapshot().await?.as_ref(), &id, Reasons::InFull).await?;
        item.map(axum::Json).ok_or_else(|| no_job(&id))
    })
    .await
}

fn track_of(id: &str) -> Result<TrackId, Problem> {
    TrackId::new(id).map_err(|error| Problem::invalid(error.to_string()))
}

fn no_job(id: &DocumentId) -> Problem {
    Problem::not_found(format!("no job {id}"))
        .remedy(Some("GET /jobs lists the jobs; a job has the id of its document"))
}

async fn item_of(
    snapshot: &dyn Snapshot,
    id: &DocumentId,
    reasons: Reasons,
) -> Result<Option<JobItem>, StoreError> {
    let states = index::states_of(snapshot, std::slice::from_ref(id)).await?;
    Ok(items(snapshot, states.into_iter().flatten().collect(), reasons).await?.into_iter().next())
}

async fn items(
    snapshot: &dyn Snapshot,
    states: Vec<DocumentState>,
    reasons: Reasons,
) -> Result<Vec<JobItem>, StoreError> {
    let ids: Vec<DocumentId> = states.iter().map(|state| state.document.id.clone()).collect();
    let (jobs, tracks) = (snapshot.jobs(&ids).await?, snapshot.tracks_of(&ids).await?);
    let known = states.into_iter().zip(jobs).zip(tracks);
    Ok(known.map(|((state, job), tracks)| JobItem::of(state, job, tracks, reasons)).collect())
}

impl JobItem {
    fn of(state: DocumentState, job: Option<Job>, tracks: Vec<TrackId>, reasons: Reasons) -> Self {
        let kind = state.status.kind();
        let (mut chunks, mut extracted, mut reason) = (None, None, None);
        match state.status {
            DocumentStatus::Waiting => {}
            DocumentStatus::Indexing { extracted: done, chunks: all, .. }
            | DocumentStatus::Cancelled { extracted: done, chunks: all, .. } => {
                (chunks, extracted) = (Some(all), Some(done));
            }
            DocumentStatus::Ready { chunks: all } => (chunks, extracted) = (Some(all), Some(all)),
            DocumentStatus::Incomplete { failed, chunks: all, .. } => {
                (chunks, extracted) = (Some(all), Some(all.saturating_sub(failed)));
            }
            DocumentStatus::Failed { reason: why } => reason = Some(reasons.tell(why)),
        }
        let count = |faults: &[(u32, String)]| u32::try_from(faults.len()).unwrap_or(u32::MAX);
        let lease = job.as_ref().and_then(|job| job.lease.as_ref());
        Self {
            id: state.document.id.to_string(),
            file_path: state.document.source,
            status: kind.name(),
            chunks,
            extracted,
            failed: count(&state.failed_chunks),
            damaged: count(&state.damaged_chunks),
            without_context: count(&state.chunks_without_context),
            reason,
            attempts: job.as_ref().map_or(0, |job| job.attempts),
            leased_until: lease.map(|lease| lease.expires_at.to_iso()),
            created_at: job.map(|job| Timestamp::to_iso(job.created_at)),
            track_ids: tracks.into_iter().map(|track| track.to_string()).collect(),
        }
    }
}
