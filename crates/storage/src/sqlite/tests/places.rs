//! Stores whose files are missing, shortened, moved or older than the last commit.

use std::path::{Path, PathBuf};

use graphloom_core::{Batch, Revision, Store, StoreError, WorkspaceId};
use tempfile::TempDir;

use super::{commit, reopen};
use crate::conformance::{block_on, sample};
use graphloom_core::Loss;

use crate::sqlite::repair;
use crate::sqlite::{SqliteStore, exists};

const FILE: &str = "default.graphloom";

/// Returns a folder as `kill -9` leaves it after `commits` commits: the commits are in the log.
pub(super) fn killed(commits: usize) -> TempDir {
    let alive = tempfile::tempdir().expect("a folder");
    let store = reopen(&alive);
    for number in 0..commits {
        commit(&store, sample::indexed(&number.to_string(), &format!("text {number}"), "ADA", "BOB"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    for suffix in ["", "-wal", "-mark"] {
        let name = format!("{FILE}{suffix}");
        std::fs::copy(alive.path().join(&name), folder.path().join(&name)).expect("copied");
    }
    folder
}

fn part(folder: &TempDir, suffix: &str) -> PathBuf {
    folder.path().join(format!("{FILE}{suffix}"))
}

fn open(folder: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(folder, WorkspaceId::default())
}

fn check_lost(folder: &TempDir, loss: Loss) {
    let opened = open(folder.path()).map(drop);
    assert!(matches!(opened, Err(StoreError::Lost { .. })), "{opened:?}");
    assert!(exists(folder.path(), &WorkspaceId::default()));
    assert_eq!(repair::loss(folder.path(), &WorkspaceId::default()).expect("what is lost"), Some(loss));
}

fn accept(folder: &TempDir) -> SqliteStore {
    let workspace = WorkspaceId::default();
    repair::keep_copy(folder.path(), &workspace).expect("copied");
    repair::accept_loss(folder.path(), &workspace).expect("accepted");
    assert_eq!(repair::loss(folder.path(), &workspace).expect("what is lost"), None);
    open(folder.path()).expect("the store opens")
}

fn revision(store: &SqliteStore) -> Revision {
    block_on(store.snapshot()).expect("a snapshot").revision()
}

#[test]
fn a_store_of_a_killed_process_is_complete() {
    let folder = killed(3);
    assert_eq!(revision(&reopen(&folder)), Revision(3));
    assert!(!part(&folder, "-wal").exists(), "the log is in the file");
    assert_eq!(revision(&reopen(&folder)), Revision(3));
}

#[test]
fn a_store_without_its_log_is_refused_until_the_loss_is_accepted() {
    let folder = killed(3);
    let log = std::fs::read(part(&folder, "-wal")).expect("a log");
    std::fs::remove_file(part(&folder, "-wal")).expect("removed");
    check_lost(&folder, Loss { found: Revision(0), committed: Revision(3) });
    std::fs::write(part(&folder, "-wal"), log).expect("put back");
    assert_eq!(revision(&reopen(&folder)), Revision(3));

    let folder = killed(3);
    std::fs::remove_file(part(&folder, "-wal")).expect("removed");
    let store = accept(&folder);
    assert_eq!(commit(&store, sample::indexed("b", "Ada met Bob", "ADA", "BOB")), Revision(1));
}

#[test]
fn a_damaged_log_is_refused_and_not_changed() {
    let folder = killed(4);
    let whole = std::fs::read(part(&folder, "-wal")).expect("a log");
    let mut refused = 0;
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let folder = killed_copy(&folder);
        let mut log = whole.clone();
        log[at] ^= 0x10;
        std::fs::write(part(&folder, "-wal"), &log).expect("written");
        match open(folder.path()) {
            Ok(store) => assert_eq!(revision(&store), Revision(4), "byte {at}"),
            Err(StoreError::Lost { .. }) => {
                refused += 1;
                assert!(std::fs::read(part(&folder, "-wal")).expect("still there") == log, "byte {at}");
            }
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
    assert!(refused > 20, "{refused}");
}

fn killed_copy(folder: &TempDir) -> TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    for suffix in ["", "-wal", "-mark"] {
        std::fs::copy(part(folder, suffix), part(&copy, suffix)).expect("copied");
    }
    copy
}

#[test]
fn a_missing_or_truncated_file_does_not_create_a_new_workspace() {
    for length in [None, Some(0), Some(1), Some(511)] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = reopen(&folder);
        commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
        drop(store);
        match length {
            None => std::fs::remove_file(part(&folder, "")).expect("removed"),
            Some(length) => std::fs::write(part(&folder, ""), vec![7; length]).expect("written"),
        }
        check_lost(&folder, Loss { found: Revision(0), committed: Revision(1) });
        assert_eq!(revision(&accept(&folder)), Revision(0));
    }
}

#[test]
fn an_empty_file_without_a_mark_is_a_new_workspace_and_a_short_one_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(part(&folder, ""), "").expect("written");
    assert_eq!(revision(&reopen(&folder)), Revision(0));
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(part(&folder, ""), "x").expect("written");
    assert!(matches!(open(folder.path()).map(drop), Err(StoreError::Lost { .. })));
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(part(&folder, "-wal"), "log").expect("written");
    assert!(matches!(open(folder.path()).map(drop), Err(StoreError::Lost { .. })));
    assert!(part(&folder, "-wal").exists());
}

#[test]
fn only_an_older_copy_at_the_same_place_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = reopen(&folder);
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    drop(store);
    let older = std::fs::read(part(&folder, "")).expect("the file");
    let store = reopen(&folder);
    commit(&store, sample::indexed("b", "Cleo met Dan", "CLEO", "DAN"));
    drop(store);
    std::fs::write(part(&folder, ""), &older).expect("an older copy");
    check_lost(&folder, Loss { found: Revision(1), committed: Revision(2) });
    assert_eq!(revision(&accept(&folder)), Revision(1));

    let elsewhere = tempfile::tempdir().expect("a folder");
    std::fs::write(part(&elsewhere, ""), &older).expect("a copy");
    assert_eq!(revision(&reopen(&elsewhere)), Revision(1));

    let other = tempfile::tempdir().expect("a folder");
    let store = reopen(&other);
    for name in ["c", "d", "e"] {
        commit(&store, sample::indexed(name, "Ada met Bob", "ADA", "BOB"));
    }
    drop(store);
    std::fs::write(part(&other, ""), &older).expect("another store");
    assert_eq!(revision(&reopen(&other)), Revision(1));
}

