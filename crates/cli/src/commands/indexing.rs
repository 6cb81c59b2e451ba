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
    match outcome {
        Some(Ok(report)) => {
            indexing.catch_up().await;
            Ok(Ran { report: Some(report), failures, interrupted: false })
        }
        Some(Err(error)) => Err(error.into()),
        None => Ok(Ran { report: None, failures, interrupted: true }),
    }
}

impl Ran {
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
        Ok(())
    }
}
