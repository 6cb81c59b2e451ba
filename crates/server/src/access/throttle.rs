//! Slows down password guessing. An address that fails several times must wait. Attempts at a name that many
//! addresses try are delayed, but the name is never locked.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::counts::SharedCounts;

/// Attempts of one address at one name within the window [LightRAG].
const MAX_ATTEMPTS: usize = 5;
/// Attempts of one address at all names within the window.
const MAX_ATTEMPTS_OF_ADDRESS: usize = 50;
/// Attempts of all addresses at one name within the window before further ones are delayed.
const FREE_ATTEMPTS_AT_NAME: usize = 20;
/// Delay of an attempt at a name that many addresses try.
const SLOW: Duration = Duration::from_secs(2);
/// How long an attempt counts [LightRAG], in milliseconds.
const WINDOW_MS: u64 = 300_000;
/// Maximum attempts to keep, more than a server has time to check passwords for.
const MAX_REMEMBERED: usize = 5_000;
/// The counts that servers share.
const SHARED: &str = "limits.logins";

/// Login attempts within the window, at all servers of a database or else at this server.
pub(crate) struct Throttle {
    own: Mutex<Attempts>,
    /// Start of the times in `own`.
    started: Instant,
    shared: Option<Arc<SharedCounts>>,
}

/// Attempts that were not followed by a login, oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Attempts(VecDeque<Attempt>);

#[derive(Debug, Serialize, Deserialize)]
struct Attempt {
    at_ms: u64,
    from: IpAddr,
    /// A hash, because people sometimes type passwords instead of names.
    name: u64,
}

impl Throttle {
    /// - `shared`: the counts that all servers of a database share.
    pub(crate) fn new(shared: Option<Arc<SharedCounts>>) -> Self {
        Self { own: Mutex::default(), started: Instant::now(), shared }
    }

    /// Counts an attempt before the password is checked, so that concurrent attempts count too. Returns the delay
    /// for this attempt, or as an error the time until the address may try again.
    pub(crate) async fn begin(&self, from: IpAddr, name: &str) -> Result<Duration, Duration> {
        let name = hash_of(name);
        self.change(|attempts, now_ms| {
            let begun = attempts.begin(from, name, now_ms);
            (begun, begun.is_ok())
        })
        .await
    }

    /// Forgets the attempts of an address at a name after a successful login.
    pub(crate) async fn succeed(&self, from: IpAddr, name: &str) {
        let name = hash_of(name);
        self.change(|attempts, _| (attempts.succeed(from, name), true)).await;
    }

    async fn change<Output>(&self, change: impl Fn(&mut Attempts, u64) -> (Output, bool)) -> Output {
        if let Some(shared) = &self.shared {
            match shared.change(SHARED, |attempts| change(attempts, shared.now_ms())).await {
                Ok(output) => return output,
                Err(error) => {
                    tracing::warn!(%error, "login attempts at other servers are unknown; only those at this server count");
                }
            }
        }
        let now_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        change(&mut self.own.lock().unwrap_or_else(PoisonError::into_inner), now_ms).0
    }
}

impl Attempts {
    fn begin(&mut self, from: IpAddr, name: u64, now_ms: u64) -> Result<Duration, Duration> {
        self.0.retain(|attempt| attempt.at_ms.abs_diff(now_ms) < WINDOW_MS);
        let of_address = || self.0.iter().filter(|attempt| attempt.from == from);
        let at_name = |attempt: &&Attempt| attempt.name == name;
        for (mut attempts, most) in [
            (of_address().filter(at_name).collect::<Vec<_>>(), MAX_ATTEMPTS),
            (of_address().collect(), MAX_ATTEMPTS_OF_ADDRESS),
        ] {
            if attempts.len() >= most {
                let oldest = attempts.swap_remove(attempts.len() - most);
                return Err(Duration::from_millis((oldest.at_ms + WINDOW_MS) - now_ms));
            }
        }
        let is_guessed_at = self.0.iter().filter(at_name).count() >= FREE_ATTEMPTS_AT_NAME;
        if self.0.len() >= MAX_REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(Attempt { at_ms: now_ms, from, name });
        Ok(if is_guessed_at { SLOW } else { Duration::ZERO })
    }

