//! A bounded number of permits for calls.

use futures::StreamExt;
use futures::channel::mpsc;

/// A bounded number of permits, shared by all documents of a run.
pub(super) struct Permits {
    free: futures::lock::Mutex<mpsc::Receiver<()>>,
    back: mpsc::Sender<()>,
}

/// One permit; dropping it gives it back.
pub(super) struct Permit(mpsc::Sender<()>);

impl Permits {
    pub(super) fn new(count: usize) -> Self {
        let (mut back, free) = mpsc::channel(count.max(1));
        for _ in 0..count.max(1) {
            // The channel holds as many as there are permits, so there is room.
            let _ = back.try_send(());
        }
        Self { free: futures::lock::Mutex::new(free), back }
    }

    pub(super) async fn acquire(&self) -> Permit {
        // The sender lives in `self`, so the channel never ends.
        let _ = self.free.lock().await.next().await;
        Permit(self.back.clone())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let _ = self.0.try_send(());
    }
}
