//! Room that a workspace keeps on the disk, so that documents can be removed when the disk is full.
//!
//! Removing frees room in the end, but first it needs some: the write-ahead log grows by every page that changes. So a file
//! of [`RESERVE_BYTES`] lies beside the store. A removal that meets a full disk deletes it and is tried again. Whoever has
//! the workspace open for writing makes it again once there is room.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::changes;
use super::place::beside;
use crate::private;

/// The size of the file: what removing a document of some pages takes in the log, and the index of the log.
pub(super) const RESERVE_BYTES: usize = 512 << 10;

/// The reserve of the store at `path`.
pub(super) fn reserve_of(path: &Path) -> PathBuf {
    beside(path, "-reserve")
}

/// Makes the reserve where it is missing. A disk without room for it is left as it is.
pub(super) fn keep(path: &Path) {
    let reserve = reserve_of(path);
    if reserve.metadata().is_ok_and(|file| file.len() >= RESERVE_BYTES as u64) {
        return;
    }
    if let Err(error) = write(&reserve) {
        // What is written of it is room that others may need.
        let _ = std::fs::remove_file(&reserve);
        tracing::debug!(%error, reserve = %reserve.display(), "no room is kept for removals");
    }
}

fn write(reserve: &Path) -> io::Result<()> {
    let mut file = private::options().create(true).truncate(false).open(reserve)?;
    // Who does not get the lock leaves it to the other process.
    if file.try_lock().is_err() {
        return Ok(());
    }
    // Some file systems keep zeros, and what repeats, without giving it room.
    let mut bytes = vec![0; RESERVE_BYTES];
    let seed = changes::random().to_le_bytes();
    blake3::Hasher::new().update(&seed).finalize_xof().fill(&mut bytes);
    file.write_all(&bytes)
}

/// Gives the room back to the disk; whether there was some.
pub(super) fn release(path: &Path) -> bool {
    std::fs::remove_file(reserve_of(path)).is_ok()
}
