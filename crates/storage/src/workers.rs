//! Workers that hold leases, and whether they are still running.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use graphloom_core::{ContentHash, StoreError};

use crate::private;
use crate::sqlite::unwritable_folder;

/// Folder of the workers' lock files inside a data folder.
const FOLDER: &str = "workers";

/// A running worker of a data folder: it holds a lock that the operating system releases when the process ends,
/// however it ends.
#[derive(Debug)]
pub struct Worker {
    name: String,
    folder: PathBuf,
    /// Holds the lock; absent where its file could not be made yet.
    lock: Mutex<Option<File>>,
}

impl Worker {
    /// Registers this process under a name that begins with `host` and that no other worker of `data_dir` has.
    ///
    /// # Errors
    ///
    /// [`StoreError::ReadOnly`] and [`StoreError::DiskFull`] where the folder cannot be written.
    pub fn register(data_dir: &Path, host: &str) -> Result<Self, StoreError> {
        let worker = Self::unregistered(data_dir, host);
        worker.try_again()?;
        Ok(worker)
    }

    /// The same for a process that also reads: where the folder cannot be written, nobody can hold a lease, and the worker
    /// is registered by a later [`try_again`](Self::try_again).
    pub fn register_if_writable(data_dir: &Path, host: &str) -> Result<Self, StoreError> {
        let worker = Self::unregistered(data_dir, host);
        match worker.try_again() {
            Err(error @ (StoreError::ReadOnly { .. } | StoreError::DiskFull { .. })) => {
                tracing::warn!(%error, "nothing can be indexed for now");
            }
            tried => tried?,
        }
        Ok(worker)
    }

    fn unregistered(data_dir: &Path, host: &str) -> Self {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos());
        let name = format!("{host}{}-{nanos}", std::process::id());
        Self { name, folder: data_dir.join(FOLDER), lock: Mutex::default() }
    }

    /// Registers the worker if it is not registered yet.
    pub fn try_again(&self) -> Result<(), StoreError> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_none() {
            *lock = Some(
                self.locked().map_err(|error| unwritable_folder("registering in", &self.folder, error))?,
            );
        }
        Ok(())
    }

    fn locked(&self) -> io::Result<File> {
        private::create_own_folder(&self.folder)?;
        forget_gone(&self.folder);
        let path = self.path();
        loop {
            let lock = private::create_file(&path)?;
            lock.lock()?;
            // Another worker's start may have taken the file for a dead one's before it was locked.
            if path.exists() {
                return Ok(lock);
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The name, for leases.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Best effort: a file left behind is unlocked, which says the same.
        let _ = std::fs::remove_file(self.path());
    }
}

/// A name for this host and data folder that no other host has. Where the host has no name, it is that of this process
/// alone.
pub fn host_of(data_dir: &Path) -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok()).or_else(|| std::env::var("COMPUTERNAME").ok());
    let name = name.unwrap_or_else(|| std::process::id().to_string());
    let folder = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    let hash = ContentHash::of_parts(&[name.trim(), &folder.to_string_lossy()]);
    format!("{}-", &hash.as_str()[..8])
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
        let worker = Worker::register(dir.path(), "").expect("a lock");
        let name = worker.name().to_owned();
        assert!(!is_gone(dir.path(), &name));
        drop(worker);
        assert!(is_gone(dir.path(), &name));
        assert!(is_gone(dir.path(), "never-was"));
    }
    #[test]
    fn a_worker_is_registered_once_its_folder_can_be_made() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let in_the_way = dir.path().join(FOLDER);
        std::fs::write(&in_the_way, "").expect("written");
        let worker = Worker::unregistered(dir.path(), "");
        assert!(worker.try_again().is_err() && Worker::register(dir.path(), "").is_err());
        std::fs::remove_file(in_the_way).expect("removed");
        worker.try_again().expect("registered");
        worker.try_again().expect("registered already");
        assert!(!is_gone(dir.path(), worker.name()));
    }

    /// A path where no user, not even root, can create a folder.
    #[cfg(target_os = "linux")]
    #[test]
    fn where_nothing_can_be_written_only_those_who_read_get_a_worker() {
        let folder = Path::new("/sys");
        let refused = Worker::register(folder, "").map(drop);
        assert!(
            matches!(&refused, Err(error @ StoreError::ReadOnly { .. }) if error.remedy().is_some()),
            "{refused:?}"
        );
        let worker = Worker::register_if_writable(folder, "").expect("it reads");
        assert!(is_gone(folder, worker.name()));
    }
}
