//! `graphloom eval`: what questions with known answers find.

mod answers;
mod asked;
mod compare;
mod judging;
mod pairwise;
mod passages;
mod ragchecker;
mod retrieval;

use std::path::Path;

use anyhow::Context;
use graphloom_eval::set::MAX_FILE_BYTES;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::App;
use crate::args::EvalCommand;
use crate::fault::{Exit, Fault};
use crate::files;

/// Does what the command says.
pub(crate) async fn run(app: &App, command: &EvalCommand) -> anyhow::Result<Exit> {
    match command {
        EvalCommand::Retrieval(args) => retrieval::run(app, args).await,
        EvalCommand::Compare(args) => compare::run(app, args),
        EvalCommand::Answers(args) => answers::run(app, args).await,
        EvalCommand::Ragchecker(args) => ragchecker::run(app, args).await,
        EvalCommand::Pairwise(args) => pairwise::run(app, args).await,
    }
}

/// Writes a file in one step, so that a reader never sees half of it.
fn write_whole(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let writing = || format!("writing {}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(writing)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    std::fs::write(&part, content).with_context(writing)?;
    std::fs::rename(&part, path).with_context(writing)
}

/// Writes a value as JSON for people to read too.
fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let mut json = serde_json::to_vec_pretty(value)?;
    json.push(b'\n');
    write_whole(path, &json)
}

/// The journal beside a report: `run.json` has `run.json.rows.jsonl`.
fn journal_beside(path: &Path) -> std::path::PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".rows.jsonl");
    path.with_file_name(name)
}

/// A JSON file of a bounded size.
///
/// - `what`: what it should be, and `remedy` how to get one.
fn read_json<T: DeserializeOwned>(path: &Path, what: &str, remedy: &str) -> anyhow::Result<T> {
    let most = usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX);
    let bytes = files::read(path, most).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| not_a(path, what, &error.to_string(), remedy))
}

/// A file is something else than it should be.
fn not_a(path: &Path, what: &str, why: &str, remedy: &str) -> anyhow::Error {
    Fault::usage(format!("{} is no {what}: {why}", path.display())).help(remedy).into()
}

/// Rows of text in columns: the first to the left, the others to the right.
fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["".to_owned(), "naïve".to_owned()], vec!["recall".to_owned(), "1".to_owned()]];
        assert_eq!(columns(&rows), ["        naïve", "recall      1"]);
    }

    #[test]
    fn a_file_is_written_whole_into_a_folder_that_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/run.json");
        write_json(&path, &[1]).expect("written");
        write_json(&path, &[2]).expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "[\n  2\n]\n");
        assert_eq!(std::fs::read_dir(folder.path().join("deep")).expect("there").count(), 1);
    }
}
