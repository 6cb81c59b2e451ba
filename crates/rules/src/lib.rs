//! The rules that every store follows, so that all of them give the same results: which batches are refused, how vectors
//! are rounded and scored, which words a text has, and which searches are done together.

pub mod batch;
pub mod search;
pub mod vector;
pub mod words;
