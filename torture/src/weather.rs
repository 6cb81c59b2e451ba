//! Records which kinds of faults were active when, since they determine what an operation may suffer.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spell {
    /// The disk is full.
    Full,
    /// System calls fail.
    Disk,
    /// Reads fail.
    Reads,
    /// Processes are stopped.
    Stopped,
    /// Locks are delayed.
    Delayed,
    /// A process was killed.
    Kill,
    /// Model calls fail.
    Model,
    /// The queue is paused.
    Paused,
}

/// Start and end of each kind of fault.
#[derive(Debug, Default)]
pub(crate) struct Weather {
    spells: Mutex<Vec<(Spell, Instant, Option<Instant>)>>,
}

impl Weather {
    /// A fault starts.
    pub(crate) fn begin(&self, spell: Spell) {
        self.with(|spells| spells.push((spell, Instant::now(), None)));
    }

    /// A fault happens at this moment.
    pub(crate) fn now(&self, spell: Spell) {
        let now = Instant::now();
        self.with(|spells| spells.push((spell, now, Some(now))));
    }

    /// All faults of this kind end.
    pub(crate) fn end(&self, spell: Spell) {
        let now = Instant::now();
        self.with(|spells| {
            for (_, _, end) in spells.iter_mut().filter(|(kind, _, _)| *kind == spell) {
                end.get_or_insert(now);
            }
        });
    }

    /// Whether it was active after `from`, or ended less than `after` before that.
    pub(crate) fn was(&self, spell: Spell, from: Instant, after: Duration) -> bool {
        self.with(|spells| {
            spells.iter().any(|(kind, _, end)| *kind == spell && end.is_none_or(|end| end + after >= from))
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<(Spell, Instant, Option<Instant>)>) -> T) -> T {
        work(&mut self.spells.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
