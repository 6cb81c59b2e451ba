//! The harness protocol: one JSON request per line on stdin, one JSON reply per line on stdout.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A request of the harness.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", tag = "op")]
pub(crate) enum Request {
    /// Opens or creates the workspace in a folder.
    Open {
        /// The folder.
        workdir: PathBuf,
        /// The replay server; its OpenAI-compatible base is `<server>/v1`.
        server: String,
        /// Differences from the defaults.
        options: Option<Options>,
    },
    /// Indexes passages; replies when all are in the graph.
    Index {
        /// The passages, one document each.
        passages: Vec<Passage>,
    },
    /// Retrieves passages for questions.
    Query {
        /// The questions.
        items: Vec<Item>,
        /// Concurrent questions.
        #[serde(default = "one")]
        concurrency: usize,
        /// Number of passages to return per question.
        #[serde(default = "twenty")]
        top_k: usize,
    },
    /// Answers one question.
    Answer {
        /// The text.
        question: String,
        /// The mode; default `mix`.
        mode: Option<String>,
    },
    /// Removes the document of a passage.
    Delete {
        /// The passage.
        id: String,
    },
    /// Processes waiting and failed documents again.
    Retry,
    /// Returns the whole state.
    Dump,
    /// Ends the process.
    Close,
    /// Anything else.
    #[serde(other)]
    Unsupported,
}

/// Options of a measurement.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    /// Use rules and the built-in embedder instead of the replay server.
    pub(crate) offline: bool,
    /// Disable the cache, so that keywords and vectors are requested every time.
    pub(crate) cold: bool,
    /// Concurrent extraction calls.
    pub(crate) concurrency: Option<usize>,
    /// Documents indexed at once.
    pub(crate) documents: Option<usize>,
    /// When to ask again about a chunk: `"auto"`, or a number of passes.
    pub(crate) gleaning: Option<Passes>,
    /// Maximum tokens per chunk.
    pub(crate) chunk_tokens: Option<u32>,
}

/// How often to ask again about a chunk.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(crate) enum Passes {
    /// This many times.
    Number(u32),
    /// As often as needed.
    Word(Auto),
}

/// The word `auto`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Auto {
    /// By coverage.
    Auto,
}

/// A passage to index.
#[derive(Debug, Deserialize)]
pub(crate) struct Passage {
    /// Its id in questions and results.
    pub(crate) id: String,
    /// Its text.
    pub(crate) text: String,
}

/// A question to retrieve for.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Item {
    /// Its id in results.
    pub(crate) id: String,
    /// The text.
    pub(crate) question: String,
    /// The mode.
    pub(crate) mode: String,
}

/// The retrieval for a question.
#[derive(Debug, Serialize)]
pub(crate) struct AdapterHits {
    /// The question.
    pub(crate) id: String,
    /// The mode that was used.
    pub(crate) mode: String,
    /// Passages, best first, without duplicates.
    pub(crate) passages: Vec<String>,
    /// Duration of the retrieval.
    pub(crate) latency_s: f64,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The reply to a request; `ok`, `wall_s` and `error` are added.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    /// The workspace is open.
    Opened {
        /// The supported modes.
        modes: &'static [&'static str],
        /// The release.
        version: &'static str,
        /// Time to open it.
        load_s: f64,
    },
    /// Documents by status.
    Statuses {
        /// Number of documents by status.
        statuses: BTreeMap<&'static str, usize>,
    },
    /// Retrievals in the order of the questions.
    Results {
        /// One per question.
        results: Vec<AdapterHits>,
    },
    /// An answer.
    Answered {
        /// The text.
        answer: String,
    },
    /// The whole state.
    Dumped(Box<Dump>),
    /// No content.
    Done {},
}

/// The state for consistency checks.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Dump {
    /// Status of each passage; `processed` if ready.
    pub(crate) docs: BTreeMap<String, &'static str>,
    /// Why a passage stopped.
    pub(crate) doc_errors: BTreeMap<String, String>,
    /// The passage of each chunk.
    pub(crate) chunks: BTreeMap<String, String>,
    /// Chunks with a vector.
    pub(crate) chunk_vectors: Vec<String>,
    /// Entity keys.
    pub(crate) entities: Vec<String>,
    /// Entities with a vector.
    pub(crate) entity_vectors: Vec<String>,
    /// Weight of each relation; the key has both entities in ascending order, separated by a tab.
    pub(crate) edges: BTreeMap<String, f64>,
    /// Relations with a vector.
    pub(crate) edge_vectors: Vec<String>,
    /// The chunks that mention each entity.
    pub(crate) entity_sources: BTreeMap<String, Vec<String>>,
}

fn one() -> usize {
    1
}

fn twenty() -> usize {
    20
}
