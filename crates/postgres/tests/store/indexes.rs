//! Many vectors are indexed, and what an index finds is scored as if there were none.

use graphloom_core::{Batch, ItemKind, SearchRequest, Snapshot, Store, VectorRow};
use graphloom_postgres::SearchMemory;
use graphloom_postgres::testing::{TestDatabase, new_workspace};
use graphloom_storage::conformance::{block_on, sample};

const DIMENSIONS: usize = 8;
const HITS: usize = 20;
/// Vectors, so many that the database prefers an index to reading all.
const MANY: u64 = 20_000;

/// A vector that depends on the number alone.
fn vector(number: u64) -> Vec<f32> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..DIMENSIONS).map(|_| next()).collect()
}

/// Indexes of vectors in the database; no other test makes any.
fn indexes(url: &str) -> i64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("connected");
        tokio::spawn(connection);
        let sql = "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
            WHERE c.relname LIKE 'vectors\\_near\\_%' AND i.indisvalid";
        client.query_one(sql, &[]).await.expect("an answer").get(0)
    })
}

fn hits(snapshot: &dyn Snapshot, number: u64) -> Vec<(String, f32)> {
    let request = [SearchRequest::by_vector(ItemKind::Entity, vector(number), HITS, 0.0)];
    let found = block_on(snapshot.search(&request)).expect("an answer").remove(0);
    found.into_iter().map(|hit| (hit.item.id().into_owned(), hit.score)).collect()
}

#[test]
fn a_kind_that_has_become_large_is_indexed_and_the_nearest_are_still_found() {
    let (server, name) = (TestDatabase::shared(), new_workspace());
    let database = server.open();
    let store = block_on(database.open_or_create(name.clone())).expect("a store");
    store.set_search_memory(SearchMemory::Never);
    block_on(store.commit(Batch { embedding: Some(sample::space(DIMENSIONS as u32)), ..Batch::default() }))
        .expect("committed");
    for from in (0..MANY).step_by(2000) {
        let (mut put_entities, mut put_vectors): (Vec<_>, Vec<VectorRow>) = Default::default();
        for number in from..(from + 2000).min(MANY) {
            let key = format!("E{number}");
            put_entities.push(sample::entity(&key, ""));
            put_vectors.push(sample::vector(ItemKind::Entity, &key, &vector(number)));
        }
        block_on(store.commit(Batch { put_entities, put_vectors, ..Batch::default() })).expect("committed");
    }
    let questions: Vec<u64> = (0..20).map(|number| number + 1_000_000).collect();
    let exact: Vec<_> = {
        let snapshot = block_on(store.snapshot()).expect("a snapshot");
        questions.iter().map(|number| hits(snapshot.as_ref(), *number)).collect()
    };
    assert_eq!(indexes(&server.url), 0);
    let numbers = i64::try_from(MANY as usize * DIMENSIONS).expect("a count");
    block_on(store.index_vectors([numbers + 1, numbers])).expect("not indexed");
    assert_eq!(indexes(&server.url), 0, "not yet large");
    block_on(store.index_vectors([numbers, numbers])).expect("indexed");
    block_on(store.index_vectors([numbers + 1, numbers])).expect("indexed already");
    assert_eq!(indexes(&server.url), 1);
    let snapshot = block_on(store.snapshot()).expect("a snapshot");
    let mut found = 0;
    for (number, exact) in questions.iter().zip(&exact) {
        let indexed = hits(snapshot.as_ref(), *number);
        assert_eq!(indexed.len(), HITS);
        assert!(indexed.is_sorted_by(|one, other| one.1 >= other.1), "best first");
        for hit in &indexed {
            if let Some(same) = exact.iter().find(|(id, _)| *id == hit.0) {
                assert_eq!(same.1.to_bits(), hit.1.to_bits(), "scores are exact");
                found += 1;
            }
        }
    }
    assert!(found * 100 >= questions.len() * HITS * 95, "{found} of {}", questions.len() * HITS);
    drop(snapshot);
    block_on(database.delete(&name)).expect("deleted");
    assert_eq!(indexes(&server.url), 0, "the index goes with the workspace");
}
