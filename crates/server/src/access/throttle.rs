//! Slows down guessing: a few wrong passwords, and then a pause.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Attempts of one address at one name within the window [LightRAG].
const MAX_ATTEMPTS: usize = 5;
/// Attempts of one address at all names within the window.
const MAX_ATTEMPTS_OF_ADDRESS: usize = 50;
/// How long an attempt counts [LightRAG].
const WINDOW: Duration = Duration::from_secs(300);
/// Pairs of address and name that are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// An address and a name, or the address and all names.
type Attempted = (IpAddr, Option<String>);

/// Attempts to log in, by address and by address and name.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    attempts: Mutex<HashMap<Attempted, Vec<Instant>>>,
}

impl Throttle {
    /// Counts an attempt before its password is looked at, so that many at once count too; an error says how long to wait.
    pub(crate) fn begin(&self, from: IpAddr, name: &str, now: Instant) -> Result<(), Duration> {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        if attempts.len() >= MAX_REMEMBERED {
            attempts.retain(|_, of| of.last().is_some_and(|last| now.duration_since(*last) < WINDOW));
        }
        let limits = [((from, Some(name.to_owned())), MAX_ATTEMPTS), ((from, None), MAX_ATTEMPTS_OF_ADDRESS)];
        for (key, most) in &limits {
            let Some(of) = attempts.get_mut(key) else {
                // Forgetting somebody's wrong attempts to remember others would let a flood of names through.
                if attempts.len() >= MAX_REMEMBERED {
                    return Err(WINDOW);
                }
                continue;
            };
            of.retain(|at| now.duration_since(*at) < WINDOW);
            if of.len() >= *most {
                let oldest = of.first().copied().unwrap_or(now);
                return Err(WINDOW.saturating_sub(now.duration_since(oldest)));
            }
        }
        for (key, _) in limits {
            attempts.entry(key).or_default().push(now);
        }
        Ok(())
    }

    /// The password was right: what went before at this name is forgotten.
    pub(crate) fn succeed(&self, from: IpAddr, name: &str) {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.remove(&(from, Some(name.to_owned())));
        if let Some(of_address) = attempts.get_mut(&(from, None)) {
            of_address.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_five_wrong_attempts_a_name_rests_and_others_do_not() {
        let throttle = Throttle::default();
        let (here, there) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let start = Instant::now();
        for _ in 0..5 {
            assert_eq!(throttle.begin(here, "ada", start), Ok(()));
        }
        let later = start + Duration::from_secs(100);
        assert_eq!(throttle.begin(here, "ada", later), Err(Duration::from_secs(200)));
        assert_eq!(throttle.begin(here, "bob", later), Ok(()));
        assert_eq!(throttle.begin(there, "ada", later), Ok(()));
        assert_eq!(throttle.begin(here, "ada", start + WINDOW), Ok(()));
    }

    #[test]
    fn a_right_password_wipes_the_slate_and_a_flood_of_names_is_stopped() {
        let throttle = Throttle::default();
        let (here, now) = (IpAddr::from([127, 0, 0, 1]), Instant::now());
        for _ in 0..200 {
            assert_eq!(throttle.begin(here, "ada", now), Ok(()));
            throttle.succeed(here, "ada");
        }
        let refused = (0..100).filter(|name| throttle.begin(here, &name.to_string(), now).is_err()).count();
        assert_eq!(refused, 50);
    }
}
