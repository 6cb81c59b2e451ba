//! Google's Gemini API.

mod chat;
mod embed;
mod wire;

pub use self::chat::{GeminiChat, GeminiChatConfig};
pub use self::embed::{GeminiEmbedder, GeminiEmbedderConfig};

/// Default base URL.
pub const GEMINI_BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// The header of the key.
const KEY_HEADER: &str = "x-goog-api-key";

/// A model's resource name; `tunedModels/x` and the like are kept as they are.
fn resource(model: &str) -> String {
    if model.contains('/') { model.to_owned() } else { format!("models/{model}") }
}
