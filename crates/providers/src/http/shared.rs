//! Limits and pauses of a service that several processes share, in a text that all of them can change.
//!
//! The text stores until when the service is paused, and what was sent to it in each of the last 61 seconds.
//! A process adds its request before sending it, and starts over if another process changed the text first.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use graphloom_core::{Clock, ModelError, SharedTexts, StoreError, Usage, try_change_json};
use serde::{Deserialize, Serialize};

use super::breaker::{ServiceListener, ServiceNotice};
use super::limits::{Cost, OUTPUT_SHARE, Output, USUAL_OUTPUT_TOKENS};
use super::retry::LONGEST_WAIT;
use super::time::Pacer;

/// Seconds for which a request counts, including the second in which it was sent: a request sent in second 0
/// counts until the end of second 60.
const SECONDS: u64 = 61;
/// Maximum attempts to change the text when other processes change it first.
const MAX_TRIES: u32 = 100;
/// The longest wait before the text is read again, because a pause may have become longer.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// Texts that processes share, and their common clock.
pub type TextsAndClock = (Arc<dyn SharedTexts>, Arc<dyn Clock>);

/// Opens the texts that processes share; `None` if there are none. Called before the first request.
pub type OpenShared = Arc<dyn Fn() -> Option<TextsAndClock> + Send + Sync>;

/// Limits of one service that its processes share.
pub(super) struct SharedLimits {
    name: String,
    open: OpenShared,
    opened: OnceLock<Option<TextsAndClock>>,
    requests: Option<u64>,
    tokens: Option<u64>,
    /// The longest pause that a call waits for.
    max_wait: Duration,
    /// By how much answers cost more or less than expected. Added with the next request.
    correction: Mutex<i64>,
    listener: Option<ServiceListener>,
    /// Whether the listener was notified of a pause.
    notified: AtomicBool,
    time: Arc<dyn Pacer>,
}

/// The content of the text.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
struct Shared {
    /// Milliseconds since 1970.
    paused_until: u64,
    /// Number of requests and tokens by second.
    sent: BTreeMap<u64, [u64; 2]>,
}

/// How long to wait before a request can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The service asked for a pause.
    Paused(Duration),
    /// The limit per minute is reached.
    Full(Duration),
}

impl Shared {
    /// Adds a request, or returns how long to wait.
    fn try_admit(&mut self, limits: [Option<u64>; 2], cost: [u64; 2], now_ms: u64) -> Result<(), Wait> {
        let second = now_ms / 1000;
        self.sent.retain(|at, _| at + SECONDS > second);
        let paused_for = Duration::from_millis(self.paused_until.saturating_sub(now_ms));
        // A longer pause is left by a clock that was wrong.
        if !paused_for.is_zero() && paused_for <= LONGEST_WAIT {
            return Err(Wait::Paused(paused_for));
        }
        for (at, limit) in limits.into_iter().enumerate() {
            let Some(limit) = limit else { continue };
            let wanted = cost[at].min(limit);
            let mut used: u64 = self.sent.values().map(|sent| sent[at]).sum();
            let mut seconds = self.sent.iter();
            let mut fits_at = None;
            while used + wanted > limit {
                let Some((second, sent)) = seconds.next() else { break };
                used -= sent[at];
                fits_at = Some((second + SECONDS) * 1000);
            }
            if let Some(fits_at) = fits_at {
                return Err(Wait::Full(Duration::from_millis(fits_at.saturating_sub(now_ms).max(1))));
            }
        }
        let sent = self.sent.entry(second).or_default();
        for at in 0..2 {
            sent[at] = sent[at].saturating_add(cost[at]);
        }
        Ok(())
    }

    /// Pauses the service for `wait_ms`; `false` if it already is for as long.
    fn pause(&mut self, wait_ms: u64, now_ms: u64) -> bool {
        let until = now_ms.saturating_add(wait_ms);
        let known = until..=now_ms.saturating_add(LONGEST_WAIT.as_millis() as u64);
        let is_longer = !known.contains(&self.paused_until);
        if is_longer {
            self.paused_until = until;
        }
        is_longer
    }

