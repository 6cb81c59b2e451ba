//! Running the indexing pipeline with progress and Ctrl-C, as `add`, `retry` and `work` do.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use graphloom::BuildWith;
use graphloom_core::{DocumentId, Progress, TrackId};
use graphloom_engine::Engine;
use graphloom_engine::index::{self, IndexError, RunReport};
use graphloom_engine::money::{Limit, Spent, spending_after};
use graphloom_providers::http::{ServiceListener, ServiceNotice};
use graphloom_storage::workers::Worker;
use serde::Serialize;

use super::App;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::output::progress::{Failures, ProgressView};
use crate::output::render::{count, one_line, plain, thousands};
use crate::wire::{self, Indexing};

/// Failures printed in a summary; `graphloom status` lists all.
const MOST_PRINTED: usize = 20;

/// How often the ledger is read for the cost so far.
const COSTS_EVERY: Duration = Duration::from_secs(2);

/// What is said after Ctrl-C.
const GO_ON: &str = "stopped; run the same command to go on";

/// What is said where the workspace is paused.
pub(crate) const PAUSED: &str =
    "the workspace is paused: what waits goes on with `graphloom resume` and then `graphloom work`";

/// What a run did.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Ran {
    /// The engine's report; nothing where it was interrupted.
    pub(crate) report: Option<RunReport>,
    /// What failed while it ran.
    pub(crate) failures: Failures,
    /// Whether Ctrl-C ended it.
    pub(crate) interrupted: bool,
    /// What it might spend, and did; nothing where there was no budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<OfBudget>,
}

/// A budget and what was spent of it.
#[derive(Debug, Serialize)]
pub(crate) struct OfBudget {
    /// The limit, as people read it.
    pub(crate) limit: String,
    /// The same unit.
    pub(crate) spent: String,
}

/// Says under which name a run can be followed.
pub(crate) fn say_track(app: &App, track: &TrackId) -> anyhow::Result<()> {
    if app.output.json {
        return app.output.json(&serde_json::json!({ "event": "track", "track": track }));
    }
    if app.output.verbose {
        app.output.note(format_args!("run {track}; `graphloom status --track {track}` shows how far it is"));
    }
    Ok(())
}

/// What a command that indexes works with. The worker's name is taken as long as this lives.
pub(crate) struct Session {
    pub(crate) worker: Worker,
    pub(crate) view: Arc<ProgressView>,
    pub(crate) indexing: Indexing,
}

impl Session {
    /// Registers this process as a worker and opens the workspace; makes it where it is missing.
    ///
    /// - `limit`: what the run may spend on all of its models.
    pub(crate) async fn begin(
        app: &App,
        limit: Option<Limit>,
        build_with: BuildWith,
    ) -> anyhow::Result<Self> {
        Self::begin_with(app, ProgressView::new(app.output), limit, build_with).await
    }

    /// The same with a view of its own.
    pub(crate) async fn begin_with(
        app: &App,
        view: ProgressView,
        limit: Option<Limit>,
        build_with: BuildWith,
    ) -> anyhow::Result<Self> {
        let worker = wire::register_worker(&app.config)?;
        let view = Arc::new(view);
        let indexing = wire::indexing(app, &worker, listener(&view), limit, build_with).await?;
        Ok(Self { worker, view, indexing })
    }
}

/// Shows in `view` which model services are waited for.
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

/// Works through all jobs, showing progress, until done or interrupted.
pub(crate) async fn run(
    app: &App,
    indexing: &Indexing,
    interrupt: &Interrupt,
    view: &ProgressView,
) -> anyhow::Result<Ran> {
    let show = |progress| view.show(progress);
    let gone = wire::gone(&app.config);
    let waiting = indexing.engine.store.snapshot().await?.claimable_jobs(wire::now(), usize::MAX).await?;
    view.expect(waiting.len());
    run_to_end(app, indexing, interrupt, view, index::run(&indexing.engine, &show, &gone)).await
}

/// Works on the documents that are to be asked about anew, as [`run`] does.
pub(crate) async fn renew(
    app: &App,
    indexing: &Indexing,
    interrupt: &Interrupt,
    view: &ProgressView,
    documents: &[DocumentId],
) -> anyhow::Result<Ran> {
    let show = |progress| view.show(progress);
    view.expect(documents.len());
    run_to_end(app, indexing, interrupt, view, index::renew(&indexing.engine, documents, &show)).await
}

/// Situates the chunks of documents in the graph anew, as [`run`] works.
pub(crate) async fn situate(
    app: &App,
    indexing: &Indexing,
    interrupt: &Interrupt,
    view: &ProgressView,
    documents: &[DocumentId],
) -> anyhow::Result<Ran> {
    let show = |progress| view.show(progress);
    view.expect(documents.len());
    run_to_end(app, indexing, interrupt, view, index::situate(&indexing.engine, documents, &show)).await
}

