//! Several actors work on one workspace in an order determined by a seed. Whatever the order, nothing is lost, nothing is
//! left behind, and no actor waits forever.
//!
//! Another actor can continue at every read and commit of the store and at every call of the model. After each history the
//! store is sound and equals a plain build of the remaining documents. `GRAPHLOOM_SCHEDULES=N` plays N histories instead of
//! the default number, and `GRAPHLOOM_SCHEDULE=SEED` plays a single one.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use async_trait::async_trait;
use graphloom_core::{
    Action, Batch, ChatRequest, ChatStream, Decisions, DocumentId, Embedder, Embeddings, EntityKey,
    GraphTurn, LanguageModel, ModelError, Purpose, Revision, Snapshot, Store, StoreError, Timestamp,
    Visibility, WorkspaceId, table, write_dump,
};
use graphloom_engine::Engine;
use graphloom_engine::edit::{EditError, decide};
use graphloom_engine::index::{self, Acceptance};
use graphloom_storage::check::check;
use graphloom_storage::conformance::block_on;
use graphloom_storage::memory::MemoryStore;
use graphloom_storage::sqlite::SqliteStore;

use crate::support::{ReadingModel, WordEmbedder, engine, source};

/// Number of histories played in memory, unless `GRAPHLOOM_SCHEDULES` sets another.
const SCHEDULES: u64 = 160;
/// Number of documents added at once: more than can be processed and wait for the merger at the same time.
const MANY: u8 = 20;
/// Maximum texts in the chunks of one document.
const LARGEST_OF_CHUNKS: usize = 3;
/// One history in this many is also played on disk.
const ON_DISK_EVERY: u64 = 20;
/// Maximum turns of one history; more mean an endless loop.
const MAX_TURNS: usize = 200_000;
/// Stretches of turns are shorter than two to this power.
const LONGEST_STRETCH: usize = 8;
/// Number of schedules tried with a smaller history before it counts as one that does not fail.
const SCHEDULES_OF_SMALLER: u64 = 12;
/// Maximum number of smaller histories that are tried.
const MAX_SMALLER: usize = 60;

/// One action of an actor.
#[derive(Debug, Clone)]
enum Step {
    /// Adds a version of this source with this text.
    Add(u8, u8),
    /// Adds more documents at once than can wait for the merger.
    AddMany,
    Delete(u8),
    Decide(u8),
    Cancel(u8),
    Pause,
    Resume,
    Retry,
    /// Works until there is nothing left to claim.
    Work,
    /// Works, but is killed after this many turns.
    WorkUntilKilled(u8),
}

/// The actors with their steps, and the seed for the order of their turns.
#[derive(Debug, Clone)]
struct History {
    order: u64,
    actors: Vec<Vec<Step>>,
}

/// The SplitMix64 generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

impl History {
    fn of(seed: u64) -> Self {
        let mut random = Random(seed);
        // A single worker with many documents reaches its limits.
        if random.below(4) == 0 {
            return Self { order: random.next(), actors: vec![vec![Step::AddMany, Step::Work]] };
        }
        let mut actors = Vec::new();
        // With few sources, versions of the same source meet more often.
        let sources = 1 + random.below(3);
        for _ in 0..1 + random.below(2) {
            let steps = (0..2 + random.below(4))
                .map(|_| Step::Add(random.below(sources) as u8, random.below(6) as u8));
            actors.push(steps.collect());
        }
        if random.below(8) == 0 {
            actors.push(vec![Step::AddMany]);
        }
        for _ in 0..1 + random.below(3) {
            let steps = (0..1 + random.below(3)).map(|_| match random.below(4) {
                0 => Step::WorkUntilKilled(random.below(60) as u8),
                _ => Step::Work,
            });
            actors.push(steps.collect());
        }
        for _ in 0..random.below(3) {
            let steps = (0..1 + random.below(3)).map(|_| match random.below(8) {
                0..=2 => Step::Delete(random.below(sources) as u8),
                3 | 4 => Step::Decide(random.below(5) as u8),
                5 => Step::Cancel(random.below(sources) as u8),
                6 => Step::Retry,
                _ => Step::Pause,
            });
            let mut steps: Vec<Step> = steps.collect();
            if steps.iter().any(|step| matches!(step, Step::Pause)) {
                steps.push(Step::Resume);
            }
            actors.push(steps);
        }
        Self { order: random.next(), actors }
    }

