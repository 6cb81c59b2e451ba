//! Computes the share of documents that one worker claims, so that others find work too.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::channel::oneshot;

/// Documents that a worker claims per concurrent call, however many other workers there are. Enough to have the next one ready, so
/// that a worker never waits for workers that do not exist.
const DOCUMENTS_FOR_EACH_CALL: usize = 2;

/// Returns the maximum number of documents that a worker holds if `workers` share `open` documents.
pub(super) fn share_of(open: usize, workers: usize, calls: usize) -> usize {
    open.div_ceil(workers.max(1)).max(calls.max(1) * DOCUMENTS_FOR_EACH_CALL)
}

/// Counts the documents that a run has claimed but not yet prepared.
#[derive(Default)]
pub(super) struct ClaimedDocuments(Mutex<State>);

#[derive(Default)]
struct State {
    documents: usize,
    /// Wakes the claim that waits for a lower count; a run makes one claim at a time.
    waiting: Option<oneshot::Sender<()>>,
}

impl ClaimedDocuments {
    pub(super) fn count(&self) -> usize {
        self.state().documents
    }

    pub(super) fn add(&self, documents: usize) {
        self.state().documents += documents;
    }

    /// Records that one of them is prepared.
    pub(super) fn end_one(&self) {
        let waiting = {
            let mut state = self.state();
            state.documents = state.documents.saturating_sub(1);
            state.waiting.take()
        };
        if let Some(waiting) = waiting {
            // The receiver may have been cancelled.
            let _ = waiting.send(());
        }
    }

    /// Waits until there are fewer than `known`.
    pub(super) async fn fewer_than(&self, known: usize) {
        loop {
            let fewer = {
                let mut state = self.state();
                if state.documents < known {
                    return;
                }
                let (wake, fewer) = oneshot::channel();
                state.waiting = Some(wake);
                fewer
            };
            // A dropped sender means the same: check again.
            let _ = fewer.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_share_is_an_equal_part_but_always_enough_to_keep_the_calls_busy() {
        assert_eq!(share_of(30, 2, 1), 15);
        assert_eq!(share_of(30, 4, 1), 8);
        assert_eq!(share_of(3, 8, 4), 8, "few documents cause no waiting");
        assert_eq!(share_of(0, 0, 0), 2);
    }

    #[test]
    fn a_waiter_continues_once_a_document_is_prepared() {
        let taken = ClaimedDocuments::default();
        taken.add(2);
        let mut fewer = Box::pin(taken.fewer_than(2));
        assert!((&mut fewer).now_or_never().is_none());
        taken.end_one();
        assert!(fewer.now_or_never().is_some());
        assert!(taken.fewer_than(2).now_or_never().is_some(), "there are fewer already");
        assert_eq!(taken.count(), 1);
    }
}
