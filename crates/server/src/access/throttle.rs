//! Slows down password guessing. An address that fails several times must wait. Attempts at a name that many
//! addresses try are delayed, but the name is never locked.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Attempts of one address at one name within the window [LightRAG].
const MAX_ATTEMPTS: usize = 5;
/// Attempts of one address at all names within the window.
const MAX_ATTEMPTS_OF_ADDRESS: usize = 50;
/// Attempts of all addresses at one name within the window before further ones are delayed.
const FREE_ATTEMPTS_AT_NAME: usize = 20;
/// Delay of an attempt at a name that many addresses try.
const SLOW: Duration = Duration::from_secs(2);
/// How long an attempt counts [LightRAG].
const WINDOW: Duration = Duration::from_secs(300);
/// Maximum number each of addresses, names and pairs to keep.
const MAX_REMEMBERED: usize = 10_000;

/// Login attempts within the window.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    attempts: Mutex<Attempts>,
}

#[derive(Debug, Default)]
struct Attempts {
    of_address: Counts<IpAddr>,
    of_address_at_name: Counts<(IpAddr, String)>,
    at_name: Counts<String>,
}

impl Throttle {
    /// Counts an attempt before the password is checked, so that concurrent attempts count too. Returns the delay
    /// for this attempt, or as an error the time until the address may try again.
    pub(crate) fn begin(&self, from: IpAddr, name: &str, now: Instant) -> Result<Duration, Duration> {
        let mut attempts = self.lock();
        let Attempts { of_address, of_address_at_name, at_name } = &mut *attempts;
        let pair = (from, name.to_owned());
        for (times, most) in [
            (of_address_at_name.within(&pair, now), MAX_ATTEMPTS),
            (of_address.within(&from, now), MAX_ATTEMPTS_OF_ADDRESS),
        ] {
            if let Some(oldest) = times.front().filter(|_| times.len() >= most) {
                return Err(WINDOW.saturating_sub(now.duration_since(*oldest)));
            }
        }
        let is_guessed_at = at_name.within(&pair.1, now).len() >= FREE_ATTEMPTS_AT_NAME;
        of_address_at_name.add(pair, MAX_ATTEMPTS, now);
        of_address.add(from, MAX_ATTEMPTS_OF_ADDRESS, now);
        at_name.add(name.to_owned(), FREE_ATTEMPTS_AT_NAME, now);
        Ok(if is_guessed_at { SLOW } else { Duration::ZERO })
    }

    /// Clears the attempts of an address at a name after a successful login.
    pub(crate) fn succeed(&self, from: IpAddr, name: &str) {
        let mut attempts = self.lock();
        attempts.of_address_at_name.forget(&(from, name.to_owned()));
        attempts.of_address.take_back(&from);
        attempts.at_name.take_back(&name.to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Recent attempts per key.
///
/// If there are too many keys, the least recent one is dropped: a flood of addresses must not lock others out, and
/// each address has its own limits.
#[derive(Debug)]
struct Counts<Key> {
    times: HashMap<Key, VecDeque<Instant>>,
    /// Keys in the order of their attempts, with repetitions.
    order: VecDeque<(Instant, Key)>,
}

impl<Key> Default for Counts<Key> {
    fn default() -> Self {
        Self { times: HashMap::new(), order: VecDeque::new() }
    }
}

impl<Key: Clone + Eq + Hash> Counts<Key> {
    /// The attempts of a key that still count.
    fn within(&mut self, key: &Key, now: Instant) -> &VecDeque<Instant> {
        static NONE: VecDeque<Instant> = VecDeque::new();
        let Some(times) = self.times.get_mut(key) else { return &NONE };
        times.retain(|at| now.duration_since(*at) < WINDOW);
        times
    }

    /// Adds an attempt; keeps only the latest `most` of each key.
    fn add(&mut self, key: Key, most: usize, now: Instant) {
        let times = self.times.entry(key.clone()).or_default();
        if times.len() >= most {
            times.pop_front();
        }
        times.push_back(now);
        self.order.push_back((now, key));
        let is_over = |order: &VecDeque<(Instant, Key)>| {
            order.front().is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW)
        };
        while self.times.len() > MAX_REMEMBERED
            || self.order.len() > 4 * MAX_REMEMBERED
            || is_over(&self.order)
        {
            let Some((at, key)) = self.order.pop_front() else { break };
            // A key that tried again later has a later entry too.
            if self.times.get(&key).and_then(VecDeque::back).is_none_or(|last| *last <= at) {
                self.times.remove(&key);
            }
        }
    }

    fn take_back(&mut self, key: &Key) {
        if let Some(times) = self.times.get_mut(key) {
            times.pop_back();
        }
    }

    fn forget(&mut self, key: &Key) {
        self.times.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn after_five_wrong_attempts_of_an_address_a_name_rests_for_it_and_for_no_other() {
        let throttle = Throttle::default();
        let (here, there) = (address(1), address(2));
        let start = Instant::now();
        for _ in 0..5 {
            assert_eq!(throttle.begin(here, "ada", start), Ok(Duration::ZERO));
        }
        let later = start + Duration::from_secs(100);
        assert_eq!(throttle.begin(here, "ada", later), Err(Duration::from_secs(200)));
        assert_eq!(throttle.begin(here, "bob", later), Ok(Duration::ZERO));
        assert_eq!(throttle.begin(there, "ada", later), Ok(Duration::ZERO));
        assert_eq!(throttle.begin(here, "ada", start + WINDOW), Ok(Duration::ZERO));
    }

    #[test]
    fn a_right_password_wipes_the_slate_and_a_flood_of_names_is_stopped() {
        let throttle = Throttle::default();
        let (here, now) = (address(1), Instant::now());
        for _ in 0..200 {
            assert_eq!(throttle.begin(here, "ada", now), Ok(Duration::ZERO));
            throttle.succeed(here, "ada");
        }
        let refused = (0..100).filter(|name| throttle.begin(here, &name.to_string(), now).is_err()).count();
        assert_eq!(refused, 50);
    }

    #[test]
    fn a_name_that_many_addresses_guess_at_is_slow_for_all_and_locked_for_none() {
        let throttle = Throttle::default();
        let now = Instant::now();
        let taken: Vec<_> = (0..1000).map(|from| throttle.begin(address(from), "ada", now)).collect();
        assert!(taken[..FREE_ATTEMPTS_AT_NAME].iter().all(|taken| *taken == Ok(Duration::ZERO)));
        assert!(taken[FREE_ATTEMPTS_AT_NAME..].iter().all(|taken| *taken == Ok(SLOW)));
        assert_eq!(throttle.begin(address(5000), "bob", now), Ok(Duration::ZERO));
        assert_eq!(throttle.begin(address(5000), "ada", now + WINDOW), Ok(Duration::ZERO));
    }

    #[test]
    fn a_flood_of_addresses_takes_no_more_memory_and_locks_nobody_out() {
        let throttle = Throttle::default();
        let now = Instant::now();
        let most = u32::try_from(MAX_REMEMBERED).expect("a small number");
        for from in 0..5 * most {
            assert!(throttle.begin(address(from), "ada", now).is_ok());
        }
        assert_eq!(throttle.lock().of_address.times.len(), MAX_REMEMBERED);
        assert!(throttle.lock().of_address.order.len() <= 4 * MAX_REMEMBERED);
        assert!(throttle.lock().at_name.order.len() <= 4 * MAX_REMEMBERED);
        assert!(throttle.begin(address(7), "bob", now).is_ok());
    }
}
