//! The control file of preloaded faults, and compiling the shim (Linux only).

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::history::{Call, DiskFault, Errno};

const SOURCE: &str = include_str!("../shim/faults.c");

// The layout of `shim/faults.c`.
const SLOTS: usize = 512;
const RULES: u64 = 8;
const FIRST_RULE: u64 = 16;
const RULE_SLOTS: u64 = 8;
const FIRST_HIT: u64 = FIRST_RULE + RULES * RULE_SLOTS;
const CLOCK_OFFSET_NS: u64 = 1;
const SPACE_LEFT: u64 = 2;
const SPACE_HITS: u64 = 3;
const LOCK_CHANCE: u64 = 4;
const LOCK_DELAY_US: u64 = 5;
const LOCK_HITS: u64 = 6;

const WRITE_LOCK: i64 = 16;
const LOG: i64 = 2;
const SHARED: i64 = 4;
const ALL_FILES: i64 = 31;
const FAIL: i64 = 1;
const KILL: i64 = 2;
const STOP: i64 = 3;
const DELAY: i64 = 4;
const SHORT: i64 = 5;

/// The kinds of faults that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hit {
    /// A write exceeded the disk space.
    Full,
    /// A failing call.
    Error,
    /// Half a write.
    ShortWrite,
    /// A kill at a write.
    Kill,
    /// A stop at a write.
    Stop,
    /// A delayed lock.
    Delay,
}

/// The faults of one data folder. Changes apply immediately to all processes.
pub(crate) struct Control {
    path: PathBuf,
    file: File,
    /// The fault each rule is armed with.
    armed: Mutex<[Option<Hit>; RULES as usize]>,
}

/// Compiles the shim into `folder`; returns the reason if that fails.
pub(crate) fn compile(folder: &Path) -> Result<PathBuf, String> {
    if !cfg!(target_os = "linux") {
        return Err("faults of the disk and the clock are injected only on Linux".to_owned());
    }
    let (source, library) = (folder.join("faults.c"), folder.join("faults.so"));
    fs::write(&source, SOURCE).map_err(|error| format!("writing {}: {error}", source.display()))?;
    let built = Command::new("cc")
        .args(["-O2", "-Wall", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output()
        .map_err(|error| format!("running cc: {error}"))?;
    match built.status.success() {
        true => Ok(library),
        false => Err(format!("cc failed: {}", String::from_utf8_lossy(&built.stderr))),
    }
}

impl Control {
    /// Creates a control file without faults.
    pub(crate) fn create(path: &Path) -> std::io::Result<Self> {
        fs::write(path, vec![0; SLOTS * 8])?;
        let control = Self::open(path)?;
        control.clear()?;
        Ok(control)
    }

    /// Opens an existing control file.
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        Ok(Self { path: path.to_owned(), file, armed: Mutex::default() })
    }

    /// Path of the file, for the environment of processes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Clears all faults and resets the clock.
    pub(crate) fn clear(&self) -> std::io::Result<()> {
        for rule in 0..RULES {
            self.set(FIRST_RULE + rule * RULE_SLOTS, 0)?;
        }
        self.set(CLOCK_OFFSET_NS, 0)?;
        self.set(SPACE_LEFT, -1)?;
        self.set(LOCK_CHANCE, 0)
    }

    /// Sets the offset of the wall clock from the true time.
    pub(crate) fn clock(&self, offset_s: i64) -> std::io::Result<()> {
        self.set(CLOCK_OFFSET_NS, offset_s.saturating_mul(1_000_000_000))
    }

    /// Arms a fault as rule `slot`.
    pub(crate) fn arm(&self, slot: u32, fault: DiskFault) -> std::io::Result<()> {
        let rule = match fault {
            DiskFault::Full { bytes } => return self.set(SPACE_LEFT, bytes),
            DiskFault::DelayLocks { of_1000, ms } => {
                self.set(LOCK_DELAY_US, ms as i64 * 1000)?;
                return self.set(LOCK_CHANCE, i64::from(of_1000));
            }
            DiskFault::Error { call, error, skip, count } => {
                (Hit::Error, [operations(call), ALL_FILES, 0, skip.into(), count.into(), FAIL, number(error)])
            }
            DiskFault::ShortWrites { skip, count } => {
                (Hit::ShortWrite, [1, ALL_FILES, 0, skip.into(), count.into(), SHORT, 0])
            }
            DiskFault::KillAtWrite { skip } => (Hit::Kill, [1, ALL_FILES, 0, skip.into(), 1, KILL, 0]),
            DiskFault::StopAtWrite { skip, ms: _ } => (Hit::Stop, [1, LOG, 0, skip.into(), 1, STOP, 0]),
            DiskFault::DelayLock { step, skip, ms } => {
                (Hit::Delay, [WRITE_LOCK, SHARED, step.into(), skip.into(), 1, DELAY, ms as i64 * 1000])
            }
        };
        let slot = u64::from(slot) % RULES;
        let at = FIRST_RULE + slot * RULE_SLOTS;
        let (hit, values) = rule;
        self.set(at, 0)?;
        let mut armed = self.armed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        armed[slot as usize] = Some(hit);
        for (field, value) in (1..).zip(values) {
            self.set(at + field, value)?;
        }
        self.set(at, 1)
    }

    /// Number of faults by kind since the last call.
    pub(crate) fn take_hits(&self) -> std::io::Result<Vec<(Hit, u64)>> {
        let mut hits = Vec::new();
        let armed = self.armed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let of_rules = (0..RULES).map(|rule| (armed[rule as usize], FIRST_HIT + rule));
        for (hit, slot) in of_rules.chain([(Some(Hit::Full), SPACE_HITS), (Some(Hit::Delay), LOCK_HITS)]) {
            let count = self.get(slot)?;
            if let Some(hit) = hit.filter(|_| count > 0) {
                hits.push((hit, count as u64));
                self.set(slot, 0)?;
            }
        }
        Ok(hits)
    }

    /// Whether rule `slot` was triggered since hits were last taken.
    pub(crate) fn has_hit(&self, slot: u32) -> bool {
        self.get(FIRST_HIT + u64::from(slot) % RULES).is_ok_and(|count| count > 0)
    }

    fn set(&self, slot: u64, value: i64) -> std::io::Result<()> {
        self.file.write_all_at(&value.to_ne_bytes(), slot * 8)
    }

    fn get(&self, slot: u64) -> std::io::Result<i64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, slot * 8)?;
        Ok(i64::from_ne_bytes(bytes))
    }
}

fn operations(call: Call) -> i64 {
    match call {
        Call::Write => 1,
        Call::Sync => 2,
        Call::Truncate => 4,
        Call::Open => 8,
        Call::Read => 64,
    }
}

/// The error number on Linux.
fn number(error: Errno) -> i64 {
    match error {
        Errno::NoSpace => 28,
        Errno::Io => 5,
        Errno::ReadOnly => 30,
    }
}
