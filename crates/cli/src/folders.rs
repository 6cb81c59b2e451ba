//! Detects changes in folders by comparing snapshots, and reports a change once it has settled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use graphloom::files::{Files, WalkEntry};
use graphloom::project::Here;

/// How long a file must stay unchanged before it is read; another program may still be writing it.
pub(crate) const SETTLED: Duration = Duration::from_secs(1);

/// Metadata of a file in one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

/// The files of one snapshot, by source.
pub(crate) type Look = BTreeMap<String, Stamp>;

/// Changes that have settled since the last snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// New and changed files, by source.
    pub(crate) changed: Vec<(String, PathBuf)>,
    /// Sources whose file was deleted, or is no longer a file to add.
    pub(crate) gone: Vec<String>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }
}

/// The reported state of the files, and the changes that have not settled.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    reported: Look,
    /// Pending changes: the new state (`None` if deleted), and when it was first seen.
    moving: BTreeMap<String, (Option<Stamp>, Instant)>,
}

impl Folders {
    /// - `reported`: files that count as reported.
    pub(crate) fn new(reported: Look) -> Self {
        Self { reported, moving: BTreeMap::new() }
    }

    /// The number of files.
    pub(crate) fn len(&self) -> usize {
        self.reported.len()
    }

    /// Whether there is a file with this source.
    pub(crate) fn has(&self, source: &str) -> bool {
        self.reported.contains_key(source)
    }

    /// Whether a change has not settled yet.
    pub(crate) fn is_moving(&self) -> bool {
        !self.moving.is_empty()
    }

    /// Compares a new snapshot with the reported state, and returns the changes that have been stable for [`SETTLED`]. A renamed
    /// file is gone under its old source and new under the new one. A file that was deleted and restored unchanged is not
    /// reported.
    pub(crate) fn look(&mut self, seen: &Look, now: Instant) -> Changes {
        let mut changes = Changes::default();
        let sources: BTreeSet<&String> = seen.keys().chain(self.reported.keys()).collect();
        let sources: Vec<String> = sources.into_iter().cloned().collect();
        self.moving.retain(|source, _| seen.contains_key(source) || self.reported.contains_key(source));
        for source in sources {
            let stamp = seen.get(&source);
            if stamp == self.reported.get(&source) {
                self.moving.remove(&source);
                continue;
            }
            let since = match self.moving.get(&source) {
                Some((known, since)) if known.as_ref() == stamp => *since,
                Some(_) | None => {
                    self.moving.insert(source.clone(), (stamp.cloned(), now));
                    now
                }
            };
            if now.duration_since(since) < SETTLED {
                continue;
            }
            self.moving.remove(&source);
            match stamp {
                Some(stamp) => {
                    self.reported.insert(source.clone(), stamp.clone());
                    changes.changed.push((source, stamp.path.clone()));
                }
                None => {
                    self.reported.remove(&source);
                    changes.gone.push(source);
                }
            }
        }
        changes
    }
}

/// Takes a snapshot of everything below `paths`. Fails if a path or a part of a folder cannot be read: its files would
/// look deleted.
pub(crate) fn look(
    paths: &[PathBuf],
    here: &Here,
    left_out: &Path,
    is_supported: fn(&Path) -> bool,
) -> Result<Look, String> {
    let mut seen = Look::new();
    for found in Files::new(paths, here, left_out, is_supported) {
        match found {
            WalkEntry::File { source, path } => {
                // A file that was deleted in the meantime counts as absent.
                if let Ok(metadata) = std::fs::metadata(&path) {
                    let (bytes, modified) = (metadata.len(), metadata.modified().ok());
                    seen.insert(source, Stamp { path, bytes, modified });
                }
            }
            WalkEntry::Skipped { .. } => {}
            WalkEntry::Refused { source, reason } => return Err(format!("{source} {reason}")),
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(files: &[(&str, u64)]) -> Look {
        let stamp = |(source, bytes): &(&str, u64)| {
            let stamp = Stamp { path: PathBuf::from(source), bytes: *bytes, modified: None };
            ((*source).to_owned(), stamp)
        };
        files.iter().map(stamp).collect()
    }

    /// Applies snapshots at the given tenths of a second; returns the changes after the last one.
    fn check_looks(
        told: &[(&str, u64)],
        looks: &[(u64, &[(&str, u64)])],
    ) -> (Vec<String>, Vec<String>, bool) {
        let (mut folders, start) = (Folders::new(seen(told)), Instant::now());
        let mut changes = Changes::default();
        for (tenths, files) in looks {
            changes = folders.look(&seen(files), start + Duration::from_millis(tenths * 100));
        }
        let changed = changes.changed.into_iter().map(|(source, _)| source).collect();
        (changed, changes.gone, folders.is_moving())
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_new_file_is_reported_once_it_has_settled() {
        assert_eq!(check_looks(&[], &[(0, &[("a", 1)])]), (vec![], vec![], true));
        assert_eq!(check_looks(&[], &[(0, &[("a", 1)]), (5, &[("a", 9)]), (12, &[("a", 9)])]).0, names(&[]));
        let settled = check_looks(&[], &[(0, &[("a", 1)]), (5, &[("a", 9)]), (15, &[("a", 9)])]);
        assert_eq!(settled, (names(&["a"]), vec![], false));
        assert_eq!(check_looks(&[], &[(0, &[("a", 1)]), (10, &[("a", 1)]), (20, &[("a", 1)])]).0, names(&[]));
    }

    #[test]
    fn a_renamed_file_is_removed_under_the_old_name_and_new_under_the_new_one() {
        let renamed = check_looks(&[("a", 1)], &[(0, &[("b", 1)]), (10, &[("b", 1)])]);
        assert_eq!(renamed, (names(&["b"]), names(&["a"]), false));
    }

    #[test]
    fn a_file_replaced_in_two_steps_counts_as_changed() {
        let replaced = check_looks(&[("a", 1)], &[(0, &[]), (5, &[("a", 2)]), (15, &[("a", 2)])]);
        assert_eq!(replaced, (names(&["a"]), vec![], false));
        assert_eq!(check_looks(&[("a", 1)], &[(0, &[]), (5, &[("a", 1)])]), (vec![], vec![], false));
    }

    #[test]
    fn a_file_that_came_and_went_is_not_reported() {
        assert_eq!(check_looks(&[], &[(0, &[("a", 1)]), (5, &[]), (20, &[])]), (vec![], vec![], false));
    }
}
