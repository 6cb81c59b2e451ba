//! Follows jobs: an event stream that starts with the current state and ends with a final event that says why.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use graphloom_core::{
    DocumentId, DocumentStatus, Revision, Snapshot, StatusKind, StoreError, TrackId, statuses_of,
};
use graphloom_engine::derive::LayerKind;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::layers::LayerItem;
use super::{JobItem, item_of};
use crate::events::{About, Event, WorkEnd};
use crate::guard::Admission;
use crate::lines::HEARTBEAT;
use crate::problem::chain;
use crate::reasons::Reasons;
use crate::space::Space;
use crate::turns::Turn;

/// How often to check for changes by other processes.
const GLANCE: Duration = Duration::from_secs(1);
/// Reconnect delay for clients, in milliseconds.
const RETRY_MS: u64 = 3000;

/// The jobs to follow.
pub(super) enum Target {
    /// All jobs, while the server runs.
    All,
    /// The jobs of a run, until all are done.
    Track(TrackId),
    /// One job, until it is done.
    One(DocumentId),
    /// Deriving a layer, until it is done.
    Layer(LayerKind),
}

/// An event of the stream; its name is in the `event` field, and the data is one of these objects.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes events that are written as they arrive")]
pub(super) enum JobEvent {
    /// `state`, first, after `missed`, and when another process changed it: the current state. `accepted`, `queued`, `removed`, `advanced`,
    /// `chunk_failed`, `chunk_damaged`, `chunk_without_context`, `finished`, `settled`, `cancelled`, `failed`,
    /// `run_failed`, `paused`, `resumed`, `derived`, `derive_ended`: what happened.
    Happened(BTreeMap<String, Value>),
    /// `end`, the last event.
    End(Box<End>),
}

/// Why the stream ends.
#[derive(Serialize, JsonSchema)]
pub(super) struct End {
    /// `done`, `failed` or `cancelled`, the worst of the jobs; `removed` if none is left; `stopped` if the server
    /// is stopping; `error` if the jobs cannot be read.
    reason: &'static str,
    /// Whether a failed job will be retried automatically.
    will_retry: bool,
    /// Number of jobs by status.
    status_counts: BTreeMap<&'static str, u64>,
    /// The job, if a single one is followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobItem>,
    /// The layer, if one is followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<LayerItem>,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl End {
    fn of(reason: &'static str) -> Self {
        Self {
            reason,
            will_retry: false,
            status_counts: BTreeMap::new(),
            job: None,
            layer: None,
            message: None,
        }
    }
}

/// An open event stream.
pub(super) struct Feed {
    space: Arc<Space>,
    target: Target,
    /// The followed documents; `None` for all.
    followed: Option<BTreeSet<DocumentId>>,
    /// Number of the last event that was processed.
    seen: u64,
    /// Followed documents that stopped, with the reason.
    stopped: BTreeMap<DocumentId, String>,
    /// Why all work stopped, if none has resumed since.
    all_stopped: Option<String>,
    /// Whether to read the store: something ended or the queue changed.
    look: bool,
    ready: VecDeque<Bytes>,
    ended: bool,
    changed: watch::Receiver<u64>,
    stop: watch::Receiver<bool>,
    next_beat: Instant,
    /// When to check next for changes by other processes.
    next_glance: Instant,
    /// The revision of the store at the last state sent.
    shown: Revision,
    reasons: Reasons,
    _turn: Option<Arc<Turn>>,
}

