//! How a run ends after an error that needs a person, and how documents share an answer: every answer is paid for once and stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use graphloom_core::{ChatRequest, ChatStream, LanguageModel, ModelError, Role, Store, WorkspaceId, table};
use graphloom_engine::index::{self, IndexError, RunReport, Source};
use graphloom_storage::conformance::block_on;
use graphloom_storage::memory::MemoryStore;

use crate::support::{ReadingModel, engine, source};

/// Maximum calls at the same time.
const CALLS: u32 = 3;

/// Answers slowly, and fails at once for texts with the word `key`.
#[derive(Default)]
struct SlowModel {
    reader: ReadingModel,
    started: AtomicU32,
}

#[async_trait]
impl LanguageModel for SlowModel {
    fn name(&self) -> &str {
        "test-reader"
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        self.started.fetch_add(1, Ordering::SeqCst);
        if request.messages.last().is_some_and(|message| message.content.contains("The key")) {
            let (model, what) = ("test-reader".to_owned(), "wrong key".to_owned());
            return Err(ModelError::Unauthorized { model, what });
        }
        for _ in 0..100 {
            others_run().await;
        }
        self.reader.chat(request).await
    }
}

/// Lets the other futures run once.
async fn others_run() {
    let mut have_run = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        match std::mem::replace(&mut have_run, true) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

/// Indexes these texts, each in a document of its own. Returns the outcome, and how many calls the model received and how many
/// extraction calls the ledger has.
fn check_run(texts: &[&str]) -> (Result<RunReport, IndexError>, u32, usize) {
    let store = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let model = Arc::new(SlowModel::default());
    let mut engine = engine(store.clone(), Arc::new(ReadingModel::default()));
    engine.models.extract = Some(model.clone());
    engine.index.max_concurrent_calls = CALLS as usize;
    let sources: Vec<Source> =
        texts.iter().enumerate().map(|(at, text)| source(&format!("{at}.md"), text)).collect();
    block_on(async {
        index::accept(&engine, sources).await.expect("memory does not fail");
        let outcome = index::run(&engine, &|_| {}, &|_| false).await;
        let snapshot = store.snapshot().await.expect("memory does not fail");
        let calls = snapshot.pages(table::Calls).all().await.expect("memory does not fail");
        let stored = calls.iter().filter(|call| call.role == Role::Extract).count();
        (outcome, model.started.load(Ordering::SeqCst), stored)
    })
}

#[test]
fn an_error_that_ends_the_run_loses_no_answer_that_is_paid_for() {
    let texts = ["Ada knows Bob.", "The key is here.", "Cem knows Dan.", "Eve knows Fay.", "Gus knows Hal."];
    let (outcome, started, stored) = check_run(&texts);
    assert!(matches!(outcome, Err(IndexError::Model(ModelError::Unauthorized { .. }))), "{outcome:?}");
    assert_eq!(
        (started, stored),
        (CALLS, CALLS as usize),
        "all calls are in the ledger, and no others began"
    );
}

#[test]
fn the_same_text_in_several_documents_is_asked_about_once() {
    let (outcome, started, stored) = check_run(&["Ada knows Bob."; 4]);
    let report = outcome.expect("store and model work");
    assert_eq!((report.finished, report.reused), (4, 3));
    assert_eq!((started, stored), (1, 1));
}
