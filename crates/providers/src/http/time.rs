//! Time as the HTTP layer sees it, so that waits can be tested without waiting.

use std::time::{Duration, Instant};

use async_trait::async_trait;

/// A clock that never goes back, and waits by it.
#[async_trait]
pub trait Pacer: Send + Sync + std::fmt::Debug {
    /// Time since some fixed moment.
    fn now(&self) -> Duration;

    /// Returns when `now` is at least this long later.
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
