//! A history: the steps of each lane in order, and the faults during them.

use serde::{Deserialize, Serialize};

use crate::text::Shape;

/// Everything a run depends on, except the scheduling of the machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct History {
    /// The scenario it comes from, or `random`.
    pub(crate) name: String,
    /// The seed it was generated from.
    pub(crate) seed: u64,
    /// Settings of all steps.
    pub(crate) settings: Settings,
    /// The steps. Those of one lane run in order; lanes run concurrently.
    pub(crate) steps: Vec<Step>,
}

/// Settings of all steps of a history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Response time of the model in milliseconds; `None` to run offline.
    pub(crate) model_ms: Option<u64>,
    /// Whether the model service also embeds; otherwise the built-in embedder is used.
    pub(crate) remote_vectors: bool,
    /// How the texts of versions are made.
    pub(crate) shape: Shape,
    /// Whether nothing else writes while a document is removed, so that the reserved space is available on a full disk.
    #[serde(default)]
    pub(crate) removes_alone: bool,
    /// Whether to add the document with all entities before the first step.
    pub(crate) anchor: bool,
    /// Maximum duration of a write that no fault delays.
    pub(crate) slowest_write_ms: u64,
    /// Maximum 99th percentile of such writes.
    pub(crate) p99_write_ms: u64,
}

/// One step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Its number, also the version it writes; it stays the same if other steps are removed.
    pub(crate) id: u32,
    /// The lane that executes it.
    pub(crate) lane: u32,
    /// Milliseconds to wait before it.
    pub(crate) after_ms: u64,
    /// The operation.
    pub(crate) what: What,
}

/// The operation of a step.
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
    /// Cancels a source, or everything that waits.
    Cancel { source: Option<u32>, via: Via },
    /// Re-extracts sources in the graph.
    Renew { sources: Vec<u32>, by: By },
    /// Pauses the queue.
    Pause,
    /// Resumes the queue.
    Resume,
    /// Starts `graphloom work` and continues.
    Work,
    /// Starts a server, unless this one runs.
    Serve { slot: u32 },
    /// Kills a process with SIGKILL.
    Kill(Victim),
    /// Stops a process and resumes it after `ms` milliseconds.
    Stop { victim: Victim, ms: u64 },
    /// The next model calls fail this way.
    Model { fault: ModelFault, calls: u32 },
    /// A fault of the disk or of timing, until the next `heal`.
    Disk(DiskFault),
    /// Clears faults of the disk and the clock.
    Heal,
    /// Sets the offset of the wall clock from the true time.
    Clock { offset_s: i64 },
    /// Waits until every lane with this meeting point has reached it.
    Meet(u32),
    /// Opens a new workspace with several processes at once.
    Open { workspace: u32, processes: u32 },
    /// Asks questions continuously from several connections until the next meeting point of this lane.
    Crowd { slot: u32, readers: u32, ms: u64 },
}

/// How an operation reaches the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Via {
    /// Through a process of its own.
    Cli,
    /// Through the server in this slot, or through a process of its own if the server is not running.
    Server(u32),
}

/// The model for a re-extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// The model all processes are configured with.
    First,
    /// Another model.
    Other,
}

/// An edit of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Edit {
    /// Renames an entity.
    Rename { name: u32 },
    /// Merges two entities.
    Merge { from: u32, into: u32 },
    /// Changes the type and description of an entity.
    Describe { name: u32 },
    /// Deletes an entity.
    Delete { name: u32 },
    /// Creates an entity.
    Create,
    /// Creates a relation between an entity and one that an earlier step created.
    Connect { name: u32, made: u32 },
    /// Changes a relation.
    Relate { pair: u32 },
    /// Deletes a relation.
    Part { pair: u32 },
    /// Undoes the latest edit.
    Undo,
}

/// A read operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Read {
    /// Asks a question.
    Ask,
    /// Searches for the canary this lane last removed, or for a name.
    Search,
    /// Dumps the canonical state.
    Dump,
    /// Exports the graph.
    Export,
    /// Dumps the canonical state to a reader that takes this many milliseconds.
    SlowDump(u64),
    /// Reads the export of a server at 1 KB per second for this many milliseconds, then the rest.
    SlowExport(u64),
}

/// The process to kill or stop; nothing happens if it is not running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Victim {
    /// The server in a slot.
    Server(u32),
    /// One of the `graphloom work` processes.
    Worker(u32),
    /// One of the other commands.
    Command(u32),
}

/// How a model call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModelFault {
    /// Status 429.
    TooMany,
    /// Status 500.
    Broken,
    /// No data for a while, then the connection closes.
    Stall,
    /// The answer is truncated.
    Cut,
    /// Status 200 with an invalid answer.
    Garbage,
}

/// A fault of the disk or of the timing of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DiskFault {
    /// Only this many more bytes fit on the disk.
    Full { bytes: i64 },
    /// System calls of this kind fail, after `skip` successful ones.
    Error { call: Call, error: Errno, skip: u32, count: u32 },
    /// Writes write half of their data.
    ShortWrites { skip: u32, count: u32 },
    /// The process is killed before this write.
    KillAtWrite { skip: u32 },
    /// The process that takes the write lock stops itself at its next write.
    StopAtWrite { skip: u32, ms: u64 },
    /// A process waits before it takes the write lock, between its snapshot and its commit.
    DelayLock { step: u32, skip: u32, ms: u64 },
    /// `of_1000` of 1,000 acquisitions of the write lock wait up to `ms` milliseconds.
    DelayLocks { of_1000: u32, ms: u64 },
}

/// A kind of system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    /// `write` and similar calls.
    Write,
    /// `fsync`, `fdatasync`.
    Sync,
    /// `ftruncate`.
    Truncate,
    /// `open` for writing.
    Open,
    /// `read` and similar calls.
    Read,
}

/// The error of a failing call.
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

    /// Number of lanes with a meeting point.
    pub(crate) fn meeting(&self, point: u32) -> usize {
        let mut lanes: Vec<u32> =
            self.steps.iter().filter(|step| step.what == What::Meet(point)).map(|step| step.lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        lanes.len()
    }
}
