//! Files to add: walks folders, derives source names, and reads files up to a size limit.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use graphloom_readers::format_by_name;
use ignore::{DirEntry, Walk, WalkBuilder};

use crate::project::Here;

/// File in a folder that lists files not to add, in the syntax of `.gitignore`.
const IGNORE_FILE: &str = ".graphloomignore";

/// Beginning of the reason for skipping a file of an unsupported kind; the kind follows.
pub const UNSUPPORTED_KIND: &str = "files of kind ";

/// One result of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalkEntry {
    /// A file to add.
    File {
        /// The source name.
        source: String,
        /// Path of the file.
        path: PathBuf,
    },
    /// An entry of a folder that is not a document.
    Skipped {
        /// Path for display.
        source: String,
        /// Why it was skipped.
        reason: String,
    },
    /// A file that should be added but cannot be read.
    Refused {
        /// Path for display.
        source: String,
        /// Why it cannot be read.
        reason: String,
    },
}

/// Walks paths lazily. Folders are walked in name order, and each source is returned once.
pub struct Files<'a> {
    paths: std::slice::Iter<'a, PathBuf>,
    folder: Option<Walk>,
    here: &'a Here,
    left_out: PathBuf,
    is_supported: fn(&Path) -> bool,
    seen: HashSet<String>,
}

impl<'a> Files<'a> {
    /// Creates a walk.
    ///
    /// - `left_out`: a folder to skip, which holds the store.
    /// - `is_supported`: decides by its name whether a file in a folder is a document. Not used for files given directly.
    pub fn new(
        paths: &'a [PathBuf],
        here: &'a Here,
        left_out: &Path,
        is_supported: fn(&Path) -> bool,
    ) -> Self {
        let left_out = left_out.canonicalize().unwrap_or_else(|_| here.folder.join(left_out));
        Self { paths: paths.iter(), folder: None, here, left_out, is_supported, seen: HashSet::new() }
    }

    /// Enters a given path: a folder is walked, anything else is a file.
    fn enter(&mut self, path: &Path) -> Option<WalkEntry> {
        let real = match resolve(path) {
            Ok(real) => real,
            Err(error) => return Some(refused(path, &error)),
        };
        if real.is_dir() {
            self.folder = Some(self.walk(&real));
            return None;
        }
        self.file(&real)
    }

    fn walk(&self, folder: &Path) -> Walk {
        let left_out = self.left_out.clone();
        WalkBuilder::new(folder)
            .follow_links(false)
            .require_git(false)
            .git_global(false)
            .add_custom_ignore_filename(IGNORE_FILE)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(move |entry| entry.path() != left_out)
            .build()
    }

    /// Handles an entry of a folder.
    fn entry(&mut self, entry: Result<DirEntry, ignore::Error>) -> Option<WalkEntry> {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return Some(unreadable(&error)),
        };
        let kind = entry.file_type()?;
        let path = entry.path();
        let reason = if kind.is_dir() {
            return None;
        } else if kind.is_symlink() {
            "symbolic links are not followed".to_owned()
        } else if !kind.is_file() {
            "not a regular file".to_owned()
        } else if !(self.is_supported)(path) {
            match path.extension() {
                Some(extension) => {
                    format!("{UNSUPPORTED_KIND}.{} are not supported", extension.to_string_lossy())
                }
                None => "files without an extension are added only when named".to_owned(),
            }
        } else {
            return self.file(path);
        };
        let source = source_name(path, self.here).unwrap_or_else(|_| path.display().to_string());
        Some(WalkEntry::Skipped { source, reason })
    }

    fn file(&mut self, path: &Path) -> Option<WalkEntry> {
        match source_name(path, self.here) {
            Ok(source) => {
                self.seen.insert(source.clone()).then(|| WalkEntry::File { source, path: path.to_owned() })
            }
            Err(error) => Some(refused(path, &error)),
        }
    }
}

