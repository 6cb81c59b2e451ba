//! Indexing: sources in, graph out. One unit of work is one commit.

mod accept;
mod cancel;
mod contexts;
mod estimate;
mod imported;
mod listing;
mod price;
mod quota;
mod re_embed;
mod ready_graph;
mod redo;
mod remove;
mod renew;
mod requeue;
mod settings;
mod settle;
mod status;
mod unload;
mod waiting;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use graphloom_core::StopRequest;
use graphloom_core::{DocumentId, DocumentStatus, Format, ModelError, StoreError};

pub use accept::{Refusal, SourceText, accept, accept_read, keeps_original, read};
pub use cancel::{Cancellation, cancel, pause, queued, resume};
pub use contexts::{ContextPlan, MissingContexts, contextualize, plan_contexts, without_context};
pub use estimate::{Estimate, Estimator, ExpectedCalls, Range, Step};
pub use imported::{ImportedChunk, ImportedDocument, accept_imported, recorded};
pub use listing::{DocumentSort, ListError, Listing, count_by_status, list};
pub use price::{MoneyRange, PricedEstimate, PricedStep, PricedTotal};
pub use quota::{Quota, no_room_for};
pub use re_embed::{ReEmbedEstimate, ReEmbedProgress, ReEmbedReport, estimate_re_embed, re_embed};
pub use ready_graph::{CUSTOM_KG_MODEL, ReadyGraph, ReadyGraphError, accept_graph};
pub use remove::{Removal, RemovalPreview, RemovedFromGraph, delete, preview_removal};
pub use renew::{RenewalPlan, note_renewal, plan_renewal, renew, waiting_renewals};
pub use requeue::{RequeueReport, retry};
pub use settings::{
    BuildSettings, EMBEDDER, MISSING_MODEL, OtherSetting, require_models, require_settings, switch_settings,
};
pub use status::{DocumentState, RenewalState, states_of};
pub use waiting::{WaitsFor, waits_for};
pub(crate) use work::needs_a_person;
pub use work::{MAX_DAMAGED_ATTEMPTS, abandon, claimable, run};

use crate::chunk::ChunkConfig;
use crate::derive::{DeriveReport, EdgeWeights, LayerKind, TreeClustering};
use crate::extract::ExtractSpec;
use crate::graph::KnownDescriptions;
use graphloom_readers::ParseLimits;

/// Default time after which a claim on a job expires unless it is renewed, in milliseconds.
pub(crate) const LEASE_MS: u64 = 600_000;

/// How documents are indexed.
#[derive(Debug, Clone)]
pub struct IndexConfig {
    /// How texts are split.
    pub chunk: ChunkConfig,
    /// How the LLM is asked for records.
    pub extract: ExtractSpec,
    /// Size limits for documents.
    pub limits: ParseLimits,
    /// Limit on concurrent extraction calls.
    pub max_concurrent_calls: usize,
    /// Limit on documents processed at once. Bounds memory.
    pub max_concurrent_documents: usize,
    /// Chunks per commit, with their vectors, their records and what these change. Larger documents are processed in slices of
    /// this size. Bounds memory and the time that a run needs to stop.
    pub max_merge_chunks: usize,
    /// Mentions and facts that enter the graph per commit, unless a single chunk has more. The same bound as
    /// [`max_merge_chunks`](Self::max_merge_chunks) for tables and lists, whose chunks can name hundreds of things.
    /// With a slow embedder the number is lowered, so that no merge spends more than a few seconds on embedding.
    pub max_merge_records: usize,
    /// Chunks per document from which rules extract entities and relations. Keyword and vector search find the others too. An LLM
    /// reads all chunks.
    pub max_rule_chunks: u32,
    /// Descriptions from another system that count as summaries; `None` except during an import.
    pub known_descriptions: Option<Arc<KnownDescriptions>>,
    /// Layers that a [`run`] updates after all stale views are computed.
    pub layers: Vec<LayerKind>,
    /// How the layer `tree` groups chunks.
    pub tree: TreeClustering,
    /// How edges are weighted for communities.
    pub community_weights: EdgeWeights,
    /// Limits on the content of the workspace.
    pub quota: Quota,
    /// Time after which a claim on a job expires unless it is renewed, in milliseconds.
    pub lease_ms: u64,
    /// Unique name of this worker.
    pub worker: String,
    /// Asks runs to stop early: they claim no more jobs, start no further calls, and store what is in progress.
    pub stop: StopRequest,
    /// The models and settings of this engine. The workspace stores them with its first document and keeps to them; `None` neither
    /// stores nor compares any.
    pub settings: Option<BuildSettings>,
}

/// A document to index: its name, bytes and metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The identity under which new content is a new version.
    pub name: String,
    /// The bytes as read.
    pub bytes: Vec<u8>,
    /// The format if the caller knows it; otherwise it is detected from name and content.
    pub format: Option<Format>,
    /// Key-value pairs from the user.
    pub meta: BTreeMap<String, String>,
}

