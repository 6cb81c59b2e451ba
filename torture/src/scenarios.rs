//! Named histories, each about one past fault or one guarantee.

use crate::generate::{SLOWEST_WRITE_MS, Steps};
use crate::history::{
    By, Call, DiskFault, Edit, Errno, History, ModelFault, Read, Settings, Via, Victim, What,
};
use crate::random::Random;
use crate::text::Shape;

/// A scenario.
pub(crate) struct Scenario {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it shows, in a few words.
    pub(crate) about: &'static str,
    /// Approximate duration in seconds; a short run skips long ones.
    pub(crate) seconds: u64,
    make: fn(&mut Random, &mut Steps) -> Settings,
}

/// All scenarios.
pub(crate) const SCENARIOS: [Scenario; 16] = [
    Scenario {
        name: "staged-race",
        about: "a staged version is merged between the snapshot and the commit of the next one",
        seconds: 10,
        make: staged_race,
    },
    Scenario {
        name: "many-workers",
        about: "three workers share 400 waiting passages, with a model",
        seconds: 40,
        make: many_workers,
    },
    Scenario {
        name: "server-and-worker",
        about: "a server and a worker share 400 waiting passages, with a model",
        seconds: 40,
        make: server_and_worker,
    },
    Scenario {
        name: "worker-resumes",
        about: "one worker continues with 400 passages after another was killed, with a model",
        seconds: 40,
        make: worker_resumes,
    },
    Scenario {
        name: "crowded-readers",
        about: "writes while 32 connections read without pause: 30 ask, one reads an export slowly, one a dump",
        seconds: 75,
        make: crowded_readers,
    },
    Scenario {
        name: "new-workspace",
        about: "several processes open a new workspace at once",
        seconds: 10,
        make: new_workspace,
    },
    Scenario {
        name: "stopped-holder",
        about: "the process that holds the write lock is stopped for 33 seconds",
        seconds: 50,
        make: stopped_holder,
    },
    Scenario {
        name: "two-servers",
        about: "adds and removals through two servers on one folder",
        seconds: 25,
        make: two_servers,
    },
    Scenario {
        name: "full-disk",
        about: "questions, searches and removals while the disk is full",
        seconds: 10,
        make: full_disk,
    },
    Scenario {
        name: "slow-reader",
        about: "writes while a dump is read slowly",
        seconds: 55,
        make: slow_reader,
    },
    Scenario {
        name: "slow-export",
        about: "writes, edits and removals through a server whose export is read at 1 KB a second",
        seconds: 40,
        make: slow_export,
    },
    Scenario {
        name: "failing-reads",
        about: "reads of the disk fail under a server and commands",
        seconds: 15,
        make: failing_reads,
    },
    Scenario {
        name: "paused-queue",
        about: "the queue is paused, cancelled and resumed while a server and a worker run, with a model",
        seconds: 25,
        make: paused_queue,
    },
    Scenario {
        name: "read-again",
        about: "documents are read again by another model, with kills, cancellations and new versions between",
        seconds: 25,
        make: read_again,
    },
    Scenario {
        name: "one-server",
        about: "random adds, replacements and removals through one server",
        seconds: 20,
        make: one_server,
    },
    Scenario {
        name: "kill-at-writes",
        about: "a server and commands are killed at one write after the other",
        seconds: 25,
        make: kill_at_writes,
    },
];

impl Scenario {
    /// Finds a scenario by name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    /// Its history with a seed.
    pub(crate) fn history(&self, seed: u64) -> History {
        let mut steps = Steps::default();
        let settings = (self.make)(&mut Random::new(seed), &mut steps);
        History { name: self.name.to_owned(), seed, settings, steps: steps.0 }
    }
}

/// Maximum 99th percentile of writes through a server while many read.
const P99_WRITE_MS: u64 = 1000;

fn offline() -> Settings {
    Settings {
        model_ms: None,
        remote_vectors: false,
        shape: shape(1, 0),
        removes_alone: false,
        anchor: true,
        slowest_write_ms: SLOWEST_WRITE_MS,
        p99_write_ms: SLOWEST_WRITE_MS,
    }
}

fn with_model(ms: u64) -> Settings {
    Settings { model_ms: Some(ms), ..offline() }
}

fn shape(passages: u32, things: u32) -> Shape {
    Shape { passages, things }
}

/// Merging calls the same service as extraction, and passages name many things, so merging takes longer than
/// extraction.
fn rich(random: &mut Random) -> Settings {
    let ms = random.pick(&[20, 40, 60]);
    Settings { shape: shape(1, 6), remote_vectors: true, ..with_model(ms) }
}

fn write(source: u32, via: Via, wait: bool) -> What {
    What::Write { sources: vec![source], via, wait }
}

