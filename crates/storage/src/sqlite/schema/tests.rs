//! Files of older releases, files that are being created, and files of other programs.

use std::collections::BTreeMap;

use graphloom_core::{
    ContentHash, Entity, EntityKey, Extraction, ItemKey, ItemKind, Member, Records, Store, WorkspaceId,
};

use super::migrations::create_version_1;
use super::*;
use crate::conformance::{block_on, sample};
use crate::sqlite::{FileWorkspaces, Patience, SqliteStore, read, rows, settings_of};
use crate::vector;

fn create_old(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept');")
}

fn add_column(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("ALTER TABLE notes ADD COLUMN seen INTEGER NOT NULL DEFAULT 7;")
}

fn fails(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("DROP TABLE notes; SELECT nonsense;")
}

fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    super::open_writer(path, &LockPatience::new(path, Patience::Endless)).map(|(conn, _)| conn)
}

fn check_open(path: &Path, migrations: &[Migration]) -> Result<Connection, StoreError> {
    let mut conn = Connection::open(path).opening(path)?;
    bring_up_to_date(&mut conn, path, migrations)?;
    Ok(conn)
}

#[test]
fn an_older_file_is_backed_up_and_migrated() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    drop(check_open(&path, &[create_old]).expect("a new file"));
    let conn = check_open(&path, &[create_old, add_column]).expect("a migrated file");
    let row = conn.query_row("SELECT text, seen FROM notes", [], |r| Ok((r.get(0)?, r.get(1)?)));
    assert_eq!(row, Ok(("kept".to_owned(), 7)));
    let backup = dir.path().join("w.graphloom.v1.backup");
    let conn = check_open(&backup, &[create_old]).expect("the backup opens as the older version");
    assert_eq!(conn.query_row("SELECT text FROM notes", [], |r| r.get(0)), Ok("kept".to_owned()));
}

#[test]
fn version_2_reads_the_vectors_of_version_1() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = check_open(&path, &MIGRATIONS[..1]).expect("version 1");
    // 0.6, -0.8 and 0 in half precision.
    let halves: Vec<u8> = [0x38cd_u16, 0xba66, 0].iter().flat_map(|half| half.to_le_bytes()).collect();
    conn.execute("INSERT INTO vector_data (data) VALUES (?1)", [halves]).expect("a vector");
    drop(conn);
    let conn = check_open(&path, &MIGRATIONS[..2]).expect("version 2");
    let data: Vec<u8> =
        conn.query_row("SELECT data FROM vector_data", [], |row| row.get(0)).expect("still there");
    let vector = vector::decode(&data);
    assert!((vector[0] - 0.6).abs() < 1e-3 && (vector[1] + 0.8).abs() < 1e-3 && vector[2] == 0.0);
}

#[test]
fn documents_from_version_1_have_no_parts_and_no_remarks() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = check_open(&path, &[create_version_1]).expect("a new file");
    conn.execute_batch(
        "INSERT INTO documents (key, source, title, content_hash, text_bytes, format, encoding, lines_match_source,
            meta, live, added_at) VALUES ('d', 's', 't', 'h', 1, 'text', 'UTF-8', 1, '{}', 1, 0)",
    )
    .expect("a document");
    drop(conn);
    let conn = open_writer(&path).expect("a migrated file");
    let parts = conn.query_row("SELECT parts FROM documents", [], |row| row.get::<_, String>(0));
    assert_eq!(parts.as_deref(), Ok("[]"));
    let remarks = conn.query_row("SELECT remarks FROM documents", [], |row| row.get::<_, String>(0));
    assert_eq!(remarks.as_deref(), Ok("[]"));
    assert!(dir.path().join("w.graphloom.v1.backup").exists());
}

#[test]
fn ledger_rows_of_older_files_have_no_cached_tokens() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = check_open(&path, &MIGRATIONS[..3]).expect("an older file");
    let insert = "INSERT INTO calls (role, model, prompt_tokens, completion_tokens, attempts, started_at,
                  duration_ms, outcome) VALUES ('extract', 'm', 7, 1, 1, 0, 0, 0)";
    conn.execute(insert, []).expect("a call");
    drop(conn);
    let conn = check_open(&path, MIGRATIONS).expect("migrated");
    let select = "SELECT prompt_tokens, cached_prompt_tokens FROM calls";
    assert_eq!(conn.query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?))), Ok((7, 0)));
}

