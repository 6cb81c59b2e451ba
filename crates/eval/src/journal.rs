//! A journal of results: rows with keys, one JSON line each, appended as they arrive.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use graphloom_core::ContentHash;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// An open journal, locked against other processes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

/// The content of a journal when it was opened.
#[derive(Debug)]
pub struct JournalContent<T> {
    /// The rows; if a key occurs several times, the last row.
    pub rows: BTreeMap<ContentHash, T>,
    /// Number of invalid lines, for example the incomplete last line of a killed run.
    pub unreadable: usize,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process is writing it.
    #[error("another run is writing {}", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read or written.
    #[error("saving results in {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl JournalError {
    /// A remedy, if known.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Busy { .. } => Some("wait until the other run ends, or use another file"),
            Self::Io { .. } => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Line<T> {
    key: ContentHash,
    row: T,
}

impl Journal {
    /// Opens the journal at `path`; creates it if it does not exist.
    ///
    /// - `keep`: whether to keep and return existing rows; otherwise the journal starts empty.
    pub fn open<T: DeserializeOwned>(
        path: &Path,
        keep: bool,
    ) -> Result<(Self, JournalContent<T>), JournalError> {
        let failed = |source| JournalError::Io { path: path.to_owned(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut kept = JournalContent { rows: BTreeMap::new(), unreadable: 0 };
        if keep {
            read_into(&file, &mut kept).map_err(failed)?;
        } else {
            file.set_len(0).map_err(failed)?;
        }
        let end = file.seek(SeekFrom::End(0)).map_err(failed)?;
        if end > 0 {
            // A truncated last line must not absorb the next one.
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok((Self { path: path.to_owned(), file }, kept))
    }

    /// Adds a row. It survives the end of the process.
    pub fn append<T: Serialize>(&mut self, key: &ContentHash, row: &T) -> Result<(), JournalError> {
        let written = serde_json::to_vec(&Line { key: key.clone(), row }).map_err(io::Error::other).and_then(
            |mut line| {
                line.push(b'\n');
                self.file.write_all(&line)
            },
        );
        written.map_err(|source| JournalError::Io { path: self.path.clone(), source })
    }
}

fn read_into<T: DeserializeOwned>(file: &File, kept: &mut JournalContent<T>) -> io::Result<()> {
    for line in BufReader::new(file).split(b'\n') {
        let line = line?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Line<T>>(&line) {
            Ok(Line { key, row }) => {
                kept.rows.insert(key, row);
            }
            Err(_) => kept.unreadable += 1,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> ContentHash {
        ContentHash::of(text.as_bytes())
    }

    #[test]
    fn appended_rows_are_read_again_after_a_truncated_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/rows.jsonl");
        let (mut journal, kept) = Journal::open::<u32>(&path, true).expect("opened");
        assert!(kept.rows.is_empty());
        journal.append(&key("a"), &1).expect("written");
        journal.file.write_all(b"{\"key\": \"cu").expect("written");
        drop(journal);
        let (mut journal, kept) = Journal::open::<u32>(&path, true).expect("opened");
        assert_eq!((kept.rows, kept.unreadable), (BTreeMap::from([(key("a"), 1)]), 1));
        journal.append(&key("b"), &2).expect("written");
        journal.append(&key("a"), &3).expect("written");
        drop(journal);
        let (_, kept) = Journal::open::<u32>(&path, true).expect("opened");
        assert_eq!(kept.rows, BTreeMap::from([(key("a"), 3), (key("b"), 2)]));
    }

    #[test]
    fn a_journal_can_be_restarted_and_is_held_by_one_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.jsonl");
        let (mut journal, _) = Journal::open::<u32>(&path, true).expect("opened");
        journal.append(&key("a"), &1).expect("written");
        assert!(matches!(Journal::open::<u32>(&path, true), Err(JournalError::Busy { .. })));
        drop(journal);
        let (_, kept) = Journal::open::<u32>(&path, false).expect("opened");
        assert!(kept.rows.is_empty());
    }
}
