//! The harness protocol: one JSON request a line on stdin, one JSON reply a line on stdout.

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
        /// What differs from the defaults.
        options: Option<Options>,
    },
    /// Indexes passages and answers when all are in the graph.
    Index {
        /// The passages, one document each.
        passages: Vec<Passage>,
    },
    /// Retrieves passages for questions.
    Query {
        /// The questions.
        items: Vec<Item>,
        /// Questions in flight.
        #[serde(default = "one")]
        concurrency: usize,
        /// Passages returned per question.
        #[serde(default = "twenty")]
        top_k: usize,
    },
    /// Answers one question.
    Answer {
        /// The words.
        question: String,
        /// The mode; `mix` where absent.
        mode: Option<String>,
    },
    /// Removes one passage's document.
    Delete {
        /// The passage.
        id: String,
    },
    /// Works again on what is waiting or failed.
    Retry,
    /// The whole state.
    Dump,
    /// Ends the process.
    Close,
    /// Anything else.
    #[serde(other)]
    Unsupported,
}

/// What a measurement may change.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    /// Rules and the built-in embedder instead of the replay server.
    pub(crate) offline: bool,
    /// Nothing is remembered from one question to the next: keywords and vectors are asked for every time.
    pub(crate) cold: bool,
    /// Extraction calls in flight.
    pub(crate) concurrency: Option<usize>,
    /// Documents worked on at once.
    pub(crate) documents: Option<usize>,
    /// When chunks are asked about again: `"auto"`, or a number of passes.
    pub(crate) gleaning: Option<Passes>,
    /// Most tokens of a chunk.
    pub(crate) chunk_tokens: Option<u32>,
}

/// How often chunks are asked about again.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(crate) enum Passes {
    /// So often.
    Number(u32),
    /// As the answers need it.
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
    /// Its name in questions and results.
    pub(crate) id: String,
    /// Its words.
    pub(crate) text: String,
}

/// A question to retrieve for.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Item {
    /// Its name in results.
    pub(crate) id: String,
    /// The words.
    pub(crate) question: String,
    /// The mode.
    pub(crate) mode: String,
}

/// What a question found.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    /// The question.
    pub(crate) id: String,
    /// The mode that ran.
    pub(crate) mode: String,
    /// Passages, best first, each once.
    pub(crate) passages: Vec<String>,
    /// Time of the retrieval alone.
    pub(crate) latency_s: f64,
    /// Why it found nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// What a request was answered with; `ok`, `wall_s` and `error` are added around it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    /// The workspace is open.
    Opened {
        /// The modes that can be asked.
        modes: &'static [&'static str],
        /// The release.
        version: &'static str,
        /// Time until it was open.
        load_s: f64,
    },
    /// Documents by status.
    Statuses {
        /// How many documents have each.
        statuses: BTreeMap<&'static str, usize>,
    },
    /// Retrievals in the order of the questions.
    Results {
        /// One per question.
        results: Vec<Found>,
    },
    /// An answer.
    Answered {
        /// The words.
        answer: String,
    },
    /// The whole state.
    Dumped(Box<Dump>),
    /// Nothing to say.
    Done {},
}

/// The state as the consistency checks read it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Dump {
    /// Passage to status; `processed` where it is ready.
    pub(crate) docs: BTreeMap<String, &'static str>,
    /// Passage to the reason it stopped.
    pub(crate) doc_errors: BTreeMap<String, String>,
    /// Chunk to passage.
    pub(crate) chunks: BTreeMap<String, String>,
    /// Chunks that have a vector.
    pub(crate) chunk_vectors: Vec<String>,
    /// Entity keys.
    pub(crate) entities: Vec<String>,
    /// Entities that have a vector.
    pub(crate) entity_vectors: Vec<String>,
    /// Relation, ends tab-separated and ascending, to weight.
    pub(crate) edges: BTreeMap<String, f64>,
    /// Relations that have a vector.
    pub(crate) edge_vectors: Vec<String>,
    /// Entity to the chunks that mention it.
    pub(crate) entity_sources: BTreeMap<String, Vec<String>>,
}

fn one() -> usize {
    1
}

fn twenty() -> usize {
    20
}
