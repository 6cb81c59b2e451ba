//! `graphloom add --watch`: adds changed files until Ctrl-C.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::Context;
use graphloom::files::{self, source_name};
use graphloom_core::{Document, DocumentId, Snapshot, TrackId, Visibility, table};
use graphloom_engine::index;
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use serde::Serialize;
use tokio::sync::Notify;

use super::add::{Batch, Sink, Summary};
use super::indexing::RunOutcome;
use super::{App, indexing};
use crate::fault::{Exit, Fault};
use crate::folders::{self, Folders, Look};
use crate::interrupt::Interrupt;
use crate::output::progress::ProgressView;
use crate::output::render::{count, name, one_line};
use crate::wire::{self, Indexing};

/// Interval between snapshots while a change has not settled, and delay after an event.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Interval between snapshots without events, since some file systems send none.
const LOOK_ANYWAY: Duration = Duration::from_secs(30);

/// Maximum pause before documents are queued again whose service was not available.
const LONGEST_REST: Duration = Duration::from_secs(900);

/// A line of `--json` output.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Watching { paths: &'a [PathBuf], files: usize },
    Gone { source: &'a str, removed: bool },
    Trouble { what: &'a str },
}

/// Watched folders. Watching starts before the first snapshot, so that no change is missed.
pub(super) struct Watch {
    paths: Vec<PathBuf>,
    folders: Folders,
    changed: Arc<Notify>,
    /// The last problem that was reported.
    trouble: Option<String>,
    /// Whether the last snapshot failed.
    lost_sight: bool,
    /// Documents with chunks that failed because their service was not available, and when they are queued again.
    unavailable: BTreeSet<DocumentId>,
    retry_at: Instant,
    /// The last pause before that.
    rest: Duration,
    /// Watches until dropped.
    _watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Starts to watch `paths`, which must exist.
    pub(super) async fn begin(app: &App, paths: Vec<PathBuf>) -> anyhow::Result<Self> {
        let changed = Arc::new(Notify::new());
        let watcher = begin_events(app, &paths, &changed);
        let seen = look(app, &paths).await?.map_err(|what| {
            Fault::failed(what).help("--watch needs folders and files that exist and can be read")
        })?;
        let folders = Folders::new(seen);
        let (retry_at, rest) = (Instant::now(), LOOK_ANYWAY);
        let (trouble, unavailable) = (None, BTreeSet::new());
        let lost_sight = false;
        Ok(Self {
            paths,
            folders,
            changed,
            trouble,
            lost_sight,
            unavailable,
            retry_at,
            rest,
            _watcher: watcher,
        })
    }

    /// Remembers the documents of a run whose service was not available, to queue them again after a pause, which doubles while
    /// it stays so.
    pub(super) fn note(&mut self, run: &RunOutcome) {
        let Some(report) =
            run.report.as_ref().filter(|report| report.extracted > 0 || !report.unavailable.is_empty())
        else {
            return;
        };
        self.rest = if report.extracted > 0 { LOOK_ANYWAY } else { (self.rest * 2).min(LONGEST_REST) };
        self.unavailable.extend(report.unavailable.iter().cloned());
        self.retry_at = Instant::now() + self.rest;
    }

    /// Adds changes until Ctrl-C or until the budget is used up.
    ///
    /// A problem with one file or run is reported and retried after the next change or snapshot.
    pub(super) async fn run(
        mut self,
        app: &App,
        watching: &Watching<'_>,
        interrupt: &Interrupt,
        view: &ProgressView,
    ) -> anyhow::Result<Exit> {
        let snapshot = watching.indexing.engine.store.snapshot().await?;
        let unread = unread(app, snapshot.as_ref(), &self.paths, |source| self.folders.has(source)).await?;
        drop(snapshot);
        self.leave(app, watching, unread.gone).await?;
        let files = self.folders.len();
        if app.output.json {
            app.output.json(&Line::Watching { paths: &self.paths, files })?;
        } else {
            let files = count(files as u64, "file");
            app.output.note(format_args!("watching {files}; press Ctrl-C to stop"));
        }
        loop {
            let pause = if self.folders.is_moving() { LOOK_AGAIN } else { LOOK_ANYWAY };
            tokio::select! {
                () = interrupt.wait() => return Ok(Exit::Done),
                () = self.changed.notified() => tokio::time::sleep(LOOK_AGAIN).await,
                () = tokio::time::sleep(pause) => {}
            }
            let seen = match look(app, &self.paths).await? {
                Ok(seen) => seen,
                Err(what) => {
                    self.lost_sight = true;
                    self.in_trouble(app, what)?;
                    continue;
                }
            };
            if std::mem::take(&mut self.lost_sight) {
                self.trouble = None;
                // A folder that reappears may be a different one.
                self._watcher = begin_events(app, &self.paths, &self.changed);
            }
            let changes = self.folders.look(&seen, Instant::now());
            if !self.unavailable.is_empty() && Instant::now() >= self.retry_at {
                let documents: Vec<DocumentId> = std::mem::take(&mut self.unavailable).into_iter().collect();
                index::retry(&watching.indexing.engine, &documents, Some(watching.track)).await?;
            }
            if changes.is_empty() && !waits(watching.indexing).await? {
                continue;
            }
            match self.take(app, watching, changes, interrupt, view).await {
                Ok(Exit::Interrupted) => return Ok(Exit::Interrupted),
                Ok(Exit::OverBudget) => return Ok(Exit::OverBudget),
                Ok(
                    Exit::Done
                    | Exit::Failed
                    | Exit::Usage
                    | Exit::Partly
                    | Exit::NothingFound
                    | Exit::Paused,
                ) => self.trouble = None,
                Err(error) => {
                    view.finish()?;
                    self.in_trouble(app, format!("{error:#}"))?;
                }
            }
        }
    }

    /// Adds changed files, indexes the queue, and handles deleted files.
    async fn take(
        &mut self,
        app: &App,
        watching: &Watching<'_>,
        changes: folders::Changes,
        interrupt: &Interrupt,
        view: &ProgressView,
    ) -> anyhow::Result<Exit> {
        let mut sink = Sink::Store(&watching.indexing.engine, watching.track);
        let mut summary = Summary::of(watching.track);
        let mut batch = Batch::new(watching.meta);
        let most = watching.indexing.engine.index.limits.max_bytes;
        for (source, path) in changes.changed {
            match files::read(&path, most) {
                Ok(bytes) => batch.push(source, bytes, None),
                // Deleted again; the next snapshot reports it.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => summary.refuse(app, source, files::reason(&error), None)?,
            }
            if batch.is_full() {
                batch.accept(app, &mut sink, &mut summary).await?;
            }
        }
        batch.accept(app, &mut sink, &mut summary).await?;
        if interrupt.is_requested() {
            return Ok(Exit::Interrupted);
        }
        summary.run = indexing::run(app, watching.indexing, interrupt, view).await?;
        self.note(&summary.run);
        if app.output.json || !summary.is_idle() {
            summary.print(app)?;
        }
        summary.run.print_end(app);
        let exit = summary.exit();
        if exit != Exit::Interrupted {
            // After new files, so that a renamed file reuses its extractions.
            self.leave(app, watching, changes.gone).await?;
        }
        Ok(exit)
    }

    /// Removes the documents of deleted files, or reports that they stay.
    async fn leave(&self, app: &App, watching: &Watching<'_>, gone: Vec<String>) -> anyhow::Result<()> {
        if gone.is_empty() {
            return Ok(());
        }
        let engine = &watching.indexing.engine;
        let documents = engine.store.snapshot().await?.documents_of_sources(&gone).await?;
        let known: Vec<(&String, Vec<DocumentId>)> = gone
            .iter()
            .zip(documents)
            .filter(|(_, documents)| !documents.is_empty())
            .map(|(source, documents)| (source, documents.into_iter().map(|document| document.id).collect()))
            .collect();
        if watching.prune {
            let ids: Vec<DocumentId> = known.iter().flat_map(|(_, ids)| ids.iter().cloned()).collect();
            index::delete(engine, &ids).await?;
        }
        for (source, _) in known {
            let removed = watching.prune;
            let why = match app.here.root.join(source).is_file() {
                true => "`add` no longer reads its file",
                false => "its file was deleted",
            };
            if app.output.json {
                app.output.json(&Line::Gone { source, removed })?;
            } else if removed {
                app.output.line(format_args!("removed {}: {why}", name(source)))?;
            } else {
                app.output.advise(format_args!(
                    "{}: {why}; the document stays, `graphloom rm` or --prune removes it",
                    name(source)
                ))?;
            }
        }
        Ok(())
    }

    /// Reports a problem, once.
    pub(super) fn in_trouble(&mut self, app: &App, what: String) -> anyhow::Result<()> {
        if self.trouble.as_ref() != Some(&what) {
            if app.output.json {
                app.output.json(&Line::Trouble { what: &what })?;
            } else {
                app.output.warn(format_args!("{}; still watching", one_line(&what, 300)));
            }
            self.trouble = Some(what);
        }
        Ok(())
    }
}

/// Settings for adding changes.
pub(super) struct Watching<'a> {
    pub(super) indexing: &'a Indexing,
    pub(super) track: &'a TrackId,
    /// Metadata for all added documents.
    pub(super) meta: &'a [(String, String)],
    /// Whether to remove documents of deleted files.
    pub(super) prune: bool,
}

