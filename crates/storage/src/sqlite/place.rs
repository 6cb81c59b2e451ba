//! The place of a store: whether its files are still there, and which revision they must have reached.
//!
//! SQLite reads a write-ahead log up to the first incomplete frame and silently ignores the rest. So a log that is
//! damaged, deleted, or replaced by an older copy loses commits that callers were told are durable. To detect that, the
//! last revision is also written to a *mark*, a small file beside the store, after each group of commits. A store that
//! ends before its mark is refused. The mark needs no flush of its own: it is written after the commit is durable, so
//! it is never ahead of the store. If the mark is lost or torn, the check is only skipped.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use graphloom_core::{Revision, StoreError};
use rusqlite::{Connection, OptionalExtension};

use crate::private;

/// The smallest database that SQLite writes.
const MIN_DATABASE_BYTES: u64 = 512;
/// Most bytes read from a mark. A complete mark is shorter.
const MAX_MARK_BYTES: u64 = 256;
/// The first word of a mark, which includes the version of its format.
const MARK: &str = "graphloom-mark-1";

/// A store and a revision that was committed to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitMark {
    /// The store's own id. Empty if the file is from a release that assigned none.
    pub(super) store: String,
    /// The revision.
    pub(super) revision: Revision,
}

/// The files of an open store.
pub(super) struct Place {
    path: PathBuf,
    store: String,
    /// The files as they were when the store was opened.
    files: Vec<(PathBuf, FileId)>,
}

/// The identity of a file, by device and inode number.
type FileId = (u64, u64);

impl Place {
    /// Returns the place of an open store that has read something, so that its log is open too.
    pub(super) fn of(path: &Path, store: String) -> Self {
        let files = [path.to_owned(), beside(path, "-wal")];
        let files = files.into_iter().filter_map(|file| id_of(&file).map(|id| (file, id))).collect();
        Self { path: path.to_owned(), store, files }
    }

    /// Returns the place of a store that is only read. Its log may come and go.
    pub(super) fn read_only(path: &Path, store: String) -> Self {
        let files = id_of(path).map(|id| (path.to_owned(), id)).into_iter().collect();
        Self { path: path.to_owned(), store, files }
    }

    /// The store's file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if a file was moved, deleted or replaced since the store was opened. A write would then be lost, because
    /// the next process opens other files.
    pub(super) fn require_unmoved(&self) -> Result<(), StoreError> {
        match self.files.iter().find(|(file, id)| id_of(file) != Some(*id)) {
            Some((file, _)) => Err(StoreError::Gone { path: file.display().to_string() }),
            None => Ok(()),
        }
    }

    /// Records that a revision is durable.
    pub(super) fn reached(&self, revision: Revision) {
        raise_mark(&self.path, &CommitMark { store: self.store.clone(), revision });
    }
}

