//! The tree of summaries is planned from vectors, written once, kept while nothing changes, and searched on all levels.

use std::collections::BTreeSet;
use std::sync::Arc;

use graphloom_core::{LanguageModel, Member, Store, table};
use graphloom_engine::Engine;
use graphloom_engine::derive::{
    DeriveReport, Tree, TreeClustering, estimate, layer_states, tree_node, tree_nodes,
};
use graphloom_engine::index;
use graphloom_engine::money::Prices;
use graphloom_engine::query::{Arm, Mode, QueryNote, Question, retrieve};

use crate::support::deriving::{
    WritingModel, check_deaths, check_prompts, dump, memory, paid_calls, remove_source, run_deriver,
};
use crate::support::{ReadingModel, engine, source};

/// Summarizes by repeating the first line of its input.
fn summarizer() -> WritingModel {
    WritingModel::new("test-summarizer", |data| {
        format!("## About {}\n\n{}", data.len(), data.lines().nth(1).unwrap_or_default())
    })
}

/// Returns the name and text of a document about one of four groups of people.
fn text(number: usize) -> (String, String) {
    let group =
        [["Ada", "Bo", "Cy"], ["Dee", "Eve", "Flo"], ["Gus", "Hal", "Ida"], ["Jo", "Kit", "Lou"]][number % 4];
    let [a, b, c] = group;
    (format!("{number:02}.txt"), format!("{a} knows {b}. {b} knows {c} since {number} years. {c} knows {a}."))
}

async fn world(store: Arc<dyn Store>, model: Option<Arc<WritingModel>>, texts: usize) -> Engine {
    let mut engine = engine(store, Arc::new(ReadingModel::default()));
    for number in 0..texts {
        put(&engine, number).await;
    }
    run_index(&engine).await;
    engine.models.summarize = model.map(|model| model as Arc<dyn LanguageModel>);
    engine
}

/// Returns the engine with a different model for descriptions, so that only summaries of the tree are counted.
fn indexing(engine: &Engine) -> Engine {
    let mut indexing = engine.clone();
    indexing.models.summarize = Some(Arc::new(ReadingModel::default()));
    indexing
}

async fn put(engine: &Engine, number: usize) {
    let (name, text) = text(number);
    index::accept(engine, vec![source(&name, &text)]).await.expect("the store works");
}

async fn run_index(engine: &Engine) {
    index::run(&indexing(engine), &|_| {}, &|_| true).await.expect("store and model work");
}

async fn remove(engine: &Engine, number: usize) {
    remove_source(&indexing(engine), &text(number).0).await;
}

async fn run(engine: &Engine) -> DeriveReport {
    run_deriver(engine, &Tree).await
}

#[tokio::test]
async fn without_a_model_summaries_are_verbatim_sentences_from_the_passages_below() {
    let engine = world(memory(), None, 24).await;
    let derived = run(&engine).await;
    assert!(derived.current && derived.written == derived.nodes && derived.failed == 0, "{derived:?}");
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let snapshot = snapshot.as_ref();
    let levels = layer_states(snapshot).await.expect("read").remove(0).levels;
    assert!(levels.len() >= 3 && levels[0] == 0, "{levels:?}");
    for level in 1..levels.len() as u32 {
        for entry in tree_nodes(snapshot, level).await.expect("read") {
            let node = tree_node(snapshot, &entry.id).await.expect("read").expect("a node");
            assert_eq!(entry.by, "rules");
            assert!(!node.quotes.is_empty() && !entry.title.is_empty(), "{node:?}");
            let quotes: Vec<&str> = node.quotes.iter().map(|quote| quote.quote.as_str()).collect();
            assert_eq!(quotes.join("\n"), entry.summary, "each line is verbatim from the document");
            assert_eq!(node.nodes.len() + node.members.len(), entry.parts as usize);
            assert_eq!(node.parents.is_empty(), level as usize + 1 == levels.len(), "{node:?}");
        }
    }
    let top = tree_nodes(snapshot, levels.len() as u32 - 1).await.expect("read");
    assert_eq!(top.iter().map(|entry| entry.passages).collect::<Vec<_>>(), [24]);
    let again = run(&engine).await;
    assert_eq!((again.written, again.kept, again.current), (0, derived.nodes, true));
}