impl Iterator for Files<'_> {
    type Item = WalkEntry;

    fn next(&mut self) -> Option<WalkEntry> {
        loop {
            let found = match self.folder.as_mut().map(Iterator::next) {
                Some(Some(entry)) => self.entry(entry),
                Some(None) => {
                    self.folder = None;
                    None
                }
                None => {
                    let path = self.paths.next()?;
                    self.enter(path)
                }
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

/// Returns the source name of a path, with `/` as separator: relative to the project folder if the path is
/// inside it, otherwise absolute.
///
/// A name that is not valid Unicode is an error, because two such names could become equal.
pub fn source_name(path: &Path, here: &Here) -> io::Result<String> {
    let absolute = tidy(&here.folder.join(path));
    let named = absolute.strip_prefix(&here.root).unwrap_or(&absolute);
    let text = named
        .to_str()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the name is not valid Unicode"))?;
    Ok(if std::path::MAIN_SEPARATOR == '/' {
        text.to_owned()
    } else {
        text.replace(std::path::MAIN_SEPARATOR, "/")
    })
}

/// Returns the content of a file, or an error if it has more than `most` bytes, or if it is a folder, a pipe or a device.
pub fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    // Before it is opened: opening a pipe waits for a writer.
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    read_bounded(File::open(path)?, most)
}

/// Returns all bytes of `reader`, or an error if there are more than `most`.
pub fn read_bounded(reader: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    // Reads one byte beyond the limit, so that a file that grows while it is read is also detected.
    reader.take((most as u64).saturating_add(1)).read_to_end(&mut content)?;
    if content.len() > most {
        let what = format!("larger than {}, the limit for one document", bytes(most as u64));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(content)
}

/// Formats a size for people, such as `1.5 MiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// True if the name of a file shows that it is a document.
pub fn is_supported(path: &Path) -> bool {
    format_by_name(&path.to_string_lossy()).is_some()
}

/// Resolves symbolic links in the folder of a path, so that each file has one name.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let metadata = fs::metadata(path)?;
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !metadata.is_dir() => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(parent.canonicalize()?.join(name))
        }
        _ => path.canonicalize(),
    }
}

/// Removes `.` and `..` without reading the disk. Safe after [`resolve`].
fn tidy(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut tidied, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidied.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => tidied.push(part),
        }
        tidied
    })
}

fn refused(path: &Path, error: &io::Error) -> WalkEntry {
    WalkEntry::Refused { source: path.display().to_string(), reason: reason(error) }
}

/// Describes an I/O error without the operating system's error number.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

fn unreadable(error: &ignore::Error) -> WalkEntry {
    let mut source = "folder".to_owned();
    let mut cause = error;
    loop {
        cause = match cause {
            ignore::Error::WithPath { path, err } => {
                source = path.display().to_string();
                err
            }
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => err,
            _ => break,
        };
    }
    let reason = cause.io_error().map_or_else(|| cause.to_string(), reason);
    WalkEntry::Refused { source, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_walk(files: &[&str], ignored: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("real");
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("inside")).expect("made");
            fs::write(path, "x").expect("written");
        }
        fs::write(root.join(IGNORE_FILE), ignored).expect("written");
        let markdown = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
        let paths = [root.clone(), root.join(files[0])];
        let here = Here { folder: root.clone(), root };
        Files::new(&paths, &here, Path::new("store"), markdown)
            .map(|found| match found {
                WalkEntry::File { source, .. } => source,
                WalkEntry::Skipped { source, reason } => format!("{source}: {reason}"),
                WalkEntry::Refused { source, reason } => panic!("{source}: {reason}"),
            })
            .collect()
    }

    #[test]
    fn bytes_are_shown_in_the_largest_unit_that_fits() {
        assert_eq!([1023, 1536, 3 << 30].map(bytes), ["1023 B", "1.5 KiB", "3.0 GiB"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_without_waiting_for_a_writer() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe.txt");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
        assert!(made.success());
        assert_eq!(read(&pipe, 10).expect_err("refused").to_string(), "is not a regular file");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_with_a_non_unicode_name_counts_as_its_format() {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
        assert!(is_supported(Path::new(name)));
    }

    #[test]
    fn a_folder_is_walked_in_order_and_each_file_found_once() {
        assert_eq!(check_walk(&["b.md", "a/z.md", "a/c.md"], ""), ["a/c.md", "a/z.md", "b.md"]);
    }

    #[test]
    fn hidden_and_ignored_files_and_the_store_are_skipped() {
        assert_eq!(check_walk(&["a.md", ".hidden.md", "old/b.md", "store/c.md"], "old/"), ["a.md"]);
    }

    #[test]
    fn files_of_unknown_kinds_are_listed() {
        let found = check_walk(&["a.md", "b.bin", "README"], "");
        let expected = [
            "README: files without an extension are added only when named",
            "a.md",
            "b.bin: files of kind .bin are not supported",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_source_has_the_same_name_however_its_path_is_written() {
        let here = &Here { folder: "/home/a".into(), root: "/home/a".into() };
        for path in ["docs/x.md", "./docs/x.md", "docs/../docs/./x.md", "/home/a/docs/x.md"] {
            assert_eq!(source_name(Path::new(path), here).ok().as_deref(), Some("docs/x.md"));
        }
        assert_eq!(source_name(Path::new("../b/x.md"), here).ok().as_deref(), Some("/home/b/x.md"));
        let inside = &Here { folder: "/home/a/docs".into(), root: "/home/a".into() };
        for (path, name) in [("x.md", "docs/x.md"), ("../y.md", "y.md"), ("../../b/x.md", "/home/b/x.md")] {
            assert_eq!(source_name(Path::new(path), inside).ok().as_deref(), Some(name));
        }
    }
}
