//! Model adapters: OpenAI-compatible servers, Anthropic, Gemini, Ollama and rerankers over one HTTP layer;
//! local model folders; and the built-in embedder.
//!
//! Everything here implements a trait of `graphloom-core`. Nothing reads the environment: API keys, base URLs
//! and limits are passed as plain configuration.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod anthropic;
pub mod builtin;
mod chat_stream;
mod embed_batches;
mod endpoint;
pub mod gemini;
pub mod http;
#[cfg(feature = "local")]
pub mod local;
#[cfg(feature = "local")]
pub mod models;
pub mod ollama;
pub mod openai;
pub mod rerank;
mod secret;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod web;
mod wire_lines;

pub use embed_batches::EmbedBatching;
pub use endpoint::{ConfigError, Endpoint, without_credentials};
pub use secret::Secret;