    /// Returns every history that is this one without one actor or one step.
    fn smaller(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        for (at, steps) in self.actors.iter().enumerate() {
            let mut without = self.clone();
            without.actors.remove(at);
            smaller.push(without);
            for step in 0..steps.len() {
                let mut without = self.clone();
                without.actors[at].remove(step);
                smaller.push(without);
            }
        }
        smaller.retain(|history| history.actors.iter().all(|steps| !steps.is_empty()));
        smaller
    }
}

/// Yields to another actor.
async fn pause_here() {
    let mut paused = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// The turn to change the graph. After it is released, the first waiting actor that is polled gets it.
#[derive(Default)]
struct Turn {
    taken: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

struct TakenTurn(Arc<Turn>);

impl Drop for TakenTurn {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::SeqCst);
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.drain(..).for_each(Waker::wake);
    }
}

/// A store that yields to other actors before every read, and before and after every commit.
struct InterleavedStore {
    store: Arc<dyn Store>,
    turn: Arc<Turn>,
}

#[async_trait]
impl Store for InterleavedStore {
    fn workspace(&self) -> &WorkspaceId {
        self.store.workspace()
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        pause_here().await;
        self.store.snapshot().await
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        pause_here().await;
        // Blocks until the commit is done, so that no other thread runs when the next actor continues.
        let committed = block_on(self.store.commit(batch));
        pause_here().await;
        committed
    }

    fn fault(&self) -> Option<String> {
        self.store.fault()
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        std::future::poll_fn(|context| {
            if !self.turn.taken.swap(true, Ordering::SeqCst) {
                return Poll::Ready(());
            }
            let mut waiting = self.turn.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
        Ok(Box::new(TakenTurn(Arc::clone(&self.turn))))
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        self.store.summaries_turn().await
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        self.store.workers().await
    }
}

/// A model and embedder with slow calls, through a service that accepts one or two at once; some calls fail.
struct Slow {
    model: ReadingModel,
    service: tokio::sync::Semaphore,
    drawn: AtomicU64,
    fails: bool,
}

impl Slow {
    fn new(seed: u64, fails: bool) -> Arc<Self> {
        let service = tokio::sync::Semaphore::new(1 + (seed % 2) as usize);
        Arc::new(Self { model: ReadingModel::default(), service, drawn: AtomicU64::new(seed), fails })
    }

    async fn call(&self) -> usize {
        let _place = self.service.acquire().await.expect("it is never closed");
        let drawn = Random(self.drawn.fetch_add(1, Ordering::SeqCst)).below(24);
        for _ in 0..drawn % 6 {
            pause_here().await;
        }
        drawn
    }
}

#[async_trait]
impl LanguageModel for Slow {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        if self.call().await == 23 && self.fails {
            let (model, what) = (self.model.name().to_owned(), "overloaded".to_owned());
            return Err(ModelError::Server { model, status: 503, what });
        }
        self.model.chat(request).await
    }
}

#[async_trait]
impl Embedder for Slow {
    fn name(&self) -> &str {
        WordEmbedder.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        WordEmbedder.dimensions().await
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        // Embedding for a merge takes so long that other documents queue up in the meantime.
        let steps = if texts.len() > LARGEST_OF_CHUNKS { texts.len() * 40 } else { 0 };
        for _ in 0..steps {
            pause_here().await;
        }
        self.call().await;
        WordEmbedder.embed(purpose, texts).await
    }
}

/// The remaining work of one actor.
struct Actor {
    work: Pin<Box<dyn Future<Output = ()>>>,
    wake_flag: Arc<WakeFlag>,
}

impl Actor {
    fn new(work: impl Future<Output = ()> + 'static) -> Self {
        Self { work: Box::pin(work), wake_flag: Arc::new(WakeFlag(AtomicBool::new(true))) }
    }
}

struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs the actors until all are done. `random` picks an actor that can continue and the number of turns it gets. Short and
/// long stretches are equally likely, so one actor can do a lot while another is between two of its steps.
fn interleave(mut actors: Vec<Actor>, random: &mut Random) {
    let (mut at, mut stretch) = (0, 0);
    for _ in 0..MAX_TURNS {
        if actors.is_empty() {
            return;
        }
        let can_go_on =
            |at: usize| actors.get(at).is_some_and(|actor| actor.wake_flag.0.load(Ordering::SeqCst));
        if stretch == 0 || !can_go_on(at) {
            let able: Vec<usize> = (0..actors.len()).filter(|&at| can_go_on(at)).collect();
            assert!(!able.is_empty(), "{} actors wait for each other", actors.len());
            (at, stretch) = (able[random.below(able.len())], 1 << random.below(LONGEST_STRETCH));
        }
        stretch -= 1;
        let wake_flag = Arc::clone(&actors[at].wake_flag);
        wake_flag.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(wake_flag);
        if actors[at].work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            actors.remove(at);
            stretch = 0;
        }
    }
    panic!("{} actors are not done after {MAX_TURNS} turns", actors.len());
}

