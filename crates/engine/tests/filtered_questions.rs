//! A filter restricts a question to some documents; the others are neither ranked nor read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphloom_core::{
    Action, Document, DocumentFilter, Entity, EntityKey, FilteredIds, Relation, Snapshot, Store, WorkspaceId,
    table,
};
use graphloom_engine::Engine;
use graphloom_engine::edit::decide;
use graphloom_engine::index;
use graphloom_engine::query::{Mode, QueryError, Question, Retrieval, retrieve, search};
use graphloom_storage::memory::MemoryStore;
use graphloom_storage::sqlite::SqliteStore;
use proptest::prelude::*;

use crate::support::{ReadingModel, engine, source};

/// Builds a store of these documents, indexed without summaries; decisions merge some names into one entity.
async fn library(store: Arc<dyn Store>, documents: &BTreeMap<String, String>, merges: &[Action]) -> Engine {
    let mut engine = engine(store, Arc::new(ReadingModel::default()));
    engine.models.summarize = None;
    if !merges.is_empty() {
        decide(&engine, merges.to_vec()).await.expect("deciding works");
    }
    for (name, text) in documents {
        let mut source = source(name, text);
        source.meta.insert("length".to_owned(), text.len().to_string());
        index::accept(&engine, vec![source]).await.expect("the store works");
    }
    index::run(&engine, &|_| {}, &|_| true).await.expect("store and model work");
    engine
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(WorkspaceId::default()))
}

fn question(mode: Mode, text: &str, filter: Option<DocumentFilter>) -> Question {
    Question {
        text: text.to_owned(),
        mode,
        hl_keywords: vec!["acquaintance".to_owned()],
        ll_keywords: vec![text.to_owned()],
        filter,
        cosine_threshold: 0.0,
        ..Question::default()
    }
}

async fn entities(snapshot: &dyn Snapshot) -> BTreeMap<EntityKey, Entity> {
    let all = snapshot.scan(table::Entities, None, 1000).await.expect("the store works");
    all.into_iter().map(|entity| (entity.key.clone(), entity)).collect()
}

async fn relations(snapshot: &dyn Snapshot) -> Vec<Relation> {
    snapshot.scan(table::Relations, None, 1000).await.expect("the store works")
}

/// Asks the same question with a filter, and in a store with only the documents that match the filter.
async fn check_filter(
    store: Arc<dyn Store>,
    documents: &BTreeMap<String, String>,
    json: &str,
    merges: &[Action],
) {
    let filter: DocumentFilter = serde_json::from_str(json).expect("a filter");
    let whole = library(store, documents, merges).await;
    let snapshot = whole.store.snapshot().await.expect("the store works");
    let admitted = filter.select(snapshot.as_ref()).await.expect("the store works");
    let sources: BTreeSet<String> = admitted.iter().map(|document| document.source.clone()).collect();
    let alone: BTreeMap<String, String> = documents
        .iter()
        .filter(|(name, _)| sources.contains(*name))
        .map(|(n, t)| (n.clone(), t.clone()))
        .collect();
    let alone = library(memory(), &alone, merges).await;
    let small = alone.store.snapshot().await.expect("the store works");
    let (known, stated) = (entities(small.as_ref()).await, relations(small.as_ref()).await);
    let allowed = FilteredIds::resolve(snapshot.as_ref(), &filter, false).await.expect("the store works");

    for (mode, text) in Mode::ALL
        .iter()
        // Reports cover all documents, so modes that answer from them reject filters.
        .filter(|mode| {
            !matches!(mode, Mode::Bypass | Mode::CommunityGlobal | Mode::CommunityLocal | Mode::Drift)
        })
        .flat_map(|mode| [(*mode, "Ada"), (*mode, "who knows the Dee?")])
    {
        let filtered = retrieve(&whole, &question(mode, text, Some(filter.clone()))).await;
        if admitted.is_empty() {
            assert!(matches!(filtered, Err(QueryError::NothingAllowed)), "{filtered:?}");
            continue;
        }
        let filtered = filtered.expect("retrieving works");
        let expected = retrieve(&alone, &question(mode, text, None)).await.expect("retrieving works");
        for found in &filtered.entities {
            assert_eq!(Some(&found.entity), known.get(&found.entity.key), "{mode:?} {json}");
        }
        for found in &filtered.relations {
            assert!(stated.contains(&found.relation), "{mode:?} {json} {:?}", found.relation);
            let names = found.relation.key.ends().map(|end| known[end].name.clone());
            assert_eq!(found.ends, names);
        }
        assert!(
            filtered.chunks.iter().all(|found| sources.contains(&name_of(&admitted, &found.chunk.document)))
        );
        assert!(filtered.references.iter().all(|reference| sources.contains(&reference.source)));
        if mode == Mode::Naive {
            assert_eq!(
                (&filtered.chunks, &filtered.context),
                (&expected.chunks, &expected.context),
                "{json}"
            );
        }
        if allowed.is_none() {
            let unfiltered = retrieve(&whole, &question(mode, text, None)).await.expect("retrieving works");
            let seen = |it: &Retrieval| (it.entities.clone(), it.relations.clone(), it.context.clone());
            assert_eq!(seen(&filtered), seen(&unfiltered), "a filter that allows everything changes nothing");
        }
    }
    if admitted.is_empty() {
        return;
    }
    let hits = search(&whole, "Ada knows Dee", 99, Some(&filter)).await.expect("searching works");
    assert!(hits.passages.iter().all(|hit| sources.contains(&hit.source)));
    assert!(hits.entities.iter().all(|hit| known.get(&hit.entity.key) == Some(&hit.entity)));
    assert!(hits.relations.iter().all(|hit| stated.contains(&hit.relation)));
    let saying: usize =
        documents.iter().filter(|(name, text)| sources.contains(*name) && text.contains("Ada")).count();
    assert!(hits.passages.len() >= saying, "no allowed passage is crowded out");
}

