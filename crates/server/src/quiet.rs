//! Gives memory back once nobody has asked for anything for a while.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use graphloom_core::Upkeep;
use tokio::sync::{Notify, watch};

use crate::background::in_background;
use crate::space::Spaces;

/// How long nobody asks for anything before memory is given back. Threads that are not needed have ended by then.
const QUIET: Duration = Duration::from_secs(12);
/// How long the allocator keeps what is freed for the next who needs it.
const KEPT: Duration = Duration::from_secs(2);

/// Whether something goes on.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// What has happened so far.
    seen: AtomicU64,
    happened: Notify,
}

impl Activity {
    /// Something begins or ends.
    pub(crate) fn note(&self) {
        self.seen.fetch_add(1, Ordering::Relaxed);
        self.happened.notify_one();
    }

    /// Waits until something has happened and nothing more did in a `pause`, at the end of which nothing `is_busy`.
    async fn over<Pause: Future<Output = ()>>(&self, pause: impl Fn() -> Pause, is_busy: impl Fn() -> bool) {
        self.happened.notified().await;
        loop {
            let seen = self.seen.load(Ordering::Relaxed);
            pause().await;
            if seen == self.seen.load(Ordering::Relaxed) && !is_busy() {
                return;
            }
        }
    }
}

/// Has the stores give back the memory that they keep, whenever all is quiet after something went on, until the server stops.
/// While nothing goes on it does nothing.
pub(crate) async fn watch(activity: Arc<Activity>, spaces: &Spaces, mut stop: watch::Receiver<bool>) {
    let resting = async {
        loop {
            let is_busy = || spaces.opened().iter().any(|space| space.ingest.is_busy());
            activity.over(|| tokio::time::sleep(QUIET), is_busy).await;
            let opened = spaces.opened();
            for space in opened {
                if let Err(error) = space.store.maintain(Upkeep::Rest).await {
                    tracing::warn!(%error, "memory is not given back");
                }
            }
            tokio::time::sleep(KEPT).await;
            // A thread that ends has the allocator give back what it kept of all threads for long enough.
            let _ = in_background(|| ()).await;
        }
    };
    tokio::select! {
        () = resting => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures::poll;
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn it_is_quiet_once_something_happened_and_nothing_more_did_and_nothing_is_at_work() {
        let (activity, pauses, is_busy) = (Activity::default(), &Semaphore::new(1), Cell::new(true));
        let pause = || async move { pauses.acquire().await.expect("never closed").forget() };
        let mut over = Box::pin(activity.over(pause, || is_busy.get()));
        assert!(poll!(&mut over).is_pending(), "nothing happened yet");
        assert_eq!(pauses.available_permits(), 1);
        activity.note();
        assert!(poll!(&mut over).is_pending(), "something is at work");
        is_busy.set(false);
        activity.note();
        pauses.add_permits(1);
        assert!(poll!(&mut over).is_pending(), "something happened since");
        pauses.add_permits(1);
        assert!(poll!(&mut over).is_ready());
    }
}
