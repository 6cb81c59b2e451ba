//! Arguments of the commands about derived layers.

use clap::{Args, ValueEnum};
use graphloom_engine::derive::LayerKind;
use graphloom_engine::money::Limit;

#[derive(Debug, Args)]
#[command(after_help = "\
Communities are groups of entities that belong together, on several levels, each with a report. The tree joins similar passages \
into groups, and these into larger groups, each with a summary; the modes tree and tree_descent search it. The summary model \
writes reports and summaries; without an LLM, they consist of sentences from the documents. Nodes whose texts did not change are \
kept, a stopped run continues, and failures are retried. With `--set derive=communities,tree`, `add`, `work` and the server derive \
them after indexing.")]
pub(crate) struct DeriveArgs {
    /// What to derive
    #[arg(value_enum)]
    pub(crate) layer: LayerArg,
    /// Print an estimate of the cost; send nothing and store nothing
    #[arg(long, conflicts_with = "budget")]
    pub(crate) estimate: bool,
    /// Stop before exceeding this budget: tokens such as 2M, 500k or 900tokens, or money such as 1.50
    #[arg(long, value_name = "AMOUNT", value_parser = super::limit)]
    pub(crate) budget: Option<Limit>,
}

/// A layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayerArg {
    /// Communities of the graph with reports.
    Communities,
    /// Summaries of similar passages, and summaries of these summaries.
    Tree,
}

impl From<LayerArg> for LayerKind {
    fn from(layer: LayerArg) -> Self {
        match layer {
            LayerArg::Communities => Self::Communities,
            LayerArg::Tree => Self::Tree,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    /// Id of a node, or the start of one [default: list the nodes of a level]
    #[arg(value_name = "ID")]
    pub(crate) node: Option<String>,
    /// Level to list; 1 is above the passages [default: the highest level with several nodes]
    #[arg(long, value_name = "N", conflicts_with = "node",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) level: Option<u32>,
    /// Maximum number of nodes to list
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "node",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: usize,
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
