//! Damage is repaired or reported.

use graphloom_core::{Batch, Document, Snapshot, Store, WorkspaceId, table};
use rusqlite::Connection;
use tempfile::TempDir;

use graphloom_core::{LostKind, RepairReport};

use super::{keep_copy, mend};
use crate::conformance::{block_on, sample};
use crate::sqlite::SqliteStore;

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(folder.path(), WorkspaceId::default()).expect("the store opens")
}

/// Returns a store with two documents. The chunk of the second has row number 2.
fn stored() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(&folder);
    for (name, text, one, other) in [("a", "Ada met Bob", "ADA", "BOB"), ("b", "Cleo met Dan", "CLEO", "DAN")]
    {
        block_on(store.commit(sample::indexed(name, text, one, other))).expect("accepted");
    }
    let counted = |mut entity: graphloom_core::Entity| {
        entity.mention_count = 1;
        entity
    };
    let put_entities =
        ["ADA", "BOB", "CLEO", "DAN"].map(|name| counted(sample::entity(name, "counted"))).to_vec();
    let relation = |one: &str, other: &str| {
        let mut relation = sample::relation(one, other, "counted");
        relation.fact_count = 1;
        relation
    };
    let put_relations = vec![relation("ADA", "BOB"), relation("CLEO", "DAN")];
    let put_decisions = vec![sample::decision(1, "ADA", "a chemist")];
    block_on(store.commit(Batch { put_entities, put_relations, put_decisions, ..Batch::default() }))
        .expect("accepted");
    folder
}

/// Damages the store with SQL, repairs it, and returns the report.
fn check_mended(damage: &str) -> (RepairReport, SqliteStore, TempDir) {
    let folder = stored();
    Connection::open(folder.path().join("default.graphloom"))
        .and_then(|conn| conn.execute_batch(&format!("PRAGMA foreign_keys = OFF; {damage}")))
        .expect("damaged");
    keep_copy(folder.path(), &WorkspaceId::default()).expect("copied");
    let mended = mend(folder.path(), &WorkspaceId::default()).expect("mended");
    let store = open(&folder);
    assert_eq!(store.verify().expect("compared"), []);
    (mended, store, folder)
}

fn sources(store: &SqliteStore) -> Vec<String> {
    let documents: Vec<Document> =
        block_on(async { store.snapshot().await?.scan(table::Documents, None, 9).await }).expect("documents");
    let mut sources: Vec<String> = documents.into_iter().map(|document| document.source).collect();
    sources.sort();
    sources
}

fn snapshot(store: &SqliteStore) -> Box<dyn Snapshot> {
    block_on(store.snapshot()).expect("a snapshot")
}

#[test]
fn a_sound_store_is_copied_unchanged() {
    let (mended, store, _folder) = check_mended("");
    assert_eq!((mended.lost.len(), mended.views_to_derive, mended.documents_to_work_on), (0, 0, 0));
    assert_eq!(sources(&store), ["a", "b"]);
    assert_eq!(snapshot(&store).revision().0, 4, "it counts as a change");
    assert_eq!(block_on(snapshot(&store).counts()).expect("counts").entity_vectors, 4);
}

#[test]
fn damaged_views_are_marked_and_nothing_is_lost() {
    for damage in [
        "UPDATE entities SET name = 'x' WHERE key = 'ADA'",
        "UPDATE relations SET weight = 9 WHERE a = 'ADA'",
        "UPDATE vector_data SET data = zeroblob(4) WHERE slot = 2",
        "UPDATE vectors SET slot = 99 WHERE key = 'ADA'",
        "DELETE FROM entities WHERE key = 'ADA'",
    ] {
        let (mended, store, _folder) = check_mended(damage);
        assert_eq!((mended.lost.len(), mended.documents_to_work_on), (0, 0), "{damage}");
        assert!((1..=3).contains(&mended.views_to_derive), "{damage}: {mended:?}");
        assert_eq!(sources(&store), ["a", "b"], "{damage}");
    }
}

#[test]
fn damaged_records_and_extractions_are_rebuilt_from_sound_rows() {
    let (mended, store, _folder) = check_mended("UPDATE mentions SET name = 'x' WHERE entity = 'ADA'");
    assert_eq!((mended.lost.len(), mended.documents_to_work_on, mended.chunks_to_ask_again), (0, 1, 0));
    drop(store);
    let (mended, store, _folder) =
        check_mended("UPDATE extractions SET model = 'x' WHERE id = (SELECT min(id) FROM extractions)");
    assert_eq!((mended.lost.len(), mended.documents_to_work_on, mended.chunks_to_ask_again), (0, 1, 1));
    assert_eq!(sources(&store), ["a", "b"]);
    let (mended, _store, _folder) = check_mended("UPDATE jobs SET state = 4 WHERE document = 1");
    assert_eq!((mended.lost.len(), mended.documents_to_work_on), (0, 1));
}

