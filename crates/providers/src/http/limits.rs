//! Limits on requests and tokens per minute, and pauses that a provider asks for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use graphloom_core::Usage;
use tokio::sync::{Notify, Semaphore};

use super::time::Pacer;

/// How long an admission counts: a minute, plus the variation in how long requests take to reach the
/// provider, which does the counting.
const WINDOW: Duration = Duration::from_millis(60_500);

/// Expected output of a call without an output limit.
pub(super) const USUAL_OUTPUT_TOKENS: u64 = 2048;

/// At most one part in this many of a minute's tokens is reserved for the output of one call. Otherwise a low
/// rate limit and a high output limit would admit a single call per minute, although most calls use far less.
pub(super) const OUTPUT_SHARE: u64 = 4;

/// Maximum assumed ratio between the provider's count of prompt tokens and ours.
const MAX_COUNT_RATIO: f64 = 4.0;

/// Minimum prompt tokens to measure this ratio. In shorter prompts, the provider's fixed additions dominate.
const MIN_COMPARED_TOKENS: u64 = 200;

/// The expected cost of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Counted prompt tokens.
    pub(crate) prompt_tokens: u64,
    /// Expected output.
    pub(crate) output: Output,
}

/// The expected output of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// No output, for embeddings.
    #[default]
    None,
    /// At most this many tokens.
    AtMost(u64),
    /// As many as the provider allows.
    Unknown,
}

/// The limits of one client: a maximum number of requests and of tokens within any 60 seconds.
///
/// - Prompt tokens count from admission, answer tokens from the end of the answer. Until then they are reserved. Both are
///   corrected by the provider's usage. Usage beyond the reservation is charged to the window, so that later calls wait.
/// - A call larger than the whole limit is admitted if the window is empty.
/// - Calls are admitted in order.
#[derive(Debug)]
pub(super) struct Limits {
    state: Mutex<State>,
    /// One caller at a time waits for admission. The others queue behind it.
    turn: Semaphore,
    freed: Notify,
    time: Arc<dyn Pacer>,
}

#[derive(Debug)]
struct State {
    requests: Option<Window>,
    tokens: Option<Window>,
    paused_until: Duration,
    /// The largest observed ratio of the provider's prompt tokens to ours.
    count_ratio: f64,
}

impl Limits {
    pub(super) fn new(
        requests_per_minute: Option<u32>,
        tokens_per_minute: Option<u32>,
        time: Arc<dyn Pacer>,
    ) -> Self {
        let window =
            |limit: Option<u32>| limit.filter(|limit| *limit > 0).map(|limit| Window::new(u64::from(limit)));
        Self {
            state: Mutex::new(State {
                requests: window(requests_per_minute),
                tokens: window(tokens_per_minute),
                paused_until: Duration::ZERO,
                count_ratio: 1.0,
            }),
            turn: Semaphore::new(1),
            freed: Notify::new(),
            time,
        }
    }

    /// True if tokens are limited. If not, they need not be counted.
    pub(super) fn counts_tokens(&self) -> bool {
        self.state().tokens.is_some()
    }

    /// Waits until a request with this cost is admitted.
    pub(super) async fn admit(self: &Arc<Self>, cost: Cost) -> Admission {
        // The semaphore is never closed.
        let _turn = self.turn.acquire().await;
        loop {
            let wait = match self.state().try_admit(cost, self.time.now()) {
                Ok(spent) => return Admission { limits: Arc::clone(self), spent: Some(spent) },
                Err(wait) => wait,
            };
            match wait {
                Some(wait) => tokio::select! {
                    () = self.time.sleep(wait) => {}
                    () = self.freed.notified() => {}
                },
                // Running calls hold all tokens. Each call eventually ends or is dropped.
                None => self.freed.notified().await,
            }
        }
    }

    /// Delays all requests by `wait`.
    pub(super) fn pause(&self, wait: Duration) {
        let until = self.time.now().saturating_add(wait);
        let mut state = self.state();
        state.paused_until = state.paused_until.max(until);
    }