/// Polls `work` this many times, then drops it.
async fn killed_after(work: impl Future, turns: u8) {
    let mut work = Box::pin(work);
    let mut left = turns;
    std::future::poll_fn(move |context| {
        if left == 0 || work.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        left -= 1;
        Poll::Pending
    })
    .await
}

fn name(source: u8) -> String {
    format!("{source}.txt")
}

/// Returns the documents that are added at once, with the numbers of their texts.
fn many() -> impl Iterator<Item = (String, u8)> {
    (0..MANY).map(|number| (format!("many {number}.txt"), number))
}

/// Returns a short text; the texts share names, and some have several chunks.
fn text(number: u8) -> String {
    let names = ["Ada", "Bo", "Cy", "Dee", "Eve", "Fay"];
    let sentence = |at: usize| format!("{} knows {}. ", names[at % 6], names[(at * 5 + 1) % 6]);
    let at = usize::from(number);
    (0..1 + at % 3).map(|more| format!("{}{}\n\n", sentence(at + more), sentence(at + more + 1))).collect()
}

fn action(number: u8) -> Action {
    let key = |name: &str| EntityKey::from_stored(name);
    match number {
        0 => Action::MergeEntities {
            sources: vec![key("ADA")],
            into: key("BO"),
            name: "Bo".to_owned(),
            kind: None,
            description: None,
        },
        1 => Action::DeleteEntity { key: key("CY") },
        2 => Action::RenameEntity { key: key("DEE"), into: key("DORA"), name: "Dora".to_owned() },
        3 => Action::CreateEntity {
            key: key("NEW"),
            name: "New".to_owned(),
            kind: None,
            description: "A new one.".to_owned(),
        },
        _ => Action::EditEntity {
            key: key("EVE"),
            name: None,
            kind: Some("Club".to_owned()),
            description: None,
        },
    }
}

fn new_engine(store: Arc<dyn Store>, worker: &str, model: &Arc<Slow>) -> Engine {
    let mut engine = engine(store, Arc::new(ReadingModel::default()));
    engine.models.extract = Some(model.clone());
    engine.models.embedder = model.clone();
    engine.index.chunk.max_chunk_tokens = Some(12);
    engine.index.chunk.overlap_tokens = 0;
    engine.index.max_concurrent_calls = 2;
    engine.index.max_concurrent_documents = 2;
    engine.index.worker = worker.to_owned();
    engine
}

async fn versions(engine: &Engine, source: u8) -> Vec<DocumentId> {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let versions = snapshot.documents_of_sources(&[name(source)]).await.expect("the store works");
    versions.into_iter().flatten().map(|document| document.id).collect()
}

async fn all(engine: &Engine) -> Vec<DocumentId> {
    let snapshot = engine.store.snapshot().await.expect("the store works");
    let documents = snapshot.scan(table::Documents, None, 999).await.expect("the store works");
    documents.into_iter().map(|document| document.id).collect()
}

