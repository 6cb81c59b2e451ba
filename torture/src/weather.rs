//! Which kinds of faults were there when: what an operation may suffer depends on it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spell {
    /// The disk is full.
    Full,
    /// System calls fail.
    Disk,
    /// Of these, reads fail.
    Reads,
    /// Processes are stopped.
    Stopped,
    /// Locks are taken late.
    Delayed,
    /// A process was killed.
    Kill,
    /// Calls of the model fail.
    Model,
    /// The queue is paused.
    Paused,
}

/// When each kind began and ended.
#[derive(Debug, Default)]
pub(crate) struct Weather {
    spells: Mutex<Vec<(Spell, Instant, Option<Instant>)>>,
}

impl Weather {
    /// It begins.
    pub(crate) fn begin(&self, spell: Spell) {
        self.with(|spells| spells.push((spell, Instant::now(), None)));
    }

    /// It happened at this moment.
    pub(crate) fn now(&self, spell: Spell) {
        let now = Instant::now();
        self.with(|spells| spells.push((spell, now, Some(now))));
    }

    /// All of this kind end.
    pub(crate) fn end(&self, spell: Spell) {
        let now = Instant::now();
        self.with(|spells| {
            for (_, _, end) in spells.iter_mut().filter(|(kind, _, _)| *kind == spell) {
                end.get_or_insert(now);
            }
        });
    }

    /// Whether it was there after `from`, or ended less than `after` before.
    pub(crate) fn was(&self, spell: Spell, from: Instant, after: Duration) -> bool {
        self.with(|spells| {
            spells.iter().any(|(kind, _, end)| *kind == spell && end.is_none_or(|end| end + after >= from))
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<(Spell, Instant, Option<Instant>)>) -> T) -> T {
        work(&mut self.spells.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
