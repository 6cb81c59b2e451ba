//! Sentence embeddings from BERT models on the CPU, in safe Rust.
//!
//! - [`Settings`] reads the settings of a model folder: one with the layout of sentence-transformers, or a [`PACKED_FILE`].
//! - [`Model`] loads the folder's tokenizer and weights and converts texts into unit-length vectors.
//! - [`SentenceScorer`] loads the same model with an adapter and scores how well sentences answer a question.
//! - [`distil`] writes a table with the vectors of all tokens. [`TokenTable`] converts texts into vectors with this table only.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod adapter;
mod encoder;
mod folder;
mod matrix;
mod model;
mod packed;
mod pointwise;
mod scorer;
mod table;
mod tokenizer;
mod weights;

pub use folder::{FolderError, Settings, WEIGHTS_FILE};
pub use model::Model;
pub use packed::PACKED_FILE;
pub use scorer::{ScorerModel, SentenceScorer};
pub use table::{TABLE_FILE, TokenTable, distil, table_dimensions};
