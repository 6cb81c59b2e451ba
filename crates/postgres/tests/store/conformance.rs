//! Runs the suite of every store, and compares the hash with the embedded store's.

use graphloom_core::{Batch, ItemKind, Store, WorkspaceId, write_dump};
use graphloom_postgres::testing::{Release, TestDatabase, new_workspace};
use graphloom_postgres::{Database, PostgresStore, SearchMemory};
use graphloom_storage::conformance::{block_on, sample};
use graphloom_storage::sqlite::SqliteStore;

/// Random histories per kind of database. Each commit is a round trip, so the kinds share the default number.
const HISTORIES: u32 = 16;

/// Deletes the test's workspace when dropped.
struct Guard {
    database: Database,
    workspace: WorkspaceId,
    _server: TestDatabase,
}

impl Drop for Guard {
    fn drop(&mut self) {
        block_on(self.database.delete(&self.workspace)).expect("the workspace is deleted");
    }
}

fn open() -> (PostgresStore, Guard) {
    open_on(Release::Newest)
}

fn open_on(release: Release) -> (PostgresStore, Guard) {
    let server = TestDatabase::shared_of(release);
    let (database, workspace) = (server.open(), new_workspace());
    let store = block_on(database.open_or_create(workspace.clone())).expect("a new store");
    (store, Guard { database, workspace, _server: server })
}

graphloom_storage::conformance_tests!(open, histories: HISTORIES);

mod on_the_oldest_release {
    use super::*;

    fn open() -> (PostgresStore, Guard) {
        open_on(Release::Oldest)
    }

    graphloom_storage::conformance_tests!(open, histories: HISTORIES);
}

mod with_what_searches_read_in_memory {
    use super::*;

    fn open() -> (PostgresStore, Guard) {
        let (store, guard) = super::open();
        store.set_search_memory(SearchMemory::AtOnce);
        (store, guard)
    }

    graphloom_storage::conformance_tests!(open, histories: HISTORIES);
}

mod as_workspaces {
    use std::sync::Arc;

    use graphloom_postgres::PostgresWorkspaces;
    use graphloom_storage::workers::LockFiles;

    use super::*;

    fn open() -> (PostgresWorkspaces, String, impl Sized) {
        let folder = tempfile::tempdir().expect("a folder");
        let server = TestDatabase::shared();
        let workers = Arc::new(LockFiles::of_host(folder.path()));
        (PostgresWorkspaces::new(server.open(), workers), format!("{}-", new_workspace()), (server, folder))
    }

    graphloom_storage::workspaces_conformance_tests!(open);
}

#[test]
fn the_dump_equals_that_of_the_embedded_store() {
    let (store, _guard) = open();
    let folder = tempfile::tempdir().expect("a folder");
    let embedded = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("a store");
    let mut batches = vec![Batch { embedding: Some(sample::space(3)), ..Batch::default() }];
    for number in 0..20 {
        let (one, other) = (format!("E{}", number % 7), format!("E{}", number % 5 + 7));
        batches.push(sample::indexed(&format!("d{number}"), &format!("{one} met {other}"), &one, &other));
    }
    batches.push(Batch {
        put_vectors: vec![sample::vector(ItemKind::Entity, "E1", &[0.3, 0.1, -0.5])],
        put_decisions: vec![sample::decision(1, "E1", "decided")],
        ..Batch::default()
    });
    for batch in batches {
        block_on(store.commit(batch.clone())).expect("committed");
        block_on(embedded.commit(batch)).expect("committed");
    }
    let dump = |store: &dyn Store| {
        let mut lines = Vec::new();
        block_on(async {
            let snapshot = store.snapshot().await.expect("a snapshot");
            write_dump(snapshot.as_ref(), &mut lines).await.expect("dumped")
        })
    };
    let expected = dump(&embedded);
    assert!(expected.lines > 100, "{expected:?}");
    assert_eq!(dump(&store), expected);
}
