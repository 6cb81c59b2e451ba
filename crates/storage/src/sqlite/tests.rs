//! Runs the conformance suite on the embedded store, and tests behaviour that only files have.

mod full_disk;
mod places;
mod sums;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use graphloom_core::{Batch, ItemKind, Revision, SearchRequest, Store, StoreError, WorkspaceId};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{Patience, SqliteStore, full_text, list_workspaces, schema};
use crate::conformance::{block_on, sample};

fn open() -> (SqliteStore, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    (reopen(&folder), folder)
}

fn reopen(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(folder.path(), WorkspaceId::default()).expect("the store opens")
}

crate::conformance_tests!(open);

mod as_workspaces {
    use super::*;

    fn open() -> (super::super::FileWorkspaces, &'static str, TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        (super::super::FileWorkspaces::new(folder.path()), "test-", folder)
    }

    crate::workspaces_conformance_tests!(open);
}

fn commit(store: &SqliteStore, batch: Batch) -> Revision {
    block_on(store.commit(batch)).expect("the batch is accepted")
}

fn matching(store: &SqliteStore, text: &str) -> usize {
    let request = [SearchRequest::by_words(ItemKind::Chunk, text, 9)];
    block_on(async { store.snapshot().await?.search(&request).await }).expect("an answer")[0].len()
}

fn watermark(store: &SqliteStore) -> Revision {
    block_on(async { store.snapshot().await?.projections().await }).expect("an answer")[0].watermark
}

#[test]
fn a_reopened_store_is_unchanged() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    let before = block_on(async { store.snapshot().await?.counts().await }).expect("counts");
    drop(store);
    let store = reopen(&folder);
    let after = block_on(async { store.snapshot().await?.counts().await }).expect("counts");
    assert_eq!(before, after);
    assert_eq!(commit(&store, sample::indexed("b", "Cleo met Dan", "C", "D")), Revision(2));
}

#[test]
fn two_stores_on_one_file_see_each_others_commits() {
    let (one, folder) = open();
    let other = reopen(&folder);
    assert_eq!(commit(&one, sample::indexed("a", "Ada met Bob", "ADA", "BOB")), Revision(1));
    assert_eq!((matching(&one, "ada"), matching(&other, "ada")), (1, 1));
    assert_eq!(commit(&other, sample::indexed("b", "Ada met Cleo", "ADA", "CLEO")), Revision(2));
    assert_eq!((matching(&other, "ada"), matching(&one, "ada")), (2, 2));
    assert_eq!((watermark(&one), watermark(&other)), (Revision(2), Revision(2)));
}

#[test]
fn a_refused_batch_does_not_harm_those_committed_with_it() {
    let (store, _folder) = open();
    let good = |n: usize| sample::indexed(&n.to_string(), &format!("text {n}"), "ADA", "BOB");
    let mut bad = good(9);
    bad.put_vectors[0].vector.pop();
    let results = block_on(futures::future::join_all(
        (0..8).map(|n| store.commit(if n % 3 == 1 { bad.clone() } else { good(n) })),
    ));
    let refused = results.iter().filter(|result| matches!(result, Err(StoreError::Invalid { .. }))).count();
    let mut revisions: Vec<u64> = results.into_iter().flatten().map(|revision| revision.0).collect();
    revisions.sort_unstable();
    assert_eq!((refused, revisions), (3, vec![1, 2, 3, 4, 5]));
}

#[test]
fn a_lost_or_damaged_full_text_index_is_rebuilt() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    assert_eq!(matching(&store, "ada"), 1);
    drop(store);
    let index = folder.path().join("default.projections").join("full_text");
    std::fs::write(index.join("meta.json"), "{").expect("written");
    let store = reopen(&folder);
    assert_eq!(watermark(&store), Revision(0));
    assert_eq!(matching(&store, "ada"), 1);
    drop(store);
    for entry in std::fs::read_dir(&index).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| name != "meta.json") && path.is_file() {
            std::fs::remove_file(path).expect("removed");
        }
    }
    let store = reopen(&folder);
    assert_eq!(matching(&store, "ada"), 1);
    drop(store);
    std::fs::remove_dir_all(&index).expect("removed");
    let store = reopen(&folder);
    store.catch_up().expect("caught up");
    assert_eq!((watermark(&store), matching(&store, "ada")), (Revision(1), 1));
}

