//! A history: what is done in which order, by which lane, and which faults happen meanwhile.

use serde::{Deserialize, Serialize};

use crate::text::Shape;

/// Everything that a run depends on, besides the moments at which the machine runs what.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct History {
    /// The scenario it comes from, or `random`.
    pub(crate) name: String,
    /// The seed it was generated from.
    pub(crate) seed: u64,
    /// What holds for all steps.
    pub(crate) settings: Settings,
    /// The steps; those of one lane run in this order, lanes run at the same time.
    pub(crate) steps: Vec<Step>,
}

/// What holds for all steps of a history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Milliseconds that the model takes to answer; offline where `None`.
    pub(crate) model_ms: Option<u64>,
    /// Whether the model's service also makes the vectors; the built-in embedder does where it is `false`.
    pub(crate) remote_vectors: bool,
    /// How the texts of versions are made.
    pub(crate) shape: Shape,
    /// Whether the document that names all entities is added before the first step.
    pub(crate) anchor: bool,
    /// A write that takes longer is a failure, unless something held it up on purpose.
    pub(crate) slowest_write_ms: u64,
    /// The 99th of 100 such writes may take no longer.
    pub(crate) p99_write_ms: u64,
}

/// One step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Its number, which is also the version that it writes; it stays when other steps are left out.
    pub(crate) id: u32,
    /// Who does it.
    pub(crate) lane: u32,
    /// Milliseconds to wait before it.
    pub(crate) after_ms: u64,
    /// What is done.
    pub(crate) what: What,
}

/// What is done in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// Adds a new version of each source.
    Write { sources: Vec<u32>, via: Via, wait: bool },
    /// Removes a source.
    Remove { source: u32, via: Via },
    /// Edits the graph.
    Edit { edit: Edit, via: Via },
    /// Reads without changing anything.
    Read { read: Read, via: Via },
    /// Takes a source out of the queue, or everything that waits.
    Cancel { source: Option<u32>, via: Via },
    /// Asks a model again about sources that are in the graph.
    Renew { sources: Vec<u32>, by: By },
    /// Pauses the queue.
    Pause,
    /// Lets the queue run again.
    Resume,
    /// Starts `graphloom work` and goes on.
    Work,
    /// Starts a server, unless this one runs.
    Serve { slot: u32 },
    /// Kills a process with SIGKILL.
    Kill(Victim),
    /// Stops a process and lets it go on after so many milliseconds.
    Stop { victim: Victim, ms: u64 },
    /// The next calls of the model fail like this.
    Model { fault: ModelFault, calls: u32 },
    /// A fault of the disk or of the moment, until the next `heal`.
    Disk(DiskFault),
    /// The disk works again, the clock is right.
    Heal,
    /// The wall clock jumps to this distance from the true time.
    Clock { offset_s: i64 },
    /// Waits until every lane that has this meeting point has come to it.
    Meet(u32),
    /// Opens a new workspace with several processes at once.
    Open { workspace: u32, processes: u32 },
    /// Questions from so many connections without pause, until the next meeting point of this lane.
    Crowd { slot: u32, readers: u32, ms: u64 },
}

/// How an operation reaches the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Via {
    /// A process of its own.
    Cli,
    /// The server of this slot; a process of its own where it does not run.
    Server(u32),
}

/// Which model is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// The one that all processes are configured with.
    First,
    /// Another one.
    Other,
}

/// An edit of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Edit {
    /// Gives an entity another name.
    Rename { name: u32 },
    /// Makes two entities one.
    Merge { from: u32, into: u32 },
    /// Gives an entity another type and description.
    Describe { name: u32 },
    /// Takes an entity out of the graph.
    Delete { name: u32 },
    /// Makes an entity.
    Create,
    /// Makes a relation between an entity and the one that an earlier step made.
    Connect { name: u32, made: u32 },
    /// Changes a relation.
    Relate { pair: u32 },
    /// Takes a relation out of the graph.
    Part { pair: u32 },
    /// Takes the latest edit back.
    Undo,
}

/// A way to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Read {
    /// Asks a question.
    Ask,
    /// Searches for the canary that this lane removed last, or for a name.
    Search,
    /// Prints the canonical state.
    Dump,
    /// Writes the graph for other programs.
    Export,
    /// Prints the canonical state to a reader that takes so many milliseconds.
    SlowDump(u64),
    /// Reads the export of a server at 1 KB a second for so many milliseconds, and then the rest.
    SlowExport(u64),
}

/// Which process a kill or a stop is for; nothing happens where none runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Victim {
    /// The server of a slot.
    Server(u32),
    /// One of the `graphloom work` processes.
    Worker(u32),
    /// One of the other commands.
    Command(u32),
}

/// How a call of the model fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModelFault {
    /// Status 429.
    TooMany,
    /// Status 500.
    Broken,
    /// Nothing comes for a while, then the connection ends.
    Stall,
    /// The answer ends in the middle.
    Cut,
    /// Status 200 with something that is no answer.
    Garbage,
}

/// A fault of the disk, or of the moment of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DiskFault {
    /// Only so many bytes more fit on the disk.
    Full { bytes: i64 },
    /// Calls of this kind fail, after so many that work.
    Error { call: Call, error: Errno, skip: u32, count: u32 },
    /// Writes write half of what they are given.
    ShortWrites { skip: u32, count: u32 },
    /// The process that makes this write is killed before it.
    KillAtWrite { skip: u32 },
    /// The process that takes the write lock is stopped by itself as soon as it writes.
    StopAtWrite { skip: u32, ms: u64 },
    /// One process waits before it takes the write lock: between its snapshot and its commit.
    DelayLock { step: u32, skip: u32, ms: u64 },
    /// So many of 1,000 takings of the write lock wait up to so many milliseconds.
    DelayLocks { of_1000: u32, ms: u64 },
}

/// A kind of system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    /// `write` and its kind.
    Write,
    /// `fsync`, `fdatasync`.
    Sync,
    /// `ftruncate`.
    Truncate,
    /// `open` for writing.
    Open,
    /// `read` and its kind.
    Read,
}

/// What a failing call says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Errno {
    /// No space left on device.
    NoSpace,
    /// Input/output error.
    Io,
    /// Read-only file system.
    ReadOnly,
}

impl History {
    /// The lanes, in order.
    pub(crate) fn lanes(&self) -> Vec<u32> {
        let mut lanes: Vec<u32> = self.steps.iter().map(|step| step.lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        lanes
    }

    /// Lanes that come to a meeting point.
    pub(crate) fn meeting(&self, point: u32) -> usize {
        let mut lanes: Vec<u32> =
            self.steps.iter().filter(|step| step.what == What::Meet(point)).map(|step| step.lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        lanes.len()
    }
}
