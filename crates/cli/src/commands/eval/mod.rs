//! `graphloom eval`: evaluation on questions with known answers.

mod answers;
mod compare;
mod evaluation;
mod judging;
mod pairwise;
mod passages;
mod ragchecker;
mod retrieval;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use graphloom::files;
use graphloom_eval::set::MAX_FILE_BYTES;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::App;
use crate::args::EvalCommand;
use crate::fault::{Exit, Fault};

/// Runs the command.
pub(crate) async fn run(app: &App, command: &EvalCommand) -> anyhow::Result<Exit> {
    match command {
        EvalCommand::Retrieval(args) => retrieval::run(app, args).await,
        EvalCommand::Compare(args) => compare::run(app, args),
        EvalCommand::Answers(args) => answers::run(app, args).await,
        EvalCommand::Ragchecker(args) => ragchecker::run(app, args).await,
        EvalCommand::Pairwise(args) => pairwise::run(app, args).await,
    }
}

/// Writes a file atomically, so that a reader never sees half of it.
fn write_whole(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let writing = || format!("writing {}", path.display());
    let part = part_beside(path).with_context(writing)?;
    std::fs::write(&part, content).with_context(writing)?;
    std::fs::rename(&part, path).with_context(writing)
}

/// Returns the temporary file that is renamed to `path` when complete. Creates the folder if needed.
fn part_beside(path: &Path) -> std::io::Result<PathBuf> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    Ok(path.with_file_name(name))
}

/// Checks before a run that the output files can be written, so that the run is not wasted.
fn can_write(outputs: &[(&str, Option<&Path>)]) -> anyhow::Result<()> {
    let named: Vec<(&str, &Path)> =
        outputs.iter().filter_map(|(option, path)| Some((*option, (*path)?))).collect();
    for (at, (option, path)) in named.iter().enumerate() {
        if path.is_dir() || path.file_name().is_none() {
            let fault = Fault::usage(format!("{option} {} is a folder", path.display()));
            return Err(fault.help("name a file; it is created or overwritten").into());
        }
        if let Some((other, _)) = named[..at].iter().find(|(_, earlier)| earlier == path) {
            let fault = Fault::usage(format!("{other} and {option} both name {}", path.display()));
            return Err(fault.help("use two different files").into());
        }
        let tried = part_beside(path).and_then(|part| {
            std::fs::write(&part, "")?;
            std::fs::remove_file(&part)
        });
        tried.with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Writes a value as indented JSON.
fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let mut json = serde_json::to_vec_pretty(value)?;
    json.push(b'\n');
    write_whole(path, &json)
}

/// Returns the path of the journal beside a report: `run.json` has `run.json.rows.jsonl`.
fn journal_beside(path: &Path) -> std::path::PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".rows.jsonl");
    path.with_file_name(name)
}

/// Reads a JSON file of limited size.
///
/// - `what`: the expected kind of file.
/// - `remedy`: how to get such a file.
fn read_json<T: DeserializeOwned>(path: &Path, what: &str, remedy: &str) -> anyhow::Result<T> {
    serde_json::from_slice(&read_bytes(path)?).map_err(|error| not_a(path, what, &error.to_string(), remedy))
}

/// Reads a file of limited size.
fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let most = usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX);
    // A pipe is welcome, as in `--questions <(...)`.
    let content = File::open(path).and_then(|file| files::read_bounded(file, most));
    content.with_context(|| format!("reading {}", path.display()))
}

/// Returns the error for a file of the wrong kind.
fn not_a(path: &Path, what: &str, why: &str, remedy: &str) -> anyhow::Error {
    Fault::usage(format!("{} is not a {what}: {why}", path.display())).help(remedy).into()
}

/// Aligns rows of text in columns: the first column left, the others right.
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
    fn a_file_is_written_whole_and_its_folder_is_created() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/run.json");
        write_json(&path, &[1]).expect("written");
        write_json(&path, &[2]).expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "[\n  2\n]\n");
        assert_eq!(std::fs::read_dir(folder.path().join("deep")).expect("there").count(), 1);
    }

    #[test]
    fn unwritable_outputs_are_reported_first_and_existing_files_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, page) = (folder.path().join("run.json"), folder.path().join("new/run.html"));
        std::fs::write(&file, "before").expect("written");
        can_write(&[("--out", Some(&file)), ("--html", Some(&page)), ("--ragchecker", None)]).expect("both");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "before");
        assert_eq!(std::fs::read_dir(folder.path().join("new")).expect("there").count(), 0);
        let refused =
            |outputs: &[(&str, Option<&Path>)]| can_write(outputs).expect_err("refused").to_string();
        assert!(refused(&[("--html", Some(folder.path()))]).ends_with("is a folder"));
        assert!(refused(&[("--out", Some(Path::new("")))]).ends_with("is a folder"));
        assert!(
            refused(&[("--out", Some(&file)), ("--html", Some(&file))]).starts_with("--out and --html both")
        );
        assert!(refused(&[("--out", Some(&file.join("run.json")))]).starts_with("writing "));
    }
}
