//! The context of a chunk in its document, indexed with the chunk so that searches find what the chunk's own text leaves out.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{ChunkContextKey, ChunkId};

/// The context of a chunk. It is evidence stored beside the chunk: both indexes read it before the chunk's
/// own text, but citations and quotes never contain it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkContext {
    /// The chunk.
    pub chunk: ChunkId,
    /// Hash of everything the text depends on.
    pub key: ChunkContextKey,
    /// The author: the model's name, or the name of the rule.
    pub by: String,
    /// The text, or the error.
    pub outcome: ChunkContextOutcome,
}

/// The outcome of writing a chunk's context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum ChunkContextOutcome {
    /// The context was written.
    Written {
        /// The context; empty if there is nothing to add.
        text: String,
    },
    /// Failed. The chunk is indexed without it until a retry succeeds.
    Failed {
        /// The reason, as a message.
        reason: String,
        /// Number of attempts.
        attempts: u32,
    },
}

impl ChunkContext {
    /// Returns the context; `None` if it failed.
    pub fn text(&self) -> Option<&str> {
        match &self.outcome {
            ChunkContextOutcome::Written { text } => Some(text),
            ChunkContextOutcome::Failed { .. } => None,
        }
    }

    /// Returns the reason of a failure; `None` if it did not fail.
    pub fn failure(&self) -> Option<&str> {
        match &self.outcome {
            ChunkContextOutcome::Written { .. } => None,
            ChunkContextOutcome::Failed { reason, .. } => Some(reason),
        }
    }
}

/// Returns the text that both indexes read: the context, an empty line, and the chunk's text. The context
/// comes first, because embedders cut off the end of long texts.
pub fn indexed_text<'a>(context: Option<&str>, text: &'a str) -> Cow<'a, str> {
    match context.filter(|context| !context.is_empty()) {
        Some(context) => Cow::Owned(format!("{context}\n\n{text}")),
        None => Cow::Borrowed(text),
    }
}