async fn act(engine: &Engine, step: &Step) {
    match step {
        Step::Add(source_number, text_number) => {
            let added = source(&name(*source_number), &text(*text_number));
            let accepted = index::accept(engine, vec![added]).await.expect("adding works");
            assert!(!matches!(accepted[0], Acceptance::Refused { .. }));
        }
        Step::AddMany => {
            let added = many().map(|(name, number)| source(&name, &text(number))).collect();
            index::accept(engine, added).await.expect("adding works");
        }
        Step::Delete(source) => {
            let ids = versions(engine, *source).await;
            index::delete(engine, &ids).await.expect("deleting works");
        }
        Step::Decide(number) => match decide(engine, vec![action(*number)]).await {
            Ok(_) => {}
            Err(error @ (EditError::Store(_) | EditError::Model(_))) => panic!("deciding works: {error:?}"),
            Err(_) => {}
        },
        Step::Cancel(source) => {
            let ids = versions(engine, *source).await;
            index::cancel(engine.store.as_ref(), &ids).await.expect("cancelling works");
        }
        Step::Pause => {
            index::pause(engine.store.as_ref(), Timestamp(1)).await.expect("pausing works");
        }
        Step::Resume => {
            index::resume(engine.store.as_ref()).await.expect("resuming works");
        }
        Step::Retry => {
            let ids = all(engine).await;
            index::retry(engine, &ids, None).await.expect("the store works");
        }
        Step::Work => {
            index::run(engine, &|_| {}, &|_| false).await.expect("store and model work");
        }
        Step::WorkUntilKilled(turns) => {
            killed_after(index::run(engine, &|_| {}, &|_| false), *turns).await;
        }
    }
}

/// Plays a history over `store`; panics if it does not end as it should.
fn play(history: &History, store: Arc<dyn Store>) {
    let mut random = Random(history.order);
    let model = Slow::new(history.order, true);
    let interleaved: Arc<dyn Store> = Arc::new(InterleavedStore { store, turn: Arc::default() });
    let actors = history.actors.iter().enumerate().map(|(at, steps)| {
        let engine = new_engine(interleaved.clone(), &format!("worker {at}"), &model);
        let steps = steps.clone();
        let work = async move {
            for step in &steps {
                act(&engine, step).await;
            }
        };
        Actor::new(work)
    });
    interleave(actors.collect(), &mut random);
    let history = history.clone();
    let end = async move { settle_and_compare(&history, interleaved).await };
    interleave(vec![Actor::new(end)], &mut random);
}

/// Finishes the remaining work and compares the result with a plain build of the remaining documents.
async fn settle_and_compare(history: &History, store: Arc<dyn Store>) {
    sound_dump(store.as_ref()).await;
    let engine = new_engine(store.clone(), "last", &Slow::new(0, false));
    index::resume(store.as_ref()).await.expect("resuming works");
    index::retry(&engine, &all(&engine).await, None).await.expect("the store works");
    let report = index::run(&engine, &|_| {}, &|_| true).await.expect("store and model work");
    assert_eq!((report.failed, report.failed_chunks, report.stale), (0, 0, 0));
    let found = sound_dump(store.as_ref()).await;

    let snapshot = store.snapshot().await.expect("the store works");
    let documents = snapshot.scan(table::Documents, None, 999).await.expect("the store works");
    assert!(documents.iter().all(|document| document.visibility == Visibility::Live), "nothing waits");
    let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
    let texts = snapshot.texts(&ids).await.expect("the store works");
    let mut remaining: BTreeMap<String, String> = BTreeMap::new();
    for (document, text) in documents.into_iter().zip(texts) {
        let version = remaining.insert(document.source, text.expect("every document has a text"));
        assert_eq!(version, None, "a source has one version");
    }
    assert_eq!(remaining.keys().cloned().collect::<BTreeSet<_>>(), kept(history, &remaining));
    let decisions = Decisions::read(snapshot.as_ref()).await.expect("the store works");
    let actions: Vec<Action> = decisions.holding().map(|decision| decision.action.clone()).collect();
    drop(snapshot);

    let plain: Arc<dyn Store> = Arc::new(MemoryStore::new(WorkspaceId::default()));
    let engine = new_engine(plain.clone(), "plain", &Slow::new(0, false));
    if !actions.is_empty() {
        decide(&engine, actions).await.expect("deciding works");
    }
    let sources = remaining.iter().map(|(name, text)| source(name, text)).collect();
    index::accept(&engine, sources).await.expect("adding works");
    index::run(&engine, &|_| {}, &|_| true).await.expect("store and model work");
    assert_eq!(found, sound_dump(plain.as_ref()).await, "the state equals a plain build");
}

