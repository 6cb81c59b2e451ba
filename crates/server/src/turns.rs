//! Turns: how many requests of one kind are worked on, and how many more may wait for that.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Requests that may wait, for each that is worked on. More would wait in vain: their turn would not come in time.
const WAITING_EACH: usize = 2;

/// The turns of one kind of request.
#[derive(Debug)]
pub(crate) struct Turns {
    working: Arc<Semaphore>,
    waiting: Semaphore,
}

impl Turns {
    /// As many turns at once, at least one.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS / WAITING_EACH);
        Self { working: Arc::new(Semaphore::new(most)), waiting: Semaphore::new(most * WAITING_EACH) }
    }

    /// A turn, in the order of asking, that lasts as long as what is returned. `None` where none came in time, and at once
    /// where too many wait already: under more load than can be carried a refusal costs nothing and nobody's time.
    pub(crate) async fn take(&self, patience: Duration) -> Option<OwnedSemaphorePermit> {
        if let Ok(turn) = Arc::clone(&self.working).try_acquire_owned() {
            return Some(turn);
        }
        let _place = self.waiting.try_acquire().ok()?;
        // The semaphore is never closed; were it, nothing would be taken on.
        timeout(patience, Arc::clone(&self.working).acquire_owned()).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures::{FutureExt, poll};

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn who_finds_too_many_waiting_is_refused_at_once_and_the_first_who_waits_is_the_next() {
        let turns = Turns::new(1);
        let working = turns.take(LONG).await.expect("a free turn");
        let mut first = turns.take(LONG).boxed();
        let mut second = turns.take(LONG).boxed();
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        assert!(turns.take(LONG).now_or_never().expect("an answer at once").is_none());
        drop(working);
        assert!(poll!(&mut second).is_pending());
        let Poll::Ready(Some(next)) = poll!(&mut first) else { panic!("it is the first one's turn") };
        let mut third = turns.take(LONG).boxed();
        assert!(poll!(&mut third).is_pending(), "who got a turn waits no more");
        drop((next, second));
        assert!(matches!(poll!(&mut third), Poll::Ready(Some(_))), "who left waits no more");
    }

    #[tokio::test]
    async fn waiting_ends_when_patience_does() {
        let turns = Turns::new(1);
        let _working = turns.take(LONG).await.expect("a free turn");
        assert!(turns.take(Duration::ZERO).await.is_none());
    }
}
