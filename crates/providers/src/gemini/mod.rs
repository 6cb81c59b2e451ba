//! Google's Gemini API.

mod chat;
mod embed;
mod wire;

pub use self::chat::{GeminiChat, GeminiChatConfig};
pub use self::embed::{GeminiEmbedder, GeminiEmbedderConfig};

/// Default base URL.
pub const GEMINI_BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// The header for the API key.
const KEY_HEADER: &str = "x-goog-api-key";

/// Returns a model's resource name. Names with a path, such as `tunedModels/x`, are unchanged.
fn resource(model: &str) -> String {
    if model.contains('/') { model.to_owned() } else { format!("models/{model}") }
}