#[test]
fn a_full_text_index_that_another_process_removed_is_rebuilt() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    assert_eq!(matching(&store, "met"), 1);
    std::fs::remove_dir_all(folder.path().join("default.projections")).expect("removed");
    commit(&store, sample::indexed("b", "Cleo met Dan", "ADA", "BOB"));
    assert_eq!(matching(&store, "met"), 2);
    assert_eq!((watermark(&store), matching(&reopen(&folder), "met")), (Revision(2), 2));
}

fn index_in(folder: &Path) -> tantivy::Index {
    let folder = full_text::directory::CheckedDirectory::open(folder).expect("the folder");
    tantivy::Index::open(folder).expect("the index")
}

#[test]
fn any_damage_to_the_full_text_index_is_found_and_the_index_is_rebuilt() {
    let (store, folder) = open();
    for (number, (name, text)) in [("a", "Ada met Bob"), ("b", "Cleo met Dan")].into_iter().enumerate() {
        commit(&store, sample::indexed(name, text, "ADA", "BOB"));
        assert_eq!(matching(&store, "met"), number + 1);
    }
    drop(store);
    let index = folder.path().join("default.projections").join("full_text");
    let whole: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(&index)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.clone(), std::fs::read(path).expect("a file")))
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    assert!(whole.len() > 5);
    let check = |file: &Path, damaged: &[u8]| {
        std::fs::remove_dir_all(&index).expect("removed");
        std::fs::create_dir(&index).expect("a folder");
        whole.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).expect("written"));
        std::fs::write(file, damaged).expect("written");
        let store = reopen(&folder);
        assert_eq!(store.shared.full_text.damaged_files().expect("a list"), [file.to_owned()]);
        assert_eq!((matching(&store, "met"), matching(&store, "dan")), (2, 1), "{}", file.display());
        drop(store);
        let store = reopen(&folder);
        assert_eq!((matching(&store, "met"), watermark(&store)), (2, Revision(2)));
        assert!(store.shared.full_text.damaged_files().expect("a list").is_empty());
    };
    for (file, bytes) in &whole {
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            check(file, &damaged);
        }
        check(file, &bytes[..bytes.len() / 2]);
        check(file, b"");
    }
}

#[test]
fn unlisted_index_files_and_lists_of_an_older_release_are_not_damage() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    assert_eq!(matching(&store, "met"), 1);
    drop(store);
    let index = folder.path().join("default.projections").join("full_text");
    // An interrupted writer leaves part of a segment.
    std::fs::write(index.join(format!("{}.idx", "ab".repeat(16))), "a part").expect("written");
    for list in ["meta.json", ".managed.json"] {
        let path = index.join(list);
        let bytes = std::fs::read(&path).expect("a list");
        std::fs::write(&path, &bytes[..bytes.len() - 16]).expect("written without its checksum");
    }
    let store = reopen(&folder);
    assert!(store.shared.full_text.damaged_files().expect("a list").is_empty());
    assert_eq!(matching(&store, "met"), 1);
}

#[test]
fn an_index_with_another_version_of_words_is_rebuilt() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    assert_eq!(matching(&store, "ada"), 1);
    drop(store);
    // The index of an older release claims to be up to date, but has other words.
    let path = folder.path().join("default.projections").join("full_text");
    let index = index_in(&path);
    let payload = index.load_metas().expect("what it says").payload.expect("what it says");
    let format = |number: u32| format!("\"format\":{number}");
    let older = payload.replace(&format(full_text::FORMAT), &format(full_text::FORMAT - 1));
    assert_ne!(older, payload);
    let mut writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 15_000_000).expect("the lock");
    writer.delete_all_documents().expect("deleted");
    let mut emptied = writer.prepare_commit().expect("prepared");
    emptied.set_payload(&older);
    emptied.commit().expect("committed");
    drop(writer);
    let store = reopen(&folder);
    assert_eq!((watermark(&store), matching(&store, "ada")), (Revision(0), 1));
    assert_eq!(watermark(&store), Revision(1));
}

