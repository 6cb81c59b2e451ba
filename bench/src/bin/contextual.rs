//! Measures the effect of chunk contexts by title and headings, offline: recall of passages with and without them.
//!
//! `graphloom-bench-contextual --data DIR [--json]`, where DIR is a question set with `corpus.jsonl` and
//! `questions.jsonl`. Every passage becomes a document in three forms: its text with the title as file name only,
//! its title and text, and its title as a Markdown heading above the text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use graphloom::SystemClock;
use graphloom_core::WorkspaceId;
use graphloom_engine::chunk_context::ContextWriter;
use graphloom_engine::index::{self, Source};
use graphloom_engine::query::{self, Mode, Question};
use graphloom_engine::{Engine, Models};
use graphloom_providers::builtin::BuiltinEmbedder;
use graphloom_storage::sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

const USAGE: &str = "usage: graphloom-bench-contextual --data DIR [--json]";
/// Documents per commit.
const ACCEPT_BATCH: usize = 256;
/// Ranks at which to compute recall.
const RANKS: [usize; 3] = [5, 10, 20];
const MODES: [(Mode, &str); 3] =
    [(Mode::Naive, "naive"), (Mode::Contextual, "contextual"), (Mode::Auto, "auto")];
const FORMS: [Form; 3] = [Form::TextAlone, Form::TitleAndText, Form::Heading];

/// The form of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// Only the text; the title is the file name.
    TextAlone,
    /// The title as first line.
    TitleAndText,
    /// The title as a Markdown heading.
    Heading,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::TextAlone => "text alone",
            Self::TitleAndText => "title, text",
            Self::Heading => "# title, text",
        }
    }

    fn source(self, number: usize, Passage { title, text, .. }: &Passage) -> Source {
        let (name, content) = match self {
            Self::TextAlone => (format!("{number}/{}.txt", title.replace('/', " ")), text.clone()),
            Self::TitleAndText => (format!("{number}/{number}.txt"), format!("{title}\n{text}")),
            Self::Heading => (format!("{number}/{number}.md"), format!("# {title}\n\n{text}")),
        };
        Source { name, bytes: content.into_bytes(), format: None, meta: BTreeMap::new() }
    }
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
    gold: Vec<String>,
}

/// The result of one form, context and mode.
#[derive(Serialize)]
struct Row {
    form: Form,
    contextual: &'static str,
    mode: &'static str,
    /// Recall at each of the ranks.
    recall: [f64; 3],
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let (data, json) = arguments()?;
    let passages: Vec<Passage> = rows(&data.join("corpus.jsonl"))?;
    let questions: Vec<QuestionResult> = rows(&data.join("questions.jsonl"))?;
    let folder = std::env::temp_dir().join(format!("graphloom-contextual-{}", std::process::id()));
    let outcome = measure(&passages, &questions, &folder).await;
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let measured = outcome?;
    if json {
        println!("{}", serde_json::to_string_pretty(&measured)?);
        return Ok(());
    }
    println!("| document | contextual | mode | recall@5 | @10 | @20 |\n|---|---|---|---|---|---|");
    for Row { form, contextual, mode, recall: [at_5, at_10, at_20] } in measured {
        println!("| {} | {contextual} | {mode} | {at_5:.3} | {at_10:.3} | {at_20:.3} |", form.name());
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

async fn measure(
    passages: &[Passage],
    questions: &[QuestionResult],
    folder: &Path,
) -> anyhow::Result<Vec<Row>> {
    let mut measured = Vec::new();
    for (number, form) in FORMS.into_iter().enumerate() {
        let mut engine = empty(&folder.join(number.to_string()))?;
        let of_source = index_all(&engine, form, passages).await?;
        for (context_writer, contextual) in
            [(ContextWriter::Off, "off"), (ContextWriter::Headings, "headings")]
        {
            engine.models.context_writer = context_writer;
            let mut ids = Vec::new();
            for documents in engine
                .store
                .snapshot()
                .await?
                .documents_of_sources(&of_source.keys().cloned().collect::<Vec<_>>())
                .await?
            {
                ids.extend(documents.into_iter().map(|document| document.id));
            }
            index::contextualize(&engine, &ids, &|_| {}).await?;
            for (mode, name) in MODES {
                let recall = recall(&engine, mode, questions, &of_source).await?;
                measured.push(Row { form, contextual, mode: name, recall });
            }
        }
    }
    Ok(measured)
}

fn empty(folder: &Path) -> anyhow::Result<Engine> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(Engine::new(
        Arc::new(SqliteStore::open(folder, WorkspaceId::default())?),
        Models::offline(Arc::new(BuiltinEmbedder)),
        Arc::new(SystemClock),
    ))
}

/// Indexes every passage as a document; returns the passage of each source.
async fn index_all(
    engine: &Engine,
    form: Form,
    passages: &[Passage],
) -> anyhow::Result<BTreeMap<String, String>> {
    let sources: Vec<Source> =
        passages.iter().enumerate().map(|(number, passage)| form.source(number, passage)).collect();
    let of_source = sources.iter().map(|it| it.name.clone()).zip(passages.iter().map(|it| it.id.clone()));
    let of_source = of_source.collect();
    let mut sources = sources.into_iter().peekable();
    while sources.peek().is_some() {
        index::accept(engine, sources.by_ref().take(ACCEPT_BATCH).collect()).await?;
    }
    index::run(engine, &|_| {}, &|_| false).await?;
    Ok(of_source)
}

/// Returns the mean recall of the questions' gold passages at each rank.
async fn recall(
    engine: &Engine,
    mode: Mode,
    questions: &[QuestionResult],
    of_source: &BTreeMap<String, String>,
) -> anyhow::Result<[f64; 3]> {
    let mut sums = [0.0; 3];
    for QuestionResult { question, gold } in questions {
        let question = Question { text: question.clone(), mode, ..Question::default() };
        let found = query::retrieve(engine, &question).await?;
        let sources: BTreeMap<u32, &str> =
            found.references.iter().map(|reference| (reference.number, reference.source.as_str())).collect();
        let ranked: Vec<&str> = (found.chunks.iter())
            .filter_map(|chunk| of_source.get(*sources.get(&chunk.reference)?).map(String::as_str))
            .collect();
        for (sum, rank) in sums.iter_mut().zip(RANKS) {
            let shown: BTreeSet<&str> = ranked.iter().take(rank).copied().collect();
            let hits = gold.iter().filter(|id| shown.contains(id.as_str())).count();
            *sum += hits as f64 / gold.len().max(1) as f64;
        }
    }
    Ok(sums.map(|sum| sum / questions.len().max(1) as f64))
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
