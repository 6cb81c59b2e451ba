//! Progress of a run in one line: documents done, rate, time left, cost, failures, and the current document.

use std::collections::BTreeMap;
use std::time::Duration;

use graphloom_core::{DocumentId, Progress, Stage};

use super::render::{count, shortened_path};

/// No rate is shown before this time, since it would fluctuate.
const RATE_AFTER: Duration = Duration::from_secs(2);

/// Totals of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Documents that were queued when the run started.
    expected: usize,
    done: usize,
    failed_documents: usize,
    ill_chunks: usize,
    open: BTreeMap<DocumentId, Open>,
    /// How many documents earlier runs had read, counting parts. They say nothing about the speed of this run.
    read_before: f64,
    work: Option<Work>,
    cost: Option<String>,
}

/// How much of a document in progress is done, from 0 to 1.
#[derive(Debug, Default)]
struct Open {
    /// Of everything, for the bar.
    share: f64,
    /// Of reading it, for the time left. Embedding does not count: how much of the time it takes depends on the embedder.
    read: Option<f64>,
}

/// The step in progress.
#[derive(Debug)]
struct Work {
    what: String,
    source: String,
}

impl Tally {
    /// Returns an empty tally for a run over this many documents.
    pub(crate) fn of(documents: usize) -> Self {
        Self { expected: documents, ..Self::default() }
    }

    /// Counts one event.
    pub(crate) fn take(&mut self, progress: &Progress) {
        match progress {
            Progress::Advanced { document, source, stage, done, total } => {
                let open = self.open.entry(document.clone()).or_default();
                // Merging starts over, but the bar does not go back.
                open.share = open.share.max(share(*stage, *done, *total));
                if let Some(read) = read(*stage, *done, *total) {
                    if open.read.is_none() {
                        // The first answer is of this run.
                        self.read_before += read - 1.0 / f64::from((*total).max(1));
                    }
                    open.read = Some(read);
                }
                let what = format!("{} {done}/{total}", stage_name(*stage));
                self.work = Some(Work { what, source: source.clone() });
            }
            Progress::Finished { document, .. } | Progress::Cancelled { document, .. } => {
                self.end(document);
            }
            Progress::Failed { document, .. } => {
                self.end(document);
                self.failed_documents += 1;
            }
            Progress::ChunkFailed { .. }
            | Progress::ChunkDamaged { .. }
            | Progress::ChunkWithoutContext { .. } => self.ill_chunks += 1,
            Progress::Settled { done, total } => {
                let what = format!("summarizing {done}/{total}");
                self.work = Some(Work { what, source: String::new() });
            }
            Progress::Derived { layer, done, total } => {
                let what = format!("deriving {done}/{total}");
                self.work = Some(Work { what, source: layer.to_string() });
            }
            Progress::Accepted { .. } | Progress::Paused { .. } | Progress::Resumed { .. } => {}
        }
    }

    /// Sets the cost of the run so far, formatted.
    pub(crate) fn costs(&mut self, cost: String) {
        self.cost = Some(cost);
    }

    fn end(&mut self, document: &DocumentId) {
        self.open.remove(document);
        self.done += 1;
    }

    /// Returns the number of documents in the run; more than expected if others were added in the meantime.
    pub(crate) fn all(&self) -> usize {
        self.expected.max(self.done + self.open.len())
    }

    /// Returns the number of documents done, counting a document in progress as a fraction.
    pub(crate) fn position(&self) -> f64 {
        self.done as f64 + self.open.values().map(|open| open.share).sum::<f64>()
    }

    /// Returns the number of documents read, counting parts.
    fn read(&self) -> f64 {
        self.done as f64 + self.open.values().filter_map(|open| open.read).sum::<f64>()
    }

