//! `graphloom add`: files, folders and web pages in, graph out.

mod summary;

use graphloom::files::{self, Files, WalkEntry};
use graphloom_core::{Format, ModelError, TrackId};
use graphloom_engine::Engine;
use graphloom_engine::index::{self, Acceptance, Estimator, IndexError, Source, SourceText};
use graphloom_providers::web::{self, FetchConfig, FetchError};
use graphloom_readers::{ParseLimits, format_by_media_type};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::indexing::Session;
use super::watch::{self, Watch, Watching};
use super::{App, estimate, indexing};
use crate::args::AddArgs;
use crate::fault::{Exit, Fault};
use crate::interrupt::Interrupt;
use crate::output::progress::ProgressView;
use crate::{remedies, wire};
pub(super) use summary::Summary;

/// Bytes to read before committing; one larger file may exceed it.
const MAX_BYTES_IN_FLIGHT: usize = 16 * 1024 * 1024;

/// Maximum documents in one commit.
const MAX_DOCUMENTS_IN_FLIGHT: usize = 256;

/// Adds the documents and indexes them.
pub(crate) async fn run(app: &App, args: &AddArgs) -> anyhow::Result<Exit> {
    let from_stdin = args.paths.iter().filter(|path| is_stdin(path)).count();
    match (from_stdin, &args.name) {
        (0, Some(_)) => {
            return Err(Fault::usage("--name is for standard input, but - is not among the paths").into());
        }
        (1.., None) => {
            let fault = Fault::usage("standard input needs a source name");
            return Err(fault.help("set one, such as --name notes.md").into());
        }
        (2.., Some(_)) => return Err(Fault::usage("standard input can be read only once").into()),
        _ => {}
    }
    if args.estimate {
        return estimate(app, args).await;
    }
    if args.prune {
        on_disk(args, "--prune")?;
    }
    if !args.watch
        && !wire::exists(&app.config).await?
        && let Some(summary) = nothing_to_add(app, args)?
    {
        // Creates no workspace if there is nothing to add.
        summary.print(app)?;
        return Ok(summary.exit());
    }
    let Session { worker, view, indexing } =
        Session::begin(app, args.building.budget, wire::build_on(args.building.switch)).await?;
    let interrupt = Interrupt::listen()?;
    let track = args.track.clone().unwrap_or_else(|| wire::track_of("add", worker.as_ref()));
    indexing::print_track(app, &track)?;
    let mut watch = match args.watch {
        true => Some(Watch::begin(app, on_disk(args, "--watch")?).await?),
        false => None,
    };
    let mut sink = Sink::Store(&indexing.engine, &track);
    let mut summary = Summary::of(&track);
    accept_all(app, args, &mut sink, &interrupt, &view, &mut summary).await?;
    view.finish()?;
    if interrupt.is_requested() {
        summary.run.interrupted = true;
    } else if args.no_wait {
        summary.left_waiting = true;
    } else {
        match indexing::run(app, &indexing, &interrupt, &view).await {
            Ok(ran) => {
                watch.iter_mut().for_each(|watch| watch.note(&ran));
                summary.run = ran;
            }
            // The next run of the watch tries again.
            Err(error) if let Some(watch) = watch.as_mut().filter(|_| is_unavailable(&error)) => {
                watch.in_trouble(app, format!("{error:#}"))?;
            }
            Err(error) => {
                // Accepted documents are on disk and stay, whatever the error.
                summary.print(app)?;
                return Err(error);
            }
        }
    }
    let is_done = matches!(summary.exit(), Exit::Done | Exit::Partly);
    if is_done && !args.watch && !summary.has_unread_paths {
        leave(app, args, &indexing.engine, &mut summary).await?;
    }
    summary.print(app)?;
    summary.print_gone(app, &folders(app, args), args.prune && !args.watch)?;
    summary.run.print_end(app);
    if !args.watch && summary.run.has_finished() && !app.output.json {
        app.output.note(format_args!("Next: `graphloom ask \"YOUR QUESTION\"`"));
    }
    if summary.left_waiting {
        let paused = indexing.engine.store.snapshot().await?.queue().await?.is_paused();
        let next = if paused { indexing::PAUSED } else { "`graphloom work` indexes the queued documents" };
        app.output.note(next);
    }
    let exit = summary.exit();
    match (watch, exit) {
        (None, _) | (Some(_), Exit::Interrupted | Exit::OverBudget) => Ok(exit),
        (Some(watch), _) => {
            let (meta, prune) = (args.meta.as_slice(), args.prune);
            let watching = Watching { indexing: &indexing, track: &track, meta, prune };
            watch.run(app, &watching, &interrupt, &view).await
        }
    }
}

