//! The rules that every store follows, so that all stores give the same results: which batches are rejected, how vectors
//! are rounded and scored, which words a text contains, and which searches run together.

pub mod batch;
pub mod search;
pub mod vector;
pub mod words;
