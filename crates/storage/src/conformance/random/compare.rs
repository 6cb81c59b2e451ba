//! Compares everything that can be read from two stores.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use graphloom_core::table::Table;
use graphloom_core::{
    CacheKind, ChunkContextKey, ContentHash, ConversationId, DocumentFilter, DocumentOrder, DocumentPage,
    FilteredIds, GraphKey, Hit, ItemKind, LayerName, LayerNode, Member, SearchRequest, Snapshot, StatusKind,
    StoreError, Timestamp, table,
};

use super::{
    CHUNKS, DOCUMENTS, ENTITIES, LAYERS, PAGE, cache_key, chunk, document, entity_of, names, node,
    relation_of,
};
use crate::conformance::sample;

/// Compares the answers of both stores. An error fails the test.
macro_rules! same {
    ($found:expr, $expected:expr, $method:ident($($argument:expr),*)) => {
        assert_eq!(
            answer($found.$method($($argument),*).await),
            answer($expected.$method($($argument),*).await),
            stringify!($method)
        )
    };
}

/// Compares a table page by page.
async fn same_table<T>(found: &dyn Snapshot, expected: &dyn Snapshot, table: T)
where
    T: Table + Debug,
    T::Row: Debug + PartialEq,
{
    let mut after = None;
    loop {
        let page = answer(found.scan(table.clone(), after.as_ref(), PAGE).await);
        assert_eq!(page, answer(expected.scan(table.clone(), after.as_ref(), PAGE).await), "{table:?}");
        if page.len() < PAGE {
            return;
        }
        after = table.last(after.as_ref(), &page);
    }
}

fn answer<T: Debug>(result: Result<T, StoreError>) -> T {
    result.expect("the store answers")
}