impl Feed {
    /// The response: events after the one in `Last-Event-ID`, otherwise the current state and later events.
    pub(super) fn response(
        space: Arc<Space>,
        target: Target,
        headers: &HeaderMap,
        admitted: Admission,
    ) -> Response {
        let log = &space.ingest.events;
        let given = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::trim);
        let given = given.filter(|id| !id.is_empty());
        let known = given.and_then(|id| log.number(id));
        let (changed, stop) = (log.watch(), space.stop.clone());
        let seen = known.unwrap_or_else(|| log.last());
        let mut feed = Self {
            space,
            target,
            followed: None,
            seen,
            stopped: BTreeMap::new(),
            all_stopped: None,
            look: true,
            ready: VecDeque::from([Bytes::from(format!("retry: {RETRY_MS}\n\n"))]),
            ended: false,
            changed,
            stop,
            next_beat: Instant::now() + HEARTBEAT,
            next_glance: Instant::now() + GLANCE,
            shown: Revision::default(),
            reasons: Reasons::for_caller(&admitted),
            _turn: admitted.turn,
        };
        let begin = match (given, known) {
            (None, _) => Begin::Fresh,
            (Some(_), Some(_)) => Begin::Again,
            (Some(_), None) => Begin::Lost,
        };
        let stream = futures::stream::once(async move {
            feed.begin(begin).await;
            futures::stream::unfold(feed, |mut feed| async move {
                let bytes = feed.next().await?;
                Some((Ok::<_, Infallible>(bytes), feed))
            })
        });
        let mut response = Response::new(Body::from_stream(futures::StreamExt::flatten(stream)));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    async fn begin(&mut self, begin: Begin) {
        let followed = match self.read_followed().await {
            Ok(followed) => followed,
            Err(error) => return self.broken(&error),
        };
        self.followed = followed;
        match begin {
            Begin::Again => {}
            Begin::Fresh => self.send_state().await,
            Begin::Lost => self.send_missed().await,
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(bytes);
            }
            if self.ended {
                return None;
            }
            self.advance().await;
        }
    }

    /// Sends new events; if there are none, checks whether the stream is complete, and waits.
    async fn advance(&mut self) {
        self.changed.borrow_and_update();
        let since = self.space.ingest.events.since(self.seen);
        if since.missed {
            self.seen = since.events.first().map_or(self.seen, |first| first.number - 1);
            return self.send_missed().await;
        }
        for event in &since.events {
            self.seen = event.number;
            if self.concerns(event) {
                self.pass_on(event);
            }
        }
        if !since.events.is_empty() {
            return;
        }
        if std::mem::take(&mut self.look) {
            match self.end().await {
                Ok(Some(end)) => return self.finish(end),
                Ok(None) => {}
                Err(error) => return self.broken(&error),
            }
        }
        if *self.stop.borrow() {
            return self.finish(End::of("stopped"));
        }
        let glances = tokio::select! {
            // The sender is part of the workspace, which is held, so this cannot fail.
            _ = self.changed.changed() => {
                self.look |= self.space.ingest.events.last() == self.seen;
                false
            }
            _ = self.stop.wait_for(|stop| *stop) => false,
            // Other processes may work on the same jobs.
            () = tokio::time::sleep_until(self.next_glance) => true,
            () = tokio::time::sleep_until(self.next_beat) => {
                self.next_beat = Instant::now() + HEARTBEAT;
                self.look = true;
                self.ready.push_back(Bytes::from_static(b": still here\n\n"));
                false
            }
        };
        if glances {
            self.glance().await;
        }
    }

    /// Sends the state if other processes changed it. What this process does is sent as events.
    async fn glance(&mut self) {
        let began = Instant::now();
        if !self.space.ingest.is_busy() {
            match self.space.indexing.store.snapshot().await {
                Ok(snapshot) if snapshot.revision() != self.shown => {
                    self.look = true;
                    self.send_state().await;
                }
                Ok(_) => {}
                Err(error) => return self.broken(&error),
            }
        }
        // Counting takes time in proportion to the workspace.
        self.next_glance = Instant::now() + GLANCE.max(began.elapsed() * 10);
    }

    /// Why the stream is complete; `None` if more can come.
    async fn end(&mut self) -> Result<Option<End>, StoreError> {
        let snapshot = self.space.indexing.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        if let Target::Layer(kind) = self.target {
            return self.end_of_layer(snapshot, kind).await;
        }
        let Some(followed) = documents_of(snapshot, &self.target).await? else { return Ok(None) };
        let known = snapshot.documents(&followed).await?;
        let left: Vec<DocumentId> = known.into_iter().flatten().map(|document| document.id).collect();
        if left.is_empty() {
            return Ok(Some(End::of("removed")));
        }
        let statuses = statuses_of(snapshot, &left).await?;
        let (mut counts, mut will_retry, mut worst) = (BTreeMap::new(), false, "done");
        // The store may show that a document failed before the event with the reason arrives.
        let mut stored = None;
        for (document, status) in left.iter().zip(statuses) {
            *counts.entry(status.kind().name()).or_default() += 1;
            match status {
                DocumentStatus::Waiting | DocumentStatus::Indexing { .. }
                    if self.all_stopped.is_none() && !self.stopped.contains_key(document) =>
                {
                    return Ok(None);
                }
                DocumentStatus::Waiting | DocumentStatus::Indexing { .. } => {
                    (worst, will_retry) = ("failed", true);
                }
                DocumentStatus::Failed { reason } => {
                    worst = "failed";
                    stored.get_or_insert_with(|| self.reasons.tell(reason));
                }
                DocumentStatus::Cancelled { .. } if worst == "done" => worst = "cancelled",
                DocumentStatus::Cancelled { .. }
                | DocumentStatus::Ready { .. }
                | DocumentStatus::Incomplete { .. } => {}
            }
        }
        let job = match &self.target {
            Target::One(id) => item_of(snapshot, id, self.reasons).await?,
            Target::All | Target::Track(_) | Target::Layer(_) => None,
        };
        let message = self.all_stopped.clone().or_else(|| self.stopped.values().next().cloned()).or(stored);
        Ok(Some(End { reason: worst, will_retry, status_counts: counts, job, layer: None, message }))
    }

    /// Why the events of a layer end; `None` while it is derived.
    async fn end_of_layer(
        &self,
        snapshot: &dyn Snapshot,
        kind: LayerKind,
    ) -> Result<Option<End>, StoreError> {
        let will_retry = self.space.ingest.derives(kind);
        if will_retry && self.all_stopped.is_none() {
            return Ok(None);
        }
        let layer = LayerItem::read(&self.space, snapshot, kind).await?;
        let failure = self.space.ingest.derive_failure(kind).map(|reason| self.reasons.tell(reason));
        let message = self.all_stopped.clone().or(failure);
        let is_done = message.is_none() && layer.is_current();
        let reason = if is_done { "done" } else { "failed" };
        Ok(Some(End { will_retry, layer: Some(layer), message, ..End::of(reason) }))
    }

    /// Whether an event concerns a followed document.
    fn concerns(&self, event: &Event) -> bool {
        if let Target::Layer(kind) = self.target {
            return match &event.about {
                About::Layer(layer) => layer.as_str() == kind.name(),
                About::Everything => true,
                About::Document(_) | About::None => false,
            };
        }
        let Some(followed) = &self.followed else { return true };
        match &event.about {
            About::Document(document) => followed.contains(document),
            About::Layer(_) | About::None => false,
            About::Everything => true,
        }
    }

    fn pass_on(&mut self, event: &Event) {
        self.look |= event.ends.is_some();
        match (&event.ends, &event.about) {
            (Some(WorkEnd::Stopped(reason)), About::Document(document)) => {
                self.stopped.insert(document.clone(), self.reasons.tell(reason.clone()));
            }
            (Some(WorkEnd::Stopped(reason)), About::Everything) => {
                self.all_stopped = Some(self.reasons.tell(reason.clone()));
            }
            // Work resumed, or is finished.
            (Some(WorkEnd::Over) | None, About::Document(document)) => {
                self.stopped.remove(document);
                self.all_stopped = None;
            }
            (_, About::Layer(_)) => self.all_stopped = None,
            (_, About::None) | (Some(WorkEnd::Over) | None, About::Everything) => {}
        }
        let id = self.space.ingest.events.id(event.number);
        let data = match event.name.as_str() {
            // Lost records are not a message of a model service, so they need not be hidden.
            "chunk_damaged" => event.data.clone(),
            _ => self.reasons.hide_in_event(event.data.clone()),
        };
        self.ready.push_back(frame(&id, &event.name, &data));
    }

    /// Reports that some events were dropped, and sends the current state instead.
    async fn send_missed(&mut self) {
        let id = self.space.ingest.events.id(self.seen);
        let why = "some events are no longer available";
        self.ready.push_back(frame(&id, "missed", &json!({ "message": why })));
        self.look = true;
        self.send_state().await;
    }

    async fn send_state(&mut self) {
        let state = match self.state().await {
            Ok((revision, state)) => {
                self.shown = revision;
                state
            }
            Err(error) => return self.broken(&error),
        };
        let id = self.space.ingest.events.id(self.seen);
        self.ready.push_back(frame(&id, "state", &state));
    }

    async fn state(&self) -> Result<(Revision, Value), StoreError> {
        let snapshot = self.space.indexing.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let paused = snapshot.queue().await?.is_paused();
        let busy = self.space.ingest.is_busy() || !snapshot.leased_jobs().await?.is_empty();
        let counts: BTreeMap<StatusKind, u64> = match documents_of(snapshot, &self.target).await? {
            None => snapshot.status_counts().await?,
            Some(ids) => {
                let mut counts = BTreeMap::new();
                for status in statuses_of(snapshot, &ids).await? {
                    *counts.entry(status.kind()).or_default() += 1;
                }
                counts
            }
        };
        let counts: BTreeMap<&str, u64> =
            counts.into_iter().map(|(kind, count)| (kind.name(), count)).collect();
        let mut state = json!({ "busy": busy, "paused": paused, "status_counts": counts });
        if let Target::Layer(kind) = self.target {
            state["layer"] = json!(LayerItem::read(&self.space, snapshot, kind).await?);
        }
        if let Target::One(id) = &self.target {
            state["job"] = json!(item_of(snapshot, id, self.reasons).await?);
        }
        Ok((snapshot.revision(), state))
    }

    async fn read_followed(&self) -> Result<Option<BTreeSet<DocumentId>>, StoreError> {
        let snapshot = self.space.indexing.store.snapshot().await?;
        let documents = documents_of(snapshot.as_ref(), &self.target).await?;
        Ok(documents.map(|documents| documents.into_iter().collect()))
    }

    fn broken(&mut self, error: &StoreError) {
        tracing::error!(error = chain(error), "following jobs failed");
        let message = Some("the jobs cannot be read; see the server's log".to_owned());
        self.finish(End { message, ..End::of("error") });
    }

    fn finish(&mut self, end: End) {
        let id = self.space.ingest.events.id(self.seen);
        self.ready.push_back(frame(&id, "end", &serde_json::to_value(&end).unwrap_or_default()));
        self.ended = true;
    }
}

/// How a stream starts.
#[derive(Debug, Clone, Copy)]
enum Begin {
    /// With the current state.
    Fresh,
    /// After the last received event.
    Again,
    /// The last received event is unknown.
    Lost,
}

/// The documents to follow; `None` for all.
async fn documents_of(
    snapshot: &dyn Snapshot,
    target: &Target,
) -> Result<Option<Vec<DocumentId>>, StoreError> {
    match target {
        Target::All | Target::Layer(_) => Ok(None),
        Target::One(id) => Ok(Some(vec![id.clone()])),
        Target::Track(track) => {
            let documents = snapshot.documents_of_tracks(std::slice::from_ref(track)).await?;
            Ok(Some(documents.into_iter().flatten().collect()))
        }
    }
}

/// JSON contains no line breaks, so it fits on one data line.
fn frame(id: &str, name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("id: {id}\nevent: {name}\ndata: {data}\n\n"))
}
