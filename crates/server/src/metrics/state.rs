//! The state read at each scrape: the process and each open workspace.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::{Duration, Instant};

use graphloom_core::{
    DocumentFilter, DocumentId, Revision, Snapshot, StatusKind, StoreError, Timestamp, table,
};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::models::OTHER;
use crate::app::now;
use crate::problem::chain;
use crate::space::Space;

/// Maximum workspaces with their own label, first by name; further ones share the label `other`.
pub(super) const MAX_WORKSPACES: usize = 100;
/// How long counts of a store are reused even if it has changed: counting reads an index entry for each document.
const COUNT_AGAIN: Duration = Duration::from_secs(10);
/// Maximum documents whose chunks are counted.
const MAX_FAILING_DOCUMENTS: usize = 10_000;
/// A time after every lease, so that all open jobs count as claimable.
const LATER: Timestamp = Timestamp(1 << 60);

/// The latest counts of a workspace's store.
#[derive(Clone)]
pub(crate) struct LastRead {
    revision: Revision,
    at: Instant,
    counts: Counts,
}

#[derive(Clone, Default)]
struct Counts {
    documents: BTreeMap<StatusKind, u64>,
    oldest: Option<Timestamp>,
    is_paused: bool,
    /// Chunks that are currently failed, damaged, or without context.
    failing_chunks: [u64; 3],
    /// Extractions without records.
    empty_extractions: u64,
}

/// The state of a workspace.
pub(super) struct WorkspaceState {
    name: String,
    counts: Counts,
    is_busy: bool,
    /// Bytes of the store's file and of its write-ahead log; `None` if it is not in a file.
    bytes: Option<[u64; 2]>,
    /// Number of model services being waited for, and of waits so far.
    paused_services: usize,
    service_pauses: u64,
    /// Numbers of chunks that failed, lost records, or got no context.
    chunk_failures: [u64; 3],
    now: Timestamp,
}

impl WorkspaceState {
    /// Reads the state. If the store cannot be read, returns the last known counts.
    pub(super) async fn of(space: &Space) -> Self {
        let counts = match counts(space).await {
            Ok(counts) => counts,
            Err(error) => {
                tracing::warn!(workspace = %space.id, error = chain(&error), "counting a workspace failed");
                space.last_read().as_ref().map(|read| read.counts.clone()).unwrap_or_default()
            }
        };
        Self {
            name: space.id.to_string(),
            counts,
            is_busy: space.ingest.is_busy(),
            bytes: space.store.size().map(|size| [size.data, size.log]),
            paused_services: space.pauses.paused(),
            service_pauses: space.pauses.total(),
            chunk_failures: space.ingest.chunk_failures(),
            now: now(),
        }
    }

    #[cfg(test)]
    pub(super) fn sample(name: &str) -> Self {
        let documents = [(StatusKind::Ready, 3), (StatusKind::Waiting, 1), (StatusKind::Indexing, 1)].into();
        Self {
            name: name.to_owned(),
            counts: Counts {
                documents,
                oldest: Some(Timestamp(1_000)),
                is_paused: false,
                failing_chunks: [2, 0, 0],
                empty_extractions: 0,
            },
            is_busy: true,
            bytes: Some([4096, 0]),
            paused_services: 1,
            service_pauses: 2,
            chunk_failures: [1, 0, 0],
            now: Timestamp(6_000),
        }
    }
}

async fn counts(space: &Space) -> Result<Counts, StoreError> {
    let snapshot = space.asking.store.snapshot().await?;
    let revision = snapshot.revision();
    let known = space.last_read().clone();
    if let Some(read) = known
        && (read.revision == revision || read.at.elapsed() < COUNT_AGAIN)
    {
        return Ok(read.counts);
    }
    let counts = Counts {
        documents: snapshot.status_counts().await?,
        oldest: snapshot.claimable_jobs(LATER, 1).await?.first().map(|job| job.created_at),
        is_paused: snapshot.queue().await?.is_paused(),
        failing_chunks: failing_chunks(snapshot.as_ref()).await?,
        empty_extractions: snapshot.empty_extractions().await?,
    };
    *space.last_read() = Some(LastRead { revision, at: Instant::now(), counts: counts.clone() });
    Ok(counts)
}