fn staged_race(random: &mut Random, steps: &mut Steps) -> Settings {
    let first = random.below(3) as u32;
    for round in 0..4 {
        let source = round + 1;
        steps.add(1, 0, write(source, Via::Cli, true));
        steps.add(1, 0, write(source, Via::Cli, false));
        // The next command of this lane waits before its commit, while the staged version is merged.
        let step = steps.next() + 2;
        steps.add(1, 0, What::Disk(DiskFault::DelayLock { step, skip: (first + round) % 4, ms: 1500 }));
        steps.add(1, 0, What::Meet(round));
        steps.add(1, 0, write(source, Via::Cli, false));
        steps.add(2, 0, What::Meet(round));
        steps.add(2, random.within(100, 600), What::Work);
    }
    offline()
}

/// 400 queued documents with one passage each.
fn four_hundred(steps: &mut Steps) {
    steps.add(1, 0, What::Write { sources: (1..=400).collect(), via: Via::Cli, wait: false });
}

fn many_workers(random: &mut Random, steps: &mut Steps) -> Settings {
    four_hundred(steps);
    steps.add(1, 0, What::Work);
    steps.add(1, random.below(400), What::Work);
    steps.add(1, random.below(400), What::Work);
    rich(random)
}

fn server_and_worker(random: &mut Random, steps: &mut Steps) -> Settings {
    four_hundred(steps);
    steps.add(1, 0, What::Serve { slot: 0 });
    steps.add(1, random.below(300), What::Work);
    steps.add(1, random.within(200, 1500), write(401, Via::Server(0), false));
    steps.add(1, random.within(200, 1500), What::Work);
    rich(random)
}

fn worker_resumes(random: &mut Random, steps: &mut Steps) -> Settings {
    four_hundred(steps);
    steps.add(1, 0, What::Work);
    steps.add(1, random.within(300, 2500), What::Kill(Victim::Worker(0)));
    steps.add(1, 0, What::Work);
    steps.add(1, random.below(500), What::Work);
    rich(random)
}

fn crowded_readers(random: &mut Random, steps: &mut Steps) -> Settings {
    steps.add(1, 0, What::Write { sources: (1..=300).collect(), via: Via::Cli, wait: true });
    steps.add(1, 0, What::Serve { slot: 0 });
    steps.add(1, 0, What::Meet(0));
    steps.add(2, 0, What::Meet(0));
    steps.add(2, 0, What::Crowd { slot: 0, readers: 30, ms: 48_000 });
    for (lane, read) in [(3, Read::SlowExport(45_000)), (4, Read::SlowDump(45_000))] {
        steps.add(lane, 0, What::Meet(0));
        steps.add(lane, 0, What::Read { read, via: Via::Server(0) });
    }
    for number in 0..120 {
        // Some pauses are longer than the one after which the write-ahead log is emptied.
        steps.add(1, random.pick(&[50, 100, 200, 600]), write(301 + number % 20, Via::Server(0), false));
    }
    Settings { shape: shape(4, 0), p99_write_ms: P99_WRITE_MS, ..offline() }
}

fn new_workspace(random: &mut Random, steps: &mut Steps) -> Settings {
    for workspace in 0..12 {
        steps.add(1, 0, What::Open { workspace, processes: random.within(2, 5) as u32 });
    }
    Settings { anchor: false, ..offline() }
}

fn stopped_holder(random: &mut Random, steps: &mut Steps) -> Settings {
    steps.add(1, 0, write(1, Via::Cli, true));
    steps.add(1, 0, What::Meet(0));
    steps.add(2, 0, What::Meet(0));
    steps.add(2, 0, What::Disk(DiskFault::StopAtWrite { skip: random.below(6) as u32, ms: 33_000 }));
    steps.add(1, 200, write(1, Via::Cli, true));
    steps.add(3, 0, What::Meet(0));
    steps.add(3, 900, write(3, Via::Cli, false));
    steps.add(3, 0, What::Remove { source: 3, via: Via::Cli });
    steps.add(4, 0, What::Meet(0));
    steps.add(4, 1200, write(4, Via::Cli, true));
    steps.add(4, 0, What::Read { read: Read::Search, via: Via::Cli });
    offline()
}

fn two_servers(random: &mut Random, steps: &mut Steps) -> Settings {
    steps.add(1, 0, What::Serve { slot: 0 });
    steps.add(1, 0, What::Serve { slot: 1 });
    for lane in 1..=4 {
        steps.add(lane, 0, What::Meet(0));
    }
    for lane in 1..=4 {
        for _ in 0..40 {
            let source = lane + 4 * random.below(4) as u32;
            let via = Via::Server(random.below(2) as u32);
            let what =
                if random.chance(55) { write(source, via, false) } else { What::Remove { source, via } };
            steps.add(lane, 0, what);
        }
    }
    offline()
}

