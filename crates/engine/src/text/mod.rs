//! Text: tokens, names, sentences, and what is cleaned away before anything is stored.

mod key;
mod names;
mod sanitize;
mod sentences;
mod tokens;

pub use key::entity_key;
pub use names::{MAX_NAME_BYTES, MAX_NAME_CHARS, clean_name};
pub use sanitize::{sanitize, unescape};
pub use sentences::sentences;
pub use tokens::{MIN_WINDOW_TOKENS, TokenMap, Tokenizer};
