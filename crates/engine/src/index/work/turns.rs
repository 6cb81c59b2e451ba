//! One turn per question, so that a text in several documents is asked about once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use graphloom_core::ExtractionKey;

use super::permits::{Permit, Permits};

/// A turn per key. Like [`Permits`], a future that waits for its turn must be polled until it completes or is dropped.
#[derive(Default)]
pub(super) struct KeyTurns(Mutex<BTreeMap<ExtractionKey, Weak<Permits>>>);

/// A turn, which passes to the next on drop.
pub(super) struct KeyTurn {
    _permit: Permit,
    _permits: Arc<Permits>,
}

impl KeyTurns {
    pub(super) async fn take(&self, key: &ExtractionKey) -> KeyTurn {
        let permits = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, permits| permits.strong_count() > 0);
            let known = turns.get(key).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let permits = Arc::new(Permits::new(1));
                turns.insert(key.clone(), Arc::downgrade(&permits));
                permits
            })
        };
        KeyTurn { _permit: permits.acquire().await, _permits: permits }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use graphloom_storage::conformance::block_on;

    use super::*;

    #[test]
    fn a_key_has_one_turn_at_a_time_and_is_forgotten_after_the_last() {
        let turns = KeyTurns::default();
        let (one, other) = (ExtractionKey::new(&["one"]), ExtractionKey::new(&["other"]));
        let first = block_on(turns.take(&one));
        let mut second = Box::pin(turns.take(&one));
        assert!((&mut second).now_or_never().is_none());
        drop(block_on(turns.take(&other)));
        drop(first);
        drop((&mut second).now_or_never().expect("it is its turn"));
        drop(second);
        drop(block_on(turns.take(&other)));
        assert_eq!(turns.0.lock().expect("not poisoned").len(), 1);
    }
}