#[cfg(unix)]
#[test]
fn nothing_is_acknowledged_while_a_file_of_the_store_is_moved_or_replaced() {
    for suffix in ["", "-wal"] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = reopen(&folder);
        commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
        let (here, away) = (part(&folder, suffix), folder.path().join("away"));
        std::fs::rename(&here, &away).expect("moved");
        let check_gone = || {
            let refused = block_on(store.commit(sample::indexed("b", "Cleo met Dan", "CLEO", "DAN")));
            assert!(matches!(refused, Err(StoreError::Gone { .. })), "{suffix} {refused:?}");
            assert!(matches!(block_on(store.snapshot()).map(drop), Err(StoreError::Gone { .. })));
        };
        check_gone();
        std::fs::write(&here, "another file").expect("written");
        check_gone();
        std::fs::rename(&away, &here).expect("moved back");
        assert_eq!(
            commit(&store, sample::indexed("c", "Dan met Eve", "DAN", "EVE")),
            Revision(2),
            "{suffix}"
        );
    }
}

#[test]
fn copies_of_a_damaged_store_do_not_overwrite_each_other() {
    let folder = killed(1);
    let names = |copies: Vec<PathBuf>| -> Vec<String> {
        copies.iter().map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
    };
    for number in [1, 2] {
        let copies = repair::keep_copy(folder.path(), &WorkspaceId::default()).expect("copied");
        let expected = ["", "-wal", "-mark"].map(|suffix| format!("{FILE}.damaged-{number}{suffix}"));
        assert_eq!(names(copies), expected);
    }
}

#[test]
fn no_page_of_the_file_holds_what_was_removed() {
    const SECRET: &str = "The salary of Xaverina Quelltropf is known to nobody. ";
    let folder = tempfile::tempdir().expect("a folder");
    let store = reopen(&folder);
    let text = SECRET.repeat(400);
    let new = sample::document("secret", &text);
    let (id, chunk) = (new.document.id.clone(), sample::whole(&new));
    commit(&store, Batch { put_documents: vec![new], put_chunks: vec![chunk], ..Batch::default() });
    commit(&store, Batch { remove_documents: vec![id], ..Batch::default() });
    drop(store);
    for suffix in ["", "-wal"] {
        let bytes = std::fs::read(part(&folder, suffix)).unwrap_or_default();
        let holds = |words: &str| bytes.windows(words.len()).any(|window| window == words.as_bytes());
        assert!(!holds("Quelltropf"), "{suffix}");
    }
}
