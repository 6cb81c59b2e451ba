//! The file with keys and users.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use graphloom_core::StoreError;

use super::Access;

/// Name of the file in the data folder.
const FILE: &str = "access.json";
/// File that is locked while the access file is changed.
const LOCK: &str = "access.lock";
/// Marks that keys or users existed, so that a server whose access file is lost does not open to everyone.
const MARKER: &str = "access.keyed";
/// Maximum size of the file in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Why keys and users cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The file cannot be read or written.
    #[error("{operation} {path}")]
    File {
        /// The operation that failed.
        operation: &'static str,
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// Keys or users existed, but their file is missing.
    #[error("{path}, the file with keys and users, is missing")]
    Gone {
        /// The file.
        path: String,
    },
    /// Keys or users existed in the database but are missing, or have not been read yet.
    #[error("the keys and users in {place} are missing")]
    Missing {
        /// The database.
        place: String,
    },
    /// The database with keys and users cannot be read or changed.
    #[error("keys and users in the database")]
    Store(#[from] StoreError),
    /// Other processes kept changing keys and users.
    #[error("other processes kept changing keys and users in {place}")]
    Overtaken {
        /// The database.
        place: String,
    },
    /// The system provides no random bytes, or they cannot be used.
    #[error("generating a secret: {what}")]
    Random {
        /// The reason.
        what: String,
    },
    /// The name is not valid.
    #[error(
        "invalid name {name:?}: a name has 1 to 100 characters, no control characters, and no spaces at either end"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The password is too short or too long.
    #[error("a password must have at least 8 characters and at most 1024 bytes")]
    Password,
    /// The key does not exist or is already revoked.
    #[error("no active key {reference:?}")]
    UnknownKey {
        /// The id or name.
        reference: String,
    },
    /// The user does not exist.
    #[error("no user {name:?}")]
    UnknownUser {
        /// The name.
        name: String,
    },
}

impl AccessError {
    /// Returns the error for a text that does not contain keys and users.
    pub(super) fn unreadable(path: String, error: serde_json::Error) -> Self {
        Self::File { operation: "reading keys and users in", path, source: error.into() }
    }
}

/// Keys and users of a data folder.
#[derive(Debug)]
pub struct AccessFile {
    path: PathBuf,
    lock: PathBuf,
    marker: PathBuf,
    /// Whether keys or users have existed since the process started.
    was_keyed: AtomicBool,
    /// The content read last, and the state of the file at that time.
    known: Mutex<Option<(Stamp, Arc<Access>)>>,
}

/// Identifies the state of the file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    file: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let file = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let file = 0;
        Self { modified: metadata.modified().ok(), bytes: metadata.len(), file }
    }
}

impl AccessFile {
    /// The access file of a data folder. Does not read or create anything yet.
    pub fn of(data_dir: &Path) -> Self {
        Self {
            path: data_dir.join(FILE),
            lock: data_dir.join(LOCK),
            marker: data_dir.join(MARKER),
            was_keyed: AtomicBool::new(false),
            known: Mutex::default(),
        }
    }

    /// The current keys and users. Empty if the file never existed; if it existed and is missing, returns an
    /// error.
    pub fn read(&self) -> Result<Arc<Access>, AccessError> {
        let failed = |source| self.failed("reading", source);
        let stamp = match fs::metadata(&self.path) {
            Ok(metadata) => Stamp::of(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.without_file(),
            Err(error) => return Err(failed(error)),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, access)) = known.as_ref()
            && *of == stamp
        {
            return Ok(Arc::clone(access));
        }
        if stamp.bytes > MAX_BYTES {
            return Err(failed(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the file is too large for an access file",
            )));
        }
        let text = fs::read(&self.path).map_err(failed)?;
        let access: Arc<Access> = Arc::new(serde_json::from_slice(&text).map_err(|e| failed(e.into()))?);
        self.remember(&access);
        *known = Some((stamp, Arc::clone(&access)));
        Ok(access)
    }

    fn without_file(&self) -> Result<Arc<Access>, AccessError> {
        if self.was_keyed.load(Ordering::Relaxed) || self.marker.exists() {
            return Err(AccessError::Gone { path: self.path.display().to_string() });
        }
        Ok(Arc::default())
    }

    /// Records that keys or users exist, in this process and in the marker file for later ones.
    fn remember(&self, access: &Access) {
        if access.is_empty() || self.was_keyed.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = owned().create(true).truncate(false).open(&self.marker) {
            tracing::warn!(%error, path = %self.marker.display(), "writing the marker file failed");
        }
    }

    /// Changes keys and users atomically; processes take turns.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut Access) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        let failed = |source| self.failed("changing", source);
        if let Some(folder) = self.path.parent() {
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(folder).map_err(failed)?;
        }
        // Anyone who can open the lock file can block all changes, including the revocation of a key.
        let lock = owned().create(true).truncate(true).open(&self.lock).map_err(failed)?;
        close_to_others(&lock).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut access = match fs::read(&self.path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| failed(error.into()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Access::default(),
            Err(error) => return Err(failed(error)),
        };
        let made = change(&mut access)?;
        let mut text = serde_json::to_vec_pretty(&access).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        self.replace(&text).map_err(failed)?;
        self.remember(&access);
        Ok(made)
    }

    /// Writes a temporary file that only its owner can read, and renames it over the access file.
    fn replace(&self, text: &[u8]) -> io::Result<()> {
        let beside = self.path.with_extension("json.new");
        let mut file = owned().create(true).truncate(true).open(&beside)?;
        close_to_others(&file)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&beside, &self.path)
    }

    fn failed(&self, operation: &'static str, source: io::Error) -> AccessError {
        AccessError::File { operation, path: self.path.display().to_string(), source }
    }
}

