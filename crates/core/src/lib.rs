//! Graphloom's domain types and traits: the values that flow between the stages, and the traits for stores, models and clocks.
//!
//! Nothing here does I/O or needs an async runtime. *Evidence* ([`Document`], [`Chunk`], [`Extraction`], [`Mention`], [`Fact`],
//! [`Claim`]) is the input. *Views* ([`Entity`], [`Relation`], vectors, full text) are pure functions of the live evidence. A
//! [`Store`] has two main operations: [`Store::snapshot`] and [`Store::commit`].

mod batch;
mod budget;
mod cache;
mod chunk;
mod chunk_context;
mod claim;
mod clock;
mod conversation;
mod date;
mod decided;
mod decision;
mod document;
mod dump;
mod extraction;
mod filter;
mod filtered_ids;
mod graph;
mod id;
mod item;
mod job;
mod layer;
mod ledger;
mod links;
mod model;
mod original;
mod place;
mod progress;
mod repair;
mod shape;
mod span;
mod stop;
mod store;
mod workspaces;

pub use batch::{Batch, NewDocument, Require, VectorRow};
pub use budget::{BudgetChange, BudgetOutcome, BudgetUnit, CallsInFlight, CostBounds, WorkspaceBudget};
pub use cache::{CacheEntry, CacheKind, CacheSize, MAX_CACHE_BYTES, MAX_CACHE_ENTRIES};
pub use chunk::{Chunk, ChunkExtraction, Renewal};
pub use chunk_context::{ChunkContext, ChunkContextOutcome, indexed_text};
pub use claim::{Claim, ClaimRecord, ClaimStatus, Period};
pub use clock::{Clock, Timestamp};
pub use conversation::{
    Conversation, Exchange, KeptAnswer, MAX_CONVERSATIONS, MAX_EXCHANGES, NewExchange, RestsOn,
};
pub use date::{InvalidDate, IsoDate};
pub use decided::{DecidedEntity, DecidedRelation, Decisions, Difference, FactPlace, MentionPlace};
pub use decision::{Action, Decision};
pub use document::{Document, Format, Visibility};
pub use dump::{DumpError, DumpHash, write_dump};
pub use extraction::{EntityRecord, Extraction, Records, Reject, RejectReason, RelationRecord};
pub use filter::{
    DocumentFilter, FilterError, MAX_FILTER_CONDITIONS, MAX_FILTER_DOCUMENTS, MetaCondition, MetaOrder,
    MetaTest, SourcePattern,
};
pub use filtered_ids::{FilteredIds, statuses_of};
pub use graph::{Entity, Fact, GraphKey, Mention, Relation, Summary};
pub use id::{
    ChunkContextKey, ChunkId, ContentHash, ConversationId, DecisionId, DocumentId, EntityKey, ExtractionKey,
    InvalidLayerName, InvalidTrackId, InvalidWorkspaceId, LayerName, NodeKey, PartsHasher, RelationKey,
    Revision, SummaryKey, TrackId, WorkspaceId,
};
pub use item::{ItemKey, ItemKind};
pub use job::{DocumentStatus, Job, JobState, Lease, QueueState, StatusKind};
pub use layer::{Layer, LayerNode, Member};
pub use ledger::{Call, CallOutcome, Role};
pub use links::{LinkFileError, LinkGraph, LinkGraphBuilder, Links, Node, NodeNumber};
pub use model::{
    ChatEvent, ChatMessage, ChatRequest, ChatRole, ChatStream, Completion, Embedder, Embeddings,
    FinishReason, LanguageModel, ModelError, Purpose, Reranker, Reranking, SentenceScorer, Usage, complete,
};
pub use original::{OriginalStamp, SetOriginal};
pub use place::{Part, PartMark, Place};
pub use progress::{Progress, ProgressSink, Stage};
pub use repair::{Loss, LostEvidence, LostKind, RepairReport};
pub use shape::{AnswerShape, Schema, SchemaDialect, Shape};
pub use span::Span;
pub use stop::{During, StopRequest};
pub use store::{
    By, ChunkCounts, DocumentOrder, DocumentPage, DocumentsFound, EmbeddingSpec, Evidence, Graph, GraphTurn,
    Hit, Ledger, Projection, Queue, Search, SearchRequest, Snapshot, Store, StoreCounts, StoreError,
    VectorEntry, table,
};
pub use workspaces::{
    Finding, HeldWorkspace, Patience, Registration, Repairs, SchemaVersion, SharedTexts, StoreSize, Upkeep,
    Worker, Workers, WorkspaceStore, Workspaces, try_change_json,
};
