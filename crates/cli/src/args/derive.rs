//! Arguments of the commands about derived layers.

use clap::{Args, ValueEnum};
use graphloom_engine::money::Limit;

#[derive(Debug, Args)]
#[command(after_help = "\
Communities are groups of entities that belong together, on several levels, each with a report. The summary model writes the \
reports; without an LLM they are made of sentences of the documents. A report whose entities and relations did not change \
is kept. With `--set derive=communities`, `add`, `work` and the server derive them after indexing.")]
pub(crate) struct DeriveArgs {
    /// What to derive
    #[arg(value_enum)]
    pub(crate) layer: LayerArg,
    /// Stop before exceeding this budget: tokens such as 2M, 500k or 900tokens, or money such as 1.50
    #[arg(long, value_name = "AMOUNT", value_parser = super::limit)]
    pub(crate) budget: Option<Limit>,
}

/// A layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayerArg {
    /// Communities of the graph with reports.
    Communities,
}

#[derive(Debug, Args)]
pub(crate) struct CommunitiesArgs {
    /// Id of a community, or the start of one [default: list the communities of a level]
    #[arg(value_name = "ID")]
    pub(crate) community: Option<String>,
    /// Level to list; 0 is the coarsest [default: 0]
    #[arg(long, value_name = "N", conflicts_with = "community")]
    pub(crate) level: Option<u32>,
    /// Maximum number of communities to list
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "community",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: usize,
}
