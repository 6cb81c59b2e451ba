//! Returns memory to the system after a time without requests.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use graphloom_core::Upkeep;
use tokio::sync::{Notify, watch};

use crate::background::in_background;
use crate::space::Spaces;

/// How long nothing must happen before memory is returned. By then, unneeded threads have ended.
const QUIET: Duration = Duration::from_secs(12);
/// How long the allocator keeps freed memory for reuse.
const KEPT: Duration = Duration::from_secs(2);

/// Whether the server is active.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// Number of events so far.
    seen: AtomicU64,
    happened: Notify,
}

impl Activity {
    /// Notes that something begins or ends.
    pub(crate) fn note(&self) {
        self.seen.fetch_add(1, Ordering::Relaxed);
        self.happened.notify_one();
    }

    /// Waits until something has happened, then nothing for a `pause`, and `is_busy` is false at its end.
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

/// Makes the stores return the memory that they keep whenever the server becomes quiet after activity, until the server stops.
/// Does nothing while there is no activity.
pub(crate) async fn watch(activity: Arc<Activity>, spaces: &Spaces, mut stop: watch::Receiver<bool>) {
    let resting = async {
        loop {
            let is_busy = || spaces.opened().iter().any(|space| space.ingest.is_busy());
            activity.over(|| tokio::time::sleep(QUIET), is_busy).await;
            let opened = spaces.opened();
            for space in opened {
                if let Err(error) = space.store.maintain(Upkeep::Rest).await {
                    tracing::warn!(%error, "memory was not returned to the system");
                }
            }
            tokio::time::sleep(KEPT).await;
            // When a thread ends, the allocator returns the memory of all threads that was unused for long enough.
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
    async fn it_is_quiet_if_nothing_is_at_work_and_nothing_happened_since_the_last_event() {
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
