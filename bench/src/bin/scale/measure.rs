//! Measures the cost of opening, asking, adding and removing in a complete store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use graphloom::SystemClock;
use graphloom_core::{DocumentFilter, DocumentId, FilteredIds, ItemKind, SearchRequest, Store, WorkspaceId};
use graphloom_engine::index::{self, Acceptance, Source};
use graphloom_engine::query::{self, Mode, Question};
use graphloom_engine::{Engine, Models};
use graphloom_storage::sqlite::SqliteStore;
use serde::Serialize;

use crate::Arguments;
use crate::build::PARTS;
use crate::world::{CHUNKS_A_DOCUMENT, Dice, World};

/// Number of questions whose nearest chunks are compared with those of a full scan, and number of chunks per question.
const RECALL_QUESTIONS: usize = 50;
const RECALL_AT: usize = 20;
/// Maximum seconds for the questions of one mode and filter; after that, no further questions are asked.
const MAX_SECONDS: f64 = 20.0;
const MODES: [(Mode, &str); 4] =
    [(Mode::Naive, "naive"), (Mode::Mix, "mix"), (Mode::Ppr, "ppr"), (Mode::Auto, "auto")];
const NO_FILTER: &str = "none";
/// Conditions, and the number of [`PARTS`] that each admits, counted from the first; `None` is no filter.
const FILTERS: [(Option<&str>, usize); 3] = [(None, PARTS), (Some("part=0"), 1), (Some("part<10"), 10)];

/// All measurements; times in milliseconds, sizes in MB of 10^6 bytes.
#[derive(Serialize)]
pub(crate) struct Report {
    chunks: usize,
    entities: u64,
    relations: u64,
    relation_vectors: u64,
    shuffled: bool,
    build_seconds: f64,
    store_mb: f64,
    projections_mb: f64,
    open_ms: f64,
    /// Time of the first question of each mode, in a new process.
    first_question_ms: BTreeMap<&'static str, f64>,
    after_open: Memory,
    /// Memory after all questions without a filter.
    after_questions: Memory,
    nearest: Vec<Nearest>,
    questions: Vec<Row>,
    /// Documents of one chunk that mention only entities of their topic. The `hubs` fields below are for documents that also mention entities
    /// of all topics, as the corpus does; the evidence of these entities is read again.
    add_document: Change,
    remove_document: Change,
    add_mentioning_hubs: Change,
    remove_mentioning_hubs: Change,
}

/// Memory of the process: resident, peak, and the part that is not backed by files.
#[derive(Serialize)]
struct Memory {
    rss_mb: f64,
    peak_mb: f64,
    anonymous_mb: f64,
}

#[derive(Serialize)]
struct Times {
    p50_ms: f64,
    p99_ms: f64,
}

/// Searches only for the 20 nearest chunks.
#[derive(Serialize)]
struct Nearest {
    filter: &'static str,
    /// Share of the true nearest chunks, found by a full scan, that the search finds.
    recall_at_20: f64,
    #[serde(flatten)]
    times: Times,
}

#[derive(Serialize)]
struct Row {
    mode: &'static str,
    filter: &'static str,
    asked: usize,
    #[serde(flatten)]
    times: Times,
    /// CPU time of the thread that answers, which other load hardly affects. It is the mean, because the system counts in
    /// milliseconds.
    cpu_ms: f64,
}

impl Row {
    fn formatted(&self) -> String {
        let Self { times, cpu_ms, .. } = self;
        format!("{:.2} / {:.2} ms, {cpu_ms:.2} ms of CPU", times.p50_ms, times.p99_ms)
    }
}

/// The cost of adding or removing a document, and of the next question.
#[derive(Serialize)]
struct Change {
    wall: Times,
    /// Mean over all documents, because the system counts in hundredths of a second.
    cpu_ms: f64,
    next_question: Times,
}

