//! Large sets of vectors are indexed, and hits from the index score the same as without one.

use std::collections::BTreeSet;
use std::sync::Arc;

use graphloom_core::{Batch, FilteredIds, ItemKind, SearchRequest, Snapshot, Store, VectorRow};
use graphloom_postgres::SearchMemory;
use graphloom_postgres::testing::{TestDatabase, new_workspace};
use graphloom_storage::conformance::{block_on, sample};

const DIMENSIONS: usize = 8;
const HITS: usize = 20;
/// So many vectors that the database prefers an index to reading all of them.
const MANY: u64 = 20_000;

/// Returns a vector that depends only on the number.
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

/// Returns the number of vector indexes in the database. No other test creates any.
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

fn hits(
    snapshot: &dyn Snapshot,
    number: u64,
    filtered: Option<&Arc<FilteredIds>>,
    min_score: f32,
) -> Vec<(String, f32)> {
    let request = SearchRequest::by_vector(ItemKind::Entity, vector(number), HITS, min_score);
    let request = [request.filtered(filtered.cloned())];
    let found = block_on(snapshot.search(&request)).expect("an answer").remove(0);
    found.into_iter().map(|hit| (hit.item.id().into_owned(), hit.score)).collect()
}

#[test]
fn a_kind_with_many_vectors_is_indexed_and_the_nearest_are_still_found() {
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
    // One document that names a tenth of the entities, and one that names a few.
    let mut filters = Vec::new();
    for (source, step) in [("many", 10), ("few", 400)] {
        let new = sample::document(source, "They met.");
        let chunk = sample::whole(&new);
        let named = (0..).zip((0..MANY).step_by(step));
        let mention = |(ordinal, number)| sample::mention(&chunk.id, ordinal, &format!("E{number}"));
        let document = new.document.id.clone();
        let batch = Batch {
            put_mentions: named.map(mention).collect(),
            put_documents: vec![new],
            put_chunks: vec![chunk.clone()],
            ..Batch::default()
        };
        block_on(store.commit(batch)).expect("committed");
        let snapshot = block_on(store.snapshot()).expect("a snapshot");
        let allowed = block_on(FilteredIds::of(snapshot.as_ref(), BTreeSet::from([document]), true));
        filters.push(Some(Arc::new(allowed.expect("resolved"))));
    }
    filters.push(None);
    let questions: Vec<u64> = (0..20).map(|number| number + 1_000_000).collect();
    let searches: Vec<(Option<&Arc<FilteredIds>>, u64, f32)> = filters
        .iter()
        .flat_map(|filter| questions.iter().map(move |number| (filter.as_ref(), *number, 0.0)))
        // If nothing is near enough, the scan ends early and still finds everything.
        .chain(questions.iter().map(|number| (filters[0].as_ref(), *number, 0.93)))
        .collect();
    let find = |snapshot: &dyn Snapshot| -> Vec<_> {
        searches.iter().map(|(filter, number, least)| hits(snapshot, *number, *filter, *least)).collect()
    };
    let exact = {
        let snapshot = block_on(store.snapshot()).expect("a snapshot");
        find(snapshot.as_ref())
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
    for ((indexed, exact), (filter, ..)) in find(snapshot.as_ref()).iter().zip(&exact).zip(&searches) {
        assert!(indexed.len() <= exact.len());
        let is_admitted = |id: &str| filter.is_none_or(|filter| filter.admits(ItemKind::Entity, id));
        assert!(indexed.iter().all(|(id, _)| is_admitted(id)), "no other entity is found");
        assert!(indexed.is_sorted_by(|one, other| one.1 >= other.1), "best first");
        for hit in indexed {
            if let Some(same) = exact.iter().find(|(id, _)| *id == hit.0) {
                assert_eq!(same.1.to_bits(), hit.1.to_bits(), "scores are exact");
                found += 1;
            }
        }
    }
    let all: usize = exact.iter().map(Vec::len).sum();
    assert!(found * 100 >= all * 95, "{found} of {all}");
    drop(snapshot);
    block_on(database.delete(&name)).expect("deleted");
    assert_eq!(indexes(&server.url), 0, "the index is deleted with the workspace");
}
