//! Text: tokens, names, sentences.

mod tokens;

pub use tokens::Tokenizer;
