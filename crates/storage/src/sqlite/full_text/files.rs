//! Where the index stores its files: in its folder or, if that cannot be written, in memory on top of the folder's files.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::TantivyError;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, META_LOCK, RamDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use super::super::error::Condition;
use super::directory::CheckedDirectory;

/// The files of one index.
#[derive(Debug, Clone)]
pub(super) struct Files {
    /// The folder. `None` if none of its files are usable.
    folder: Option<CheckedDirectory>,
    /// The files written in memory, if the folder is not written.
    memory: Option<RamDirectory>,
    /// Why writing to the folder failed, if it did.
    refused: Arc<Mutex<Option<Condition>>>,
    /// Files created in the folder since the last update began.
    begun: Arc<Mutex<Vec<PathBuf>>>,
    denied: WriteFault,
}

/// Makes every write to the folder fail, for tests.
#[derive(Debug, Clone, Default)]
pub(super) struct WriteFault(#[cfg(test)] pub(super) Arc<Mutex<Option<io::ErrorKind>>>);

impl WriteFault {
    /// Fails if writes are set to fail.
    pub(super) fn check(&self) -> io::Result<()> {
        #[cfg(test)]
        if let Some(kind) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(kind.into());
        }
        Ok(())
    }

    /// Like [`check`](Self::check), for opening files, which a full disk still allows.
    fn check_opening(&self) -> io::Result<()> {
        self.check()
            .or_else(|error| if error.kind() == io::ErrorKind::StorageFull { Ok(()) } else { Err(error) })
    }
}

impl Files {
    /// Opens the files of a folder, to be written there.
    pub(super) fn in_folder(folder: &Path, denied: &WriteFault) -> Result<Self, TantivyError> {
        let folder = Some(CheckedDirectory::open(folder)?);
        let (refused, begun) = (Arc::default(), Arc::default());
        Ok(Self { folder, memory: None, refused, begun, denied: denied.clone() })
    }

    /// Opens the files of a folder, if there are any. What is written over them stays in memory.
    pub(super) fn in_memory(folder: Option<&Path>) -> Self {
        let folder = folder.and_then(|folder| CheckedDirectory::open(folder).ok());
        let memory = Some(RamDirectory::create());
        let (refused, begun) = (Arc::default(), Arc::default());
        Self { folder, memory, refused, begun, denied: WriteFault::default() }
    }

    /// True if writes stay in memory.
    pub(super) fn are_in_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Why the folder could not be written, if a write failed for lack of space or permission.
    pub(super) fn refused(&self) -> Option<Condition> {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears earlier failures.
    pub(super) fn forget_refusal(&self) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Removes files from the folder that an update created and that no commit names. They may be incomplete, and they
    /// take up space.
    pub(super) fn remove_begun(&self, is_named: impl Fn(&Path) -> bool) {
        let begun = std::mem::take(&mut *self.begun.lock().unwrap_or_else(PoisonError::into_inner));
        for path in begun.iter().filter(|path| !is_named(path)) {
            if let Some(folder) = &self.folder
                && let Err(error) = folder.delete(path)
            {
                tracing::debug!(%error, file = %path.display(), "a file that was begun stays");
            }
        }
    }

    fn note<T>(&self, done: io::Result<T>) -> io::Result<T> {
        note(&self.refused, done)
    }

    /// Returns the folder for a write.
    fn written_folder(&self) -> io::Result<&CheckedDirectory> {
        self.note(self.denied.check())?;
        self.opened_folder()
    }

    /// Returns the folder for opening a file to write.
    fn opened_folder(&self) -> io::Result<&CheckedDirectory> {
        self.note(self.denied.check_opening())?;
        self.folder.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn in_memory_at(&self, path: &Path) -> Option<&RamDirectory> {
        self.memory.as_ref().filter(|memory| memory.exists(path).unwrap_or(false))
    }

    fn missing(path: &Path) -> OpenReadError {
        OpenReadError::FileDoesNotExist(path.to_owned())
    }
}

fn note<T>(refused: &Mutex<Option<Condition>>, done: io::Result<T>) -> io::Result<T> {
    if let Err(error) = &done
        && let Some(condition) = Condition::of_disk(error)
    {
        *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(condition);
    }
    done
}

impl Directory for Files {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match (self.in_memory_at(path), &self.folder) {
            (Some(memory), _) => memory.get_file_handle(path),
            (None, Some(folder)) => folder.get_file_handle(path),
            (None, None) => Err(Self::missing(path)),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        if let Some(memory) = &self.memory {
            // Files in the folder stay there.
            return if self.in_memory_at(path).is_some() { memory.delete(path) } else { Ok(()) };
        }
        let failed =
            |error: io::Error| DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() };
        self.written_folder().map_err(failed)?.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        match (self.in_memory_at(path), &self.folder) {
            (Some(_), _) => Ok(true),
            (None, Some(folder)) => folder.exists(path),
            (None, None) => Ok(false),
        }
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        if let Some(memory) = &self.memory {
            return memory.open_write(path);
        }
        let failed = |error| OpenWriteError::wrap_io_error(error, path.to_owned());
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        let opened = self.opened_folder().map_err(failed)?.open_write(path);
        if let Err(OpenWriteError::IoError { io_error, .. }) = &opened {
            let _ = self.note::<()>(Err(io_error.kind().into()));
        }
        let refused = Arc::clone(&self.refused);
        Ok(BufWriter::new(Box::new(ErrorRecorder { file: opened?, refused, denied: self.denied.clone() })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        match (self.in_memory_at(path), &self.folder) {
            (Some(memory), _) => memory.atomic_read(path),
            (None, Some(folder)) => folder.atomic_read(path),
            (None, None) => Err(Self::missing(path)),
        }
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        match &self.memory {
            Some(memory) => memory.atomic_write(path, data),
            None => self.note(self.written_folder()?.atomic_write(path, data)),
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        match &self.memory {
            Some(_) => Ok(()),
            None => self.note(self.written_folder()?.sync_directory()),
        }
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if let Some(memory) = &self.memory {
            return memory.acquire_lock(lock);
        }
        let locked = match self.opened_folder() {
            Ok(folder) => folder.acquire_lock(lock),
            Err(error) => Err(LockError::wrap_io_error(error)),
        };
        match locked {
            // This lock keeps files from being removed while a reader opens them. If it cannot be created, the index is
            // read without it, and a file that is gone makes the reader look again.
            Err(LockError::IoError(_)) if lock.filepath == META_LOCK.filepath => {
                Ok(DirectoryLock::from(Box::new(())))
            }
            Err(LockError::IoError(error)) => {
                let _ = self.note::<()>(Err(error.kind().into()));
                Err(LockError::IoError(error))
            }
            locked => locked,
        }
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        match (&self.folder, &self.memory) {
            (Some(folder), _) => folder.watch(callback),
            (None, Some(memory)) => memory.watch(callback),
            (None, None) => Ok(WatchHandle::empty()),
        }
    }
}

/// A file in the folder that records why a write to it failed.
struct ErrorRecorder {
    file: WritePtr,
    refused: Arc<Mutex<Option<Condition>>>,
    denied: WriteFault,
}

impl Write for ErrorRecorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.denied.check().and_then(|()| self.file.write(bytes));
        note(&self.refused, written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.denied.check().and_then(|()| self.file.flush());
        note(&self.refused, flushed)
    }
}

impl TerminatingWrite for ErrorRecorder {
    fn terminate_ref(&mut self, token: AntiCallToken) -> io::Result<()> {
        let ended = self.denied.check().and_then(|()| self.file.terminate_ref(token));
        note(&self.refused, ended)
    }
}
