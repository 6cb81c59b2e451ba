//! Random histories.

use crate::history::{
    By, Call, DiskFault, Edit, Errno, History, ModelFault, Read, Settings, Step, Via, Victim, What,
};
use crate::random::Random;
use crate::text::Shape;

/// Lanes that add, remove, edit and read. Each has its own sources, so the order of writes to a source is known.
const WRITERS: u32 = 3;
/// Sources of each lane.
const SOURCES: u32 = 4;
/// Steps of each writing lane.
const STEPS: (u64, u64) = (8, 24);
/// Jumps of the wall clock in seconds: minutes, years, and back to 1971. Linux does not allow times before 1970.
const JUMPS: [i64; 7] = [-90, 3600, -86_400, 40_000_000, -1_200_000_000, -1_750_000_000, 8_000_000_000];

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FaultKind {
    /// Processes are killed.
    Kills,
    /// Processes are stopped and resumed.
    Stops,
    /// The disk is full, or system calls fail.
    Disk,
    /// Locks are delayed.
    Delays,
    /// The wall clock jumps.
    Clock,
    /// The model fails.
    Model,
    /// The queue is paused.
    Pauses,
}

/// All of them.
pub(crate) const ALL_FAULTS: [FaultKind; 7] = [
    FaultKind::Kills,
    FaultKind::Stops,
    FaultKind::Disk,
    FaultKind::Delays,
    FaultKind::Clock,
    FaultKind::Model,
    FaultKind::Pauses,
];

/// The history of a seed with only these kinds of faults.
pub(crate) fn random(seed: u64, faults: &[FaultKind]) -> History {
    let mut random = Random::new(seed);
    let mut steps = Steps::default();
    let servers = random.pick(&[0, 1, 1, 2]);
    let with_model = faults.contains(&FaultKind::Model) && random.chance(50) || random.chance(25);
    for slot in 0..servers {
        steps.add(0, random.below(100), What::Serve { slot });
    }
    let via = |random: &mut Random| match servers {
        0 => Via::Cli,
        _ if random.chance(50) => Via::Cli,
        count => Via::Server(random.below(u64::from(count)) as u32),
    };
    for lane in 1..=WRITERS {
        let mut made = Vec::new();
        for _ in 0..random.within(STEPS.0, STEPS.1) {
            let source =
                |random: &mut Random| 1 + lane - 1 + WRITERS * random.below(u64::from(SOURCES)) as u32;
            let way = via(&mut random);
            let what = match random.below(100) {
                0..40 => {
                    let mut sources: Vec<u32> =
                        (0..random.pick(&[1, 1, 1, 2, 4])).map(|_| source(&mut random)).collect();
                    sources.sort_unstable();
                    sources.dedup();
                    What::Write { sources, via: way, wait: random.chance(40) }
                }
                40..52 => What::Remove { source: source(&mut random), via: way },
                52..66 => {
                    let edit = edit(&mut random, &made);
                    if edit == Edit::Create {
                        made.push(steps.next());
                    }
                    What::Edit { edit, via: way }
                }
                66..69 => What::Cancel { source: Some(source(&mut random)), via: Via::Cli },
                69 => What::Cancel { source: None, via: way },
                70..74 if with_model => {
                    let sources = vec![source(&mut random), source(&mut random)];
                    What::Renew { sources, by: random.pick(&[By::First, By::Other, By::Other]) }
                }
                74..79 => What::Work,
                79 => What::Read { read: Read::SlowExport(random.within(500, 4000)), via: way },
                _ => What::Read {
                    read: random.pick(&[Read::Ask, Read::Search, Read::Search, Read::Dump, Read::Export]),
                    via: way,
                },
            };
            steps.add(lane, random.pick(&[0, 0, 0, 10, 50, 200]), what);
        }
    }
    chaos(&mut random, &mut steps, faults, servers);
    let settings = Settings {
        model_ms: with_model.then(|| random.pick(&[0, 5, 20, 60])),
        remote_vectors: random.chance(30),
        shape: Shape { passages: random.pick(&[1, 1, 2, 6]), things: random.pick(&[0, 0, 4, 20]) },
        removes_alone: false,
        anchor: true,
        slowest_write_ms: SLOWEST_WRITE_MS,
        p99_write_ms: SLOWEST_WRITE_MS,
    };
    History { name: "random".to_owned(), seed, settings, steps: steps.0 }
}

/// Maximum duration of a write that no fault delays.
pub(crate) const SLOWEST_WRITE_MS: u64 = 10_000;