pub(super) async fn compare(found: &dyn Snapshot, expected: &dyn Snapshot) {
    assert_eq!(found.revision(), expected.revision());
    assert_eq!(found.graph_revision(), expected.graph_revision());
    same!(found, expected, counts());
    same!(found, expected, embedding());

    let numbers = 0..DOCUMENTS + 1;
    let documents: Vec<_> = numbers.clone().map(|number| document(number, false, 0).document.id).collect();
    let sources: Vec<String> = (0..3).map(|number| format!("source {number}")).collect();
    let contents: Vec<ContentHash> =
        numbers.clone().map(|number| document(number, false, 0).document.content_hash).collect();
    same!(found, expected, documents(&documents));
    same!(found, expected, documents_of_sources(&sources));
    same!(found, expected, documents_of_contents(&contents));
    same!(found, expected, texts(&documents));
    same!(found, expected, status_counts());
    compare_pages(found, expected).await;
    same!(found, expected, reject_counts());
    same!(found, expected, jobs(&documents));
    same!(found, expected, queue());
    same!(found, expected, tracks_of(&documents));
    same!(found, expected, documents_of_tracks(&["0", "1", "none"].map(sample::track)));
    same!(found, expected, renewals_of(&documents));
    for now in [0, 10, 11, 99] {
        same!(found, expected, claimable_jobs(Timestamp(now), 3));
        same!(found, expected, leased_jobs());
    }

    let chunks: Vec<_> =
        numbers.clone().flat_map(|d| (0..CHUNKS).map(move |ordinal| chunk(d, ordinal, 0).id)).collect();
    let extractions: Vec<_> = numbers.map(|name| sample::extraction(&name.to_string(), "").key).collect();
    same!(found, expected, chunks(&chunks));
    same!(found, expected, chunks_of(&documents));
    same!(found, expected, chunk_ids_of(&documents));
    same!(found, expected, chunk_counts_of(&documents));
    same!(found, expected, extraction_states_of(&documents));
    same!(found, expected, extractions(&extractions));
    same!(found, expected, originals(&documents));
    same!(found, expected, original_stamps(&documents));
    same!(found, expected, chunk_contexts(&chunks));
    same!(found, expected, failed_contexts_of(&documents));
    same!(found, expected, chunk_context_counts());
    let chunk_contexts = ["0", "1", "2", "9"].map(|name| ChunkContextKey::new(&[name]));
    same!(found, expected, context_texts(&chunk_contexts));
    same!(found, expected, graph_keys_of(&chunks));
    same!(found, expected, graph_keys_of(&chunks[..1]));
    same!(found, expected, links_of(&chunks));

    let entities: Vec<_> = ENTITIES.iter().chain(&["NOBODY"]).map(|name| sample::key(name)).collect();
    let ends: Vec<(usize, usize)> = (0..ENTITIES.len())
        .flat_map(|one| (1..ENTITIES.len()).map(move |distance| (one, distance)))
        .collect();
    let relations: Vec<_> = ends.iter().map(|&ends| names(ends)).map(|(a, b)| sample::pair(a, b)).collect();
    let graph: Vec<GraphKey> = ends.iter().flat_map(|&ends| [entity_of(ends), relation_of(ends)]).collect();
    same!(found, expected, mentions_of(&entities));
    same!(found, expected, facts_of(&relations));
    same!(found, expected, facts_touching(&entities));
    same!(found, expected, claims_of(&entities));
    same!(found, expected, entities(&entities));
    same!(found, expected, relations(&relations));
    same!(found, expected, relations_of(&entities));
    same!(found, expected, degrees(&entities));
    same!(found, expected, chunks_behind(&graph, None, 2));
    same!(found, expected, chunks_behind(&graph, None, 99));
    let allowed = allowed(expected).await;
    assert_eq!(allowed, self::allowed(found).await, "what rests on a document");
    same!(found, expected, chunks_behind(&graph, Some(allowed.as_ref()), 2));
    same!(found, expected, summaries(&graph));
    same!(found, expected, links());
    let nodes: Vec<LayerNode> =
        (0..LAYERS.len()).flat_map(|layer| (0..8).map(move |number| node((layer, number)))).collect();
    let keys: Vec<_> = nodes.iter().map(|node| node.key.clone()).collect();
    let members: Vec<Member> = nodes.iter().flat_map(|node| node.members.clone()).collect();
    same!(found, expected, layers());
    same!(found, expected, nodes(&keys));
    same!(found, expected, nodes_of(&members));
    for name in LAYERS.map(LayerName::from_stored) {
        same!(found, expected, node_counts(&name));
        for level in [None, Some(0), Some(1)] {
            same_table(found, expected, table::Nodes { layer: name.clone(), level }).await;
        }
    }
    compare_searches(found, expected).await;

    for source in ["*", "*1"] {
        let sources = vec![source.parse().expect("a pattern")];
        let filter = DocumentFilter { sources, ..DocumentFilter::default() };
        same!(found, expected, documents_matching(&filter));
    }
    same_table(found, expected, table::Documents).await;
    same_table(found, expected, table::DocumentsBySource).await;
    same_table(found, expected, table::DocumentsByDate).await;
    same_table(found, expected, table::Jobs).await;
    same_table(found, expected, table::Chunks).await;
    same_table(found, expected, table::Renewals).await;
    same_table(found, expected, table::ChunkContexts).await;
    same_table(found, expected, table::Extractions).await;
    same_table(found, expected, table::Mentions).await;
    same_table(found, expected, table::Facts).await;
    same_table(found, expected, table::Claims).await;
    same_table(found, expected, table::Decisions).await;
    same_table(found, expected, table::Entities).await;
    same_table(found, expected, table::Relations).await;
    same_table(found, expected, table::Summaries).await;
    same_table(found, expected, table::Stale).await;
    for kind in ItemKind::ALL {
        same_table(found, expected, table::Vectors { kind }).await;
    }
    same_table(found, expected, table::Calls).await;
    let ids = ["0", "2", "9"].map(ConversationId::from_stored);
    same!(found, expected, conversations(&ids));
    same_table(found, expected, table::Conversations).await;
    same_table(found, expected, table::Exchanges { conversation: None }).await;
    same_table(found, expected, table::Exchanges { conversation: Some(ids[0].clone()) }).await;
    let remembered: Vec<_> =
        (0..4).flat_map(|key| CacheKind::ALL.map(|kind| (kind, cache_key(key)))).collect();
    same!(found, expected, cached(&remembered));
    same!(found, expected, cache_sizes());
}

