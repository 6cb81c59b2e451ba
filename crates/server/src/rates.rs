//! Request rates: a token bucket for each key, user and address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::StoreError;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::counts::SharedCounts;

/// A caller whose requests are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RateKey {
    /// An authenticated key or user.
    Caller(String),
    /// An address without valid credentials.
    Address(IpAddr),
    /// All callers that arrived when too many others were tracked.
    Others,
}

/// Maximum tracked callers.
const MAX_REMEMBERED: usize = 10_000;
/// Maximum callers whose buckets servers share: those with the fullest buckets.
const MAX_SHARED: usize = 1_000;
/// The longest time until a shared bucket is full again, in microseconds. Only a damaged text has larger values.
const LONGEST_DEBT_US: u64 = 600_000_000;
/// Minimum interval between removals of full buckets.
const FORGET_EVERY: Duration = Duration::from_secs(1);
/// Bucket size: the requests of this fraction of a minute.
const AT_ONCE: u32 = 6;
/// The counts that servers share.
const SHARED: &str = "limits.requests";

/// The buckets of all callers. Each is stored as the time at which it will be full again.
///
/// Servers of one database [share](Self::share) them: each decides by itself, and learns what the others accepted. Together they
/// accept what the limits allow, plus at the first moment up to a bucket per server.
///
/// Source: ITU-T I.371, the generic cell rate algorithm in its form of virtual scheduling.
#[derive(Debug)]
pub(crate) struct Rates {
    /// Requests per minute of a key or user, and of an address without valid credentials; `None` for no limit.
    callers: Option<NonZeroU32>,
    strangers: Option<NonZeroU32>,
    buckets: Mutex<Buckets>,
    /// Notifies of a request that has a limit.
    limited: Notify,
}

#[derive(Debug, Default)]
struct Buckets {
    full_at: HashMap<RateKey, Instant>,
    /// What was taken from each bucket since it was last shared; `None` if this server does not share buckets.
    unshared: Option<HashMap<RateKey, Duration>>,
    /// When full buckets were last removed.
    forgot: Option<Instant>,
}

/// The buckets that servers share, each with the time at which it will be full again, in microseconds since 1970.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SharedBuckets(Vec<(RateKey, u64)>);

impl Rates {
    /// Creates empty buckets.
    ///
    /// - `shares`: whether [`Self::share`] will be called.
    pub(crate) fn new(callers: Option<NonZeroU32>, strangers: Option<NonZeroU32>, shares: bool) -> Self {
        let buckets = Buckets { unshared: shares.then(HashMap::new), ..Buckets::default() };
        Self { callers, strangers, buckets: Mutex::new(buckets), limited: Notify::new() }
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
        let mut buckets = self.buckets();
        if buckets.unshared.is_some() {
            self.limited.notify_one();
        }
        let counted = buckets.place_of(counted, now);
        let shared = buckets.unshared.is_some().then(|| counted.clone());
        let full_at = buckets.full_at.entry(counted).or_insert(now);
        let then = (*full_at).max(now) + each;
        let wait = then.saturating_duration_since(now).saturating_sub(at_once);
        if !wait.is_zero() {
            return Err(wait);
        }
        *full_at = then;
        if let (Some(unshared), Some(key)) = (&mut buckets.unshared, shared) {
            *unshared.entry(key).or_default() += each;
        }
        Ok(())
    }

    /// Waits for a request that has a limit. Then it is time to [`share`](Self::share): if the request was accepted, other
    /// servers should know, and if not, they may have accepted more requests of the same caller.
    pub(crate) async fn limited_request(&self) {
        self.limited.notified().await;
    }

