//! Progress of indexing: bars on a terminal, plain lines elsewhere, JSON lines for programs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::{DocumentId, Progress, Stage};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::Output;
use super::meter::Meter;
use super::render::{count, ill, one_line, plain};

/// Without a terminal, a document's advance is printed at most this often.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);

/// Failures kept for the summary; the rest is counted, and `graphloom status` lists all.
const MOST_FAILURES: usize = 200;

/// Shows progress as it comes and remembers what failed.
pub(crate) struct ProgressView {
    output: Output,
    bars: MultiProgress,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bars: BTreeMap<DocumentId, ProgressBar>,
    settling: Option<ProgressBar>,
    last_line: Option<Instant>,
    /// Counts documents where they are too small and too many to be shown one by one.
    meter: Option<Meter>,
    failures: Vec<Failure>,
    failure_count: u64,
    broken: Option<anyhow::Error>,
}

/// A chunk or a document that failed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Failure {
    /// The document's source.
    pub(crate) source: String,
    /// The chunk's ordinal; `None` for the whole document.
    pub(crate) chunk: Option<u32>,
    /// Why.
    pub(crate) reason: String,
}

/// What failed while the view was shown.
#[derive(Debug, Default, serde::Serialize)]
pub(crate) struct Failures {
    /// The first of them.
    pub(crate) listed: Vec<Failure>,
    /// All of them.
    pub(crate) total: u64,
}

impl ProgressView {
    /// A view that prints as `output` says.
    pub(crate) fn new(output: Output) -> Self {
        Self { output, bars: MultiProgress::new(), state: Mutex::default() }
    }

    /// Shows one event.
    pub(crate) fn show(&self, progress: Progress) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.remember(&progress);
        if self.output.json
            && let Err(error) = self.output.json(&progress)
        {
            state.broken.get_or_insert(error);
        }
        if let Some(meter) = &mut state.meter {
            meter_on(meter, &progress);
        } else if self.output.bars {
            self.draw(&mut state, &progress);
        } else if !self.output.quiet && !self.output.json {
            self.print(&mut state, &progress);
        }
    }

    /// From here on shows how many of `documents` are done in place of each of them.
    pub(crate) fn count_documents(&self, documents: usize) {
        let meter = Meter::new(self.output, "indexing", documents);
        self.state.lock().unwrap_or_else(PoisonError::into_inner).meter = Some(meter);
    }

    /// Prints a line without tearing the bars.
    pub(crate) fn note(&self, text: &str) {
        if self.output.bars {
            self.bars.suspend(|| self.output.note(text));
        } else {
            self.output.note(text);
        }
    }

    /// Takes the bars away and returns what failed; an error where stdout broke on the way.
    pub(crate) fn finish(&self) -> anyhow::Result<Failures> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for bar in std::mem::take(&mut state.bars).into_values().chain(state.settling.take()) {
            bar.finish_and_clear();
        }
        state.meter = None;
        match state.broken.take() {
            Some(error) => Err(error),
            None => Ok(Failures { listed: std::mem::take(&mut state.failures), total: state.failure_count }),
        }
    }

    fn draw(&self, state: &mut State, progress: &Progress) {
        match progress {
            Progress::Accepted { .. } => {}
            Progress::Advanced { document, source, stage, done, total } => {
                let bar = state.bars.entry(document.clone()).or_insert_with(|| {
                    let bar = self.bars.add(ProgressBar::new(u64::from(*total)));
                    bar.set_style(bar_style());
                    bar.set_prefix(one_line(source, 40));
                    bar
                });
                bar.set_message(stage_name(*stage));
                bar.set_length(u64::from(*total));
                bar.set_position(u64::from(*done));
            }
            Progress::Settled { done, total } => {
                let bar = state.settling.get_or_insert_with(|| {
                    let bar = self.bars.add(ProgressBar::new(u64::from(*total)));
                    bar.set_style(bar_style());
                    bar.set_prefix("descriptions");
                    bar.set_message("renewing");
                    bar
                });
                bar.set_length(u64::from(*total));
                bar.set_position(u64::from(*done));
            }
            Progress::ChunkFailed { .. }
            | Progress::ChunkDamaged { .. }
            | Progress::ChunkUnsituated { .. }
            | Progress::Paused { .. }
            | Progress::Resumed { .. } => {
                self.bars.suspend(|| self.output.note(describe(progress)));
            }
            Progress::Finished { document, .. }
            | Progress::Cancelled { document, .. }
            | Progress::Failed { document, .. } => {
                if let Some(bar) = state.bars.remove(document) {
                    bar.finish_and_clear();
                    self.bars.remove(&bar);
                }
                self.bars.suspend(|| self.output.note(describe(progress)));
            }
        }
    }

    fn print(&self, state: &mut State, progress: &Progress) {
        if let Progress::Advanced { .. } | Progress::Settled { .. } = progress {
            let now = Instant::now();
            let last = *state.last_line.get_or_insert(now);
            if now.duration_since(last) < PLAIN_INTERVAL {
                return;
            }
            state.last_line = Some(now);
        }
        if !matches!(progress, Progress::Accepted { .. }) {
            self.output.note(describe(progress));
        }
    }
}

