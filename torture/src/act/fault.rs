//! Kills, stops and disk faults.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::Lane;
use crate::history::{Call, DiskFault, Victim};
use crate::weather::Spell;
use crate::world::{Process, Role};

impl Lane<'_> {
    pub(super) fn kill(&self, victim: Victim) {
        if let Some(process) = self.victim(victim) {
            self.world.kill(&process);
        }
    }

    pub(super) fn stop(&self, victim: Victim, how_long: Duration) {
        if let Some(process) = self.victim(victim) {
            self.world.stop_for(&process, how_long);
        }
    }

    fn victim(&self, victim: Victim) -> Option<Arc<Process>> {
        let (role, number) = match victim {
            Victim::Server(slot) => return self.world.server(slot).map(|server| server.process),
            Victim::Worker(number) => (Role::Worker, number),
            Victim::Command(number) => (Role::Command, number),
        };
        let running: Vec<_> = self.world.running().into_iter().filter(|it| it.role == role).collect();
        running.get(number as usize % running.len().max(1)).cloned()
    }

    pub(super) fn disk(&self, step: u32, fault: DiskFault) -> io::Result<()> {
        let world = self.world;
        let Some(control) = &world.control else { return Ok(()) };
        if matches!(fault, DiskFault::Error { call: Call::Read, .. }) {
            world.weather.begin(Spell::Reads);
        }
        world.weather.begin(match fault {
            DiskFault::Full { .. } => Spell::Full,
            DiskFault::DelayLock { .. } | DiskFault::DelayLocks { .. } => Spell::Delayed,
            DiskFault::StopAtWrite { .. } => Spell::Stopped,
            DiskFault::Error { .. } | DiskFault::ShortWrites { .. } | DiskFault::KillAtWrite { .. } => {
                Spell::Disk
            }
        });
        control.arm(step, fault)?;
        if let DiskFault::StopAtWrite { ms, .. } = fault {
            self.wake_after(step, Duration::from_millis(ms));
        }
        Ok(())
    }

    /// Waits until a process has stopped itself, and resumes it later.
    fn wake_after(&self, step: u32, how_long: Duration) {
        let world = self.world;
        let Some(control) = &world.control else { return };
        let wait_for = |done: &dyn Fn() -> bool, limit: Duration| {
            let until = Instant::now() + limit;
            while !done() && Instant::now() < until && !world.is_over() {
                thread::sleep(Duration::from_millis(5));
            }
        };
        wait_for(&|| control.has_hit(step), Duration::from_secs(5));
        if control.has_hit(step) {
            world.stopped.fetch_add(1, Ordering::Relaxed);
            world.tally().stops += 1;
            wait_for(&|| false, how_long);
            world.stopped.fetch_sub(1, Ordering::Relaxed);
        }
        world.heal();
        for process in world.running() {
            process.signal("CONT");
        }
        world.weather.end(Spell::Stopped);
    }
}
