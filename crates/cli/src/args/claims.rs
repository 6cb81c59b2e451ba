//! The command line of `claims`.

use clap::{Args, ValueEnum};
use graphloom_core::{ClaimStatus, IsoDate};

#[derive(Debug, Args)]
#[command(after_help = "\
Dates are years, months or days, such as 2014, 2014-03 or 2014-03-01. Only a sentence can end a claim: it states an end date, \
names a successor in an office that one person holds at a time, or denies the claim. It is listed with the claim.")]
pub(crate) struct ClaimsArgs {
    /// Entity name; all words are joined [default: all entities]
    #[arg(value_name = "ENTITY")]
    pub(crate) entity: Vec<String>,
    /// Only claims whose subject is this entity
    #[arg(long, value_name = "ENTITY", conflicts_with = "entity")]
    pub(crate) subject: Option<String>,
    /// Only claims that held at this date
    #[arg(long, value_name = "DATE")]
    pub(crate) as_of: Option<IsoDate>,
    /// Only claims that had not ended before this date
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<IsoDate>,
    /// Only claims that had begun by this date
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<IsoDate>,
    /// Only claims of this status
    #[arg(long, value_enum)]
    pub(crate) status: Option<StatusArg>,
    /// Maximum number of claims, up to 10000
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}

/// What the documents say about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusArg {
    /// The documents state it.
    True,
    /// The documents deny it.
    False,
    /// The documents report it as alleged, expected or possible.
    Suspected,
}

impl From<StatusArg> for ClaimStatus {
    fn from(status: StatusArg) -> Self {
        match status {
            StatusArg::True => Self::True,
            StatusArg::False => Self::False,
            StatusArg::Suspected => Self::Suspected,
        }
    }
}
