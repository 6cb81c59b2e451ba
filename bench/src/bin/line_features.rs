//! Prints the features of lines, from which `bench/lines.py` trains trees.
//!
//! ```text
//! graphloom-bench-line-features [SCORER] < QUESTIONS
//! graphloom-bench-line-features --windows < QUESTIONS
//! ```
//!
//! Standard input has a JSON object per line, with a `question` and its `passages`, best first, each with its `text`, `title` and
//! `headings`. Prints the names of the features as a JSON list, and then for each question a JSON list of its compared lines, each
//! with its `text`, including the lines that are quoted with it, and its features, `values`. `SCORER` is the folder of a model that
//! scores lines, as `graphloom model pull` makes it; without it, the scores are 0. With `--windows`, prints for each question instead
//! the texts that such a model reads with it, each a JSON list of sentences, from which `bench/scorer.py` trains.

use std::io::{self, BufRead, BufWriter, Write};

use anyhow::{Context, Result};
use async_trait::async_trait;
use graphloom_core::{ModelError, SentenceScorer};
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

/// Scores nothing; for the windows that a scorer would read.
struct Reader;

#[async_trait]
impl SentenceScorer for Reader {
    fn name(&self) -> &str {
        "none"
    }

    fn is_multilingual(&self) -> bool {
        true
    }

    async fn score(&self, _: &str, windows: &[Vec<String>]) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(windows.iter().map(|window| vec![0.0; window.len()]).collect())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let argument = std::env::args().nth(1);
    let prints_windows = argument.as_deref() == Some("--windows");
    let scorer = match argument {
        Some(folder) if !prints_windows => Some(LocalScorer::open(LocalConfig::new("scorer", folder))?),
        _ => None,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    if !prints_windows {
        writeln!(out, "{}", json!(LINE_FEATURES))?;
    }
    for (at, line) in io::stdin().lock().lines().enumerate() {
        let asked: Question =
            serde_json::from_str(&line?).with_context(|| format!("reading line {}", at + 1))?;
        let described =
            if prints_windows { windows(&asked).await? } else { lines(&asked, scorer.as_ref()).await? };
        writeln!(out, "{described}")?;
    }
    Ok(out.flush()?)
}

impl Question {
    fn passages(&self) -> Vec<Passage<'_>> {
        self.passages
            .iter()
            .map(|found| Passage { text: &found.text, title: &found.title, headings: &found.headings })
            .collect()
    }
}

/// Returns the windows that a scorer reads for a question, each with its sentences.
async fn windows(asked: &Question) -> Result<Value> {
    let windows = scores(&Reader, &asked.question, &asked.passages()).await?;
    Ok(windows.into_iter().map(|(window, _)| json!(window.sentences)).collect())
}

/// Returns the compared lines of a question, each with its text and features.
async fn lines(asked: &Question, scorer: Option<&LocalScorer>) -> Result<Value> {
    let passages = asked.passages();
    let scores = match scorer {
        Some(scorer) => scores(scorer, &asked.question, &passages).await?,
        None => Vec::new(),
    };
    let lines = line_features(&asked.question, &passages, &scores);
    Ok(lines.into_iter().map(|line| json!({ "text": line.text, "values": line.values })).collect())
}
