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

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
pub use settings::{BuildSettings, EMBEDDER, OtherSetting, require_settings, switch_settings};
pub use status::{DocumentState, RenewalState, states_of};
pub use waiting::{WaitsFor, waits_for};
pub(crate) use work::needs_a_person;
pub use work::{MAX_DAMAGED_ATTEMPTS, run};

use crate::chunk::ChunkConfig;
use crate::derive::{DeriveReport, EdgeWeights, LayerKind, TreeClustering};
use crate::extract::ExtractSpec;
use crate::graph::KnownDescriptions;
use graphloom_readers::ParseLimits;

/// How long a claim on a job lasts without renewal by default, in milliseconds.
pub(crate) const LEASE_MS: u64 = 600_000;

/// How documents are indexed.
#[derive(Debug, Clone)]
pub struct IndexConfig {
    /// How texts are split.
    pub chunk: ChunkConfig,
    /// How records are asked for.
    pub extract: ExtractSpec,
    /// What is too large to read.
    pub limits: ParseLimits,
    /// Extraction calls in flight.
    pub max_concurrent_calls: usize,
    /// Documents worked on at once; bounds memory.
    pub max_concurrent_documents: usize,
    /// Chunks whose vectors, records and what they touch go into one commit; a larger document is worked on in slices of
    /// as many. Bounds memory and the time until a run that is to stop does so.
    pub max_merge_chunks: usize,
    /// Mentions and facts that enter the graph in one commit, more only where a single chunk has more. Bounds what
    /// [`max_merge_chunks`](Self::max_merge_chunks) bounds for tables and lists, whose chunks name hundreds of things.
    /// A slow embedder makes it fewer, so that a merge embeds for some seconds at most.
    pub max_merge_records: usize,
    /// Chunks of a document from whose texts rules make entities and relations; later ones are found by their words and
    /// vectors only. Models read all.
    pub max_rule_chunks: u32,
    /// Descriptions of another system that count as summaries; `None` outside of an import.
    pub known_descriptions: Option<Arc<KnownDescriptions>>,
    /// Layers that a [`run`] brings up to date once the graph has settled.
    pub layers: Vec<LayerKind>,
    /// How the layer `tree` groups chunks.
    pub tree: TreeClustering,
    /// How edges are weighed for communities.
    pub community_weights: EdgeWeights,
    /// How much the workspace may hold.
    pub quota: Quota,
    /// How long a claim on a job lasts without renewal.
    pub lease_ms: u64,
    /// Unique name of this worker.
    pub worker: String,
    /// Asks runs to end soon.
    pub stop: StopRequest,
    /// The models and settings of this engine, which the workspace keeps and is built with from its first document on;
    /// `None` stores and compares none.
    pub settings: Option<BuildSettings>,
}

/// Asks a [`run`] to end soon: it claims nothing more and starts no further call; what is under way is finished and stored.
/// Clones are the same request.
#[derive(Debug, Clone, Default)]
pub struct StopRequest(Arc<AtomicBool>);

impl StopRequest {
    /// Makes the request. It cannot be taken back.
    pub fn make(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the request was made.
    pub fn is_made(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One thing to index: its name, bytes and metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The identity under which new content is a new version.
    pub name: String,
    /// The bytes as read.
    pub bytes: Vec<u8>,
    /// The format where the caller knows it; else by name and content.
    pub format: Option<Format>,
    /// The user's key-value pairs.
    pub meta: BTreeMap<String, String>,
}

/// What became of one source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Acceptance {
    /// Durable, and queued.
    Accepted {
        /// The new document.
        document: DocumentId,
        /// The encoding its bytes were read in.
        encoding: String,
        /// Other documents with the same text, by source; it is indexed all the same, at no model cost.
        same_content_as: Vec<String>,
        /// What of the source could not be read, such as pages without text.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        remarks: Vec<String>,
        /// The version it will replace.
        replaces: Option<DocumentId>,
    },
    /// This version is already there; its metadata was updated if it differed.
    Unchanged {
        /// The document.
        document: DocumentId,
        /// How far it is; a queued one is worked on by the next [`run`], failed chunks after [`retry`].
        status: DocumentStatus,
    },
    /// Not readable; nothing was stored.
    Refused {
        /// Why, for people.
        reason: String,
        /// What to do about it, where something can be said.
        remedy: Option<String>,
    },
}

/// What a [`run`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct RunReport {
    /// Documents now in the graph.
    pub finished: u32,
    /// Of those, documents with chunks that failed, are damaged or are not contextualized.
    pub incomplete: u32,
    /// Documents that stopped; the next run takes them up again.
    pub failed: u32,
    /// Chunks extracted.
    pub extracted: u32,
    /// Of those, chunks in which nothing was named: neither an entity nor a relation.
    pub empty_chunks: u32,
    /// Chunks whose extraction was found in the store and cost nothing.
    pub reused: u32,
    /// Chunks whose extraction failed.
    pub failed_chunks: u32,
    /// Chunks of whose extraction records were lost; [`retry`] asks about them again.
    pub damaged_chunks: u32,
    /// Chunks that were contextualized in their documents, or are no longer.
    pub contextualized: u32,
    /// Chunks whose context failed.
    pub chunks_without_context: u32,
    /// Entities and relations that still read as before, for their summary failed; the next run makes it.
    pub stale: u32,
    /// Why, of the first.
    pub stale_reason: Option<String>,
    /// What became of the layers.
    pub derived: Vec<DeriveReport>,
    /// Documents that were cancelled while in progress.
    pub cancelled: u32,
    /// Whether the queue was paused; queued documents wait for the next run after it is resumed.
    pub paused: bool,
    /// Whether the run was [asked to end](StopRequest); what is queued waits for the next run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// What was spent when the first call did not fit the budget; what waits for it is left to the next run.
    pub over_budget: Option<String>,
}

impl RunReport {
    /// Whether nothing was named in more than half of at least [`FEWEST_JUDGED`](Self::FEWEST_JUDGED) chunks: a model that
    /// does not follow the prompt, or texts without sentences.
    pub fn is_mostly_empty(&self) -> bool {
        self.extracted >= Self::FEWEST_JUDGED && self.empty_chunks * 2 > self.extracted
    }

    /// Fewest chunks of which anything is concluded.
    pub const FEWEST_JUDGED: u32 = 3;

    /// Whether the next run has something to do again.
    pub fn is_partial(&self) -> bool {
        self.failed > 0 || self.stale > 0 || self.derived.iter().any(|layer| layer.failed > 0)
    }
}

/// Why indexing stopped. What was committed stays; run again to go on.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The store failed.
    #[error("indexing")]
    Store(#[from] StoreError),
    /// The model cannot answer until a person changes something.
    #[error("indexing")]
    Model(#[from] ModelError),
    /// The workspace is built with other models or settings.
    #[error("the workspace is built with {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    OtherSettings(Vec<OtherSetting>),
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

/// Compiles only if the work on documents can move between threads, as a task of a server does.
#[cfg(test)]
const _: fn(&crate::Engine, &[DocumentId]) = |engine, documents| {
    fn movable(_: impl Future + Send) {}
    movable(run(engine, &|_| (), &|_| false));
    movable(renew(engine, documents, &|_| ()));
    movable(contextualize(engine, documents, &|_| ()));
    movable(delete(engine, documents));
};
