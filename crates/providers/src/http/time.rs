//! The clock of the HTTP layer, replaceable in tests.

use std::time::{Duration, Instant};

use async_trait::async_trait;

/// A monotonic clock with sleep.
#[async_trait]
pub trait Pacer: Send + Sync + std::fmt::Debug {
    /// Returns the time since some fixed moment.
    fn now(&self) -> Duration;

    /// Waits until `now` has advanced by at least this much.
    async fn sleep(&self, wait: Duration);
}

/// The machine's monotonic clock.
#[derive(Debug)]
pub(super) struct RealTime(Instant);

impl RealTime {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }
}

#[async_trait]
impl Pacer for RealTime {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    async fn sleep(&self, wait: Duration) {
        tokio::time::sleep(wait).await;
    }
}