    /// Takes from the shared buckets what was taken from the buckets of this server since the last call, and learns what the
    /// other servers took. If an error occurs, the other servers do not learn of these requests.
    pub(crate) async fn share(&self, counts: &SharedCounts) -> Result<(), StoreError> {
        let taken = self.buckets().unshared.as_mut().map(std::mem::take).unwrap_or_default();
        let (stored, now_us) = counts
            .change(SHARED, |shared: &mut SharedBuckets| {
                let now_us = counts.now_ms().saturating_mul(1000);
                shared.take(&taken, now_us);
                ((shared.0.clone(), now_us), !taken.is_empty())
            })
            .await?;
        self.buckets().learn(stored, now_us, Instant::now());
        Ok(())
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedBuckets {
    fn take(&mut self, taken: &HashMap<RateKey, Duration>, now_us: u64) {
        let mut full_at: HashMap<RateKey, u64> = self.0.drain(..).collect();
        for (key, taken) in taken {
            let full_at = full_at.entry(key.clone()).or_default();
            let taken = u64::try_from(taken.as_micros()).unwrap_or(u64::MAX);
            *full_at = (*full_at).max(now_us).saturating_add(taken);
        }
        full_at.retain(|_, full_at| (1..=LONGEST_DEBT_US).contains(&full_at.saturating_sub(now_us)));
        self.0.extend(full_at);
        self.0.sort_unstable_by_key(|(_, full_at)| std::cmp::Reverse(*full_at));
        self.0.truncate(MAX_SHARED);
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
    /// Takes over the shared buckets, minus what was taken since.
    fn learn(&mut self, shared: Vec<(RateKey, u64)>, now_us: u64, now: Instant) {
        for (key, full_at) in shared {
            let unshared = self.unshared.as_ref().and_then(|unshared| unshared.get(&key)).copied();
            let in_future = Duration::from_micros(full_at.saturating_sub(now_us));
            let full_at = now + in_future + unshared.unwrap_or_default();
            let place = self.place_of(key.clone(), now);
            if place == key {
                let known = self.full_at.entry(place).or_insert(full_at);
                *known = full_at.max(*known);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::counts::testing::MemoryTexts;

    fn rates(a_minute: u32) -> Rates {
        let limit = NonZeroU32::new(a_minute);
        Rates::new(limit, limit, false)
    }

    fn caller(name: &str) -> RateKey {
        RateKey::Caller(name.to_owned())
    }

    fn address(number: u32) -> RateKey {
        RateKey::Address(IpAddr::V4(number.into()))
    }

    #[test]
    fn a_caller_can_send_a_burst_and_then_as_many_as_its_rate_allows() {
        let (rates, start) = (rates(60), Instant::now());
        for _ in 0..10 {
            assert_eq!(rates.count(caller("ada"), start), Ok(()));
        }
        assert_eq!(rates.count(caller("ada"), start), Err(Duration::from_secs(1)));
        assert_eq!(rates.count(caller("bob"), start), Ok(()), "other callers are counted separately");
        let second = Duration::from_secs(1);
        assert_eq!(
            rates.count(caller("ada"), start + second / 2),
            Err(second / 2),
            "a refusal is not counted"
        );
        assert_eq!(rates.count(caller("ada"), start + second), Ok(()));
        assert_eq!(rates.count(caller("ada"), start + second), Err(second));
        let taken = (0..100).filter(|_| rates.count(caller("ada"), start + second * 3600).is_ok()).count();
        assert_eq!(taken, 10, "no more than the burst accumulates");
    }

    #[tokio::test]
    async fn servers_share_one_rate_limit_after_each_accepted_one_burst() {
        let texts = Arc::new(MemoryTexts::default());
        let counts = [(); 2].map(|()| SharedCounts::new(texts.clone()));
        let limit = NonZeroU32::new(6);
        let [one, other] = [(); 2].map(|()| Rates::new(limit, limit, true));
        assert_eq!(one.count(caller("ada"), Instant::now()), Ok(()));
        one.limited_request().await;
        one.share(&counts[0]).await.expect("shared");
        assert_eq!(other.count(caller("ada"), Instant::now()), Ok(()), "the other does not know yet");
        other.share(&counts[1]).await.expect("shared");
        let wait = other.count(caller("ada"), Instant::now()).expect_err("two were taken");
        assert!((15..=20).contains(&wait.as_secs()), "{wait:?}: a bucket of one request fills in 10 s");
        assert_eq!(other.count(caller("bob"), Instant::now()), Ok(()));
        one.share(&counts[0]).await.expect("shared");
        let wait = one.count(caller("ada"), Instant::now()).expect_err("it knows of the second request");
        assert!((15..=20).contains(&wait.as_secs()), "{wait:?}");
        let later = Instant::now() + Duration::from_secs(21);
        assert_eq!(one.count(caller("ada"), later), Ok(()));
    }

    #[tokio::test]
    async fn a_damaged_shared_state_blocks_no_caller_and_only_the_fullest_buckets_are_shared() {
        let texts = Arc::new(MemoryTexts::default());
        let counts = SharedCounts::new(texts.clone());
        let damaged = format!("[[{{\"caller\":\"ada\"}},{}]]", u64::MAX);
        texts.0.lock().expect("a lock").insert(SHARED.to_owned(), (1, damaged));
        let rates = Rates::new(NonZeroU32::new(6), NonZeroU32::new(600), true);
        for number in 0..=u32::try_from(MAX_SHARED).expect("a small number") {
            assert_eq!(rates.count(address(number), Instant::now()), Ok(()));
        }
        rates.share(&counts).await.expect("shared");
        assert_eq!(rates.count(caller("ada"), Instant::now()), Ok(()));
        let stored = texts.0.lock().expect("a lock")[SHARED].1.clone();
        let stored: SharedBuckets = serde_json::from_str(&stored).expect("JSON");
        assert_eq!(stored.0.len(), MAX_SHARED);
    }

    #[test]
    fn without_a_limit_every_request_is_accepted_and_no_caller_is_stored() {
        let rates = Rates::new(None, NonZeroU32::new(6), false);
        let now = Instant::now();
        assert!((0..1000).all(|_| rates.count(caller("ada"), now).is_ok()));
        assert_eq!(rates.count(address(1), now), Ok(()), "one at least, however low the limit");
        assert_eq!(rates.count(address(1), now), Err(Duration::from_secs(10)));
        assert_eq!(rates.buckets.lock().expect("a lock").full_at.len(), 1);
    }

    #[test]
    fn a_flood_of_addresses_uses_bounded_memory_and_does_not_affect_known_callers() {
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
