//! The file that says who may do what.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::Access;

/// Its name in the data folder.
const FILE: &str = "access.json";
/// What is locked while it is changed.
const LOCK: &str = "access.lock";
/// Says that there were keys or users, so that a server whose file of them is lost does not open to everybody.
const MARKER: &str = "access.keyed";
/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Why keys and users cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The file cannot be read or written.
    #[error("{operation} {path}")]
    File {
        /// What was being done.
        operation: &'static str,
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// There were keys or users, and their file is not there.
    #[error("{path} is gone, which held keys or users")]
    Gone {
        /// The file.
        path: String,
    },
    /// The system has no random bytes, or they cannot be used.
    #[error("making a secret: {what}")]
    Random {
        /// Why.
        what: String,
    },
    /// The name cannot be.
    #[error(
        "{name:?} cannot be a name: it must be 1 to 100 characters without control characters and spaces around"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The password cannot be.
    #[error("a password has at least 8 characters, and at most 1024 bytes")]
    Password,
    /// No such key, or it is revoked already.
    #[error("no key {reference:?} that is not revoked")]
    UnknownKey {
        /// The id or name.
        reference: String,
    },
    /// No such user.
    #[error("no user {name:?}")]
    UnknownUser {
        /// The name.
        name: String,
    },
}

impl AccessError {
    /// What the user can do about it, where something can be said.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::UnknownKey { .. } => Some("`graphloom key list` lists all keys"),
            Self::UnknownUser { .. } => Some("`graphloom user list` lists all users"),
            Self::Gone { .. } => Some(
                "put the file back, or make a new key with `graphloom key create NAME`; to serve this machine without \
                 keys, delete access.keyed beside it",
            ),
            Self::File { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some(
                    "run it as the user that owns the data folder, or make the folder writable; --data-dir names another",
                ),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("make room on the disk of the data folder")
                }
                _ => None,
            },
            Self::Random { .. } | Self::Name { .. } | Self::Password => None,
        }
    }
}

/// Keys and users of a data folder.
#[derive(Debug)]
pub struct AccessFile {
    path: PathBuf,
    lock: PathBuf,
    marker: PathBuf,
    /// Whether there were keys or users since the start.
    was_keyed: AtomicBool,
    /// What was read last, and of which state of the file.
    known: Mutex<Option<(Stamp, Arc<Access>)>>,
}

/// Tells states of the file apart without reading it.
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
    /// That of a data folder; nothing is read or made yet.
    pub fn of(data_dir: &Path) -> Self {
        Self {
            path: data_dir.join(FILE),
            lock: data_dir.join(LOCK),
            marker: data_dir.join(MARKER),
            was_keyed: AtomicBool::new(false),
            known: Mutex::default(),
        }
    }

    /// Who may do what now. Nobody is known where there is no file and there never was; once there were keys or users, a file
    /// that is gone is an error.
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
            return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large to be ours")));
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

    /// Remembers that there are keys or users, in this process and beside the file for those to come.
    fn remember(&self, access: &Access) {
        if access.is_empty() || self.was_keyed.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = owned().create(true).truncate(false).open(&self.marker) {
            tracing::warn!(%error, path = %self.marker.display(), "that there are keys cannot be remembered");
        }
    }

    /// Changes who may do what, one process after another, wholly or not at all.
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
        // Whoever can open it can hold up every change, and so the revocation of a key.
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

    /// Writes a file beside it that only its owner can read, and puts it in its place.
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

/// Opens files to write that only their owner can read, if it makes them.
fn owned() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Takes the rights of others away that an older release left.
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
    fn a_change_of_another_process_is_seen_at_once_and_only_the_owner_can_read_it() {
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
    fn once_there_were_keys_a_file_that_is_gone_lets_nobody_in_until_there_is_a_new_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = AccessFile::of(folder.path());
        file.change(|access| access.create_key("k", Grant::ALL, Timestamp(1))).expect("written");
        fs::remove_file(folder.path().join(FILE)).expect("removed");
        for file in [&file, &AccessFile::of(folder.path())] {
            let error = file.read().expect_err("gone");
            assert!(matches!(error, AccessError::Gone { .. }), "{error}");
            assert!(error.remedy().is_some_and(|remedy| remedy.contains("key create")));
        }
        fs::remove_file(folder.path().join(MARKER)).expect("removed");
        assert!(file.read().is_err(), "this process knows");
        assert!(AccessFile::of(folder.path()).read().expect("never keyed").is_empty());
        file.change(|access| access.create_key("k", Grant::ALL, Timestamp(1))).expect("written");
        assert_eq!(file.read().expect("a file").keys.len(), 1);

        let older = folder.path().join(MARKER);
        fs::remove_file(&older).ok();
        assert!(!AccessFile::of(folder.path()).read().expect("a file").is_empty());
        assert!(older.exists(), "keys of an older release are remembered too");
    }

    #[test]
    fn a_change_that_fails_leaves_the_file_and_a_damaged_file_lets_nobody_in() {
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