#[test]
fn a_search_that_waits_for_the_index_says_so_once() {
    let told = LogBuffer::default();
    let writer = told.clone();
    let lines = tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_ansi(false);
    // A search may run in another thread.
    tracing::subscriber::set_global_default(lines.with_writer(move || writer.clone()).finish())
        .expect("no other test sets it");
    let waits = || String::from_utf8_lossy(&told.0.lock().expect("lines")).matches(crate::WAITING).count();

    let (store, _folder) = open();
    let entity = |number: usize| sample::entity(&format!("E{number}"), "of many");
    commit(&store, Batch { put_entities: (0..9_999).map(entity).collect(), ..Batch::default() });
    assert_eq!((matching(&store, "ada"), waits()), (0, 0));
    commit(&store, Batch { put_entities: (0..20_001).map(entity).collect(), ..Batch::default() });
    assert_eq!((matching(&store, "ada"), waits()), (0, 1));
}

#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("lines").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_index_of_another_history_is_rebuilt() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    drop(store);
    let file = folder.path().join("default.graphloom");
    let saved = std::fs::read(&file).expect("the file");
    let store = reopen(&folder);
    commit(&store, sample::indexed("b", "lost words", "LOST", "WORDS"));
    assert_eq!(matching(&store, "lost"), 1);
    drop(store);
    std::fs::write(&file, saved).expect("restored");
    super::repair::accept_loss(folder.path(), &WorkspaceId::default()).expect("taken as it is");
    let store = reopen(&folder);
    commit(&store, sample::indexed("c", "other words", "OTHER", "WORDS"));
    commit(&store, sample::indexed("d", "more words", "MORE", "WORDS"));
    assert_eq!((matching(&store, "words"), matching(&store, "lost")), (2, 0));
}

#[test]
fn an_index_that_another_process_is_writing_is_searched_as_it_is() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    assert_eq!(matching(&store, "met"), 1);
    let path = folder.path().join("default.projections").join("full_text");
    let index = index_in(&path);
    let writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 15_000_000).expect("the lock");
    commit(&store, sample::indexed("b", "Cleo met Dan", "CLEO", "DAN"));
    assert_eq!((matching(&store, "met"), watermark(&store)), (1, Revision(1)));
    drop(writer);
    assert_eq!((matching(&store, "met"), watermark(&store)), (2, Revision(2)));
}

#[test]
fn workspaces_are_listed_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(list_workspaces(&folder.path().join("missing")).expect("a list"), []);
    for name in ["b", "a-1"] {
        let workspace = WorkspaceId::new(name).expect("a name");
        drop(SqliteStore::open(folder.path(), workspace).expect("the store opens"));
    }
    std::fs::write(folder.path().join("Not Ours.graphloom"), "").expect("written");
    let names: Vec<String> =
        list_workspaces(folder.path()).expect("a list").iter().map(ToString::to_string).collect();
    assert_eq!(names, ["a-1", "b"]);
}

/// Opens a connection of another program that holds the write lock.
fn rival(folder: &TempDir) -> Connection {
    let rival = Connection::open(folder.path().join("default.graphloom")).expect("a connection");
    rival.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    rival
}

#[test]
fn neither_commits_nor_the_log_wait_for_an_open_snapshot() {
    let (store, folder) = open();
    let other = reopen(&folder);
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    let held = block_on(other.snapshot()).expect("a snapshot");
    let log = folder.path().join("default.graphloom-wal");
    // These stores wait for locks forever, so a wait for the snapshot would never end.
    for number in 0..3 {
        commit(&store, sample::indexed(&number.to_string(), "Cleo met Dan", "CLEO", "DAN"));
        store.catch_up().expect("the log is left as it is");
        other.catch_up().expect("the log is left as it is");
        commit(&other, sample::indexed(&format!("other {number}"), "Eve met Fay", "EVE", "FAY"));
    }
    assert_eq!(held.revision(), Revision(1));
    assert!(std::fs::metadata(&log).expect("the log").len() > 0);
    drop(held);
    store.catch_up().expect("the log is emptied");
    assert_eq!(std::fs::metadata(&log).expect("the log").len(), 0);
}