#[test]
fn older_files_have_no_cached_answers_and_accept_new_ones() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    drop(check_open(&path, &MIGRATIONS[..6]).expect("an older file"));
    let conn = open_writer(&path).expect("a migrated file");
    let count = |conn: &Connection| conn.query_row("SELECT count(*) FROM cache", [], |row| row.get(0));
    assert_eq!(count(&conn), Ok(0));
    conn.execute("INSERT INTO cache (kind, key, bytes, value) VALUES (1, 'k', 1, x'00')", [])
        .expect("an entry");
    assert_eq!(count(&conn), Ok(1));
}

#[test]
fn chunks_of_older_files_keep_their_state() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = check_open(&path, &MIGRATIONS[..5]).expect("version 5");
    conn.execute_batch(
        "INSERT INTO documents (id, key, source, title, content_hash, text_bytes, format, encoding,
            lines_match_source, meta, live, added_at) VALUES (1, 'd', 's', 't', 'h', 1, 'text', 'UTF-8', 1, '{}', 1, 0);
         INSERT INTO chunks (key, document, ordinal, start, stop, token_count, breadcrumb, state, reason, attempts)
            VALUES ('c', 1, 0, 0, 1, 1, '[]', 2, 'timeout', 3);",
    )
    .expect("a failed chunk");
    drop(conn);
    let conn = check_open(&path, &MIGRATIONS[..6]).expect("version 6");
    let chunk = conn.query_row("SELECT state, reason FROM chunks", [], |r| Ok((r.get(0)?, r.get(1)?)));
    assert_eq!(chunk, Ok((2, "timeout".to_owned())));
}

#[test]
fn rejects_of_older_files_are_counted_and_unreadable_answers_are_skipped() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = check_open(&path, &MIGRATIONS[..7]).expect("an older file");
    let extraction = crate::conformance::sample::extraction("x", "said");
    let body = rows::extraction_body(&extraction).expect("a body");
    let insert = "INSERT INTO extractions (key, model, body) VALUES (?1, 'm', ?2)";
    conn.execute(insert, rusqlite::params!["good", body]).expect("an extraction");
    conn.execute(insert, rusqlite::params!["damaged", [1u8, 2, 3]]).expect("an extraction");
    drop(conn);
    let conn = check_open(&path, MIGRATIONS).expect("migrated");
    let counted = conn.query_row("SELECT reason, sum(number) FROM rejects", [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    });
    assert_eq!(counted, Ok(("field_count".to_owned(), 1)));
}

#[test]
fn the_queue_of_an_older_file_is_processed() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    drop(check_open(&path, &MIGRATIONS[..8]).expect("an older file"));
    let conn = check_open(&path, MIGRATIONS).expect("migrated");
    let select =
        "SELECT paused_since, (SELECT count(*) FROM tracks), (SELECT count(*) FROM renewals) FROM state";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    assert_eq!(conn.query_row(select, [], read), Ok((None::<i64>, 0, 0)));
}

#[test]
fn leases_of_an_older_file_are_found_by_their_index() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = check_open(&path, &MIGRATIONS[..10]).expect("an older file");
    conn.execute_batch(
        "INSERT INTO documents (id, key, source, title, content_hash, text_bytes, format, encoding,
            lines_match_source, meta, live, added_at) VALUES (1, 'd', 's', 't', 'h', 1, 'text', 'UTF-8', 1, '{}', 1, 0);
         INSERT INTO jobs VALUES (1, 1, NULL, 'w', 9, 1, 0);",
    )
    .expect("a leased job");
    drop(conn);
    let conn = check_open(&path, MIGRATIONS).expect("migrated");
    let leased = read::leased_jobs(&conn).expect("a list");
    assert_eq!(leased[0].lease.as_ref().map(|lease| lease.owner.as_str()), Some("w"));
}

#[test]
fn chunks_of_an_older_file_are_not_contextualized() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    drop(check_open(&path, &MIGRATIONS[..11]).expect("an older file"));
    let conn = check_open(&path, MIGRATIONS).expect("migrated");
    let count = conn.query_row("SELECT count(*) FROM situations", [], |row| row.get(0));
    assert_eq!(count, Ok(0));
}

#[test]
fn stores_of_an_older_release_get_their_own_ids() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = |name: &str| {
        let path = dir.path().join(name);
        drop(check_open(&path, &MIGRATIONS[..12]).expect("an older file"));
        let conn = check_open(&path, MIGRATIONS).expect("migrated");
        place::committed(&conn).expect("how far it is").store
    };
    let (one, other) = (store("one"), store("other"));
    assert_eq!((one.len(), other.len()), (32, 32));
    assert_ne!(one, other);
}

