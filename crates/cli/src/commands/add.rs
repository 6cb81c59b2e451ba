//! `graphloom add`: files, folders and web pages in, graph out.

use graphloom::files::{self, Files, WalkEntry};
use graphloom_core::{DocumentStatus, Format, ModelError, TrackId};
use graphloom_engine::Engine;
use graphloom_engine::index::{self, Acceptance, Estimator, IndexError, Source, SourceText};
use graphloom_providers::web::{self, FetchConfig, FetchError};
use graphloom_readers::{ParseLimits, format_by_media_type};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::indexing::{RunOutcome, Session};
use super::watch::{self, Watch, Watching};
use super::{App, estimate, indexing};
use crate::args::AddArgs;
use crate::fault::{Exit, Fault};
use crate::interrupt::Interrupt;
use crate::output::progress::ProgressView;
use crate::output::render::{as_new_versions, count, one_line, plain};
use crate::{remedies, wire};

/// Bytes to read before committing; one larger file may exceed it.
const MAX_BYTES_IN_FLIGHT: usize = 16 * 1024 * 1024;

/// Maximum documents in one commit.
const MAX_DOCUMENTS_IN_FLIGHT: usize = 256;

/// Maximum lines printed per kind of remark; `--json` prints all.
const MOST_PRINTED: usize = 20;

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
    print_gone(app, args, &summary)?;
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
    let folders: Vec<PathBuf> = folders(app, args).cloned().collect();
    if folders.is_empty() {
        return Ok(());
    }
    let snapshot = engine.store.snapshot().await?;
    summary.gone = watch::missing(app, snapshot.as_ref(), &folders).await?;
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
fn folders<'a>(app: &App, args: &'a AddArgs) -> impl Iterator<Item = &'a PathBuf> {
    let here = app.here.folder.clone();
    args.paths.iter().filter(move |path| is_file(path) && here.join(path).is_dir())
}

/// Prints the estimated cost of adding. Sends nothing and stores nothing.
async fn estimate(app: &App, args: &AddArgs) -> anyhow::Result<Exit> {
    let engine = wire::estimating(app).await?;
    let interrupt = Interrupt::listen()?;
    let view = ProgressView::new(app.output.clone());
    let mut summary = Summary { estimates: true, ..Summary::default() };
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
        print_remarks(app, "refused", summary.refused.iter())?;
        print_skipped(app, &summary.skipped)?;
    }
    Ok(if summary.refused.is_empty() { Exit::Done } else { Exit::Partly })
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

/// The outcome of an add.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    /// The name of the run.
    track: Option<TrackId>,
    accepted: u64,
    replaced: u64,
    unchanged: u64,
    /// Already known documents that stopped or have failed chunks.
    unchanged_with_failures: Vec<String>,
    /// Already known documents that were cancelled.
    unchanged_cancelled: Vec<String>,
    /// Whether a later command has to index the documents.
    left_waiting: bool,
    refused: Vec<Remark>,
    skipped: Vec<Remark>,
    same_content: Vec<Remark>,
    other_encodings: Vec<Remark>,
    partly_read: Vec<Remark>,
    /// Documents below the given folders whose file is gone.
    gone: Vec<String>,
    /// Whether these were removed.
    pruned: bool,
    /// Whether a path does not exist or a part of a folder could not be read. Its files would look deleted.
    #[serde(skip)]
    has_unread_paths: bool,
    pub(super) run: RunOutcome,
    /// Whether this is an estimate; single sources are not reported then.
    #[serde(skip)]
    estimates: bool,
}