fn name_of(documents: &[Document], id: &graphloom_core::DocumentId) -> String {
    documents
        .iter()
        .find(|document| document.id == *id)
        .map(|document| document.source.clone())
        .unwrap_or_default()
}

fn text() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["Ada", "ada", "Bo", "Cy", "the Dee", "Dee", "Eve's club"]);
    prop::collection::vec((name.clone(), name), 1..6)
        .prop_map(|pairs| pairs.iter().map(|(a, b)| format!("{a} knows {b}. ")).collect::<String>())
}

fn filter() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#"{"sources":["a/*"]}"#.to_owned()),
        Just(r#"{"sources":["a/0","b/1","gone"]}"#.to_owned()),
        Just(r#"{"sources":["**"]}"#.to_owned()),
        Just(r#"{"status":["ready"],"meta":["!gone"]}"#.to_owned()),
        Just(r#"{"accepted_after":"2020"}"#.to_owned()),
        (10..80u32).prop_map(|length| format!(r#"{{"meta":["length>={length}"]}}"#)),
    ]
}

fn merge() -> impl Strategy<Value = Action> {
    let key = || prop::sample::select(vec!["ADA", "BO", "CY", "DEE"]).prop_map(EntityKey::from_stored);
    (key(), key()).prop_map(|(one, into)| Action::MergeEntities {
        sources: vec![one],
        name: format!("Merged {into}"),
        into,
        kind: None,
        description: None,
    })
}

fn documents() -> impl Strategy<Value = BTreeMap<String, String>> {
    let name = ("[ab]", 0..4u8).prop_map(|(folder, number)| format!("{folder}/{number}"));
    prop::collection::btree_map(name, text(), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_filtered_question_equals_one_on_a_store_with_only_the_allowed_documents(
        documents in documents(),
        filter in filter(),
        merges in prop::collection::vec(merge(), 0..2),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(check_filter(memory(), &documents, &filter, &merges));
    }
}

#[tokio::test]
async fn a_filtered_question_on_disk_equals_one_on_a_store_with_only_the_allowed_documents() {
    let documents: BTreeMap<String, String> = [
        ("a/1", "Ada knows Bo. Ada knows Cy. ADA knows Bo."),
        ("a/2", "Bo knows Dee. Cy knows Bo."),
        ("b/1", "Ada knows Bo. the Dee knows Ada. Eve's club knows Ada."),
        ("b/2", "Cy knows Eve's club."),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into();
    for filter in [
        r#"{"sources":["a/*"]}"#,
        r#"{"sources":["b/1"]}"#,
        r#"{"meta":["length<35"]}"#,
        r#"{"sources":["c"]}"#,
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("the store opens");
        check_filter(Arc::new(store), &documents, filter, &[]).await;
    }
}

#[tokio::test]
async fn a_filter_without_matches_calls_no_model() {
    let documents = BTreeMap::from([("a".to_owned(), "Ada knows Bo.".to_owned())]);
    let engine = library(memory(), &documents, &[]).await;
    let filter: DocumentFilter = serde_json::from_str(r#"{"sources":["b"]}"#).expect("a filter");
    let refused = retrieve(&engine, &question(Mode::Mix, "Ada", Some(filter.clone())))
        .await
        .expect_err("nothing matches");
    assert_eq!(refused.to_string(), "no document matches the filter");
    assert!(refused.remedy().is_some_and(|remedy| remedy.contains("loosen")));
    assert!(matches!(search(&engine, "Ada", 5, Some(&filter)).await, Err(QueryError::NothingAllowed)));
}
