//! Workers that hold leases, and whether they are still running.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::private;

/// Folder of the workers' lock files inside a data folder.
const FOLDER: &str = "workers";

/// A running worker of a data folder: it holds a lock that the operating system releases when the process ends,
/// however it ends.
#[derive(Debug)]
pub struct Worker {
    name: String,
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

impl Worker {
    /// Registers this process under a name that no other worker of `data_dir` has.
    pub fn register(data_dir: &Path) -> std::io::Result<Self> {
        let folder = data_dir.join(FOLDER);
        private::create_own_folder(&folder)?;
        forget_gone(&folder);
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos());
        let name = format!("{}-{nanos}", std::process::id());
        let path = folder.join(&name);
        loop {
            let lock = private::create_file(&path)?;
            lock.lock()?;
            // Another worker's start may have taken the file for a dead one's before it was locked.
            if path.exists() {
                return Ok(Self { name, path, _lock: lock });
            }
        }
    }

    /// The name, for leases.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Best effort: a file left behind is unlocked, which says the same.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the worker of this name has ended. `false` where that cannot be found out, for its lease expires anyway.
pub fn is_gone(data_dir: &Path, worker: &str) -> bool {
    let path = data_dir.join(FOLDER).join(worker);
    match File::open(&path) {
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(file) => is_unlocked(&file),
    }
}

fn is_unlocked(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

/// Deletes the files of workers that have ended.
fn forget_gone(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if File::open(entry.path()).is_ok_and(|file| is_unlocked(&file)) {
            // Best effort: another process may have been faster.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_gone_once_it_ends_and_unknown_ones_are_gone() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let worker = Worker::register(dir.path()).expect("a lock");
        let name = worker.name().to_owned();
        assert!(!is_gone(dir.path(), &name));
        drop(worker);
        assert!(is_gone(dir.path(), &name));
        assert!(is_gone(dir.path(), "never-was"));
    }
}