/// Starts a watcher for change events. If the system has none, prints a warning and returns `None`.
fn begin_events(app: &App, paths: &[PathBuf], changed: &Arc<Notify>) -> Option<RecommendedWatcher> {
    watcher(paths, &app.here.folder, Arc::clone(changed))
        .inspect_err(|error| {
            app.output.warn(format_args!(
                "the system sends no change events ({error}); checking every {} s instead",
                LOOK_ANYWAY.as_secs()
            ));
        })
        .ok()
}

/// Notifies `changed` of every change under `paths`.
fn watcher(
    paths: &[PathBuf],
    current_dir: &Path,
    changed: Arc<Notify>,
) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Opening and reading files is not a change; the snapshots do it too.
        let is_change = event.map_or(true, |event| match event.kind {
            EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
            EventKind::Any
            | EventKind::Create(_)
            | EventKind::Modify(_)
            | EventKind::Remove(_)
            | EventKind::Other => true,
        });
        if is_change {
            changed.notify_one();
        }
    })?;
    for path in paths {
        let path = current_dir.join(path);
        if path.is_dir() {
            watcher.watch(&path, RecursiveMode::Recursive)?;
        } else if let Some(folder) = path.parent() {
            // Watches the folder of a file, to notice when the file is replaced.
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
    }
    Ok(watcher)
}