#[test]
fn a_commit_that_times_out_names_the_process_that_holds_the_workspace() {
    let (store, folder) = open();
    drop(store);
    let patience = Patience::Limited(Duration::ZERO);
    let store = SqliteStore::open_patiently(folder.path(), WorkspaceId::default(), patience)
        .expect("the store opens");
    let rival = rival(&folder);
    let refused = block_on(store.commit(sample::indexed("a", "Ada met Bob", "ADA", "BOB")));
    let Err(busy @ StoreError::Busy { .. }) = refused else { panic!("{refused:?}") };
    assert!(busy.is_transient() && busy.remedy().is_some());
    if cfg!(target_os = "linux") {
        let this = format!("process {}", std::process::id());
        assert!(busy.to_string().contains(&this), "{busy}");
    }
    rival.execute_batch("COMMIT").expect("the lock is given back");
    assert_eq!(commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB")), Revision(1));
}

#[test]
fn a_commit_without_a_limit_goes_through_once_the_other_process_is_done() {
    let (store, folder) = open();
    let rival = rival(&folder);
    let other = std::thread::spawn(move || commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB")));
    rival.execute_batch("COMMIT").expect("the lock is given back");
    assert_eq!(other.join().expect("no panic"), Revision(1));
}

#[test]
fn a_new_workspace_can_be_opened_by_several_processes_at_once() {
    const AT_ONCE: usize = 8;
    for _ in 0..8 {
        let folder = tempfile::tempdir().expect("a folder");
        let start = Barrier::new(AT_ONCE);
        std::thread::scope(|scope| {
            for number in 0..AT_ONCE {
                let (folder, start) = (&folder, &start);
                scope.spawn(move || {
                    start.wait();
                    let store = reopen(folder);
                    let text = format!("Ada met Bob {number} times");
                    commit(&store, sample::indexed(&number.to_string(), &text, "ADA", "BOB"));
                });
            }
        });
        let counts = block_on(async { reopen(&folder).snapshot().await?.counts().await }).expect("counts");
        assert_eq!(counts.documents, AT_ONCE as u64);
    }
}

/// Simulates a file system that cannot be written: lock files cannot be created, and writes of this thread fail.
#[cfg(unix)]
struct Unwritable<'a> {
    folder: &'a TempDir,
}

#[cfg(unix)]
impl<'a> Unwritable<'a> {
    fn make(folder: &'a TempDir, kind: ErrorKind) -> Self {
        schema::DENIED.set(Some(kind));
        std::os::unix::fs::symlink("/missing/shm", Self::in_the_way(folder)).expect("in the way of the file");
        Self { folder }
    }

    fn in_the_way(folder: &TempDir) -> std::path::PathBuf {
        folder.path().join("default.graphloom-shm")
    }
}

#[cfg(unix)]
impl Drop for Unwritable<'_> {
    fn drop(&mut self) {
        schema::DENIED.set(None);
        std::fs::remove_file(Self::in_the_way(self.folder)).expect("out of the way");
    }
}

#[cfg(unix)]
#[test]
fn an_unwritable_workspace_can_be_read_and_written_again_later() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    assert_eq!(matching(&store, "ada"), 1);
    drop(store);
    for (kind, number) in [(ErrorKind::ReadOnlyFilesystem, 1), (ErrorKind::StorageFull, 2)] {
        let unwritable = Unwritable::make(&folder, kind);
        let store = reopen(&folder);
        assert_eq!((matching(&store, "ada"), watermark(&store)), (number, Revision(number as u64)));
        let next = || sample::indexed(&number.to_string(), "Ada met Cleo", "ADA", "CLEO");
        let refused = block_on(store.commit(next())).expect_err("it cannot be written");
        let is_said = |error: &StoreError| match kind {
            ErrorKind::StorageFull => matches!(error, StoreError::DiskFull { .. }),
            _ => matches!(error, StoreError::ReadOnly { .. }),
        };
        assert!(is_said(&refused) && refused.remedy().is_some(), "{refused:?}");
        assert!(is_said(&store.probe().expect_err("it cannot be written")));
        drop(unwritable);
        store.probe().expect("it can be read and written");
        commit(&store, next());
        assert_eq!(matching(&store, "ada"), number + 1);
    }
}