fn full_disk(random: &mut Random, steps: &mut Steps) -> Settings {
    for source in 1..=3 {
        steps.add(1, 0, write(source, Via::Cli, true));
    }
    let is_served = random.chance(50);
    if is_served {
        steps.add(1, 0, What::Serve { slot: 0 });
    }
    for round in 0..3 {
        let via = if random.chance(50) { Via::Cli } else { Via::Server(0) };
        if random.chance(50) {
            steps.add(1, 0, write(1, Via::Cli, true));
        }
        steps.add(1, 0, What::Disk(DiskFault::Full { bytes: random.pick(&[0, 0, 5000, 200_000]) }));
        for read in [Read::Ask, Read::Search, Read::Dump, Read::Export] {
            steps.add(1, 0, What::Read { read, via: if random.chance(50) { Via::Cli } else { via } });
        }
        steps.add(1, 0, What::Remove { source: 2 + round % 2, via });
        steps.add(1, 0, write(4, via, false));
        steps.add(1, 0, What::Read { read: Read::Search, via });
        steps.add(1, 0, What::Heal);
        steps.add(1, 0, write(2, via, true));
    }
    Settings { removes_alone: !is_served, ..offline() }
}

fn slow_reader(random: &mut Random, steps: &mut Steps) -> Settings {
    steps.add(1, 0, What::Write { sources: (1..=300).collect(), via: Via::Cli, wait: true });
    steps.add(1, 0, What::Meet(0));
    steps.add(2, 0, What::Meet(0));
    steps.add(2, 0, What::Read { read: Read::SlowDump(36_000), via: Via::Cli });
    let server = random.chance(50);
    if server {
        steps.add(1, 0, What::Serve { slot: 0 });
    }
    for number in 0..24 {
        let via = if server && random.chance(50) { Via::Server(0) } else { Via::Cli };
        steps.add(1, random.within(300, 900), write(301 + number % 8, via, false));
    }
    Settings { shape: shape(2, 0), ..offline() }
}

fn slow_export(random: &mut Random, steps: &mut Steps) -> Settings {
    steps.add(1, 0, What::Write { sources: (1..=200).collect(), via: Via::Cli, wait: true });
    steps.add(1, 0, What::Serve { slot: 0 });
    for lane in 1..=4 {
        steps.add(lane, 0, What::Meet(0));
    }
    for lane in [3, 4] {
        let read = Read::SlowExport(random.within(10_000, 20_000));
        steps.add(lane, random.below(2000), What::Read { read, via: Via::Server(0) });
    }
    for lane in [1, 2] {
        for _ in 0..30 {
            let source = 2 * random.within(1, 40) as u32 + lane;
            let (via, after) = (Via::Server(0), random.within(50, 700));
            let what = match random.below(10) {
                0..5 => write(source, via, false),
                5..7 => What::Remove { source, via },
                7 => What::Edit { edit: Edit::Undo, via },
                8 => What::Edit { edit: Edit::Relate { pair: random.below(11) as u32 }, via },
                _ => What::Edit { edit: Edit::Describe { name: random.below(12) as u32 }, via },
            };
            steps.add(lane, after, what);
        }
    }
    Settings { shape: shape(30, 0), ..offline() }
}

fn failing_reads(random: &mut Random, steps: &mut Steps) -> Settings {
    for source in 1..=3 {
        steps.add(1, 0, write(source, Via::Cli, true));
    }
    steps.add(1, 0, What::Serve { slot: 0 });
    for round in 0..5 {
        let error = Errno::Io;
        let (skip, count) = (random.below(80) as u32, random.pick(&[1, 2, 10, 1000]));
        steps.add(1, 0, What::Disk(DiskFault::Error { call: Call::Read, error, skip, count }));
        for _ in 0..4 {
            let via = if random.chance(50) { Via::Cli } else { Via::Server(0) };
            let source = 1 + random.below(3) as u32;
            let what = match random.below(8) {
                0..2 => write(source, via, random.chance(50)),
                2 => What::Remove { source, via },
                3 => What::Edit { edit: Edit::Describe { name: random.below(12) as u32 }, via },
                4 => What::Work,
                _ => {
                    let read = random.pick(&[Read::Ask, Read::Search, Read::Dump, Read::Export]);
                    What::Read { read, via }
                }
            };
            steps.add(1, 0, what);
        }
        steps.add(1, 0, What::Heal);
        steps.add(1, 0, What::Serve { slot: 0 });
        steps.add(1, 0, write(1 + round % 3, Via::Server(0), false));
    }
    offline()
}

