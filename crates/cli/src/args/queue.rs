//! Arguments of the commands that work on the queue.

use std::net::SocketAddr;

use clap::Args;
use graphloom_core::TrackId;
use graphloom_engine::money::Limit;

use super::BuildArgs;

#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) building: BuildArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Run it on any number of hosts beside `graphloom serve --workers 0`, with the same --store and the same models. Only one worker \
at a time claims a document; if a worker dies, others take over its documents after 15 seconds. Workspaces take turns of 10 \
seconds if more than --workers have documents queued. After Ctrl-C or SIGTERM, the worker takes up to stop_timeout_s seconds to \
finish and store calls in flight.")]
pub(crate) struct WorkerArgs {
    /// Workspaces indexed at the same time [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) workers: Option<u64>,
    /// Serve /livez, /readyz and /metrics at this address, such as 0.0.0.0:9622 [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Finished extractions stay stored, so that `graphloom retry` does not pay twice. A process that works on a cancelled document \
stores the answers in flight and continues with the next document. If a new version is cancelled, the old one stays in use; if a \
re-extraction is cancelled, the document stays as it was.")]
pub(crate) struct CancelArgs {
    /// Sources, ids, or starts of ids
    #[arg(required_unless_present_any = ["track", "all"], value_name = "DOC")]
    pub(crate) documents: Vec<String>,
    /// Also documents queued by the run with this name; repeatable
    #[arg(long, value_name = "NAME", value_parser = track)]
    pub(crate) track: Vec<TrackId>,
    /// All documents that are waiting or being indexed
    #[arg(long, conflicts_with_all = ["documents", "track"])]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Uses the configured model; choose another with --llm MODEL or --set extract_llm=MODEL. Questions use the old extraction until \
all chunks of the document are done. A chunk that fails keeps its old extraction and is listed. Answers that are already stored \
for the same model and chunk are reused.")]
pub(crate) struct ReExtractArgs {
    /// Sources, ids, or starts of ids
    #[arg(required_unless_present = "track", value_name = "DOC")]
    pub(crate) documents: Vec<String>,
    /// Also documents queued by the run with this name; repeatable
    #[arg(long, value_name = "NAME", value_parser = track)]
    pub(crate) track: Vec<TrackId>,
    /// Print an estimate of the cost; send nothing and store nothing
    #[arg(long, conflicts_with = "budget")]
    pub(crate) estimate: bool,
    #[command(flatten)]
    pub(crate) building: BuildArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The key `contextual`, or --contextual, sets the context of chunks: title and headings, a sentence by an LLM, or none. Only \
chunks whose context changes are embedded again; the graph stays as it is. Stored answers of the LLM for the \
same chunk are reused, and a chunk that fails keeps its old context.")]
pub(crate) struct ContextualizeArgs {
    /// Sources, ids, or starts of ids [default: all documents]
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<String>,
    /// Also documents queued by the run with this name; repeatable
    #[arg(long, value_name = "NAME", value_parser = track)]
    pub(crate) track: Vec<TrackId>,
    /// Print an estimate of the cost; send nothing and store nothing
    #[arg(long, conflicts_with = "budget")]
    pub(crate) estimate: bool,
    #[command(flatten)]
    pub(crate) building: BuildArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Questions use the old vectors until all new ones are ready; then one commit replaces them. Vectors computed so far are kept, so \
the same command continues after an interruption. A server that has the workspace open reopens it with the new embedder. If \
graphloom.toml names an embedder, change it there too.")]
pub(crate) struct ReEmbedArgs {
    /// The new embedder, such as static:all-minilm-l6-v2 or openai:MODEL [default: the configured one]
    #[arg(value_name = "EMBEDDER", conflicts_with = "embedder")]
    pub(crate) new: Option<String>,
    /// Print an estimate of the cost; send nothing and store nothing
    #[arg(long, conflicts_with = "budget")]
    pub(crate) estimate: bool,
    /// Stop before exceeding this budget: tokens such as 2M, 500k or 900tokens, or money such as 1.50
    #[arg(long, value_name = "AMOUNT", value_parser = super::limit)]
    pub(crate) budget: Option<Limit>,
}

/// Parses the name of a run.
pub(super) fn track(name: &str) -> Result<TrackId, String> {
    TrackId::new(name).map_err(|error| error.to_string())
}
