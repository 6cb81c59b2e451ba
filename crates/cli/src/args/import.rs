//! Arguments of `graphloom import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use graphloom_core::TrackId;

use super::queue;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Import a GraphRAG project: its tables of documents, text units, entities, relationships and reports
    #[command(after_help = "\
Reads the tables of releases 0.x to 3.x. `derive communities` reuses a report if a community has the same entities and the same \
evidence.")]
    Graphrag(ImportArgs),
    /// Import a LightRAG working folder: its documents, and the extractions in its cache of LLM calls
    #[command(after_help = "\
If the answer for a chunk is not in the cache, its records come from the graph file. A document is incomplete if both lack one of \
its chunks; `graphloom retry` extracts these chunks.")]
    Lightrag(ImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Folder to import
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Text to put before document names, such as docs/; adding the unchanged file docs/NAME later then changes nothing
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) prefix: String,
    /// Name of this run, for `status --track` [default: a generated name]
    #[arg(long, value_name = "NAME", value_parser = queue::track)]
    pub(crate) track: Option<TrackId>,
    /// Show what the folder contains and what is missing; store nothing
    #[arg(long, conflicts_with = "track")]
    pub(crate) dry_run: bool,
}