/// Returns the summary if the paths lead to no document at all, otherwise `None`.
fn nothing_to_add(app: &App, args: &AddArgs) -> anyhow::Result<Option<Summary>> {
    let files = || Files::new(&args.paths, &app.here, &app.config.data_dir, files::is_supported);
    if !args.paths.iter().all(|path| is_file(path))
        || files().any(|found| matches!(found, WalkEntry::File { .. }))
    {
        return Ok(None);
    }
    let mut summary = Summary::default();
    for found in files() {
        match found {
            WalkEntry::File { .. } => return Ok(None),
            WalkEntry::Skipped { source, reason } => summary.skip(app, source, reason)?,
            WalkEntry::Refused { source, reason } => summary.refuse(app, source, reason, None)?,
        }
    }
    Ok(Some(summary))
}

/// True if a model service could not be reached or was overloaded.
fn is_unavailable(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<ModelError>()).any(ModelError::is_transient)
}

/// Returns the given folders and files. Standard input and URLs are read only once.
///
/// - `option`: the option that needs a folder or file.
fn on_disk(args: &AddArgs, option: &str) -> anyhow::Result<Vec<PathBuf>> {
    let paths: Vec<PathBuf> = args.paths.iter().filter(|path| is_file(path)).cloned().collect();
    if paths.is_empty() {
        let fault = Fault::usage(format!("{option} needs a folder or file"));
        return Err(fault.help("name a folder; URLs and standard input are read only once").into());
    }
    Ok(paths)
}

/// Finds documents below the given folders whose file is gone, and removes them with `--prune`.
async fn leave(app: &App, args: &AddArgs, engine: &Engine, summary: &mut Summary) -> anyhow::Result<()> {
    let folders = folders(app, args);
    if folders.is_empty() {
        return Ok(());
    }
    let snapshot = engine.store.snapshot().await?;
    let walked = &summary.walked;
    let unread = watch::unread(app, snapshot.as_ref(), &folders, |source| walked.contains(source)).await?;
    (summary.gone, summary.left_out) = (unread.gone, unread.left_out);
    if args.prune && !summary.gone.is_empty() {
        let documents = snapshot.documents_of_sources(&summary.gone).await?;
        drop(snapshot);
        let ids: Vec<_> = documents.into_iter().flatten().map(|document| document.id).collect();
        index::delete(engine, &ids).await?;
        summary.pruned = true;
    }
    Ok(())
}

/// Returns the given folders.
fn folders(app: &App, args: &AddArgs) -> Vec<PathBuf> {
    let is_folder = |path: &&PathBuf| is_file(path) && app.here.folder.join(path).is_dir();
    args.paths.iter().filter(is_folder).cloned().collect()
}

/// Prints the estimated cost of adding. Sends nothing and stores nothing.
async fn estimate(app: &App, args: &AddArgs) -> anyhow::Result<Exit> {
    let engine = wire::estimating(app).await?;
    let interrupt = Interrupt::listen()?;
    let view = ProgressView::new(app.output.clone());
    let mut summary = Summary::of_estimate();
    let estimator = Estimator::start(&engine, wire::embeds_by_service(&engine)).await?;
    let mut sink = Sink::Estimate(Box::new(estimator));
    accept_all(app, args, &mut sink, &interrupt, &view, &mut summary).await?;
    if interrupt.is_requested() {
        return Ok(Exit::Interrupted);
    }
    view.finish()?;
    if let Sink::Estimate(estimator) = sink {
        estimate::print(app, estimator.finish())?;
    }
    if !app.output.json {
        summary.print_unread(app)?;
    }
    Ok(if summary.is_complete() { Exit::Done } else { Exit::Partly })
}

/// Where accepted sources go.
pub(super) enum Sink<'a> {
    /// Store them as documents.
    Store(&'a Engine, &'a TrackId),
    /// Only count them for an estimate.
    Estimate(Box<Estimator<'a>>),
}

impl Sink<'_> {
    async fn accept(&mut self, readings: Vec<SourceText>) -> Result<Vec<Acceptance>, IndexError> {
        match self {
            Self::Store(engine, track) => index::accept_read(engine, readings, Some(track)).await,
            Self::Estimate(estimator) => estimator.add(readings).await,
        }
    }

    /// Size limits for reading.
    fn limits(&self) -> ParseLimits {
        match self {
            Self::Store(engine, _) => engine.index.limits,
            Self::Estimate(estimator) => estimator.limits(),
        }
    }
}

