//! Anthropic's Messages API.

mod chat;
mod prefixes;
mod wire;

pub use self::chat::{AnthropicChat, AnthropicChatConfig};

/// Where Anthropic listens.
pub const ANTHROPIC_BASE_URL: &str = "https://api.anthropic.com/v1";
