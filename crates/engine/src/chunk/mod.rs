//! Splits a document into chunks of bounded token length.

use graphloom_core::Span;

/// How texts are split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkConfig {
    /// Where the borders are sought.
    pub strategy: ChunkStrategy,
    /// Most tokens of a chunk. `None` adapts: 1200, or 600 for documents over [`ADAPTIVE_TOKENS`].
    pub max_chunk_tokens: Option<u32>,
    /// Tokens that neighbouring chunks share.
    pub overlap_tokens: u32,
}

/// Documents above this many tokens get smaller chunks where the size is adaptive.
pub const ADAPTIVE_TOKENS: u32 = 25_000;

/// Where chunk borders are sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkStrategy {
    /// Markdown headings where the document has them, else recursive separators.
    Auto,
    /// Fixed windows of tokens.
    TokenWindow,
    /// Paragraphs, then lines, sentences, words.
    Recursive,
    /// Sections under headings, with the headings kept as breadcrumb.
    Headings,
}

/// One chunk of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it stands.
    pub span: Span,
    /// Its tokens.
    pub token_count: u32,
    /// Headings above it, outermost first.
    pub breadcrumb: Vec<String>,
}

impl Default for ChunkConfig {
    fn default() -> Self {
        Self { strategy: ChunkStrategy::Auto, max_chunk_tokens: None, overlap_tokens: 100 }
    }
}
