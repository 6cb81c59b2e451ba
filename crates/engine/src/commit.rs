//! Commits changes derived from a snapshot. If another process commits first, the change is derived again, but model results
//! that were paid for are kept.

use std::collections::BTreeMap;

use graphloom_core::{
    Batch, Call, ContentHash, DocumentId, EmbeddingSpec, GraphKey, GraphTurn, ModelError, Require, Revision,
    Snapshot, Store, StoreError, Summary, VectorEntry, VectorRow,
};

use crate::Engine;
use crate::graph::{Derivation, GraphChange, Summaries, Texts, derive, embed};

/// How often a step is repeated because another process changed what it depends on. Each attempt takes milliseconds.
const MAX_RETRIES: u32 = 200;
/// How often a change of the graph is attempted without holding the turn. Other processes can change the graph meanwhile, and the
/// attempt succeeds unless one of them commits first.
const FREE_ATTEMPTS: u32 = 3;
/// Limit on all attempts at one change of the graph. Nobody can commit first while we hold the turn, so it is never reached.
const MAX_ATTEMPTS: u32 = 20;

/// Counts the retries of a step that makes no LLM calls.
pub(crate) struct Retries {
    /// What the other processes did, for the error message.
    who: &'static str,
    left: u32,
}

impl Retries {
    /// Retries for a change to documents.
    pub(crate) fn on_documents() -> Self {
        Self::new("other processes worked on the same documents")
    }

    /// `who`: what other processes do that makes this step fail.
    pub(crate) fn new(who: &'static str) -> Self {
        Self { who, left: MAX_RETRIES }
    }

    /// True if the step is done. If false, another process was first, and the caller must read and decide again.
    pub(crate) fn is_done(&mut self, committed: Result<Revision, StoreError>) -> Result<bool, StoreError> {
        match committed {
            Ok(_) => Ok(true),
            Err(error) if error.is_conflict() && self.left > 0 => {
                tracing::debug!(%error, "another process committed first");
                self.left -= 1;
                Ok(false)
            }
            Err(error) if error.is_conflict() => {
                Err(StoreError::Conflict { what: format!("{} {MAX_RETRIES} times in a row", self.who) })
            }
            Err(error) => Err(error),
        }
    }
}

/// Commits `batch`. A batch that changes the graph waits for its turn, so that it cannot overtake the holder of the turn.
pub(crate) async fn commit_in_turn(store: &dyn Store, batch: Batch) -> Result<Revision, StoreError> {
    let _turn = if batch.touches_graph() { Some(store.graph_turn().await?) } else { None };
    store.commit(batch).await
}

/// The attempts at one change of the graph.
///
/// A change is valid only for the graph that it was derived from. Deriving it can take minutes of LLM calls, during which others
/// change the graph. So the first attempts run without the turn and commit if nobody else was first; only the commit itself waits
/// for the store's turn to change the graph. After [`FREE_ATTEMPTS`] failed attempts, the next one takes the turn before it reads,
/// so nobody can be first again. While it holds the turn it requests no summaries: it uses those that earlier attempts paid for,
/// and descriptions that still lack a summary stay stale until the next run.
pub(crate) struct GraphChanges<'a> {
    engine: &'a Engine,
    attempts: u32,
    turn: Option<GraphTurn>,
    paid: PaidWork,
}

/// Paid model results that no commit has stored yet.
#[derive(Default)]
struct PaidWork {
    calls: Vec<Call>,
    summaries: BTreeMap<GraphKey, Vec<Summary>>,
    /// By the hash of the embedded text.
    vectors: BTreeMap<ContentHash, Vec<f32>>,
    space: Option<EmbeddingSpec>,
}

impl<'a> GraphChanges<'a> {
    pub(crate) fn new(engine: &'a Engine) -> Self {
        Self { engine, attempts: 0, turn: None, paid: PaidWork::default() }
    }

    /// Returns the graph to derive the next attempt from.
    pub(crate) async fn snapshot(&mut self) -> Result<Box<dyn Snapshot>, StoreError> {
        if self.attempts >= FREE_ATTEMPTS && self.turn.is_none() {
            self.turn = Some(self.engine.store.graph_turn().await?);
        }
        self.engine.store.snapshot().await
    }

    /// Calls [`derive`] for `change`, with the summaries that earlier attempts paid for.
    pub(crate) async fn derive(
        &mut self,
        snapshot: &dyn Snapshot,
        change: &GraphChange,
        when: Summaries,
    ) -> Result<(Derivation, Texts), StoreError> {
        let when = match when {
            Summaries::Now if self.turn.is_some() => Summaries::Known,
            when => when,
        };
        let (mut derivation, texts) =
            derive(self.engine, snapshot, change, when, &self.paid.summaries).await?;
        self.paid.calls.append(&mut derivation.batch.append_calls);
        for (owner, summaries) in &derivation.batch.set_summaries {
            let paid = self.paid.summaries.entry(owner.clone()).or_default();
            add_missing(paid, summaries);
        }
        Ok((derivation, texts))
    }

