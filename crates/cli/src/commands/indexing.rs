//! Runs the indexing pipeline with progress and Ctrl-C, for `add`, `retry`, `work` and others.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use graphloom::BuildWith;
use graphloom_core::{DocumentId, Lease, Progress, TrackId, Worker};
use graphloom_engine::Engine;
use graphloom_engine::chunk_context::ContextWriter;
use graphloom_engine::derive::{DeriveReport, LayerKind, derive, layer_states};
use graphloom_engine::index::{self, IndexError, RunReport, StopRequest};
use graphloom_engine::money::{Budget, CallTotals, Limit, Shortage, spending_after};
use graphloom_providers::http::{ServiceListener, ServiceNotice};
use serde::Serialize;

use super::App;
use super::cost::money;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::output::progress::{Failures, ProgressView};
use crate::output::render::{count, name, one_line, thousands};
use crate::serve_config::LAST_COMMITS;
use crate::wire::{self, Indexing};

/// Maximum failures printed in a summary; `graphloom status` lists all.
const MOST_PRINTED: usize = 20;

/// How often the cost so far is read from the ledger.
const COSTS_EVERY: Duration = Duration::from_secs(2);

/// Printed after Ctrl-C.
const GO_ON: &str = "stopped; run the same command to continue";

/// Printed if the workspace is paused.
pub(crate) const PAUSED: &str =
    "the workspace is paused: run `graphloom resume` and then `graphloom work` to index the queued documents";

/// The outcome of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RunOutcome {
    /// The engine's report; `None` if the run was given up.
    pub(crate) report: Option<RunReport>,
    /// Failures during the run.
    pub(crate) failures: Failures,
    /// Whether Ctrl-C stopped it.
    pub(crate) interrupted: bool,
    /// Documents that other processes were indexing when the run ended.
    pub(crate) in_other_processes: u64,
    /// The budget and the cost; `None` without a budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<BudgetUse>,
}

/// A budget and how much of it is used.
#[derive(Debug, Serialize)]
pub(crate) struct BudgetUse {
    /// The limit, formatted.
    pub(crate) limit: String,
    /// The cost in the same unit.
    pub(crate) spent: String,
    #[serde(skip)]
    shortage: Option<Shortage>,
}

impl BudgetUse {
    pub(crate) fn of(budget: &Budget) -> Self {
        let (limit, spent) = (budget.limit().to_string(), budget.spent());
        Self { limit, spent, shortage: budget.shortage() }
    }
}

/// Returns how to continue after a budget stopped a command: that of the run, or else that of the workspace.
pub(crate) fn after_budget(budget: Option<&BudgetUse>) -> &'static str {
    match budget.and_then(|budget| budget.shortage) {
        Some(Shortage::Spent) => {
            "to continue, run the same command again: each run starts with a full --budget"
        }
        Some(Shortage::TooSmall) => {
            "to continue, run the same command with a larger --budget: one call may cost more"
        }
        None => {
            "to continue, raise the budget of the workspace with `graphloom budget AMOUNT`, or remove it with `graphloom budget \
             none`, and run the same command again"
        }
    }
}

/// Prints the name of the run.
pub(crate) fn print_track(app: &App, track: &TrackId) -> anyhow::Result<()> {
    if app.output.json {
        return app.output.json(&serde_json::json!({ "event": "track", "track": track }));
    }
    if app.output.verbose {
        app.output.note(format_args!("run {track}; `graphloom status --track {track}` shows its progress"));
    }
    Ok(())
}

/// The context of a command that indexes. This process is registered as a worker while the value lives.
pub(crate) struct Session {
    pub(crate) worker: Arc<dyn Worker>,
    pub(crate) view: Arc<ProgressView>,
    pub(crate) indexing: Indexing,
}

impl Session {
    /// Registers this process as a worker and opens the workspace; creates it if it does not exist.
    ///
    /// - `limit`: budget of the run for all its models.
    pub(crate) async fn begin(
        app: &App,
        limit: Option<Limit>,
        build_with: BuildWith,
    ) -> anyhow::Result<Self> {
        Self::begin_with(app, ProgressView::new(app.output.clone()), limit, build_with).await
    }

    /// Like [`begin`](Self::begin), with a custom view.
    pub(crate) async fn begin_with(
        app: &App,
        view: ProgressView,
        limit: Option<Limit>,
        build_with: BuildWith,
    ) -> anyhow::Result<Self> {
        let worker = wire::register_worker(&app.config).await?;
        let view = Arc::new(view);
        let indexing = wire::indexing(app, worker.as_ref(), listener(&view), limit, build_with).await?;
        Ok(Self { worker, view, indexing })
    }
}

