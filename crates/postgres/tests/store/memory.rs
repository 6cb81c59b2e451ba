//! Search data is kept in memory and follows the commits of other processes.

use std::sync::Arc;

use graphloom_core::{Batch, FilteredIds, ItemKind, LinkGraph, Links, SearchRequest, Store};
use graphloom_postgres::testing::{TestDatabase, new_workspace};
use graphloom_postgres::{PostgresStore, SearchMemory};
use graphloom_storage::conformance::{block_on, sample};

/// Returns the hits for vectors and words, with all bits of their scores.
fn found(store: &PostgresStore) -> Vec<Vec<(String, u32)>> {
    let by_words = |text| SearchRequest::by_words(ItemKind::Chunk, text, 50);
    let by_vector = |kind| SearchRequest::by_vector(kind, vec![0.5, -0.2, 0.1], 50, -1.0);
    let requests = [
        by_vector(ItemKind::Entity),
        by_vector(ItemKind::Relation),
        by_vector(ItemKind::Chunk),
        by_words("Ada met everyone at 1"),
        by_words("0"),
    ];
    let hits = block_on(async { store.snapshot().await?.search(&requests).await }).expect("hits");
    let told = |hits: Vec<graphloom_core::Hit>| {
        hits.into_iter().map(|hit| (hit.item.id().into_owned(), hit.score.to_bits())).collect()
    };
    hits.into_iter().map(told).collect()
}

#[test]
fn memory_follows_commits_of_other_processes_and_matches_the_database() {
    let (server, name) = (TestDatabase::shared(), new_workspace());
    let (database, other) = (server.open(), server.open());
    let writing = block_on(database.open_or_create(name.clone())).expect("a store");
    let [asked, asking] =
        [&other, &database].map(|database| block_on(database.open_or_create(name.clone())).expect("a store"));
    asked.set_search_memory(SearchMemory::Never);
    asking.set_search_memory(SearchMemory::AtOnce);
    let space = Batch { embedding: Some(sample::space(3)), ..Batch::default() };
    block_on(writing.commit(space)).expect("committed");
    for number in 0..30u8 {
        let (one, two) = (format!("E{}", number % 7), format!("E{}", number % 5 + 7));
        let text = format!("{one} and Ada met {two} at {}", number % 3);
        let batch = match number {
            10 => {
                let whole = sample::indexed("d3", "E3 and Ada met E10 at 0", "E3", "E10");
                Batch {
                    remove_documents: vec![whole.put_documents[0].document.id.clone()],
                    remove_entities: vec![whole.put_entities[0].key.clone()],
                    remove_relations: vec![whole.put_relations[0].key.clone()],
                    ..Batch::default()
                }
            }
            20 => Batch {
                put_vectors: vec![sample::vector(ItemKind::Entity, "E1", &[0.1, 0.9, -0.3])],
                ..Batch::default()
            },
            25 => Batch { replace_embedding: true, embedding: Some(sample::space(3)), ..Batch::default() },
            _ => sample::indexed(&format!("d{number}"), &text, &one, &two),
        };
        block_on(writing.commit(batch)).unwrap_or_else(|error| panic!("batch {number}: {error}"));
        let (expected, hits) = (found(&asked), found(&asking));
        assert_eq!(hits, expected, "after batch {number}");
        assert!(number == 25 || hits.iter().all(|hits| !hits.is_empty()), "after batch {number}: {hits:?}");
    }
    block_on(database.delete(&name)).expect("deleted");
}