/// Fails if the file is missing or too short for a database, although there was one. A missing or empty file without
/// mark and log is a workspace that is not created yet.
///
/// - `marked`: the mark, read before the call.
pub(super) fn require_file(path: &Path, marked: Option<&CommitMark>) -> Result<(), StoreError> {
    let length = match path.metadata() {
        Ok(metadata) => Some(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // Opening the file reports what is wrong.
        Err(_) => return Ok(()),
    };
    let length_of = |suffix| beside(path, suffix).metadata().map_or(0, |metadata| metadata.len());
    let state = match length {
        Some(MIN_DATABASE_BYTES..) => return Ok(()),
        // A process was interrupted while creating the file. SQLite rolls back what it wrote.
        Some(_) if length_of("-journal") > 0 => return Ok(()),
        Some(0) => "the file is empty".to_owned(),
        Some(bytes) => format!("the file has {bytes} bytes, too few for a database"),
        None => "the file is missing".to_owned(),
    };
    let what = match marked {
        Some(CommitMark { revision, .. }) => format!("{state}, but revision {revision} was committed to it"),
        None if length_of("-wal") > 0 => format!("{state}, but its write-ahead log is there"),
        None if length.unwrap_or(0) == 0 => return Ok(()),
        None => state,
    };
    Err(lost(path, what))
}

/// Fails if the store ends before the revision in its mark.
///
/// - `marked`: the mark, read before `found`. In the other order, another process could commit in between.
pub(super) fn require_reached(
    path: &Path,
    marked: Option<&CommitMark>,
    found: &CommitMark,
) -> Result<(), StoreError> {
    let Some(marked) = marked else { return Ok(()) };
    let is_other = !found.store.is_empty() && marked.store != found.store;
    if is_other || found.revision >= marked.revision {
        return Ok(());
    }
    Err(lost(
        path,
        format!(
            "it ends at revision {}, but revision {} was committed: the file or its write-ahead log was damaged, removed \
             or replaced by an older copy",
            found.revision, marked.revision
        ),
    ))
}

fn lost(path: &Path, what: String) -> StoreError {
    StoreError::Lost { path: path.display().to_string(), what }
}

/// Returns the last revision according to the file itself. Revision 0 of no store for an empty database.
pub(super) fn committed(conn: &Connection) -> rusqlite::Result<CommitMark> {
    let has = |sql: &str| conn.prepare(sql)?.exists([]);
    if !has("SELECT 1 FROM sqlite_schema WHERE name = 'state'")? {
        return Ok(CommitMark { store: String::new(), revision: Revision(0) });
    }
    let store = match has("SELECT 1 FROM pragma_table_info('state') WHERE name = 'store'")? {
        true => "store",
        false => "''",
    };
    let select = format!("SELECT {store}, revision FROM state");
    let found = conn.query_row(&select, [], |row| {
        Ok(CommitMark { store: row.get(0)?, revision: Revision(super::rows::unsigned(row, 1)?) })
    });
    Ok(found.optional()?.unwrap_or(CommitMark { store: String::new(), revision: Revision(0) }))
}

/// Reads the mark beside a store. `None` if there is none or it is torn.
pub(super) fn read_mark(path: &Path) -> Option<CommitMark> {
    let mut text = String::new();
    File::open(mark_of(path)).ok()?.take(MAX_MARK_BYTES).read_to_string(&mut text).ok()?;
    let (body, sum) = text.trim_end().rsplit_once(' ')?;
    if sum_of(body) != sum {
        tracing::warn!(mark = %mark_of(path).display(), "the mark of the last revision is damaged and ignored");
        return None;
    }
    let mut words = body.split(' ');
    let (mark, store, revision) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    (mark == MARK).then(|| CommitMark { store: store.to_owned(), revision: Revision(revision) })
}

/// True if the mark shows that something was committed to the workspace of this file.
pub(super) fn is_marked(path: &Path) -> bool {
    read_mark(path).is_some_and(|marked| marked.revision > Revision(0))
}

/// Writes the mark, unless it already has the same or a later revision of the same store. If this fails, the store is
/// still intact, but later losses are harder to detect.
pub(super) fn raise_mark(path: &Path, committed: &CommitMark) {
    write_mark(path, committed, |marked| {
        marked.store != committed.store || marked.revision < committed.revision
    });
}

/// Writes the mark, whatever it contains.
pub(super) fn set_mark(path: &Path, committed: &CommitMark) {
    write_mark(path, committed, |_| true);
}

fn write_mark(path: &Path, committed: &CommitMark, replaces: impl Fn(&CommitMark) -> bool) {
    let mark = mark_of(path);
    let write = || -> io::Result<()> {
        let file = private::options().create(true).truncate(false).read(true).open(&mark)?;
        // If two processes write at once, the lower revision must not come last. A process without the lock leaves the
        // mark to the other one, at most one group of commits behind.
        if file.try_lock().is_err() || read_mark(path).is_some_and(|marked| !replaces(&marked)) {
            return Ok(());
        }
        let CommitMark { store, revision } = committed;
        // The length is the same for every revision, so the mark is replaced in one write.
        let body = format!("{MARK} {store} {:020}", revision.0);
        write_at_start(&file, format!("{body} {}\n", sum_of(&body)).as_bytes())
    };
    if let Err(error) = write() {
        tracing::debug!(%error, mark = %mark.display(), "the mark of the last revision is not written");
    }
}

#[cfg(unix)]
fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn write_at_start(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}

fn sum_of(body: &str) -> String {
    blake3::hash(body.as_bytes()).to_hex()[..16].to_owned()
}

/// The file of the mark.
pub(super) fn mark_of(path: &Path) -> PathBuf {
    beside(path, "-mark")
}

/// Returns the path with `suffix` appended to the file name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(unix)]
fn id_of(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// On other systems, an open file cannot be moved or deleted.
#[cfg(not(unix))]
fn id_of(_: &Path) -> Option<FileId> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed(store: &str, revision: u64) -> CommitMark {
        CommitMark { store: store.to_owned(), revision: Revision(revision) }
    }

    #[test]
    fn a_mark_only_rises_for_one_store_and_is_replaced_for_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.graphloom");
        assert_eq!(read_mark(&path), None);
        for (store, revision, expected) in
            [("a", 9, ("a", 9)), ("a", 11, ("a", 11)), ("a", 10, ("a", 11)), ("b", 2, ("b", 2))]
        {
            raise_mark(&path, &committed(store, revision));
            assert_eq!(read_mark(&path), Some(committed(expected.0, expected.1)));
        }
        set_mark(&path, &committed("b", 1));
        assert_eq!(read_mark(&path), Some(committed("b", 1)));
    }

    #[test]
    fn a_damaged_mark_is_ignored_or_reads_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.graphloom");
        raise_mark(&path, &committed("0123456789abcdef", 7));
        let whole = std::fs::read(mark_of(&path)).expect("a mark");
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                std::fs::write(mark_of(&path), bytes).expect("written");
                let read = read_mark(&path);
                assert!(read.is_none() || read == Some(committed("0123456789abcdef", 7)), "{at} {bit}");
            }
            std::fs::write(mark_of(&path), &whole[..at]).expect("written");
            assert!(read_mark(&path).is_none_or(|read| read == committed("0123456789abcdef", 7)), "{at}");
        }
    }
}
