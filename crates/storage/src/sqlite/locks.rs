//! Waits for the write lock: who holds it, how long to wait, and when to report it.

pub(super) use graphloom_core::Patience;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::place::beside;

/// Pauses between attempts to take the lock, in milliseconds. The last one repeats.
const PAUSES_MS: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];
/// How long a wait lasts before it is reported.
const REPORTED_AFTER: Duration = Duration::from_secs(3);
/// How often a longer wait is reported again.
const REPORTED_EVERY: Duration = Duration::from_secs(60);
/// How long a store that is being closed still waits for the lock, so that a short wait does not lose its last commits.
const CLOSING_PATIENCE: Duration = Duration::from_secs(5);
/// Most characters of a command in a report.
const MAX_COMMAND_CHARS: usize = 40;

/// How the connections of one store wait for the locks of others.
pub(super) struct LockPatience {
    path: PathBuf,
    patience: Patience,
    /// True to give up at once.
    never: AtomicBool,
    /// True while the store is being closed.
    closing: AtomicBool,
}

impl LockPatience {
    pub(super) fn new(path: &Path, patience: Patience) -> Arc<Self> {
        Arc::new(Self {
            path: path.to_owned(),
            patience,
            never: AtomicBool::new(false),
            closing: AtomicBool::new(false),
        })
    }

    /// Sets up a connection to wait this way.
    pub(super) fn guide(self: &Arc<Self>, conn: &mut Connection) -> rusqlite::Result<()> {
        let waiting = Arc::clone(self);
        let mut wait = Wait::default();
        conn.busy_handler(Some(move |attempts: i32| {
            if attempts == 0 {
                wait = Wait::default();
            }
            wait.goes_on(&waiting)
        }))
    }

    /// Runs `work` until no lock of another process is in its way. For calls in which SQLite itself does not wait.
    pub(super) fn until_free<T>(&self, mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let mut wait = Wait::default();
        loop {
            match work() {
                Err(error) if is_busy(&error) && wait.goes_on(self) => {}
                done => return done,
            }
        }
    }

    /// Runs `work` so that it fails at once if a lock is in its way.
    pub(super) fn failing_fast<T>(&self, work: impl FnOnce() -> T) -> T {
        self.never.store(true, Ordering::Relaxed);
        let done = work();
        self.never.store(false, Ordering::Relaxed);
        done
    }

    /// Shortens all waits, because the store is being closed.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}

/// One wait for a lock.
struct Wait {
    since: Instant,
    pauses: usize,
    next_report: Duration,
    closing_since: Option<Instant>,
}

impl Default for Wait {
    fn default() -> Self {
        Self { since: Instant::now(), pauses: 0, next_report: REPORTED_AFTER, closing_since: None }
    }
}

impl Wait {
    /// Pauses. Returns `false` if the wait is over.
    fn goes_on(&mut self, waiting: &LockPatience) -> bool {
        if waiting.never.load(Ordering::Relaxed) {
            return false;
        }
        let waited = self.since.elapsed();
        if matches!(waiting.patience, Patience::Limited(limit) if waited >= limit) {
            return false;
        }
        if waiting.closing.load(Ordering::Relaxed) {
            let since = *self.closing_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= CLOSING_PATIENCE {
                return false;
            }
        }
        if waited >= self.next_report {
            self.next_report = waited + REPORTED_EVERY;
            let holder = holder_of(&waiting.path);
            let holder = holder.map_or_else(|| "another process".to_owned(), |holder| holder.to_string());
            tracing::info!(
                target: crate::WAITING,
                "waiting for {holder}, which holds the workspace {}",
                waiting.path.display()
            );
        }
        let pause = PAUSES_MS[self.pauses.min(PAUSES_MS.len() - 1)];
        self.pauses += 1;
        std::thread::sleep(Duration::from_millis(pause));
        true
    }
}

/// True if a lock of another connection or process is in the way.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The process that holds a store's write lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    pid: u32,
    /// The program and its command, if they can be read.
    command: Option<String>,
    is_stopped: bool,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, command, is_stopped } = self;
        match command {
            Some(command) => write!(f, "process {pid} ({command})")?,
            None => write!(f, "process {pid}")?,
        }
        match is_stopped {
            true => write!(f, ", stopped (`kill -CONT {pid}` lets it continue)"),
            false => Ok(()),
        }
    }
}

/// Returns the process that holds the write lock of the store at `path`. `None` if there is none or it is unknown.
///
/// Does not open the files, because closing a file releases every lock that this process holds on it.
#[cfg(target_os = "linux")]
pub(super) fn holder_of(path: &Path) -> Option<Holder> {
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let log_index = beside(path, "-shm");
    let pid = linux::pid_of_lock(&locks, &log_index, linux::WRITE_LOCK_OF_LOG)
        .or_else(|| linux::pid_of_lock(&locks, path, linux::WRITE_LOCK_OF_FILE))?;
    Some(linux::holder(pid))
}

