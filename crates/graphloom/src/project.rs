//! The current folder and the project folder around it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::layers::PROJECT_FILE;

/// Folder with a project's workspaces.
pub const DATA_DIR: &str = ".graphloom";

/// The folders that paths and source names are relative to.
#[derive(Debug, Clone)]
pub struct Here {
    /// The current folder, with symbolic links resolved.
    pub folder: PathBuf,
    /// The project folder. Sources inside it are named relative to it.
    pub root: PathBuf,
}

/// Returns the project of a folder: the nearest folder at or above it with workspaces or a `graphloom.toml`; `None` if there is
/// none. Parents owned by another user are ignored, because their configuration could redirect where texts are sent.
pub fn project_of(folder: &Path) -> Option<&Path> {
    let owner = fs::metadata(folder).ok()?;
    folder.ancestors().find(|above| {
        let has = |name: &str, is: fn(&Path) -> bool| {
            let path = above.join(name);
            is(&path) && fs::metadata(&path).is_ok_and(|found| *above == folder || same_owner(&owner, &found))
        };
        has(DATA_DIR, Path::is_dir) || has(PROJECT_FILE, Path::is_file)
    })
}

#[cfg(unix)]
fn same_owner(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    one.uid() == other.uid()
}

#[cfg(not(unix))]
fn same_owner(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_belongs_to_the_nearest_project_above_it() {
        let root = tempfile::tempdir().expect("a folder");
        let inner = root.path().join("a/b/c");
        fs::create_dir_all(&inner).expect("made");
        assert_eq!(project_of(&inner), None);
        fs::create_dir(root.path().join(DATA_DIR)).expect("made");
        assert_eq!(project_of(&inner), Some(root.path()));
        assert_eq!(project_of(root.path()), Some(root.path()));
        fs::write(root.path().join("a").join(PROJECT_FILE), "").expect("written");
        assert_eq!(project_of(&inner), Some(root.path().join("a").as_path()));
    }
}
