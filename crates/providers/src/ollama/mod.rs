//! Ollama's own protocol, which unlike its OpenAI-compatible one lets the context length be set per request.

mod chat;
mod embed;
mod host;

pub use self::chat::{OllamaChat, OllamaChatConfig};
pub use self::embed::{OllamaEmbedder, OllamaEmbedderConfig};
pub use self::host::base_url_from_host;

/// Where Ollama listens when nobody says otherwise.
pub const OLLAMA_BASE_URL: &str = "http://127.0.0.1:11434";

/// Context length asked for by default. Ollama's own default is far smaller and cuts longer prompts silently; the
/// query budget of 30000 tokens fits into this one.
pub const DEFAULT_CONTEXT_TOKENS: u32 = 32_768;
