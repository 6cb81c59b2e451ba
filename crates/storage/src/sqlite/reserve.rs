//! Disk space that a workspace reserves, so that documents can be removed when the disk is full.
//!
//! A removal frees space in the end, but first it needs some: the write-ahead log grows by every page that changes. So
//! a file of [`RESERVE_BYTES`] is kept beside the store. If a removal fails because the disk is full, it deletes this
//! file and tries again. A process that has the workspace open for writing recreates the file once there is space.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::changes;
use super::place::beside;
use crate::private;

/// The size of the file, enough for the log and the log's index when a document of some pages is removed.
pub(super) const RESERVE_BYTES: usize = 512 << 10;

/// Returns the path of the reserve of the store at `path`.
pub(super) fn reserve_of(path: &Path) -> PathBuf {
    beside(path, "-reserve")
}

/// Creates the reserve if it is missing. If the disk has no space for it, nothing changes.
pub(super) fn keep(path: &Path) {
    let reserve = reserve_of(path);
    if reserve.metadata().is_ok_and(|file| file.len() >= RESERVE_BYTES as u64) {
        return;
    }
    if let Err(error) = write(&reserve) {
        // A partial reserve would take space that others may need.
        let _ = std::fs::remove_file(&reserve);
        tracing::debug!(%error, reserve = %reserve.display(), "no space is reserved for removals");
    }
}

fn write(reserve: &Path) -> io::Result<()> {
    let mut file = private::options().create(true).truncate(false).open(reserve)?;
    // Without the lock, the other process does it.
    if file.try_lock().is_err() {
        return Ok(());
    }
    // Some file systems allocate no space for zeros or for repeated data.
    let mut bytes = vec![0; RESERVE_BYTES];
    let seed = changes::random().to_le_bytes();
    blake3::Hasher::new().update(&seed).finalize_xof().fill(&mut bytes);
    file.write_all(&bytes)
}

/// Frees the reserved space. Returns whether there was any.
pub(super) fn release(path: &Path) -> bool {
    std::fs::remove_file(reserve_of(path)).is_ok()
}
