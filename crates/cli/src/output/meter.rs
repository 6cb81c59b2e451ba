//! How far a list of equal steps is: a bar on a terminal, a line now and then elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::Output;

/// Without a terminal a line is printed at most this often.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Shows how many of so many steps are done.
pub(crate) struct Meter {
    output: Output,
    what: String,
    all: usize,
    done: usize,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl Meter {
    /// - `what`: what is done, such as `asking`.
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

    /// One more step is done.
    ///
    /// - `last`: what it was.
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
