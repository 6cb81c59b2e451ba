//! The in-memory store, the reference for other stores. Every lookup is a simple, obviously correct scan. Nothing is
//! indexed or durable.

mod apply;
mod conversations;
mod snapshot;
mod tables;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use graphloom_core::{
    Batch, BudgetChange, BudgetOutcome, CacheKind, Call, Chunk, ChunkContext, ChunkId, Claim, Clock,
    ContentHash, Conversation, ConversationId, Decision, DecisionId, Document, DocumentId, EmbeddingSpec,
    Entity, EntityKey, Exchange, Extraction, ExtractionKey, Fact, Finding, GraphKey, GraphTurn, ItemKind,
    Job, Layer, LayerName, LayerNode, Mention, NodeKey, QueueState, Relation, RelationKey, Renewal, Revision,
    Snapshot, Store, StoreError, StoreSize, SummaryKey, TrackId, Upkeep, WorkspaceBudget, WorkspaceId,
    WorkspaceStore,
};

/// A store in memory that is gone with its last handle. A snapshot costs one reference count.
#[derive(Debug)]
pub struct MemoryStore {
    workspace: WorkspaceId,
    state: Mutex<Arc<State>>,
    turn: Arc<futures::lock::Mutex<()>>,
    summaries: Arc<futures::lock::Mutex<()>>,
    budget: Mutex<Option<WorkspaceBudget>>,
    most_links: AtomicUsize,
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new(workspace: WorkspaceId) -> Self {
        let (state, turn, summaries, budget) = Default::default();
        let most_links = AtomicUsize::new(usize::MAX);
        Self { workspace, state, turn, summaries, budget, most_links }
    }

    /// Sets the most links that snapshots return as a whole, to test what happens with more.
    pub fn limit_links(&self, most: usize) {
        self.most_links.store(most, Ordering::Relaxed);
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn fault(&self) -> Option<String> {
        None
    }

    fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let most_links = self.most_links.load(Ordering::Relaxed);
        Ok(Box::new(snapshot::MemorySnapshot(Arc::clone(&state), most_links)))
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The new state replaces the old one only after the whole batch was applied.
        let mut next = State::clone(&state);
        apply::apply(&mut next, batch)?;
        *state = Arc::new(next);
        Ok(state.revision)
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        Ok(Box::new(Arc::clone(&self.turn).lock_owned().await))
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        let turn = Arc::clone(&self.summaries).try_lock_owned();
        Ok(turn.map(|turn| Box::new(turn) as GraphTurn))
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        Ok(1)
    }
}

#[async_trait]
impl WorkspaceStore for MemoryStore {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn size(&self) -> Option<StoreSize> {
        None
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    async fn budget(&self) -> Result<Option<WorkspaceBudget>, StoreError> {
        Ok(self.budget.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    async fn change_budget(&self, change: BudgetChange) -> Result<BudgetOutcome, StoreError> {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = change.applied_to(budget.take());
        budget.clone_from(&outcome.budget);
        Ok(outcome)
    }

    async fn maintain(&self, upkeep: Upkeep) -> Result<(), StoreError> {
        match upkeep {
            Upkeep::Probe | Upkeep::CatchUp | Upkeep::Rest => Ok(()),
        }
    }

    async fn verify(&self) -> Result<Vec<Finding>, StoreError> {
        Ok(Vec::new())
    }
}

/// A table. States share it until it is written.
type Table<K, V> = Arc<BTreeMap<K, V>>;

/// Everything that the store holds.
#[derive(Debug, Clone, Default)]
struct State {
    revision: Revision,
    graph_revision: Revision,
    evidence_revision: Revision,
    embedding: Option<EmbeddingSpec>,
    settings: BTreeMap<String, String>,
    documents: Table<DocumentId, Document>,
    texts: Table<DocumentId, String>,
    originals: Table<DocumentId, Arc<Vec<u8>>>,
    jobs: Table<DocumentId, Job>,
    tracks: Table<(TrackId, DocumentId), ()>,
    queue: QueueState,
    chunks: Table<ChunkId, Chunk>,
    renewals: Table<ChunkId, Renewal>,
    chunk_contexts: Table<ChunkId, ChunkContext>,
    extractions: Table<ExtractionKey, Extraction>,
    mentions: Table<(ChunkId, u32), Mention>,
    facts: Table<(ChunkId, u32), Fact>,
    claims: Table<(ChunkId, u32), Claim>,
    decisions: Table<(u64, DecisionId), Decision>,
    entities: Table<EntityKey, Entity>,
    relations: Table<RelationKey, Relation>,
    summaries: Table<(GraphKey, SummaryKey), String>,
    stale: Table<GraphKey, ()>,
    layers: Table<LayerName, Layer>,
    nodes: Table<NodeKey, LayerNode>,
    vectors: Table<(ItemKind, String), StoredVector>,
    calls: Arc<Vec<Call>>,
    cache: Table<(CacheKind, ContentHash), CacheRow>,
    /// Number of entries ever put into the cache.
    cache_puts: u64,
    conversations: Table<ConversationId, Conversation>,
    exchanges: Table<(ConversationId, u32), Exchange>,
    /// The last revision that removed documents.
    last_removal: Revision,
}

/// An entry of the cache.
#[derive(Debug, Clone)]
struct CacheRow {
    /// Increases with every entry that is put.
    place: u64,
    value: Vec<u8>,
}

/// A vector as stored.
#[derive(Debug, Clone)]
struct StoredVector {
    inputs_hash: ContentHash,
    data: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_dump_equals_the_hash_of_its_lines() {
        let store = MemoryStore::new(WorkspaceId::default());
        let mut lines = Vec::new();
        let dumped = crate::conformance::block_on(async {
            let snapshot = store.snapshot().await.expect("memory does not fail");
            graphloom_core::write_dump(snapshot.as_ref(), &mut lines).await.expect("memory does not fail")
        });
        assert_eq!(dumped.hash, blake3::hash(&lines).to_hex()[..32]);
        assert_eq!(dumped.lines, 0);
    }

    crate::conformance_tests!(|| (MemoryStore::new(WorkspaceId::default()), ()));
}