    fn succeed(&mut self, from: IpAddr, name: u64) {
        self.0.retain(|attempt| attempt.from != from || attempt.name != name);
    }
}

/// Returns a hash that is the same on all servers.
fn hash_of(name: &str) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::testing::MemoryTexts;

    const ADA: u64 = 1;
    const BOB: u64 = 2;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn five_wrong_attempts_from_an_address_lock_the_name_for_that_address_only() {
        let mut attempts = Attempts::default();
        let (here, there) = (address(1), address(2));
        for _ in 0..5 {
            assert_eq!(attempts.begin(here, ADA, 0), Ok(Duration::ZERO));
        }
        assert_eq!(attempts.begin(here, ADA, 100_000), Err(Duration::from_secs(200)));
        assert_eq!(attempts.begin(here, BOB, 100_000), Ok(Duration::ZERO));
        assert_eq!(attempts.begin(there, ADA, 100_000), Ok(Duration::ZERO));
        assert_eq!(attempts.begin(here, ADA, WINDOW_MS), Ok(Duration::ZERO));
    }

    #[test]
    fn a_right_password_resets_the_count_and_a_flood_of_names_is_stopped() {
        let mut attempts = Attempts::default();
        let here = address(1);
        for _ in 0..200 {
            assert_eq!(attempts.begin(here, ADA, 0), Ok(Duration::ZERO));
            attempts.succeed(here, ADA);
        }
        let refused = (0..100).filter(|name| attempts.begin(here, *name, 0).is_err()).count();
        assert_eq!(refused, 50);
    }

    #[test]
    fn guesses_from_many_addresses_slow_a_name_down_without_locking_it() {
        let mut attempts = Attempts::default();
        let taken: Vec<_> = (0..1000).map(|from| attempts.begin(address(from), ADA, 0)).collect();
        assert!(taken[..FREE_ATTEMPTS_AT_NAME].iter().all(|taken| *taken == Ok(Duration::ZERO)));
        assert!(taken[FREE_ATTEMPTS_AT_NAME..].iter().all(|taken| *taken == Ok(SLOW)));
        assert_eq!(attempts.begin(address(5000), BOB, 0), Ok(Duration::ZERO));
        assert_eq!(attempts.begin(address(5000), ADA, WINDOW_MS), Ok(Duration::ZERO));
    }

    #[test]
    fn damaged_shared_attempts_or_a_wrong_clock_lock_nobody_out() {
        let here = address(1);
        let attempt = |at_ms| Attempt { at_ms, from: here, name: ADA };
        let mut attempts = Attempts([u64::MAX; 9].map(attempt).into());
        assert_eq!(attempts.begin(here, ADA, 1_000_000), Ok(Duration::ZERO));
        assert_eq!(attempts.0.len(), 1);
    }

    #[test]
    fn a_flood_of_addresses_uses_bounded_memory_and_locks_nobody_out() {
        let mut attempts = Attempts::default();
        let most = u32::try_from(MAX_REMEMBERED).expect("a small number");
        for from in 0..2 * most {
            assert!(attempts.begin(address(from), ADA, 0).is_ok());
        }
        assert_eq!(attempts.0.len(), MAX_REMEMBERED);
        assert!(attempts.begin(address(7), BOB, 0).is_ok());
    }

    #[tokio::test]
    async fn attempts_count_across_all_servers_and_no_name_is_stored() {
        let texts = Arc::new(MemoryTexts::default());
        let [one, other] = [(); 2].map(|()| Throttle::new(Some(Arc::new(SharedCounts::new(texts.clone())))));
        let here = address(1);
        for server in [&one, &other, &one, &other, &one] {
            assert_eq!(server.begin(here, "ada").await, Ok(Duration::ZERO));
        }
        assert!(other.begin(here, "ada").await.is_err());
        let stored = texts.0.lock().expect("a lock")[SHARED].1.clone();
        assert!(stored.contains("0.0.0.1") && !stored.contains("ada"), "{stored}");
        one.succeed(here, "ada").await;
        assert_eq!(other.begin(here, "ada").await, Ok(Duration::ZERO));
    }
}
