//! Wraps a body to do something in addition to sending it.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// The next frame of a body, or its end.
pub(crate) type Next<B> = Poll<Option<Result<Frame<<B as HttpBody>::Data>, <B as HttpBody>::Error>>>;

/// The additional behaviour. By default it does nothing and lives as long as the body.
pub(crate) trait Beside<B: HttpBody + Unpin> {
    /// The next frame, usually the body's own.
    fn poll_frame(&mut self, body: &mut B, context: &mut Context<'_>) -> Next<B> {
        Pin::new(body).poll_frame(context)
    }

    /// Whether the body has ended, even if the inner one has not.
    fn has_ended(&self) -> bool {
        false
    }
}

/// A body with additional behaviour. Its length is the inner body's, so ending it early breaks the connection.
pub(crate) struct BodyWith<B, W> {
    body: B,
    beside: W,
}

impl<B, W> BodyWith<B, W> {
    pub(crate) fn new(body: B, beside: W) -> Self {
        Self { body, beside }
    }
}

impl<B: HttpBody + Unpin, W: Beside<B> + Unpin> HttpBody for BodyWith<B, W> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Next<B> {
        let Self { body, beside } = &mut *self;
        beside.poll_frame(body, context)
    }

    fn is_end_stream(&self) -> bool {
        self.beside.has_ended() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
