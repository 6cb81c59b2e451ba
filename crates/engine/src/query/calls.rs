//! What a question costs: ledger rows, and what is remembered so that it need not be paid for again.

use graphloom_core::{
    Batch, CacheEntry, CacheKind, Call, CallOutcome, Completion, ContentHash, FinishReason, Role, StoreError,
    Timestamp, Usage,
};
use serde::Serialize;

use crate::Engine;

/// What a question cost, and what of it is to be stored by [`record`].
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spent {
    /// One ledger row for each call of a model, failed ones included. What was remembered has none: it was not asked.
    pub calls: Vec<Call>,
    /// What was remembered, in the order it was needed, each kind once.
    pub cached: Vec<CacheKind>,
    /// What is to be remembered.
    #[serde(skip)]
    entries: Vec<CacheEntry>,
}

impl Spent {
    /// Notes that something was remembered.
    pub(super) fn hit(&mut self, kind: CacheKind) {
        if !self.cached.contains(&kind) {
            self.cached.push(kind);
        }
    }

    /// Keeps a value for [`record`] to store.
    pub(super) fn keep(&mut self, kind: CacheKind, key: ContentHash, value: Vec<u8>) {
        self.entries.push(CacheEntry { kind, key, value });
    }
}

/// Stores what questions cost and what is to be remembered of them, in one commit; nothing where there is nothing.
///
/// For what [`retrieve`](super::retrieve), [`answer`](super::answer) and [`search`](super::search) return, each once;
/// where they fail they did it themselves. No answer depends on it, so where it fails the answer still stands.
pub async fn record<'a>(
    engine: &Engine,
    spent: impl IntoIterator<Item = &'a Spent>,
) -> Result<(), StoreError> {
    let mut batch = Batch::default();
    for spent in spent {
        batch.append_calls.extend(spent.calls.iter().cloned());
        batch.put_cached.extend(spent.entries.iter().cloned());
    }
    if !batch.is_empty() {
        engine.store.commit(batch).await?;
    }
    Ok(())
}

/// The same for a question that failed: its own error is what counts.
pub(super) async fn record_failed<'a>(engine: &Engine, spent: impl IntoIterator<Item = &'a Spent>) {
    if let Err(error) = record(engine, spent).await {
        tracing::warn!(%error, "the calls of a failed question are not in the ledger");
    }
}

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
            rejects: 0,
        }
    }
}