pub(crate) async fn measure(
    world: Arc<World>,
    arguments: &Arguments,
    build_seconds: f64,
) -> anyhow::Result<Report> {
    let started = Instant::now();
    let store = Arc::new(SqliteStore::open(&arguments.folder, WorkspaceId::default())?);
    let open_ms = since(started);
    let after_open = memory()?;
    let engine = engine(Arc::clone(&store), Arc::clone(&world));
    let asked: Vec<usize> =
        (0..arguments.questions).map(|number| Dice::new(&("question", number)).below(world.chunks)).collect();
    let mut first_question_ms = BTreeMap::new();
    let question = |mode, chunk: usize, filter| Question {
        text: world.question(chunk),
        mode,
        filter,
        ..Question::default()
    };
    for (mode, name) in MODES {
        let started = Instant::now();
        query::retrieve(&engine, &question(mode, asked[0], None)).await?;
        first_question_ms.insert(name, since(started));
    }
    let mut questions = Vec::new();
    let mut after_questions = None;
    for (condition, _) in FILTERS {
        let filter = condition.map(filter).transpose()?;
        for (mode, name) in MODES {
            let (all, mut taken, before) = (Instant::now(), Vec::new(), thread_cpu_ms()?);
            for &chunk in &asked {
                let question = question(mode, chunk, filter.clone());
                let started = Instant::now();
                query::retrieve(&engine, &question).await?;
                taken.push(since(started));
                if all.elapsed().as_secs_f64() > MAX_SECONDS {
                    break;
                }
            }
            let cpu_ms = (thread_cpu_ms()? - before) / taken.len() as f64;
            let (asked, times) = (taken.len(), times(taken));
            let row = Row { mode: name, filter: condition.unwrap_or(NO_FILTER), asked, times, cpu_ms };
            eprintln!("  {name}, filter {}: {}", row.filter, row.formatted());
            questions.push(row);
        }
        after_questions.get_or_insert(memory()?);
    }
    let nearest = nearest(&world, &*store, &asked).await?;
    let own = |chunk| world.text_of_own(chunk);
    let (add_document, remove_document) = change(&engine, &store, &world, arguments.add, own).await?;
    let (add_mentioning_hubs, remove_mentioning_hubs) =
        change(&engine, &store, &world, arguments.add, |chunk| world.text(chunk)).await?;
    let counts = engine.store.snapshot().await?.counts().await?;
    Ok(Report {
        chunks: world.chunks,
        entities: counts.entities,
        relations: counts.relations,
        relation_vectors: counts.relation_vectors,
        shuffled: world.shuffled,
        build_seconds,
        store_mb: megabytes(std::fs::metadata(arguments.folder.join("default.graphloom"))?.len()),
        projections_mb: megabytes(size_of(&arguments.folder.join("default.projections"))?),
        open_ms,
        first_question_ms,
        after_open,
        after_questions: after_questions.context("there are filters")?,
        nearest,
        questions,
        add_document,
        remove_document,
        add_mentioning_hubs,
        remove_mentioning_hubs,
    })
}

fn engine(store: Arc<SqliteStore>, world: Arc<World>) -> Engine {
    Engine::new(store, Models::offline(world), Arc::new(SystemClock))
}

fn filter(condition: &str) -> anyhow::Result<DocumentFilter> {
    Ok(DocumentFilter { meta: vec![condition.parse()?], ..DocumentFilter::default() })
}

