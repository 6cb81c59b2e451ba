//! `graphloom graph import`: imports a graph as a document.

use anyhow::Context;
use graphloom::BuildWith;
use graphloom::files::source_name;
use graphloom_engine::index::{Acceptance, ReadyGraph, accept_graph};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use crate::commands::App;
use crate::commands::indexing::{self, RunOutcome, Session};
use crate::fault::{Exit, Fault};
use crate::interrupt::Interrupt;
use crate::output::render::{count, name};

/// Maximum file size.
const MAX_BYTES: u64 = 256 << 20;

#[derive(Serialize)]
struct Summary {
    event: &'static str,
    source: String,
    #[serde(flatten)]
    acceptance: Acceptance,
    /// Number of entities and relations that name no chunk; their descriptions became chunks.
    without_chunk: usize,
    run: RunOutcome,
}

/// Imports the graph and indexes it.
pub(super) async fn run(
    app: &App,
    file: &Path,
    name: Option<&str>,
    meta: &[(String, String)],
) -> anyhow::Result<Exit> {
    let is_stdin = file.as_os_str() == "-";
    let name = match (name, is_stdin) {
        (Some(name), _) => name.to_owned(),
        (None, false) => source_name(file, &app.here)?,
        (None, true) => {
            let fault = Fault::usage("standard input needs a source name");
            return Err(fault.help("set one, such as --name people.json").into());
        }
    };
    let bytes = read(file, is_stdin)?;
    let graph = ReadyGraph::read(&bytes)?;
    drop(bytes);
    let without_chunk = graph.unplaced();
    let Session { worker: _worker, view, indexing } = Session::begin(app, None, BuildWith::Once).await?;
    let interrupt = Interrupt::listen()?;
    let meta: BTreeMap<String, String> = meta.iter().cloned().collect();
    let acceptance = accept_graph(&indexing.engine, &name, graph, meta).await?;
    let run = indexing::run(app, &indexing, &interrupt, &view).await?;
    let summary = Summary { event: "summary", source: name, acceptance, without_chunk, run };
    if app.output.json {
        app.output.json(&summary)?;
    } else {
        print(app, &summary)?;
    }
    summary.run.print_end(app);
    let incomplete = summary.run.report.as_ref().is_some_and(|report| report.incomplete > 0);
    Ok(match summary.run.exit() {
        Exit::Done if incomplete => Exit::Partly,
        exit => exit,
    })
}

fn read(file: &Path, is_stdin: bool) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let reading = || format!("reading {}", file.display());
    if is_stdin {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).with_context(reading)?;
    } else {
        let opened = std::fs::File::open(file).with_context(reading)?;
        opened.take(MAX_BYTES + 1).read_to_end(&mut bytes).with_context(reading)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("{} has more than {} MiB", file.display(), MAX_BYTES >> 20);
        return Err(Fault::failed(message)
            .help("split it into several files and import each under its own name")
            .into());
    }
    Ok(bytes)
}

fn print(app: &App, summary: &Summary) -> anyhow::Result<()> {
    let source = name(&summary.source);
    match &summary.acceptance {
        Acceptance::Accepted { replaces: Some(_), .. } => {
            app.output.line(format_args!("{source} replaced"))?;
        }
        Acceptance::Accepted { replaces: None, .. } => app.output.line(format_args!("{source} imported"))?,
        Acceptance::Unchanged { .. } => app.output.line(format_args!("{source} unchanged"))?,
        Acceptance::Refused { reason, .. } => app.output.line(format_args!("{source} refused: {reason}"))?,
    }
    if summary.without_chunk > 0 {
        app.output.line(format_args!(
            "{} without a chunk for its source_id; the description became a chunk",
            count(summary.without_chunk as u64, "record")
        ))?;
    }
    summary.run.print(app, "retry")
}
