#![doc = include_str!("../README.md")]

mod add;
mod ask;
mod clock;
pub mod config;
mod error;
pub mod files;
mod graph;
pub mod model;
mod nearest;
mod open;
pub mod project;
pub mod providers;
pub mod reading;
pub mod setup;
pub mod stores;
pub mod wording;

pub use add::{Add, AddReport, RefusedSource};
pub use ask::{Ask, Search};
pub use clock::SystemClock;
pub use error::{Error, Fault, Result};
pub use graph::{Graphloom, Status};
pub use nearest::nearest;
pub use open::{Builder, Llm};
pub use reading::{ReaderProgram, Readers};
pub use setup::BuildWith;

pub use graphloom_core::{
    DecisionId, Document, DocumentFilter, DocumentId, Embedder, EmbeddingSpec, Entity, FilterError,
    LanguageModel, LayerName, MetaCondition, ModelError, Progress, Reranker, Revision, Role, SourcePattern,
    Span, StatusKind, Store, StoreError, WorkspaceId,
};
pub use graphloom_engine::Engine;
pub use graphloom_engine::derive::{
    CommunityEntry, CommunityReport, DeriveError, DeriveEstimate, DeriveReport, LayerKind, Quote,
    QuotedFinding, TreeEntry, TreeNodeView, TreePassage,
};
pub use graphloom_engine::edit::{Edit, EditError, EditReport};
pub use graphloom_engine::index::{IndexError, OtherSetting, ReEmbedReport, Removal, RunReport};
pub use graphloom_engine::money::Limit;
pub use graphloom_engine::query::{
    Answer, AnswerKind, Citation, EntityHit, Mode, PassageHit, QueryError, Question, RelationHit,
    ReportOptions, Retrieval, SearchHits, Suggestion, Suggestions,
};
pub use graphloom_providers::ConfigError;
#[cfg(feature = "local")]
pub use graphloom_providers::{local::FolderError, models::ModelStoreError};
