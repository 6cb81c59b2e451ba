//! A circuit breaker: pauses calls to a service that is down, and probes it with single calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use graphloom_core::ModelError;
use tokio::sync::Notify;

use super::time::Pacer;

/// Consecutive failed attempts of any calls after which a service counts as down.
const FAILURES_TO_PAUSE: u32 = 8;

/// The first pause. Each failed probe doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Maximum pause between two probes, unless the provider asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Failed probes after which a call gives up, because the call itself may cause the failure.
const MAX_PROBES: u32 = 5;

/// A notice about a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceNotice {
    /// Calls wait.
    Paused {
        /// The service's host, with the port if the URL has one.
        service: String,
        /// The last error.
        reason: String,
        /// Time until the next probe.
        retry_in: Duration,
    },
    /// The service is available again, and calls continue.
    Resumed {
        /// The service's host, with the port if the URL has one.
        service: String,
    },
}

/// Receives notices. It is called between attempts, so it must not block.
pub type ServiceListener = Arc<dyn Fn(ServiceNotice) + Send + Sync>;

/// The state of one service.
pub(super) struct Breaker {
    state: Mutex<State>,
    changed: Notify,
    time: Arc<dyn Pacer>,
    listener: Option<ServiceListener>,
    /// Maximum time that a call waits for the service; zero means that it does not wait.
    max_pause: Duration,
}

#[derive(Debug, Default)]
struct State {
    failures_in_a_row: u32,
    /// Attempts that got a response, including rejections.
    answers: u64,
    /// Whether the service was ever reached. If not, its address is probably wrong.
    reached: bool,
    pause: Option<Pause>,
}

#[derive(Debug, Clone)]
struct Pause {
    length: Duration,
    until: Duration,
    probing: bool,
    error: ModelError,
}

/// The breaker state of one call. If the call is the probe, dropping this lets another call become the probe.
#[derive(Debug)]
pub(super) struct Patience {
    breaker: Arc<Breaker>,
    service: String,
    /// Number of responses of the service when the call started.
    answers_before: u64,
    waiting_since: Option<Duration>,
    probes: u32,
    probing: bool,
}

/// What a failed attempt means for its call.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The service is not known to be down. The call continues normally.
    Continue(ModelError),
    /// The service is down and its calls wait. [`Patience::pass`] returns when this call may continue.
    Paused,
    /// The service is down, and this call has waited for the maximum time.
    GiveUp(ModelError),
}

