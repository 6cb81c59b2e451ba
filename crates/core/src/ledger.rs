//! The ledger: one row per model call, committed with the result of the call.

use serde::{Deserialize, Serialize};

use crate::{DocumentId, Timestamp};

/// The purpose of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Writes the context of a chunk.
    Context,
    /// Extracts records from a chunk.
    Extract,
    /// Finds search keywords in a question.
    Keywords,
    /// Summarizes descriptions.
    Summarize,
    /// Answers from a context.
    Answer,
    /// Embeds texts.
    Embed,
    /// Scores passages for a question.
    Rerank,
    /// Judges answers in evaluations.
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

    /// Returns the role's name in output and configuration.
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
    /// Purpose.
    pub role: Role,
    /// The model.
    pub model: String,
    /// Tokens sent, as counted by the provider; 0 if unknown.
    pub prompt_tokens: u64,
    /// Tokens sent that the provider read from its prompt cache. They cost less.
    #[serde(default)]
    pub cached_prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// HTTP attempts, including retries; 0 if the call was not sent.
    pub attempts: u32,
    /// When it was sent.
    pub started_at: Timestamp,
    /// Duration in milliseconds, including retries.
    pub duration_ms: u64,
    /// Outcome.
    pub outcome: CallOutcome,
    /// The document, for indexing calls.
    pub document: Option<DocumentId>,
    /// Number of pieces of an extraction answer that are not records.
    #[serde(default)]
    pub rejects: u32,
}

impl Call {
    /// True if the model answered.
    pub fn is_answered(&self) -> bool {
        match self.outcome {
            CallOutcome::Ok | CallOutcome::Truncated => true,
            CallOutcome::Failed { .. } => false,
        }
    }

    /// True if the service answered but did not report the tokens sent, so that the cost of the call is unknown.
    pub fn is_uncounted(&self) -> bool {
        self.is_answered() && self.attempts > 0 && self.prompt_tokens == 0
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum CallOutcome {
    /// Answered.
    Ok,
    /// Answered, but cut off by the output limit.
    Truncated,
    /// Failed.
    Failed {
        /// The reason.
        reason: String,
    },
}
