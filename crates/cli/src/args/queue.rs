//! The command line of what waits and what is worked on.

use clap::Args;
use graphloom_core::TrackId;

use super::Building;

/// `graphloom work`.
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) building: Building,
}

/// `graphloom cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
What was read stays stored, so that `graphloom retry` costs nothing twice. A process that works on such a document stores \
the answers in flight and goes on with the next one. A cancelled new version leaves the old one in use; a cancelled \
re-extraction is given up, and the document stays as it was.")]
pub(crate) struct CancelArgs {
    /// Sources, ids, or beginnings of ids
    #[arg(required_unless_present_any = ["track", "all"], value_name = "DOC")]
    pub(crate) documents: Vec<String>,
    /// Also what the run of this name queued; repeatable
    #[arg(long, value_name = "NAME", value_parser = track)]
    pub(crate) track: Vec<TrackId>,
    /// Everything that waits or is worked on
    #[arg(long, conflicts_with_all = ["documents", "track"])]
    pub(crate) all: bool,
}

/// `graphloom re-extract`.
#[derive(Debug, Args)]
#[command(after_help = "\
The model is the configured one; name another with --llm MODEL or --set extract_llm=MODEL. A document answers as before until \
all of its chunks are read anew; chunks that fail keep what was said before, and are listed. What the model said before \
about the same chunk is not asked again.")]
pub(crate) struct ReExtractArgs {
    /// Sources, ids, or beginnings of ids
    #[arg(required_unless_present = "track", value_name = "DOC")]
    pub(crate) documents: Vec<String>,
    /// Also what the run of this name queued; repeatable
    #[arg(long, value_name = "NAME", value_parser = track)]
    pub(crate) track: Vec<TrackId>,
    /// Print what it would cost, send nothing and store nothing
    #[arg(long, conflicts_with = "budget")]
    pub(crate) estimate: bool,
    #[command(flatten)]
    pub(crate) building: Building,
}

/// `graphloom situate`.
#[derive(Debug, Args)]
#[command(after_help = "\
How chunks are situated is the key `contextual`, or --contextual: by title and headings, by a model, or not at all. Only \
chunks whose situating text changes are embedded again; the graph stays as it is. What the model said before about the \
same chunk is not asked again, and a chunk that fails keeps what it had.")]
pub(crate) struct SituateArgs {
    /// Sources, ids, or beginnings of ids; all documents where none is named
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<String>,
    /// Also what the run of this name queued; repeatable
    #[arg(long, value_name = "NAME", value_parser = track)]
    pub(crate) track: Vec<TrackId>,
    /// Print what it would cost, send nothing and store nothing
    #[arg(long, conflicts_with = "budget")]
    pub(crate) estimate: bool,
    #[command(flatten)]
    pub(crate) building: Building,
}

/// A checked name of a run.
pub(super) fn track(name: &str) -> Result<TrackId, String> {
    TrackId::new(name).map_err(|error| error.to_string())
}
