//! Progress of indexing: one line on a terminal, otherwise an occasional line, or JSON lines.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::Progress;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::render::{count, ill, name, one_line, plain, shortened_path};
use super::tally::{Tally, stage_name};
use super::{Output, terminal};

/// Minimum interval between lines if there is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Line width if there is no terminal.
const PLAIN_COLUMNS: usize = 120;

/// Width of the bar and the time before the message, plus one column.
const BAR_COLUMNS: usize = 22;

/// Steps of the bar; more than the documents, so that parts of a document move it.
const BAR_STEPS: u64 = 1000;

/// Redraw interval.
const TICK: Duration = Duration::from_millis(250);

/// Failures kept for the summary. The rest is only counted; `graphloom status` lists all.
const MOST_FAILURES: usize = 200;

/// Shows progress and collects failures.
pub(crate) struct ProgressView {
    output: Output,
    state: Mutex<State>,
    /// Drawn again at each tick, so that the rate and the time left follow the clock. Never locked while the bar is used.
    shown: Arc<Mutex<Shown>>,
}

/// What the line shows.
#[derive(Default)]
enum Shown {
    #[default]
    Nothing,
    /// Files are being read: how many so far, and the latest one.
    Reading(u64, String),
    /// A run, and when it began.
    Indexing(Tally, Instant),
}

impl Shown {
    fn line(&self, columns: usize) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Reading(files, source) => {
                let message = format!("{} found", count(*files, "file"));
                let room = columns.saturating_sub(message.chars().count() + 2);
                format!("{message}  {}", shortened_path(source, room))
            }
            Self::Indexing(tally, began) => tally.line(began.elapsed(), columns),
        }
    }

    /// Returns how much of the bar is filled, in steps.
    fn steps(&self) -> u64 {
        match self {
            Self::Nothing | Self::Reading(..) => 0,
            Self::Indexing(tally, _) => {
                (tally.position() / tally.all().max(1) as f64 * BAR_STEPS as f64) as u64
            }
        }
    }
}

#[derive(Default)]
struct State {
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
    failures: Vec<Failure>,
    failure_count: u64,
    broken: Option<anyhow::Error>,
}

/// A chunk or a document that failed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Failure {
    /// Source of the document.
    pub(crate) source: String,
    /// Ordinal of the chunk; `None` if the whole document failed.
    pub(crate) chunk: Option<u32>,
    pub(crate) reason: String,
}

/// Failures of a run.
#[derive(Debug, Default, serde::Serialize)]
pub(crate) struct Failures {
    /// The first failures.
    pub(crate) listed: Vec<Failure>,
    /// Number of all failures.
    pub(crate) total: u64,
}

impl ProgressView {
    /// Creates a view that prints according to `output`.
    pub(crate) fn new(output: Output) -> Self {
        Self { output, state: Mutex::default(), shown: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Shows that files are being read, before indexing starts.
    ///
    /// - `files`: number of files so far.
    /// - `source`: the latest one.
    pub(crate) fn reading(&self, files: u64, source: &str) {
        let mut state = self.state();
        *locked(&self.shown) = Shown::Reading(files, source.to_owned());
        if self.output.bars {
            self.draw(&mut state);
        } else if self.is_due(&mut state) {
            self.output.note(locked(&self.shown).line(PLAIN_COLUMNS));
        }
    }

    /// Starts to show how many of `documents` are done.
    pub(crate) fn expect(&self, documents: usize) {
        let mut state = self.state();
        *locked(&self.shown) = Shown::Indexing(Tally::of(documents), Instant::now());
        self.show_line(&mut state);
    }

    /// Shows the cost of the run so far.
    pub(crate) fn costs(&self, cost: String) {
        let mut state = self.state();
        if let Shown::Indexing(tally, _) = &mut *locked(&self.shown) {
            tally.costs(cost);
        }
        self.show_line(&mut state);
    }

    /// Shows one event.
    pub(crate) fn show(&self, progress: Progress) {
        let mut state = self.state();
        state.remember(&progress);
        if self.output.json
            && let Err(error) = self.output.json(&progress)
        {
            state.broken.get_or_insert(error);
        }
        if let Shown::Indexing(tally, _) = &mut *locked(&self.shown) {
            tally.take(&progress);
        }
        if self.is_printed_at_once(&progress) {
            self.tell(&state, &describe(&progress));
        }
        self.show_line(&mut state);
    }

    /// Prints a line without breaking the bar.
    pub(crate) fn note(&self, text: &str) {
        self.tell(&self.state(), text);
    }

    /// Removes the bar and returns the failures; fails if printing failed earlier.
    pub(crate) fn finish(&self) -> anyhow::Result<Failures> {
        let mut state = self.state();
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
        *locked(&self.shown) = Shown::Nothing;
        state.last_line = None;
        let failures = Failures {
            listed: std::mem::take(&mut state.failures),
            total: std::mem::take(&mut state.failure_count),
        };
        state.broken.take().map_or(Ok(failures), Err)
    }

    /// True if an event is printed immediately: always when a run waits for a service, other events only with `--verbose`. The
    /// summary contains the rest.
    fn is_printed_at_once(&self, progress: &Progress) -> bool {
        match progress {
            Progress::Paused { .. } | Progress::Resumed { .. } => self.output.bars || !self.output.json,
            Progress::ChunkFailed { .. }
            | Progress::ChunkDamaged { .. }
            | Progress::ChunkWithoutContext { .. }
            | Progress::Finished { .. }
            | Progress::Cancelled { .. }
            | Progress::Failed { .. } => self.output.verbose && !self.output.json,
            Progress::Accepted { .. }
            | Progress::Advanced { .. }
            | Progress::Settled { .. }
            | Progress::Derived { .. } => false,
        }
    }

    fn tell(&self, state: &State, text: &str) {
        match &state.bar {
            Some(bar) => bar.suspend(|| self.output.note(text)),
            None => self.output.note(text),
        }
    }

    fn show_line(&self, state: &mut State) {
        let Shown::Indexing(_, began) = *locked(&self.shown) else { return };
        if self.output.bars {
            self.draw(state);
        } else if !self.output.json && self.is_due_after(state.last_line.unwrap_or(began)) {
            state.last_line = Some(Instant::now());
            self.output.note(format_args!("indexing: {}", locked(&self.shown).line(PLAIN_COLUMNS)));
        }
    }

    fn draw(&self, state: &mut State) {
        let steps = locked(&self.shown).steps();
        let bar = state.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(BAR_STEPS);
            bar.set_style(bar_style(Arc::clone(&self.shown)));
            bar.enable_steady_tick(TICK);
            bar
        });
        bar.set_position(steps);
    }

