//! Streams JSON values as lines or server-sent events while they are produced.
//!
//! Unsent values wait in memory, and adjacent pieces of text are joined. A slow client therefore gets fewer,
//! longer lines and never blocks the writer, and the waiting data never exceeds the answer itself.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;
use tokio::sync::Notify;

/// How values are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One value per line.
    Lines,
    /// One server-sent event per value.
    Events,
    /// One named server-sent event per value, with a heartbeat during pauses.
    Named {
        /// Event name of pieces of text.
        text: &'static str,
        /// Maximum pause.
        heartbeat: Duration,
    },
    /// One server-sent event per value with name and number, as in OpenAI's responses: the name is the member
    /// `type`, the number from 0 is `sequence_number`.
    Numbered {
        /// Event name of pieces of text.
        text: &'static str,
    },
}

impl Framing {
    fn content_type(self) -> &'static str {
        match self {
            Self::Lines => "application/x-ndjson",
            Self::Events | Self::Named { .. } | Self::Numbered { .. } => "text/event-stream",
        }
    }

    fn frame(self, name: Option<&str>, value: &str) -> Bytes {
        Bytes::from(match (self, name) {
            (Self::Lines, _) => format!("{value}\n"),
            (Self::Events, _) | (_, None) => format!("data: {value}\n\n"),
            (Self::Named { .. } | Self::Numbered { .. }, Some(name)) => {
                format!("event: {name}\ndata: {value}\n\n")
            }
        })
    }

    /// Event name of pieces of text.
    fn of_text(self) -> Option<&'static str> {
        match self {
            Self::Lines | Self::Events => None,
            Self::Named { text, .. } | Self::Numbered { text } => Some(text),
        }
    }
}

/// Heartbeat interval of named event streams.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(10);

/// Last value of OpenAI's protocol.
const DONE: &str = "[DONE]";

/// Builds the value for a piece of text.
type TextValue = Box<dyn Fn(&str) -> Value + Send + Sync>;

/// The writing end. The stream ends when the last clone is dropped.
pub(crate) struct Lines {
    shared: Arc<Shared>,
}

