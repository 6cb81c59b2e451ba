//! Decides how many texts to embed at once, so that a slow embedder still commits every few seconds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maximum embedding time of one merge, in milliseconds: the work lost by an interruption.
const EMBED_MS: u64 = 5_000;
/// Minimum records per merge, because each merge costs a commit and entities shared between merges are embedded again.
const MIN_RECORDS: usize = 64;

/// Maximum embedding time of one step of a document, in milliseconds: how often progress is shown.
const STEP_MS: u64 = 1_500;
/// Minimum texts of such a step.
const MIN_TEXTS: usize = 8;
/// Texts of the first step, before the speed is known.
const FIRST_TEXTS: usize = 16;

/// The measured speed of the embedder in this run.
#[derive(Debug, Default)]
pub(in super::super) struct Pace {
    texts: AtomicU64,
    ms: AtomicU64,
    of_service: AtomicBool,
}

impl Pace {
    /// Records that `texts` were embedded in `ms` milliseconds.
    pub(in super::super) fn count(&self, texts: usize, ms: u64) {
        self.texts.fetch_add(texts as u64, Ordering::Relaxed);
        self.ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Records that a service computes the embeddings: it embeds many texts as fast as few.
    pub(super) fn note_service(&self) {
        self.of_service.store(true, Ordering::Relaxed);
    }

    /// Returns the texts for the next step of a document: `most`, or fewer if a model in this process would take longer than
    /// [`STEP_MS`].
    pub(super) fn texts(&self, most: usize) -> usize {
        let (texts, ms) = (self.texts.load(Ordering::Relaxed), self.ms.load(Ordering::Relaxed));
        match texts.saturating_mul(STEP_MS).checked_div(ms) {
            _ if self.of_service.load(Ordering::Relaxed) => most,
            None if texts == 0 => FIRST_TEXTS.min(most),
            None => most,
            Some(step) => usize::try_from(step).unwrap_or(usize::MAX).max(MIN_TEXTS).min(most),
        }
    }

    /// Returns the records for the next merge: `most`, or fewer if embedding them would take longer than [`EMBED_MS`]. A run that
    /// continues an interrupted document has no measurement yet, so its first merge is small.
    pub(in super::super) fn records(&self, most: usize) -> usize {
        let (texts, ms) = (self.texts.load(Ordering::Relaxed), self.ms.load(Ordering::Relaxed));
        match texts.saturating_mul(EMBED_MS).checked_div(ms) {
            None if texts == 0 => MIN_RECORDS.min(most),
            None => most,
            Some(records) => usize::try_from(records).unwrap_or(usize::MAX).max(MIN_RECORDS).min(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_embedder_gets_smaller_merges() {
        let pace = Pace::default();
        assert_eq!(pace.records(4096), MIN_RECORDS, "nothing has been measured yet");
        pace.count(100, 1_500);
        assert_eq!(pace.records(4096), 333);
        assert_eq!(pace.records(200), 200, "the limit holds");
        pace.count(0, 1_000_000);
        assert_eq!(pace.records(4096), MIN_RECORDS);
    }

    #[test]
    fn only_a_model_in_this_process_embeds_a_document_in_steps() {
        let pace = Pace::default();
        assert_eq!(pace.texts(128), FIRST_TEXTS, "nothing has been measured yet");
        pace.count(16, 1_600);
        assert_eq!((pace.texts(128), pace.texts(4)), (15, 4));
        pace.count(0, 1_000_000);
        assert_eq!(pace.texts(128), MIN_TEXTS);
        pace.note_service();
        assert_eq!(pace.texts(128), 128);
        let fast = Pace::default();
        fast.count(16, 0);
        assert_eq!(fast.texts(128), 128);
    }

    #[test]
    fn a_fast_embedder_gets_whole_merges() {
        let pace = Pace::default();
        pace.count(10_000, 900);
        assert_eq!(pace.records(4096), 4096);
    }
}
