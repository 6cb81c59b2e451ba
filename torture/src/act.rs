//! Executes the steps of a history, with one thread per lane.

mod crowd;
mod edit;
pub(crate) mod export;
mod fault;
mod queue;
mod read;
mod request;
mod write;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::history::{History, Step, Via, What};
use crate::judge::{self, Operation};
use crate::model::WriteEnd;
use crate::report::Kind;
use crate::weather::Spell;
use crate::world::{Process, ProcessEnd, Role, World};

/// The state shared by all lanes.
struct Lanes {
    meetings: BTreeMap<u32, Barrier>,
    workers: Mutex<Vec<Arc<Process>>>,
    /// Whether crowds of readers must stop.
    quiet: AtomicBool,
}

/// One lane.
struct Lane<'a> {
    lanes: &'a Lanes,
    world: &'a World,
    /// The source and version that this lane last removed or replaced.
    gone: Option<(u32, u32)>,
    /// The latest version this lane wrote, per source.
    last: BTreeMap<u32, u32>,
}

/// Executes all steps, then waits for the started `work` processes and judges them.
pub(crate) fn all(world: &World, history: &History) {
    let meetings = history.steps.iter().filter_map(|step| match step.what {
        What::Meet(point) => Some((point, Barrier::new(history.meeting(point)))),
        _ => None,
    });
    let lanes =
        Lanes { meetings: meetings.collect(), workers: Mutex::default(), quiet: AtomicBool::new(false) };
    thread::scope(|scope| {
        for lane in history.lanes() {
            let steps: Vec<&Step> = history.steps.iter().filter(|step| step.lane == lane).collect();
            let lanes = &lanes;
            scope.spawn(move || {
                let mut lane = Lane { lanes, world, gone: None, last: BTreeMap::new() };
                for step in steps {
                    lane.step(step);
                }
            });
        }
    });
    // Armed faults may still hit running processes until the end of the history.
    for process in lanes.workers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let ran = world.wait(process);
        judge_and_note(world, Operation::Work, &ran);
    }
}

/// Judges the end of a command and records findings.
pub(crate) fn judge_and_note(world: &World, operation: Operation, ran: &ProcessEnd) -> WriteEnd {
    if world.is_over() && ran.killed {
        return WriteEnd::Unknown;
    }
    match judge::command(operation, ran, &world.weather) {
        Ok(ended) => ended,
        Err((kind, what)) => {
            world.find(kind, Some(ran.step), what);
            WriteEnd::Unknown
        }
    }
}

impl Lane<'_> {
    fn step(&mut self, step: &Step) {
        if let What::Meet(point) = step.what {
            // Every lane arrives, even after the end of the history, so no lane waits forever.
            self.lanes.quiet.store(true, Ordering::Relaxed);
            if let Some(barrier) = self.lanes.meetings.get(&point) {
                barrier.wait();
            }
            self.lanes.quiet.store(false, Ordering::Relaxed);
            return;
        }
        if self.world.is_over() {
            return;
        }
        thread::sleep(Duration::from_millis(step.after_ms));
        if let Err(error) = self.act(step) {
            self.world.find(Kind::Suite, Some(step.id), format!("{:?}: {error}", step.what));
        }
    }

    fn act(&mut self, step: &Step) -> io::Result<()> {
        let world = self.world;
        match &step.what {
            What::Write { sources, via, wait } => self.write(step.id, sources, *via, *wait)?,
            What::Remove { source, via } => self.remove(step.id, *source, *via)?,
            What::Edit { edit, via } => self.edit(step.id, *edit, *via)?,
            What::Read { read, via } => self.read(step.id, *read, *via)?,
            What::Cancel { source, via } => self.cancel(step.id, *source, *via)?,
            What::Renew { sources, by } => self.renew(step.id, sources, *by)?,
            What::Pause => self.pause(step.id)?,
            What::Resume => self.resume(step.id)?,
            What::Work => {
                let process = world.start(Role::Worker, step.id, &["--json", "work"])?;
                self.lanes.workers.lock().unwrap_or_else(PoisonError::into_inner).push(process);
            }
            What::Serve { slot } => {
                if world.server(*slot).is_none()
                    && let Some(ran) = world.serve(*slot, step.id)?
                {
                    judge_and_note(world, Operation::Serve, &ran);
                }
            }
            What::Kill(victim) => self.kill(*victim),
            What::Stop { victim, ms } => self.stop(*victim, Duration::from_millis(*ms)),
            What::Model { fault, calls } => {
                if world.settings.model_ms.is_some() {
                    world.weather.begin(Spell::Model);
                    world.setup.provider.fail(*fault, *calls);
                }
            }
            What::Disk(fault) => self.disk(step.id, *fault)?,
            What::Heal => world.heal(),
            What::Clock { offset_s } => {
                if let Some(control) = &world.control {
                    control.clock(*offset_s)?;
                    *world.tally().faults.entry("clock jumps".to_owned()).or_default() += 1;
                }
            }
            What::Open { workspace, processes } => self.open(step.id, *workspace, *processes)?,
            What::Crowd { slot, readers, ms } => self.crowd(*slot, *readers, Duration::from_millis(*ms)),
            What::Meet(_) => {}
        }
        Ok(())
    }

    /// The slot of the server for an operation; `None` if it uses a process of its own.
    fn slot(&self, via: Via) -> Option<u32> {
        match via {
            Via::Server(slot) => self.world.server(slot).map(|_| slot),
            Via::Cli => None,
        }
    }

    /// Records an acknowledged write and its duration, unless a fault delayed it.
    fn noted(&self, ended: WriteEnd, from: Instant) {
        if ended != WriteEnd::Done {
            return;
        }
        let world = self.world;
        let took = from.elapsed().as_millis() as u64;
        let held_up = [Spell::Stopped, Spell::Delayed, Spell::Disk, Spell::Full]
            .into_iter()
            .any(|spell| world.weather.was(spell, from, Duration::from_millis(500)));
        let mut tally = world.tally();
        tally.acknowledged += 1;
        if held_up {
            return;
        }
        tally.write_ms.push(took);
        drop(tally);
        if took > world.settings.slowest_write_ms {
            let limit = world.settings.slowest_write_ms;
            world.find(Kind::Slow, None, format!("a write took {took} ms, more than {limit}"));
        }
    }
}