#[test]
fn rows_of_an_older_release_get_checksums_and_damaged_rows_keep_theirs() {
    fn change_documents(conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("ALTER TABLE documents ADD COLUMN seen INTEGER NOT NULL DEFAULT 7;")
    }
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = check_open(&path, &MIGRATIONS[..12]).expect("an older file");
    for key in ["d", "e"] {
        let insert = "INSERT INTO documents (key, source, title, content_hash, text_bytes, format, encoding,
            lines_match_source, meta, live, added_at) VALUES (?1, ?1, 't', 'h', 1, 'text', 'UTF-8', 1, '{}', 1, 0)";
        conn.execute(insert, [key]).expect("a document");
    }
    drop(conn);
    let conn = check_open(&path, MIGRATIONS).expect("migrated");
    assert_eq!(sums::damaged_rows(&conn).expect("compared"), []);
    conn.execute("UPDATE documents SET title = 'x' WHERE key = 'e'", []).expect("damaged");
    drop(conn);
    let newer: Vec<Migration> = MIGRATIONS.iter().copied().chain([change_documents as Migration]).collect();
    let conn = check_open(&path, &newer).expect("migrated");
    let damaged: Vec<String> = sums::damaged_rows(&conn)
        .expect("compared")
        .iter()
        .map(|row| format!("{} {}", row.table, row.id()))
        .collect();
    assert_eq!(damaged, ["documents 2"]);
}

#[test]
fn an_older_file_has_no_settings_and_its_extractions_without_records_are_counted() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = check_open(&path, &MIGRATIONS[..13]).expect("an older file");
    let said = crate::conformance::sample::extraction("x", "said");
    let nothing = Extraction { records: Records::default(), ..said.clone() };
    let insert = "INSERT INTO extractions (key, model, body) VALUES (?1, 'm', ?2)";
    for (key, extraction) in [("said", said), ("nothing", nothing)] {
        let body = rows::extraction_body(&extraction).expect("a body");
        conn.execute(insert, rusqlite::params![key, body]).expect("an extraction");
    }
    drop(conn);
    let workspace = WorkspaceId::new("w").expect("a name");
    let settings = || settings_of(dir.path(), &workspace).expect("readable");
    assert_eq!(settings(), BTreeMap::new(), "before it is migrated");
    let conn = open_writer(&path).expect("a migrated file");
    assert_eq!(rows::settings(&conn).expect("readable"), BTreeMap::new());
    assert_eq!(read::empty_extractions(&conn).expect("counted"), 1);
    assert_eq!(sums::damaged_rows(&conn).expect("compared"), []);
    conn.execute("UPDATE state SET settings = '{\"a\":\"b\"}'", []).expect("stored");
    assert_eq!(settings(), BTreeMap::from([("a".to_owned(), "b".to_owned())]));
    assert_eq!(settings_of(dir.path(), &WorkspaceId::default()).expect("no file"), BTreeMap::new());
}

#[test]
fn hashes_and_sparse_vectors_of_an_older_file_are_packed_and_read_unchanged() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = check_open(&path, &MIGRATIONS[..18]).expect("an older file");
    sums::keep(&conn).expect("sums");
    let hash = ContentHash::of(b"x");
    conn.execute_batch(&format!(
        "INSERT INTO entities (key, name, kind, description, mention_count, degree, inputs_hash)
            VALUES ('ADA', 'Ada', 'person', 'A mathematician.', 0, 0, '{hash}'), ('BOB', 'Bob', 'person', '', 0, 0, 'odd');
         INSERT INTO vectors (kind, key, inputs_hash, slot) VALUES (1, 'ADA', '{hash}', 1), (1, 'BOB', 'odd', 2);"
    ))
    .expect("rows");
    let stored: [&[u8]; 2] =
        [&[0, 0, 4, 3, 0xfd, 1, 255, 10, 3, 0xff], &[0, 4, 0, 1, 0xff, 0xff, 2, 0xff, 0xff]];
    for data in stored {
        conn.execute("INSERT INTO vector_data (data) VALUES (?1)", [data]).expect("a vector");
    }
    drop(conn);
    let conn = open_writer(&path).expect("a migrated file");
    let mut expected = vec![0.0; 1024];
    (expected[3], expected[268]) = (509.0, -253.0);
    let found =
        read::vectors(&conn, &["ADA", "BOB"].map(|name| ItemKey::Entity(EntityKey::from_stored(name))))
            .expect("vectors");
    let found: Vec<Vec<f32>> = found.into_iter().flatten().collect();
    let cosine = vector::cosine(&vector::to_unit(&expected), &found[0]);
    assert!(cosine > 0.999_999, "{cosine}");
    assert_eq!(found[1].len(), 4);
    let names = ["ADA", "BOB"].map(EntityKey::from_stored);
    let entities: Vec<Entity> = read::entities(&conn, &names).expect("read").into_iter().flatten().collect();
    let hashes: Vec<&str> = entities.iter().map(|entity| entity.inputs_hash.as_str()).collect();
    assert_eq!(hashes, [hash.as_str(), "odd"]);
    assert_eq!(entities[0].description, "A mathematician.");
    let bytes = conn.query_row("SELECT sum(length(inputs_hash)) FROM entities", [], |row| row.get(0));
    assert_eq!(bytes, Ok(hash.as_str().len() as i64 / 2 + 3));
    assert_eq!(sums::damaged_rows(&conn).expect("compared"), []);
}