async fn run_to_end(
    app: &App,
    indexing: &Indexing,
    interrupt: &Interrupt,
    view: &ProgressView,
    work: impl Future<Output = Result<RunReport, IndexError>>,
) -> anyhow::Result<Ran> {
    let outcome = tokio::select! {
        outcome = work => Some(outcome),
        () = interrupt.wait() => None,
        failed = follow_costs(app, indexing, view) => {
            view.finish()?;
            return Err(failed);
        }
    };
    let failures = view.finish()?;
    let budget = indexing
        .budget
        .as_ref()
        .map(|budget| OfBudget { limit: budget.limit().to_string(), spent: budget.spent() });
    match outcome {
        Some(Ok(report)) => {
            indexing.catch_up().await;
            Ok(Ran { report: Some(report), failures, interrupted: false, budget })
        }
        Some(Err(error)) => Err(error.into()),
        None => Ok(Ran { report: None, failures, interrupted: true, budget }),
    }
}

/// Shows what the calls of this run cost, as long as it is polled; returns only an error of the store. Waits for ever where no
/// model or service is called.
async fn follow_costs(app: &App, indexing: &Indexing, view: &ProgressView) -> anyhow::Error {
    let engine = &indexing.engine;
    if engine.models.extract.is_none() && !wire::embeds_by_service(engine) {
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
    let mut total = Spent::default();
    let mut turns = tokio::time::interval(COSTS_EVERY);
    loop {
        turns.tick().await;
        let snapshot = engine.store.snapshot().await?;
        let spending = spending_after(snapshot.as_ref(), read, &BTreeSet::new(), &app.config.prices).await?;
        let Spent { calls, unpriced_calls, prompt_tokens, completion_tokens, cost, .. } = spending.total;
        read += calls;
        total.calls += calls;
        total.unpriced_calls += unpriced_calls;
        total.prompt_tokens += prompt_tokens;
        total.completion_tokens += completion_tokens;
        total.cost += cost;
        if total.calls > 0 {
            view.costs(cost_in_words(&total));
        }
    }
}

/// Money where every model has a price, else tokens.
fn cost_in_words(spent: &Spent) -> String {
    match spent.unpriced_calls {
        0 => format!("costs {}", spent.cost),
        _ => format!("{} tokens", thousands(spent.prompt_tokens + spent.completion_tokens)),
    }
}

/// How many extractions are empty, in words.
pub(crate) fn nothing_named(empty: u64, all: u64) -> String {
    format!("in {empty} of {} no entity was named", count(all, "chunk"))
}

impl Ran {
    /// What was spent when the first call did not fit the budget.
    pub(crate) fn over_budget(&self) -> Option<&str> {
        self.report.as_ref()?.over_budget.as_deref()
    }

    /// Whether it brought documents on.
    pub(crate) fn has_worked(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.finished + report.failed > 0)
    }

    /// Whether it brought a document into the graph.
    pub(crate) fn has_finished(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.finished > 0)
    }

    /// Whether there was nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.failures.total == 0 && self.report.as_ref().is_some_and(|report| *report == RunReport::default())
    }

    /// How a command that did this should exit.
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

    /// Says why it ended early, and how to go on.
    pub(crate) fn say_end(&self, app: &App) {
        if let Some(report) = self.report.as_ref().filter(|report| report.is_mostly_empty()) {
            app.output.warn(format_args!(
                "warning: {}; {}",
                nothing_named(u64::from(report.empty_chunks), u64::from(report.extracted)),
                match app.config.models.extract {
                    Some(_) =>
                        "the model may be too small for the prompt: try another with `graphloom re-extract`",
                    None => "rules need sentences in a language they know: try a model with --llm",
                }
            ));
        }
        if self.interrupted {
            app.output.warn(GO_ON);
        }
        if let Some(what) = self.over_budget() {
            app.output.warn(format_args!(
                "stopped by the budget: {what}; run the same command again, with a larger budget or none, to go on"
            ));
        }
        if self.report.as_ref().is_some_and(|report| report.paused) {
            app.output.warn(PAUSED);
        }
    }

    /// Prints what happened, for people.
    ///
    /// - `again`: the command that tries what failed again.
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
                "{} could not be summarised: {}; `graphloom retry` tries again",
                count(report.stale, "description"),
                one_line(reason, 300)
            ))?;
        }
        for failure in self.failures.listed.iter().take(MOST_PRINTED) {
            let what = failure.chunk.map(|ordinal| format!(" chunk {ordinal}")).unwrap_or_default();
            output.trouble(format_args!(
                "failed: {}{what}: {}",
                plain(&failure.source),
                one_line(&failure.reason, 300)
            ))?;
        }
        let more = self.failures.total.saturating_sub(MOST_PRINTED as u64);
        if more > 0 {
            output.trouble(format_args!("and {more} more; `graphloom status` lists all"))?;
        }
        if self.failures.total > 0 {
            output.trouble(format_args!("`graphloom {again}` tries what failed again"))?;
        }
        if let Some(OfBudget { limit, spent }) = &self.budget {
            output.summary(format_args!("{spent} of the budget of {limit} spent"))?;
        }
        Ok(())
    }
}
