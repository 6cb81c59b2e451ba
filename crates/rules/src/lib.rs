//! The rules that every store follows, so that all of them give the same results: which batches are refused, how vectors
//! are rounded and scored, and which words a text has.

pub mod batch;
pub mod vector;
pub mod words;