/// Shows in `view` when a run waits for a model service.
fn listener(view: &Arc<ProgressView>) -> ServiceListener {
    let view = Arc::clone(view);
    Arc::new(move |notice| {
        view.show(match notice {
            ServiceNotice::Paused { service, reason, retry_in } => {
                let retry_in_ms = u64::try_from(retry_in.as_millis()).unwrap_or(u64::MAX);
                Progress::Paused { service, reason, retry_in_ms }
            }
            ServiceNotice::Resumed { service } => Progress::Resumed { service },
        });
    })
}

/// Processes all queued jobs with progress, until done or interrupted.
pub(crate) async fn run(
    app: &App,
    indexing: &Indexing,
    interrupt: &Interrupt,
    view: &ProgressView,
) -> anyhow::Result<RunOutcome> {
    let show = |progress| view.show(progress);
    let gone = wire::gone(&app.config)?;
    view.expect(index::claimable(&indexing.engine, &gone).await?);
    run_to_end(app, indexing, interrupt, view, index::run(&indexing.engine, &show, &gone)).await
}

/// Re-extracts documents, like [`run`].
pub(crate) async fn renew(
    app: &App,
    indexing: &Indexing,
    interrupt: &Interrupt,
    view: &ProgressView,
    documents: &[DocumentId],
) -> anyhow::Result<RunOutcome> {
    let show = |progress| view.show(progress);
    view.expect(documents.len());
    run_to_end(app, indexing, interrupt, view, index::renew(&indexing.engine, documents, &show)).await
}

/// Recomputes the context of chunks of documents in the graph, like [`run`].
pub(crate) async fn contextualize(
    app: &App,
    indexing: &Indexing,
    interrupt: &Interrupt,
    view: &ProgressView,
    documents: &[DocumentId],
) -> anyhow::Result<RunOutcome> {
    let show = |progress| view.show(progress);
    view.expect(documents.len());
    run_to_end(app, indexing, interrupt, view, index::contextualize(&indexing.engine, documents, &show)).await
}

/// Derives the layers with failed nodes again; stops when interrupted.
pub(crate) async fn derive_failed(
    app: &App,
    indexing: &Indexing,
    interrupt: &Interrupt,
    view: &ProgressView,
) -> anyhow::Result<Vec<DeriveReport>> {
    let show = |progress| view.show(progress);
    let gone = wire::gone(&app.config)?;
    let snapshot = indexing.engine.store.snapshot().await?;
    let states = layer_states(snapshot.as_ref()).await?;
    drop(snapshot);
    let failed = states.into_iter().filter(|state| state.failed > 0 && !state.current);
    let mut outcomes = Vec::new();
    for kind in failed.filter_map(|state| LayerKind::named(state.layer.as_str())) {
        let work = derive(&indexing.engine, kind.deriver(), &show, &gone);
        match until_stopped(app, &indexing.engine, interrupt, work).await {
            Some(derived) if !interrupt.is_requested() => outcomes.push(derived?),
            _ => break,
        }
    }
    view.finish()?;
    Ok(outcomes)
}

async fn run_to_end(
    app: &App,
    indexing: &Indexing,
    interrupt: &Interrupt,
    view: &ProgressView,
    work: impl Future<Output = Result<RunReport, IndexError>>,
) -> anyhow::Result<RunOutcome> {
    let outcome = tokio::select! {
        outcome = until_stopped(app, &indexing.engine, interrupt, work) => outcome,
        failed = follow_costs(app, indexing, view) => {
            view.finish()?;
            return Err(failed);
        }
    };
    let failures = view.finish()?;
    let budget = indexing.budget.as_deref().map(BudgetUse::of);
    match outcome {
        Some(Ok(report)) => {
            let interrupted = report.stopped;
            if !interrupted {
                indexing.catch_up().await;
            }
            let in_other_processes = in_other_processes(&indexing.engine).await?;
            Ok(RunOutcome { report: Some(report), failures, interrupted, in_other_processes, budget })
        }
        Some(Err(error)) => Err(error.into()),
        None => {
            index::abandon(&indexing.engine).await?;
            Ok(RunOutcome { report: None, failures, interrupted: true, budget, ..RunOutcome::default() })
        }
    }
}

