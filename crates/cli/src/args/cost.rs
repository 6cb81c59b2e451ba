//! Arguments of the commands about what model calls cost.

use clap::{Args, ValueEnum};
use graphloom_engine::money::Limit;

use super::limit;

#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// Dimensions to group by, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [CostBy::Role, CostBy::Model])]
    pub(crate) by: Vec<CostBy>,
}

/// A dimension to group costs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum CostBy {
    /// The role the model was called for.
    Role,
    /// The model.
    Model,
    /// The document the call was about.
    Document,
    /// The day, in UTC.
    Day,
}

impl From<CostBy> for graphloom_engine::money::CostBy {
    fn from(by: CostBy) -> Self {
        match by {
            CostBy::Role => Self::Role,
            CostBy::Model => Self::Model,
            CostBy::Document => Self::Document,
            CostBy::Day => Self::Day,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
From the time you set it, the budget counts the model calls of every command, server and worker on the workspace. A call that \
might exceed the budget is not sent: indexing stops with exit code 5 and continues once the budget is larger, and questions that \
need an LLM fail. A budget in money needs prices for all models. `--budget` of a command additionally limits that one run.")]
pub(crate) struct BudgetArgs {
    /// Tokens such as 2M, 500k or 900tokens, money such as 1.50, or none [default: show the budget]
    #[arg(value_name = "AMOUNT", value_parser = workspace_limit)]
    pub(crate) amount: Option<WorkspaceLimit>,
    /// Count from 0 again, even if the unit stays the same
    #[arg(long, requires = "amount")]
    pub(crate) restart: bool,
}

/// A new budget of the workspace.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WorkspaceLimit {
    /// At most this amount.
    Of(Limit),
    /// No limit.
    None,
}

fn workspace_limit(text: &str) -> Result<WorkspaceLimit, String> {
    match text.trim() {
        "none" => Ok(WorkspaceLimit::None),
        text => limit(text).map(WorkspaceLimit::Of),
    }
}
