//! The ledger: one row per model call, committed with the result it paid for.

use serde::{Deserialize, Serialize};

use crate::{DocumentId, Timestamp};

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What situates a chunk in its document.
    Context,
    /// Records from a chunk.
    Extract,
    /// Search keywords from a question.
    Keywords,
    /// One description from many.
    Summarize,
    /// An answer from a context.
    Answer,
    /// Vectors from texts.
    Embed,
    /// Scores of passages for a question.
    Rerank,
    /// Verdicts on answers, for evaluations.
    Judge,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 8] = [
        Self::Context,
        Self::Extract,
        Self::Keywords,
        Self::Summarize,
        Self::Answer,
        Self::Embed,
        Self::Rerank,
        Self::Judge,
    ];

    /// The role's name in output and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Extract => "extract",
            Self::Keywords => "keywords",
            Self::Summarize => "summarize",
            Self::Answer => "answer",
            Self::Embed => "embed",
            Self::Rerank => "rerank",
            Self::Judge => "judge",
        }
    }
}

/// One model call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// What it was for.
    pub role: Role,
    /// The model asked.
    pub model: String,
    /// Tokens sent, as the provider counted them; 0 where it did not say.
    pub prompt_tokens: u64,
    /// Of these, tokens read from the provider's prompt cache, which cost less.
    #[serde(default)]
    pub cached_prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// HTTP attempts, retries included; 0 where the call was not sent.
    pub attempts: u32,
    /// When it was sent.
    pub started_at: Timestamp,
    /// How long it took, retries included.
    pub duration_ms: u64,
    /// How it ended.
    pub outcome: CallOutcome,
    /// The document it was about, for indexing.
    pub document: Option<DocumentId>,
    /// Pieces of the answer that were no records, for extraction.
    #[serde(default)]
    pub rejects: u32,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum CallOutcome {
    /// Answered.
    Ok,
    /// Answered, cut by the output limit.
    Truncated,
    /// Not answered.
    Failed {
        /// Why.
        reason: String,
    },
}
