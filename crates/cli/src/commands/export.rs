//! `graphloom export`: exports the graph for other programs.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use graphloom_core::{FilteredIds, Snapshot};
use graphloom_engine::export::{ExportCounts, ExportFormat, ExportPart, export};
use graphloom_engine::query::QueryError;
use graphloom_migrate::graphrag;
use serde::Serialize;

use super::App;
use crate::args::{ExportArgs, ExportTo};
use crate::fault::{Exit, Fault};
use crate::output::Stdout;
use crate::output::render::count;
use crate::wire;

#[derive(Serialize)]
struct Summary {
    files: Vec<PathBuf>,
    #[serde(flatten)]
    exported: ExportCounts,
}

/// Writes the graph to standard output, a file, or a folder of tables.
pub(crate) async fn run(app: &App, args: &ExportArgs) -> anyhow::Result<Exit> {
    if let Some(ExportTo::Graphrag { folder, force }) = &args.to {
        return to_graphrag(app, folder, *force).await;
    }
    let format = ExportFormat::from(args.format);
    let parts: Vec<ExportPart> = match args.only.as_slice() {
        [] => format.parts().to_vec(),
        only => {
            ExportPart::ALL.into_iter().filter(|part| only.iter().any(|it| *part == (*it).into())).collect()
        }
    };
    if let Some(part) = parts.iter().find(|part| !format.parts().contains(part)) {
        return Err(Fault::usage(format!("this format cannot hold {}", part.name()))
            .help("write them with --format jsonl or csv")
            .into());
    }
    let tables = format == ExportFormat::Csv && parts.len() > 1;
    if args.output.is_none() && tables {
        return Err(Fault::usage("standard output can hold only one CSV table")
            .help("name a folder with --output, or one table with --only entities")
            .into());
    }
    if args.output.is_none() && app.output.json && format != ExportFormat::JsonLines {
        return Err(Fault::usage("with --json, the export needs a file")
            .help("name a file with --output, or remove --json")
            .into());
    }
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let allowed = allowed(app, args, snapshot).await?;
    let Some(output) = &args.output else {
        let mut out = BufWriter::new(Stdout);
        let exported = export(snapshot, allowed, format, &parts, &mut out).await?;
        out.flush()?;
        app.output.note(counts_line(&exported));
        return Ok(Exit::Done);
    };
    let targets: Vec<(PathBuf, Vec<ExportPart>)> = match tables {
        true => parts.iter().map(|part| (output.join(format!("{}.csv", part.name())), vec![*part])).collect(),
        false => vec![(output.clone(), parts)],
    };
    if let Some((taken, _)) = targets.iter().find(|(file, _)| file.exists() && !args.force) {
        let message = format!("{} exists", taken.display());
        return Err(Fault::failed(message).help("--force replaces it").into());
    }
    if tables {
        fs::create_dir_all(output).with_context(|| format!("creating folder {}", output.display()))?;
    }
    let mut summary = Summary { files: Vec::new(), exported: ExportCounts::default() };
    for (file, parts) in targets {
        let exported = write_file(snapshot, allowed.clone(), format, &parts, &file).await?;
        summary.exported.entities += exported.entities;
        summary.exported.relations += exported.relations;
        summary.exported.chunks += exported.chunks;
        summary.exported.claims += exported.claims;
        summary.files.push(file);
    }
    if app.output.json {
        app.output.json(&summary)?;
    } else {
        app.output.line(counts_line(&summary.exported))?;
    }
    Ok(Exit::Done)
}

/// Writes the tables of GraphRAG into a folder.
async fn to_graphrag(app: &App, folder: &Path, force: bool) -> anyhow::Result<Exit> {
    let taken = graphrag::TABLES.iter().map(|table| folder.join(format!("{table}.parquet")));
    if let Some(taken) = taken.filter(|file| file.exists()).find(|_| !force) {
        let message = format!("{} exists", taken.display());
        return Err(Fault::failed(message).help("--force replaces it").into());
    }
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let written = graphrag::write(snapshot.as_ref(), folder, &wire::now().to_date()).await?;
    if app.output.json {
        app.output.json(&written)?;
        return Ok(Exit::Done);
    }
    app.output.line(format_args!(
        "{}, {}, {}, {}, {}, {}, {}",
        count(written.documents, "document"),
        count(written.text_units, "text unit"),
        count(written.entities, "entity"),
        count(written.relationships, "relationship"),
        count(written.covariates, "claim"),
        count(written.communities, "community"),
        count(written.reports, "report"),
    ))?;
    match written.communities_current {
        Some(true) => {}
        Some(false) => {
            app.output.note("the communities are out of date; `graphloom derive communities` updates them")
        }
        None => app.output.note("no communities yet; `graphloom derive communities` finds them"),
    }
    Ok(Exit::Done)
}

/// Returns the documents that match the conditions, and fails if there are none: an empty file would look like an empty
/// graph.
async fn allowed(
    app: &App,
    args: &ExportArgs,
    snapshot: &dyn Snapshot,
) -> anyhow::Result<Option<Arc<FilteredIds>>> {
    let Some(filter) = args.filter.resolve(snapshot, &app.here).await? else { return Ok(None) };
    let allowed = FilteredIds::resolve(snapshot, &filter, true).await?;
    if allowed.as_ref().is_some_and(|allowed| allowed.is_empty()) {
        return Err(QueryError::NothingAllowed.into());
    }
    Ok(allowed)
}

/// Writes to a temporary file first, so that a failure leaves no partial file.
async fn write_file(
    snapshot: &dyn Snapshot,
    allowed: Option<Arc<FilteredIds>>,
    format: ExportFormat,
    parts: &[ExportPart],
    file: &Path,
) -> anyhow::Result<ExportCounts> {
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let writing = || format!("writing {}", file.display());
    let mut out = BufWriter::new(File::create(&partial).with_context(writing)?);
    let exported = match export(snapshot, allowed, format, parts, &mut out).await {
        Ok(exported) => exported,
        Err(error) => {
            drop(out);
            // The original error is reported; a leftover partial file does no harm.
            let _ = fs::remove_file(&partial);
            return Err(error.into());
        }
    };
    let written = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(writing)?;
    written.sync_all().with_context(writing)?;
    fs::rename(&partial, file).with_context(writing)?;
    Ok(exported)
}

fn counts_line(exported: &ExportCounts) -> String {
    format!(
        "{}, {}, {}, {}",
        count(exported.entities, "entity"),
        count(exported.relations, "relation"),
        count(exported.chunks, "chunk"),
        count(exported.claims, "claim")
    )
}