#[test]
fn an_older_file_gets_layers() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    drop(check_open(&path, &MIGRATIONS[..19]).expect("an older file"));
    let workspaces = FileWorkspaces::new(dir.path());
    let version = || block_on(workspaces.schema_versions()).expect("versions").pop().expect("a file").found;
    assert_eq!((version(), version()), (19, 19), "reading changes nothing");
    let store = SqliteStore::open(dir.path(), WorkspaceId::new("w").expect("a name")).expect("migrated");
    assert_eq!(version(), SUPPORTED);
    let mut batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    let node = sample::node("themes", 0, [Member::Entity(sample::key("ADA"))], "Ada");
    batch.put_layers = vec![sample::layer("themes", 1, true)];
    batch.put_vectors.push(sample::vector(ItemKind::Node, node.key.as_str(), &[1.0, 0.0, 0.0]));
    batch.put_nodes = vec![node.clone()];
    let nodes = block_on(async {
        assert_eq!(store.snapshot().await?.layers().await?, []);
        store.commit(batch).await?;
        store.snapshot().await?.nodes(std::slice::from_ref(&node.key)).await
    });
    assert_eq!(nodes.expect("read"), [Some(node)]);
    assert_eq!(store.verify().expect("compared"), []);
    assert!(dir.path().join("w.graphloom.v19.backup").exists());
}

#[test]
fn a_failed_migration_leaves_the_file_unchanged() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    drop(check_open(&path, &[create_old]).expect("a new file"));
    assert!(check_open(&path, &[create_old, fails]).is_err());
    let conn = check_open(&path, &[create_old]).expect("still version 1");
    assert_eq!(conn.query_row("SELECT text FROM notes", [], |r| r.get(0)), Ok("kept".to_owned()));
}

#[test]
fn a_file_that_another_process_is_creating_is_opened_once_it_is_complete() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let rival = Connection::open(&path).expect("a connection");
    sums::register(&rival).expect("the function of sums");
    rival.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    MIGRATIONS.iter().try_for_each(|migration| migration(&rival)).expect("half of a file");
    let opened = std::thread::scope(|scope| {
        let opening = scope.spawn(|| open_writer(&path).map(drop));
        rival.pragma_update(None, "application_id", APPLICATION_ID).expect("marked");
        rival.pragma_update(None, "user_version", MIGRATIONS.len() as u32).expect("marked");
        rival.execute_batch("COMMIT").expect("a whole file");
        opening.join().expect("no panic")
    });
    assert!(opened.is_ok(), "{opened:?}");
}

#[test]
fn a_file_with_a_version_older_than_its_tables_is_refused_and_not_changed() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("w.graphloom");
    let conn = open_writer(&path).expect("a new file");
    conn.pragma_update(None, "user_version", 1).expect("said");
    drop(conn);
    let Err(StoreError::Corrupt { what, .. }) = open_writer(&path).map(drop) else { panic!("it is refused") };
    assert!(what.contains("schema version 1"), "{what}");
    let conn = Connection::open(&path).expect("a database");
    conn.pragma_update(None, "user_version", MIGRATIONS.len() as u32).expect("said rightly");
    drop(conn);
    open_writer(&path).expect("nothing was changed");
}

#[test]
fn newer_and_foreign_files_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let newer = dir.path().join("newer.graphloom");
    drop(check_open(&newer, &[create_old, add_column]).expect("a new file"));
    let refused = check_open(&newer, &[create_old]).map(drop);
    assert!(matches!(refused, Err(StoreError::Newer { found: 2, supported: 1, .. })), "{refused:?}");

    let foreign = dir.path().join("foreign.graphloom");
    let conn = Connection::open(&foreign).expect("a database");
    conn.execute_batch("CREATE TABLE other (x)").expect("a table");
    assert!(matches!(open_writer(&foreign).map(drop), Err(StoreError::Corrupt { .. })));

    let text = dir.path().join("text.graphloom");
    std::fs::write(&text, "no database at all, but long enough to be looked at".repeat(100)).expect("a file");
    assert!(matches!(open_writer(&text).map(drop), Err(StoreError::Corrupt { .. })));
}
