//! Communities and their reports are derived from the whole graph, kept while nothing changes, and paid for once.

use std::collections::BTreeSet;
use std::sync::Arc;

use graphloom_core::{LanguageModel, Store};
use graphloom_engine::Engine;
use graphloom_engine::derive::{Communities, DeriveReport, LayerKind, communities, community, layer_states};
use graphloom_engine::index;

use crate::support::deriving::{
    WritingModel, check_deaths, check_prompts, dump, memory, paid_calls, remove_source, run_deriver,
};
use crate::support::{ReadingModel, engine, source};

/// Writes a report whose finding cites one existing and one unknown reference.
fn reporter() -> WritingModel {
    WritingModel::new("test-reporter", |data| {
        let first = data.lines().find_map(|line| line.strip_prefix("[R1] ")).unwrap_or_default();
        let sentence = first.rsplit(": ").next().unwrap_or_default();
        let report = serde_json::json!({
            "title": format!("About {}", first.split(" - ").next().unwrap_or_default()),
            "summary": "They know each other.",
            "rating": 7,
            "rating_reason": "They are many.",
            "findings": [{ "summary": sentence, "explanation": format!("{sentence} [R1, E99]") }],
        });
        report.to_string()
    })
}

/// Two groups of people, connected by one acquaintance.
const GROUPS: [(&str, &str); 3] = [
    ("one.txt", "Ada knows Bo. Bo knows Cy. Cy knows Ada. Ada knows Dee. Dee knows Bo."),
    ("two.txt", "Eve knows Flo. Flo knows Gus. Gus knows Eve. Eve knows Hal. Hal knows Flo."),
    ("between.txt", "Ada knows Eve."),
];

async fn world(store: Arc<dyn Store>, model: Option<Arc<WritingModel>>) -> Engine {
    let mut engine = engine(store, Arc::new(ReadingModel::default()));
    add(&engine, &GROUPS).await;
    engine.models.summarize = model.map(|model| model as Arc<dyn LanguageModel>);
    engine
}

async fn add(engine: &Engine, documents: &[(&str, &str)]) {
    let sources = documents.iter().map(|(name, text)| source(name, text)).collect();
    index::accept(engine, sources).await.expect("the store works");
    index::run(engine, &|_| {}, &|_| true).await.expect("store and model work");
}

async fn run(engine: &Engine) -> DeriveReport {
    run_deriver(engine, &Communities).await
}

#[tokio::test]
async fn without_a_model_reports_consist_of_sentences_from_the_documents() {
    let engine = world(memory(), None).await;
    let derived = run(&engine).await;
    assert!(derived.current && derived.written == derived.nodes && derived.failed == 0, "{derived:?}");
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let listed = communities(snapshot.as_ref(), 0).await.expect("read");
    assert_eq!(listed.len(), 2, "{listed:?}");
    for entry in &listed {
        let report = community(snapshot.as_ref(), &entry.id).await.expect("read").expect("a report");
        assert_eq!((entry.by.as_str(), entry.entities, entry.relations), ("rules", 4, 5));
        assert!(report.findings.len() >= 3 && report.dropped_references == 0, "{report:?}");
        for finding in &report.findings {
            let [reference] = finding.references.as_slice() else { panic!("{finding:?}") };
            assert_eq!(finding.explanation, reference.quote);
        }
    }
    let again = run(&engine).await;
    assert_eq!((again.written, again.kept, again.current), (0, derived.nodes, true));
}

#[tokio::test]
async fn a_model_writes_reports_and_invalid_references_are_dropped_and_counted() {
    let model = Arc::new(reporter());
    let engine = world(memory(), Some(model.clone())).await;
    let derived = run(&engine).await;
    assert_eq!(u64::from(model.asked()), derived.written);
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let listed = communities(snapshot.as_ref(), 0).await.expect("read");
    let report = community(snapshot.as_ref(), &listed[0].id).await.expect("read").expect("a report");
    assert_eq!((report.entry.by.as_str(), report.entry.rating), ("test-reporter", 7.0));
    assert_eq!((report.dropped_references, report.omitted_relations), (1, 0));
    assert_eq!(report.findings[0].references[0].quote, report.findings[0].explanation);
    assert_eq!(paid_calls(&engine).await, derived.written);
}

