//! Anthropic's Messages API.

mod chat;
mod prefixes;
mod wire;

pub use self::chat::{AnthropicChat, AnthropicChatConfig};

/// Default base URL.
pub const ANTHROPIC_BASE_URL: &str = "https://api.anthropic.com/v1";