/// Returns the number of documents that other processes are indexing.
async fn in_other_processes(engine: &Engine) -> anyhow::Result<u64> {
    let (leased, now) = (engine.store.snapshot().await?.leased_jobs().await?, wire::now());
    let is_of_others = |lease: &Lease| lease.owner != engine.index.worker && lease.expires_at > now;
    let of_others = leased.iter().filter(|job| job.lease.as_ref().is_some_and(is_of_others));
    Ok(of_others.count() as u64)
}

/// Runs `work` until it ends or Ctrl-C is pressed; `None` if it was given up.
///
/// After Ctrl-C, the engine starts no further calls. Answers to the calls in flight, which are paid for, are stored if they arrive in time. A second
/// Ctrl-C ends the process.
pub(crate) async fn until_stopped<T>(
    app: &App,
    engine: &Engine,
    interrupt: &Interrupt,
    work: impl Future<Output = T>,
) -> Option<T> {
    until_finished(app, interrupt, &engine.index.stop, calls_service(engine), work).await
}

/// Like [`until_stopped`], for work that observes `stop`.
///
/// - `waits`: whether there may be calls in flight that are paid for.
pub(crate) async fn until_finished<T>(
    app: &App,
    interrupt: &Interrupt,
    stop: &StopRequest,
    waits: bool,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(work);
    tokio::select! {
        outcome = &mut work => return Some(outcome),
        () = interrupt.wait() => stop.make(),
    }
    if !waits {
        return None;
    }
    let finish = app.serve.finish();
    app.output
        .note(format_args!("waiting up to {} s for the answers to calls in flight", finish.as_secs_f32()));
    if let Ok(outcome) = tokio::time::timeout(finish, &mut work).await {
        return Some(outcome);
    }
    stop.give_up();
    let outcome = tokio::time::timeout(LAST_COMMITS, work).await.ok();
    if stop.given_up() > 0 {
        let calls = count(u64::from(stop.given_up()), "call");
        app.output.warn(format_args!(
            "gave up {calls} in flight, which may be billed; `graphloom cost` counts them"
        ));
    }
    outcome
}

/// True if the engine calls an LLM, an embedding service or a reranker.
fn calls_service(engine: &Engine) -> bool {
    let models = &engine.models;
    models.extract.is_some()
        || models.summarize.is_some()
        || models.keywords.is_some()
        || models.answer.is_some()
        || models.reranker.is_some()
        || matches!(models.context_writer, ContextWriter::Model(_))
        || wire::embeds_by_service(engine)
}

