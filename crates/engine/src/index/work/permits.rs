//! A bounded number of permits for calls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::oneshot;

/// A bounded number of permits, shared by all documents of a run and handed out in the order in which they were asked for.
///
/// A permit may be handed to a future that is not being polled, which then keeps it. So a future that asks for one is
/// polled until it is done or dropped: see [`AnswerStream`](super::arriving::AnswerStream).
pub(super) struct Permits(Arc<Mutex<State>>);

/// One permit; dropping it gives it back.
pub(super) struct Permit(Arc<Mutex<State>>);

struct State {
    free: usize,
    /// Who waits while none is free. As many as there are calls to make at once in the documents at work.
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
            // Whoever waits no longer drops what it is handed, and so hands it on.
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
    fn permits_go_to_those_who_wait_in_their_order_and_past_those_who_left() {
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
        // One that was handed a permit and leaves without taking it gives it back.
        drop(held);
        drop(waiting);
        assert!(permits.acquire().now_or_never().is_some());
    }
}