/// Makes the last bytes of a response that ends before everything is written, from the reason.
#[derive(Clone)]
pub(crate) struct EarlyEnd(pub(crate) Arc<dyn Fn(&'static str) -> Bytes + Send + Sync>);

struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
    framing: Framing,
    text_value: TextValue,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Item>,
    /// Number of values taken out.
    taken: u64,
    ended: bool,
}

enum Item {
    Line(Value),
    Event(&'static str, Value),
    Text(String),
    Done,
}

impl Lines {
    /// The writing end, and the response that sends what is written.
    pub(crate) fn new(
        framing: Framing,
        text_value: impl Fn(&str) -> Value + Send + Sync + 'static,
    ) -> (Self, Response) {
        let (queue, text_value) = (Mutex::default(), Box::new(text_value));
        let shared = Arc::new(Shared { queue, changed: Notify::new(), framing, text_value });
        let reader = Arc::clone(&shared);
        let stream = futures::stream::unfold(reader, |reader| async move {
            let bytes = reader.next().await?;
            Some((Ok::<_, Infallible>(bytes), reader))
        });
        let mut response = Response::new(Body::from_stream(stream));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(framing.content_type()));
        // Tells proxies not to buffer the stream.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        (Self { shared }, response)
    }

    /// Writes a line.
    pub(crate) fn line(&self, value: Value) {
        self.push(|waiting| waiting.push_back(Item::Line(value)));
    }

    /// Writes a named event.
    pub(crate) fn event(&self, name: &'static str, value: Value) {
        self.push(|waiting| waiting.push_back(Item::Event(name, value)));
    }

    /// Writes a piece of text; joined with the previous one if that is still waiting.
    pub(crate) fn text(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.push(|waiting| match waiting.back_mut() {
            Some(Item::Text(before)) => before.push_str(text),
            Some(Item::Line(_) | Item::Event(..) | Item::Done) | None => {
                waiting.push_back(Item::Text(text.to_owned()))
            }
        });
    }

    /// Ends the stream with OpenAI's final value.
    pub(crate) fn done(&self) {
        self.push(|waiting| waiting.push_back(Item::Done));
    }

    /// Sets the last event of a response that ends before everything is written: its name, and its value for the reason.
    pub(crate) fn end_early_with(
        &self,
        response: &mut Response,
        name: &'static str,
        value: impl Fn(&'static str) -> Value + Send + Sync + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let end = move |why| shared.framed(&mut shared.lock(), Item::Event(name, value(why)));
        response.extensions_mut().insert(EarlyEnd(Arc::new(end)));
    }

    fn push(&self, add: impl FnOnce(&mut VecDeque<Item>)) {
        add(&mut self.shared.lock().waiting);
        self.shared.changed.notify_one();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The item as the next line, terminated.
    fn framed(&self, queue: &mut Queue, item: Item) -> Bytes {
        let number = queue.taken;
        queue.taken += 1;
        let (name, mut value) = match item {
            Item::Line(value) => (None, value),
            Item::Event(name, value) => (Some(name), value),
            Item::Text(text) => (self.framing.of_text(), (self.text_value)(&text)),
            Item::Done => return self.framing.frame(None, DONE),
        };
        if let (Framing::Numbered { .. }, Some(name)) = (self.framing, name) {
            value["type"] = Value::from(name);
            value["sequence_number"] = Value::from(number);
        }
        self.framing.frame(name, &value.to_string())
    }

    /// The next line, terminated; `None` after the last.
    async fn next(&self) -> Option<Bytes> {
        loop {
            {
                let mut queue = self.lock();
                if let Some(item) = queue.waiting.pop_front() {
                    return Some(self.framed(&mut queue, item));
                }
                if queue.ended {
                    return None;
                }
            }
            match self.framing {
                Framing::Lines | Framing::Events | Framing::Numbered { .. } => self.changed.notified().await,
                Framing::Named { heartbeat, .. } => {
                    if tokio::time::timeout(heartbeat, self.changed.notified()).await.is_err() {
                        return Some(Bytes::from_static(b": still here\n\n"));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn waiting_text_is_joined_and_lines_keep_their_order() {
        let (lines, response) = Lines::new(Framing::Lines, |text| json!({ "response": text }));
        lines.line(json!({ "references": [] }));
        lines.text("Ra");
        lines.text("dium\n");
        lines.line(json!({ "end": true }));
        lines.text("!");
        drop(lines);
        let sent = response.into_body().collect().await.expect("no fault").to_bytes();
        let expected =
            "{\"references\":[]}\n{\"response\":\"Radium\\n\"}\n{\"end\":true}\n{\"response\":\"!\"}\n";
        assert_eq!(sent, expected);
    }

    #[tokio::test]
    async fn named_events_have_their_names_and_heartbeats_fill_silence() {
        let framing = Framing::Named { text: "delta", heartbeat: Duration::from_millis(1) };
        let (events, response) = Lines::new(framing, |text| json!(text));
        let mut body = response.into_body();
        let mut next = async || {
            let frame = body.frame().await?.expect("no fault").into_data().expect("data");
            Some(String::from_utf8(frame.to_vec()).expect("text"))
        };
        events.event("context", json!({}));
        events.text("a");
        assert_eq!(next().await.as_deref(), Some("event: context\ndata: {}\n\n"));
        assert_eq!(next().await.as_deref(), Some("event: delta\ndata: \"a\"\n\n"));
        assert_eq!(next().await.as_deref(), Some(": still here\n\n"));
        events.event("done", json!({}));
        assert_eq!(next().await.as_deref(), Some("event: done\ndata: {}\n\n"));
        drop(events);
        assert_eq!(next().await, None);
    }

    #[tokio::test]
    async fn numbered_events_carry_their_sequence_number_and_type() {
        let (events, response) =
            Lines::new(Framing::Numbered { text: "delta" }, |text| json!({ "delta": text }));
        events.event("created", json!({}));
        events.text("a");
        events.text("b");
        events.event("done", json!({}));
        drop(events);
        let sent = response.into_body().collect().await.expect("no fault").to_bytes();
        let expected = "event: created\ndata: {\"sequence_number\":0,\"type\":\"created\"}\n\n\
                        event: delta\ndata: {\"delta\":\"ab\",\"sequence_number\":1,\"type\":\"delta\"}\n\n\
                        event: done\ndata: {\"sequence_number\":2,\"type\":\"done\"}\n\n";
        assert_eq!(sent, expected);
    }

    #[tokio::test]
    async fn an_event_stream_ends_with_done() {
        let (events, response) = Lines::new(Framing::Events, |text| json!(text));
        events.text("a\nb");
        events.text("");
        events.done();
        drop(events);
        let sent = response.into_body().collect().await.expect("no fault").to_bytes();
        assert_eq!(sent, "data: \"a\\nb\"\n\ndata: [DONE]\n\n");
    }
}
