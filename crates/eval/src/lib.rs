//! Evaluation: question sets are asked in several ways, and what was found and answered is scored, judged, compared and
//! reported.
//!
//! A consumer of the engine's library API. It knows no store and no provider; it reads sets and keeps results in files.
//! The same rows give the same figures: whatever is drawn at random is drawn from a fixed seed.

pub mod answer;
pub mod answering;
pub mod arm;
pub mod asking;
pub mod claims;
pub mod compare;
pub mod html;
pub mod journal;
pub mod judge;
pub mod pairwise;
mod plot;
pub mod ragchecker;
pub mod rank;
pub mod report;
pub mod retrieval;
pub mod set;
pub mod stats;
pub mod verdict;
