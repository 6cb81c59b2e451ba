//! Measures the offline defaults: how many names the phrases cover, what the embedder finds, the cost of both and of an answer,
//! and how often a chunk would be asked about again because an LLM's answer left out names.
//!
//! `graphloom-bench-offline --data DIR [--json]`, where DIR has one folder per question set with `corpus.jsonl`,
//! `questions.jsonl` and, for phrase coverage, `openie.jsonl`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use graphloom_core::{EntityRecord, Purpose, Records};
use graphloom_engine::extract::{self, Coverage};

use graphloom_providers::builtin::BuiltinEmbedder;
use serde::{Deserialize, Serialize};

/// Maximum phrases of a passage that count towards coverage.
const MAX_PHRASES: usize = 20;
/// Passages from which a question is answered, as many as in `ask`.
const PASSAGES: usize = 20;

fn main() -> anyhow::Result<()> {
    let (data, json) = arguments()?;
    let mut folders: Vec<PathBuf> = fs::read_dir(&data)
        .with_context(|| format!("reading {}", data.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|folder| folder.join("corpus.jsonl").is_file())
        .collect();
    folders.sort();
    if folders.is_empty() {
        bail!("{} holds no question set", data.display());
    }
    let results = folders.iter().map(|folder| measure(folder)).collect::<anyhow::Result<Vec<SetResult>>>()?;
    if json {
        println!("{}", serde_json::to_string_pretty(&results)?);
    } else {
        print_table(&results);
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
            other => bail!("unknown argument {other}; usage: graphloom-bench-offline --data DIR [--json]"),
        }
    }
    Ok((data.context("usage: graphloom-bench-offline --data DIR [--json]")?, json))
}

#[derive(Deserialize)]
struct Passage {
    id: String,
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct QuestionRow {
    question: String,
    gold: Vec<String>,
}

#[derive(Deserialize)]
struct NamedRow {
    id: String,
    entities: Option<Vec<Option<String>>>,
    #[serde(default)]
    triples: Vec<serde_json::Value>,
}

/// The result of one set.
#[derive(Serialize)]
struct SetResult {
    set: String,
    passages: usize,
    /// Share of the listed entities among the best phrases; `None` without a list.
    phrase_coverage: Option<f64>,
    /// Share of the listed answers that would be asked about again: unchanged, without every fourth name, without
    /// every second name, and without any; `None` without a list.
    asked_again: Option<[f64; 4]>,
    /// Recall at 2, 5 and 10; `None` without questions.
    recall: Option<[f64; 3]>,
    phrases_ms: f64,
    extract_ms: f64,
    embed_ms: f64,
    /// CPU milliseconds of an answer by rules from the nearest passages; `None` without questions.
    answer_ms: Option<f64>,
}

fn measure(folder: &Path) -> anyhow::Result<SetResult> {
    let passages: Vec<Passage> = rows(&folder.join("corpus.jsonl"))?;
    let texts: Vec<String> =
        passages.iter().map(|passage| format!("{}\n{}", passage.title, passage.text)).collect();
    // Models load on first use, which must not count as the cost of a passage.
    graphloom_offline::extract("Warm up.");
    BuiltinEmbedder.vector(Purpose::Document, "warm up");
    let (phrases, phrases_ms) = timed(&texts, |text| {
        graphloom_offline::phrases(text)
            .into_iter()
            .take(MAX_PHRASES)
            .map(|phrase| phrase.text.to_lowercase())
            .collect()
    });
    let (_, extract_ms) = timed(&texts, |text| graphloom_offline::extract(text).entities.len());
    let (vectors, embed_ms) = timed(&texts, |text| BuiltinEmbedder.vector(Purpose::Document, text));
    let ids: BTreeMap<&str, usize> =
        passages.iter().enumerate().map(|(i, passage)| (passage.id.as_str(), i)).collect();
    let questions = folder.join("questions.jsonl");
    let questions: Vec<QuestionRow> = if questions.is_file() { rows(&questions)? } else { Vec::new() };
    let ranked: Vec<Vec<usize>> = questions.iter().map(|row| nearest(&row.question, &vectors)).collect();
    Ok(SetResult {
        set: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        passages: passages.len(),
        phrase_coverage: coverage(&folder.join("openie.jsonl"), &ids, &phrases)?,
        asked_again: asked_again(&folder.join("openie.jsonl"), &ids, &texts)?,
        recall: recall(&questions, &ranked, &ids),
        phrases_ms,
        extract_ms,
        embed_ms,
        answer_ms: answer_ms(&questions, &ranked, &passages),
    })
}

/// Returns the results of `work` over all items, and CPU milliseconds per item.
fn timed<I, T>(items: &[I], work: impl Fn(&I) -> T) -> (Vec<T>, f64) {
    let (wall, cpu) = (Instant::now(), thread_cpu_ns());
    let results = items.iter().map(work).collect();
    let spent = match (cpu, thread_cpu_ns()) {
        (Some(before), Some(after)) => (after - before) as f64 / 1e6,
        _ => wall.elapsed().as_secs_f64() * 1e3,
    };
    (results, spent / items.len().max(1) as f64)
}

/// Returns the CPU time of this thread, if the system provides it; otherwise wall time is used.
fn thread_cpu_ns() -> Option<u64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

fn coverage(
    list: &Path,
    ids: &BTreeMap<&str, usize>,
    phrases: &[Vec<String>],
) -> anyhow::Result<Option<f64>> {
    if !list.is_file() {
        return Ok(None);
    }
    let (mut covered, mut all) = (0, 0);
    for row in rows::<NamedRow>(list)? {
        let found = phrases_of(&row.id, ids, phrases)?;
        for entity in row.entities.into_iter().flatten().flatten() {
            all += 1;
            covered += usize::from(found.contains(&entity.to_lowercase()));
        }
    }
    Ok((all > 0).then(|| covered as f64 / all as f64))
}

/// Returns the share of the listed answers that would be asked about again, with all names and with some removed.
fn asked_again(
    list: &Path,
    ids: &BTreeMap<&str, usize>,
    texts: &[String],
) -> anyhow::Result<Option<[f64; 4]>> {
    if !list.is_file() {
        return Ok(None);
    }
    let (mut asked, mut all) = ([0_usize; 4], 0);
    for row in rows::<NamedRow>(list)? {
        let text = ids.get(row.id.as_str()).and_then(|&i| texts.get(i));
        let text = text.with_context(|| format!("no passage {}", row.id))?;
        let mut names: Vec<String> = row.entities.into_iter().flatten().flatten().collect();
        for triple in row.triples.iter().filter_map(serde_json::Value::as_array) {
            for end in [triple.first(), triple.get(2)].into_iter().flatten().filter_map(|end| end.as_str()) {
                if !names.iter().any(|name| name == end) {
                    names.push(end.to_owned());
                }
            }
        }
        all += 1;
        for (asked, every) in asked.iter_mut().zip([usize::MAX, 4, 2, 1]) {
            let kept = names.iter().enumerate().filter(|(i, _)| (i + 1) % every != 0);
            let entities = kept.map(|(_, name)| EntityRecord {
                name: name.clone(),
                kind: String::new(),
                description: String::new(),
            });
            let records = Records { entities: entities.collect(), ..Records::default() };
            *asked += usize::from(matches!(extract::coverage(text, &[&records]), Coverage::Missed(_)));
        }
    }
    Ok((all > 0).then(|| asked.map(|asked| asked as f64 / all as f64)))
}

fn phrases_of<'a>(
    id: &str,
    ids: &BTreeMap<&str, usize>,
    phrases: &'a [Vec<String>],
) -> anyhow::Result<&'a Vec<String>> {
    ids.get(id).and_then(|&i| phrases.get(i)).with_context(|| format!("no passage {id}"))
}

