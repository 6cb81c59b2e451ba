//! Every stored value has a checksum, and every mismatch is found.

use graphloom_core::{
    BudgetChange, BudgetUnit, CacheEntry, CacheKind, Call, CallOutcome, ChunkExtraction, ContentHash,
    DocumentId, Extraction, GraphKey, Member, NewExchange, QueueState, Records, RestsOn, Revision, Role,
    Span, Store, StoreError, Timestamp, WorkspaceId, table,
};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

use super::commit;
use crate::conformance::conversations::{conversation, exchange};
use crate::conformance::{block_on, sample};
use crate::sqlite::vector_tree::TreeLimits;
use crate::sqlite::{Patience, SqliteStore, sums};

/// Returns a store with rows in every table.
fn full() -> (SqliteStore, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let trees = TreeLimits { exact_vectors: 3, grown_by: 1, ..TreeLimits::default() };
    let store = SqliteStore::open_with(folder.path(), WorkspaceId::default(), Patience::Endless, trees)
        .expect("a store");
    let mut batch = sample::indexed("a", "Ada met Bob", "ADA", "BOB");
    let (document, chunk) = (batch.put_documents[0].document.id.clone(), batch.put_chunks[0].id.clone());
    let mut tail = sample::chunk(&batch.put_documents[0], 1, Span::new(8, 11));
    tail.extraction = ChunkExtraction::Failed { reason: "timeout".to_owned(), attempts: 2 };
    batch.put_chunks.push(tail);
    let nothing = Extraction { records: Records::default(), ..sample::extraction("met", "nothing") };
    let mut middle = sample::chunk(&batch.put_documents[0], 2, Span::new(4, 7));
    middle.extraction = ChunkExtraction::Done { key: nothing.key.clone() };
    batch.put_chunks.push(middle);
    batch.put_extractions.push(nothing);
    batch.put_claims = vec![sample::claim(&chunk, 0, "ADA", Some("BOB"))];
    batch.put_tracks = vec![(sample::track("run"), document.clone())];
    batch.put_renewals = vec![sample::renewal(&chunk, ChunkExtraction::Pending)];
    batch.put_chunk_contexts = vec![sample::chunk_context(&chunk, "s", Some("In a letter."))];
    batch.put_decisions = vec![sample::decision(1, "ADA", "a chemist")];
    batch.set_summaries = vec![(GraphKey::Entity(sample::key("ADA")), vec![sample::summary("s")])];
    batch.set_stale = vec![(GraphKey::Relation(sample::pair("ADA", "BOB")), true)];
    batch.set_queue = Some(QueueState::Paused { since: Timestamp(7) });
    batch.put_cached = vec![CacheEntry {
        kind: CacheKind::Answer,
        key: ContentHash::of(b"question"),
        value: b"answer".to_vec(),
    }];
    let node = sample::node("themes", 1, [Member::Entity(sample::key("ADA"))], "Ada");
    batch.put_layers = vec![sample::layer("themes", 1, true)];
    batch.put_nodes = vec![node];
    batch.append_calls = vec![Call {
        role: Role::Extract,
        model: "model".to_owned(),
        prompt_tokens: 7,
        cached_prompt_tokens: 1,
        completion_tokens: 3,
        attempts: 1,
        started_at: Timestamp(5),
        duration_ms: 9,
        outcome: CallOutcome::Ok,
        document: Some(document.clone()),
        rejects: 1,
    }];
    batch.set_originals = vec![sample::original(&document, b"%PDF-1.7")];
    batch.remove_documents = vec![DocumentId::from_stored("none")];
    batch.put_conversations = vec![conversation("x", "ada")];
    let rests_on = RestsOn::Documents([document].into());
    batch.put_exchanges = vec![NewExchange { read_at: Revision(1), ..exchange("x", 0, rests_on) }];
    commit(&store, batch);
    let limit =
        BudgetChange::Limit { unit: BudgetUnit::Tokens, amount: 9, restart: false, now: Timestamp(1) };
    block_on(store.apply_to_budget(limit)).expect("set");
    // More vectors than before, so that a tree is growing.
    commit(&store, sample::indexed("c", "Cleo met Dan", "CLEO", "DAN"));
    (store, folder)
}

/// Opens the file like another program, which does not maintain the sums.
fn other_program(folder: &TempDir) -> Connection {
    let conn = Connection::open(folder.path().join("default.graphloom")).expect("the file");
    conn.execute_batch("PRAGMA foreign_keys = off; PRAGMA ignore_check_constraints = on;").expect("set");
    conn
}

fn other_than(value: &Value) -> Value {
    match value {
        Value::Null => Value::Text("x".to_owned()),
        Value::Integer(number) => Value::Integer(number ^ (1 << 40)),
        Value::Real(number) => Value::Real(number + 0.5),
        Value::Text(text) => Value::Text(format!("{text}x")),
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            if let Some(last) = bytes.last_mut() {
                *last ^= 1;
            }
            Value::Blob(bytes)
        }
    }
}

