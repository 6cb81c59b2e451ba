//! Progress of a list of equal steps: a bar on a terminal, otherwise an occasional line.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::Output;

/// Minimum interval between lines if there is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Shows how many steps are done.
pub(crate) struct Meter {
    output: Output,
    what: String,
    all: usize,
    done: usize,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl Meter {
    /// - `what`: the activity, such as `asking`.
    pub(crate) fn new(output: Output, what: &str, all: usize) -> Self {
        let bar = output.bars.then(|| {
            let bar = ProgressBar::new(all as u64);
            let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {msg}, {eta} left");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar.set_prefix(what.to_owned());
            bar
        });
        Self { output, what: what.to_owned(), all, done: 0, last_line: Instant::now(), bar }
    }

    /// Counts a step.
    ///
    /// - `last`: the outcome of the step.
    pub(crate) fn step(&mut self, last: &str) {
        self.done += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_message(last.to_owned());
                bar.inc(1);
            }
            None if self.last_line.elapsed() >= PLAIN_INTERVAL => {
                self.last_line = Instant::now();
                self.output.note(format_args!("{}: {} of {}, {last}", self.what, self.done, self.all));
            }
            None => {}
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
