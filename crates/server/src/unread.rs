//! Tracks whether a request body was read to its end; otherwise its connection cannot be reused.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use tokio::time::timeout;

use crate::wrapped::{Beside, BodyWith, Next};

/// Maximum bytes of an unneeded body to read so that its connection can be reused.
const MAX_DRAINED: u64 = 64 << 10;
/// Maximum time to read such a body.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Reads the rest of an unneeded body if it is small and arrives soon.
pub(crate) async fn drain(mut body: Body) {
    if body.size_hint().lower() > MAX_DRAINED {
        return;
    }
    let draining = async {
        let mut left = MAX_DRAINED;
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
            match left.checked_sub(bytes) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // The watcher of the body records whether it ended.
    let _ = timeout(DRAIN_TIME, draining).await;
}

/// Whether a body has ended.
#[derive(Clone)]
pub(crate) struct BodyEnd(Arc<AtomicBool>);

impl BodyEnd {
    /// True if the body has ended.
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The body, and a flag that is set when it ends.
pub(crate) fn watch<B: HttpBody + Unpin>(body: B) -> (BodyWith<B, BodyEnd>, BodyEnd) {
    let ended = BodyEnd(Arc::new(AtomicBool::new(body.is_end_stream())));
    (BodyWith::new(body, ended.clone()), ended)
}

impl<B: HttpBody + Unpin> Beside<B> for BodyEnd {
    fn poll_frame(&mut self, body: &mut B, context: &mut Context<'_>) -> Next<B> {
        let frame = ready!(Pin::new(&mut *body).poll_frame(context));
        if frame.is_none() || body.is_end_stream() {
            self.0.store(true, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }
}