/// Measures how many of the nearest chunks the store finds, compared with a scan of the original vectors.
async fn nearest(world: &World, store: &dyn Store, asked: &[usize]) -> anyhow::Result<Vec<Nearest>> {
    let snapshot = store.snapshot().await?;
    let asked = &asked[..asked.len().min(RECALL_QUESTIONS)];
    let wanted: Vec<Vec<f32>> =
        asked.iter().map(|&chunk| world.vector(world.topic(chunk), &world.question(chunk))).collect();
    // For each filter and question.
    let mut truth: Vec<Vec<Vec<(f32, u64)>>> = vec![vec![Vec::new(); wanted.len()]; FILTERS.len()];
    for chunk in 0..world.chunks / CHUNKS_A_DOCUMENT * CHUNKS_A_DOCUMENT {
        let text = world.text(chunk);
        let vector = world.vector(world.topic(chunk), &text);
        let id = hash(&text);
        for (place, wanted) in wanted.iter().enumerate() {
            let score: f32 = wanted.iter().zip(&vector).map(|(x, y)| x * y).sum();
            for (truth, (_, parts)) in truth.iter_mut().zip(FILTERS) {
                if chunk / CHUNKS_A_DOCUMENT % PARTS < parts {
                    truth[place].push((score, id));
                    if truth[place].len() >= 64 * RECALL_AT {
                        keep_best(&mut truth[place]);
                    }
                }
            }
        }
    }
    let mut rows = Vec::new();
    for (mut truth, (condition, _)) in truth.into_iter().zip(FILTERS) {
        let within = match condition {
            Some(condition) => FilteredIds::resolve(&*snapshot, &filter(condition)?, false).await?,
            None => None,
        };
        truth.iter_mut().for_each(keep_best);
        let (mut found, mut taken) = (0, Vec::new());
        for (wanted, nearest) in wanted.iter().zip(&truth) {
            let request = SearchRequest::by_vector(ItemKind::Chunk, wanted.clone(), RECALL_AT, -1.0);
            let request = [request.filtered(within.clone())];
            let started = Instant::now();
            let hits = snapshot.search(&request).await?.pop().unwrap_or_default();
            taken.push(since(started));
            let ids: Vec<_> = hits.into_iter().filter_map(|hit| hit.item.into_chunk()).collect();
            let chunks = snapshot.chunks(&ids).await?;
            let texts: BTreeSet<u64> = chunks.into_iter().flatten().map(|chunk| hash(&chunk.text)).collect();
            found += nearest.iter().filter(|(_, id)| texts.contains(id)).count();
        }
        let all: usize = truth.iter().map(Vec::len).sum();
        let recall_at_20 = found as f64 / all as f64;
        rows.push(Nearest { filter: condition.unwrap_or(NO_FILTER), recall_at_20, times: times(taken) });
    }
    Ok(rows)
}

fn hash(text: &str) -> u64 {
    Dice::new(&text).unit().to_bits()
}

fn keep_best(nearest: &mut Vec<(f32, u64)>) {
    nearest.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
    nearest.truncate(RECALL_AT);
}

/// Adds documents of one chunk one by one, and removes them.
async fn change(
    engine: &Engine,
    store: &SqliteStore,
    world: &World,
    number: usize,
    text: impl Fn(usize) -> String,
) -> anyhow::Result<(Change, Change)> {
    let (mut ids, mut walls, mut nexts) = (Vec::new(), Vec::new(), Vec::new());
    let mut cpu = 0.0;
    let ask = |chunk: usize| Question { text: world.question(chunk), ..Question::default() };
    for number in 0..number {
        // A chunk number beyond the corpus: a new text about an existing topic.
        let chunk = world.chunks + Dice::new(&("new", number)).below(world.chunks);
        let bytes = text(chunk).into_bytes();
        let source = Source { name: format!("new-{number}.txt"), bytes, format: None, meta: BTreeMap::new() };
        let (started, used) = (Instant::now(), cpu_ms()?);
        let accepted = index::accept(engine, vec![source]).await?;
        index::run(engine, &|_| {}, &|_| false).await?;
        store.catch_up()?;
        walls.push(since(started));
        cpu += cpu_ms()? - used;
        let started = Instant::now();
        query::retrieve(engine, &ask(chunk)).await?;
        nexts.push(since(started));
        ids.extend(accepted.into_iter().filter_map(|accepted| match accepted {
            Acceptance::Accepted { document, .. } => Some(document),
            Acceptance::Unchanged { .. } | Acceptance::Refused { .. } => None,
        }));
    }
    let added = Change { wall: times(walls), cpu_ms: cpu / number as f64, next_question: times(nexts) };
    let (mut walls, mut nexts, mut cpu) = (Vec::new(), Vec::new(), 0.0);
    let ids: Vec<DocumentId> = ids;
    for (number, id) in ids.into_iter().enumerate() {
        let (started, used) = (Instant::now(), cpu_ms()?);
        index::delete(engine, &[id]).await?;
        store.catch_up()?;
        walls.push(since(started));
        cpu += cpu_ms()? - used;
        let started = Instant::now();
        query::retrieve(engine, &ask(Dice::new(&("after", number)).below(world.chunks))).await?;
        nexts.push(since(started));
    }
    Ok((added, Change { wall: times(walls), cpu_ms: cpu / number as f64, next_question: times(nexts) }))
}

