//! JSON lines that are sent while they are made.
//!
//! What is written waits in memory until it is sent, and pieces of text that wait are joined, so that a slow reader makes few
//! long lines and never holds up the writer. What waits is therefore never more than the answer itself.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;
use tokio::sync::Notify;

/// Makes the line of a piece of text.
pub(crate) type TextLine = fn(&str) -> Value;

/// The writing end. The stream ends when the last one is dropped.
pub(crate) struct Lines {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
    text_line: TextLine,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Item>,
    ended: bool,
}

enum Item {
    Line(Value),
    Text(String),
}

impl Lines {
    /// The writing end, and the answer that sends what is written.
    pub(crate) fn new(content_type: &'static str, text_line: TextLine) -> (Self, Response) {
        let queue = Mutex::default();
        let shared = Arc::new(Shared { queue, changed: Notify::new(), text_line });
        let reader = Arc::clone(&shared);
        let stream = futures::stream::unfold(reader, |reader| async move {
            let bytes = reader.next().await?;
            Some((Ok::<_, Infallible>(bytes), reader))
        });
        let mut response = Response::new(Body::from_stream(stream));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        // A proxy that collects the answer would take the point of it away.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        (Self { shared }, response)
    }

    /// One line.
    pub(crate) fn line(&self, value: Value) {
        self.push(|waiting| waiting.push_back(Item::Line(value)));
    }

    /// A piece of text; a line of its own, or joined with the piece that waits before it.
    pub(crate) fn text(&self, text: &str) {
        self.push(|waiting| match waiting.back_mut() {
            Some(Item::Text(before)) => before.push_str(text),
            Some(Item::Line(_)) | None => waiting.push_back(Item::Text(text.to_owned())),
        });
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

    /// The next line with its end; `None` after the last.
    async fn next(&self) -> Option<Bytes> {
        loop {
            {
                let mut queue = self.lock();
                if let Some(item) = queue.waiting.pop_front() {
                    let value = match item {
                        Item::Line(value) => value,
                        Item::Text(text) => (self.text_line)(&text),
                    };
                    return Some(Bytes::from(format!("{value}\n")));
                }
                if queue.ended {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn text_that_waits_is_joined_and_lines_keep_their_order() {
        let (lines, response) = Lines::new("application/x-ndjson", |text| json!({ "response": text }));
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
}
