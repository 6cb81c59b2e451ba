//! The folder of the index. Every file is checked against its checksum when it is read, and no file is mapped into memory.
//!
//! If another program truncates a mapped file, the process that reads it is killed. So small files are read whole, and
//! large ones in parts as needed. If a part is missing, that is an error, and the index is rebuilt. tantivy ends each
//! segment file with a checksum, but never verifies it. Here it is verified when a file is opened. The two small files
//! that name the segments have no checksum, so one is added here.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::de::IgnoredAny;
use serde_json::Value;
use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::footer::Footer;
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, WatchCallback, WatchHandle,
    WritePtr,
};

/// Largest file that is kept in memory as a whole.
const MAX_WHOLE_BYTES: u64 = 8 << 20;
/// Largest file whose checksum is verified when it is opened, which takes some 10 ms. Only `check` verifies larger files.
const MAX_COMPARED_BYTES: u64 = 64 << 20;
/// Smallest part of a large file that is kept for the next search. Parts of this size are the columns that every search reads.
const MIN_KEPT_BYTES: usize = 64 << 10;
/// Bytes read at a time when a file is only verified.
const BUFFER_BYTES: usize = 1 << 20;
/// The number at the end of a tantivy file, after the length of the JSON value with the checksum.
const FOOTER_MAGIC: u32 = 1337;
/// Bytes of both numbers.
const TAIL_BYTES: u64 = 8;
/// Longest such JSON value, in bytes.
const MAX_FOOTER_BYTES: u64 = 4096;
/// Hexadecimal digits of the checksum at the end of a file that names segments.
const SUM_DIGITS: usize = 16;
/// The file that names the segments of the index.
const META: &str = "meta.json";
/// The file that names all files that the index has written and not deleted yet.
const MANAGED: &str = ".managed.json";

/// The folder of an index.
#[derive(Debug, Clone)]
pub(in crate::sqlite) struct CheckedDirectory {
    /// Handles writes, deletes and locks.
    inner: MmapDirectory,
    folder: Arc<Path>,
    /// Files that are currently open. They never change, so opening one again costs nothing.
    open: Arc<Mutex<HashMap<PathBuf, Weak<Whole>>>>,
}

impl CheckedDirectory {
    /// Opens the folder, which must exist.
    pub(in crate::sqlite) fn open(folder: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self { inner: MmapDirectory::open(folder)?, folder: folder.into(), open: Arc::default() })
    }

    fn opened(&self, path: &Path) -> io::Result<Arc<Whole>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(path).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let file = Arc::new(Whole::open(&self.folder.join(path))?);
        open.retain(|_, file| file.strong_count() > 0);
        open.insert(path.to_owned(), Arc::downgrade(&file));
        Ok(file)
    }
}

impl Directory for CheckedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match self.opened(path) {
            Ok(file) => Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenReadError::FileDoesNotExist(path.to_owned()))
            }
            Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.inner.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let mut bytes = self.inner.atomic_read(path)?;
        let length = bytes.len().saturating_sub(SUM_DIGITS);
        if bytes[length..] != *sum_of(&bytes[..length]).as_bytes() {
            return Err(OpenReadError::wrap_io_error(damaged(), path.to_owned()));
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.inner.atomic_write(path, &[data, sum_of(data).as_bytes()].concat())
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.inner.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}

/// A segment file, with the length it had when it was opened.
#[derive(Debug)]
struct Whole {
    length: usize,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    InMemory(OwnedBytes),
    InFile { file: Mutex<File>, kept: Mutex<HashMap<(usize, usize), OwnedBytes>> },
}

impl Whole {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        if length > MAX_WHOLE_BYTES {
            if length <= MAX_COMPARED_BYTES && !is_sound(&mut file)? {
                return Err(damaged());
            }
            let length = usize::try_from(length).map_err(io::Error::other)?;
            return Ok(Self {
                length,
                bytes: Bytes::InFile { file: Mutex::new(file), kept: Mutex::default() },
            });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if !is_sound(&mut io::Cursor::new(&bytes))? {
            return Err(damaged());
        }
        Ok(Self { length: bytes.len(), bytes: Bytes::InMemory(OwnedBytes::new(bytes)) })
    }
}

impl HasLen for Whole {
    fn len(&self) -> usize {
        self.length
    }
}

