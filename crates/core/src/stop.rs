//! Requests to stop work early.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;

/// No further calls are started.
const MADE: u8 = 1;
/// Calls in flight are given up.
const GIVES_UP: u8 = 2;

thread_local! {
    /// The request that the future being polled on this thread obeys.
    static CURRENT: RefCell<Option<StopRequest>> = const { RefCell::new(None) };
}

/// Asks work to stop early: it starts no further model calls, but finishes and stores what is in progress. Clones share the
/// request.
#[derive(Debug, Clone, Default)]
pub struct StopRequest(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    stage: AtomicU8,
    given_up: AtomicU32,
    waiting: Mutex<Vec<oneshot::Sender<()>>>,
    parent: Option<StopRequest>,
}

impl StopRequest {
    /// Returns a request that is also made if this one is, but not the other way round.
    pub fn child(&self) -> Self {
        Self(Arc::new(Shared { parent: Some(self.clone()), ..Shared::default() }))
    }

    /// Makes the request. It cannot be withdrawn.
    pub fn make(&self) {
        self.raise(MADE);
    }

    /// Makes the request, and asks calls in flight to end without their answers.
    pub fn give_up(&self) {
        self.raise(GIVES_UP);
    }

    /// True if the request was made.
    pub fn is_made(&self) -> bool {
        self.has_reached(MADE)
    }

    /// Waits until the request is made.
    pub async fn made(&self) {
        self.reached(MADE).await;
    }

    /// Waits until calls in flight are given up.
    pub async fn gives_up(&self) {
        self.reached(GIVES_UP).await;
    }

    /// Records that a call was given up that had been sent and may be billed.
    pub fn note_given_up(&self) {
        self.0.given_up.fetch_add(1, Ordering::Relaxed);
        if let Some(parent) = &self.0.parent {
            parent.note_given_up();
        }
    }

    /// Returns the number of calls that were given up.
    pub fn given_up(&self) -> u32 {
        self.0.given_up.load(Ordering::Relaxed)
    }

    /// Runs `work`, whose model calls obey this request: a call that has to wait is not sent once the request is made.
    ///
    /// The calls find the request with [`StopRequest::current`], through whichever model they are made.
    pub fn during<Work: Future>(&self, work: Work) -> During<Work> {
        During { stop: self.clone(), work: Box::pin(work) }
    }

    /// Returns the request that the calling future obeys; one that is never made if there is none.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone).unwrap_or_default()
    }

    fn has_reached(&self, stage: u8) -> bool {
        self.0.stage.load(Ordering::Relaxed) >= stage
            || self.0.parent.as_ref().is_some_and(|parent| parent.has_reached(stage))
    }

    fn raise(&self, stage: u8) {
        let waiting = {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.stage.fetch_max(stage, Ordering::Relaxed);
            std::mem::take(&mut *waiting)
        };
        for wake in waiting {
            // The receiver may have been cancelled.
            let _ = wake.send(());
        }
    }

    fn reached(&self, stage: u8) -> BoxFuture<'_, ()> {
        async move {
            loop {
                let woken = {
                    let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    if self.has_reached(stage) {
                        return;
                    }
                    waiting.retain(|wake| !wake.is_canceled());
                    let (wake, woken) = oneshot::channel();
                    waiting.push(wake);
                    woken
                };
                match &self.0.parent {
                    Some(parent) => drop(futures::future::select(woken, parent.reached(stage)).await),
                    None => drop(woken.await),
                }
            }
        }
        .boxed()
    }
}

/// Work that obeys a [`StopRequest`].
#[derive(Debug)]
pub struct During<Work> {
    stop: StopRequest,
    work: Pin<Box<Work>>,
}

impl<Work: Future> Future for During<Work> {
    type Output = Work::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let _outer = Outer(CURRENT.replace(Some(self.stop.clone())));
        self.work.as_mut().poll(context)
    }
}

/// Restores the request of the surrounding work, even if a poll panics.
struct Outer(Option<StopRequest>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_wakes_those_who_wait_for_it_or_for_its_children() {
        let parent = StopRequest::default();
        let (child, other) = (parent.child(), parent.child());
        let (mut made, mut gives_up) = (child.made().boxed(), child.gives_up().boxed());
        assert!((&mut made).now_or_never().is_none());
        other.make();
        assert!(other.is_made() && !parent.is_made() && (&mut made).now_or_never().is_none());
        parent.make();
        assert!((&mut made).now_or_never().is_some() && (&mut gives_up).now_or_never().is_none());
        parent.give_up();
        assert!(child.is_made() && gives_up.now_or_never().is_some());
        child.note_given_up();
        assert_eq!((child.given_up(), parent.given_up(), other.given_up()), (1, 1, 0));
    }

    #[test]
    fn work_finds_the_request_that_it_obeys_and_only_while_it_runs() {
        let (outer, inner) = (StopRequest::default(), StopRequest::default());
        inner.make();
        let seen = outer.during(async {
            let within = inner.during(async { StopRequest::current().is_made() }).await;
            (within, StopRequest::current().is_made())
        });
        assert_eq!(seen.now_or_never(), Some((true, false)));
        assert!(!StopRequest::current().is_made());
    }
}
