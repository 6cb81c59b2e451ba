//! Running the indexing pipeline with progress and Ctrl-C, as `add` and `retry` do.

use std::sync::Arc;

use graphloom_core::Progress;
use graphloom_engine::index::{self, RunReport};
use graphloom_providers::http::{ServiceListener, ServiceNotice};
use serde::Serialize;

use super::App;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::output::progress::{Failures, ProgressView};
use crate::output::render::{count, one_line, plain};
use crate::wire::{self, Indexing};

/// Failures printed in a summary; `graphloom status` lists all.
const MOST_PRINTED: usize = 20;

/// What is said after Ctrl-C.
pub(crate) const GO_ON: &str = "stopped; run the same command to go on";

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
    pub(crate) budget: Option<Spent>,
}

/// A budget and what was spent of it.
#[derive(Debug, Serialize)]
pub(crate) struct Spent {
    /// The limit, as people read it.
    pub(crate) limit: String,
    /// The same unit.
    pub(crate) spent: String,
}

/// Says that the budget ended the run.
pub(crate) fn say_over_budget(app: &App, what: &str) {
    app.output.warn(format_args!(
        "stopped by the budget: {what}; run the same command again, with a larger budget or none, to go on"
    ));
}

/// Shows in `view` which model services are waited for.
pub(crate) fn listener(view: &Arc<ProgressView>) -> ServiceListener {
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
    let outcome = tokio::select! {
        outcome = index::run(&indexing.engine, &show, &gone) => Some(outcome),
        () = interrupt.wait() => None,
    };
    let failures = view.finish()?;
    let budget = indexing
        .budget
        .as_ref()
        .map(|budget| Spent { limit: budget.limit().to_string(), spent: budget.spent() });
    match outcome {
        Some(Ok(report)) => {
            indexing.catch_up().await;
            Ok(Ran { report: Some(report), failures, interrupted: false, budget })
        }
        Some(Err(error)) => Err(error.into()),
        None => Ok(Ran { report: None, failures, interrupted: true, budget }),
    }
}

impl Ran {
    /// What was spent when the first call did not fit the budget.
    pub(crate) fn over_budget(&self) -> Option<&str> {
        self.report.as_ref()?.over_budget.as_deref()
    }

    /// Prints what happened, for people.
    pub(crate) fn print(&self, app: &App) -> anyhow::Result<()> {
        let output: &Output = &app.output;
        if let Some(report) = self.report.as_ref().filter(|report| report.finished + report.failed > 0) {
            let mut parts = vec![format!("{} in the graph", count(report.finished, "document"))];
            if report.reused > 0 {
                parts.push(format!("{} reused", count(report.reused, "chunk")));
            }
            if report.failed > 0 {
                parts.push(format!("{} stopped", count(report.failed, "document")));
            }
            output.line(parts.join(", "))?;
        }
        if let Some(report) = self.report.as_ref().filter(|report| report.stale > 0) {
            let reason = report.stale_reason.as_deref().unwrap_or("they were interrupted");
            output.line(format_args!(
                "{} could not be summarised: {}; `graphloom retry` tries again",
                count(report.stale, "description"),
                one_line(reason, 300)
            ))?;
        }
        for failure in self.failures.listed.iter().take(MOST_PRINTED) {
            let what = failure.chunk.map(|ordinal| format!(" chunk {ordinal}")).unwrap_or_default();
            output.line(format_args!(
                "failed: {}{what}: {}",
                plain(&failure.source),
                one_line(&failure.reason, 300)
            ))?;
        }
        let more = self.failures.total.saturating_sub(MOST_PRINTED as u64);
        if more > 0 {
            output.line(format_args!("and {more} more; `graphloom status` lists all"))?;
        }
        if self.failures.total > 0 {
            output.line("`graphloom retry` tries what failed again")?;
        }
        if let Some(Spent { limit, spent }) = &self.budget {
            output.line(format_args!("{spent} of the budget of {limit} spent"))?;
        }
        Ok(())
    }
}
