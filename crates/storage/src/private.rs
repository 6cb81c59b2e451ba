//! Creates files and folders that only their owner can read, whatever the umask of the process.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a folder and its missing parents so that only the owner can enter them. An existing folder keeps its
/// permissions, because it may contain more than stores.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Like [`create_folder`], for a folder that contains nothing else: an existing folder is closed to other users.
pub(crate) fn create_own_folder(path: &Path) -> io::Result<()> {
    create_folder(path)?;
    close_to_others(path);
    Ok(())
}

/// Creates an empty file that only the owner can read, replacing an existing one.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    let file = options().create(true).truncate(true).open(path)?;
    close_to_others(path);
    Ok(file)
}

/// Creates an empty file that only the owner can read, unless the file exists.
pub(crate) fn create_missing_file(path: &Path) -> io::Result<()> {
    match options().create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns options to open a file for writing. A file that they create can be read only by its owner.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Closes all files and folders in `folder` whose names begin with `prefix` to other users.
pub(crate) fn close_all_to_others(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            close_to_others(&entry.path());
        }
    }
}

/// Removes all rights of users other than the owner. Files of another user keep theirs, and a warning is logged.
#[cfg(unix)]
fn close_to_others(path: &Path) {
    use std::os::unix::fs::PermissionsExt;

    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    let mode = metadata.permissions().mode();
    if metadata.is_symlink() || mode & 0o077 == 0 {
        return;
    }
    if let Err(error) = fs::set_permissions(path, PermissionsExt::from_mode(mode & 0o700)) {
        tracing::warn!(%error, path = %path.display(), "others can read what is stored here");
    }
}

#[cfg(not(unix))]
fn close_to_others(_: &Path) {}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use graphloom_core::{Store, WorkspaceId};

    use crate::conformance::{block_on, sample};
    use crate::sqlite::SqliteStore;

    #[test]
    fn only_the_owner_can_read_stored_files_even_if_others_could_before() {
        let parent = tempfile::tempdir().expect("a folder");
        let data_dir = parent.path().join("made/here");
        let open = || SqliteStore::open(&data_dir, WorkspaceId::default()).expect("the store opens");
        let mode =
            |path: &std::path::Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let store = open();
        block_on(store.commit(sample::indexed("a", "ada writes", "ADA", "WRITES"))).expect("accepted");
        assert_eq!((mode(&data_dir), mode(&parent.path().join("made"))), (0o700, 0o700));
        let entries = std::fs::read_dir(&data_dir).expect("a folder");
        let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        for name in ["default.graphloom", "default.graphloom-wal", "default.graphloom-shm"] {
            assert!(paths.contains(&data_dir.join(name)), "{paths:?}");
        }
        for path in &paths {
            assert_eq!(mode(path) & 0o077, 0, "{}", path.display());
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode(path) | 0o055)).expect("ours");
        }
        let _second = open();
        for path in &paths {
            assert_eq!(mode(path) & 0o077, 0, "{}", path.display());
        }
    }
}
