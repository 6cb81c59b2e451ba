//! The file that says who may do what.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::Access;

/// Its name in the data folder.
const FILE: &str = "access.json";
/// What is locked while it is changed.
const LOCK: &str = "access.lock";
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
            Self::File { .. } | Self::Random { .. } | Self::Name { .. } | Self::Password => None,
        }
    }
}

/// Keys and users of a data folder.
#[derive(Debug)]
pub struct AccessFile {
    path: PathBuf,
    lock: PathBuf,
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
        Self { path: data_dir.join(FILE), lock: data_dir.join(LOCK), known: Mutex::default() }
    }

    /// Who may do what now; nobody is known where there is no file.
    pub fn read(&self) -> Result<Arc<Access>, AccessError> {
        let failed = |source| self.failed("reading", source);
        let stamp = match fs::metadata(&self.path) {
            Ok(metadata) => Stamp::of(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
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
        *known = Some((stamp, Arc::clone(&access)));
        Ok(access)
    }

    /// Changes who may do what, one process after another, wholly or not at all.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut Access) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        let failed = |source| self.failed("changing", source);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let lock = File::create(&self.lock).map_err(failed)?;
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
        Ok(made)
    }

    /// Writes a file beside it that only its owner can read, and puts it in its place.
    fn replace(&self, text: &[u8]) -> io::Result<()> {
        let beside = self.path.with_extension("json.new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&beside, &self.path)
    }

    fn failed(&self, operation: &'static str, source: io::Error) -> AccessError {
        AccessError::File { operation, path: self.path.display().to_string(), source }
    }
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
            let mode = fs::metadata(folder.path().join(FILE)).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
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
