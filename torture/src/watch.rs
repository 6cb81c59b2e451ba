//! Detects hanging processes: something runs, nothing ends, no model is called, and no processor time is used or waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::report::Kind;
use crate::stacks;
use crate::weather::Spell;
use crate::world::{Role, World};

/// How long nothing may happen.
const QUIET: Duration = Duration::from_secs(30);
/// How long nothing may happen after model calls failed, since processes wait before a retry.
const QUIET_AFTER_MODEL_FAULTS: Duration = Duration::from_secs(90);
/// Clock ticks per second that count as work; an idle server uses fewer.
const WORKING_TICKS: u64 = 4;
/// Time per second of waiting for a processor that other programs have, which counts as work too.
const STARVED: Duration = Duration::from_millis(100);

/// The values that change while anything happens.
#[derive(Clone, Copy, PartialEq, Eq)]
struct WatchedValues {
    ended: u64,
    calls: u64,
    processes: usize,
}

/// Checks once per second until `done`; a hang is a finding and ends the history.
pub(crate) fn watch(world: &World, done: &AtomicBool) {
    let mut before: Option<(WatchedValues, u64, Duration)> = None;
    let mut last_progress = Instant::now();
    while !done.load(Ordering::Relaxed) {
        for _ in 0..20 {
            if done.load(Ordering::Relaxed) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let running = world.running();
        let (calls, in_flight) = world.setup.provider.calls();
        let seen =
            WatchedValues { ended: world.ended.load(Ordering::Relaxed), calls, processes: running.len() };
        let ticks = running.iter().filter_map(|process| stacks::ticks(process.pid)).sum();
        let starved = running.iter().map(|process| stacks::starved(process.pid)).sum();
        let works = before.is_none_or(|(past, past_ticks, past_starved)| {
            past != seen || ticks >= past_ticks + WORKING_TICKS || starved >= past_starved + STARVED
        });
        let waits = running.iter().any(|process| process.role != Role::Server);
        if works || !waits || in_flight > 0 || world.stopped.load(Ordering::Relaxed) > 0 {
            last_progress = Instant::now();
        }
        before = Some((seen, ticks, starved));
        let model = world.weather.was(Spell::Model, last_progress, QUIET_AFTER_MODEL_FAULTS);
        let limit = if model { QUIET_AFTER_MODEL_FAULTS } else { QUIET };
        if last_progress.elapsed() > limit && !world.is_over() {
            let what = format!("nothing happened for {limit:?}\n{}", stacks::of(&running));
            world.find(Kind::Standstill, None, what);
            world.over.store(true, Ordering::Relaxed);
        }
    }
}
