//! Indexes the passages of a question set as documents of a workspace.

use graphloom::BuildWith;
use graphloom_core::{Document, DocumentId, DocumentStatus, table};
use graphloom_engine::Engine;
use graphloom_engine::index::{self, Acceptance, Source};
use graphloom_eval::set::QuestionSet;

use crate::args::SetIndexing;
use crate::commands::indexing::Session;
use crate::commands::{App, indexing};
use crate::fault::{Exit, Fault};
use crate::interrupt::Interrupt;
use crate::output::progress::ProgressView;
use crate::output::render::{count, one_line, plain};
use crate::wire;

/// Maximum passages in one commit.
const ACCEPTED_AT_ONCE: usize = 256;

/// Maximum bytes in one commit; one larger passage may exceed it.
const MAX_BYTES_AT_ONCE: usize = 16 << 20;

/// Maximum passages named in a message.
const MOST_NAMED: usize = 5;

/// The outcome of indexing the passages.
pub(super) enum IndexOutcome {
    /// All are in the graph.
    Whole,
    /// The workspace is usable, but some passages are missing or incomplete.
    Partly,
    /// Indexing was stopped.
    Stopped(Exit),
}

/// Indexes the passages of `set` that the workspace does not have in this version.
pub(super) async fn index(
    app: &App,
    set: &QuestionSet,
    args: &SetIndexing,
    interrupt: &Interrupt,
) -> anyhow::Result<IndexOutcome> {
    let view = ProgressView::new(app.output.aside());
    let Session { worker, view, indexing } =
        Session::begin_with(app, view, args.budget, BuildWith::Workspace).await?;
    let engine = &indexing.engine;
    let removed = settle_others(app, set, args, engine).await?;
    let track = wire::track_of("eval", worker.as_ref());
    let mut accepted = AcceptOutcome::default();
    let mut sources = set.sources().peekable();
    while sources.peek().is_some() && !interrupt.is_requested() {
        let mut bytes = 0;
        let mut batch: Vec<Source> = Vec::new();
        while batch.len() < ACCEPTED_AT_ONCE && bytes < MAX_BYTES_AT_ONCE {
            let Some(source) = sources.next() else { break };
            bytes += source.bytes.len();
            batch.push(source);
        }
        let names: Vec<String> = batch.iter().map(|source| source.name.clone()).collect();
        let readings = batch.into_iter().map(|source| index::read(source, &engine.index.limits)).collect();
        for (name, acceptance) in
            names.into_iter().zip(index::accept_read(engine, readings, Some(&track)).await?)
        {
            accepted.take(name, acceptance);
        }
        if accepted.new > 0 && sources.peek().is_some() {
            view.note(&format!("{} accepted so far", count(accepted.new, "passage")));
        }
    }
    if interrupt.is_requested() {
        return Ok(IndexOutcome::Stopped(Exit::Interrupted));
    }
    accepted.tell(app, removed);
    let ran = indexing::run(app, &indexing, interrupt, &view).await?;
    ran.print_end(app);
    let failures = ran.failures.total;
    if failures > 0 {
        let workspace = &app.config.workspace;
        app.output.warn(format_args!(
            "warning: {} while indexing; `graphloom --workspace {workspace} status` lists them, `retry` retries them",
            count(failures, "failure")
        ));
    }
    Ok(match ran.exit() {
        Exit::Done if accepted.is_whole() => IndexOutcome::Whole,
        Exit::Done | Exit::Partly => IndexOutcome::Partly,
        exit => IndexOutcome::Stopped(exit),
    })
}

/// The outcome of accepting the passages.
#[derive(Default)]
struct AcceptOutcome {
    new: u64,
    /// Number of passages to index.
    open: u64,
    unchanged: u64,
    /// Number of known passages that are incomplete, failed or cancelled.
    ill: u64,
    refused: Vec<String>,
}

impl AcceptOutcome {
    fn take(&mut self, name: String, acceptance: Acceptance) {
        match acceptance {
            Acceptance::Accepted { .. } => {
                self.new += 1;
                self.open += 1;
            }
            Acceptance::Unchanged { status, .. } => {
                self.unchanged += 1;
                match status {
                    DocumentStatus::Incomplete { .. }
                    | DocumentStatus::Failed { .. }
                    | DocumentStatus::Cancelled { .. } => self.ill += 1,
                    DocumentStatus::Waiting | DocumentStatus::Indexing { .. } => self.open += 1,
                    DocumentStatus::Ready { .. } => {}
                }
            }
            Acceptance::Refused { reason, .. } => self.refused.push(format!("{name}: {reason}")),
        }
    }

    fn is_whole(&self) -> bool {
        self.ill == 0 && self.refused.is_empty()
    }

    fn tell(&self, app: &App, removed: usize) {
        let workspace = &app.config.workspace;
        let mut parts = vec![format!("{} to index", count(self.new, "passage"))];
        if self.unchanged > 0 {
            parts.push(format!("{} unchanged", self.unchanged));
        }
        if removed > 0 {
            parts.push(format!("{} removed", count(removed as u64, "other document")));
        }
        app.output.note(format_args!("workspace {workspace}: {}", parts.join(", ")));
        if self.ill > 0 {
            app.output.warn(format_args!(
                "warning: {} incomplete; `graphloom --workspace {workspace} retry` retries them",
                count(self.ill, "passage")
            ));
        }
        for refused in self.refused.iter().take(MOST_NAMED) {
            app.output.warn(format_args!("warning: not indexed: {}", one_line(refused, 300)));
        }
        if let Some(more) = self.refused.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            app.output.warn(format_args!("warning: {more} more passages not indexed"));
        }
    }
}

/// Handles documents that are not passages of the set, which would appear in rankings: removes or keeps them as the
/// arguments say, or fails. Returns how many were removed.
async fn settle_others(
    app: &App,
    set: &QuestionSet,
    args: &SetIndexing,
    engine: &Engine,
) -> anyhow::Result<usize> {
    let others = others(engine, set).await?;
    let Some(first) = others.first() else { return Ok(0) };
    if args.prune {
        let ids: Vec<DocumentId> = others.iter().map(|document| document.id.clone()).collect();
        index::delete(engine, &ids).await?;
        return Ok(ids.len());
    }
    let held = format!(
        "workspace {} holds {} that {} of {}, such as {}",
        app.config.workspace,
        count(others.len() as u64, "document"),
        if others.len() == 1 { "is not a passage" } else { "are not passages" },
        plain(&set.name),
        one_line(&first.source, 100)
    );
    if args.with_others {
        app.output.note(format_args!("{held}; they are searched too"));
        return Ok(0);
    }
    let help =
        "use another --workspace, remove these documents with --prune, or keep them with --with-others";
    Err(Fault::usage(held).help(help).into())
}

async fn others(engine: &Engine, set: &QuestionSet) -> anyhow::Result<Vec<Document>> {
    let is_passage = set.holds();
    let snapshot = engine.store.snapshot().await?;
    let mut others = Vec::new();
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        others.extend(page.into_iter().filter(|document| !is_passage(&document.source)));
    }
    Ok(others)
}