#[tokio::test]
async fn a_model_reads_each_passage_under_its_headings() {
    let model = Arc::new(summarizer());
    let mut engine = engine(memory(), Arc::new(ReadingModel::default()));
    let texts = ["# Guests\n\nAda knows Bo.", "# Guests\n\nAda knows Cy.", "# Guests\n\nAda knows Bo."];
    for (number, text) in texts.into_iter().enumerate() {
        index::accept(&engine, vec![source(&format!("{number}.md"), text)]).await.expect("the store works");
    }
    run_index(&engine).await;
    engine.models.summarize = Some(model.clone());
    run(&engine).await;
    let prompts = model.prompts();
    insta::assert_snapshot!("tree_summary", prompts[0]);
}

#[tokio::test]
async fn an_estimate_matches_the_calls_and_stores_nothing() {
    let model = Arc::new(summarizer());
    let engine = world(memory(), Some(model.clone()), 24).await;
    let before = dump(&engine).await;
    let expected = estimate(&engine, &Tree, false, &Prices::default()).await.expect("the store works");
    assert_eq!(model.asked(), 0, "no calls are made");
    assert_eq!(dump(&engine).await, before, "nothing is stored");
    let derived = run(&engine).await;
    assert_eq!((expected.nodes, expected.free), (derived.nodes, 0));
    assert_eq!(expected.total.calls.low, u64::from(model.asked()));
    assert_eq!(expected.total.calls.high, derived.written);
    assert!(expected.total.input_tokens.low < expected.total.input_tokens.high, "{expected:?}");
    let done = estimate(&engine, &Tree, false, &Prices::default()).await.expect("the store works");
    assert_eq!((done.free, done.steps.len()), (derived.nodes, 0));
}

#[tokio::test]
async fn a_change_rewrites_the_nodes_above_it_and_undoing_it_costs_nothing() {
    let model = Arc::new(summarizer());
    let engine = world(memory(), Some(model.clone()), 40).await;
    let whole = run(&engine).await;
    let before = dump(&engine).await;
    let asked = model.asked();
    assert_eq!(u64::from(asked), whole.written);
    put(&engine, 40).await;
    run_index(&engine).await;
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert!(!layer_states(snapshot.as_ref()).await.expect("read")[0].current);
    drop(snapshot);
    let derived = run(&engine).await;
    assert!(derived.current && derived.kept >= 1 && derived.written >= 2, "{derived:?}");
    let changed = model.asked();
    assert_eq!(u64::from(changed - asked), derived.written);
    remove(&engine, 40).await;
    run(&engine).await;
    assert_eq!(model.asked(), changed, "summaries are not paid for again");
    assert_eq!(dump(&engine).await, before);
}

#[tokio::test]
async fn a_failed_summary_and_those_above_it_are_retried_by_the_next_run() {
    let refusing = Arc::new(summarizer().refusing("Kit"));
    let mut engine = world(memory(), Some(refusing), 24).await;
    let derived = run(&engine).await;
    assert!(!derived.current && derived.failed >= 2 && derived.written >= 1, "{derived:?}");
    assert!(derived.reason.as_deref().is_some_and(|reason| reason.contains("overloaded")), "{derived:?}");
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert_eq!(layer_states(snapshot.as_ref()).await.expect("read")[0].failed, derived.failed);
    drop(snapshot);
    let model = Arc::new(summarizer());
    engine.models.summarize = Some(model.clone());
    let again = run(&engine).await;
    assert!(again.current);
    assert_eq!((again.kept, again.written), (derived.written, derived.failed));
}

#[tokio::test]
async fn a_run_that_dies_at_any_commit_is_finished_by_the_next_without_paying_twice() {
    check_deaths(&Tree, 12, summarizer, async |model| world(memory(), Some(model), 20).await).await;
}

#[tokio::test]
async fn two_builds_send_the_same_prompts() {
    check_prompts(&Tree, summarizer, async |model, reversed| {
        let mut engine = engine(memory(), Arc::new(ReadingModel::default()));
        for number in 0..24 {
            put(&engine, if reversed { 23 - number } else { number }).await;
        }
        run_index(&engine).await;
        engine.models.summarize = Some(model);
        engine
    })
    .await;
}

