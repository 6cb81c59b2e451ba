//! Communities and their reports: derived from the whole graph, kept while nothing changed, paid for once.

#[path = "support/passing.rs"]
mod passing;
mod support;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use graphloom_core::{
    ChatEvent, ChatRequest, ChatStream, Completion, FinishReason, LanguageModel, ModelError, Role, Store,
    Usage, WorkspaceId, table, write_dump,
};
use graphloom_engine::Engine;
use graphloom_engine::derive::{
    Communities, DeriveReport, LayerKind, communities, community, derive, layer_states,
};
use graphloom_engine::index;
use graphloom_storage::check::check;
use graphloom_storage::faulty::{Cut, FaultyStore};
use graphloom_storage::memory::MemoryStore;
use passing::Passing;
use support::{ReadingModel, engine, source};

/// Writes a report whose findings cite what the data holds and what it does not; fails about data with `refuses`.
#[derive(Default)]
struct ReportingModel {
    asked: AtomicU32,
    /// Every prompt, its messages one after another.
    prompts: Mutex<Vec<String>>,
    refuses: Option<&'static str>,
}

#[async_trait]
impl LanguageModel for ReportingModel {
    fn name(&self) -> &str {
        "test-reporter"
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let data = &request.messages.last().expect("a message").content;
        let prompt = request.messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>();
        self.prompts.lock().expect("no panic").push(prompt.join("\n=== user ===\n"));
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.refuses.is_some_and(|word| data.contains(word)) {
            let what = "overloaded".to_owned();
            return Err(ModelError::Server { model: "test-reporter".to_owned(), status: 503, what });
        }
        let first = data.lines().find_map(|line| line.strip_prefix("[R1] ")).unwrap_or_default();
        let sentence = first.rsplit(": ").next().unwrap_or_default();
        let answer = serde_json::json!({
            "title": format!("About {}", first.split(" - ").next().unwrap_or_default()),
            "summary": "They know each other.",
            "rating": 7,
            "rating_reason": "They are many.",
            "findings": [{ "summary": sentence, "explanation": format!("{sentence} [R1, E99]") }],
        });
        let usage = Usage { prompt_tokens: 10, completion_tokens: 5, ..Usage::default() };
        let done = Completion { finish: FinishReason::Stop, usage, attempts: 1 };
        Ok(stream::iter([Ok(ChatEvent::Delta(answer.to_string())), Ok(ChatEvent::Done(done))]).boxed())
    }
}

/// Two groups of people with one acquaintance between them.
const GROUPS: [(&str, &str); 3] = [
    ("one.txt", "Ada knows Bo. Bo knows Cy. Cy knows Ada. Ada knows Dee. Dee knows Bo."),
    ("two.txt", "Eve knows Flo. Flo knows Gus. Gus knows Eve. Eve knows Hal. Hal knows Flo."),
    ("between.txt", "Ada knows Eve."),
];

async fn world(store: Arc<dyn Store>, model: Option<Arc<ReportingModel>>) -> Engine {
    let mut engine = engine(store, Arc::new(ReadingModel::default()));
    add(&engine, &GROUPS).await;
    engine.models.summarize = model.map(|model| model as Arc<dyn LanguageModel>);
    engine
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(WorkspaceId::default()))
}

async fn add(engine: &Engine, documents: &[(&str, &str)]) {
    let sources = documents.iter().map(|(name, text)| source(name, text)).collect();
    index::accept(engine, sources).await.expect("the store works");
    index::run(engine, &|_| {}, &|_| true).await.expect("store and model work");
}

async fn remove(engine: &Engine, name: &str) {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let versions = snapshot.documents_of_sources(&[name.to_owned()]).await.expect("the store works");
    let ids: Vec<_> = versions.concat().into_iter().map(|document| document.id).collect();
    index::delete(engine, &ids).await.expect("deleting works");
}

async fn run(engine: &Engine) -> DeriveReport {
    derive(engine, &Communities, &|_| {}, &|_| true).await.expect("store and model work")
}

async fn dump(engine: &Engine) -> String {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert_eq!(check(snapshot.as_ref()).await.expect("the store works"), [], "the store is sound");
    let mut lines = Vec::new();
    write_dump(snapshot.as_ref(), &mut lines).await.expect("memory does not fail");
    String::from_utf8(lines).expect("a dump is text")
}

