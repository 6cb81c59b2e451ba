//! Views are functions of the live evidence: order, interleaving, replacement, deletion and failures leave no trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::write_dump;
use graphloom_core::{
    Action, ChunkId, Decisions, DocumentId, Embedder, Embeddings, EntityKey, ModelError, Purpose,
    RelationKey, Store, WorkspaceId, table,
};
use graphloom_engine::Engine;
use graphloom_engine::chunk_context::ContextWriter;
use graphloom_engine::derive::{Communities, Deriver, Tree, derive};
use graphloom_engine::edit::decide;
use graphloom_engine::index::{self, Acceptance};
use graphloom_storage::check::check;
use graphloom_storage::memory::MemoryStore;
use graphloom_storage::sqlite::SqliteStore;
use proptest::prelude::*;

use crate::support::{ReadingModel, WordEmbedder, engine, source};

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(WorkspaceId::default()))
}

fn new_engine(store: Arc<dyn Store>) -> Engine {
    engine(store, Arc::new(ReadingModel::default()))
}

/// What extracts from the chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Model,
    /// The rules, which read only the first chunks of a document.
    Rules,
}

/// Returns an engine that cuts texts into several chunks.
fn cutting_engine(store: Arc<dyn Store>, reader: Reader) -> Engine {
    let mut engine = new_engine(store);
    engine.index.chunk.max_chunk_tokens = Some(12);
    engine.index.chunk.overlap_tokens = 0;
    if reader == Reader::Rules {
        engine.models.extract = None;
        engine.index.max_rule_chunks = 3;
    }
    engine
}

async fn add(engine: &Engine, name: &str, text: &str) -> Option<DocumentId> {
    match index::accept(engine, vec![source(name, text)]).await.expect("the store works").remove(0) {
        Acceptance::Accepted { document, .. } | Acceptance::Unchanged { document, .. } => Some(document),
        Acceptance::Refused { .. } => None,
    }
}

async fn run(engine: &Engine) -> index::RunReport {
    index::run(engine, &|_| {}, &|_| true).await.expect("store and model work")
}

async fn dump(store: &dyn Store) -> String {
    let snapshot = store.snapshot().await.expect("the store works");
    let findings = check(snapshot.as_ref()).await.expect("the store works");
    assert_eq!(findings, [], "the store is sound");
    let mut lines = Vec::new();
    write_dump(snapshot.as_ref(), &mut lines).await.expect("memory does not fail");
    String::from_utf8(lines).expect("a dump is text")
}

/// Returns the dump of a fresh store with these documents.
async fn plain_build(documents: &BTreeMap<String, String>) -> String {
    build(new_engine(memory()), documents).await
}

async fn build(engine: Engine, documents: &BTreeMap<String, String>) -> String {
    for (name, text) in documents {
        add(&engine, name, text).await;
    }
    run(&engine).await;
    dump(engine.store.as_ref()).await
}

/// Returns the dump of a fresh store in which these decisions were made before the documents were added.
async fn decided_build(
    reader: Reader,
    documents: &BTreeMap<String, String>,
    actions: Vec<Action>,
    context_writer: ContextWriter,
) -> String {
    let mut engine = cutting_engine(memory(), reader);
    engine.models.context_writer = context_writer;
    if !actions.is_empty() {
        decide(&engine, actions).await.expect("deciding works");
    }
    build(engine.clone(), documents).await;
    derive_layers(&engine).await;
    dump(engine.store.as_ref()).await
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, String),
    Delete(u8),
    /// Takes a document out of the queue, if it exists; it is queued again before the end.
    Cancel(u8),
    Run,
    /// Derives communities and the tree from the current graph.
    Derive,
    /// Makes a decision; a split takes the chunk with this number among the existing ones.
    Decide(Action, usize),
    /// Undoes the decision with this number among the existing ones.
    Undo(usize),
    /// Starts working and stops in the middle, like an interrupted process.
    Interrupt(u8),
    /// From now on, chunks get their context from headings or get none, including chunks in the graph.
    Contextualize(bool),
    /// From now on, documents with more chunks or records than this are merged in slices of this size.
    Slice {
        chunks: usize,
        records: usize,
    },
}