    fn settle(&self, spent: TokenHold, usage: Option<Usage>) {
        self.state().settle(spent, usage, self.time.now());
        self.freed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An admitted request. If it is dropped without [`Admission::settle`], its reservation counts as used.
#[derive(Debug)]
pub(super) struct Admission {
    limits: Arc<Limits>,
    spent: Option<TokenHold>,
}

impl Admission {
    /// Replaces the expected usage by the provider's usage.
    pub(super) fn settle(mut self, usage: Usage) {
        if let Some(spent) = self.spent.take() {
            self.limits.settle(spent, Some(usage));
        }
    }

    /// Releases the reservation of a call without an answer.
    pub(super) fn unanswered(mut self) {
        if let Some(spent) = self.spent.take() {
            let usage = Usage { prompt_tokens: spent.prompt_tokens, ..Usage::default() };
            self.limits.settle(spent, Some(usage));
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some(spent) = self.spent.take() {
            self.limits.settle(spent, None);
        }
    }
}

/// The part of the token window held by one request.
#[derive(Debug, Clone, Copy)]
struct TokenHold {
    entry: u64,
    counted_tokens: u64,
    prompt_tokens: u64,
    output_tokens: u64,
}

impl State {
    /// Admits a request now, or returns how long to wait before trying again; `None` if only the end of another call can help.
    fn try_admit(&mut self, cost: Cost, now: Duration) -> Result<TokenHold, Option<Duration>> {
        let prompt_tokens = (cost.prompt_tokens as f64 * self.count_ratio).ceil() as u64;
        let mut output_tokens = 0;
        if let Some(window) = &self.tokens {
            let share = window.limit.div_ceil(OUTPUT_SHARE);
            output_tokens = match cost.output {
                Output::None => 0,
                Output::AtMost(tokens) => tokens.min(share),
                Output::Unknown => USUAL_OUTPUT_TOKENS.min(share),
            };
        }
        let mut waits = Vec::new();
        if self.paused_until > now {
            waits.push(Some(self.paused_until - now));
        }
        waits.extend(self.requests.as_mut().and_then(|window| window.wait(1, now)));
        waits.extend(self.tokens.as_mut().and_then(|window| window.wait(prompt_tokens + output_tokens, now)));
        if !waits.is_empty() {
            // `None` sorts first, so a known wait takes precedence.
            return Err(waits.into_iter().max().flatten());
        }
        if let Some(window) = &mut self.requests {
            window.spend(1, now);
        }
        let entry = self.tokens.as_mut().map_or(0, |window| {
            window.held += output_tokens;
            window.spend(prompt_tokens, now)
        });
        Ok(TokenHold { entry, counted_tokens: cost.prompt_tokens, prompt_tokens, output_tokens })
    }

    fn settle(&mut self, spent: TokenHold, usage: Option<Usage>, now: Duration) {
        let Some(window) = &mut self.tokens else { return };
        window.held = window.held.saturating_sub(spent.output_tokens);
        let Some(usage) = usage else {
            window.spend(spent.output_tokens, now);
            return;
        };
        window.spend(usage.completion_tokens, now);
        // Keeps the estimate if the provider does not report usage.
        if usage.prompt_tokens > 0 {
            window.correct(spent.entry, usage.prompt_tokens);
            if spent.counted_tokens >= MIN_COMPARED_TOKENS {
                let ratio = usage.prompt_tokens as f64 / spent.counted_tokens as f64;
                self.count_ratio = self.count_ratio.max(ratio).min(MAX_COUNT_RATIO);
            }
        }
    }
}

/// Amounts admitted during the last [`WINDOW`].
#[derive(Debug)]
struct Window {
    limit: u64,
    /// Number, time and amount of each entry, oldest first.
    spent: VecDeque<(u64, Duration, u64)>,
    next: u64,
    /// The sum of `spent`.
    sum: u64,
    /// Amount reserved for running calls.
    held: u64,
}

impl Window {
    fn new(limit: u64) -> Self {
        Self { limit, spent: VecDeque::new(), next: 0, sum: 0, held: 0 }
    }

    /// Returns the wait until `amount` fits: `None` if it fits now, `Some(None)` if the time is unknown.
    fn wait(&mut self, amount: u64, now: Duration) -> Option<Option<Duration>> {
        while let Some(&(_, at, spent)) = self.spent.front().filter(|(_, at, _)| *at + WINDOW <= now) {
            debug_assert!(at <= now);
            self.sum -= spent;
            self.spent.pop_front();
        }
        let amount = amount.min(self.limit);
        let mut used = self.sum + self.held;
        if used + amount <= self.limit {
            return None;
        }
        let fits_after = self.spent.iter().find_map(|(_, at, spent)| {
            used -= spent;
            (used + amount <= self.limit).then(|| (*at + WINDOW).saturating_sub(now))
        });
        Some(fits_after)
    }

    fn spend(&mut self, amount: u64, now: Duration) -> u64 {
        let number = self.next;
        self.next += 1;
        self.spent.push_back((number, now, amount));
        self.sum += amount;
        number
    }

    /// Corrects the amount of an entry that still counts.
    fn correct(&mut self, number: u64, amount: u64) {
        if let Ok(at) = self.spent.binary_search_by_key(&number, |(number, _, _)| *number) {
            let entry = &mut self.spent[at];
            self.sum = self.sum - entry.2 + amount;
            entry.2 = amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn state(rpm: Option<u32>, tpm: Option<u32>) -> State {
        let window = |limit: Option<u32>| limit.map(|limit| Window::new(u64::from(limit)));
        State { requests: window(rpm), tokens: window(tpm), paused_until: Duration::ZERO, count_ratio: 1.0 }
    }

    fn cost(prompt_tokens: u64, output: Output) -> Cost {
        Cost { prompt_tokens, output }
    }

    fn usage(prompt_tokens: u64, completion_tokens: u64) -> Usage {
        Usage { prompt_tokens, completion_tokens, ..Usage::default() }
    }

    /// Returns the admission times in milliseconds of calls with `prompt` tokens, each sent as soon as it is admitted.
    fn check_times(rpm: Option<u32>, tpm: Option<u32>, prompts: &[u64]) -> Vec<u128> {
        let mut state = state(rpm, tpm);
        let mut now = Duration::ZERO;
        let mut times = Vec::new();
        for prompt in prompts {
            while let Err(wait) = state.try_admit(cost(*prompt, Output::None), now) {
                now += wait.expect("nothing is under way");
            }
            times.push(now.as_millis());
        }
        times
    }

    #[test]
    fn a_request_over_the_limit_waits_until_the_first_is_a_minute_old() {
        assert_eq!(check_times(Some(2), None, &[0, 0, 0, 0]), [0, 0, 60_500, 60_500]);
    }

    #[test]
    fn a_call_waits_until_enough_tokens_are_a_minute_old() {
        assert_eq!(check_times(None, Some(100), &[60, 40, 50, 50]), [0, 0, 60_500, 60_500]);
    }

    #[test]
    fn a_call_larger_than_the_limit_waits_for_an_empty_minute() {
        assert_eq!(check_times(None, Some(100), &[10, 900, 1]), [0, 60_500, 121_000]);
    }

    #[test]
    fn no_limit_means_no_wait() {
        assert_eq!(check_times(None, None, &[1 << 40, 1 << 40]), [0, 0]);
    }

    #[test]
    fn output_tokens_are_reserved_during_a_call_and_corrected_at_its_end() {
        let mut state = state(None, Some(100));
        let first = state.try_admit(cost(70, Output::AtMost(1_000)), Duration::ZERO).expect("fits");
        assert_eq!(first.output_tokens, 25);
        let wait = state.try_admit(cost(20, Output::None), Duration::ZERO).expect_err("95 are taken");
        assert_eq!(wait, Some(WINDOW));
        state.settle(first, Some(usage(50, 5)), Duration::from_secs(1));
        assert!(state.try_admit(cost(45, Output::None), Duration::from_secs(1)).is_ok());
        assert!(state.try_admit(cost(1, Output::None), Duration::from_secs(1)).is_err());
    }

    #[test]
    fn usage_beyond_the_estimate_delays_later_calls() {
        let mut state = state(None, Some(1_000));
        let first = state.try_admit(cost(200, Output::None), Duration::ZERO).expect("fits");
        state.settle(first, Some(usage(400, 400)), Duration::from_secs(5));
        // From now on, one of our tokens counts as two of the provider's.
        let wait = state.try_admit(cost(101, Output::None), Duration::from_secs(5));
        assert_eq!(wait.expect_err("800 are used, 202 asked for"), Some(Duration::from_millis(55_500)));
        assert!(state.try_admit(cost(100, Output::None), Duration::from_secs(5)).is_ok());
    }

    #[test]
    fn a_short_prompt_does_not_inflate_the_estimate_of_long_ones() {
        let mut state = state(None, Some(1_000));
        let first = state.try_admit(cost(10, Output::None), Duration::ZERO).expect("fits");
        state.settle(first, Some(usage(60, 0)), Duration::ZERO);
        assert!(state.try_admit(cost(940, Output::None), Duration::ZERO).is_ok());
    }

    #[test]
    fn a_dropped_call_counts_as_if_it_had_completed() {
        let mut state = state(None, Some(100));
        let first = state.try_admit(cost(50, Output::Unknown), Duration::ZERO).expect("fits");
        state.settle(first, None, Duration::from_secs(30));
        let wait = state.try_admit(cost(80, Output::None), Duration::from_secs(60));
        assert_eq!(wait.expect_err("25 count until 90.5 s"), Some(Duration::from_millis(30_500)));
    }

    #[test]
    fn a_pause_delays_all_calls() {
        let mut state = state(None, None);
        state.paused_until = Duration::from_secs(9);
        let wait = state.try_admit(Cost::default(), Duration::from_secs(1));
        assert_eq!(wait.expect_err("paused"), Some(Duration::from_secs(8)));
    }

    /// Runs calls (gap before, prompt, output, duration) in sequence, each as soon as it is admitted. Returns
    /// the maximum number of requests and tokens within any 60 seconds.
    fn busiest_minute(rpm: u32, tpm: u32, calls: &[(u64, u64, u64, u64)]) -> (u64, u64) {
        let mut state = state(Some(rpm), Some(tpm));
        let mut now = Duration::ZERO;
        let mut under_way: BTreeMap<(Duration, usize), (TokenHold, Usage)> = BTreeMap::new();
        let mut events: Vec<(Duration, u64, u64)> = Vec::new();
        for (number, &(gap, prompt, output, duration)) in calls.iter().enumerate() {
            let mut wake = now + Duration::from_millis(gap);
            loop {
                while let Some(ended) = under_way.first_entry().filter(|ended| ended.key().0 <= wake) {
                    let ((at, _), (spent, usage)) = ended.remove_entry();
                    state.settle(spent, Some(usage), at);
                    events.push((at, 0, usage.completion_tokens));
                }
                now = wake;
                match state.try_admit(cost(prompt, Output::AtMost(output)), now) {
                    Ok(spent) => {
                        events.push((now, 1, prompt));
                        let end = now + Duration::from_millis(duration);
                        under_way.insert((end, number), (spent, usage(prompt, output)));
                        break;
                    }
                    Err(wait) => {
                        let next_end = under_way.first_key_value().map(|((end, _), _)| *end);
                        wake = [wait.map(|wait| now + wait), next_end]
                            .into_iter()
                            .flatten()
                            .min()
                            .expect("ends");
                    }
                }
            }
        }
        for ((at, _), (_, usage)) in under_way {
            events.push((at, 0, usage.completion_tokens));
        }
        let minute = Duration::from_secs(60);
        let inside =
            |start: Duration| events.iter().filter(move |(at, ..)| (start..start + minute).contains(at));
        let starts = events.iter().map(|(at, ..)| *at);
        starts.fold((0, 0), |(requests, tokens), start| {
            let sum = inside(start).fold((0, 0), |(r, t), event| (r + event.1, t + event.2));
            (requests.max(sum.0), tokens.max(sum.1))
        })
    }

    proptest! {
        #[test]
        fn no_minute_ever_exceeds_the_limits(
            rpm in 1u32..12,
            tpm in 400u32..2_000,
            calls in prop::collection::vec((0u64..20_000, 0u64..300, 0u64..100, 0u64..90_000), 1..60),
        ) {
            let (requests, tokens) = busiest_minute(rpm, tpm, &calls);
            prop_assert!(requests <= u64::from(rpm), "{} requests in a minute", requests);
            prop_assert!(tokens <= u64::from(tpm), "{} tokens in a minute", tokens);
        }
    }
}