/// Options to open files for writing; new files are readable by their owner only.
fn owned() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Removes permissions of others that an older release set.
fn close_to_others(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

#[cfg(test)]
mod tests {
    use graphloom_core::Timestamp;

    use super::super::Grant;
    use super::*;

    #[test]
    fn a_change_by_another_process_is_seen_at_once_and_only_the_owner_can_read_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let ours = AccessFile::of(folder.path());
        let theirs = AccessFile::of(folder.path());
        assert!(ours.read().expect("no file").is_empty());
        let key = theirs.change(|access| access.create_key("k", Grant::ALL, Timestamp(1))).expect("written");
        assert_eq!(ours.read().expect("a file").keys[0].id, key.id);
        theirs.change(|access| access.revoke_key(&key.id, Timestamp(2))).expect("written");
        assert_eq!(ours.read().expect("a file").keys[0].revoked_at, Some(Timestamp(2)));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode_of =
                |file| fs::metadata(folder.path().join(file)).expect("a file").permissions().mode() & 0o777;
            let lock = folder.path().join(LOCK);
            fs::set_permissions(&lock, PermissionsExt::from_mode(0o644)).expect("ours");
            theirs.change(|_| Ok(())).expect("written");
            for file in [FILE, LOCK, MARKER] {
                assert_eq!(mode_of(file), 0o600, "{file}");
            }
        }
    }

    #[test]
    fn if_the_file_with_keys_disappears_nobody_gets_in_until_a_new_key_is_created() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = AccessFile::of(folder.path());
        file.change(|access| access.create_key("k", Grant::ALL, Timestamp(1))).expect("written");
        fs::remove_file(folder.path().join(FILE)).expect("removed");
        for file in [&file, &AccessFile::of(folder.path())] {
            let error = file.read().expect_err("gone");
            assert!(matches!(error, AccessError::Gone { .. }), "{error}");
        }
        fs::remove_file(folder.path().join(MARKER)).expect("removed");
        assert!(file.read().is_err(), "this process knows");
        assert!(AccessFile::of(folder.path()).read().expect("never keyed").is_empty());
        file.change(|access| access.create_key("k", Grant::ALL, Timestamp(1))).expect("written");
        assert_eq!(file.read().expect("a file").keys.len(), 1);

        let older = folder.path().join(MARKER);
        fs::remove_file(&older).ok();
        assert!(!AccessFile::of(folder.path()).read().expect("a file").is_empty());
        assert!(older.exists(), "keys of an older release are marked too");
    }

    #[test]
    fn a_failed_change_keeps_the_file_and_a_damaged_file_refuses_everybody() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = AccessFile::of(folder.path());
        file.change(|access| access.create_key("k", Grant::ALL, Timestamp(1))).expect("written");
        let before = fs::read(folder.path().join(FILE)).expect("a file");
        assert!(file.change(|access| access.revoke_key("other", Timestamp(2))).is_err());
        assert_eq!(fs::read(folder.path().join(FILE)).expect("a file"), before);
        fs::write(folder.path().join(FILE), "{").expect("written");
        assert!(file.read().is_err());
    }
}