fn text() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["Ada", "Bo", "Cy", "the Dee", "Dee", "Eve's club"]);
    let said = |(a, b, claims): &(&str, &str, bool)| match claims {
        true => format!("{a} was CEO of {b} in 2012. "),
        false => format!("{a} knows {b}. "),
    };
    prop::collection::vec((name.clone(), name, prop::bool::weighted(0.2)), 1..6)
        .prop_map(move |pairs| pairs.iter().map(said).collect::<String>())
}

fn action() -> impl Strategy<Value = Action> {
    let key = || {
        prop::sample::select(vec!["ADA", "BO", "CY", "DEE", "EVE_CLUB", "NEW"])
            .prop_map(EntityKey::from_stored)
    };
    let pair = || (key(), key()).prop_filter_map("two ends", |(a, b)| RelationKey::new(a, b));
    let text = || prop::option::of("[xyz]{1,2}");
    prop_oneof![
        2 => (key(), text(), "[xyz]").prop_map(|(key, kind, text)| Action::CreateEntity {
            name: format!("Created {key}"), key, kind, description: text,
        }),
        2 => (key(), text(), text(), text())
            .prop_map(|(key, name, kind, description)| Action::EditEntity { key, name, kind, description }),
        2 => pair().prop_map(|pair| Action::RenameEntity {
            key: pair.b().clone(), into: pair.a().clone(), name: format!("Renamed {}", pair.a()),
        }),
        2 => key().prop_map(|key| Action::DeleteEntity { key }),
        4 => (prop::collection::vec(key(), 1..3), key(), text()).prop_map(|(sources, into, description)| {
            Action::MergeEntities { sources, name: format!("Merged {into}"), into, kind: None, description }
        }),
        2 => (key(), key()).prop_map(|(key, into)| Action::SplitEntity {
            key, chunks: Vec::new(), name: format!("Split {into}"), into,
        }),
        1 => pair().prop_map(|pair| Action::NotSame { pair }),
        2 => (pair(), any::<bool>(), "[xyz]", 0..4u8).prop_map(|(pair, swap, text, weight)| {
            let (a, b) = (pair.a().clone(), pair.b().clone());
            let (source, target) = if swap { (b, a) } else { (a, b) };
            Action::CreateRelation {
                source_name: format!("Said {source}"), target_name: format!("Said {target}"), source, target,
                keywords: vec![text.clone()], description: text, weight: f64::from(weight) / 4.0,
            }
        }),
        2 => (pair(), text(), prop::option::of(0..9u8)).prop_map(|(relation, text, weight)| Action::EditRelation {
            relation, keywords: text.clone().map(|text| vec![text]), description: text,
            weight: weight.map(|weight| f64::from(weight) / 4.0),
        }),
        1 => pair().prop_map(|relation| Action::DeleteRelation { relation }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (action(), any::<usize>()).prop_map(|(action, chunk)| Step::Decide(action, chunk)),
        2 => any::<usize>().prop_map(Step::Undo),
        4 => (0..5u8, text()).prop_map(|(name, text)| Step::Put(name, text)),
        2 => (0..5u8).prop_map(Step::Delete),
        1 => (0..5u8).prop_map(Step::Cancel),
        2 => Just(Step::Run),
        1 => Just(Step::Derive),
        3 => (0..40u8).prop_map(Step::Interrupt),
        1 => any::<bool>().prop_map(Step::Contextualize),
        3 => (1..4usize, 1..40usize).prop_map(|(chunks, records)| Step::Slice { chunks, records }),
    ]
}

/// Polls the run a few times, then drops it.
async fn interrupt(engine: &Engine, polls: u8) {
    use std::future::Future as _;
    let progress = |_| {};
    let gone = |_: &str| true;
    let mut future = Box::pin(index::run(engine, &progress, &gone));
    let mut left = polls;
    std::future::poll_fn(move |context| {
        if left == 0 || future.as_mut().poll(context).is_ready() {
            return std::task::Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

fn context_writer(by_headings: bool) -> ContextWriter {
    if by_headings { ContextWriter::Headings } else { ContextWriter::Off }
}

/// Brings all layers up to date, with texts by rules.
async fn derive_layers(engine: &Engine) {
    let mut rules = engine.clone();
    rules.models.summarize = None;
    let layers: [&dyn Deriver; 2] = [&Communities, &Tree];
    for layer in layers {
        let derived = derive(&rules, layer, &|_| {}, &|_| true).await.expect("the store works");
        assert!(derived.current, "{derived:?}");
    }
}

/// Writes the context of every chunk in the graph as the engine does.
async fn contextualize(engine: &Engine) {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let documents = snapshot.scan(table::Documents, None, 999).await.expect("the store works");
    drop(snapshot);
    let ids: Vec<DocumentId> = documents.into_iter().map(|document| document.id).collect();
    index::contextualize(engine, &ids, &|_| {}).await.expect("context works");
}

async fn play(store: Arc<dyn Store>, reader: Reader, steps: &[Step]) {
    let mut engine = cutting_engine(store, reader);
    let mut by_headings = false;
    let mut remaining = BTreeMap::new();
    for step in steps {
        match step {
            Step::Put(name, text) => {
                let name = format!("{name}.txt");
                if add(&engine, &name, text).await.is_some() {
                    remaining.insert(name, text.clone());
                }
            }
            Step::Delete(name) => {
                let name = format!("{name}.txt");
                let ids = versions(&engine, &name).await;
                index::delete(&engine, &ids).await.expect("deleting works");
                remaining.remove(&name);
            }
            Step::Cancel(name) => {
                let ids = versions(&engine, &format!("{name}.txt")).await;
                index::cancel(engine.store.as_ref(), &ids).await.expect("cancelling works");
            }
            Step::Run => {
                run(&engine).await;
            }
            Step::Derive => derive_layers(&engine).await,
            Step::Interrupt(polls) => interrupt(&engine, *polls).await,
            Step::Slice { chunks, records } => {
                engine.index.max_merge_chunks = *chunks;
                engine.index.max_merge_records = *records;
            }
            Step::Contextualize(headings) => {
                by_headings = *headings;
                engine.models.context_writer = context_writer(by_headings);
                contextualize(&engine).await;
            }
            Step::Decide(action, chunk) => {
                let action = in_chunk(&engine, action.clone(), *chunk).await;
                decide(&engine, vec![action]).await.expect("deciding works");
            }
            Step::Undo(number) => {
                let decided = decisions(&engine).await;
                if let Some(decision) = decided.all().get(number % decided.all().len().max(1)) {
                    let undo = Action::Undo { decision: decision.id.clone() };
                    decide(&engine, vec![undo]).await.expect("deciding works");
                }
            }
        }
    }
    for name in remaining.keys() {
        let ids = versions(&engine, name).await;
        index::retry(&engine, &ids, None).await.expect("the store works");
    }
    run(&engine).await;
    // Chunks prepared under another option also get the context of the current one.
    contextualize(&engine).await;
    derive_layers(&engine).await;
    let found = dump(engine.store.as_ref()).await;
    let holding = decisions(&engine).await.holding().map(|decision| decision.action.clone()).collect();
    assert_eq!(found, decided_build(reader, &remaining, holding, context_writer(by_headings)).await);
}

/// Returns all versions of a source.
async fn versions(engine: &Engine, name: &str) -> Vec<DocumentId> {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let versions = snapshot.documents_of_sources(&[name.to_owned()]).await.expect("the store works");
    versions.into_iter().flatten().map(|document| document.id).collect()
}

async fn decisions(engine: &Engine) -> Decisions {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    Decisions::read(snapshot.as_ref()).await.expect("the store works")
}

/// Returns a split with an existing chunk.
async fn in_chunk(engine: &Engine, action: Action, number: usize) -> Action {
    let Action::SplitEntity { key, into, name, .. } = action else { return action };
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let chunks = snapshot.scan(table::Chunks, None, 99).await.expect("the store works");
    let chunks: Vec<ChunkId> =
        chunks.get(number % chunks.len().max(1)).into_iter().map(|chunk| chunk.id.clone()).collect();
    Action::SplitEntity { key, chunks, into, name }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_history_ends_in_the_state_of_a_plain_build(steps in prop::collection::vec(step(), 1..14)) {
        runtime().block_on(play(memory(), Reader::Model, &steps));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_history_with_rules_ends_in_the_state_of_a_plain_build(steps in prop::collection::vec(step(), 1..14)) {
        runtime().block_on(play(memory(), Reader::Rules, &steps));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn the_same_holds_on_disk(steps in prop::collection::vec(step(), 1..14)) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("a new store");
        runtime().block_on(play(Arc::new(store), Reader::Model, &steps));
    }
}

#[tokio::test]
async fn a_new_version_prepared_under_a_higher_chunk_limit_gets_its_vectors() {
    let steps = [
        Step::Put(4, "Ada knows Ada. Ada was CEO of Ada in 2012. ".to_owned()),
        Step::Put(4, "Ada knows the Dee. the Dee knows Eve's club. ".to_owned()),
        Step::Interrupt(1),
        Step::Slice { chunks: 1, records: 1 },
    ];
    play(memory(), Reader::Rules, &steps).await;
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
}

#[tokio::test]
async fn a_changed_document_answers_with_its_old_version_until_the_new_one_is_merged() {
    let engine = new_engine(memory());
    add(&engine, "a.txt", "Ada knows Bo.").await;
    run(&engine).await;
    let new = add(&engine, "a.txt", "Ada knows Cy.").await.expect("accepted");
    let keys = async || {
        let snapshot = engine.store.snapshot().await.expect("the store works");
        let entities = snapshot.scan(table::Entities, None, 100).await.expect("the store works");
        entities.into_iter().map(|entity| entity.key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(keys().await, ["ADA", "BO"]);
    run(&engine).await;
    assert_eq!(keys().await, ["ADA", "CY"]);
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let versions = snapshot.documents_of_sources(&["a.txt".to_owned()]).await.expect("the store works");
    assert_eq!(versions[0].iter().map(|document| &document.id).collect::<Vec<_>>(), [&new]);
}

#[tokio::test]
async fn a_large_document_is_merged_in_slices_and_a_stopped_run_resumes_after_them() {
    let mut engine = cutting_engine(memory(), Reader::Rules);
    engine.index.max_merge_chunks = 2;
    let (entered, all, report) = interrupt_after_first_slice(engine).await;
    assert_eq!((report.finished, report.extracted as usize), (1, all - entered));
}

#[tokio::test]
async fn a_document_with_many_records_is_merged_in_slices_too() {
    let mut engine = cutting_engine(memory(), Reader::Rules);
    engine.index.max_merge_records = 10;
    let (.., report) = interrupt_after_first_slice(engine).await;
    assert_eq!(report.finished, 1);
}

/// Indexes a document with 24 people in 12 sentences, and stops the run as soon as only a part of it is in the graph.
/// Checks that the next run gives the same result as a plain one. Returns how many chunks were in the graph then, how many
/// there are, and the report of the next run.
async fn interrupt_after_first_slice(mut engine: Engine) -> (usize, usize, index::RunReport) {
    engine.index.max_rule_chunks = 100;
    let text: String = (0..12).map(|n| format!("Ada{n} Lovelace met Bob{n} Babbage in London. ")).collect();
    let document = add(&engine, "a.txt", &text).await.expect("accepted");
    let chunks = async || {
        let snapshot = engine.store.snapshot().await.expect("the store works");
        let chunks = snapshot.chunks_of(std::slice::from_ref(&document)).await.expect("the store works");
        let all = chunks.into_iter().flatten().collect::<Vec<_>>();
        (all.iter().filter(|chunk| chunk.extraction.key().is_some()).count(), all.len())
    };
    let mut polls = 0;
    while chunks().await.0 == 0 {
        polls += 1;
        interrupt(&engine, polls).await;
    }
    let (entered, all) = chunks().await;
    assert!(entered < all, "{entered} of {all} chunks are in the graph");
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert_eq!(
        check(snapshot.as_ref()).await.expect("the store works"),
        [],
        "a half-merged document is consistent"
    );
    drop(snapshot);
    let report = run(&engine).await;
    let mut plain = cutting_engine(memory(), Reader::Rules);
    plain.index.max_rule_chunks = 100;
    let documents = BTreeMap::from([("a.txt".to_owned(), text)]);
    assert_eq!(dump(engine.store.as_ref()).await, build(plain, &documents).await);
    (entered, all, report)
}

#[tokio::test]
async fn a_full_workspace_refuses_new_documents_and_accepts_new_versions() {
    let mut engine = new_engine(memory());
    engine.index.quota.max_documents = Some(2);
    let sources = ["a.txt", "b.txt", "c.txt"].map(|name| source(name, "Ada knows Bo."));
    let accepted = index::accept(&engine, sources.to_vec()).await.expect("the store works");
    let Acceptance::Refused { reason, .. } = &accepted[2] else { panic!("it is refused") };
    assert_eq!(reason, "the workspace has 2 documents, the limit is 2");
    run(&engine).await;
    assert!(add(&engine, "a.txt", "Ada knows Cy.").await.is_some());
    let names = ["c.txt".to_owned()];
    assert!(index::no_room_for(&engine, &names).await.expect("the store works").is_some());
    engine.index.quota =
        index::Quota { max_bytes: Some(10), stored_bytes: Some(Arc::new(|| 10)), ..index::Quota::default() };
    assert!(add(&engine, "a.txt", "Ada knows Dee.").await.is_none(), "no byte is free");
}

#[tokio::test]
async fn a_document_says_if_rules_read_only_its_beginning() {
    let engine = cutting_engine(memory(), Reader::Rules);
    let text: String = (0..12).map(|n| format!("Ada{n} Lovelace met Bob{n} Babbage in London. ")).collect();
    let accepted = index::accept(&engine, vec![source("a.txt", &text)]).await.expect("the store works");
    let Acceptance::Accepted { remarks, .. } = &accepted[0] else { panic!("it is accepted") };
    assert!(remarks[0].contains("are made from the first 3"), "{remarks:?}");
    run(&engine).await;
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let entities = snapshot.scan(table::Entities, None, 999).await.expect("the store works");
    let names: Vec<&str> = entities.iter().map(|entity| entity.name.as_str()).collect();
    assert!(
        names.iter().any(|name| name.contains("Ada0")) && !names.iter().any(|name| name.contains("Ada9"))
    );
}

#[tokio::test]
async fn a_failed_chunk_is_listed_and_retried_alone_and_then_leaves_no_trace() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let broken = Arc::new(ReadingModel { refuses: Some("Cy"), ..ReadingModel::default() });
    let failing = engine(store.clone(), broken);
    let document = add(&failing, "a.txt", "Ada knows Cy.").await.expect("accepted");
    add(&failing, "b.txt", "Ada knows Bo.").await;
    let report = run(&failing).await;
    assert_eq!((report.finished, report.incomplete, report.failed_chunks), (2, 1, 1));
    assert_eq!(report.unavailable.len(), 1, "an overloaded service may answer later");
    let snapshot = store.snapshot().await.expect("the store works");
    let states =
        index::states_of(snapshot.as_ref(), std::slice::from_ref(&document)).await.expect("the store works");
    let state = states[0].as_ref().expect("known");
    assert_eq!(state.failed_chunks, [(0, "model test-reader failed (status 503): overloaded".to_owned())]);
    drop(snapshot);

    let model = Arc::new(ReadingModel::default());
    let healed = engine(store.clone(), model.clone());
    assert_eq!(index::retry(&healed, &[document], None).await.expect("the store works").chunks, 1);
    run(&healed).await;
    assert_eq!(model.extractions.load(std::sync::atomic::Ordering::SeqCst), 1);
    let all = BTreeMap::from([
        ("a.txt".to_owned(), "Ada knows Cy.".to_owned()),
        ("b.txt".to_owned(), "Ada knows Bo.".to_owned()),
    ]);
    assert_eq!(dump(store.as_ref()).await, plain_build(&all).await);
}

/// Returns the damaged chunks that are listed for the only document.
async fn damaged_chunks(store: &dyn Store) -> Vec<(u32, String)> {
    let snapshot = store.snapshot().await.expect("the store works");
    let documents = snapshot.scan(table::Documents, None, 9).await.expect("the store works");
    let ids: Vec<DocumentId> = documents.into_iter().map(|document| document.id).collect();
    let states = index::states_of(snapshot.as_ref(), &ids).await.expect("the store works");
    states.into_iter().flatten().flat_map(|state| state.damaged_chunks).collect()
}

fn asked(model: &ReadingModel) -> u32 {
    model.extractions.load(std::sync::atomic::Ordering::SeqCst)
}

/// Returns a model that cuts off this many answers about this word.
fn damaging(word: &'static str, answers: u32) -> ReadingModel {
    ReadingModel { damages: Some((word, answers.into())), ..ReadingModel::default() }
}

const CUT: &str = "parts of the answer were lost: 1 cut";

#[tokio::test]
async fn a_damaged_answer_counts_until_a_retry_replaces_it_without_a_trace() {
    let store = memory();
    let texts = BTreeMap::from([("a.txt".to_owned(), "Ada knows Bo. Ada knows Cy.".to_owned())]);
    let model = Arc::new(damaging("Cy", 2));
    let engine = engine(store.clone(), model.clone());
    let document = add(&engine, "a.txt", &texts["a.txt"]).await.expect("accepted");
    let report = run(&engine).await;
    assert_eq!((report.finished, report.incomplete, report.damaged_chunks, asked(&model)), (1, 1, 1, 2));
    assert_eq!(damaged_chunks(store.as_ref()).await, [(0, CUT.to_owned())]);
    let snapshot = store.snapshot().await.expect("the store works");
    let counts = snapshot.counts().await.expect("the store works");
    assert_eq!((counts.entities, counts.relations), (3, 1));
    drop(snapshot);
    assert!(dump(store.as_ref()).await.contains(CUT));

    // No call is repeated until a user asks for it.
    run(&engine).await;
    assert_eq!(asked(&model), 2);
    assert_eq!(index::retry(&engine, &[document], None).await.expect("the store works").chunks, 1);
    assert_eq!(run(&engine).await.incomplete, 0);
    assert_eq!(asked(&model), 3);
    assert_eq!(dump(store.as_ref()).await, plain_build(&texts).await);
}

#[tokio::test]
async fn answers_that_stay_damaged_are_used_as_they_are_after_three_attempts() {
    let store = memory();
    let model = Arc::new(damaging("Cy", u32::MAX));
    let engine = engine(store.clone(), model.clone());
    let document = add(&engine, "a.txt", "Ada knows Cy.").await.expect("accepted");
    run(&engine).await;
    for attempt in 2..=index::MAX_DAMAGED_ATTEMPTS {
        assert_eq!(damaged_chunks(store.as_ref()).await, [(0, CUT.to_owned())], "before attempt {attempt}");
        assert_eq!(
            index::retry(&engine, std::slice::from_ref(&document), None)
                .await
                .expect("the store works")
                .chunks,
            1
        );
        run(&engine).await;
    }
    assert_eq!(damaged_chunks(store.as_ref()).await, []);
    assert_eq!(index::retry(&engine, &[document], None).await.expect("the store works").chunks, 0);
    let snapshot = store.snapshot().await.expect("the store works");
    let stored = snapshot.scan(table::Extractions, None, 9).await.expect("the store works");
    assert_eq!(stored.len(), 1, "records of earlier attempts are removed");
    assert_eq!(stored[0].rejects.len(), 1);
    dump(store.as_ref()).await;
}

#[tokio::test]
async fn a_failed_retry_keeps_the_saved_records() {
    let store = memory();
    let damaging = engine(store.clone(), Arc::new(damaging("Cy", 2)));
    let document = add(&damaging, "a.txt", "Ada knows Cy.").await.expect("accepted");
    run(&damaging).await;
    let before = dump(store.as_ref()).await;
    let refusing =
        engine(store.clone(), Arc::new(ReadingModel { refuses: Some("Cy"), ..ReadingModel::default() }));
    index::retry(&refusing, &[document], None).await.expect("the store works");
    assert_eq!(run(&refusing).await.failed_chunks, 1);
    assert_eq!(dump(store.as_ref()).await, before);
}

#[tokio::test]
async fn the_same_text_under_another_name_is_reported_and_costs_no_call() {
    let model = Arc::new(ReadingModel::default());
    let engine = engine(Arc::new(MemoryStore::new(WorkspaceId::default())), model.clone());
    add(&engine, "a.txt", "Ada knows Bo.").await;
    run(&engine).await;
    let acceptance =
        index::accept(&engine, vec![source("copy.txt", "Ada knows Bo.")]).await.expect("the store works");
    let Acceptance::Accepted { same_content_as, .. } = &acceptance[0] else { panic!("{acceptance:?}") };
    assert_eq!(same_content_as, &["a.txt"]);
    let report = run(&engine).await;
    assert_eq!((report.reused, report.extracted), (1, 0));
    assert_eq!(model.extractions.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// Returns an engine whose hub has this many descriptions, with its model.
async fn with_hub(descriptions: usize, model: ReadingModel) -> (Engine, Arc<ReadingModel>) {
    let model = Arc::new(model);
    let engine = engine(memory(), model.clone());
    let text: String = (0..descriptions).map(|i| format!("Hub knows Guest{i}. ")).collect();
    add(&engine, "many.txt", &text).await;
    run(&engine).await;
    (engine, model)
}

fn summaries(model: &ReadingModel) -> u32 {
    model.summaries.load(std::sync::atomic::Ordering::SeqCst)
}

#[tokio::test]
async fn one_more_mention_of_a_hub_with_a_thousand_costs_at_most_four_summaries() {
    let (engine, model) = with_hub(1000, ReadingModel::default()).await;
    let before = summaries(&model);
    assert!(before > 40, "the hub was summarised as a tree: {before} calls");
    for newcomer in 0..5 {
        let before = summaries(&model);
        add(&engine, &format!("{newcomer}.txt"), &format!("Hub knows Newcomer{newcomer}.")).await;
        run(&engine).await;
        let cost = summaries(&model) - before;
        assert!(cost <= 4, "one more mention costs {cost} calls");
    }
}

#[tokio::test]
async fn descriptions_that_fit_one_call_are_summarised_in_one() {
    let (_, model) = with_hub(20, ReadingModel::default()).await;
    assert_eq!(summaries(&model), 1);
}

#[tokio::test]
async fn many_documents_about_one_hub_cost_only_one_summary() {
    let model = Arc::new(ReadingModel::default());
    let engine = engine(memory(), model.clone());
    for number in 0..30 {
        add(&engine, &format!("{number}.txt"), &format!("Hub knows Guest{number}.")).await;
    }
    run(&engine).await;
    assert_eq!(summaries(&model), 1);
    let stale =
        engine.store.snapshot().await.expect("the store works").counts().await.expect("counted").stale;
    assert_eq!(stale, 0);
}

#[tokio::test]
async fn a_failed_summary_keeps_the_document_in_the_graph_and_is_retried_by_the_next_run() {
    let store = memory();
    let text: String = (0..20).map(|i| format!("Hub knows Guest{i}. ")).collect();
    let failing =
        engine(store.clone(), Arc::new(ReadingModel { refuses_summaries: true, ..ReadingModel::default() }));
    add(&failing, "many.txt", &text).await;
    let report = run(&failing).await;
    assert_eq!((report.finished, report.failed, report.stale), (1, 0, 1));
    assert!(report.stale_reason.is_some_and(|reason| reason.contains("overloaded")));
    let calls =
        store.snapshot().await.expect("the store works").scan(table::Calls, None, 99).await.expect("listed");
    let failed = |call: &graphloom_core::Call| {
        matches!(call.outcome, graphloom_core::CallOutcome::Failed { .. })
            && call.role == graphloom_core::Role::Summarize
    };
    assert_eq!(calls.iter().filter(|call| failed(call)).count(), 1, "the failed call is in the ledger");

    let report = run(&new_engine(store.clone())).await;
    assert_eq!(report.stale, 0);
    let documents = BTreeMap::from([("many.txt".to_owned(), text)]);
    assert_eq!(dump(store.as_ref()).await, plain_build(&documents).await);
}

/// An embedder that fails on texts with a summary.
struct NoSummaryVectors;

#[async_trait::async_trait]
impl Embedder for NoSummaryVectors {
    fn name(&self) -> &str {
        WordEmbedder.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        WordEmbedder.dimensions().await
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        if texts.iter().any(|text| text.contains("Summary")) {
            return Err(ModelError::Timeout { model: self.name().to_owned(), idle_ms: 1 });
        }
        WordEmbedder.embed(purpose, texts).await
    }
}

#[tokio::test]
async fn a_summary_is_not_paid_for_again_if_its_vector_failed() {
    let (store, model) = (memory(), Arc::new(ReadingModel::default()));
    let text: String = (0..20).map(|i| format!("Hub knows Guest{i}. ")).collect();
    let mut failing = engine(store.clone(), model.clone());
    failing.models.embedder = Arc::new(NoSummaryVectors);
    add(&failing, "many.txt", &text).await;
    assert_eq!((run(&failing).await.stale, summaries(&model)), (1, 1));

    assert_eq!(run(&engine(store.clone(), model.clone())).await.stale, 0);
    assert_eq!(summaries(&model), 1);
    let documents = BTreeMap::from([("many.txt".to_owned(), text)]);
    assert_eq!(dump(store.as_ref()).await, plain_build(&documents).await);
}
