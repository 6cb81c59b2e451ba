//! Situations: what is said of a chunk's place in its document, so that searches find what the chunk leaves unsaid.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{ChunkId, SituationKey};

/// How a chunk is situated in its document. It is evidence beside the chunk: both indexes read its text before the chunk's
/// own, and citations and quotes never hold it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Situation {
    /// The chunk.
    pub chunk: ChunkId,
    /// Hash of everything the text depends on.
    pub key: SituationKey,
    /// Who says it: the model's name, or that of the rule.
    pub by: String,
    /// What is said, or why nothing is.
    pub outcome: SituationOutcome,
}

/// What became of situating a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum SituationOutcome {
    /// Said.
    Said {
        /// The situating text; empty where nothing is to be added to the chunk.
        text: String,
    },
    /// Failed; the chunk is indexed by its own words alone until it is tried again.
    Failed {
        /// Why, for people.
        reason: String,
        /// How many times it was tried.
        attempts: u32,
    },
}

impl Situation {
    /// The situating text; `None` where it failed.
    pub fn text(&self) -> Option<&str> {
        match &self.outcome {
            SituationOutcome::Said { text } => Some(text),
            SituationOutcome::Failed { .. } => None,
        }
    }

    /// Why it failed; `None` where it did not.
    pub fn failure(&self) -> Option<&str> {
        match &self.outcome {
            SituationOutcome::Said { .. } => None,
            SituationOutcome::Failed { reason, .. } => Some(reason),
        }
    }
}

/// What both indexes read of a chunk: its situating text, an empty line, and its own text. The situating text comes first,
/// for embedders leave out the end of what is too long for them.
pub fn indexed_text<'a>(situating: Option<&str>, text: &'a str) -> Cow<'a, str> {
    match situating.filter(|situating| !situating.is_empty()) {
        Some(situating) => Cow::Owned(format!("{situating}\n\n{text}")),
        None => Cow::Borrowed(text),
    }
}
