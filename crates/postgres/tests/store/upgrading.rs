//! Tables of an older release are upgraded while processes use them.

use graphloom_core::{Store, WorkspaceId, write_dump};
use graphloom_postgres::testing::{Server, execute};
use graphloom_postgres::{Database, PostgresStore};
use graphloom_storage::conformance::block_on;

use super::network::{commit_meanwhile, require_all, wait_for};
use super::walls::folder;

/// Removes what the latest version of the tables added.
const DOWNGRADE: &str = "BEGIN; ALTER TABLE documents DROP COLUMN text_bytes; ALTER TABLE jobs DROP COLUMN state; \
    DELETE FROM graphloom_schema WHERE version = 10; COMMIT";

fn hash(store: &PostgresStore) -> String {
    block_on(async {
        let snapshot = store.snapshot().await.expect("a snapshot");
        format!("{:?}", write_dump(snapshot.as_ref(), &mut Vec::new()).await.expect("dumped"))
    })
}

#[test]
fn an_upgrade_waits_for_commits_of_running_processes_which_then_continue() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let url = server.url();
    let running = Database::open(&url).expect("the database opens");
    let store = block_on(running.open_or_create(WorkspaceId::default())).expect("a store");
    let acknowledged = {
        let mut before = Vec::new();
        let mut acknowledged = commit_meanwhile(&store, |committed| {
            wait_for(committed, &mut before, 5);
            execute(&url, DOWNGRADE).expect("older tables");
            let older = Database::schema_version(&url).expect("a version");
            assert_eq!(older.found + 1, older.supported);
            wait_for(committed, &mut before, 5);
            Database::open(&url).expect("the tables are brought up to date");
            wait_for(committed, &mut before, 5);
        });
        acknowledged.extend(before);
        acknowledged
    };
    require_all(&store, &acknowledged);
    let version = Database::schema_version(&url).expect("a version");
    assert_eq!(version.found, version.supported);
    let upgraded = Database::open(&url).expect("the database opens");
    let other = block_on(upgraded.open_or_create(WorkspaceId::default())).expect("a store");
    assert_eq!(hash(&other), hash(&store));
}
