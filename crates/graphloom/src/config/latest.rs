//! The current configuration. Its files are read again only after one of them has changed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::layers::files_of;
use super::{Config, Surroundings, load};
use crate::error::Result;

/// A file that changed more recently than this may change again without a visible change of its time.
const SETTLED: Duration = Duration::from_secs(2);

/// A configuration whose files may change.
#[derive(Debug)]
pub struct Latest {
    surroundings: Surroundings,
    known: Mutex<Option<(Vec<Stamp>, Arc<Config>)>>,
}

/// The state of a file when it was read; without time and size if it did not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    changed: Option<(SystemTime, u64)>,
}

impl Latest {
    /// Creates the configuration without reading anything yet.
    pub fn new(surroundings: Surroundings) -> Self {
        Self { surroundings, known: Mutex::default() }
    }

    /// Returns the current configuration.
    ///
    /// # Errors
    ///
    /// The errors of [`load`].
    pub fn get(&self) -> Result<Arc<Config>> {
        // Taken before the files are read, so that a change in between is noticed the next time.
        let stamps = stamps(&self.surroundings);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, config)) = &*known
            && *before == stamps
        {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(load(&self.surroundings)?.0);
        let now = SystemTime::now();
        let is_settled = |stamp: &Stamp| {
            let changed = stamp.changed.map(|(at, _)| now.duration_since(at).unwrap_or_default());
            changed.is_none_or(|age| age > SETTLED)
        };
        *known = stamps.iter().all(is_settled).then(|| (stamps, Arc::clone(&config)));
        Ok(config)
    }
}

fn stamps(surroundings: &Surroundings) -> Vec<Stamp> {
    let stamp = |path: PathBuf| {
        let found = std::fs::metadata(&path).ok();
        let changed = found.and_then(|found| Some((found.modified().ok()?, found.len())));
        Stamp { path, changed }
    };
    files_of(surroundings).into_iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use super::*;

    /// Writes a file and sets its modification time to this many seconds ago.
    fn write(path: &Path, text: &str, seconds_ago: u64) {
        std::fs::write(path, text).expect("written");
        let at = SystemTime::now() - Duration::from_secs(seconds_ago);
        File::options().write(true).open(path).and_then(|file| file.set_modified(at)).expect("dated");
    }

    #[test]
    fn files_are_read_again_only_when_they_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let surroundings = Surroundings { current_dir: folder.path().to_owned(), ..Surroundings::default() };
        let latest = Latest::new(surroundings);
        let workspace = || latest.get().expect("valid").workspace.to_string();
        let first = latest.get().expect("valid");
        assert!(Arc::ptr_eq(&first, &latest.get().expect("valid")), "there is no file, and none appears");
        let file = folder.path().join("graphloom.toml");
        write(&file, "workspace = \"one\"", 60);
        assert_eq!(workspace(), "one");
        assert!(Arc::ptr_eq(&latest.get().expect("valid"), &latest.get().expect("valid")));
        write(&file, "workspace = \"two\"", 50);
        assert_eq!(workspace(), "two");
        write(&folder.path().join(".env"), "GRAPHLOOM_WORKSPACE=three", 60);
        assert_eq!(workspace(), "three");
        write(&file, "workspaces", 40);
        latest.get().expect_err("not valid any more");
        write(&file, "workspace = \"four\"", 30);
        std::fs::remove_file(folder.path().join(".env")).expect("removed");
        assert_eq!(workspace(), "four");
    }

    #[test]
    fn a_file_that_changed_very_recently_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("graphloom.toml");
        write(&file, "workspace = \"one\"", 0);
        let surroundings = Surroundings { current_dir: folder.path().to_owned(), ..Surroundings::default() };
        let latest = Latest::new(surroundings);
        let first = latest.get().expect("valid");
        assert!(!Arc::ptr_eq(&first, &latest.get().expect("valid")), "another change may have the same time");
    }
}