    /// Adds the vectors of `texts` to `batch`. Vectors from earlier attempts are reused.
    pub(crate) async fn embed(
        &mut self,
        texts: Texts,
        document: Option<&DocumentId>,
        batch: &mut Batch,
    ) -> Result<(), ModelError> {
        let mut wanted = Texts::new();
        for (item, text) in texts {
            let inputs_hash = ContentHash::of(text.as_bytes());
            match self.paid.vectors.get(&inputs_hash) {
                Some(vector) => {
                    let entry = VectorEntry { item, inputs_hash };
                    batch.put_vectors.push(VectorRow { entry, vector: vector.clone() });
                    batch.embedding.clone_from(&self.paid.space);
                }
                None => wanted.push((item, text)),
            }
        }
        let mut embedded = Batch::default();
        embed(self.engine, wanted, document, &mut embedded).await?;
        self.paid.calls.append(&mut embedded.append_calls);
        for VectorRow { entry, vector } in &embedded.put_vectors {
            self.paid.vectors.insert(entry.inputs_hash.clone(), vector.clone());
        }
        if embedded.embedding.is_some() {
            self.paid.space.clone_from(&embedded.embedding);
            batch.embedding = embedded.embedding;
        }
        batch.put_vectors.append(&mut embedded.put_vectors);
        Ok(())
    }

    /// Commits a batch derived from the graph at `derived_from`, with the calls paid for it. Returns `false` if another process was
    /// first: the caller must then read and derive again.
    pub(crate) async fn commit(
        &mut self,
        derived_from: Revision,
        mut batch: Batch,
    ) -> Result<bool, StoreError> {
        batch.require.push(Require::GraphUnchangedSince(derived_from));
        batch.append_calls.extend(self.paid.calls.iter().cloned());
        let committed = match &self.turn {
            Some(_) => self.engine.store.commit(batch).await,
            None => commit_in_turn(self.engine.store.as_ref(), batch).await,
        };
        match committed {
            Ok(_) => {
                self.paid = PaidWork::default();
                self.turn = None;
                Ok(true)
            }
            Err(error) if error.is_conflict() && self.attempts < MAX_ATTEMPTS => {
                tracing::debug!(%error, "another process changed the graph first");
                self.attempts += 1;
                Ok(false)
            }
            Err(error) if error.is_conflict() => {
                let what = format!("other processes changed the graph {MAX_ATTEMPTS} times in a row");
                Err(StoreError::Conflict { what })
            }
            Err(error) => Err(error),
        }
    }

    /// Ends the attempts with their outcome. If nothing was committed, what was paid for is still stored: the ledger rows, and the
    /// summaries for the next attempt.
    pub(crate) async fn end<T, E>(mut self, outcome: Result<T, E>) -> Result<T, E> {
        self.turn = None;
        if !self.paid.calls.is_empty()
            && let Err(error) = self.keep_paid().await
        {
            let calls = self.paid.calls.len();
            tracing::error!(
                error = &error as &dyn std::error::Error,
                calls,
                "paid calls are not in the ledger"
            );
        }
        outcome
    }

    async fn keep_paid(&self) -> Result<(), StoreError> {
        let mut retries = Retries::new("other processes changed the graph");
        loop {
            let snapshot = self.engine.store.snapshot().await?;
            let mut batch = Batch { append_calls: self.paid.calls.clone(), ..Batch::default() };
            let owners: Vec<GraphKey> = self.paid.summaries.keys().cloned().collect();
            let stored = snapshot.summaries(&owners).await?;
            let known = exist(snapshot.as_ref(), &owners).await?;
            for ((owner, mut memo), _) in
                owners.into_iter().zip(stored).zip(known).filter(|(_, known)| *known)
            {
                let before = memo.len();
                add_missing(&mut memo, &self.paid.summaries[&owner]);
                if memo.len() > before {
                    batch.set_summaries.push((owner, memo));
                }
            }
            if !batch.set_summaries.is_empty() {
                batch.require.push(Require::GraphUnchangedSince(snapshot.graph_revision()));
            }
            drop(snapshot);
            if retries.is_done(self.engine.store.commit(batch).await)? {
                return Ok(());
            }
        }
    }
}

/// Returns, for each key, whether it is in the graph.
async fn exist(snapshot: &dyn Snapshot, keys: &[GraphKey]) -> Result<Vec<bool>, StoreError> {
    let mut known = Vec::with_capacity(keys.len());
    for key in keys {
        known.push(match key {
            GraphKey::Entity(key) => snapshot.entities(std::slice::from_ref(key)).await?[0].is_some(),
            GraphKey::Relation(key) => snapshot.relations(std::slice::from_ref(key)).await?[0].is_some(),
        });
    }
    Ok(known)
}

/// Adds the summaries that `memo` does not have yet.
fn add_missing(memo: &mut Vec<Summary>, summaries: &[Summary]) {
    for summary in summaries {
        if memo.iter().all(|known| known.key != summary.key) {
            memo.push(summary.clone());
        }
    }
}