fn paused_queue(random: &mut Random, steps: &mut Steps) -> Settings {
    steps.add(1, 0, What::Write { sources: (1..=60).collect(), via: Via::Cli, wait: false });
    steps.add(1, 0, What::Serve { slot: 0 });
    steps.add(1, 0, What::Work);
    steps.add(1, random.within(200, 1500), What::Pause);
    for source in [61, 62] {
        let via = if random.chance(50) { Via::Cli } else { Via::Server(0) };
        steps.add(1, random.below(300), write(source, via, random.chance(50)));
    }
    let source = Some(random.within(1, 60) as u32);
    steps.add(1, 0, What::Cancel { source, via: Via::Cli });
    steps.add(1, 0, What::Work);
    steps.add(1, 5500, What::Resume);
    steps.add(1, 0, What::Work);
    steps.add(1, random.within(100, 800), What::Cancel { source: None, via: Via::Server(0) });
    steps.add(1, 0, write(63, Via::Server(0), false));
    steps.add(1, random.within(100, 800), What::Pause);
    steps.add(1, 0, What::Remove { source: 63, via: Via::Server(0) });
    steps.add(1, random.below(300), What::Resume);
    Settings { shape: shape(2, 2), ..with_model(random.pick(&[40, 80])) }
}

fn read_again(random: &mut Random, steps: &mut Steps) -> Settings {
    steps.add(1, 0, What::Write { sources: (1..=12).collect(), via: Via::Cli, wait: true });
    if random.chance(50) {
        steps.add(1, 0, What::Serve { slot: 0 });
    }
    for lane in 1..=3 {
        steps.add(lane, 0, What::Meet(0));
    }
    for _ in 0..4 {
        let sources = (1..=12).filter(|_| random.chance(60)).chain([1]).collect();
        let by = random.pick(&[By::Other, By::Other, By::First]);
        steps.add(1, random.below(300), What::Renew { sources, by });
        let source = 1 + random.below(12) as u32;
        let what = match random.below(4) {
            0 => What::Cancel { source: Some(source), via: Via::Cli },
            1 => What::Remove { source, via: Via::Cli },
            2 => What::Model { fault: random.pick(&[ModelFault::Cut, ModelFault::Broken]), calls: 3 },
            _ => What::Edit { edit: Edit::Merge { from: source, into: source + 1 }, via: Via::Cli },
        };
        steps.add(2, random.within(100, 1200), what);
        steps.add(2, random.within(100, 600), write(source, Via::Cli, random.chance(50)));
        steps.add(3, random.within(300, 1500), What::Kill(Victim::Command(random.below(3) as u32)));
    }
    Settings { shape: shape(3, 2), remote_vectors: random.chance(50), ..with_model(random.pick(&[10, 40])) }
}

fn one_server(random: &mut Random, steps: &mut Steps) -> Settings {
    steps.add(1, 0, What::Serve { slot: 0 });
    for lane in 1..=4 {
        steps.add(lane, 0, What::Meet(0));
    }
    for lane in 1..=4 {
        for _ in 0..60 {
            let source = lane + 4 * random.below(6) as u32;
            let via = Via::Server(0);
            let what =
                if random.chance(70) { write(source, via, false) } else { What::Remove { source, via } };
            steps.add(lane, 0, what);
        }
    }
    offline()
}

fn kill_at_writes(random: &mut Random, steps: &mut Steps) -> Settings {
    steps.add(1, 0, What::Serve { slot: 0 });
    for round in 0..12 {
        steps.add(1, 0, What::Disk(DiskFault::KillAtWrite { skip: random.below(50) as u32 }));
        let via = if random.chance(50) { Via::Cli } else { Via::Server(0) };
        steps.add(1, 0, write(1 + round % 3, via, random.chance(50)));
        steps.add(1, 0, What::Remove { source: 1 + (round + 1) % 3, via });
        steps.add(1, 0, What::Heal);
        steps.add(1, 0, What::Serve { slot: 0 });
    }
    match random.chance(50) {
        true => with_model(5),
        false => offline(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_its_own_name_and_meets_in_all_its_lanes() {
        for scenario in &SCENARIOS {
            let history = scenario.history(1);
            assert!(!history.steps.is_empty());
            assert_eq!(Scenario::find(scenario.name).map(|it| it.name), Some(scenario.name));
            let meetings = history.steps.iter().filter_map(|step| match step.what {
                What::Meet(point) => Some(point),
                _ => None,
            });
            for point in meetings {
                assert!(history.meeting(point) > 1, "{}: nobody else comes to {point}", scenario.name);
            }
        }
    }
}
