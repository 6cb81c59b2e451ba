//! Reads bytes into text: formats, encodings, headings.

use graphloom_core::Format;

/// A document's text and what is known of its structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedDocument {
    /// The text; spans point into it.
    pub text: String,
    /// What the bytes were read as.
    pub format: Format,
    /// The encoding they were read in.
    pub encoding: String,
    /// Title found in the document; else the caller uses the file name.
    pub title: Option<String>,
    /// Headings in order of appearance.
    pub headings: Vec<Heading>,
    /// Whether line `n` of the text is line `n` of the source.
    pub lines_match_source: bool,
}

/// A heading of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// First byte of the heading in the text.
    pub offset: usize,
    /// 1 is outermost.
    pub level: u8,
    /// Its words.
    pub title: String,
}
