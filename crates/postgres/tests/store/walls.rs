//! Workspaces in one database stay separate, and other versions of the tables are refused.

use graphloom_core::{Batch, ItemKind, SearchRequest, Store, StoreError};
use graphloom_postgres::Database;
use graphloom_postgres::testing::{Server, TestDatabase, execute, new_workspace, postgres_folder};
use graphloom_storage::conformance::{block_on, sample};
use tempfile::TempDir;

pub(super) fn folder() -> TempDir {
    std::fs::create_dir_all(postgres_folder()).expect("a folder");
    let folder = TempDir::new_in(postgres_folder()).expect("a folder");
    // The server runs as another user.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("readable");
    folder
}

#[test]
fn workspaces_can_be_created_listed_and_deleted_and_find_only_their_own_rows() {
    let server = TestDatabase::shared();
    let database = server.open();
    let names = [new_workspace(), new_workspace()];
    let stores = names.clone().map(|name| block_on(database.open_or_create(name)).expect("a store"));
    for (number, store) in stores.iter().enumerate() {
        let batch = sample::indexed("same", &format!("Ada met number{number}"), "ADA", "BOB");
        block_on(store.commit(batch)).expect("committed");
    }
    let found = |store: &dyn Store, text: &str| {
        let request = [SearchRequest::by_words(ItemKind::Chunk, text, 9)];
        block_on(async { store.snapshot().await?.search(&request).await }).expect("an answer")[0].len()
    };
    assert_eq!((found(&stores[0], "number0"), found(&stores[0], "number1")), (1, 0));
    assert_eq!((found(&stores[1], "number0"), found(&stores[1], "number1")), (0, 1));
    let listed = block_on(database.list()).expect("a list");
    assert!(names.iter().all(|name| listed.contains(name)), "{listed:?}");

    block_on(database.delete(&names[0])).expect("deleted");
    assert!(!block_on(database.exists(&names[0])).expect("an answer"));
    let batch = sample::indexed("b", "Cleo met Dan", "C", "D");
    let error = block_on(stores[0].commit(batch)).expect_err("a workspace that is gone");
    assert!(matches!(error, StoreError::Gone { .. }), "{error:?}");
    assert_eq!(found(&stores[1], "number1"), 1);
    block_on(database.delete(&names[1])).expect("deleted");
}

#[test]
fn a_transaction_sees_only_the_rows_of_its_workspace_for_any_query() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let admin = server.url();
    execute(&admin, "CREATE ROLE app LOGIN; CREATE DATABASE app OWNER app")
        .expect("a database of another role");
    let url = admin.replace("postgres@", "app@").replace("/postgres?", "/app?");
    execute(&admin.replace("/postgres?", "/app?"), "CREATE EXTENSION vector").expect("pgvector");
    let database = Database::open(&url).expect("the database opens for a role with few rights");
    for name in [new_workspace(), new_workspace()] {
        let store = block_on(database.open_or_create(name)).expect("a store");
        block_on(store.commit(sample::indexed("a", "Ada met Bob", "ADA", "BOB"))).expect("committed");
    }
    let rows =
        |session: &str| execute(&url, &format!("BEGIN; {session} SELECT id FROM chunks")).expect("rows");
    assert_eq!(rows(""), 0, "no workspace, no rows");
    assert_eq!(rows("SET LOCAL graphloom.workspace = '1';"), 1);
    assert_eq!(rows("SET LOCAL graphloom.workspace = '2';"), 1);
    let write = "BEGIN; SET LOCAL graphloom.workspace = '1'; UPDATE chunks SET workspace_id = 2";
    assert!(execute(&url, write).is_err(), "rows cannot be moved into another workspace");
}

#[test]
fn newer_tables_are_refused_and_two_processes_create_tables_once() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let url = server.url();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| Database::open(&url).expect("the tables are made"));
        }
    });
    execute(&url, "INSERT INTO graphloom_schema (version) VALUES (99)").expect("a later release");
    let error = Database::open(&url).map(drop).expect_err("newer tables");
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
}

#[test]
fn a_database_that_does_not_respond_is_named_without_its_password() {
    let error = Database::open("postgres://ada:secret@127.0.0.1:bad/x").map(drop).expect_err("no address");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    let empty = Batch::default();
    let server = TestDatabase::shared();
    let database = server.open();
    assert!(!database.name().contains('@'), "{}", database.name());
    let name = new_workspace();
    let store = block_on(database.open_or_create(name.clone())).expect("a store");
    assert_eq!(block_on(store.commit(empty)).expect("nothing to do").0, 0);
    block_on(database.delete(&name)).expect("deleted");
}