impl Report {
    /// Formats the report as a table for people.
    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        let mut line = |what: &str, value: String| {
            let _ = writeln!(text, "{what:<34} {value}");
        };
        let Self { chunks, entities, relations, relation_vectors, .. } = self;
        line(
            "chunks, entities, relations",
            format!("{chunks}, {entities}, {relations} ({relation_vectors} with vectors)"),
        );
        line("build", format!("{:.0} s", self.build_seconds));
        line("store, projections", format!("{:.0} MB, {:.0} MB", self.store_mb, self.projections_mb));
        line("open", format!("{:.1} ms", self.open_ms));
        for (mode, ms) in &self.first_question_ms {
            line(&format!("first question, {mode}"), format!("{ms:.0} ms"));
        }
        for (when, memory) in [("open", &self.after_open), ("questions", &self.after_questions)] {
            let Memory { rss_mb, peak_mb, anonymous_mb } = memory;
            line(
                &format!("memory after {when}"),
                format!("{rss_mb:.0} MB, of it {anonymous_mb:.0} not files; peak {peak_mb:.0} MB"),
            );
        }
        let pair = |times: &Times| format!("{:.2} / {:.2} ms", times.p50_ms, times.p99_ms);
        for Nearest { filter, recall_at_20, times } in &self.nearest {
            line(
                &format!("20 nearest, filter {filter}, p50 / p99"),
                format!("{}, recall {recall_at_20:.3}", pair(times)),
            );
        }
        for row in &self.questions {
            line(&format!("{}, filter {}, p50 / p99", row.mode, row.filter), row.formatted());
        }
        let changes = [
            ("add a document", &self.add_document),
            ("remove it", &self.remove_document),
            ("add one that mentions hubs", &self.add_mentioning_hubs),
            ("remove it", &self.remove_mentioning_hubs),
        ];
        for (what, change) in changes {
            let (wall, next) = (pair(&change.wall), pair(&change.next_question));
            line(what, format!("{wall}, {:.1} ms of CPU; next question {next}", change.cpu_ms));
        }
        text
    }
}

fn since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e3
}

fn times(mut taken: Vec<f64>) -> Times {
    taken.sort_by(f64::total_cmp);
    let at = |share: f64| taken.get((taken.len().saturating_sub(1) as f64 * share) as usize).copied();
    Times { p50_ms: at(0.5).unwrap_or_default(), p99_ms: at(0.99).unwrap_or_default() }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn size_of(folder: &Path) -> anyhow::Result<u64> {
    let mut size = 0;
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let meta = entry.metadata()?;
        size += if meta.is_dir() { size_of(&entry.path())? } else { meta.len() };
    }
    Ok(size)
}

fn memory() -> anyhow::Result<Memory> {
    let status = std::fs::read_to_string("/proc/self/status").context("reading this process's memory")?;
    let field = |name: &str| -> anyhow::Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).context("a field of memory")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0 / 1e6)
    };
    Ok(Memory { rss_mb: field("VmRSS:")?, peak_mb: field("VmHWM:")?, anonymous_mb: field("RssAnon:")? })
}

/// Returns the CPU time of this process so far.
fn cpu_ms() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("reading this process's CPU time")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<f64>().ok()).sum();
    Ok(ticks * 10.0)
}

/// Returns the CPU time of this thread so far.
fn thread_cpu_ms() -> anyhow::Result<f64> {
    let stat =
        std::fs::read_to_string("/proc/thread-self/schedstat").context("reading this thread's CPU time")?;
    let nanoseconds: f64 = stat.split_whitespace().next().context("a time")?.parse()?;
    Ok(nanoseconds / 1e6)
}