#[test]
fn if_not_all_vectors_fit_those_a_filter_allows_are_cached_and_follow_commits() {
    let (server, name) = (TestDatabase::shared(), new_workspace());
    let (database, other) = (server.open(), server.open());
    let writing = block_on(database.open_or_create(name.clone())).expect("a store");
    block_on(writing.commit(Batch { embedding: Some(sample::space(3)), ..Batch::default() }))
        .expect("committed");
    let mut documents = Vec::new();
    for number in 0..20u8 {
        let (one, two) = (format!("E{}", number % 7), format!("E{}", number % 5 + 7));
        let text = format!("{one} and Ada met {two} at {}", number % 3);
        let batch = sample::indexed(&format!("d{number}"), &text, &one, &two);
        documents.push(batch.put_documents[0].document.id.clone());
        block_on(writing.commit(batch)).expect("committed");
    }
    let [asked, asking] =
        [&other, &database].map(|database| block_on(database.open_or_create(name.clone())).expect("a store"));
    asked.set_search_memory(SearchMemory::Never);
    asking.set_search_memory(SearchMemory::AtOnce);
    // Enough for the entities of two documents, but too little for those of all.
    asking.limit_search_memory(1_000);
    let nearest = |store: &PostgresStore, filtered: &Arc<FilteredIds>| {
        let request = SearchRequest::by_vector(ItemKind::Entity, vec![0.5, -0.2, 0.1], 50, -1.0);
        let requests = [request.filtered(Some(Arc::clone(filtered)))];
        let hits = block_on(async { store.snapshot().await?.search(&requests).await }).expect("hits");
        let told = |hit: &graphloom_core::Hit| (hit.item.id().into_owned(), hit.score.to_bits());
        hits[0].iter().map(told).collect::<Vec<_>>()
    };
    let admitted = || {
        let of_two = documents[..2].iter().cloned().collect();
        let found = block_on(async { FilteredIds::of(&*writing.snapshot().await?, of_two, true).await });
        Arc::new(found.expect("what the filter admits"))
    };
    let before = admitted();
    let hits = nearest(&asking, &before);
    assert!(hits.len() == 4 && asking.search_memory_bytes() > 0, "{hits:?}");
    assert_eq!((hits.clone(), hits), (nearest(&asked, &before), nearest(&asking, &before)));
    let moved = Batch {
        put_vectors: vec![sample::vector(ItemKind::Entity, "E1", &[0.1, 0.9, -0.3])],
        ..Batch::default()
    };
    block_on(writing.commit(moved)).expect("committed");
    for filtered in [before, admitted()] {
        assert_eq!(nearest(&asking, &filtered), nearest(&asked, &filtered));
    }
    asking.set_search_memory(SearchMemory::Never);
    assert_eq!(asking.search_memory_bytes(), 0);
    block_on(database.delete(&name)).expect("deleted");
}

#[test]
fn above_the_memory_limit_the_database_returns_the_same_hits() {
    let (server, name) = (TestDatabase::shared(), new_workspace());
    let database = server.open();
    let writing = block_on(database.open_or_create(name.clone())).expect("a store");
    block_on(writing.commit(Batch { embedding: Some(sample::space(3)), ..Batch::default() }))
        .expect("committed");
    for number in 0..20u8 {
        let (one, two) = (format!("E{}", number % 7), format!("E{}", number % 5 + 7));
        let text = format!("{one} and Ada met {two} at {}", number % 3);
        block_on(writing.commit(sample::indexed(&format!("d{number}"), &text, &one, &two)))
            .expect("committed");
    }
    // Returns the hits of a process with this memory limit, and the bytes that it keeps.
    let process = |limit| {
        let database = server.open();
        let store = block_on(database.open_or_create(name.clone())).expect("a store");
        store.set_search_memory(SearchMemory::AtOnce);
        store.limit_search_memory(limit);
        (found(&store), store.search_memory_bytes())
    };
    let (hits, all) = process(usize::MAX);
    assert!(hits.iter().all(|hits| !hits.is_empty()), "{hits:?}");
    let (of_none, none) = process(0);
    assert_eq!((of_none == hits, none), (true, 0), "everything is left to the database");
    let (of_some, some) = process(all - 1);
    assert!(of_some == hits && some > 0 && some < all, "the rest is left to the database: {some} of {all}");
    block_on(database.delete(&name)).expect("deleted");
}

#[test]
fn links_beyond_the_limit_are_not_cached_and_can_be_read_chunk_by_chunk() {
    let (server, name) = (TestDatabase::shared(), new_workspace());
    let database = server.open();
    let store = block_on(database.open_or_create(name.clone())).expect("a store");
    block_on(store.commit(Batch { embedding: Some(sample::space(3)), ..Batch::default() }))
        .expect("committed");
    let mut documents = Vec::new();
    for number in 0..4u8 {
        let (one, two) = (format!("E{number}"), format!("E{}", number + 1));
        let batch = sample::indexed(&format!("d{number}"), &format!("{one} met {two}"), &one, &two);
        documents.extend(batch.put_documents.iter().map(|new| new.document.id.clone()));
        block_on(store.commit(batch)).expect("committed");
    }
    let links = || block_on(async { store.snapshot().await?.links().await }).expect("links");
    let Links::Whole(whole) = links() else { panic!("there are few links") };
    store.limit_links(1);
    let Links::TooMany { nodes } = links() else { panic!("there are too many links") };
    assert_eq!(nodes, whole.len());
    let read = async {
        let snapshot = store.snapshot().await?;
        let chunks: Vec<_> = snapshot.chunk_ids_of(&documents).await?.into_iter().flatten().collect();
        let links = snapshot.links_of(&chunks).await?;
        Ok::<_, graphloom_core::StoreError>(LinkGraph::of(chunks.into_iter().zip(links)))
    };
    assert_eq!(block_on(read).expect("links"), *whole);
    store.limit_links(u64::MAX);
    assert_eq!(links(), Links::Whole(whole));
    block_on(database.delete(&name)).expect("deleted");
}
