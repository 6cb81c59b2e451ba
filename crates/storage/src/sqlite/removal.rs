//! Removes folders that other processes may write to.

use std::io::{self, ErrorKind};
use std::path::Path;

/// How often to try to remove a folder while other processes write to it.
const ATTEMPTS: usize = 20;

/// Removes a folder if it exists, including files that other processes add in the meantime. Other processes may also remove it.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    let mut again = 1..ATTEMPTS;
    loop {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && again.next().is_some() => {}
            removed => return removed,
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_folder_is_removed_while_other_processes_write_to_it() {
        let parent = TempDir::new().expect("a folder");
        let folder = parent.path().join("index");
        for _ in 0..100 {
            std::fs::create_dir(&folder).expect("created");
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // Each write can make at most one attempt fail. Writing fails if the folder is gone.
                    (1..ATTEMPTS).for_each(|name| drop(std::fs::write(folder.join(name.to_string()), "")));
                });
                remove_folder(&folder).expect("removed");
            });
            assert!(!folder.exists());
        }
    }

    #[test]
    fn removing_a_missing_folder_is_no_error_and_removing_a_file_is_one() {
        let parent = TempDir::new().expect("a folder");
        remove_folder(&parent.path().join("index")).expect("nothing to remove");
        let file = parent.path().join("file");
        std::fs::write(&file, "").expect("written");
        assert!(remove_folder(&file).is_err() && file.exists());
    }
}