/// The lane that injects faults.
fn chaos(random: &mut Random, steps: &mut Steps, faults: &[FaultKind], servers: u32) {
    if faults.is_empty() {
        return;
    }
    for _ in 0..random.within(2, 9) {
        let after = random.within(20, 600);
        match random.pick(faults) {
            FaultKind::Kills if random.chance(40) => {
                steps.add(0, after, What::Disk(DiskFault::KillAtWrite { skip: random.below(60) as u32 }));
                steps.add(0, random.within(200, 800), What::Heal);
                again(random, steps, servers);
            }
            FaultKind::Kills => {
                let victim = victim(random, servers);
                steps.add(0, after, What::Kill(victim));
                again(random, steps, servers);
            }
            FaultKind::Stops if random.chance(40) => {
                let ms = random.within(100, 2500);
                steps.add(0, after, What::Disk(DiskFault::StopAtWrite { skip: random.below(40) as u32, ms }));
            }
            FaultKind::Stops => {
                let victim = victim(random, servers);
                steps.add(0, after, What::Stop { victim, ms: random.within(50, 3000) });
            }
            FaultKind::Disk => {
                steps.add(0, after, What::Disk(disk(random)));
                steps.add(0, random.within(100, 1500), What::Heal);
                again(random, steps, servers);
            }
            FaultKind::Delays => {
                let delay = DiskFault::DelayLocks {
                    of_1000: random.pick(&[20, 100, 300, 1000]),
                    ms: random.within(20, 400),
                };
                steps.add(0, after, What::Disk(delay));
                steps.add(0, random.within(500, 3000), What::Heal);
            }
            FaultKind::Clock => {
                steps.add(0, after, What::Clock { offset_s: random.pick(&JUMPS) });
                if random.chance(50) {
                    steps.add(0, random.within(50, 800), What::Clock { offset_s: 0 });
                }
            }
            FaultKind::Model => {
                let fault = random.pick(&[
                    ModelFault::TooMany,
                    ModelFault::Broken,
                    ModelFault::Stall,
                    ModelFault::Cut,
                    ModelFault::Garbage,
                ]);
                steps.add(0, after, What::Model { fault, calls: random.within(1, 6) as u32 });
            }
            FaultKind::Pauses => {
                steps.add(0, after, What::Pause);
                if random.chance(30) {
                    let victim = victim(random, servers);
                    steps.add(0, random.below(200), What::Kill(victim));
                    again(random, steps, servers);
                }
                steps.add(0, random.within(100, 2500), What::Resume);
            }
        }
        if random.chance(30) {
            steps.add(0, random.below(100), What::Work);
        }
    }
}

/// Restarts servers that were killed or gave up.
fn again(random: &mut Random, steps: &mut Steps, servers: u32) {
    for slot in 0..servers {
        if random.chance(80) {
            steps.add(0, random.below(300), What::Serve { slot });
        }
    }
}

fn victim(random: &mut Random, servers: u32) -> Victim {
    match random.below(3) {
        0 if servers > 0 => Victim::Server(random.below(u64::from(servers)) as u32),
        1 => Victim::Worker(random.below(4) as u32),
        _ => Victim::Command(random.below(4) as u32),
    }
}

fn disk(random: &mut Random) -> DiskFault {
    let count = random.pick(&[1, 1, 2, 5, 1000]);
    match random.below(10) {
        0..4 => DiskFault::Full { bytes: random.pick(&[0, 1000, 40_000, 300_000, 2_000_000]) },
        4 => DiskFault::ShortWrites { skip: random.below(20) as u32, count },
        _ => DiskFault::Error {
            call: random.pick(&[
                Call::Write,
                Call::Write,
                Call::Sync,
                Call::Truncate,
                Call::Open,
                Call::Read,
                Call::Read,
            ]),
            error: random.pick(&[Errno::NoSpace, Errno::Io, Errno::Io, Errno::ReadOnly]),
            skip: random.below(60) as u32,
            count,
        },
    }
}

/// A random edit; `made` are the steps of this lane that created an entity.
fn edit(random: &mut Random, made: &[u32]) -> Edit {
    let name = random.below(12) as u32;
    match random.below(20) {
        0..4 => Edit::Merge { from: name, into: random.below(12) as u32 },
        4..7 => Edit::Rename { name },
        7..9 => Edit::Describe { name },
        9..11 => Edit::Relate { pair: name },
        11 => Edit::Part { pair: name },
        12 => Edit::Delete { name },
        13..15 if !made.is_empty() => Edit::Connect { name, made: random.pick(made) },
        13..16 => Edit::Create,
        _ => Edit::Undo,
    }
}

/// Steps with consecutive numbers.
#[derive(Default)]
pub(crate) struct Steps(pub(crate) Vec<Step>);

impl Steps {
    /// Adds a step to a lane and returns its number.
    pub(crate) fn add(&mut self, lane: u32, after_ms: u64, what: What) -> u32 {
        let id = self.0.len() as u32 + 1;
        self.0.push(Step { id, lane, after_ms, what });
        id
    }

    /// The number of the next step.
    pub(crate) fn next(&self) -> u32 {
        self.0.len() as u32 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_a_history_and_each_source_has_one_lane() {
        for seed in 0..50 {
            let history = random(seed, &ALL_FAULTS);
            assert_eq!(format!("{history:?}"), format!("{:?}", random(seed, &ALL_FAULTS)));
            for step in &history.steps {
                let sources = match &step.what {
                    What::Write { sources, .. } => sources.clone(),
                    What::Remove { source, .. } | What::Cancel { source: Some(source), .. } => vec![*source],
                    What::Renew { sources, .. } => sources.clone(),
                    _ => Vec::new(),
                };
                assert!(sources.iter().all(|source| *source > 0 && (source - 1) % WRITERS + 1 == step.lane));
            }
        }
    }

    #[test]
    fn a_history_survives_being_written_and_read() {
        let history = random(3, &ALL_FAULTS);
        let text = serde_json::to_string(&history).expect("plain data");
        let read: History = serde_json::from_str(&text).expect("the same");
        assert_eq!(format!("{history:?}"), format!("{read:?}"));
    }
}
