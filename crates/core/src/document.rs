//! Documents: text with a source, a content hash and metadata.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ContentHash, DocumentId, PartMark, Place, Span, Timestamp};

/// One version of one source. Its text is read through [`crate::Snapshot::texts`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Hash of source and content.
    pub id: DocumentId,
    /// The name that identifies the document across versions: a path, a URL or a label.
    pub source: String,
    /// Title found in the document, or the file name.
    pub title: String,
    /// Hash of the text.
    pub content_hash: ContentHash,
    /// Length of the text in UTF-8 bytes.
    pub text_bytes: u64,
    /// Format of the source.
    pub format: Format,
    /// Encoding of the source, such as `UTF-8` or `windows-1252`.
    pub encoding: String,
    /// Whether line `n` of the text is line `n` of the source, so that citations can give line numbers of the file.
    pub lines_match_source: bool,
    /// Start of the pages, slides or sheets in the text, in order; empty if there are none.
    pub parts: Vec<PartMark>,
    /// Remarks about how the source was read, such as parts that were left out. Not part of the canonical state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The user's key-value pairs.
    pub meta: BTreeMap<String, String>,
    /// Whether the document is used in answers.
    pub visibility: Visibility,
    /// When it was added. Not part of the canonical state.
    pub added_at: Timestamp,
}

impl Document {
    /// Returns the pages, slides or sheets that a span covers; `None` if the document has none there.
    pub fn place_of(&self, span: Span) -> Option<Place> {
        Place::of(&self.parts, span)
    }
}

/// Whether a document is used in answers and views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// In use. Its facts are in the graph once merged.
    Live,
    /// A new version in preparation. It replaces the live one in a single commit.
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
    /// One JSON value per line.
    JsonLines,
    /// XML with any schema.
    Xml,
    /// Source code in any language.
    Code,
    /// PDF.
    Pdf,
    /// A Word document (Office Open XML).
    Docx,
    /// A PowerPoint presentation (Office Open XML).
    Pptx,
    /// An Excel workbook (Office Open XML).
    Xlsx,
    /// An Excel workbook in the older binary format.
    Xls,
    /// An OpenDocument text.
    Odt,
    /// An OpenDocument spreadsheet.
    Ods,
    /// An OpenDocument presentation.
    Odp,
    /// An EPUB book.
    Epub,
    /// Rich Text Format.
    Rtf,
    /// An e-mail message.
    Eml,
    /// reStructuredText.
    Rst,
    /// LaTeX.
    Latex,
    /// Subtitles, SubRip or WebVTT.
    Subtitles,
    /// A Jupyter notebook.
    Notebook,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 23] = [
        Self::Text,
        Self::Markdown,
        Self::Html,
        Self::Csv,
        Self::Json,
        Self::JsonLines,
        Self::Xml,
        Self::Code,
        Self::Pdf,
        Self::Docx,
        Self::Pptx,
        Self::Xlsx,
        Self::Xls,
        Self::Odt,
        Self::Ods,
        Self::Odp,
        Self::Epub,
        Self::Rtf,
        Self::Eml,
        Self::Rst,
        Self::Latex,
        Self::Subtitles,
        Self::Notebook,
    ];

    /// Returns the format's name in output and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Xml => "xml",
            Self::Code => "code",
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Pptx => "pptx",
            Self::Xlsx => "xlsx",
            Self::Xls => "xls",
            Self::Odt => "odt",
            Self::Ods => "ods",
            Self::Odp => "odp",
            Self::Epub => "epub",
            Self::Rtf => "rtf",
            Self::Eml => "eml",
            Self::Rst => "rst",
            Self::Latex => "latex",
            Self::Subtitles => "subtitles",
            Self::Notebook => "ipynb",
        }
    }

    /// Returns a description with an article.
    pub fn described(self) -> &'static str {
        match self {
            Self::Text => "plain text",
            Self::Markdown => "Markdown",
            Self::Html => "an HTML page",
            Self::Csv => "a table of separated values",
            Self::Json => "JSON",
            Self::JsonLines => "JSON lines",
            Self::Xml => "XML",
            Self::Code => "source code",
            Self::Pdf => "a PDF document",
            Self::Docx => "a Word document",
            Self::Pptx => "a PowerPoint presentation",
            Self::Xlsx => "an Excel workbook",
            Self::Xls => "an older Excel workbook",
            Self::Odt => "an OpenDocument text",
            Self::Ods => "an OpenDocument spreadsheet",
            Self::Odp => "an OpenDocument presentation",
            Self::Epub => "an EPUB book",
            Self::Rtf => "an RTF document",
            Self::Eml => "an e-mail message",
            Self::Rst => "reStructuredText",
            Self::Latex => "a LaTeX document",
            Self::Subtitles => "subtitles",
            Self::Notebook => "a Jupyter notebook",
        }
    }

    /// True if the format has pages with a fixed layout that a browser can show.
    pub fn has_pages(self) -> bool {
        match self {
            Self::Pdf => true,
            Self::Text
            | Self::Markdown
            | Self::Html
            | Self::Csv
            | Self::Json
            | Self::JsonLines
            | Self::Xml
            | Self::Code
            | Self::Docx
            | Self::Pptx
            | Self::Xlsx
            | Self::Xls
            | Self::Odt
            | Self::Ods
            | Self::Odp
            | Self::Epub
            | Self::Rtf
            | Self::Eml
            | Self::Rst
            | Self::Latex
            | Self::Subtitles
            | Self::Notebook => false,
        }
    }

    /// Returns the format with this [name](Format::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}
