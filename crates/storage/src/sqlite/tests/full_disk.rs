//! What still works on a full disk.

use std::io::ErrorKind;

use graphloom_core::{Store, StoreError};
use tempfile::TempDir;

use super::places::killed;
use super::{commit, matching, open, reopen};
use crate::conformance::{block_on, sample};
use crate::sqlite::locks::{LockPatience, Patience};
use crate::sqlite::reserve::{RESERVE_BYTES, reserve_of};
use crate::sqlite::schema;

/// Simulates a full disk for this thread: no file can be opened for writing, and the index of the log cannot be created.
struct Full;

impl Full {
    fn make() -> Self {
        schema::DENIED.set(Some(ErrorKind::StorageFull));
        Self
    }

    /// Like [`make`](Self::make), until the reserve for removals is released.
    fn without_reserve() -> Self {
        schema::UNTIL_RELEASED.set(true);
        Self::make()
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        schema::DENIED.set(None);
        schema::UNTIL_RELEASED.set(false);
    }
}

fn documents(store: &super::SqliteStore) -> u64 {
    block_on(async { store.snapshot().await?.counts().await }).expect("counts").documents
}

fn path(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("default.graphloom")
}

#[cfg(unix)]
#[test]
fn commits_in_the_log_are_read_even_without_room_for_its_index() {
    let folder = killed(3);
    let log = || std::fs::read(folder.path().join("default.graphloom-wal")).expect("a log");
    let before = log();
    let full = Full::make();
    let store = reopen(&folder);
    assert_eq!((documents(&store), matching(&store, "text")), (3, 3));
    let held = block_on(store.snapshot()).expect("a snapshot");
    assert_eq!(documents(&store), 3);
    assert_eq!(store.verify().expect("it is looked at"), []);
    let next = || sample::indexed("next", "Ada met Cleo", "ADA", "CLEO");
    let refused = block_on(store.commit(next())).expect_err("it cannot be written");
    assert!(matches!(refused, StoreError::DiskFull { .. }), "{refused:?}");
    assert!(log() == before, "the log is unchanged");

    drop(full);
    // A connection that opened the file for writing now could only read it.
    let writer = schema::open_writer(&path(&folder), &LockPatience::new(&path(&folder), Patience::Endless));
    assert!(matches!(writer.map(drop), Err(StoreError::Busy { .. })));
    assert_eq!(block_on(held.counts()).expect("counts").documents, 3);
    drop(held);
    commit(&store, next());
    assert_eq!(documents(&store), 4);
}

#[test]
fn a_removal_on_a_full_disk_uses_the_reserved_space() {
    let (store, folder) = open();
    let batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    let id = batch.put_documents[0].document.id.clone();
    commit(&store, batch);
    drop(store);
    let reserve = reserve_of(&path(&folder));
    let bytes = || reserve.metadata().map(|file| file.len()).ok();
    assert_eq!(bytes(), Some(RESERVE_BYTES as u64));

    let full = Full::without_reserve();
    let store = reopen(&folder);
    let refused = block_on(store.commit(sample::indexed("b", "Ada met Cleo", "ADA", "CLEO")));
    assert!(matches!(refused, Err(StoreError::DiskFull { .. })), "{refused:?}");
    assert_eq!(bytes(), Some(RESERVE_BYTES as u64));
    commit(&store, sample::removal(&[id], &["ADA", "BOB"]));
    assert_eq!(documents(&store), 0);
    drop((store, full));
    drop(reopen(&folder));
    assert_eq!(bytes(), Some(RESERVE_BYTES as u64));
}

#[cfg(unix)]
#[test]
fn the_reserved_space_is_allocated_and_private() {
    use std::os::unix::fs::MetadataExt;

    let (_store, folder) = open();
    let reserve = reserve_of(&path(&folder)).metadata().expect("the reserve");
    assert!(reserve.blocks() * 512 >= RESERVE_BYTES as u64, "{} blocks", reserve.blocks());
    assert_eq!(reserve.mode() & 0o777, 0o600);
}

#[test]
fn indexes_make_room_for_removals_and_are_rebuilt() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    assert_eq!(matching(&store, "met"), 1);
    store.shared.give_up_indexes();
    assert!(!folder.path().join("default.projections").join("full_text").exists());
    assert_eq!(matching(&store, "met"), 1);
}