/// Returns the passages, those with the vectors most similar to the question's first.
fn nearest(question: &str, vectors: &[Vec<f32>]) -> Vec<usize> {
    let query = BuiltinEmbedder.vector(Purpose::Query, question);
    let mut ranked: Vec<(f32, usize)> =
        vectors.iter().enumerate().map(|(i, vector)| (dot(vector, &query), i)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().map(|(_, i)| i).collect()
}

fn recall(questions: &[QuestionRow], ranked: &[Vec<usize>], ids: &BTreeMap<&str, usize>) -> Option<[f64; 3]> {
    let mut sums = [0.0; 3];
    for (row, ranked) in questions.iter().zip(ranked) {
        let gold: Vec<usize> = row.gold.iter().filter_map(|id| ids.get(id.as_str()).copied()).collect();
        for (sum, k) in sums.iter_mut().zip([2, 5, 10]) {
            let hits = ranked.iter().take(k).filter(|i| gold.contains(i)).count();
            *sum += hits as f64 / row.gold.len().max(1) as f64;
        }
    }
    (!questions.is_empty()).then(|| sums.map(|sum| sum / questions.len() as f64))
}

fn answer_ms(questions: &[QuestionRow], ranked: &[Vec<usize>], passages: &[Passage]) -> Option<f64> {
    let answerable: Vec<(&str, Vec<graphloom_offline::Passage<'_>>)> = questions
        .iter()
        .zip(ranked)
        .map(|(row, ranked)| {
            let found = ranked.iter().take(PASSAGES).map(|&i| graphloom_offline::Passage {
                text: &passages[i].text,
                title: &passages[i].title,
                headings: &[],
            });
            (row.question.as_str(), found.collect())
        })
        .collect();
    // Word lists load on first use.
    graphloom_offline::reply("Who warms up?", &[]);
    let (_, ms) = timed(&answerable, |(question, passages)| graphloom_offline::reply(question, passages));
    (!questions.is_empty()).then_some(ms)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
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

fn print_table(results: &[SetResult]) {
    println!(
        "{:<20} {:>8} {:>8} {:>23} {:>6} {:>6} {:>6} {:>11} {:>11} {:>9} {:>10}",
        "set",
        "passages",
        "coverage",
        "asked again -0 4 2 1",
        "R@2",
        "R@5",
        "R@10",
        "phrases ms",
        "extract ms",
        "embed ms",
        "answer ms"
    );
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    for result in results {
        println!(
            "{:<20} {:>8} {:>8} {:>5} {:>5} {:>5} {:>5} {:>6} {:>6} {:>6} {:>11.3} {:>11.3} {:>9.3} {:>10}",
            result.set,
            result.passages,
            share(result.phrase_coverage),
            share(result.asked_again.map(|asked| asked[0])),
            share(result.asked_again.map(|asked| asked[1])),
            share(result.asked_again.map(|asked| asked[2])),
            share(result.asked_again.map(|asked| asked[3])),
            share(result.recall.map(|recall| recall[0])),
            share(result.recall.map(|recall| recall[1])),
            share(result.recall.map(|recall| recall[2])),
            result.phrases_ms,
            result.extract_ms,
            result.embed_ms,
            share(result.answer_ms),
        );
    }
}
