//! Ends responses in progress if the server stops or the caller loses its permission.
//!
//! A stream ends with a value that says why, in the form of its protocol, so that a client does not take a partial
//! answer for a complete one. Other responses are cut off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures::future::BoxFuture;
use hyper::body::{Body as HttpBody, Frame};
use serde_json::json;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::access::Caller;
use crate::app::{App, now};
use crate::guard::{LOCAL, shown};
use crate::lines::EarlyEnd;
use crate::problem::STOPPING;
use crate::route::{Load, Route};
use crate::wrapped::{Beside, BodyWith, Next};

/// How often the permission is checked while nothing is sent.
const LOOK: Duration = Duration::from_secs(1);
/// Content types of streams.
const EVENTS: &[u8] = b"text/event-stream";
const LINES: &[u8] = b"application/x-ndjson";

/// The caller of a response and its credentials.
pub(crate) struct Reader {
    caller: Caller,
    credentials: HeaderMap,
}

impl Reader {
    /// The caller of a request with these headers.
    pub(crate) fn of(caller: &Caller, headers: &HeaderMap) -> Self {
        let names = [header::AUTHORIZATION, HeaderName::from_static("x-api-key")];
        let kept = names.into_iter().filter_map(|name| Some((name.clone(), headers.get(&name)?.clone())));
        Self { caller: caller.clone(), credentials: kept.collect() }
    }

    /// Whether the caller would still be authenticated the same way.
    fn may_read(&self, app: &App) -> bool {
        let Ok(access) = app.access.read() else { return false };
        match self.caller.name == LOCAL {
            true => access.is_empty(),
            false => {
                access.identify(shown(&self.credentials), now()).is_ok_and(|caller| caller == self.caller)
            }
        }
    }
}

/// Wraps the response so that its body ends when it must.
pub(crate) fn hold(app: &App, route: &Route, reader: Reader, mut response: Response) -> Response {
    let own = response.extensions_mut().remove::<EarlyEnd>();
    let kind = response.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let form = match (own, kind, route.protocol(), route.load) {
        (Some(end), ..) => Form::Own(end),
        (None, EVENTS, Some(_), _) => Form::OpenAi,
        (None, EVENTS, None, Load::Stream) => Form::JobEvents,
        (None, EVENTS, None, Load::Question) => Form::AnswerEvents,
        (None, LINES, _, Load::Question) => Form::Lines,
        (None, _, _, Load::Whole) => Form::Other,
        _ => return response,
    };
    let time_is_over = Box::pin(app.must_end());
    let mut look = tokio::time::interval_at(Instant::now() + LOOK, LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let hold = Hold { app: app.clone(), reader, form, time_is_over, look, has_ended: false };
    response.map(|body| Body::new(BodyWith::new(body, hold)))
}

/// The form of a final value that reports an early end.
enum Form {
    /// That of the response itself.
    Own(EarlyEnd),
    /// Events of the OpenAI protocol.
    OpenAi,
    /// Events of an answer.
    AnswerEvents,
    /// Events of jobs.
    JobEvents,
    /// JSON lines.
    Lines,
    /// There is none.
    Other,
}

/// Why a response ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Stopping,
    NotAllowed,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Self::Stopping => STOPPING,
            Self::NotAllowed => "the credential is no longer valid",
        }
    }
}

impl Form {
    /// The last bytes of the response.
    fn end(&self, why: Why) -> Option<Bytes> {
        let (words, status) = match why {
            Why::Stopping => (why.words(), 503),
            Why::NotAllowed => (why.words(), 401),
        };
        let end = match self {
            Self::Own(EarlyEnd(end)) => return Some(end(words)),
            Self::OpenAi => {
                let kind = if status == 503 { "server_error" } else { "authentication_error" };
                format!(
                    "data: {}\n\ndata: [DONE]\n\n",
                    json!({ "error": { "message": words, "type": kind } })
                )
            }
            Self::AnswerEvents => {
                let title = if status == 503 { "Service Unavailable" } else { "Unauthorized" };
                let problem =
                    json!({ "type": "about:blank", "title": title, "status": status, "detail": words });
                format!("event: error\ndata: {problem}\n\n")
            }
            Self::JobEvents => {
                let reason = if status == 503 { "stopped" } else { "error" };
                let end =
                    json!({ "reason": reason, "will_retry": false, "status_counts": {}, "message": words });
                format!("event: end\ndata: {end}\n\n")
            }
            Self::Lines => format!("{}\n", json!({ "error": words })),
            Self::Other => return None,
        };
        Some(end.into())
    }
}

/// The wrapper's state.
struct Hold {
    app: App,
    reader: Reader,
    form: Form,
    time_is_over: BoxFuture<'static, ()>,
    look: Interval,
    has_ended: bool,
}

impl Hold {
    fn end(&mut self, body: &mut Body, why: Why) -> Next<Body> {
        self.has_ended = true;
        // Drops unsent data, and the turn with it.
        *body = Body::empty();
        let end = self.form.end(why).map(|end| Ok(Frame::data(end)));
        Poll::Ready(Some(end.unwrap_or_else(|| Err(axum::Error::new(io::Error::other(why.words()))))))
    }
}

impl Beside<Body> for Hold {
    fn poll_frame(&mut self, body: &mut Body, context: &mut Context<'_>) -> Next<Body> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(context) {
            // Data is sent only to callers with permission; the end is sent in any case.
            let may_read = frame.is_none() || self.reader.may_read(&self.app);
            return if may_read { Poll::Ready(frame) } else { self.end(body, Why::NotAllowed) };
        }
        while self.look.poll_tick(context).is_ready() {
            if !self.reader.may_read(&self.app) {
                return self.end(body, Why::NotAllowed);
            }
        }
        ready!(self.time_is_over.as_mut().poll(context));
        self.end(body, Why::Stopping)
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }
}