#[test]
fn a_record_with_the_wrong_chunk_is_rebuilt_from_its_own_chunk() {
    const INDEX: &str = "FROM sqlite_schema WHERE name = 'mentions_by_chunk'";
    let folder = stored();
    let change = |sql: &str| {
        let conn = Connection::open(folder.path().join("default.graphloom")).expect("a file");
        conn.pragma_update(None, "writable_schema", true).expect("writable");
        conn.execute_batch(sql).expect("changed");
    };
    // In real damage, a changed bit in the row does not change the index.
    change(&format!("CREATE TABLE kept AS SELECT * {INDEX}; DELETE {INDEX}"));
    change("UPDATE mentions SET chunk = 2, ordinal = 8 WHERE entity = 'ADA'");
    change("INSERT INTO sqlite_schema SELECT * FROM kept; DROP TABLE kept");
    mend(folder.path(), &WorkspaceId::default()).expect("mended");
    let conn = Connection::open(folder.path().join("default.graphloom")).expect("a file");
    let queued = "SELECT group_concat(source, ' ') FROM
        (SELECT source FROM documents JOIN jobs ON document = documents.id WHERE state = 1 ORDER BY source)";
    assert_eq!(conn.query_row(queued, [], |row| row.get::<_, String>(0)).as_deref(), Ok("a"));
}

#[test]
fn a_table_with_a_damaged_definition_keeps_its_rows() {
    for (table, column) in [("decisions", "made_at"), ("documents", "title"), ("facts", "keywords")] {
        let (mended, store, _folder) = check_mended(&format!(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, '{column} ', 'x{column} ') WHERE name = '{table}'"
        ));
        assert_eq!((mended.lost.len(), mended.documents_to_work_on), (0, 0), "{table}: {mended:?}");
        assert_eq!(sources(&store), ["a", "b"], "{table}");
        assert_eq!(block_on(snapshot(&store).counts()).expect("counts").decisions, 1, "{table}");
    }
}

#[test]
fn a_chunk_with_the_wrong_document_costs_only_its_own_document() {
    let (mended, store, _folder) =
        check_mended("UPDATE chunks SET document = 2, ordinal = 8 WHERE document = 1");
    let lost: Vec<&str> = mended.lost.iter().map(|lost| lost.id.as_str()).collect();
    assert_eq!((lost, sources(&store)), (vec!["a"], vec!["b".to_owned()]));
}

#[test]
fn a_damaged_document_is_reported_and_the_others_stay() {
    for damage in [
        "UPDATE documents SET title = 'x' WHERE source = 'a'",
        "UPDATE segments SET bytes = x'00' WHERE document = 1",
        "UPDATE chunks SET stop = 3 WHERE document = 1",
        "DELETE FROM segments WHERE document = 1",
    ] {
        let (mended, store, folder) = check_mended(damage);
        let lost: Vec<(LostKind, &str)> =
            mended.lost.iter().map(|lost| (lost.kind, lost.id.as_str())).collect();
        assert_eq!(lost, [(LostKind::Document, "a")], "{damage}");
        assert_eq!(sources(&store), ["b"], "{damage}");
        assert!(mended.views_to_derive >= 3, "its entities and relation are removed too: {mended:?}");
        assert!(folder.path().join("default.graphloom.damaged-1").exists());
    }
}

#[test]
fn a_damaged_edit_is_reported() {
    let (mended, _store, _folder) = check_mended("UPDATE decisions SET made_at = 1");
    assert_eq!(mended.lost.len(), 1);
    assert_eq!(mended.lost[0].kind, LostKind::Decision);
    assert!(mended.lost[0].id.contains("a chemist"), "{:?}", mended.lost);
}

#[test]
fn the_workspaces_own_row_is_restored_from_what_can_be_read() {
    let (mended, store, _folder) = check_mended("UPDATE state SET revision = 1");
    assert_eq!(mended.lost.iter().map(|lost| lost.kind).collect::<Vec<_>>(), [LostKind::State]);
    assert_eq!(snapshot(&store).revision().0, 4);
    assert_eq!(block_on(snapshot(&store).embedding()).expect("a space"), Some(sample::space(3)));
}
