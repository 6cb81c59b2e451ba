//! Evaluation: asks question sets in several variants, and scores, judges, compares and reports the retrieved
//! passages and answers.
//!
//! Uses the engine's library API and knows no store or provider. Reads sets from files and saves results in files.
//! Random numbers have a fixed seed, so equal rows give equal results.

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
