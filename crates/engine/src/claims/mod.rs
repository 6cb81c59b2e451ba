//! Claims: dated statements in the documents, deduplicated, with the sentences that end or contradict them.
//!
//! The claims of a chunk are evidence, stored with its mentions and facts. Merged claims are computed when they are read,
//! as a pure function of the live claims and the decisions, so they need no maintenance when documents change.

mod merge;
mod read;

pub use merge::{ClaimQuote, MergedClaim, RetiredBy, Retirement, merge_claims};
pub use read::{ClaimFilter, ListedClaim, ListedQuote, MAX_LISTED_CLAIMS, claims_of_entity, list_claims};
pub(crate) use read::{all_claims, claims_about, with_words};
