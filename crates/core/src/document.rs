//! Documents: text with a source, a content hash and metadata.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ContentHash, DocumentId, Timestamp};

/// One version of one source. Its text is read through [`crate::Snapshot::texts`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Hash of source and content.
    pub id: DocumentId,
    /// The name under which new content is a new version of the same document: a path, a URL or a label.
    pub source: String,
    /// Title found in the document, or the file name.
    pub title: String,
    /// Hash of the text.
    pub content_hash: ContentHash,
    /// Length of the text in UTF-8 bytes.
    pub text_bytes: u64,
    /// What the bytes were read as.
    pub format: Format,
    /// The encoding the bytes were read in, such as `UTF-8` or `windows-1252`.
    pub encoding: String,
    /// Whether line `n` of the text is line `n` of the source, so that citations can name lines of the file.
    pub lines_match_source: bool,
    /// The user's key-value pairs.
    pub meta: BTreeMap<String, String>,
    /// Whether the document takes part in answers.
    pub visibility: Visibility,
    /// When it was accepted; not part of the canonical state.
    pub added_at: Timestamp,
}

/// Whether a document takes part in answers and views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Searchable; its facts are in the graph once merged.
    Live,
    /// A new version being prepared beside the live one; it replaces that one in a single commit.
    Staged,
}

/// A document format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
    /// HTML.
    Html,
    /// Comma-, semicolon- or tab-separated values.
    Csv,
    /// One JSON value.
    Json,
    /// One JSON value a line.
    JsonLines,
}

impl Format {
    /// The format's name in output and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::JsonLines => "jsonl",
        }
    }
}