#[test]
fn a_sound_store_has_no_findings_after_any_writes() {
    let (store, _folder) = full();
    assert_eq!(store.verify().expect("compared"), []);
    // Existing rows are written again, changed and removed.
    let mut again = sample::indexed("a", "Ada met Bob", "ADA", "CLEO");
    again.put_documents[0].document.title = "another".to_owned();
    again.put_vectors[1].vector = vec![0.5, 0.5, 0.1];
    let id = again.put_documents[0].document.id.clone();
    commit(&store, again);
    commit(&store, sample::indexed("b", &"Dan met Eve. ".repeat(9000), "DAN", "EVE"));
    assert_eq!(store.verify().expect("compared"), []);
    commit(&store, sample::removal(&[id], &["ADA", "BOB", "CLEO"]));
    assert_eq!(store.verify().expect("compared"), []);
    assert_eq!(store.fault(), None);
}

#[test]
fn a_change_to_any_column_of_any_table_is_found() {
    let (store, folder) = full();
    let conn = other_program(&folder);
    let tables = sums::tables(&conn).expect("the tables");
    assert!(tables.len() >= 30, "{}", tables.len());
    for table in &tables {
        let name = &table.name;
        let mut columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        columns.push("sum");
        for column in columns {
            let select = format!("SELECT {column} FROM {name} LIMIT 1");
            let was: Value = conn
                .query_row(&select, [], |row| row.get(0))
                .unwrap_or_else(|error| panic!("{name} has a row with {column}: {error}"));
            let update = format!("UPDATE {name} SET {column} = ?2 WHERE {column} IS ?1");
            let damaged = other_than(&was);
            conn.execute(&update, [&was, &damaged]).unwrap_or_else(|error| panic!("{update}: {error}"));
            let found = store.verify().expect("compared");
            let is_named = |id: &str| id.split(' ').next() == Some(name);
            assert!(
                found.iter().any(|finding| finding.kind == "row" && is_named(&finding.id)),
                "{name}.{column}: {found:?}"
            );
            conn.execute(&update, [&damaged, &was]).expect("put back");
        }
        assert_eq!(store.verify().expect("compared"), [], "{name}");
    }
}

#[test]
fn the_nodes_of_a_vector_tree_are_compared_with_the_vectors() {
    let (store, folder) = full();
    let conn = other_program(&folder);
    let body: Vec<u8> = conn
        .query_row(
            "SELECT body FROM vector_nodes WHERE id = (SELECT root FROM vector_trees WHERE kind = 1)",
            [],
            |row| row.get(0),
        )
        .expect("a leaf");
    // The number of rows, an id, and a coarse part.
    for at in [0, 12, 12 + 16] {
        let mut damaged = body.clone();
        damaged[at] ^= 1;
        let update =
            "UPDATE vector_nodes SET body = ?1 WHERE id = (SELECT root FROM vector_trees WHERE kind = 1)";
        conn.execute(update, [&damaged]).expect("damaged");
        let found = store.verify().expect("compared");
        assert!(found.iter().any(|finding| finding.id == "vector tree"), "{at}: {found:?}");
    }
}

#[test]
fn a_missing_or_changed_index_is_found() {
    let (store, folder) = full();
    let conn = other_program(&folder);
    conn.execute_batch("DROP INDEX chunks_ill").expect("dropped");
    let found = store.verify().expect("compared");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].what.contains("chunks_ill"), "{found:?}");
}

#[test]
fn reading_a_damaged_row_is_an_error_that_names_it_and_is_remembered() {
    for (sql, table) in [
        ("UPDATE documents SET title = 'x'", "documents"),
        ("UPDATE entities SET degree = 9 WHERE key = 'ADA'", "entities"),
        ("UPDATE relations SET weight = 9", "relations"),
        ("UPDATE mentions SET name = 'x'", "mentions"),
        ("UPDATE facts SET weight = 9", "facts"),
        ("UPDATE chunks SET start = 1", "chunks"),
        ("UPDATE segments SET bytes = x'416461'", "segments"),
        ("UPDATE extractions SET model = 'x'", "extractions"),
        ("UPDATE vector_data SET data = zeroblob(length(data))", "vector_data"),
        ("UPDATE jobs SET attempts = 9", "jobs"),
        ("UPDATE state SET revision = revision + 1", "state"),
    ] {
        let (store, folder) = full();
        assert_eq!(other_program(&folder).execute(sql, []).map(|rows| rows > 0), Ok(true), "{sql}");
        let read = block_on(async {
            let snapshot = store.snapshot().await?;
            let chunks = snapshot.scan(table::Chunks, None, 9).await?;
            snapshot.scan(table::Documents, None, 9).await?;
            snapshot.scan(table::Jobs, None, 9).await?;
            snapshot.scan(table::Extractions, None, 9).await?;
            snapshot.mentions_of(&[sample::key("ADA"), sample::key("BOB")]).await?;
            snapshot.facts_of(&[sample::pair("ADA", "BOB")]).await?;
            snapshot.entities(&[sample::key("ADA")]).await?;
            snapshot.relations(&[sample::pair("ADA", "BOB")]).await?;
            let ids = chunks
                .iter()
                .map(|chunk| graphloom_core::ItemKey::Chunk(chunk.id.clone()))
                .collect::<Vec<_>>();
            snapshot.vectors(&ids).await
        });
        match read {
            Err(StoreError::Corrupt { what, .. }) => assert!(what.contains(table), "{sql}: {what}"),
            other => panic!("{sql}: {other:?}"),
        }
        assert!(store.fault().is_some_and(|fault| fault.contains(table)), "{sql}");
    }
}