#[tokio::test]
async fn building_a_tree_ends_for_any_input() {
    for clustering in TreeClustering::ALL {
        for texts in [0, 1, 2, 13] {
            let mut engine = engine(memory(), Arc::new(ReadingModel::default()));
            engine.models.summarize = None;
            engine.index.tree = clustering;
            for number in 0..texts {
                // All texts are equal, so all vectors are equal.
                let equal = source(&format!("{number}.txt"), "Ada knows Bo.");
                index::accept(&engine, vec![equal]).await.expect("the store works");
            }
            run_index(&engine).await;
            let derived = run(&engine).await;
            assert!(derived.current, "{clustering:?} of {texts}: {derived:?}");
            assert_eq!(derived.nodes == 0, texts < 2 || (texts < 12 && clustering == TreeClustering::Soft));
        }
    }
}

#[tokio::test]
async fn soft_clusters_can_put_a_passage_under_several_nodes() {
    let mut engine = world(memory(), None, 60).await;
    run(&engine).await;
    let agglomerative = dump(&engine).await;
    engine.index.tree = TreeClustering::Soft;
    let derived = run(&engine).await;
    assert!(derived.current && derived.nodes >= 2 && derived.removed >= 2, "{derived:?}");
    let soft = dump(&engine).await;
    assert_ne!(soft, agglomerative);
    put(&engine, 60).await;
    run_index(&engine).await;
    run(&engine).await;
    remove(&engine, 60).await;
    run(&engine).await;
    assert_eq!(dump(&engine).await, soft);
}

#[tokio::test]
async fn both_tree_modes_find_passages_and_add_summaries_to_the_context() {
    let engine = world(memory(), None, 24).await;
    let ask = async |mode: Mode| {
        let question = Question { text: "Who knows Kit and Lou?".to_owned(), mode, ..Question::default() };
        retrieve(&engine, &question).await.expect("retrieval works")
    };
    for mode in [Mode::Tree, Mode::TreeDescent] {
        let found = ask(mode).await;
        assert!(found.nodes.is_empty() && !found.chunks.is_empty(), "{mode:?}");
        assert!(matches!(found.notes[..], [QueryNote::LayerMissing { .. }]), "{:?}", found.notes);
    }
    run(&engine).await;
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let node = tree_nodes(snapshot.as_ref(), 1).await.expect("read").remove(0);
    drop(snapshot);
    for mode in [Mode::Tree, Mode::TreeDescent] {
        let text = format!("{} {}", node.title, node.summary);
        let question = Question { text, mode, ..Question::default() };
        let found = retrieve(&engine, &question).await.expect("retrieval works");
        assert!(found.notes.is_empty() && found.context.contains("## Summaries"), "{mode:?}: {found:?}");
        assert!(found.nodes.iter().any(|found| found.id == node.id), "{mode:?}: {:?}", found.nodes);
        assert!(
            found.nodes.is_sorted_by(|one, other| one.score >= other.score),
            "{mode:?}: {:?}",
            found.nodes
        );
        assert!(!found.chunks.is_empty() && found.chunks.iter().all(|found| found.arm == Arm::Tree));
        assert!(!found.references.is_empty());
    }
    put(&engine, 24).await;
    run_index(&engine).await;
    assert!(matches!(ask(Mode::Tree).await.notes[..], [QueryNote::LayerOutdated { .. }]));
    let filtered = Question {
        text: "Who knows Kit?".to_owned(),
        mode: Mode::Tree,
        filter: serde_json::from_str(r#"{"sources": ["0*"]}"#).expect("a filter"),
        ..Question::default()
    };
    let found = retrieve(&engine, &filtered).await.expect("retrieval works");
    assert!(found.nodes.is_empty() && !found.chunks.is_empty());
    assert!(matches!(found.notes[..], [QueryNote::LayerUnfiltered { .. }]), "{:?}", found.notes);
}

#[tokio::test]
async fn every_paid_call_is_in_the_ledger() {
    let model = Arc::new(summarizer());
    let engine = world(memory(), Some(model.clone()), 12).await;
    let derived = run(&engine).await;
    assert_eq!(paid_calls(&engine).await, derived.written);
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let nodes =
        snapshot.scan(table::Nodes { layer: Tree::name(), level: None }, None, 999).await.expect("read");
    let chunks: BTreeSet<&Member> = nodes
        .iter()
        .flat_map(|node| &node.members)
        .filter(|member| matches!(member, Member::Chunk(_)))
        .collect();
    assert_eq!(chunks.len(), 12, "every passage is below a node");
}
