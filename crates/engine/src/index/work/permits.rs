//! A limit on concurrent calls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::oneshot;

/// A bounded number of permits, shared by all documents of a run and granted in the order of the requests.
///
/// A permit can be granted to a future that is not being polled, which then holds it. So a future that requests a permit must be
/// polled until it completes or is dropped: see [`AnswerStream`](super::arriving::AnswerStream).
pub(super) struct Permits(Arc<Mutex<State>>);

/// One permit, released on drop.
pub(super) struct Permit(Arc<Mutex<State>>);

struct State {
    free: usize,
    /// Requests that wait for a permit. At most as many as there are concurrent calls in the documents in progress.
    waiting: VecDeque<oneshot::Sender<Permit>>,
}

impl Permits {
    pub(super) fn new(count: usize) -> Self {
        Self(Arc::new(Mutex::new(State { free: count.max(1), waiting: VecDeque::new() })))
    }

    pub(super) async fn acquire(&self) -> Permit {
        loop {
            let handed = {
                let mut state = lock(&self.0);
                if let Some(free) = state.free.checked_sub(1) {
                    state.free = free;
                    return Permit(Arc::clone(&self.0));
                }
                let (hand, handed) = oneshot::channel();
                state.waiting.push_back(hand);
                handed
            };
            if let Ok(permit) = handed.await {
                return permit;
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let next = {
            let mut state = lock(&self.0);
            let next = state.waiting.pop_front();
            state.free += usize::from(next.is_none());
            next
        };
        if let Some(next) = next {
            // If the receiver is gone, the permit is dropped here and so passes to the next one.
            let _ = next.send(Self(Arc::clone(&self.0)));
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use graphloom_storage::conformance::block_on;

    use super::*;

    #[test]
    fn permits_go_to_waiters_in_order_and_skip_those_that_left() {
        let permits = Permits::new(1);
        let held = block_on(permits.acquire());
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(permits.acquire())).collect();
        for waiting in &mut waiting {
            assert!(waiting.now_or_never().is_none());
        }
        drop(waiting.remove(0));
        drop(held);
        assert!((&mut waiting[1]).now_or_never().is_none(), "the other one comes first");
        let held = (&mut waiting[0]).now_or_never().expect("it is its turn");
        // A granted permit that is dropped without being taken is released.
        drop(held);
        drop(waiting);
        assert!(permits.acquire().now_or_never().is_some());
    }
}
