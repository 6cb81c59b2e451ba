//! The state of the current or latest run of a workspace, as clients see it.

use std::collections::{BTreeMap, VecDeque};

use graphloom_core::{DocumentId, Progress, Timestamp};

use crate::reasons::Reasons;

/// Maximum messages kept [LightRAG].
const MAX_MESSAGES: usize = 1000;

/// The state of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pipeline {
    /// Whether a run is in progress.
    pub(crate) busy: bool,
    /// When the latest run started.
    pub(crate) started_at: Option<Timestamp>,
    /// Number of documents in the run so far.
    pub(crate) documents: usize,
    /// Number of documents that are finished, with any outcome.
    pub(crate) done: usize,
    /// Documents in the run, and whether each is finished.
    pub(super) at: BTreeMap<DocumentId, bool>,
    /// Messages, latest last.
    pub(crate) messages: VecDeque<Message>,
    /// Whether there was nothing to do at the last check, and no notification has arrived since.
    pub(super) idle: bool,
    /// Number of notifications.
    pub(super) woken: u64,
    /// Whether the worker has ended for good.
    pub(super) closed: bool,
}

/// A message of a run.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    what: String,
    /// The reason, for a failure.
    reason: Option<String>,
}

impl Message {
    /// Returns the message as a caller may see it.
    pub(crate) fn for_caller(self, reasons: Reasons) -> String {
        let Self { what, reason } = self;
        match reason {
            Some(reason) => format!("{what}: {}", reasons.tell(reason)),
            None => what,
        }
    }
}

impl Pipeline {
    pub(super) fn say(&mut self, what: String) {
        self.push(Message { what, reason: None });
    }

    pub(super) fn say_why(&mut self, what: String, reason: String) {
        self.push(Message { what, reason: Some(reason) });
    }

    fn push(&mut self, message: Message) {
        if self.messages.len() >= MAX_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(message);
    }

    fn see(&mut self, document: &DocumentId, is_done: bool) {
        let before = self.at.get(document).copied();
        self.documents += usize::from(before.is_none());
        self.done += usize::from(is_done && before != Some(true));
        // A finished document stays finished while its chunks get a new context.
        self.at.insert(document.clone(), is_done || before == Some(true));
    }

    pub(super) fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Accepted { .. } | Progress::Settled { .. } | Progress::Derived { .. } => {}
            Progress::Advanced { document, source, done, total, .. } => {
                let is_new = !self.at.contains_key(&document);
                self.see(&document, false);
                if is_new || done == total {
                    self.say(format!("{source}: {done} of {total} chunks"));
                }
            }
            Progress::ChunkFailed { source, ordinal, reason, .. } => {
                self.say_why(format!("{source}: chunk {ordinal} failed"), reason);
            }
            Progress::ChunkDamaged { source, ordinal, reason, .. } => {
                self.say(format!("{source}: chunk {ordinal} lost records: {reason}"));
            }
            Progress::ChunkWithoutContext { source, ordinal, reason, .. } => {
                self.say_why(format!("{source}: chunk {ordinal} has no context"), reason);
            }
            Progress::Finished { document, source, .. } => {
                self.see(&document, true);
                self.say(format!("{source}: in the graph"));
            }
            Progress::Cancelled { document, source } => {
                self.see(&document, true);
                self.say(format!("{source}: cancelled"));
            }
            Progress::Failed { document, source, reason } => {
                self.see(&document, true);
                self.say_why(format!("{source}: stopped"), reason);
            }
            Progress::Paused { service, reason, .. } => {
                self.say_why("waiting for a model service".to_owned(), format!("{service}: {reason}"));
            }
            Progress::Resumed { .. } => self.say("the model service is available again".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_counts_once_and_old_messages_are_dropped() {
        let mut pipeline = Pipeline::default();
        let document = DocumentId::from_stored("doc-1");
        let source = "a.md".to_owned();
        for done in 0..=3 {
            let (document, source) = (document.clone(), source.clone());
            let stage = graphloom_core::Stage::Extract;
            pipeline.show(Progress::Advanced { document, source, stage, done, total: 3 });
        }
        for _ in 0..2 {
            let (document, source) = (document.clone(), source.clone());
            pipeline.show(Progress::Finished {
                document,
                source,
                chunks: 3,
                failed: 0,
                damaged: 0,
                without_context: 0,
            });
        }
        assert_eq!((pipeline.documents, pipeline.done), (1, 1));
        for is_done in [false, true] {
            pipeline.see(&document, is_done);
        }
        assert_eq!(
            (pipeline.documents, pipeline.done),
            (1, 1),
            "a new context does not count as another document"
        );
        for number in 0..2000 {
            pipeline.say(number.to_string());
        }
        assert_eq!(pipeline.messages.len(), MAX_MESSAGES);
        assert_eq!(pipeline.messages.back().map(|message| message.what.as_str()), Some("1999"));
    }
}