/// Chunks that are failed, damaged or without context in the first [`MAX_FAILING_DOCUMENTS`] documents that have some.
async fn failing_chunks(snapshot: &dyn Snapshot) -> Result<[u64; 3], StoreError> {
    let status = [StatusKind::Incomplete, StatusKind::Indexing, StatusKind::Failed, StatusKind::Cancelled];
    let counts = snapshot.status_counts().await?;
    // Usually there are none and nothing has to be scanned.
    if status.iter().all(|kind| counts.get(kind).copied().unwrap_or(0) == 0) {
        return Ok([0; 3]);
    }
    let filter = DocumentFilter { status: status.into(), ..DocumentFilter::default() };
    let (mut ill, mut seen) = ([0; 3], 0);
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        let of_kinds: Vec<DocumentId> =
            filter.admitted(snapshot, page).await?.into_iter().map(|document| document.id).collect();
        seen += of_kinds.len();
        for counts in snapshot.chunk_counts_of(&of_kinds).await? {
            for (sum, count) in ill.iter_mut().zip([counts.failed, counts.damaged, counts.without_context]) {
                *sum += u64::from(count);
            }
        }
        if seen >= MAX_FAILING_DOCUMENTS {
            break;
        }
    }
    Ok(ill)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct In {
    workspace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DocumentsIn {
    workspace: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FileOf {
    workspace: String,
    file: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailuresIn {
    workspace: String,
    kind: &'static str,
}

/// The kinds of chunk failures.
const KINDS: [&str; 3] = ["failed", "damaged", "without_context"];

type Gauges<Labels> = Family<Labels, Gauge<i64, AtomicI64>>;

fn whole(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Registers the state of the workspaces, sorted by name.
pub(super) fn register(registry: &mut Registry, workspaces: &[WorkspaceState]) {
    let documents = Gauges::<DocumentsIn>::default();
    let (queued, paused, busy) = (Gauges::<In>::default(), Gauges::<In>::default(), Gauges::<In>::default());
    let oldest = Family::<In, Gauge<f64, AtomicU64>>::default();
    let bytes = Gauges::<FileOf>::default();
    let services = Gauges::<In>::default();
    let pauses = Family::<In, Counter>::default();
    let failures = Family::<FailuresIn, Counter>::default();
    let ill = Gauges::<FailuresIn>::default();
    let empty = Gauges::<In>::default();
    for (number, state) in workspaces.iter().enumerate() {
        let workspace = if number < MAX_WORKSPACES { state.name.clone() } else { OTHER.to_owned() };
        let of = In { workspace: workspace.clone() };
        let count = |kind| state.counts.documents.get(&kind).copied().unwrap_or(0);
        for kind in StatusKind::ALL {
            let of = DocumentsIn { workspace: workspace.clone(), state: kind.name() };
            documents.get_or_create(&of).inc_by(whole(count(kind)));
        }
        queued.get_or_create(&of).inc_by(whole(count(StatusKind::Waiting) + count(StatusKind::Indexing)));
        let age = state.counts.oldest.map_or(0, |since| state.now.0.saturating_sub(since.0));
        let longest = oldest.get_or_create(&of).get().max(age as f64 / 1000.0);
        oldest.get_or_create(&of).set(longest);
        paused.get_or_create(&of).inc_by(i64::from(state.counts.is_paused));
        busy.get_or_create(&of).inc_by(i64::from(state.is_busy));
        for (file, size) in ["store", "wal"].into_iter().zip(state.bytes.into_iter().flatten()) {
            bytes.get_or_create(&FileOf { workspace: workspace.clone(), file }).inc_by(whole(size));
        }
        empty.get_or_create(&of).inc_by(whole(state.counts.empty_extractions));
        services.get_or_create(&of).inc_by(whole(state.paused_services));
        pauses.get_or_create(&of).inc_by(state.service_pauses);
        for (kind, chunks) in KINDS.into_iter().zip(state.chunk_failures) {
            failures.get_or_create(&FailuresIn { workspace: workspace.clone(), kind }).inc_by(chunks);
        }
        for (kind, chunks) in KINDS.into_iter().zip(state.counts.failing_chunks) {
            ill.get_or_create(&FailuresIn { workspace: workspace.clone(), kind }).inc_by(whole(chunks));
        }
    }
    let open = Gauge::<i64, AtomicI64>::default();
    open.set(whole(workspaces.len()));
    registry.register("workspaces_open", "Open workspaces", open);
    registry.register("documents", "Documents by state", documents);
    registry.register("queue_documents", "Documents waiting to be indexed", queued);
    registry.register("queue_oldest_seconds", "How long the oldest document has waited", oldest);
    registry.register("queue_paused", "Whether the queue is paused", paused);
    registry.register("worker_busy", "Whether this process is indexing", busy);
    registry.register("store_size_bytes", "Bytes of the store's files", bytes);
    registry.register("services_paused", "Model services that indexing waits for", services);
    registry.register(
        "service_pauses",
        "Number of times that indexing started to wait for a model service",
        pauses,
    );
    registry.register("chunk_failures", "Chunks that failed, lost records, or got no context", failures);
    registry.register("chunks_ill", "Chunks that are currently failed, damaged or without context", ill);
    registry.register("extractions_empty", "Extractions without entities", empty);
}

/// The state of the process.
pub(super) struct ProcessState {
    /// Resident memory in bytes; `None` if unknown.
    resident_bytes: Option<u64>,
    /// Resident bytes that are not file-backed, which the system cannot reclaim.
    anonymous_bytes: Option<u64>,
}

impl ProcessState {
    pub(super) fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let bytes_of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
        };
        Self { resident_bytes: bytes_of("VmRSS:"), anonymous_bytes: bytes_of("RssAnon:") }
    }

    pub(super) fn register(&self, registry: &mut Registry, started: Timestamp) {
        let about_own = "Memory of the process that is in no file";
        for (name, about, bytes) in [
            ("process_resident_memory_bytes", "Memory of the process", self.resident_bytes),
            ("process_resident_anonymous_bytes", about_own, self.anonymous_bytes),
        ] {
            if let Some(bytes) = bytes {
                let gauge = Gauge::<i64, AtomicI64>::default();
                gauge.set(whole(bytes));
                registry.register(name, about, gauge);
            }
        }
        let began = Gauge::<f64, AtomicU64>::default();
        began.set(started.0 as f64 / 1000.0);
        registry.register("process_start_time_seconds", "Start time of the server in Unix time", began);
    }
}
