//! Events of indexing, kept for a while so that clients can catch up after a disconnect.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::{DocumentId, LayerName, Progress};
use graphloom_engine::derive::DeriveReport;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::access::{hex, random};

/// Events kept per workspace; older ones are dropped.
const MAX_EVENTS: usize = 4096;
/// Maximum events returned at once.
const BATCH: usize = 256;

/// The latest events of one workspace in this process.
pub(crate) struct EventLog {
    /// Distinguishes this log from those of other processes, which number their events from 1 too.
    name: String,
    kept: Mutex<Backlog>,
    /// Incremented at every change, including new events.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Backlog {
    /// The number of the latest event.
    last: u64,
    events: VecDeque<Arc<Event>>,
    /// Documents that were cancelled or removed and not queued again, with the number of that event while it is
    /// kept. A worker may learn of this late; its events until then are outdated.
    over: BTreeMap<DocumentId, u64>,
}

/// The content of an event.
struct EventContent {
    name: String,
    about: About,
    data: Value,
}

impl EventContent {
    fn of(name: &str, document: &DocumentId, source: &str) -> Self {
        let data = json!({ "document": document, "source": source });
        Self { name: name.to_owned(), about: About::Document(document.clone()), data }
    }
}

/// The effect of an event on later ones about the same document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bearing {
    /// Work starts.
    Begins,
    /// Work has ended.
    Closes,
    /// No effect.
    None,
}

/// Name of the event for a removed document.
const REMOVED: &str = "removed";

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    /// Number, from 1.
    pub(crate) number: u64,
    /// Name.
    pub(crate) name: String,
    /// Subject.
    pub(crate) about: About,
    /// Content as JSON.
    pub(crate) data: Value,
    /// Set if the work on it ended, at least for now.
    pub(crate) ends: Option<WorkEnd>,
}

/// The subject of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum About {
    /// One document.
    Document(DocumentId),
    /// One layer.
    Layer(LayerName),
    /// No specific document.
    None,
    /// All queued documents, for example if a service is down.
    Everything,
}

/// How the work on a document ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkEnd {
    /// Finally, as its status says.
    Over,
    /// Stopped for this reason; it may resume later.
    Stopped(String),
}

/// Events after a given number.
pub(crate) struct Since {
    /// Whether some of them were dropped.
    pub(crate) missed: bool,
    /// The first of the remaining ones.
    pub(crate) events: Vec<Arc<Event>>,
}

impl EventLog {
    pub(crate) fn new() -> Self {
        // Without random bytes, clients of an earlier process may skip events; the state they read is still right.
        let name = random::<4>().map_or_else(|_| "0".to_owned(), |bytes| hex(&bytes));
        Self { name, kept: Mutex::default(), changed: watch::Sender::new(0) }
    }

    /// Adds an event.
    pub(crate) fn add(&self, progress: &Progress) {
        let (about, ends) = about(progress);
        let mut data = serde_json::to_value(progress).unwrap_or_default();
        let name = data.as_object_mut().and_then(|fields| fields.remove("event"));
        let name = name.as_ref().and_then(Value::as_str).unwrap_or("progress").to_owned();
        let bearing = match progress {
            Progress::Accepted { .. } => Bearing::Begins,
            Progress::Cancelled { .. } => Bearing::Closes,
            Progress::Advanced { .. }
            | Progress::ChunkFailed { .. }
            | Progress::ChunkDamaged { .. }
            | Progress::ChunkWithoutContext { .. }
            | Progress::Finished { .. }
            | Progress::Failed { .. }
            | Progress::Settled { .. }
            | Progress::Derived { .. }
            | Progress::Paused { .. }
            | Progress::Resumed { .. } => Bearing::None,
        };
        self.push(EventContent { name, about, data }, bearing, ends);
    }

    /// A run starts; events about queued documents are valid again.
    pub(crate) fn run_begins(&self) {
        self.lock().over.clear();
    }

    /// A document is queued again.
    pub(crate) fn queued_again(&self, document: &DocumentId, source: &str) {
        self.push(EventContent::of("queued", document, source), Bearing::Begins, None);
    }

    /// A document was removed.
    pub(crate) fn removed(&self, document: &DocumentId, source: &str) {
        self.push(EventContent::of(REMOVED, document, source), Bearing::Closes, Some(WorkEnd::Over));
    }

    /// A run ended early and will be repeated.
    pub(crate) fn run_failed(&self, reason: String) {
        let data = json!({ "reason": reason });
        let happened = EventContent { name: "run_failed".to_owned(), about: About::Everything, data };
        self.push(happened, Bearing::None, Some(WorkEnd::Stopped(reason)));
    }

    /// An attempt to derive a layer ended.
    pub(crate) fn derive_ended(
        &self,
        layer: &LayerName,
        derived: Option<&DeriveReport>,
        reason: Option<&str>,
    ) {
        let mut data = derived.map_or_else(|| json!({ "layer": layer }), |derived| json!(derived));
        data["reason"] = json!(reason);
        let about = About::Layer(layer.clone());
        let happened = EventContent { name: "derive_ended".to_owned(), about, data };
        self.push(happened, Bearing::None, Some(WorkEnd::Over));
    }

