//! What a question costs: its rows in the ledger, and the cache entries that save the next call.

use graphloom_core::{
    Batch, CacheEntry, CacheKind, Call, CallOutcome, Completion, ContentHash, FinishReason, Role, Timestamp,
    Usage,
};
use serde::Serialize;

use crate::{Engine, chain};

/// What a question cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct QueryCost {
    /// One ledger row for each call of a model, failed ones included. What was remembered has none: it was not asked.
    pub calls: Vec<Call>,
    /// What was remembered, in the order it was needed, each kind once.
    pub cached: Vec<CacheKind>,
    /// Why ledger and cache do not have it, such as a full disk; `None` if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstored: Option<String>,
    /// Cache entries that are not stored yet.
    #[serde(skip)]
    entries: Vec<CacheEntry>,
}

impl QueryCost {
    /// Notes that something was remembered.
    pub(super) fn hit(&mut self, kind: CacheKind) {
        if !self.cached.contains(&kind) {
            self.cached.push(kind);
        }
    }

    /// Takes over what a part of the question cost.
    pub(super) fn absorb(&mut self, part: Self) {
        self.calls.extend(part.calls);
        self.entries.extend(part.entries);
        part.cached.into_iter().for_each(|kind| self.hit(kind));
    }

    /// Keeps a value for [`QueryCost::store`].
    pub(super) fn keep(&mut self, kind: CacheKind, key: ContentHash, value: Vec<u8>) {
        self.entries.push(CacheEntry { kind, key, value });
    }

    /// Stores the calls in the ledger and the entries in the cache, in one commit; nothing if there are none.
    ///
    /// To be called once, whether the question succeeded or not: its calls are paid for. If the store fails, the result
    /// of the question stands, and `unstored` says why.
    pub(super) async fn store(&mut self, engine: &Engine) {
        let put_cached = std::mem::take(&mut self.entries);
        let batch = Batch { append_calls: self.calls.clone(), put_cached, ..Batch::default() };
        if batch.is_empty() {
            return;
        }
        if let Err(error) = engine.store.commit(batch).await {
            let reason = chain(&error);
            tracing::warn!(error = reason, "storing the cost of a question failed");
            self.unstored = Some(reason);
        }
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
