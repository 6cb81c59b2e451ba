//! Ollama's native API. Unlike its OpenAI-compatible API, it can set the context length per request.

mod chat;
mod embed;
mod host;

pub use self::chat::{OllamaChat, OllamaChatConfig};
pub use self::embed::{OllamaEmbedder, OllamaEmbedderConfig};
pub use self::host::base_url_from_host;

/// Default base URL.
pub const OLLAMA_BASE_URL: &str = "http://127.0.0.1:11434";

/// Default context length. Ollama's own default is far smaller and silently truncates longer prompts. The
/// query budget of 30000 tokens fits into this one.
pub const DEFAULT_CONTEXT_TOKENS: u32 = 32_768;
