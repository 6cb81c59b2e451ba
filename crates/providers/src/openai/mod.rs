//! Servers with OpenAI's API: OpenAI, Azure, vLLM, llama.cpp, LM Studio, OpenRouter, DeepSeek and others.

mod chat;
mod chat_wire;
mod embed;
mod embed_wire;

pub use self::chat::{OpenAiChat, OpenAiChatConfig, OutputLimitField};
pub use self::embed::{OpenAiEmbedder, OpenAiEmbedderConfig};

/// OpenAI's base URL.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