/// Takes a snapshot on a blocking thread.
async fn look(app: &App, paths: &[PathBuf]) -> anyhow::Result<Result<Look, String>> {
    let (paths, here) = (paths.to_vec(), app.here.clone());
    let data_dir = app.config.data_dir.clone();
    let looking = move || folders::look(&paths, &here, &data_dir, files::is_supported);
    tokio::task::spawn_blocking(looking).await.context("looking at the folders")
}

/// True if documents are queued that this process could index.
async fn waits(indexing: &Indexing) -> anyhow::Result<bool> {
    let snapshot = indexing.engine.store.snapshot().await?;
    let paused = snapshot.queue().await?.is_paused();
    Ok(!paused && !snapshot.claimable_jobs(wire::now(), 1).await?.is_empty())
}

/// Documents below folders whose file a walk of these folders does not return.
#[derive(Debug, Default)]
pub(super) struct Unread {
    /// Sources without a file: deleted, or a link or a folder has taken its place.
    pub(super) gone: Vec<String>,
    /// Sources whose file is there. It was added by its own name, or an ignore file names it now.
    pub(super) left_out: Vec<String>,
}

/// Returns the stored documents below `paths` whose file the walk of these paths did not return.
///
/// - `is_walked`: whether the walk returned a file with this source.
pub(super) async fn unread(
    app: &App,
    snapshot: &dyn Snapshot,
    paths: &[PathBuf],
    is_walked: impl Fn(&str) -> bool,
) -> anyhow::Result<Unread> {
    let roots: Vec<PathBuf> =
        paths.iter().filter_map(|path| app.here.folder.join(path).canonicalize().ok()).collect();
    let mut unread = Unread::default();
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        for document in page {
            let path = app.here.root.join(&document.source);
            let is_named_by_path = source_name(&path, &app.here).is_ok_and(|name| name == document.source);
            if is_walked(&document.source)
                || document.visibility != Visibility::Live
                || !is_named_by_path
                || !roots.iter().any(|root| path.starts_with(root))
            {
                continue;
            }
            let sources = if is_gone(&path, &document) { &mut unread.gone } else { &mut unread.left_out };
            sources.push(document.source);
        }
    }
    // If a folder disappeared in the meantime, its files cannot be checked.
    let are_there = roots.iter().all(|root| root.exists());
    unread.gone.sort();
    unread.left_out.sort();
    Ok(if are_there { unread } else { Unread::default() })
}

/// True if the file that a document was read from is no longer at its path.
fn is_gone(path: &Path, document: &Document) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return matches!(error.kind(), NotFound | NotADirectory),
    };
    // A source name contains no links to folders.
    if path.parent().is_some_and(|parent| parent.canonicalize().is_ok_and(|real| real != parent)) {
        return true;
    }
    if !metadata.is_symlink() {
        return !metadata.is_file();
    }
    // A link that is older than the document was added by its own name.
    let added = UNIX_EPOCH + Duration::from_millis(document.added_at.0);
    !path.is_file() || metadata.modified().is_ok_and(|made| made > added)
}
