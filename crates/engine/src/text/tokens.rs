//! Counts and cuts text in o200k_base tokens.

/// The o200k_base tokenizer; ids equal tiktoken's. Cheap to copy; its tables load on first use.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokenizer;

impl Tokenizer {
    /// Tokens of `text`.
    pub fn count(self, text: &str) -> u32 {
        u32::try_from(bpe_openai::o200k_base().count(text)).unwrap_or(u32::MAX)
    }
}
