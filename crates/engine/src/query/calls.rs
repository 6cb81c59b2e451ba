//! Ledger rows of the calls that a question makes.

use graphloom_core::{Call, CallOutcome, Completion, FinishReason, Role, Timestamp, Usage};

use crate::Engine;

/// A call under way.
pub(super) struct Timer<'a> {
    engine: &'a Engine,
    role: Role,
    model: String,
    started_at: Timestamp,
}

impl<'a> Timer<'a> {
    pub(super) fn start(engine: &'a Engine, role: Role, model: &str) -> Self {
        Self { engine, role, model: model.to_owned(), started_at: engine.clock.now() }
    }

    /// The row of an answered chat call.
    pub(super) fn completed(self, completion: Completion) -> Call {
        let outcome = match completion.finish {
            FinishReason::Length => CallOutcome::Truncated,
            FinishReason::Stop | FinishReason::Other => CallOutcome::Ok,
        };
        self.row(completion.usage, completion.attempts, outcome)
    }

    /// The row of an answered call that has no end of its own: embedding and reranking.
    pub(super) fn counted(self, usage: Usage, attempts: u32) -> Call {
        self.row(usage, attempts, CallOutcome::Ok)
    }

    /// The row of a call without an answer.
    pub(super) fn failed(self, reason: String) -> Call {
        self.row(Usage::default(), 1, CallOutcome::Failed { reason })
    }

    fn row(self, usage: Usage, attempts: u32, outcome: CallOutcome) -> Call {
        Call {
            role: self.role,
            model: self.model,
            prompt_tokens: usage.prompt_tokens,
            cached_prompt_tokens: usage.cached_prompt_tokens,
            completion_tokens: usage.completion_tokens,
            attempts,
            started_at: self.started_at,
            duration_ms: self.engine.clock.now().0.saturating_sub(self.started_at.0),
            outcome,
            document: None,
        }
    }
}