impl FileHandle for Whole {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let (file, kept) = match &self.bytes {
            Bytes::InMemory(bytes) if range.end <= self.length => return Ok(bytes.slice(range)),
            Bytes::InMemory(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Bytes::InFile { file, kept } => (file, kept),
        };
        let place = (range.start, range.end);
        let mut kept =
            (range.len() >= MIN_KEPT_BYTES).then(|| kept.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(known) = kept.as_ref().and_then(|kept| kept.get(&place)) {
            return Ok(known.clone());
        }
        let mut bytes = vec![0; range.len()];
        read_at(file, &mut bytes, range.start as u64)?;
        let bytes = OwnedBytes::new(bytes);
        if let Some(kept) = &mut kept {
            kept.insert(place, bytes.clone());
        }
        Ok(bytes)
    }
}

#[cfg(unix)]
fn read_at(file: &Mutex<File>, bytes: &mut [u8], at: u64) -> io::Result<()> {
    // Reading at an offset does not move the file position.
    let file = file.lock().unwrap_or_else(PoisonError::into_inner);
    std::os::unix::fs::FileExt::read_exact_at(&*file, bytes, at)
}

#[cfg(not(unix))]
fn read_at(file: &Mutex<File>, bytes: &mut [u8], at: u64) -> io::Result<()> {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(bytes)
}

/// Returns the files of an index whose checksums do not match, including the files that name segments.
///
/// Segment files that the index does not name are ignored: they were left by an interrupted writer, or another process
/// is writing them.
pub(in crate::sqlite) fn damaged_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let meta = std::fs::read(folder.join(META))?;
    let segments = named_segments(&meta);
    let mut damaged = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_sound = match name {
            META => is_sound_list(&meta),
            MANAGED => is_sound_list(&std::fs::read(&path)?),
            name if !segments.iter().any(|segment| segment.has(name)) => true,
            _ => match File::open(&path) {
                Ok(mut file) => is_sound(&mut file)?,
                // A writer replaced the segment in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => true,
                Err(error) => return Err(error),
            },
        };
        if !is_sound {
            damaged.push(path);
        }
    }
    damaged.sort();
    Ok(damaged)
}

/// True if the list of segments matches its checksum. Older releases wrote the bare JSON value without a checksum. The
/// next search replaces it.
fn is_sound_list(bytes: &[u8]) -> bool {
    let (list, sum) = bytes.split_at(bytes.len().saturating_sub(SUM_DIGITS));
    *sum == *sum_of(list).as_bytes() || serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// A segment in the index's list.
struct NamedSegment {
    /// The prefix of its file names.
    id: String,
    /// The number in the name of its file of deleted entries.
    deletes: Option<u64>,
}

impl NamedSegment {
    fn has(&self, file: &str) -> bool {
        let Some(rest) = file.strip_prefix(&self.id) else { return false };
        match rest.strip_suffix(".del") {
            Some(number) => self.deletes.is_some_and(|deletes| number == format!(".{deletes}")),
            None => true,
        }
    }
}

/// Returns the segments in an index's list, or none if the list cannot be read.
fn named_segments(meta: &[u8]) -> Vec<NamedSegment> {
    let Some(Ok(meta)) = serde_json::Deserializer::from_slice(meta).into_iter::<Value>().next() else {
        return Vec::new();
    };
    let segments = meta["segments"].as_array().into_iter().flatten();
    segments
        .filter_map(|segment| {
            let id = segment["segment_id"].as_str()?.replace('-', "");
            Some(NamedSegment { id, deletes: segment["deletes"]["opstamp"].as_u64() })
        })
        .collect()
}

/// True if a file matches the checksum at its end.
fn is_sound(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let length = file.seek(SeekFrom::End(0))?;
    let Some(before) = length.checked_sub(TAIL_BYTES) else { return Ok(false) };
    let mut footer_bytes = [0; 4];
    file.seek(SeekFrom::Start(before))?;
    file.read_exact(&mut footer_bytes)?;
    let footer_bytes = u64::from(u32::from_le_bytes(footer_bytes));
    let Some(body) = before.checked_sub(footer_bytes) else { return Ok(false) };
    if footer_bytes > MAX_FOOTER_BYTES {
        return Ok(false);
    }
    let mut end = vec![0; (length - body) as usize];
    file.seek(SeekFrom::Start(body))?;
    file.read_exact(&mut end)?;
    file.seek(SeekFrom::Start(0))?;
    let (mut sum, mut left) = (crc32fast::Hasher::new(), body);
    let mut buffer = vec![0; BUFFER_BYTES.min(body as usize)];
    while left > 0 {
        let part = &mut buffer[..left.min(BUFFER_BYTES as u64) as usize];
        file.read_exact(part)?;
        sum.update(part);
        left -= part.len() as u64;
    }
    // The whole end is compared, so that no bit of the file goes unchecked. So an index written by another release of
    // tantivy is rebuilt.
    let footer = Footer { version: tantivy::version().clone(), crc: sum.finalize() };
    let mut expected = serde_json::to_vec(&footer)?;
    expected.extend((expected.len() as u32).to_le_bytes());
    expected.extend(FOOTER_MAGIC.to_le_bytes());
    Ok(end == expected)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its bytes do not match its checksum")
}

fn sum_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..SUM_DIGITS].to_owned()
}