    /// Formats the line, at most `columns` wide: `37 of 112 documents, 2.1/s, 36 s left, 2 failed  reading 3/12 docs/…/name.md`.
    /// The first part is never cut.
    pub(crate) fn line(&self, elapsed: Duration, columns: usize) -> String {
        let mut line = format!("{} of {}", self.done, count(self.all() as u64, "document"));
        let mut add = |part: String| {
            if line.chars().count() + part.chars().count() + 2 <= columns {
                line.push_str(", ");
                line.push_str(&part);
            }
        };
        let read = self.read();
        let in_this_run = read - self.read_before;
        if elapsed >= RATE_AFTER && in_this_run > 0.0 {
            let each_second = in_this_run / elapsed.as_secs_f64();
            add(rate(each_second));
            let left = (self.all() as f64 - read) / each_second;
            if self.done < self.all() {
                add(format!("{} left", duration(Duration::from_secs_f64(left.min(1e9)))));
            }
        }
        if let Some(cost) = &self.cost {
            add(cost.clone());
        }
        match (self.failed_documents, self.ill_chunks) {
            (0, 0) => {}
            (0, chunks) => add(format!("{} failed", count(chunks as u64, "chunk"))),
            (documents, _) => add(format!("{documents} failed")),
        }
        let room = columns.saturating_sub(line.chars().count() + 2);
        if let Some(Work { what, source }) = &self.work {
            // The file name is shown whole or not at all. If there is no room for both, it takes precedence over
            // the stage.
            let name = source.rsplit('/').next().unwrap_or_default().chars().count();
            let stage = what.chars().count();
            if room >= stage + name + 3 {
                line = format!("{line}  {what} {}", shortened_path(source, room - stage - 1));
            } else if name > 0 && room >= name + 2 {
                line = format!("{line}  {}", shortened_path(source, room));
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Returns the fraction of a document's work that is done; extraction counts most.
fn share(stage: Stage, done: u32, total: u32) -> f64 {
    let part = f64::from(done) / f64::from(total.max(1));
    match stage {
        Stage::Contextualize => 0.2 * part,
        Stage::Chunk => 0.2 + 0.2 * part,
        Stage::Extract => 0.4 + 0.5 * part,
        Stage::Merge => 0.4 + 0.6 * part,
    }
}

/// Returns the fraction of a document that is read, in the stages that read it: an LLM extracts, or rules read during the merge.
fn read(stage: Stage, done: u32, total: u32) -> Option<f64> {
    let is_read = match stage {
        Stage::Contextualize | Stage::Chunk => false,
        Stage::Extract | Stage::Merge => done > 0,
    };
    is_read.then(|| f64::from(done) / f64::from(total.max(1)))
}

pub(crate) fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Contextualize => "context",
        Stage::Chunk => "embedding",
        Stage::Extract => "reading",
        Stage::Merge => "merging",
    }
}

fn rate(each_second: f64) -> String {
    match each_second {
        fast if fast >= 1.0 => format!("{fast:.1}/s"),
        slow if slow * 60.0 >= 1.0 => format!("{:.1}/min", slow * 60.0),
        slow => format!("{:.1}/h", slow * 3600.0),
    }
}

/// Formats a duration: `36 s`, `4 min`, `1 h 20 min`, `3 days`.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=99 => format!("{} s", seconds.max(1)),
        100..=5_999 => format!("{} min", seconds.div_ceil(60)),
        6_000..=172_799 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advanced(source: &str, stage: Stage, done: u32, total: u32) -> Progress {
        let document = DocumentId::from_stored(source.to_owned());
        Progress::Advanced { document, source: source.to_owned(), stage, done, total }
    }

    fn finished(source: &str) -> Progress {
        let document = DocumentId::from_stored(source.to_owned());
        let source = source.to_owned();
        Progress::Finished { document, source, chunks: 3, failed: 0, damaged: 0, without_context: 0 }
    }

    fn check_line(all: usize, events: &[Progress], seconds: u64, columns: usize) -> String {
        let mut tally = Tally::of(all);
        events.iter().for_each(|event| tally.take(event));
        tally.line(Duration::from_secs(seconds), columns)
    }

    #[test]
    fn the_line_shows_the_document_count_rate_and_time_left() {
        let events = [finished("a.md"), finished("b.md")];
        assert_eq!(check_line(10, &events, 4, 80), "2 of 10 documents, 30.0/min, 16 s left");
        assert_eq!(check_line(10, &events, 1, 80), "2 of 10 documents");
        assert_eq!(check_line(2, &events, 1000, 80), "2 of 2 documents, 7.2/h");
    }

    #[test]
    fn a_partly_processed_document_counts_towards_the_rate() {
        let events = [advanced("a.md", Stage::Extract, 1, 10), advanced("a.md", Stage::Extract, 5, 10)];
        assert_eq!(check_line(1, &events, 10, 50), "0 of 1 document, 3.0/min, 10 s left  a.md");
    }

    #[test]
    fn work_of_an_earlier_run_does_not_count_towards_the_rate() {
        let events = [advanced("a.md", Stage::Extract, 51, 100), advanced("a.md", Stage::Extract, 60, 100)];
        assert_eq!(check_line(1, &events, 10, 50), "0 of 1 document, 36.0/h, 40 s left  a.md");
    }

    #[test]
    fn no_time_left_is_shown_while_chunks_are_only_embedded() {
        let embedded = |name: &str| advanced(name, Stage::Chunk, 5, 5);
        let events = [embedded("a.md"), embedded("b.md"), advanced("b.md", Stage::Merge, 0, 5)];
        assert_eq!(check_line(9, &events, 60, 50), "0 of 9 documents  merging 0/5 b.md");
    }

    #[test]
    fn the_bar_does_not_move_back_when_merging_begins() {
        let mut tally = Tally::of(1);
        tally.take(&advanced("a.md", Stage::Extract, 10, 10));
        let before = tally.position();
        tally.take(&advanced("a.md", Stage::Merge, 1, 10));
        assert_eq!(tally.position(), before);
    }

    #[test]
    fn the_name_of_the_current_file_is_shown_whole_if_there_is_room() {
        let events = [advanced("work/rust/src/ch17-01-futures.md", Stage::Extract, 2, 10)];
        assert_eq!(
            check_line(12, &events, 1, 60),
            "0 of 12 documents  reading 2/10 work/…/ch17-01-futures.md"
        );
        assert_eq!(check_line(12, &events, 1, 40), "0 of 12 documents  …/ch17-01-futures.md");
        assert_eq!(check_line(12, &events, 1, 30), "0 of 12 documents");
    }

    #[test]
    fn failures_and_costs_are_shown() {
        let mut tally = Tally::of(3);
        let document = DocumentId::from_stored("a.md".to_owned());
        let (source, reason) = ("a.md".to_owned(), "busy".to_owned());
        tally.take(&Progress::Failed { document, source, reason });
        tally.costs("costs 0.0100".to_owned());
        assert_eq!(tally.line(Duration::from_secs(1), 80), "1 of 3 documents, costs 0.0100, 1 failed");
    }

    #[test]
    fn durations_are_shown_in_a_fitting_unit() {
        let told = [0, 36, 240, 4_800, 90_000, 400_000].map(|s| duration(Duration::from_secs(s)));
        assert_eq!(told, ["1 s", "36 s", "4 min", "80 min", "25 h 0 min", "5 days"]);
    }
}