    /// Adds what earlier answers cost beyond the estimate, or subtracts what they cost less, newest first.
    fn correct(&mut self, mut tokens: i64, now_ms: u64) {
        if tokens > 0 {
            self.sent.entry(now_ms / 1000).or_default()[1] += tokens.unsigned_abs();
            return;
        }
        for sent in self.sent.values_mut().rev() {
            let less = sent[1].min(tokens.unsigned_abs());
            sent[1] -= less;
            tokens += less as i64;
        }
    }
}

impl SharedLimits {
    /// Creates the limits.
    ///
    /// - `name`: the name of the text, the same in all processes that share the limits.
    /// - `limits`: requests and tokens per minute.
    pub(super) fn new(
        name: String,
        open: OpenShared,
        [requests, tokens]: [Option<u32>; 2],
        max_wait: Duration,
        listener: Option<ServiceListener>,
        time: Arc<dyn Pacer>,
    ) -> Self {
        let limit = |limit: Option<u32>| limit.filter(|limit| *limit > 0).map(u64::from);
        let (opened, correction, notified) = (OnceLock::new(), Mutex::default(), AtomicBool::new(false));
        let (requests, tokens) = (limit(requests), limit(tokens));
        Self { name, open, opened, requests, tokens, max_wait, correction, listener, notified, time }
    }

    /// Waits until a request may be sent, and returns the number of tokens that it counts as.
    ///
    /// Returns an error if the service is paused for longer than the maximum wait. If the text cannot be read
    /// or written, only the limits of this process apply, with a warning.
    pub(super) async fn admit(&self, model: &str, service: &str, cost: Cost) -> Result<u64, ModelError> {
        let Some((texts, clock)) = self.opened() else { return Ok(0) };
        let tokens = self.tokens.map_or(0, |limit| {
            let share = limit.div_ceil(OUTPUT_SHARE);
            cost.prompt_tokens
                + match cost.output {
                    Output::None => 0,
                    Output::AtMost(tokens) => tokens.min(share),
                    Output::Unknown => USUAL_OUTPUT_TOKENS.min(share),
                }
        });
        let limits = [self.requests, self.tokens];
        let counts = limits.iter().any(Option::is_some);
        let mut waited = Duration::ZERO;
        loop {
            let correction = std::mem::take(&mut *self.correction());
            let admitted = self.change(texts.as_ref(), |shared| {
                let now = clock.now().0;
                shared.correct(correction, now);
                let admitted = shared.try_admit(limits, [1, tokens], now);
                (admitted, counts && (admitted.is_ok() || correction != 0))
            });
            let wait = match admitted.await {
                Ok(Ok(())) => break,
                Ok(Err(wait)) => wait,
                Err(error) => {
                    *self.correction() += correction;
                    tracing::warn!(%error, "shared limits could not be read; only those of this process apply");
                    break;
                }
            };
            let for_now = match wait {
                Wait::Full(wait) => wait,
                Wait::Paused(wait) => {
                    if waited + wait > self.max_wait {
                        let what = format!(
                            "another process was asked to wait; {} s of it are left",
                            wait.as_secs() + 1
                        );
                        let retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                        return Err(ModelError::RateLimited {
                            model: model.to_owned(),
                            what,
                            retry_after_ms,
                        });
                    }
                    self.report_pause(service, wait);
                    wait
                }
            };
            let for_now = for_now.min(LONGEST_SLEEP);
            self.time.sleep(for_now).await;
            waited += for_now;
        }
        if self.notified.swap(false, Ordering::Relaxed)
            && let Some(listener) = &self.listener
        {
            listener(ServiceNotice::Resumed { service: service.to_owned() });
        }
        Ok(tokens)
    }

    /// Stops all processes from sending requests for this long.
    pub(super) async fn pause(&self, wait: Duration) {
        let Some((texts, clock)) = self.opened() else { return };
        let paused = self.change(texts.as_ref(), |shared| {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            ((), shared.pause(wait, clock.now().0))
        });
        if let Err(error) = paused.await {
            tracing::warn!(%error, "telling other processes that the service asked for a pause failed");
        }
    }

    /// Corrects the counted tokens of a request by its actual usage.
    pub(super) fn settle(&self, counted: u64, usage: Usage) {
        if self.tokens.is_some() {
            let cost = usage.prompt_tokens + usage.completion_tokens;
            let mut correction = self.correction();
            *correction = correction.saturating_add_unsigned(cost).saturating_sub_unsigned(counted);
        }
    }