/// Returns `None`, because only Linux shows who holds a lock.
#[cfg(not(target_os = "linux"))]
pub(super) fn holder_of(_path: &Path) -> Option<Holder> {
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::{Holder, MAX_COMMAND_CHARS};

    /// The byte of the log's index that a writer locks (`WAL_WRITE_LOCK`).
    pub(super) const WRITE_LOCK_OF_LOG: u64 = 120;
    /// The byte of the file that a writer locks if there is no log yet (`RESERVED_BYTE`).
    pub(super) const WRITE_LOCK_OF_FILE: u64 = 0x4000_0001;

    /// Returns the process that holds a write lock on `byte` of the file, from the lines of `/proc/locks`, such as `1:
    /// POSIX  ADVISORY  WRITE 1234 08:02:5678 120 120`.
    pub(super) fn pid_of_lock(locks: &str, file: &Path, byte: u64) -> Option<u32> {
        let metadata = std::fs::metadata(file).ok()?;
        let device = format!("{:02x}:{:02x}", major(metadata.dev()), minor(metadata.dev()));
        let matching = locks.lines().filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, _, _, "WRITE", pid, place, from, to] = fields[..] else { return None };
            let (on, inode) = place.rsplit_once(':')?;
            let from: u64 = from.parse().ok()?;
            let to = if to == "EOF" { u64::MAX } else { to.parse().ok()? };
            let is_it = inode.parse() == Ok(metadata.ino()) && (from..=to).contains(&byte);
            let pid: u32 = pid.parse().ok()?;
            (is_it && pid > 0).then_some((on == device, pid))
        });
        // On some file systems, this device number differs from the one in the list.
        matching.max_by_key(|(same_device, _)| *same_device).map(|(_, pid)| pid)
    }

    pub(super) fn holder(pid: u32) -> Holder {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
        let command = read("cmdline").and_then(|line| command_of(&line));
        // The state comes after the name, which is in brackets and may contain brackets.
        let state = read("stat").and_then(|stat| stat.rsplit_once(") ")?.1.chars().next());
        Holder { pid, command, is_stopped: matches!(state, Some('T' | 't')) }
    }

    /// Returns the program's name and its command without options, which may contain secrets.
    pub(super) fn command_of(line: &str) -> Option<String> {
        let mut parts = line.split('\0').filter(|part| !part.is_empty());
        let program = Path::new(parts.next()?).file_name()?.to_string_lossy().into_owned();
        let is_word =
            |part: &&str| part.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !part.starts_with('-');
        let text = match parts.next().filter(is_word) {
            Some(command) => format!("{program} {command}"),
            None => program,
        };
        Some(text.chars().filter(|c| !c.is_control()).take(MAX_COMMAND_CHARS).collect())
    }

    fn major(device: u64) -> u64 {
        (device >> 8) & 0xfff | (device >> 32) & !0xfff
    }

    fn minor(device: u64) -> u64 {
        device & 0xff | (device >> 12) & !0xff
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_process_that_locks_a_byte_is_found_by_inode_and_range() {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("index");
            std::fs::write(&file, "").expect("written");
            let metadata = std::fs::metadata(&file).expect("metadata");
            let device = format!("{:02x}:{:02x}", major(metadata.dev()), minor(metadata.dev()));
            let inode = metadata.ino();
            let locks = format!(
                "1: FLOCK  ADVISORY  WRITE 11 {device}:{other} 0 EOF\n\
                 2: POSIX  ADVISORY  READ  12 {device}:{inode} 120 120\n\
                 2: -> POSIX  ADVISORY  WRITE 13 {device}:{inode} 120 120\n\
                 3: POSIX  ADVISORY  WRITE 14 00:ff:{inode} 120 120\n\
                 4: POSIX  ADVISORY  WRITE 15 {device}:{inode} 119 120\n\
                 5: POSIX  ADVISORY  WRITE 16 {device}:{inode} 123 123\n",
                other = inode + 1,
            );
            assert_eq!(pid_of_lock(&locks, &file, 120), Some(15));
            assert_eq!(pid_of_lock(&locks, &file, 121), None);
            assert_eq!(pid_of_lock(&locks, &folder.path().join("missing"), 120), None);
        }

        #[test]
        fn a_command_is_shown_without_its_options() {
            for (line, shown) in [
                ("/usr/bin/graphloom\0work\0--llm\0secret\0", Some("graphloom work")),
                ("graphloom\0--set\0key=secret\0", Some("graphloom")),
                ("sqlite3\0/data/x.graphloom\0", Some("sqlite3")),
                ("", None),
            ] {
                assert_eq!(command_of(line).as_deref(), shown, "{line:?}");
            }
        }
    }
}
