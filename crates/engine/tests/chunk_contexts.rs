//! Chunk contexts: what the prompts contain, the order of the calls, what is stored, and what remains after a failure.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use graphloom_core::{
    CallOutcome, ChatEvent, ChatRequest, ChatStream, ChunkContextOutcome, Completion, DocumentId,
    DocumentStatus, FinishReason, ItemKind, LanguageModel, ModelError, Role, SearchRequest, Store, Usage,
    WorkspaceId, table,
};
use graphloom_engine::Engine;
use graphloom_engine::chunk_context::ContextWriter;
use graphloom_engine::index::{self, Acceptance, MissingContexts, RunReport};
use graphloom_engine::query::{Arm, Mode, Question, retrieve};
use graphloom_storage::check::check;
use graphloom_storage::memory::MemoryStore;

use crate::support::{ReadingModel, engine, source};

/// Three chunks, of which only the first contains the name of the company.
const REPORT: &str = "Zephyrine makes gears and axles for mills.\n\nIn spring the output fell by a half of it all.\n\n\
                      In autumn everything grew by three percent again.";

/// Answers with the first words of the passage; records the requests and how many other calls were running.
#[derive(Default)]
struct ContextModel {
    name: &'static str,
    asked: Mutex<Vec<ChatRequest>>,
    /// Calls about passages with this word fail.
    refuses: Mutex<Option<&'static str>>,
    under_way: AtomicUsize,
    /// For each call, how many other calls were running when it started.
    beside: Mutex<Vec<usize>>,
}

impl ContextModel {
    fn named(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, ..Self::default() })
    }

    fn asked(&self) -> Vec<ChatRequest> {
        self.asked.lock().expect("unpoisoned").clone()
    }

    fn count(&self) -> usize {
        self.asked.lock().expect("unpoisoned").len()
    }

    fn refuse(&self, word: Option<&'static str>) {
        *self.refuses.lock().expect("unpoisoned") = word;
    }
}