#[tokio::test]
async fn without_a_model_reports_are_made_of_sentences_of_the_documents() {
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
async fn a_model_writes_reports_and_references_that_lead_nowhere_are_dropped_and_counted() {
    let model = Arc::new(ReportingModel::default());
    let engine = world(memory(), Some(model.clone())).await;
    let derived = run(&engine).await;
    assert_eq!(u64::from(model.asked.load(Ordering::SeqCst)), derived.written);
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let listed = communities(snapshot.as_ref(), 0).await.expect("read");
    let report = community(snapshot.as_ref(), &listed[0].id).await.expect("read").expect("a report");
    assert_eq!((report.entry.by.as_str(), report.entry.rating), ("test-reporter", 7.0));
    assert_eq!((report.dropped_references, report.omitted_relations), (1, 0));
    assert_eq!(report.findings[0].references[0].quote, report.findings[0].explanation);
    let calls = snapshot.scan(table::Calls, None, 999).await.expect("read");
    let paid = calls.iter().filter(|call| call.role == Role::Summarize).count() as u64;
    assert_eq!(paid, derived.written);
}

#[tokio::test]
async fn a_model_reads_all_entities_and_relations_of_a_community() {
    let model = Arc::new(ReportingModel::default());
    let mut engine = engine(memory(), Arc::new(ReadingModel::default()));
    add(&engine, &[("one.txt", "Ada knows Bo. Bo knows Cy.")]).await;
    engine.models.summarize = Some(model.clone());
    run(&engine).await;
    let prompts = model.prompts.lock().expect("no panic").clone();
    assert_eq!(prompts.len(), 1);
    insta::assert_snapshot!("community_report", prompts[0]);
}

#[tokio::test]
async fn a_change_rewrites_what_it_touches_and_undoing_it_costs_nothing() {
    let model = Arc::new(ReportingModel::default());
    let engine = world(memory(), Some(model.clone())).await;
    run(&engine).await;
    let before = dump(&engine).await;
    let asked = model.asked.load(Ordering::SeqCst);
    add(&engine, &[("more.txt", "Gus knows Hal. Ida knows Gus.")]).await;
    let states = layer_states(engine.store.snapshot().await.expect("works").as_ref()).await.expect("read");
    assert!(!states[0].current, "{states:?}");
    let derived = run(&engine).await;
    assert!(derived.kept >= 1 && derived.written >= 1, "{derived:?}");
    let changed = model.asked.load(Ordering::SeqCst);
    assert_eq!(u64::from(changed - asked), derived.written);
    remove(&engine, "more.txt").await;
    run(&engine).await;
    assert_eq!(
        model.asked.load(Ordering::SeqCst),
        changed,
        "reports that were paid for are not paid for again"
    );
    assert_eq!(dump(&engine).await, before);
}

#[tokio::test]
async fn a_failed_report_is_left_to_the_next_run() {
    let refusing = Arc::new(ReportingModel { refuses: Some("Flo"), ..ReportingModel::default() });
    let mut engine = world(memory(), Some(refusing)).await;
    let derived = run(&engine).await;
    assert!(!derived.current && derived.failed == 1 && derived.written == 1, "{derived:?}");
    assert!(derived.reason.as_deref().is_some_and(|reason| reason.contains("overloaded")), "{derived:?}");
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert_eq!(layer_states(snapshot.as_ref()).await.expect("read")[0].failed, 1);
    drop(snapshot);
    let model = Arc::new(ReportingModel::default());
    engine.models.summarize = Some(model.clone());
    let derived = run(&engine).await;
    assert_eq!((derived.current, derived.kept, derived.written), (true, 1, 1));
    assert_eq!(model.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_run_that_dies_at_any_commit_is_finished_by_the_next_and_pays_for_nothing_twice() {
    let model = Arc::new(ReportingModel::default());
    let whole = world(memory(), Some(model.clone())).await;
    run(&whole).await;
    let (expected, calls) = (dump(&whole).await, model.asked.load(Ordering::SeqCst));
    let mut deaths = 0;
    for call in 0..40 {
        for cut in [Cut::Before, Cut::After] {
            let model = Arc::new(ReportingModel::default());
            let engine = world(memory(), Some(model.clone())).await;
            let mut dying = engine.clone();
            let store = Arc::new(FaultyStore::new(Passing(engine.store.clone()), call, cut));
            dying.store = store.clone();
            dying.index.max_concurrent_calls = 1;
            let outcome = derive(&dying, &Communities, &|_| {}, &|_| true).await;
            deaths += u32::from(outcome.is_err());
            run(&engine).await;
            assert_eq!(dump(&engine).await, expected, "cut {cut:?} at {call}");
            let asked = model.asked.load(Ordering::SeqCst);
            assert!(asked <= calls + 1, "at most the call in flight is paid for twice: {asked} of {calls}");
        }
    }
    assert!(deaths > 5, "{deaths}");
}

#[tokio::test]
async fn every_relation_within_a_community_is_shown_to_the_author_of_its_report_or_of_a_part() {
    let engine = world(memory(), None).await;
    // A dense group, larger than one community of the last level.
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
async fn a_run_of_the_index_keeps_the_layers_it_is_told_to_up_to_date() {
    let mut engine = world(memory(), None).await;
    engine.index.layers = vec![LayerKind::Communities];
    add(&engine, &[("more.txt", "Gus knows Hal.")]).await;
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert!(layer_states(snapshot.as_ref()).await.expect("read")[0].current);
}