    fn push(&self, happened: EventContent, bearing: Bearing, ends: Option<WorkEnd>) {
        let EventContent { name, about, data } = happened;
        {
            let mut kept = self.lock();
            let number = kept.last + 1;
            if let About::Document(document) = &about {
                match bearing {
                    Bearing::Begins => {
                        kept.over.remove(document);
                    }
                    // A cancelled document can still be removed.
                    Bearing::None | Bearing::Closes
                        if kept.over.contains_key(document) && name != REMOVED =>
                    {
                        return;
                    }
                    Bearing::Closes => {
                        kept.over.insert(document.clone(), number);
                    }
                    Bearing::None => {}
                }
            }
            kept.last = number;
            if kept.events.len() >= MAX_EVENTS
                && let Some(Event { about: About::Document(document), number, .. }) =
                    kept.events.pop_front().as_deref()
                && kept.over.get(document) == Some(number)
            {
                kept.over.remove(document);
            }
            kept.events.push_back(Arc::new(Event { number, name, about, data, ends }));
        }
        self.poke();
    }

    /// Signals another change, such as of the queue, so that clients check the state.
    pub(crate) fn poke(&self) {
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Notifies of every change from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The number of the latest event.
    pub(crate) fn last(&self) -> u64 {
        self.lock().last
    }

    /// The next events after `number`, in order.
    pub(crate) fn since(&self, number: u64) -> Since {
        let kept = self.lock();
        let first = kept.last - kept.events.len() as u64 + 1;
        let skip = usize::try_from(number.saturating_sub(first - 1)).unwrap_or(usize::MAX);
        let events = kept.events.iter().skip(skip).take(BATCH).cloned().collect();
        Since { missed: number + 1 < first, events }
    }

    /// The id clients use for the position after an event.
    pub(crate) fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.name)
    }

    /// The number in an id of this log; `None` for ids of other logs.
    pub(crate) fn number(&self, id: &str) -> Option<u64> {
        let (name, number) = id.trim().split_once('-')?;
        number.parse().ok().filter(|number| name == self.name && *number <= self.last())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Backlog> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The document an event is about, and whether it ends the work on it.
fn about(progress: &Progress) -> (About, Option<WorkEnd>) {
    let of = |document: &DocumentId| About::Document(document.clone());
    match progress {
        Progress::Accepted { document, .. }
        | Progress::Advanced { document, .. }
        | Progress::ChunkFailed { document, .. }
        | Progress::ChunkDamaged { document, .. }
        | Progress::ChunkWithoutContext { document, .. } => (of(document), None),
        Progress::Finished { document, .. } | Progress::Cancelled { document, .. } => {
            (of(document), Some(WorkEnd::Over))
        }
        Progress::Failed { document, reason, .. } => (of(document), Some(WorkEnd::Stopped(reason.clone()))),
        Progress::Settled { .. } => (About::None, None),
        Progress::Derived { layer, .. } => (About::Layer(layer.clone()), None),
        Progress::Paused { .. } | Progress::Resumed { .. } => (About::Everything, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(events: u64) -> EventLog {
        let log = EventLog::new();
        for number in 0..events {
            let document = DocumentId::from_stored(format!("doc-{number}"));
            log.add(&Progress::Accepted { document, source: "a.md".to_owned() });
        }
        log
    }

    fn numbers(since: &Since) -> Vec<u64> {
        since.events.iter().map(|event| event.number).collect()
    }

    #[test]
    fn a_reader_resumes_and_learns_whether_it_missed_events() {
        let log = log(5);
        let since = log.since(3);
        assert_eq!((since.missed, numbers(&since)), (false, vec![4, 5]));
        assert!(!log.since(0).missed && log.since(5).events.is_empty());

        let many = self::log(MAX_EVENTS as u64 + 10);
        let since = many.since(3);
        assert!(since.missed);
        assert_eq!(numbers(&since).first(), Some(&11));
        let since = many.since(10);
        assert_eq!((since.missed, numbers(&since).first(), since.events.len()), (false, Some(&11), BATCH));
    }

    #[test]
    fn ids_of_another_process_or_of_future_events_are_unknown() {
        let log = log(2);
        assert_eq!(log.number(&log.id(2)), Some(2));
        for id in ["", "2", "-2", "xx-2", &log.id(3), &format!("{}-", log.name), "a-b-c"] {
            assert_eq!(log.number(id), None, "{id}");
        }
    }

    #[test]
    fn no_events_follow_a_cancelled_document_until_it_is_queued_again() {
        let log = log(1);
        let document = DocumentId::from_stored("doc-0");
        let cancelled = Progress::Cancelled { document: document.clone(), source: "a.md".to_owned() };
        let late = Progress::ChunkFailed {
            document: document.clone(),
            source: "a.md".to_owned(),
            ordinal: 0,
            reason: "late".to_owned(),
        };
        for progress in [&cancelled, &late, &cancelled] {
            log.add(progress);
        }
        log.queued_again(&document, "a.md");
        log.add(&late);
        log.add(&cancelled);
        log.removed(&document, "a.md");
        log.removed(&document, "a.md");
        let names: Vec<String> = log.since(0).events.iter().map(|event| event.name.clone()).collect();
        let expected = ["accepted", "cancelled", "queued", "chunk_failed", "cancelled", "removed", "removed"];
        assert_eq!(names, expected);
        assert_eq!(numbers(&log.since(0)), [1, 2, 3, 4, 5, 6, 7], "omitted events have no number");
    }

    #[test]
    fn an_event_has_a_name_and_its_data() {
        let log = log(1);
        let event = &log.since(0).events[0];
        assert_eq!(event.name, "accepted");
        assert_eq!(event.data, serde_json::json!({ "document": "doc-0", "source": "a.md" }));
    }
}
