//! Workers that hold leases, and whether they are still running.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use graphloom_core::{ContentHash, Registration, StoreError, Worker, Workers};

use crate::private;
use crate::sqlite::{apart, unwritable_folder};

/// Folder of the workers' lock files in a data folder.
const FOLDER: &str = "workers";

/// The workers of a folder. Each holds a lock that the operating system releases when its process ends for any reason.
#[derive(Debug, Clone)]
pub struct LockFiles {
    folder: PathBuf,
    /// Prefix of the names of this host's workers.
    host: String,
}

impl LockFiles {
    /// Returns the workers of a data folder.
    pub fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER), host: String::new() }
    }

    /// Returns this host's workers, for a place that several hosts share.
    ///
    /// - `data_dir`: the data folder on this host.
    pub fn of_host(data_dir: &Path) -> Self {
        Self { host: host_of(data_dir), ..Self::new(data_dir) }
    }

    fn unregistered(&self) -> LockedFile {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos());
        // Two workers of one process may start in the same tick of a coarse clock.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{}-{nanos}-{number}", self.host, std::process::id());
        LockedFile { name, folder: self.folder.clone(), lock: Mutex::default() }
    }

    fn registered(&self, registration: Registration) -> Result<LockedFile, StoreError> {
        let worker = self.unregistered();
        match (worker.try_again(), registration) {
            (
                Err(error @ (StoreError::ReadOnly { .. } | StoreError::DiskFull { .. })),
                Registration::WhenWritable,
            ) => {
                tracing::warn!(%error, "nothing can be indexed for now");
            }
            (tried, _) => tried?,
        }
        Ok(worker)
    }
}

#[async_trait]
impl Workers for LockFiles {
    async fn register(&self, registration: Registration) -> Result<Arc<dyn Worker>, StoreError> {
        let files = self.clone();
        Ok(Arc::new(apart("registering a worker", move || files.registered(registration)).await?))
    }

    fn is_gone(&self, worker: &str) -> bool {
        if !worker.starts_with(&self.host) {
            return false;
        }
        match File::open(self.folder.join(worker)) {
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
            Ok(file) => is_unlocked(&file),
        }
    }
}

/// Number of workers that this process has registered.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A worker, as the holder of a file lock.
#[derive(Debug)]
struct LockedFile {
    name: String,
    folder: PathBuf,
    /// Holds the lock. `None` if the file could not be created yet.
    lock: Mutex<Option<File>>,
}

impl LockedFile {
    fn locked(&self) -> io::Result<File> {
        private::create_own_folder(&self.folder)?;
        forget_gone(&self.folder);
        let path = self.path();
        loop {
            let lock = private::create_file(&path)?;
            lock.lock()?;
            // Another worker may have deleted the file before it was locked, because it seemed to belong to a dead worker.
            if path.exists() {
                return Ok(lock);
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }
}

impl Worker for LockedFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn try_again(&self) -> Result<(), StoreError> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_none() {
            *lock = Some(
                self.locked().map_err(|error| unwritable_folder("registering in", &self.folder, error))?,
            );
        }
        Ok(())
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Best effort: a file that is left behind is unlocked, which means the same.
        let _ = std::fs::remove_file(self.path());
    }
}

/// Returns a name for this host and data folder that no other host has. If the host has no name, the name is unique to
/// this process.
fn host_of(data_dir: &Path) -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok()).or_else(|| std::env::var("COMPUTERNAME").ok());
    let name = name.unwrap_or_else(|| std::process::id().to_string());
    let folder = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    let hash = ContentHash::of_parts(&[name.trim(), &folder.to_string_lossy()]);
    format!("{}-", &hash.as_str()[..8])
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
    fn a_worker_is_gone_once_it_ends_and_an_unknown_worker_is_gone() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let workers = LockFiles::new(dir.path());
        let worker = workers.registered(Registration::Required).expect("a lock");
        let name = worker.name().to_owned();
        assert!(!workers.is_gone(&name));
        drop(worker);
        assert!(workers.is_gone(&name));
        assert!(workers.is_gone("never-was"));
        assert!(!LockFiles::of_host(dir.path()).is_gone("of-another-host"), "that is unknown");
    }

    #[test]
    fn a_worker_is_registered_once_its_folder_can_be_created() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let workers = LockFiles::new(dir.path());
        let in_the_way = dir.path().join(FOLDER);
        std::fs::write(&in_the_way, "").expect("written");
        let worker = workers.unregistered();
        assert!(worker.try_again().is_err() && workers.registered(Registration::Required).is_err());
        std::fs::remove_file(in_the_way).expect("removed");
        worker.try_again().expect("registered");
        worker.try_again().expect("registered already");
        assert!(!workers.is_gone(worker.name()));
    }

    /// Uses a path where no user, not even root, can create a folder.
    #[cfg(target_os = "linux")]
    #[test]
    fn on_a_read_only_disk_only_reading_processes_get_a_worker() {
        let workers = LockFiles::new(Path::new("/sys"));
        let refused = workers.registered(Registration::Required).map(drop);
        assert!(
            matches!(&refused, Err(error @ StoreError::ReadOnly { .. }) if error.remedy().is_some()),
            "{refused:?}"
        );
        let worker = workers.registered(Registration::WhenWritable).expect("it reads");
        assert!(workers.is_gone(worker.name()));
    }
}