/// Yields to other tasks a few times.
async fn pause() {
    let mut left = 8;
    std::future::poll_fn(move |context| {
        if left == 0 {
            return std::task::Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

#[async_trait]
impl LanguageModel for ContextModel {
    fn name(&self) -> &str {
        self.name
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let prompt = request.messages[0].content.clone();
        let passage = prompt.split("<passage>\n").nth(1).unwrap_or_default().to_owned();
        self.asked.lock().expect("unpoisoned").push(request);
        let beside = self.under_way.fetch_add(1, Ordering::SeqCst);
        self.beside.lock().expect("unpoisoned").push(beside);
        pause().await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        if self.refuses.lock().expect("unpoisoned").is_some_and(|word| passage.contains(word)) {
            let what = "overloaded".to_owned();
            return Err(ModelError::Server { model: self.name.to_owned(), status: 503, what });
        }
        let head: Vec<&str> = passage.split(' ').take(2).collect();
        let answer =
            format!(" <think>hm</think>\nZephyrine's report,\n by {}: {}. ", self.name, head.join(" "));
        let usage = Usage { prompt_tokens: 10, completion_tokens: 5, ..Usage::default() };
        let done = Completion { finish: FinishReason::Stop, usage, attempts: 1 };
        Ok(stream::iter([Ok(ChatEvent::Delta(answer)), Ok(ChatEvent::Done(done))]).boxed())
    }
}

/// An engine that extracts by rules from small chunks.
fn world(context_writer: ContextWriter) -> Engine {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(WorkspaceId::default()));
    with(store, context_writer)
}

fn with(store: Arc<dyn Store>, context_writer: ContextWriter) -> Engine {
    let mut engine = engine(store, Arc::new(ReadingModel::default()));
    (engine.models.extract, engine.models.summarize) = (None, None);
    engine.models.context_writer = context_writer;
    engine.index.chunk.max_chunk_tokens = Some(16);
    engine.index.chunk.overlap_tokens = 0;
    engine
}

async fn add(engine: &Engine, name: &str, text: &str) -> DocumentId {
    match index::accept(engine, vec![source(name, text)]).await.expect("the store works").remove(0) {
        Acceptance::Accepted { document, .. } | Acceptance::Unchanged { document, .. } => document,
        Acceptance::Refused { reason, .. } => panic!("{reason}"),
    }
}

async fn run(engine: &Engine) -> RunReport {
    index::run(engine, &|_| {}, &|_| true).await.expect("store and model work")
}

/// Writes the contexts of these documents again.
async fn contextualize(engine: &Engine, documents: &[DocumentId]) -> RunReport {
    let plan = index::plan_contexts(engine, documents, &|_| true).await.expect("the store works");
    index::contextualize(engine, &plan.changed, &|_| {}).await.expect("store and model work")
}

/// Returns the context of each chunk in order; `None` if it failed or there is none. Also checks that the store is sound.
async fn context(engine: &Engine, document: &DocumentId) -> Vec<Option<String>> {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    assert_eq!(check(snapshot.as_ref()).await.expect("the store works"), []);
    let chunks =
        snapshot.chunk_ids_of(std::slice::from_ref(document)).await.expect("the store works").concat();
    let chunk_contexts = snapshot.chunk_contexts(&chunks).await.expect("the store works");
    chunk_contexts.into_iter().map(|it| it?.text().map(str::to_owned)).collect()
}

/// Returns how many chunks full-text search finds.
async fn matching(engine: &Engine, text: &str) -> usize {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let request = [SearchRequest::by_words(ItemKind::Chunk, text, 9)];
    snapshot.search(&request).await.expect("the store works")[0].len()
}

#[tokio::test]
async fn all_prompts_start_with_the_document_and_the_first_chunk_is_sent_alone() {
    let model = ContextModel::named("m");
    let engine = world(ContextWriter::Model(model.clone()));
    let document = add(&engine, "report.txt", REPORT).await;
    let report = run(&engine).await;
    assert_eq!((report.contextualized, report.chunks_without_context, report.finished), (3, 0, 1));

    let asked = model.asked();
    assert_eq!(asked.len(), 3);
    let shared = asked[0].shared_prefix_bytes;
    let opening = &asked[0].messages[0].content[..shared];
    assert!(opening.contains(REPORT) && opening.contains("report.txt"));
    for request in &asked {
        assert_eq!((request.shared_prefix_bytes, request.messages.len()), (shared, 1));
        assert!(request.messages[0].content.starts_with(opening));
    }
    assert_eq!(*model.beside.lock().expect("unpoisoned"), [0, 0, 1]);

    let said = |head: &str| Some(format!("Zephyrine's report, by m: {head}."));
    assert_eq!(
        context(&engine, &document).await,
        [said("Zephyrine makes"), said("In spring"), said("In autumn")]
    );
    assert_eq!(matching(&engine, "zephyrine report").await, 3);
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let calls = snapshot.scan(table::Calls, None, 99).await.expect("the store works");
    let contexts = calls.iter().filter(|call| call.role == Role::Context);
    assert_eq!(contexts.filter(|call| call.outcome == CallOutcome::Ok).count(), 3);
}

#[tokio::test]
async fn a_passage_is_found_by_its_context_and_quoted_without_it() {
    let question = Question {
        text: "How much did Zephyrine grow in autumn?".to_owned(),
        mode: Mode::Contextual,
        ..Question::default()
    };
    let engine = world(ContextWriter::Model(ContextModel::named("m")));
    add(&engine, "report.txt", REPORT).await;
    run(&engine).await;
    let retrieval = retrieve(&engine, &question).await.expect("an answer");
    assert_eq!(retrieval.chunks[0].chunk.text, "In autumn everything grew by three percent again.");
    assert_eq!(retrieval.chunks[0].arm, Arm::Fused);
    assert!(!retrieval.context.contains("Zephyrine's report"), "{}", retrieval.context);
}

#[tokio::test]
async fn the_contextual_mode_works_over_plain_chunks_too() {
    let engine = world(ContextWriter::Off);
    add(&engine, "report.txt", REPORT).await;
    run(&engine).await;
    let asked =
        |text: &str| Question { text: text.to_owned(), mode: Mode::Contextual, ..Question::default() };
    let retrieval = retrieve(&engine, &asked("grew three percent")).await.expect("an answer");
    assert_eq!(retrieval.chunks[0].chunk.text, "In autumn everything grew by three percent again.");
    assert!(retrieval.entities.is_empty() && retrieval.keywords.low_level.is_empty());
}

#[tokio::test]
async fn a_failed_call_is_listed_and_retried_alone() {
    let model = ContextModel::named("m");
    model.refuse(Some("spring"));
    let engine = world(ContextWriter::Model(model.clone()));
    let document = add(&engine, "report.txt", REPORT).await;
    let report = run(&engine).await;
    assert_eq!((report.contextualized, report.chunks_without_context, report.incomplete), (2, 1, 1));
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let ids = std::slice::from_ref(&document);
    let state = index::states_of(snapshot.as_ref(), ids).await.expect("the store works").remove(0);
    let state = state.expect("known");
    let reason = "model m failed (status 503): overloaded".to_owned();
    assert_eq!(state.chunks_without_context, [(1, reason)]);
    let incomplete = DocumentStatus::Incomplete { failed: 0, damaged: 0, without_context: 1, chunks: 3 };
    assert_eq!(state.status, incomplete);
    drop(snapshot);
    assert_eq!(context(&engine, &document).await.iter().flatten().count(), 2);

    // No call is repeated until a user asks for it, and another model's failures are not retried.
    run(&engine).await;
    assert_eq!(model.count(), 3);
    model.refuse(None);
    let off = with(engine.store.clone(), ContextWriter::Off);
    let by_others = [("m".to_owned(), 1)].into();
    let found = index::without_context(&off, ids).await.expect("the store works");
    assert_eq!(found, MissingContexts { again: Vec::new(), by_others });
    let found = index::without_context(&engine, ids).await.expect("the store works");
    assert_eq!(found, MissingContexts { again: vec![document.clone()], ..MissingContexts::default() });
    let report = contextualize(&engine, &found.again).await;
    assert_eq!((report.contextualized, report.chunks_without_context, model.count()), (1, 0, 4));
    assert_eq!(context(&engine, &document).await.iter().flatten().count(), 3);
    assert_eq!(contextualize(&engine, ids).await, RunReport::default());
    assert_eq!(model.count(), 4);
}

#[tokio::test]
async fn a_run_that_ended_early_resumes_without_repeating_calls() {
    let model = ContextModel::named("m");
    let engine = world(ContextWriter::Model(model.clone()));
    let document = add(&engine, "report.txt", REPORT).await;
    for polls in (0..200).step_by(7) {
        interrupt(&engine, polls).await;
    }
    run(&engine).await;
    assert_eq!(context(&engine, &document).await.iter().flatten().count(), 3);
    // A call that was running when the process ended is made again; stored results are not requested again.
    let prompts: Vec<String> = model.asked().iter().map(|it| it.messages[0].content.clone()).collect();
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let stored = snapshot.scan(table::Calls, None, 99).await.expect("the store works");
    let stored = stored.iter().filter(|call| call.role == Role::Context).count();
    assert_eq!(stored, 3, "{prompts:?}");
}

/// Polls a run a few times, then drops it.
async fn interrupt(engine: &Engine, polls: usize) {
    let mut future = Box::pin(index::run(engine, &|_| {}, &|_| true));
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

#[tokio::test]
async fn the_same_text_under_the_same_title_costs_one_call() {
    let model = ContextModel::named("m");
    let engine = world(ContextWriter::Model(model.clone()));
    add(&engine, "old/report.txt", REPORT).await;
    run(&engine).await;
    let copy = add(&engine, "new/report.txt", REPORT).await;
    assert_eq!(run(&engine).await.contextualized, 3);
    assert_eq!(model.count(), 3);
    assert_eq!(context(&engine, &copy).await.iter().flatten().count(), 3);
}

#[tokio::test]
async fn another_option_embeds_only_the_chunks_whose_context_text_changes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let off = with(store.clone(), ContextWriter::Off);
    let report = add(&off, "report.txt", REPORT).await;
    let note = add(&off, "note.txt", "Mills need water.").await;
    run(&off).await;
    let both = [report.clone(), note.clone()];
    let titled = |count: usize| vec![Some("report.txt".to_owned()); count];

    let headings = with(store.clone(), ContextWriter::Headings);
    let plan = index::plan_contexts(&headings, &both, &|_| true).await.expect("the store works");
    assert_eq!((plan.changed.len(), plan.chunks), (2, 4));
    assert_eq!(contextualize(&headings, &both).await.contextualized, 4);
    assert_eq!(context(&headings, &report).await, titled(3));
    assert_eq!(matching(&headings, "note").await, 1);

    // A document with one chunk gets its title from the rule in both cases.
    let model = ContextModel::named("m");
    let by_model = with(store.clone(), ContextWriter::Model(model.clone()));
    let plan = index::plan_contexts(&by_model, &both, &|_| true).await.expect("the store works");
    assert_eq!((plan.changed, plan.chunks, plan.unchanged), (vec![report.clone()], 3, vec![note.clone()]));
    model.refuse(Some("spring"));
    let report_of = contextualize(&by_model, &both).await;
    assert_eq!((report_of.contextualized, report_of.chunks_without_context), (2, 1));
    let kept = context(&by_model, &report).await;
    assert_eq!(kept[1].as_deref(), Some("report.txt"), "a failed chunk keeps its old context");

    assert_eq!(contextualize(&off, &both).await.contextualized, 4);
    assert_eq!(context(&off, &report).await, [None, None, None]);
    assert_eq!(matching(&off, "zephyrine").await, 1);
    let snapshot = store.snapshot().await.expect("the store works");
    assert_eq!(snapshot.scan(table::ChunkContexts, None, 9).await.expect("the store works"), []);
}

#[tokio::test]
async fn paid_contexts_stay_if_a_later_run_writes_none() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let model = ContextModel::named("m");
    model.refuse(Some("autumn"));
    let engine = with(store.clone(), ContextWriter::Model(model.clone()));
    let document = add(&engine, "report.txt", REPORT).await;
    run(&engine).await;
    run(&with(store.clone(), ContextWriter::Off)).await;
    let snapshot = store.snapshot().await.expect("the store works");
    let chunk_contexts = snapshot.scan(table::ChunkContexts, None, 9).await.expect("the store works");
    let failed = chunk_contexts.iter().filter(|it| matches!(it.outcome, ChunkContextOutcome::Failed { .. }));
    assert_eq!((chunk_contexts.len(), failed.count()), (3, 1));
    drop(snapshot);
    index::delete(&engine, &[document]).await.expect("deleting works");
    let snapshot = store.snapshot().await.expect("the store works");
    assert_eq!(snapshot.scan(table::ChunkContexts, None, 9).await.expect("the store works"), []);
}