#[tokio::test]
async fn a_model_reads_all_entities_and_relations_of_a_community() {
    let model = Arc::new(reporter());
    let mut engine = engine(memory(), Arc::new(ReadingModel::default()));
    add(&engine, &[("one.txt", "Ada knows Bo. Bo knows Cy.")]).await;
    engine.models.summarize = Some(model.clone());
    run(&engine).await;
    let prompts = model.prompts();
    assert_eq!(prompts.len(), 1);
    insta::assert_snapshot!("community_report", prompts[0]);
}

#[tokio::test]
async fn a_change_rewrites_only_affected_reports_and_undoing_it_costs_nothing() {
    let model = Arc::new(reporter());
    let engine = world(memory(), Some(model.clone())).await;
    run(&engine).await;
    let before = dump(&engine).await;
    let asked = model.asked();
    add(&engine, &[("more.txt", "Gus knows Hal. Ida knows Gus.")]).await;
    let states = layer_states(engine.store.snapshot().await.expect("works").as_ref()).await.expect("read");
    assert!(!states[0].current, "{states:?}");
    let derived = run(&engine).await;
    assert!(derived.kept >= 1 && derived.written >= 1, "{derived:?}");
    let changed = model.asked();
    assert_eq!(u64::from(changed - asked), derived.written);
    remove_source(&engine, "more.txt").await;
    run(&engine).await;
    assert_eq!(model.asked(), changed, "paid reports are not paid for again");
    assert_eq!(dump(&engine).await, before);
}

#[tokio::test]
async fn a_failed_report_is_retried_by_the_next_run() {
    let refusing = Arc::new(reporter().refusing("Flo"));
    let mut engine = world(memory(), Some(refusing)).await;
    let derived = run(&engine).await;
    assert!(!derived.current && derived.failed == 1 && derived.written == 1, "{derived:?}");
    assert!(derived.reason.as_deref().is_some_and(|reason| reason.contains("overloaded")), "{derived:?}");
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert_eq!(layer_states(snapshot.as_ref()).await.expect("read")[0].failed, 1);
    drop(snapshot);
    let model = Arc::new(reporter());
    engine.models.summarize = Some(model.clone());
    let derived = run(&engine).await;
    assert_eq!((derived.current, derived.kept, derived.written), (true, 1, 1));
    assert_eq!(model.asked(), 1);
}

#[tokio::test]
async fn a_run_that_dies_at_any_commit_is_finished_by_the_next_without_paying_twice() {
    check_deaths(&Communities, 40, reporter, async |model| world(memory(), Some(model)).await).await;
}

#[tokio::test]
async fn two_builds_send_the_same_prompts() {
    check_prompts(&Communities, reporter, async |model, reversed| {
        let mut engine = engine(memory(), Arc::new(ReadingModel::default()));
        let mut documents = GROUPS.to_vec();
        if reversed {
            documents.reverse();
        }
        for document in documents {
            add(&engine, &[document]).await;
        }
        engine.models.summarize = Some(model);
        engine
    })
    .await;
}

#[tokio::test]
async fn every_relation_in_a_community_is_in_the_prompt_of_its_report_or_of_a_part() {
    let engine = world(memory(), None).await;
    // A dense group that is larger than one community of the last level.
    let names: Vec<String> = (0..30).map(|number| format!("P{number}")).collect();
    let mut text = String::new();
    for (at, name) in names.iter().enumerate() {
        for other in &names[at + 1..(at + 6).min(names.len())] {
            text.push_str(&format!("{name} knows {other}. "));
        }
    }
    add(&engine, &[("dense.txt", &text)]).await;
    run(&engine).await;
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let levels = layer_states(snapshot.as_ref()).await.expect("read").remove(0).levels;
    assert!(levels.len() >= 2, "{levels:?}");
    let mut seen = BTreeSet::new();
    for level in 0..levels.len() as u32 {
        for entry in communities(snapshot.as_ref(), level).await.expect("read") {
            let report = community(snapshot.as_ref(), &entry.id).await.expect("read").expect("a report");
            assert_eq!(report.omitted_relations, 0, "{entry:?}");
            assert!(seen.insert(entry.id.clone()));
            assert_eq!(report.parent.is_none(), level == 0, "{entry:?}");
        }
    }
    assert_eq!(LayerKind::Communities.deriver().layer(), Communities::name());
}

#[tokio::test]
async fn an_index_run_updates_the_configured_layers() {
    let mut engine = world(memory(), None).await;
    engine.index.layers = vec![LayerKind::Communities];
    add(&engine, &[("more.txt", "Gus knows Hal.")]).await;
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert!(layer_states(snapshot.as_ref()).await.expect("read")[0].current);
}