#[cfg(unix)]
#[test]
fn a_read_without_locks_fails_if_another_process_wrote_meanwhile() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    drop(store);
    let unwritable = Unwritable::make(&folder, ErrorKind::StorageFull);
    let store = reopen(&folder);
    let snapshot = block_on(store.snapshot()).expect("a snapshot");
    drop(unwritable);
    let other = reopen(&folder);
    commit(&other, sample::indexed("b", "Cleo met Dan", "CLEO", "DAN"));
    let refused = block_on(snapshot.counts()).expect_err("it changed");
    assert!(refused.is_transient(), "{refused:?}");
    drop(snapshot);
    let counts = block_on(async { store.snapshot().await?.counts().await }).expect("counts");
    assert_eq!(counts.documents, 2);
}

#[cfg(unix)]
#[test]
fn creating_a_workspace_on_a_read_only_disk_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let _unwritable = Unwritable::make(&folder, ErrorKind::ReadOnlyFilesystem);
    let opened = SqliteStore::open(folder.path(), WorkspaceId::default()).map(drop);
    assert!(matches!(opened, Err(StoreError::ReadOnly { .. })), "{opened:?}");
}

#[test]
fn an_index_that_cannot_be_written_is_brought_up_to_date_in_memory() {
    let (store, folder) = open();
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    assert_eq!(matching(&store, "met"), 1);
    let meta = folder.path().join("default.projections").join("full_text").join("meta.json");
    let before = std::fs::read(&meta).expect("the index");
    store.shared.full_text.deny(Some(ErrorKind::StorageFull));
    for number in 1..4 {
        commit(&store, sample::indexed(&number.to_string(), &format!("Ada met {number}"), "ADA", "BOB"));
        assert_eq!((matching(&store, "met"), watermark(&store)), (number + 1, Revision(number as u64 + 1)));
    }
    assert_eq!(std::fs::read(&meta).expect("the index"), before);
    assert_eq!(store.verify().expect("it is looked at"), []);
    store.shared.full_text.deny(None);
    store.shared.full_text.try_folder_again();
    commit(&store, sample::indexed("last", "Ada met Zoe", "ADA", "ZOE"));
    assert_eq!(matching(&store, "met"), 5);
    drop(store);
    assert_eq!(watermark(&reopen(&folder)), Revision(5));
}

#[test]
fn a_missing_or_damaged_index_that_cannot_be_replaced_is_built_in_memory() {
    let (store, folder) = open();
    store.shared.full_text.deny(Some(ErrorKind::PermissionDenied));
    commit(&store, sample::indexed("a", "Ada met Bob", "ADA", "BOB"));
    assert_eq!(matching(&store, "met"), 1);
    assert!(!folder.path().join("default.projections").exists());
    store.shared.full_text.deny(None);
    store.shared.full_text.try_folder_again();
    commit(&store, sample::indexed("b", "Ada met Cleo", "ADA", "CLEO"));
    assert_eq!(matching(&store, "met"), 2);
    drop(store);

    let meta = folder.path().join("default.projections").join("full_text").join("meta.json");
    std::fs::write(&meta, "{").expect("written");
    let store = reopen(&folder);
    store.shared.full_text.deny(Some(ErrorKind::ReadOnlyFilesystem));
    commit(&store, sample::indexed("c", "Ada met Dan", "ADA", "DAN"));
    assert_eq!((matching(&store, "met"), watermark(&store)), (3, Revision(3)));
    assert_eq!(std::fs::read(&meta).expect("left alone"), b"{");
}