impl Breaker {
    pub(super) fn new(max_pause: Duration, time: Arc<dyn Pacer>, listener: Option<ServiceListener>) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), time, listener, max_pause }
    }

    /// Returns the state for a new call to `service`.
    pub(super) fn patience(self: &Arc<Self>, service: String) -> Patience {
        let answers_before = self.state().answers;
        let breaker = Arc::clone(self);
        Patience { breaker, service, answers_before, waiting_since: None, probes: 0, probing: false }
    }

    fn tell(&self, notice: ServiceNotice) {
        if let Some(listener) = &self.listener {
            listener(notice);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Patience {
    /// Waits while the service is paused. The first call after a pause becomes the probe, and only the probe may continue.
    ///
    /// Returns the service's last error if the call has waited for the maximum time.
    pub(super) async fn pass(&mut self) -> Result<(), ModelError> {
        let breaker = Arc::clone(&self.breaker);
        loop {
            let changed = breaker.changed.notified();
            tokio::pin!(changed);
            // Registered before reading the state, so that no change in between is missed.
            changed.as_mut().enable();
            let wait = {
                let mut state = breaker.state();
                let Some(pause) = &mut state.pause else { return Ok(()) };
                let now = breaker.time.now();
                let waited = now.saturating_sub(*self.waiting_since.get_or_insert(now));
                let left = breaker.max_pause.saturating_sub(waited);
                if left.is_zero() {
                    return Err(after_waiting(pause.error.clone(), waited));
                }
                if !pause.probing && pause.until <= now {
                    pause.probing = true;
                    self.probing = true;
                    return Ok(());
                }
                if pause.probing { left } else { left.min(pause.until.saturating_sub(now)) }
            };
            tokio::select! {
                () = breaker.time.sleep(wait) => {}
                () = changed => {}
            }
        }
    }

    /// True if a pause started after [`Patience::pass`], for example while the call waited for a rate limit.
    pub(super) fn must_wait(&self) -> bool {
        !self.probing && self.breaker.state().pause.is_some()
    }

    /// True if the service was ever reached.
    pub(super) fn was_reached(&self) -> bool {
        self.breaker.state().reached
    }

    /// Records an attempt that got a response, even if it was a rejection.
    pub(super) fn answered(&mut self) {
        self.probing = false;
        let resumed = {
            let mut state = self.breaker.state();
            state.failures_in_a_row = 0;
            state.answers += 1;
            state.reached = true;
            state.pause.take().is_some()
        };
        if resumed {
            self.breaker.changed.notify_waiters();
            tracing::info!(service = self.service, "the service is available again");
            self.breaker.tell(ServiceNotice::Resumed { service: self.service.clone() });
        }
    }

    /// Records an attempt that failed because the service was unavailable.
    ///
    /// - `last`: whether the call has used up its retries. If no other call got a response in the meantime,
    ///   the service is at fault and not the call.
    /// - `named`: the wait that the provider asked for.
    pub(super) fn failed(&mut self, error: ModelError, last: bool, named: Option<Duration>) -> Verdict {
        let breaker = Arc::clone(&self.breaker);
        let probed = std::mem::take(&mut self.probing);
        let now = breaker.time.now();
        let (verdict, paused_for) = {
            let mut state = breaker.state();
            state.failures_in_a_row = state.failures_in_a_row.saturating_add(1);
            state.reached = true;
            if breaker.max_pause.is_zero() {
                return Verdict::Continue(error);
            }
            let nobody_is_answered = state.answers == self.answers_before;
            let is_down = state.failures_in_a_row >= FAILURES_TO_PAUSE || (last && nobody_is_answered);
            let length = match &state.pause {
                Some(pause) if probed => Some((pause.length * 2).min(LONGEST_PAUSE)),
                // The attempt was already in flight when the pause started.
                Some(_) => None,
                None if is_down => Some(FIRST_PAUSE),
                None => return Verdict::Continue(error),
            };
            if let Some(length) = length {
                let until = now.saturating_add(length.max(named.unwrap_or_default()));
                state.pause = Some(Pause { length, until, probing: false, error: error.clone() });
            }
            let until = state.pause.as_ref().map_or(now, |pause| pause.until);
            self.probes += u32::from(probed);
            let waited = now.saturating_sub(*self.waiting_since.get_or_insert(now));
            let too_long = waited + until.saturating_sub(now) > breaker.max_pause;
            let verdict = if too_long || self.probes >= MAX_PROBES {
                Verdict::GiveUp(after_waiting(error.clone(), waited))
            } else {
                Verdict::Paused
            };
            (verdict, length.map(|_| until.saturating_sub(now)))
        };
        if let Some(retry_in) = paused_for {
            breaker.changed.notify_waiters();
            let service = self.service.clone();
            tracing::warn!(service, %error, retry_in_s = retry_in.as_secs(), "service down; calls wait");
            breaker.tell(ServiceNotice::Paused { service, reason: error.to_string(), retry_in });
        }
        verdict
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        if self.probing {
            if let Some(pause) = &mut self.breaker.state().pause {
                pause.probing = false;
            }
            self.breaker.changed.notify_waiters();
        }
    }
}

/// Adds to the error how long the call waited.
fn after_waiting(mut error: ModelError, waited: Duration) -> ModelError {
    if waited.is_zero() {
        return error;
    }
    match &mut error {
        ModelError::Server { what, .. }
        | ModelError::RateLimited { what, .. }
        | ModelError::Unreachable { what, .. } => {
            what.push_str(&format!(" (calls waited {} s for it)", waited.as_secs()));
        }
        ModelError::Timeout { .. }
        | ModelError::Unauthorized { .. }
        | ModelError::Forbidden { .. }
        | ModelError::Refused { .. }
        | ModelError::ShapeRefused { .. }
        | ModelError::Malformed { .. }
        | ModelError::OverBudget { .. }
        | ModelError::NoSuchModel { .. }
        | ModelError::QuotaUsedUp { .. }
        | ModelError::WrongAddress { .. }
        | ModelError::Stopped { .. }
        | ModelError::Local { .. } => {}
    }
    error
}

impl std::fmt::Debug for Breaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Breaker").field("state", &self.state).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use futures::FutureExt;

    use super::*;

    /// A manual clock. Sleepers are woken only by others.
    #[derive(Debug, Default)]
    struct ManualClock(Mutex<Duration>);

    #[async_trait]
    impl Pacer for ManualClock {
        fn now(&self) -> Duration {
            *self.0.lock().unwrap()
        }

        async fn sleep(&self, _: Duration) {
            std::future::pending().await
        }
    }

    struct Service {
        clock: Arc<ManualClock>,
        breaker: Arc<Breaker>,
        heard: Arc<Mutex<Vec<String>>>,
    }

    impl Service {
        fn new(max_pause_s: u64) -> Self {
            let (clock, heard) = (Arc::new(ManualClock::default()), Arc::new(Mutex::new(Vec::new())));
            let told = heard.clone();
            let listener: ServiceListener = Arc::new(move |notice| {
                told.lock().unwrap().push(match notice {
                    ServiceNotice::Paused { retry_in, .. } => format!("paused {}", retry_in.as_secs()),
                    ServiceNotice::Resumed { .. } => "resumed".to_owned(),
                });
            });
            let max_pause = Duration::from_secs(max_pause_s);
            Self { breaker: Arc::new(Breaker::new(max_pause, clock.clone(), Some(listener))), clock, heard }
        }

        fn call(&self) -> Patience {
            self.breaker.patience("host".to_owned())
        }

        fn after(&self, seconds: u64) {
            *self.clock.0.lock().unwrap() += Duration::from_secs(seconds);
        }

        fn heard(&self) -> Vec<String> {
            std::mem::take(&mut *self.heard.lock().unwrap())
        }
    }

    fn passes(call: &mut Patience) -> bool {
        matches!(call.pass().now_or_never(), Some(Ok(())))
    }

    fn down() -> ModelError {
        ModelError::Server { model: "m".to_owned(), status: 503, what: "overloaded".to_owned() }
    }

    fn check_failed(call: &mut Patience, last: bool) -> String {
        match call.failed(down(), last, None) {
            Verdict::Continue(_) => "goes on".to_owned(),
            Verdict::Paused => "paused".to_owned(),
            Verdict::GiveUp(error) => error.to_string(),
        }
    }

    #[test]
    fn failures_in_a_row_pause_all_calls_and_one_probe_resumes_them() {
        let service = Service::new(900);
        let (mut one, mut other, mut third) = (service.call(), service.call(), service.call());
        for _ in 0..FAILURES_TO_PAUSE - 1 {
            assert_eq!(check_failed(&mut one, false), "goes on");
        }
        assert_eq!(check_failed(&mut other, false), "paused");
        assert!(!passes(&mut one) && !passes(&mut other));
        service.after(5);
        assert!(passes(&mut one));
        assert!(!passes(&mut other) && !passes(&mut third), "one probe at a time");
        assert!(!one.must_wait() && third.must_wait());
        one.answered();
        assert!(!third.must_wait());
        assert!(passes(&mut other) && passes(&mut third));
        assert_eq!(service.heard(), ["paused 5", "resumed"]);
    }

    #[test]
    fn an_answer_in_between_resets_the_count() {
        let service = Service::new(900);
        let (mut one, mut other) = (service.call(), service.call());
        for _ in 0..3 {
            for _ in 0..FAILURES_TO_PAUSE - 1 {
                assert_eq!(check_failed(&mut one, false), "goes on");
            }
            other.answered();
        }
        // This call failed repeatedly while other calls got responses, so the call is at fault.
        assert_eq!(check_failed(&mut one, true), "goes on");
        assert!(service.heard().is_empty());
    }

    #[test]
    fn a_call_out_of_attempts_waits_too_if_no_call_succeeds() {
        let service = Service::new(900);
        let mut one = service.call();
        assert_eq!(check_failed(&mut one, false), "goes on");
        assert_eq!(check_failed(&mut one, true), "paused");
    }

    #[test]
    fn failed_probes_double_the_pause_up_to_a_limit() {
        let service = Service::new(900);
        let mut one = service.call();
        assert_eq!(check_failed(&mut one, true), "paused");
        for wait in [5, 10, 20, 40] {
            service.after(wait - 1);
            assert!(!passes(&mut one));
            service.after(1);
            assert!(passes(&mut one));
            assert_eq!(check_failed(&mut one, true), "paused");
        }
        service.after(60);
        assert!(passes(&mut one));
        let gave_up = "model m failed (status 503): overloaded (calls waited 135 s for it)";
        assert_eq!(check_failed(&mut one, true), gave_up);
        assert_eq!(
            service.heard(),
            ["paused 5", "paused 10", "paused 20", "paused 40", "paused 60", "paused 60"]
        );
    }

    #[test]
    fn no_call_waits_longer_than_the_limit() {
        let service = Service::new(30);
        let (mut one, mut other) = (service.call(), service.call());
        assert_eq!(check_failed(&mut one, true), "paused");
        assert!(!passes(&mut other));
        service.after(5);
        assert!(passes(&mut one));
        service.after(26);
        let error = other.pass().now_or_never().expect("no wait").expect_err("30 s are over");
        assert_eq!(error.to_string(), "model m failed (status 503): overloaded (calls waited 31 s for it)");
    }

    #[test]
    fn a_pause_requested_by_the_provider_is_honored_unless_it_is_too_long() {
        let service = Service::new(900);
        let mut one = service.call();
        assert!(matches!(one.failed(down(), true, Some(Duration::from_secs(300))), Verdict::Paused));
        assert_eq!(service.heard(), ["paused 300"]);
        let service = Service::new(900);
        let mut one = service.call();
        assert!(matches!(one.failed(down(), true, Some(Duration::from_secs(3600))), Verdict::GiveUp(_)));
    }

    #[test]
    fn a_dropped_probe_frees_its_place() {
        let service = Service::new(900);
        let (mut one, mut other) = (service.call(), service.call());
        assert_eq!(check_failed(&mut one, true), "paused");
        service.after(5);
        assert!(passes(&mut one) && !passes(&mut other));
        drop(one);
        assert!(passes(&mut other));
    }

    #[test]
    fn without_a_pause_calls_fail_as_usual() {
        let service = Service::new(0);
        let mut one = service.call();
        for _ in 0..20 {
            assert_eq!(check_failed(&mut one, true), "goes on");
        }
        assert!(passes(&mut one) && service.heard().is_empty());
    }
}
