//! Turns for indexing: limit how many workspaces are indexed at once. The workspace that has waited longest is next.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// The turns of a process.
#[derive(Debug)]
pub(crate) struct IndexTurns {
    most: usize,
    permits: Semaphore,
    waiting: AtomicUsize,
}

impl IndexTurns {
    /// - `most`: workspaces indexed at once; 0 leaves queued documents to other processes.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self { most, permits: Semaphore::new(most), waiting: AtomicUsize::new(0) }
    }

    /// Waits for a turn, which ends when the result is dropped; `None` if there are no turns.
    pub(crate) async fn take(&self) -> Option<SemaphorePermit<'_>> {
        if self.leaves_queues() {
            return None;
        }
        let _waiting = Waiting::among(&self.waiting);
        // The semaphore is never closed.
        self.permits.acquire().await.ok()
    }

    /// Whether a workspace waits for its turn.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Whether other processes index what is queued.
    pub(crate) fn leaves_queues(&self) -> bool {
        self.most == 0
    }
}

/// Counts a waiting workspace until it gets its turn or gives up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn among(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn the_longest_waiter_is_next_and_the_holder_sees_that_it_waits() {
        let turns = IndexTurns::new(1);
        let first = turns.take().await.expect("a turn");
        assert!(!turns.is_wanted());
        let (mut second, mut third) = (Box::pin(turns.take()), Box::pin(turns.take()));
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        assert!(turns.is_wanted());
        drop(first);
        assert!(poll!(&mut third).is_pending(), "the second waited longer");
        drop(second.await);
        drop(third);
        assert!(!turns.is_wanted());
        assert!(IndexTurns::new(0).take().await.is_none(), "no turns, no waiting");
    }
}
