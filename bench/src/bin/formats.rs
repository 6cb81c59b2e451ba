//! Reads every file of a folder and prints the outcome: the table of docs/reference/formats.md.
//!
//! `graphloom-bench-formats DIR [--json]`. If DIR has a folder `expected` with `FILE.md`, also prints the share of its words that
//! were found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use graphloom_readers::{ParseLimits, parse};
use serde::Serialize;

/// The outcome of one file.
#[derive(Serialize)]
struct Row {
    file: String,
    /// The format and the number of pages, slides or sheets, or why the file was refused.
    outcome: String,
    characters: usize,
    milliseconds: f64,
    /// Share of the expected words that the text contains.
    recall: Option<f64>,
    remarks: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let (folder, json) = arguments()?;
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .with_context(|| format!("reading {}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    // Panics of readers are part of the measurement and appear in the table.
    std::panic::set_hook(Box::new(|_| {}));
    let rows = files.iter().map(|file| measure(&folder, file)).collect::<anyhow::Result<Vec<Row>>>()?;
    if json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!("| File | Outcome | Characters | ms | Words found |");
    println!("|---|---|---:|---:|---:|");
    for Row { file, outcome, characters, milliseconds, recall, remarks } in rows {
        let remarks: String = remarks.iter().map(|remark| format!("; {remark}")).collect();
        let recall = recall.map(|recall| format!("{recall:.3}")).unwrap_or_default();
        println!("| {file} | {outcome}{remarks} | {characters} | {milliseconds:.1} | {recall} |");
    }
    Ok(())
}

fn arguments() -> anyhow::Result<(PathBuf, bool)> {
    const USAGE: &str = "usage: graphloom-bench-formats DIR [--json]";
    let (mut folder, mut json) = (None, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            other if folder.is_none() && !other.starts_with('-') => folder = Some(PathBuf::from(other)),
            other => bail!("unknown argument {other}; {USAGE}"),
        }
    }
    Ok((folder.context(USAGE)?, json))
}

fn measure(folder: &Path, path: &Path) -> anyhow::Result<Row> {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let started = Instant::now();
    let parsed = parse(&file, &bytes, None, &ParseLimits::default());
    let milliseconds = started.elapsed().as_secs_f64() * 1000.0;
    let expected = fs::read_to_string(folder.join("expected").join(format!("{file}.md"))).ok();
    Ok(match parsed {
        Err(error) => Row {
            file,
            outcome: format!("refused: {error}"),
            characters: 0,
            milliseconds,
            recall: None,
            remarks: vec![],
        },
        Ok(document) => {
            let last = document.parts.last().map(|mark| format!(", to {}", mark.part));
            Row {
                file,
                outcome: format!("{}{}", document.format.name(), last.unwrap_or_default()),
                characters: document.text.chars().count(),
                milliseconds,
                recall: expected.map(|expected| recall(&expected, &document.text)),
                remarks: document.remarks,
            }
        }
    })
}

/// Returns the share of the words of `expected` that `text` contains, counting repetitions.
fn recall(expected: &str, text: &str) -> f64 {
    let (expected, found) = (words(expected), words(text));
    let common: usize =
        expected.iter().map(|(word, count)| (*count).min(found.get(word).copied().unwrap_or(0))).sum();
    common as f64 / expected.values().sum::<usize>().max(1) as f64
}

fn words(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}