/// Shows the cost of this run while it is polled; returns only if the store fails. Waits forever if no service is called.
async fn follow_costs(app: &App, indexing: &Indexing, view: &ProgressView) -> anyhow::Error {
    let engine = &indexing.engine;
    if !calls_service(engine) {
        return std::future::pending().await;
    }
    match try_follow_costs(app, engine, view).await {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

async fn try_follow_costs(
    app: &App,
    engine: &Engine,
    view: &ProgressView,
) -> anyhow::Result<std::convert::Infallible> {
    let mut read = engine.store.snapshot().await?.counts().await?.calls;
    let mut total = CallTotals::default();
    let mut turns = tokio::time::interval(COSTS_EVERY);
    loop {
        turns.tick().await;
        let snapshot = engine.store.snapshot().await?;
        let spending = spending_after(snapshot.as_ref(), read, &BTreeSet::new(), &app.config.prices).await?;
        read += spending.total.calls;
        total = total.plus(&spending.total);
        if total.calls > 0 {
            view.costs(cost_in_words(&total));
        }
    }
}

/// Formats the cost in money if every model has a price, otherwise in tokens.
fn cost_in_words(spent: &CallTotals) -> String {
    let tokens = spent.prompt_tokens + spent.completion_tokens;
    match (spent.unpriced_calls, spent.uncounted_calls) {
        (0, _) => money(spent),
        (_, 0) => format!("{} tokens", thousands(tokens)),
        _ if tokens == 0 => "costs unknown".to_owned(),
        _ => format!("more than {} tokens", thousands(tokens)),
    }
}

/// Describes how many of the chunks, or what else `noun` counts, have an empty extraction.
pub(crate) fn nothing_named(empty: u64, all: u64, noun: &str) -> String {
    format!("in {empty} of {} no entity was named", count(all, noun))
}

impl RunOutcome {
    /// Returns how much was spent if the budget stopped the run, otherwise `None`.
    pub(crate) fn over_budget(&self) -> Option<&str> {
        self.report.as_ref()?.over_budget.as_deref()
    }

    /// Whether any document was finished or failed.
    pub(crate) fn has_worked(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.finished + report.failed > 0)
    }

    /// Whether a document was added to the graph.
    pub(crate) fn has_finished(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.finished > 0)
    }

    /// Whether there was nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.failures.total == 0
            && self.in_other_processes == 0
            && self.report.as_ref().is_some_and(|report| *report == RunReport::default())
    }

    /// Returns the exit code of a command with this outcome.
    pub(crate) fn exit(&self) -> Exit {
        let is = |what: fn(&RunReport) -> bool| self.report.as_ref().is_some_and(what);
        if self.interrupted {
            Exit::Interrupted
        } else if self.over_budget().is_some() {
            Exit::OverBudget
        } else if is(|report| report.paused) {
            Exit::Paused
        } else if is(RunReport::is_partial) || self.failures.total > 0 {
            Exit::Partly
        } else {
            Exit::Done
        }
    }

    /// Prints why the run ended early and how to continue.
    pub(crate) fn print_end(&self, app: &App) {
        if let Some(report) = self.report.as_ref().filter(|report| report.is_mostly_empty()) {
            app.output.warn(format_args!(
                "warning: {}; {}",
                nothing_named(u64::from(report.empty_chunks), u64::from(report.extracted), "chunk"),
                match app.config.models.extract {
                    Some(_) =>
                        "the model may be too small for the prompt: try another with `graphloom re-extract`",
                    None =>
                        "rules work only for sentences in the languages they support: try an LLM with --llm",
                }
            ));
        }
        if self.interrupted {
            app.output.warn(GO_ON);
        }
        if let Some(what) = self.over_budget() {
            app.output
                .warn(format_args!("stopped by the budget: {what}; {}", after_budget(self.budget.as_ref())));
        }
        if self.report.as_ref().is_some_and(|report| report.paused) {
            app.output.warn(PAUSED);
        }
    }

    /// Prints the outcome.
    ///
    /// - `again`: the command that retries failures.
    pub(crate) fn print(&self, app: &App, again: &str) -> anyhow::Result<()> {
        let output: &Output = &app.output;
        let did = |report: &&RunReport| report.finished + report.failed + report.cancelled > 0;
        if let Some(report) = self.report.as_ref().filter(did) {
            let mut parts = vec![format!("{} in the graph", count(report.finished, "document"))];
            if report.empty_chunks > 0 {
                let chunks = count(report.extracted, "chunk");
                parts.push(format!("nothing named in {} of {chunks}", report.empty_chunks));
            }
            if report.reused > 0 {
                parts.push(format!("{} reused", count(report.reused, "chunk")));
            }
            if report.failed > 0 {
                parts.push(format!("{} stopped", count(report.failed, "document")));
            }
            if report.cancelled > 0 {
                parts.push(format!("{} cancelled", count(report.cancelled, "document")));
            }
            output.summary(parts.join(", "))?;
        }
        if let Some(report) = self.report.as_ref().filter(|report| report.stale > 0 && !report.paused) {
            let reason = report.stale_reason.as_deref().unwrap_or("they were interrupted");
            output.trouble(format_args!(
                "{} could not be summarized: {}; `graphloom retry` tries again",
                count(report.stale, "description"),
                one_line(reason, 300)
            ))?;
        }
        for derived in self.report.iter().flat_map(|report| &report.derived).filter(|it| it.failed > 0) {
            let reason = derived.reason.as_deref().unwrap_or("they were interrupted");
            output.trouble(format_args!(
                "{} of {} could not be written: {}; `graphloom retry` tries again",
                count(derived.failed, "node"),
                derived.layer,
                one_line(reason, 300)
            ))?;
        }
        for failure in self.failures.listed.iter().take(MOST_PRINTED) {
            let what = failure.chunk.map(|ordinal| format!(" chunk {ordinal}")).unwrap_or_default();
            output.trouble(format_args!(
                "failed: {}{what}: {}",
                name(&failure.source),
                one_line(&failure.reason, 300)
            ))?;
        }
        let more = self.failures.total.saturating_sub(MOST_PRINTED as u64);
        if more > 0 {
            output.trouble(format_args!("and {more} more; `graphloom status` lists all"))?;
        }
        if self.failures.total > 0 {
            output.trouble(format_args!("`graphloom {again}` retries the failures"))?;
        }
        if self.in_other_processes > 0 {
            output.summary(format_args!(
                "another process is indexing {}; `graphloom status` shows how far it is",
                count(self.in_other_processes, "document")
            ))?;
        }
        if let Some(BudgetUse { limit, spent, .. }) = &self.budget {
            output.summary(format_args!("used {spent} of the budget of {limit}"))?;
        }
        Ok(())
    }
}
