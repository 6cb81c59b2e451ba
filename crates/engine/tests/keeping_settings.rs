//! A workspace keeps the models and settings with which it was first built.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use graphloom_core::{Store, WorkspaceId};
use graphloom_engine::Engine;
use graphloom_engine::index::{self, BuildSettings, IndexError};
use graphloom_storage::memory::MemoryStore;

use crate::support::{ReadingModel, engine, source};

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(WorkspaceId::default()))
}

fn settings(decisive: &[(&str, &str)], others: &[(&str, &str)]) -> BuildSettings {
    let map = |rows: &[(&str, &str)]| rows.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    BuildSettings { decisive: map(decisive), others: map(others), ..BuildSettings::default() }
}

/// Returns an engine that extracts with this model.
fn engine_with(store: &Arc<dyn Store>, model: &str) -> (Engine, Arc<ReadingModel>) {
    let reader = Arc::new(ReadingModel::default());
    let mut engine = engine(Arc::clone(store), Arc::clone(&reader));
    engine.index.settings =
        Some(settings(&[("extract_llm", model), ("language", "")], &[("answer_llm", model)]));
    (engine, reader)
}

async fn add(engine: &Engine, name: &str, text: &str) -> Result<(), IndexError> {
    index::accept(engine, vec![source(name, text)]).await.map(drop)
}

async fn run(engine: &Engine) -> Result<(), IndexError> {
    index::run(engine, &|_| {}, &|_| false).await.map(drop)
}

async fn stored(store: &Arc<dyn Store>) -> BTreeMap<String, String> {
    store.snapshot().await.expect("a view").settings().await.expect("settings")
}

fn differing(error: &IndexError) -> String {
    let IndexError::OtherSettings(differing) = error else { panic!("{error}") };
    differing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn a_second_process_with_another_model_stores_nothing_and_makes_no_calls() {
    let store = store();
    let (first, _) = engine_with(&store, "one");
    let (second, reader) = engine_with(&store, "two");
    index::require_settings(&second).await.expect("no process was first yet");
    add(&first, "a.md", "Ada knows Bob.").await.expect("accepted");
    let refused = add(&second, "b.md", "Cleo knows Dan.").await.expect_err("another was first");
    assert_eq!(differing(&refused), "extract_llm one, not two");
    assert_eq!(differing(&run(&second).await.expect_err("refused")), "extract_llm one, not two");
    assert_eq!(reader.extractions.load(Ordering::SeqCst), 0);
    assert_eq!(store.snapshot().await.expect("a view").counts().await.expect("counts").documents, 1);
    run(&first).await.expect("its own model works");
}

#[tokio::test]
async fn a_workspace_of_an_older_release_stores_its_settings_with_the_next_document() {
    let store = store();
    let (mut old, _) = engine_with(&store, "one");
    old.index.settings = None;
    add(&old, "a.md", "Ada knows Bob.").await.expect("accepted");
    let (new, _) = engine_with(&store, "two");
    run(&new).await.expect("nothing is stored that could differ");
    assert_eq!(stored(&store).await, BTreeMap::new());
    add(&new, "a.md", "Ada knows Bob.").await.expect("known already");
    assert_eq!(stored(&store).await, BTreeMap::new(), "no document was stored");
    add(&new, "b.md", "Cleo knows Dan.").await.expect("accepted");
    assert_eq!(stored(&store).await["extract_llm"], "two");
    assert_eq!(stored(&store).await["answer_llm"], "two");
}

#[tokio::test]
async fn only_stored_settings_that_affect_the_build_are_compared() {
    let store = store();
    let (mut engine, _) = engine_with(&store, "one");
    add(&engine, "a.md", "Ada knows Bob.").await.expect("accepted");
    engine.index.settings =
        Some(settings(&[("extract_llm", "one"), ("of_a_later_release", "x")], &[("answer_llm", "two")]));
    index::require_settings(&engine).await.expect("nothing that decides differs");
    engine.index.settings = Some(settings(&[("extract_llm", "one"), ("language", "French")], &[]));
    let refused = index::require_settings(&engine).await.expect_err("it decides");
    assert_eq!(differing(&refused), "language (unset), not French");
}

#[tokio::test]
async fn a_switch_stores_the_new_settings_and_keeps_the_graph() {
    let store = store();
    let (first, _) = engine_with(&store, "one");
    add(&first, "a.md", "Ada knows Bob.").await.expect("accepted");
    run(&first).await.expect("a run");
    let (second, reader) = engine_with(&store, "two");
    let switched = index::switch_settings(&second).await.expect("switched");
    assert_eq!(switched.iter().map(|it| it.here()).collect::<Vec<_>>(), ["extract_llm two"]);
    assert_eq!(index::switch_settings(&second).await.expect("again"), []);
    run(&second).await.expect("its model is the workspace's");
    assert_eq!(reader.extractions.load(Ordering::SeqCst), 0);
    assert_eq!(differing(&run(&first).await.expect_err("refused")), "extract_llm two, not one");
}

#[tokio::test]
async fn nothing_is_built_without_the_models_of_the_workspace_until_it_is_switched() {
    let store = store();
    let (first, _) = engine_with(&store, "own");
    add(&first, "a.md", "Ada knows Bob.").await.expect("accepted");
    let (mut without, reader) = engine_with(&store, "none");
    let absent = BTreeMap::from([("extract_llm".to_owned(), "own".to_owned())]);
    without.index.settings.as_mut().expect("set").absent = absent;
    let refused = run(&without).await.expect_err("a model is missing");
    assert_eq!(refused.to_string(), "the workspace is built with its program's own model own");
    index::switch_settings(&without).await.expect("switched");
    run(&without).await.expect("the workspace no longer needs it");
    assert!(reader.extractions.load(Ordering::SeqCst) > 0);
}