/// Returns the sources that must exist: those that were added and never deleted, and any others that happen to exist.
fn kept(history: &History, remaining: &BTreeMap<String, String>) -> BTreeSet<String> {
    let steps = || history.actors.iter().flatten();
    let added = steps().filter_map(|step| match step {
        Step::Add(source, _) => Some(*source),
        Step::AddMany
        | Step::Delete(_)
        | Step::Decide(_)
        | Step::Cancel(_)
        | Step::Pause
        | Step::Resume
        | Step::Retry
        | Step::Work
        | Step::WorkUntilKilled(_) => None,
    });
    let many_added = steps().any(|step| matches!(step, Step::AddMany));
    let many = many().filter(|_| many_added).map(|(name, _)| name);
    let is_deleted =
        |source: u8| steps().any(|step| matches!(step, Step::Delete(deleted) if *deleted == source));
    let kept = added.filter(|source| !is_deleted(*source) || remaining.contains_key(&name(*source)));
    kept.map(name).chain(many).collect()
}

async fn sound_dump(store: &dyn Store) -> String {
    let snapshot = store.snapshot().await.expect("the store works");
    assert_eq!(check(snapshot.as_ref()).await.expect("the store works"), [], "the store is sound");
    let mut lines = Vec::new();
    write_dump(snapshot.as_ref(), &mut lines).await.expect("memory does not fail");
    String::from_utf8(lines).expect("a dump is text")
}

/// Returns the reason why a history fails; `None` if it does not fail.
fn failure(history: &History, on_disk: bool) -> Option<String> {
    let played = catch_unwind(AssertUnwindSafe(|| {
        if on_disk {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let store = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("a new store");
            play(history, Arc::new(store));
        } else {
            play(history, Arc::new(MemoryStore::new(WorkspaceId::default())));
        }
    }));
    let panic = played.err()?;
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
    Some(text.chars().take(400).collect())
}

/// Returns a smaller history that also fails, with its reason.
fn reduced(mut history: History, mut reason: String, on_disk: bool) -> (History, String) {
    let mut tried = 0;
    'smaller: loop {
        for candidate in history.smaller() {
            for order in 0..SCHEDULES_OF_SMALLER {
                let candidate = History { order: candidate.order.wrapping_add(order), ..candidate.clone() };
                if let Some(found) = failure(&candidate, on_disk) {
                    (history, reason) = (candidate, found);
                    continue 'smaller;
                }
            }
            tried += 1;
            if tried >= MAX_SMALLER {
                return (history, reason);
            }
        }
        return (history, reason);
    }
}

#[allow(clippy::disallowed_macros, reason = "tests print what they are at")]
fn check_seed(seed: u64, on_disk: bool) {
    let history = History::of(seed);
    let Some(reason) = failure(&history, on_disk) else { return };
    eprintln!("schedule {seed} fails: {reason}\nlooking for a smaller history that fails");
    let (smallest, smallest_reason) = reduced(history, reason.clone(), on_disk);
    panic!(
        "schedule {seed} fails: {reason}\nplay it again with GRAPHLOOM_SCHEDULE={seed}\na smaller history fails too, \
         {smallest_reason}\n{smallest:#?}"
    );
}

fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

#[test]
fn any_order_of_actors_ends_in_the_state_of_a_plain_build() {
    if let Some(seed) = number_of("GRAPHLOOM_SCHEDULE") {
        check_seed(seed, false);
        return check_seed(seed, true);
    }
    for seed in 0..number_of("GRAPHLOOM_SCHEDULES").unwrap_or(SCHEDULES) {
        check_seed(seed, false);
        if seed % ON_DISK_EVERY == 0 {
            check_seed(seed, true);
        }
    }
}
