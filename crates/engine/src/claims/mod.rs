//! Claims: dated statements of the documents, deduplicated, with what ends or contradicts them.
//!
//! The claims of a chunk are evidence, stored with its mentions and facts. What they say together is computed when it is
//! read: a pure function of the live claims and the decisions, so that it needs no upkeep when documents change.

mod merge;
mod read;

pub use merge::{ClaimQuote, MergedClaim, RetiredBy, Retirement, merge_claims};
pub use read::{ClaimFilter, ListedClaim, ListedQuote, MAX_LISTED_CLAIMS, claims_of_entity, list_claims};
pub(crate) use read::{all_claims, claims_about, with_words};
