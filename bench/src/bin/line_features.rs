//! Prints the features of lines, from which `bench/lines.py` trains trees.
//!
//! ```text
//! graphloom-bench-line-features [SCORER] < QUESTIONS
//! ```
//!
//! Standard input has a JSON object per line, with a `question` and its `passages`, best first, each with its `text`, `title` and
//! `headings`. Prints the names of the features as a JSON list, and then for each question a JSON list of its compared lines, each
//! with its `text`, including the lines that are quoted with it, and its features, `values`. `SCORER` is the folder of a model that
//! scores lines, as `graphloom model pull` makes it; without it, the scores are 0.

use std::io::{self, BufRead, BufWriter, Write};

use anyhow::{Context, Result};
use graphloom_offline::{LINE_FEATURES, Passage, line_features, scores};
use graphloom_providers::local::{LocalConfig, LocalScorer};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Question {
    question: String,
    passages: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    text: String,
    title: String,
    headings: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let scorer = match std::env::args().nth(1) {
        Some(folder) => Some(LocalScorer::open(LocalConfig::new("scorer", folder))?),
        None => None,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "{}", json!(LINE_FEATURES))?;
    for (at, line) in io::stdin().lock().lines().enumerate() {
        let asked: Question =
            serde_json::from_str(&line?).with_context(|| format!("reading line {}", at + 1))?;
        writeln!(out, "{}", described(&asked, scorer.as_ref()).await?)?;
    }
    Ok(out.flush()?)
}

/// Returns the compared lines of a question, each with its text and features.
async fn described(asked: &Question, scorer: Option<&LocalScorer>) -> Result<Value> {
    let passages: Vec<Passage<'_>> = asked
        .passages
        .iter()
        .map(|found| Passage { text: &found.text, title: &found.title, headings: &found.headings })
        .collect();
    let scores = match scorer {
        Some(scorer) => scores(scorer, &asked.question, &passages).await?,
        None => Vec::new(),
    };
    let lines = line_features(&asked.question, &passages, &scores);
    Ok(lines.into_iter().map(|line| json!({ "text": line.text, "values": line.values })).collect())
}