    fn correction(&self) -> MutexGuard<'_, i64> {
        self.correction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> Option<&TextsAndClock> {
        self.opened.get_or_init(|| (self.open)()).as_ref()
    }

    /// [Changes](try_change_json) the text. Calls `change` again if another process changed the text first.
    async fn change<T>(
        &self,
        texts: &dyn SharedTexts,
        change: impl Fn(&mut Shared) -> (T, bool),
    ) -> Result<T, StoreError> {
        for attempt in 0..MAX_TRIES {
            if let Some(done) = try_change_json(texts, &self.name, &change).await? {
                return Ok(done);
            }
            self.time.sleep(Duration::from_millis(u64::from(attempt.min(20)))).await;
        }
        Err(StoreError::Busy { path: self.name.clone(), holder: Some("other processes".to_owned()) })
    }

    fn report_pause(&self, service: &str, wait: Duration) {
        if !self.notified.swap(true, Ordering::Relaxed)
            && let Some(listener) = &self.listener
        {
            let reason = "another process was asked to wait".to_owned();
            listener(ServiceNotice::Paused { service: service.to_owned(), reason, retry_in: wait });
        }
    }
}

impl std::fmt::Debug for SharedLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedLimits").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times in milliseconds at which requests with this many tokens are admitted, each as early as possible.
    fn check_times(limits: [Option<u64>; 2], tokens: &[u64]) -> Vec<u64> {
        let (mut shared, mut now, mut times) = (Shared::default(), 0, Vec::new());
        for tokens in tokens {
            while let Err(Wait::Full(wait) | Wait::Paused(wait)) = shared.try_admit(limits, [1, *tokens], now)
            {
                now += u64::try_from(wait.as_millis()).expect("a short wait");
            }
            times.push(now);
        }
        times
    }

    #[test]
    fn all_processes_together_send_no_more_than_the_limit_per_minute() {
        assert_eq!(check_times([Some(2), None], &[0, 0, 0, 0, 0]), [0, 0, 61_000, 61_000, 122_000]);
        assert_eq!(check_times([None, Some(100)], &[60, 40, 50, 50]), [0, 0, 61_000, 61_000]);
        assert_eq!(
            check_times([None, Some(100)], &[500, 1]),
            [0, 61_000],
            "a request over the limit gets an empty minute"
        );
        assert_eq!(check_times([None, None], &[500, 500]), [0, 0]);
    }

    #[test]
    fn a_shared_pause_holds_and_unused_tokens_are_released() {
        let mut shared = Shared { paused_until: 5_000, ..Shared::default() };
        let limits = [None, Some(100)];
        let wait = Duration::from_millis(3_500);
        assert_eq!(shared.try_admit(limits, [1, 90], 1_500), Err(Wait::Paused(wait)));
        assert_eq!(shared.try_admit(limits, [1, 90], 5_000), Ok(()));
        assert!(matches!(shared.try_admit(limits, [1, 20], 6_000), Err(Wait::Full(_))));
        shared.correct(-60, 6_000);
        assert_eq!(shared.try_admit(limits, [1, 20], 6_000), Ok(()));
        shared.correct(50, 6_000);
        assert!(matches!(shared.try_admit(limits, [1, 1], 6_000), Err(Wait::Full(_))));
        shared.correct(i64::MIN + 1, 6_000);
        assert_eq!(shared.sent.values().map(|sent| sent[1]).sum::<u64>(), 0);
    }

    #[test]
    fn a_shared_pause_of_more_than_an_hour_is_ignored_and_can_be_replaced() {
        let mut shared = Shared { paused_until: 1_796_011_231_000, ..Shared::default() };
        assert_eq!(shared.try_admit([None, None], [1, 0], 1_000), Ok(()));
        assert!(shared.pause(7_000, 1_000));
        assert!(!shared.pause(5_000, 2_000), "the longer one stays");
        let wait = Duration::from_millis(6_000);
        assert_eq!(shared.try_admit([None, None], [1, 0], 2_000), Err(Wait::Paused(wait)));
    }
}
