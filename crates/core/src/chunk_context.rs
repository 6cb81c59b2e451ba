//! ChunkContexts: the context of a chunk in its document, indexed with the chunk so that searches find what its own
//! text leaves out.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{ChunkContextKey, ChunkId};

/// The context of a chunk. It is evidence stored beside the chunk: both indexes read it before the chunk's own
/// text, but citations and quotes never contain it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkContext {
    /// The chunk.
    pub chunk: ChunkId,
    /// Hash of everything the text depends on.
    pub key: ChunkContextKey,
    /// The author: the model's name, or that of the rule.
    pub by: String,
    /// The text, or why there is none.
    pub outcome: ChunkContextOutcome,
}

/// The outcome of context a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum ChunkContextOutcome {
    /// Done.
    Said {
        /// The context; empty if nothing is to be added.
        text: String,
    },
    /// Failed; the chunk is indexed without it until a retry succeeds.
    Failed {
        /// The reason, as a message.
        reason: String,
        /// Number of attempts.
        attempts: u32,
    },
}

impl ChunkContext {
    /// The context; `None` if it failed.
    pub fn text(&self) -> Option<&str> {
        match &self.outcome {
            ChunkContextOutcome::Said { text } => Some(text),
            ChunkContextOutcome::Failed { .. } => None,
        }
    }

    /// Why it failed; `None` if it did not.
    pub fn failure(&self) -> Option<&str> {
        match &self.outcome {
            ChunkContextOutcome::Said { .. } => None,
            ChunkContextOutcome::Failed { reason, .. } => Some(reason),
        }
    }
}

/// The text that both indexes read: the context, an empty line, and the chunk's text. The context
/// comes first, since embedders cut off the end of long texts.
pub fn indexed_text<'a>(context: Option<&str>, text: &'a str) -> Cow<'a, str> {
    match context.filter(|context| !context.is_empty()) {
        Some(context) => Cow::Owned(format!("{context}\n\n{text}")),
        None => Cow::Borrowed(text),
    }
}