/// Compares pages of documents in every order, with and without conditions.
async fn compare_pages(found: &dyn Snapshot, expected: &dyn Snapshot) {
    let orders = [
        DocumentOrder::Id,
        DocumentOrder::Source,
        DocumentOrder::Accepted,
        DocumentOrder::Size,
        DocumentOrder::Status,
    ];
    for (number, order) in orders.into_iter().enumerate() {
        let all = DocumentPage {
            order,
            descending: number % 2 == 1,
            status: None,
            name: String::new(),
            skip: 0,
            limit: 9,
        };
        same!(found, expected, document_page(&all));
        let some = DocumentPage {
            descending: number % 2 == 0,
            status: Some(BTreeSet::from([StatusKind::Ready, StatusKind::Incomplete, StatusKind::Waiting])),
            name: "OURCE 1".to_owned(),
            ..all.clone()
        };
        same!(found, expected, document_page(&some));
        let second = DocumentPage { skip: 1, limit: 2, ..all };
        same!(found, expected, document_page(&second));
    }
}

/// Returns the ids that a filter of the first two documents allows.
async fn allowed(view: &dyn Snapshot) -> Arc<FilteredIds> {
    let documents = (0..2).map(|number| document(number, false, 0).document.id).collect();
    Arc::new(answer(FilteredIds::of(view, documents, true).await))
}

/// Returns `None` and each layer.
fn layers() -> Vec<Option<LayerName>> {
    let each = LAYERS.into_iter().map(|name| Some(LayerName::from_stored(name)));
    std::iter::once(None).chain(each).collect()
}

pub(super) async fn compare_searches(found: &dyn Snapshot, expected: &dyn Snapshot) {
    let dimensions = answer(expected.embedding().await).map_or(3, |space| space.dimensions as usize);
    for kind in ItemKind::ALL {
        for (limit, min_score) in [(1, -1.0), (2, 0.0), (3, 0.7), (99, -1.0)] {
            let vectors = [[1.0, 0.0, 0.0], [0.3, -0.8, 0.1], [0.0, 0.0, 0.0]];
            for filtered in [None, Some(allowed(expected).await)] {
                for layer in layers() {
                    let requests = vectors.map(|vector| {
                        let mut vector = vector.to_vec();
                        vector.resize(dimensions, 0.0);
                        SearchRequest {
                            filtered: filtered.clone(),
                            layer: layer.clone(),
                            ..SearchRequest::by_vector(kind, vector, limit, min_score)
                        }
                    });
                    same!(found, expected, search(&requests));
                }
            }
        }
        let entries = answer(expected.scan(table::Vectors { kind }, None, 99).await);
        let items: Vec<_> = entries.into_iter().map(|entry| entry.item).collect();
        same!(found, expected, vectors(&items));
    }
}

/// Both must find the same entries. Scores may differ, because they may be computed from different counts.
pub(super) async fn compare_text(found: &dyn Snapshot, expected: &dyn Snapshot) {
    for kind in ItemKind::ALL {
        for (text, filtered) in [
            ("Bob", false),
            ("Bob", true),
            ("say ADA", true),
            ("東", false),
            ("knowing rome", false),
            ("contextualized paris", false),
            ("zzz", true),
        ] {
            let filtered = if filtered { Some(allowed(expected).await) } else { None };
            for layer in layers() {
                let filtered = filtered.clone();
                let request =
                    [SearchRequest { layer, ..SearchRequest::by_words(kind, text, 99).filtered(filtered) }];
                let ids = |hits: Vec<Vec<Hit>>| {
                    let mut items: Vec<_> = hits.concat().into_iter().map(|hit| hit.item).collect();
                    items.sort();
                    items
                };
                let found = ids(answer(found.search(&request).await));
                assert_eq!(found, ids(answer(expected.search(&request).await)), "search_text {text}");
            }
        }
    }
}