/// A source and a remark about it.
#[derive(Debug, Serialize)]
struct Remark {
    source: String,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// A line of `--json` output: the outcome of one source.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Source {
        source: &'a str,
        #[serde(flatten)]
        acceptance: &'a Acceptance,
    },
    Skipped {
        source: &'a str,
        reason: &'a str,
    },
    Summary(&'a Summary),
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

impl Summary {
    /// An empty summary for the run with this name.
    pub(super) fn of(track: &TrackId) -> Self {
        Self { track: Some(track.clone()), ..Self::default() }
    }

    /// Records that a source could not be read.
    pub(super) fn refuse(
        &mut self,
        app: &App,
        source: String,
        reason: String,
        remedy: Option<String>,
    ) -> anyhow::Result<()> {
        self.take(app, source, Acceptance::Refused { reason, remedy })
    }

    /// Records that an entry of a folder is not a document.
    fn skip(&mut self, app: &App, source: String, reason: String) -> anyhow::Result<()> {
        if app.output.json && !self.estimates {
            app.output.json(&Line::Skipped { source: &source, reason: &reason })?;
        }
        self.skipped.push(Remark { source, what: reason, remedy: None });
        Ok(())
    }

    fn take(&mut self, app: &App, source: String, acceptance: Acceptance) -> anyhow::Result<()> {
        if app.output.json && !self.estimates {
            app.output.json(&Line::Source { source: &source, acceptance: &acceptance })?;
        }
        match acceptance {
            Acceptance::Accepted { encoding, same_content_as, remarks, replaces, document: _ } => {
                let partly =
                    remarks.into_iter().map(|what| Remark { source: source.clone(), what, remedy: None });
                self.partly_read.extend(partly);
                self.accepted += 1;
                self.replaced += u64::from(replaces.is_some());
                if !matches!(encoding.as_str(), "UTF-8" | "UTF-8 with BOM") {
                    self.other_encodings.push(Remark {
                        source: source.clone(),
                        what: encoding,
                        remedy: None,
                    });
                }
                if let Some(first) = same_content_as.first() {
                    let more = same_content_as.len() - 1;
                    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
                    self.same_content.push(Remark { source, what: format!("{first}{others}"), remedy: None });
                }
            }
            Acceptance::Unchanged { status, document: _ } => {
                self.unchanged += 1;
                match status {
                    DocumentStatus::Incomplete { .. } | DocumentStatus::Failed { .. } => {
                        self.unchanged_with_failures.push(source);
                    }
                    DocumentStatus::Cancelled { .. } => self.unchanged_cancelled.push(source),
                    DocumentStatus::Waiting
                    | DocumentStatus::Indexing { .. }
                    | DocumentStatus::Ready { .. } => {}
                }
            }
            Acceptance::Refused { reason, remedy } => {
                self.refused.push(Remark { source, what: reason, remedy })
            }
        }
        Ok(())
    }

    pub(super) fn exit(&self) -> Exit {
        match self.run.exit() {
            Exit::Done if !self.refused.is_empty() => Exit::Partly,
            exit => exit,
        }
    }

    pub(super) fn print(&self, app: &App) -> anyhow::Result<()> {
        if app.output.json {
            app.output.json(&Line::Summary(self))?;
            return Ok(());
        }
        let mut parts = vec![format!("{} accepted", count(self.accepted, "document"))];
        parts.extend(as_new_versions(self.replaced));
        for (number, what) in [
            (self.unchanged, "unchanged"),
            (self.refused.len() as u64, "refused"),
            (self.skipped.len() as u64, "skipped"),
        ] {
            if number > 0 {
                parts.push(format!("{number} {what}"));
            }
        }
        app.output.summary(parts.join(", "))?;
        if self.accepted + self.unchanged == 0 && self.refused.is_empty() && !self.run.has_worked() {
            let why =
                "in folders, hidden files and files matched by .gitignore or .graphloomignore are skipped";
            app.output.summary(format!("nothing to add: {why}; name a file to add it anyway"))?;
        }
        print_remarks(app, "refused", self.refused.iter())?;
        print_skipped(app, &self.skipped)?;
        if !app.output.quiet {
            print_remarks(app, "same content as another document", self.same_content.iter())?;
            print_remarks(app, "not UTF-8, read as", self.other_encodings.iter())?;
        }
        print_remarks(app, "partly read", self.partly_read.iter())?;
        self.run.print(app, "retry")?;
        if !self.unchanged_with_failures.is_empty() && self.run.failures.total == 0 {
            let number = count(self.unchanged_with_failures.len() as u64, "unchanged document");
            app.output
                .summary(format_args!("{number} with earlier failures: `graphloom retry` retries them"))?;
        }
        if !self.unchanged_cancelled.is_empty() {
            let number = count(self.unchanged_cancelled.len() as u64, "unchanged document");
            app.output.summary(format_args!(
                "{number} cancelled earlier: `graphloom retry --cancelled` queues them again"
            ))?;
        }
        Ok(())
    }
}

/// Prints how many documents have no file any more, and whether they were removed.
fn print_gone(app: &App, args: &AddArgs, summary: &Summary) -> anyhow::Result<()> {
    if args.prune && !args.watch && summary.has_unread_paths {
        app.output.warn("nothing was removed: a path could not be read, so its files may still exist");
    }
    if app.output.json || summary.gone.is_empty() {
        return Ok(());
    }
    let folders: Vec<String> = folders(app, args).map(|folder| folder.display().to_string()).collect();
    let number = count(summary.gone.len() as u64, "document");
    let documents = format!("{number} below {}", one_line(&folders.join(", "), 200));
    let (have, them) = if summary.gone.len() == 1 { ("has", "it") } else { ("have", "them") };
    app.output.summary(match summary.pruned {
        true => format!("removed {documents} that {have} no file any more"),
        false => format!("{documents} {have} no file any more; `--prune` removes {them}"),
    })?;
    Ok(())
}

/// Prints skipped files: one per line, but all unsupported kinds in one line.
fn print_skipped(app: &App, skipped: &[Remark]) -> anyhow::Result<()> {
    if app.output.quiet {
        return Ok(());
    }
    let kind = |remark: &Remark| {
        let rest = remark.what.strip_prefix(files::UNSUPPORTED_KIND)?;
        rest.split(' ').next().map(str::to_owned)
    };
    let (alike, mut single): (Vec<&Remark>, Vec<&Remark>) =
        skipped.iter().partition(|remark| kind(remark).is_some());
    if alike.len() > 1 {
        let mut of_kinds: BTreeMap<String, usize> = BTreeMap::new();
        alike
            .iter()
            .filter_map(|remark| kind(remark))
            .for_each(|kind| *of_kinds.entry(kind).or_default() += 1);
        let mut kinds: Vec<(String, usize)> = of_kinds.into_iter().collect();
        kinds.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
        let kinds: Vec<String> = kinds.into_iter().map(|(kind, number)| format!("{number} {kind}")).collect();
        app.output.line(format_args!(
            "skipped: {} of unsupported kinds: {}",
            count(alike.len() as u64, "file"),
            one_line(&kinds.join(", "), 300)
        ))?;
    } else {
        single.extend(alike);
    }
    print_remarks(app, "skipped", single.into_iter())
}

fn print_remarks<'a>(
    app: &App,
    kind: &str,
    mut remarks: impl ExactSizeIterator<Item = &'a Remark>,
) -> anyhow::Result<()> {
    for Remark { source, what, remedy } in remarks.by_ref().take(MOST_PRINTED) {
        let remedy =
            remedy.as_ref().map(|remedy| format!(" ({})", one_line(remedy, 200))).unwrap_or_default();
        app.output.trouble(format_args!("{kind}: {}: {}{remedy}", plain(source), one_line(what, 300)))?;
    }
    let more = remarks.len();
    if more > 0 {
        app.output.trouble(format_args!("{kind}: {more} more; --json lists all"))?;
    }
    Ok(())
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
