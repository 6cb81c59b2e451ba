//! Counts questions that mode auto classifies as questions about the documents as a whole.
//!
//! ```text
//! graphloom-bench-intents QUESTIONS...
//! ```
//!
//! `QUESTIONS` are files of JSON lines with a field `question`. Prints one JSON object for each file: the number of questions, and
//! the questions that are classified this way.

use anyhow::{Context, Result};
use graphloom_offline::{Intent, intent};
use serde_json::{Value, json};

fn main() -> Result<()> {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        let mut questions = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let item: Value = serde_json::from_str(line).with_context(|| format!("reading {path}"))?;
            questions.push(item["question"].as_str().context("a field question")?.to_owned());
        }
        let taken: Vec<&String> =
            questions.iter().filter(|question| intent(question) == Intent::Overview).collect();
        println!("{}", json!({ "file": path, "questions": questions.len(), "about_everything": taken }));
    }
    Ok(())
}