/// The outcome for one source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Acceptance {
    /// Stored durably and queued.
    Accepted {
        /// The new document.
        document: DocumentId,
        /// The text encoding of its bytes.
        encoding: String,
        /// Other documents with the same text, by source. This one is indexed anyway, at no model cost.
        same_content_as: Vec<String>,
        /// Parts of the source that could not be read, such as pages without text.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        remarks: Vec<String>,
        /// The version that it will replace.
        replaces: Option<DocumentId>,
    },
    /// This version is already stored. Its metadata was updated if it differed.
    Unchanged {
        /// The document.
        document: DocumentId,
        /// Its progress. The next [`run`] works on a queued document; failed chunks need [`retry`].
        status: DocumentStatus,
    },
    /// Unreadable or over a limit; nothing was stored.
    Refused {
        /// The reason, as shown to users.
        reason: String,
        /// What to do about it, if anything.
        remedy: Option<String>,
    },
}

/// What a [`run`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct RunReport {
    /// Documents that are now in the graph.
    pub finished: u32,
    /// Of these, documents with failed or damaged chunks or with chunks without context.
    pub incomplete: u32,
    /// Documents that stopped; the next run continues with them.
    pub failed: u32,
    /// Chunks extracted.
    pub extracted: u32,
    /// Of these, chunks without any entity or relation.
    pub empty_chunks: u32,
    /// Chunks whose extraction was already stored and cost nothing.
    pub reused: u32,
    /// Chunks whose extraction failed.
    pub failed_chunks: u32,
    /// Documents with such chunks whose service was not available, so that [`retry`] may succeed without any change.
    #[serde(skip)]
    pub unavailable: BTreeSet<DocumentId>,
    /// Chunks whose answer lost records; [`retry`] asks about them again.
    pub damaged_chunks: u32,
    /// Chunks whose context was added, changed or removed.
    pub contextualized: u32,
    /// Chunks whose context failed.
    pub chunks_without_context: u32,
    /// Entities and relations whose description is out of date because their summary failed; the next run writes it.
    pub stale: u32,
    /// The first reason.
    pub stale_reason: Option<String>,
    /// The outcome for each layer.
    pub derived: Vec<DeriveReport>,
    /// Documents that were cancelled while in progress.
    pub cancelled: u32,
    /// Whether the queue was paused; queued documents wait for the first run after it is resumed.
    pub paused: bool,
    /// Whether the run was [asked to stop](StopRequest); queued documents wait for the next run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// The amount spent when a call first exceeded the budget; the calls that did not fit wait for the next run.
    pub over_budget: Option<String>,
}

impl RunReport {
    /// True if more than half of at least [`FEWEST_JUDGED`](Self::FEWEST_JUDGED) chunks name nothing: the model does not follow
    /// the prompt, or the texts have no sentences.
    pub fn is_mostly_empty(&self) -> bool {
        self.extracted >= Self::FEWEST_JUDGED && self.empty_chunks * 2 > self.extracted
    }

    /// Minimum number of chunks for [`is_mostly_empty`](Self::is_mostly_empty).
    pub const FEWEST_JUDGED: u32 = 3;

    /// True if the next run has work to repeat.
    pub fn is_partial(&self) -> bool {
        self.failed > 0 || self.stale > 0 || self.derived.iter().any(|layer| layer.failed > 0)
    }
}

/// Why indexing stopped. Committed work stays; the next run continues from there.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The store failed.
    #[error("indexing")]
    Store(#[from] StoreError),
    /// The model cannot answer until a person fixes something.
    #[error("indexing")]
    Model(#[from] ModelError),
    /// The workspace is built with other models or settings.
    #[error("the workspace is built with {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    OtherSettings(Vec<OtherSetting>),
    /// The workspace is built with models that only the program that built it has.
    #[error("the workspace is built with its program's own model {}", .0.iter().cloned().collect::<Vec<_>>().join(" and "))]
    AbsentModels(BTreeSet<String>),
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self {
            chunk: ChunkConfig::default(),
            extract: ExtractSpec::default(),
            limits: ParseLimits::default(),
            max_concurrent_calls: 4,
            max_concurrent_documents: 16,
            max_merge_chunks: 128,
            max_merge_records: 4096,
            max_rule_chunks: 4000,
            known_descriptions: None,
            layers: Vec::new(),
            tree: TreeClustering::default(),
            community_weights: EdgeWeights::default(),
            quota: Quota::default(),
            lease_ms: LEASE_MS,
            worker: "worker".to_owned(),
            stop: StopRequest::default(),
            settings: None,
        }
    }
}

/// Compiles only if these futures are `Send`, so that a server can run them as tasks.
#[cfg(test)]
const _: fn(&crate::Engine, &[DocumentId]) = |engine, documents| {
    fn movable(_: impl Future + Send) {}
    movable(run(engine, &|_| (), &|_| false));
    movable(renew(engine, documents, &|_| ()));
    movable(contextualize(engine, documents, &|_| ()));
    movable(delete(engine, documents));
};