    fn is_due(&self, state: &mut State) -> bool {
        let last = *state.last_line.get_or_insert_with(Instant::now);
        let due = !self.output.json && self.is_due_after(last);
        if due {
            state.last_line = Some(Instant::now());
        }
        due
    }

    fn is_due_after(&self, last: Instant) -> bool {
        last.elapsed() >= PLAIN_INTERVAL
    }
}

/// Returns the width left beside the bar and the time.
fn columns_of_message() -> usize {
    let columns = terminal::columns_of_stderr().unwrap_or(PLAIN_COLUMNS);
    columns.saturating_sub(BAR_COLUMNS)
}

impl State {
    fn remember(&mut self, progress: &Progress) {
        let failure = match progress {
            Progress::ChunkFailed { source, ordinal, reason, .. }
            | Progress::ChunkDamaged { source, ordinal, reason, .. }
            | Progress::ChunkWithoutContext { source, ordinal, reason, .. } => {
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
            | Progress::Derived { .. }
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
        Progress::Accepted { source, .. } => format!("accepted {}", name(source)),
        Progress::Advanced { source, stage, done, total, .. } => {
            format!("{}: {} {done} of {total}", name(source), stage_name(*stage))
        }
        Progress::ChunkFailed { source, ordinal, reason, .. } => {
            format!("{}: chunk {ordinal} failed: {}", name(source), one_line(reason, 300))
        }
        Progress::ChunkDamaged { source, ordinal, reason, .. } => {
            format!("{}: chunk {ordinal} damaged: {}", name(source), one_line(reason, 300))
        }
        Progress::ChunkWithoutContext { source, ordinal, reason, .. } => {
            format!("{}: chunk {ordinal} has no context: {}", name(source), one_line(reason, 300))
        }
        Progress::Finished { source, chunks, failed: 0, damaged: 0, without_context: 0, .. } => {
            format!("{}: done, {}", name(source), count(*chunks, "chunk"))
        }
        Progress::Finished { source, chunks, failed, damaged, without_context, .. } => {
            format!("{}: done, {}", name(source), ill(*failed, *damaged, *without_context, *chunks))
        }
        Progress::Cancelled { source, .. } => format!("{}: cancelled", name(source)),
        Progress::Settled { done, total } => format!("descriptions: updating {done} of {total}"),
        Progress::Derived { layer, done, total } => format!("{layer}: {done} of {total}"),
        Progress::Failed { source, reason, .. } => {
            format!("{}: failed: {}", name(source), one_line(reason, 300))
        }
        Progress::Paused { service, reason, retry_in_ms } => {
            let (service, seconds) = (plain(service), retry_in_ms.div_ceil(1000));
            format!("waiting for {service}, trying again in {seconds} s: {}", one_line(reason, 300))
        }
        Progress::Resumed { service } => format!("{} is available again, continuing", plain(service)),
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bar_style(shown: Arc<Mutex<Shown>>) -> ProgressStyle {
    let line = move |_: &ProgressState, out: &mut dyn fmt::Write| {
        // Nothing can be done about a line that cannot be drawn.
        let _ = out.write_str(&locked(&shown).line(columns_of_message()));
    };
    ProgressStyle::with_template("[{bar:12}] {elapsed:>4} {line}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("line", line)
        .progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_service_is_reported_with_the_reason() {
        let service = "api.example".to_owned();
        let reason = "model x failed (status 503): busy".to_owned();
        let paused = Progress::Paused { service: service.clone(), reason, retry_in_ms: 4_001 };
        assert_eq!(
            describe(&paused),
            "waiting for api.example, trying again in 5 s: model x failed (status 503): busy"
        );
        assert_eq!(describe(&Progress::Resumed { service }), "api.example is available again, continuing");
    }
}
