//! Measures the cost and benefit of filters: retrieval in one workspace with filters that allow more and more documents.
//!
//! `graphloom-bench-filtered --data DIR [--json]`, where DIR holds `corpus.jsonl` and `questions.jsonl`. The
//! corpus is indexed offline into a temporary folder; a metadata key divides the passages into 100 equal parts.
//! Only file system caches are warm: the filter is resolved for every question.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use graphloom::SystemClock;
use graphloom_core::{DocumentFilter, WorkspaceId};
use graphloom_engine::index::{self, Source};
use graphloom_engine::query::{self, Mode, Question};
use graphloom_engine::{Engine, Models};
use graphloom_providers::builtin::BuiltinEmbedder;
use graphloom_storage::sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

/// Sources per commit.
const ACCEPT_BATCH: usize = 64;
/// Number of times each question is asked; the first is not counted.
const PASSES: usize = 4;
/// Conditions that admit increasing shares of the parts; `None` is no filter.
const FILTERS: [Option<&str>; 6] =
    [None, Some("part=0"), Some("part<10"), Some("part<50"), Some("part<99"), Some("part")];
const MODES: [(Mode, &str); 4] =
    [(Mode::Naive, "naive"), (Mode::Mix, "mix"), (Mode::Ppr, "ppr"), (Mode::Auto, "auto")];
const USAGE: &str = "usage: graphloom-bench-filtered --data DIR [--json]";

fn main() -> anyhow::Result<()> {
    let (data, json) = arguments()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let folder = std::env::temp_dir().join(format!("graphloom-bench-filtered-{}", std::process::id()));
    let rows = runtime.block_on(measure(&data, &folder));
    fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    let rows = rows?;
    if json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        println!("{:<10} {:>9} {:>6} {:>8} {:>8}", "filter", "documents", "mode", "p50 ms", "p99 ms");
        for row in &rows {
            let Row { filter, documents, mode, p50_ms, p99_ms } = row;
            println!("{filter:<10} {documents:>9} {mode:>6} {p50_ms:>8.2} {p99_ms:>8.2}");
        }
    }
    Ok(())
}

fn arguments() -> anyhow::Result<(PathBuf, bool)> {
    let (mut data, mut json) = (None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--data" => data = arguments.next().map(PathBuf::from),
            "--json" => json = true,
            other => bail!("unknown argument {other}; {USAGE}"),
        }
    }
    Ok((data.context(USAGE)?, json))
}

#[derive(Deserialize)]
struct Passage {
    id: String,
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct QuestionResult {
    question: String,
}

/// The durations of one filter and mode.
#[derive(Serialize)]
struct Row {
    filter: &'static str,
    documents: usize,
    mode: &'static str,
    p50_ms: f64,
    p99_ms: f64,
}

async fn measure(data: &Path, folder: &Path) -> anyhow::Result<Vec<Row>> {
    let engine = indexed(rows(&data.join("corpus.jsonl"))?, folder).await?;
    let questions: Vec<QuestionResult> = rows(&data.join("questions.jsonl"))?;
    let mut measured = Vec::new();
    for (mode, name) in MODES {
        for condition in FILTERS {
            let meta = condition.map(str::parse).transpose()?.into_iter().collect();
            let filter = DocumentFilter { meta, ..DocumentFilter::default() };
            let documents = filter.select(engine.store.snapshot().await?.as_ref()).await?.len();
            let filter = condition.map(|_| filter);
            let mut taken = Vec::new();
            for pass in 0..PASSES {
                for QuestionResult { question } in &questions {
                    let question = Question {
                        text: question.clone(),
                        mode,
                        filter: filter.clone(),
                        ..Question::default()
                    };
                    let started = Instant::now();
                    query::retrieve(&engine, &question).await?;
                    if pass > 0 {
                        taken.push(started.elapsed().as_secs_f64() * 1e3);
                    }
                }
            }
            taken.sort_by(f64::total_cmp);
            let at = |share: f64| taken[((taken.len() - 1) as f64 * share) as usize];
            let (p50_ms, p99_ms) = (at(0.5), at(0.99));
            measured.push(Row { filter: condition.unwrap_or("none"), documents, mode: name, p50_ms, p99_ms });
        }
    }
    Ok(measured)
}

async fn indexed(passages: Vec<Passage>, folder: &Path) -> anyhow::Result<Engine> {
    let engine = Engine::new(
        Arc::new(SqliteStore::open(folder, WorkspaceId::default())?),
        Models::offline(Arc::new(BuiltinEmbedder)),
        Arc::new(SystemClock),
    );
    let sources = passages.into_iter().enumerate().map(|(number, passage)| Source {
        name: format!("{}.txt", passage.id),
        bytes: format!("{}\n{}", passage.title, passage.text).into_bytes(),
        format: None,
        meta: BTreeMap::from([("part".to_owned(), (number % 100).to_string())]),
    });
    let mut sources = sources.peekable();
    while sources.peek().is_some() {
        index::accept(&engine, sources.by_ref().take(ACCEPT_BATCH).collect()).await?;
    }
    index::run(&engine, &|_| {}, &|_| false).await?;
    Ok(engine)
}

fn rows<T: for<'a> Deserialize<'a>>(file: &Path) -> anyhow::Result<Vec<T>> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(i, line)| {
            serde_json::from_str(line).with_context(|| format!("line {} of {}", i + 1, file.display()))
        })
        .collect()
}
