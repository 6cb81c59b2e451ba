//! Reports a run: counts in its report, and progress while it runs.

use graphloom_core::{ChunkExtraction, Document, Extraction, Progress, Stage};

use super::{ExtractedDocument, Run};
use crate::extract::LEFT_OUT;
use crate::index::RunReport;

impl Run<'_> {
    pub(super) fn count(&self, change: impl FnOnce(&mut RunReport)) {
        if let Ok(mut report) = self.report.lock() {
            change(&mut report);
        }
    }

    pub(in super::super) fn tell(&self, progress: Progress) {
        (self.progress)(progress);
    }

    pub(super) fn over_budget(&self, what: String) {
        self.count(|report| {
            report.over_budget.get_or_insert(what);
        });
    }

    pub(super) fn paused(&self) {
        self.count(|report| report.paused = true);
    }

    pub(super) fn note_stop_request(&self) {
        self.count(|report| report.stopped = true);
    }

    /// True if no more jobs are claimed: the budget is used up, the queue is paused, or the run was asked to stop or
    /// ends with an error.
    pub(in super::super) fn is_stopping(&self) -> bool {
        self.stop.is_made()
            || self
                .report
                .lock()
                .is_ok_and(|report| report.over_budget.is_some() || report.paused || report.stopped)
    }

    /// Counts extractions, and those that name nothing. Chunks left out on purpose do not count as empty.
    pub(super) fn extracted<'a>(&self, extractions: impl Iterator<Item = &'a Extraction>) {
        self.count(|report| {
            for extraction in extractions {
                let is_empty = extraction.records.name_nothing() && extraction.model != LEFT_OUT;
                report.extracted += 1;
                report.empty_chunks += u32::from(is_empty);
            }
        });
    }

    pub(super) fn finished(&self, ready: &ExtractedDocument) {
        let count = |of: fn(&ChunkExtraction) -> bool| {
            ready.chunks.iter().filter(|chunk| of(&chunk.extraction)).count() as u32
        };
        let failed = count(|extraction| matches!(extraction, ChunkExtraction::Failed { .. }));
        let damaged = count(|extraction| matches!(extraction, ChunkExtraction::Damaged { .. }));
        let without_context = ready.without_context;
        self.count(|report| {
            report.finished += 1;
            report.incomplete += u32::from(failed + damaged + without_context > 0);
        });
        let (document, source) = (ready.document.id.clone(), ready.document.source.clone());
        let chunks = ready.chunks.len() as u32;
        (self.progress)(Progress::Finished { document, source, chunks, failed, damaged, without_context });
    }

    pub(super) fn stopped(&self, document: &Document, reason: String) {
        self.count(|report| report.failed += 1);
        (self.progress)(Progress::Failed {
            document: document.id.clone(),
            source: document.source.clone(),
            reason,
        });
    }

    pub(super) fn chunk_failed(&self, document: &Document, ordinal: u32, reason: &str) {
        let (document, source) = (document.id.clone(), document.source.clone());
        (self.progress)(Progress::ChunkFailed { document, source, ordinal, reason: reason.to_owned() });
    }

    pub(super) fn chunk_damaged(&self, document: &Document, ordinal: u32, reason: &str) {
        let (document, source) = (document.id.clone(), document.source.clone());
        (self.progress)(Progress::ChunkDamaged { document, source, ordinal, reason: reason.to_owned() });
    }

    pub(super) fn chunk_without_context(&self, document: &Document, ordinal: u32, reason: &str) {
        self.count(|report| report.chunks_without_context += 1);
        let (document, source) = (document.id.clone(), document.source.clone());
        (self.progress)(Progress::ChunkWithoutContext {
            document,
            source,
            ordinal,
            reason: reason.to_owned(),
        });
    }

    pub(in super::super) fn advanced(&self, document: &Document, stage: Stage, done: usize, total: usize) {
        let (document, source) = (document.id.clone(), document.source.clone());
        (self.progress)(Progress::Advanced {
            document,
            source,
            stage,
            done: done as u32,
            total: total as u32,
        });
    }
}
