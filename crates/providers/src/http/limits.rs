//! Token buckets for requests and tokens per minute, and the pause a provider asks for.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The limits of one client.
#[derive(Debug)]
pub(super) struct Limits(Mutex<State>);

#[derive(Debug)]
struct State {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    paused_until: Instant,
}

impl Limits {
    pub(super) fn new(
        requests_per_minute: Option<u32>,
        tokens_per_minute: Option<u32>,
        now: Instant,
    ) -> Self {
        let bucket =
            |limit: Option<u32>| limit.filter(|limit| *limit > 0).map(|limit| Bucket::new(limit, now));
        Self(Mutex::new(State {
            requests: bucket(requests_per_minute),
            tokens: bucket(tokens_per_minute),
            paused_until: now,
        }))
    }

    /// Waits for the turn of one request of about `tokens` tokens. Turns are given in the order of the calls.
    pub(super) async fn admit(&self, tokens: u64) {
        let wait = self.reserve(tokens, Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Corrects an estimate given to [`Limits::admit`] by what was used.
    pub(super) fn settle(&self, estimated: u64, used: u64) {
        if let Some(bucket) = &mut self.state().tokens {
            bucket.give_back(estimated as f64 - used as f64);
        }
    }

    /// Holds back every request for `wait` from now on.
    pub(super) fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut state = self.state();
        state.paused_until = state.paused_until.max(until);
    }

    fn reserve(&self, tokens: u64, now: Instant) -> Duration {
        let mut state = self.state();
        let paused = state.paused_until.saturating_duration_since(now);
        let requests = state.requests.as_mut().map_or(Duration::ZERO, |bucket| bucket.take(1.0, now));
        let tokens = state.tokens.as_mut().map_or(Duration::ZERO, |bucket| bucket.take(tokens as f64, now));
        paused.max(requests).max(tokens)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A bucket that fills at a steady rate and may be overdrawn: who overdraws it waits until it is level again, so a
/// request larger than the whole bucket waits longer but not forever.
#[derive(Debug)]
struct Bucket {
    capacity: f64,
    per_second: f64,
    level: f64,
    at: Instant,
}

/// A full bucket holds what flows in during this many seconds: a burst of a whole minute would be refused by
/// providers that count in shorter windows.
const BURST_S: f64 = 10.0;

impl Bucket {
    fn new(per_minute: u32, now: Instant) -> Self {
        let per_second = f64::from(per_minute) / 60.0;
        let capacity = (per_second * BURST_S).max(1.0);
        Self { capacity, per_second, level: capacity, at: now }
    }

    fn take(&mut self, amount: f64, now: Instant) -> Duration {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.level = (self.level + elapsed * self.per_second).min(self.capacity) - amount;
        Duration::try_from_secs_f64(-self.level / self.per_second).unwrap_or(Duration::ZERO)
    }

    fn give_back(&mut self, amount: f64) {
        self.level = (self.level + amount).min(self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits in milliseconds of requests of `tokens` tokens made `at` milliseconds after the start.
    fn check_waits(rpm: Option<u32>, tpm: Option<u32>, requests: &[(u64, u64)]) -> Vec<u128> {
        let start = Instant::now();
        let limits = Limits::new(rpm, tpm, start);
        let wait = |&(at, tokens): &(u64, u64)| {
            limits.reserve(tokens, start + Duration::from_millis(at)).as_millis()
        };
        requests.iter().map(wait).collect()
    }

    #[test]
    fn requests_over_the_limit_wait_their_turn() {
        assert_eq!(
            check_waits(Some(6), None, &[(0, 0), (0, 0), (0, 0), (25_000, 0)]),
            [0, 10_000, 20_000, 5_000]
        );
    }

    #[test]
    fn a_request_larger_than_the_bucket_waits_but_passes() {
        assert_eq!(check_waits(None, Some(600), &[(0, 300), (0, 1)]), [20_000, 20_100]);
    }

    #[test]
    fn no_limit_means_no_wait() {
        assert_eq!(check_waits(None, Some(0), &[(0, 1_000_000), (0, 1_000_000)]), [0, 0]);
    }

    #[test]
    fn settling_gives_back_what_was_not_used() {
        let start = Instant::now();
        let limits = Limits::new(None, Some(600), start);
        assert_eq!(limits.reserve(100, start), Duration::ZERO);
        limits.settle(100, 40);
        assert_eq!(limits.reserve(60, start), Duration::ZERO);
        assert_eq!(limits.reserve(10, start), Duration::from_secs(1));
    }

    #[test]
    fn a_pause_holds_back_everybody() {
        let limits = Limits::new(None, None, Instant::now());
        limits.pause(Duration::from_secs(9));
        assert!(limits.reserve(0, Instant::now()) > Duration::from_secs(8));
    }
}
