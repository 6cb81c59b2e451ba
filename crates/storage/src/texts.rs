//! Small texts that processes of one host share, each a file in a folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{Clock, SharedTexts, StoreError};

use crate::private;
use crate::sqlite::{apart, unwritable_folder};

/// Lock file that is held while a text is replaced.
const LOCK: &str = "lock";

/// The texts of a folder, which is created with the first one. A file has the version in its first line, followed by the text.
pub(crate) struct FileTexts {
    folder: PathBuf,
}

impl FileTexts {
    /// Returns the texts of this folder.
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }
}

#[async_trait]
impl SharedTexts for FileTexts {
    fn place(&self) -> String {
        self.folder.display().to_string()
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    async fn read(&self, name: &str) -> Result<Option<(u64, String)>, StoreError> {
        let path = self.folder.join(file_name(name));
        let folder = self.folder.clone();
        apart("reading a shared text", move || {
            read(&path).map_err(|error| unwritable_folder("reading", &folder, error))
        })
        .await
    }

    async fn replace(&self, name: &str, version: u64, text: &str) -> Result<bool, StoreError> {
        let (folder, file) = (self.folder.clone(), file_name(name));
        let body = format!("{}\n{text}", version + 1);
        apart("changing a shared text", move || {
            replace(&folder, &file, version, &body)
                .map_err(|error| unwritable_folder("writing in", &folder, error))
        })
        .await
    }
}

/// Converts a name to a file name. Bytes other than letters, digits, `-` and `.` are written as codes.
fn file_name(name: &str) -> String {
    let mut file = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' => file.push(char::from(byte)),
            byte => file.push_str(&format!("_{byte:02x}")),
        }
    }
    file + ".text"
}

fn read(path: &Path) -> io::Result<Option<(u64, String)>> {
    let body = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        body => body?,
    };
    let read =
        body.split_once('\n').and_then(|(version, text)| Some((version.parse().ok()?, text.to_owned())));
    read.map(Some).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the text is damaged"))
}

fn replace(folder: &Path, file: &str, version: u64, body: &str) -> io::Result<bool> {
    private::create_folder(folder)?;
    let lock = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
    lock.lock()?;
    let path = folder.join(file);
    // A damaged text is replaced by the next change.
    let found = read(&path).ok().flatten().map_or(0, |(version, _)| version);
    if found != version {
        return Ok(false);
    }
    let new = folder.join(format!("{file}.new"));
    fs::write(&new, body)?;
    fs::rename(&new, &path)?;
    Ok(true)
}