/// Counts what ends, and tells what a person has to know.
fn meter_on(meter: &mut Meter, progress: &Progress) {
    match progress {
        Progress::Finished { source, .. } => meter.step(&one_line(source, 40)),
        Progress::Cancelled { source, .. } | Progress::Failed { source, .. } => {
            meter.step(&one_line(source, 40));
            meter.note(&describe(progress));
        }
        Progress::ChunkFailed { .. }
        | Progress::ChunkDamaged { .. }
        | Progress::ChunkUnsituated { .. }
        | Progress::Paused { .. }
        | Progress::Resumed { .. } => meter.note(&describe(progress)),
        Progress::Accepted { .. } | Progress::Advanced { .. } | Progress::Settled { .. } => {}
    }
}

impl State {
    fn remember(&mut self, progress: &Progress) {
        let failure = match progress {
            Progress::ChunkFailed { source, ordinal, reason, .. }
            | Progress::ChunkDamaged { source, ordinal, reason, .. }
            | Progress::ChunkUnsituated { source, ordinal, reason, .. } => {
                Failure { source: source.clone(), chunk: Some(*ordinal), reason: reason.clone() }
            }
            Progress::Failed { source, reason, .. } => {
                Failure { source: source.clone(), chunk: None, reason: reason.clone() }
            }
            Progress::Accepted { .. }
            | Progress::Advanced { .. }
            | Progress::Finished { .. }
            | Progress::Cancelled { .. }
            | Progress::Settled { .. }
            | Progress::Paused { .. }
            | Progress::Resumed { .. } => return,
        };
        self.failure_count += 1;
        if self.failures.len() < MOST_FAILURES {
            self.failures.push(failure);
        }
    }
}

fn describe(progress: &Progress) -> String {
    match progress {
        Progress::Accepted { source, .. } => format!("accepted {}", plain(source)),
        Progress::Advanced { source, stage, done, total, .. } => {
            format!("{}: {} {done} of {total}", plain(source), stage_name(*stage))
        }
        Progress::ChunkFailed { source, ordinal, reason, .. } => {
            format!("{}: chunk {ordinal} failed: {}", plain(source), one_line(reason, 300))
        }
        Progress::ChunkDamaged { source, ordinal, reason, .. } => {
            format!("{}: chunk {ordinal} damaged: {}", plain(source), one_line(reason, 300))
        }
        Progress::ChunkUnsituated { source, ordinal, reason, .. } => {
            format!("{}: chunk {ordinal} not situated: {}", plain(source), one_line(reason, 300))
        }
        Progress::Finished { source, chunks, failed: 0, damaged: 0, unsituated: 0, .. } => {
            format!("{}: done, {}", plain(source), count(*chunks, "chunk"))
        }
        Progress::Finished { source, chunks, failed, damaged, unsituated, .. } => {
            format!("{}: done, {}", plain(source), ill(*failed, *damaged, *unsituated, *chunks))
        }
        Progress::Cancelled { source, .. } => format!("{}: cancelled", plain(source)),
        Progress::Settled { done, total } => format!("descriptions: renewing {done} of {total}"),
        Progress::Failed { source, reason, .. } => {
            format!("{}: failed: {}", plain(source), one_line(reason, 300))
        }
        Progress::Paused { service, reason, retry_in_ms } => {
            let (service, seconds) = (plain(service), retry_in_ms.div_ceil(1000));
            format!("waiting for {service}, trying again in {seconds} s: {}", one_line(reason, 300))
        }
        Progress::Resumed { service } => format!("{} answers again, going on", plain(service)),
    }
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Situate => "situating",
        Stage::Chunk => "chunking",
        Stage::Extract => "reading",
        Stage::Merge => "merging",
    }
}

fn bar_style() -> ProgressStyle {
    ProgressStyle::with_template("{prefix:40!} {msg:9} [{bar:30}] {pos}/{len}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_service_is_told_with_its_reason() {
        let service = "api.example".to_owned();
        let reason = "model x failed (status 503): busy".to_owned();
        let paused = Progress::Paused { service: service.clone(), reason, retry_in_ms: 4_001 };
        assert_eq!(
            describe(&paused),
            "waiting for api.example, trying again in 5 s: model x failed (status 503): busy"
        );
        assert_eq!(describe(&Progress::Resumed { service }), "api.example answers again, going on");
    }
}