/// Reads and accepts all sources in bounded batches, until done or interrupted.
async fn accept_all(
    app: &App,
    args: &AddArgs,
    sink: &mut Sink<'_>,
    interrupt: &Interrupt,
    view: &ProgressView,
    summary: &mut Summary,
) -> anyhow::Result<()> {
    let most = sink.limits().max_bytes;
    let mut batch = Batch::new(&args.meta);
    if let (true, Some(name)) = (args.paths.iter().any(|path| is_stdin(path)), &args.name) {
        match files::read_bounded(io::stdin().lock(), most) {
            Ok(bytes) => batch.push(name.clone(), bytes, None),
            Err(error) => summary.refuse(app, name.clone(), files::reason(&error), None)?,
        }
    }
    for address in args.paths.iter().filter_map(|path| web_address(path)) {
        if interrupt.is_requested() {
            return Ok(());
        }
        fetch(app, args, address, most, &mut batch, summary).await?;
        if batch.is_full() {
            batch.accept(app, sink, summary).await?;
        }
    }
    let paths: Vec<_> = args.paths.iter().filter(|path| is_file(path)).cloned().collect();
    let found = Files::new(&paths, &app.here, &app.config.data_dir, files::is_supported);
    let mut files_found = 0;
    for found in found {
        if interrupt.is_requested() {
            return Ok(());
        }
        match found {
            WalkEntry::File { source, path } => {
                files_found += 1;
                view.reading(files_found, &source);
                summary.walked.insert(source.clone());
                match files::read(&path, most) {
                    Ok(bytes) => batch.push(source, bytes, None),
                    Err(error) => summary.refuse(app, source, files::reason(&error), None)?,
                }
            }
            WalkEntry::Skipped { source, reason } => summary.skip(app, source, reason)?,
            WalkEntry::Refused { source, reason } => {
                summary.has_unread_paths = true;
                summary.refuse(app, source, reason, None)?;
            }
        }
        if batch.is_full() {
            batch.accept(app, sink, summary).await?;
        }
    }
    batch.accept(app, sink, summary).await
}

/// Fetches a document from the web. Its format comes from the server, otherwise from its name and content.
async fn fetch(
    app: &App,
    args: &AddArgs,
    address: &str,
    max_bytes: usize,
    batch: &mut Batch,
    summary: &mut Summary,
) -> anyhow::Result<()> {
    let allow_private = args.allow_private_addresses;
    let config = FetchConfig { max_bytes, allow_private, ..FetchConfig::default() };
    let fetched = async {
        let name = web::canonical_address(address)?;
        let fetched = web::fetch(&name, &config).await?;
        Ok::<_, FetchError>((name, fetched))
    };
    match fetched.await {
        Ok((name, fetched)) => {
            let format = fetched.media_type.as_deref().and_then(format_by_media_type);
            batch.push(name, fetched.bytes, format);
            Ok(())
        }
        Err(error) => {
            let remedy = remedies::of_fetch(&error).map(str::to_owned);
            summary.refuse(app, address.to_owned(), error.to_string(), remedy)
        }
    }
}

/// Whether a path is a file or folder on disk.
fn is_file(path: &Path) -> bool {
    !is_stdin(path) && web_address(path).is_none()
}

/// The URL if a path is one.
fn web_address(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| web::is_web_address(text))
}

/// Sources that are stored in one commit.
pub(super) struct Batch {
    meta: BTreeMap<String, String>,
    sources: Vec<Source>,
    bytes: usize,
}

impl Batch {
    /// - `meta`: metadata for all sources.
    pub(super) fn new(meta: &[(String, String)]) -> Self {
        Self { meta: meta.iter().cloned().collect(), sources: Vec::new(), bytes: 0 }
    }

    pub(super) fn push(&mut self, name: String, bytes: Vec<u8>, format: Option<Format>) {
        self.bytes += bytes.len();
        self.sources.push(Source { name, bytes, format, meta: self.meta.clone() });
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MAX_BYTES_IN_FLIGHT || self.sources.len() >= MAX_DOCUMENTS_IN_FLIGHT
    }

    pub(super) async fn accept(
        &mut self,
        app: &App,
        sink: &mut Sink<'_>,
        summary: &mut Summary,
    ) -> anyhow::Result<()> {
        let sources = std::mem::take(&mut self.sources);
        self.bytes = 0;
        if sources.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        let readings = app.readers.read_all(sources, sink.limits()).await;
        for (source, acceptance) in names.into_iter().zip(sink.accept(readings).await?) {
            summary.take(app, source, acceptance)?;
        }
        Ok(())
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
