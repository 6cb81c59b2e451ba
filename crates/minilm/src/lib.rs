//! Sentence embeddings from BERT models on the CPU, in safe Rust.
//!
//! - [`Settings`] reads the settings of a model folder with the layout of sentence-transformers.
//! - [`Model`] loads the folder's tokenizer and weights and turns texts into unit-length vectors.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod encoder;
mod folder;
mod matrix;
mod model;
mod pointwise;
mod tokenizer;
mod weights;

pub use folder::{FolderError, Settings, WEIGHTS_FILE};
pub use model::Model;
