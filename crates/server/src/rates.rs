//! Request rates: a token bucket for each key, user and address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A caller whose requests are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RateKey {
    /// An authenticated key or user.
    Caller(String),
    /// An address without valid credentials.
    Address(IpAddr),
    /// All callers that came when too many others were tracked.
    Others,
}

/// Maximum tracked callers.
const MAX_REMEMBERED: usize = 10_000;
/// Minimum interval between removals of full buckets.
const FORGET_EVERY: Duration = Duration::from_secs(1);
/// Bucket size: the requests of this fraction of a minute.
const AT_ONCE: u32 = 6;

/// The buckets of all callers.
///
/// Each is stored as the time at which it will be full again.
///
/// Source: ITU-T I.371, the generic cell rate algorithm in its form of virtual scheduling.
#[derive(Debug)]
pub(crate) struct Rates {
    /// Requests per minute of a key or user, and of an address without valid credentials; `None` for no limit.
    callers: Option<NonZeroU32>,
    strangers: Option<NonZeroU32>,
    buckets: Mutex<Buckets>,
}

#[derive(Debug, Default)]
struct Buckets {
    full_at: HashMap<RateKey, Instant>,
    /// When full buckets were last removed.
    forgot: Option<Instant>,
}

impl Rates {
    /// Creates empty buckets.
    pub(crate) fn new(callers: Option<NonZeroU32>, strangers: Option<NonZeroU32>) -> Self {
        Self { callers, strangers, buckets: Mutex::default() }
    }

    /// Counts a request; the error is the time until the next one is accepted. Rejected requests are not counted.
    pub(crate) fn count(&self, counted: RateKey, now: Instant) -> Result<(), Duration> {
        let limit = match &counted {
            RateKey::Caller(_) => self.callers,
            RateKey::Address(_) | RateKey::Others => self.strangers,
        };
        let Some(limit) = limit else { return Ok(()) };
        let each = Duration::from_secs(60) / limit.get();
        let at_once = each * (limit.get() / AT_ONCE).max(1);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = buckets.place_of(counted, now);
        let full_at = buckets.full_at.entry(counted).or_insert(now);
        let then = (*full_at).max(now) + each;
        let wait = then.saturating_duration_since(now).saturating_sub(at_once);
        if !wait.is_zero() {
            return Err(wait);
        }
        *full_at = then;
        Ok(())
    }
}

impl Buckets {
    /// The caller's bucket if there is room for one, otherwise the shared bucket.
    fn place_of(&mut self, counted: RateKey, now: Instant) -> RateKey {
        let is_full = |buckets: &Self| buckets.full_at.len() >= MAX_REMEMBERED;
        if !is_full(self) || self.full_at.contains_key(&counted) {
            return counted;
        }
        // Limits the cost under a flood of addresses.
        if self.forgot.is_none_or(|forgot| now.saturating_duration_since(forgot) >= FORGET_EVERY) {
            self.full_at.retain(|_, full_at| *full_at > now);
            self.forgot = Some(now);
        }
        if is_full(self) { RateKey::Others } else { counted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(a_minute: u32) -> Rates {
        let limit = NonZeroU32::new(a_minute);
        Rates::new(limit, limit)
    }

    fn caller(name: &str) -> RateKey {
        RateKey::Caller(name.to_owned())
    }

    fn address(number: u32) -> RateKey {
        RateKey::Address(IpAddr::V4(number.into()))
    }

    #[test]
    fn a_caller_may_send_some_at_once_and_then_as_many_as_its_rate_says() {
        let (rates, start) = (rates(60), Instant::now());
        for _ in 0..10 {
            assert_eq!(rates.count(caller("ada"), start), Ok(()));
        }
        assert_eq!(rates.count(caller("ada"), start), Err(Duration::from_secs(1)));
        assert_eq!(rates.count(caller("bob"), start), Ok(()), "others are counted apart");
        let second = Duration::from_secs(1);
        assert_eq!(
            rates.count(caller("ada"), start + second / 2),
            Err(second / 2),
            "a refusal is not counted"
        );
        assert_eq!(rates.count(caller("ada"), start + second), Ok(()));
        assert_eq!(rates.count(caller("ada"), start + second), Err(second));
        let taken = (0..100).filter(|_| rates.count(caller("ada"), start + second * 3600).is_ok()).count();
        assert_eq!(taken, 10, "nothing is saved up beyond that");
    }

    #[test]
    fn without_a_limit_everything_is_taken_and_nobody_remembered() {
        let rates = Rates::new(None, NonZeroU32::new(6));
        let now = Instant::now();
        assert!((0..1000).all(|_| rates.count(caller("ada"), now).is_ok()));
        assert_eq!(rates.count(address(1), now), Ok(()), "one at least, however low the limit");
        assert_eq!(rates.count(address(1), now), Err(Duration::from_secs(10)));
        assert_eq!(rates.buckets.lock().expect("a lock").full_at.len(), 1);
    }

    #[test]
    fn a_flood_of_addresses_takes_no_more_memory_and_leaves_the_known_ones_alone() {
        let (rates, start) = (rates(60), Instant::now());
        let many = u32::try_from(MAX_REMEMBERED).expect("a small number");
        assert!((0..many).all(|number| rates.count(address(number), start).is_ok()));
        let newcomers =
            (many..many + 100).filter(|number| rates.count(address(*number), start).is_ok()).count();
        assert_eq!(newcomers, 10, "newcomers share one bucket");
        assert_eq!(rates.count(address(1), start), Ok(()));
        let remembered = || rates.buckets.lock().expect("a lock").full_at.len();
        assert_eq!(remembered(), MAX_REMEMBERED + 1);
        let later = start + Duration::from_secs(60);
        assert_eq!(rates.count(address(many), later), Ok(()));
        assert_eq!(remembered(), 1);
    }
}
