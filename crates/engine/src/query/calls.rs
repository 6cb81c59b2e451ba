//! The cost of a question: its rows in the ledger, and the cache entries that save the next call.

use graphloom_core::{
    Batch, CacheEntry, CacheKind, Call, CallOutcome, Completion, ContentHash, FinishReason, Role, Timestamp,
    Usage,
};
use serde::Serialize;

use crate::{Engine, chain};

/// The cost of a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct QueryCost {
    /// One ledger row for each model call, including failed calls. A cache hit has no row, because no model was called.
    pub calls: Vec<Call>,
    /// Kinds of values that came from the cache, in the order they were needed, each once.
    pub cached: Vec<CacheKind>,
    /// Why ledger and cache do not contain this cost, such as a full disk; `None` if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstored: Option<String>,
    /// Cache entries that are not stored yet.
    #[serde(skip)]
    entries: Vec<CacheEntry>,
}

impl QueryCost {
    /// Records a cache hit.
    pub(super) fn hit(&mut self, kind: CacheKind) {
        if !self.cached.contains(&kind) {
            self.cached.push(kind);
        }
    }

    /// Adds the cost of a part of the question.
    pub(super) fn absorb(&mut self, part: Self) {
        self.calls.extend(part.calls);
        self.entries.extend(part.entries);
        part.cached.into_iter().for_each(|kind| self.hit(kind));
    }

    /// Keeps a value for [`QueryCost::store`].
    pub(super) fn keep(&mut self, kind: CacheKind, key: ContentHash, value: Vec<u8>) {
        self.entries.push(CacheEntry { kind, key, value });
    }

    /// Stores the calls in the ledger and the entries in the cache, in one commit. Does nothing if there are none.
    ///
    /// Call it once, whether the question succeeded or not, because its calls are paid for. If the store fails, the result of
    /// the question stands, and `unstored` gives the reason.
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

/// A call in progress.
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

    /// Returns the row of a chat call that was answered.
    pub(super) fn completed(self, completion: Completion) -> Call {
        let outcome = match completion.finish {
            FinishReason::Length => CallOutcome::Truncated,
            FinishReason::Stop | FinishReason::Other => CallOutcome::Ok,
        };
        self.row(completion.usage, completion.attempts, outcome)
    }

    /// Returns the row of an answered call without a finish reason: embedding or reranking.
    pub(super) fn counted(self, usage: Usage, attempts: u32) -> Call {
        self.row(usage, attempts, CallOutcome::Ok)
    }

    /// Returns the row of a call without an answer.
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
