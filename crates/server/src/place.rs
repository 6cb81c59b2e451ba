//! Places in documents.

use graphloom_core::{Document, Span};
use graphloom_engine::query::Citation;
use schemars::JsonSchema;
use serde::Serialize;

/// A cited place.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CitationItem {
    /// The number in the answer.
    number: u32,
    #[serde(flatten)]
    place: PlaceItem,
}

/// A span of a document.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlaceItem {
    /// The document.
    document: String,
    /// Its source.
    file_path: String,
    /// First byte and end byte (exclusive) in the document's text.
    span: [u64; 2],
    /// First and last line of the document's text, from 1.
    lines: [u32; 2],
    /// Whether these are also the lines of the source file.
    lines_match_source: bool,
    /// The pages, slides or sheets of the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// The text of the span, verbatim.
    quote: String,
}

impl PlaceItem {
    /// The place of a span; `None` if it exceeds the text or splits a character.
    pub(crate) fn of(document: &Document, text: &str, span: Span) -> Option<Self> {
        let quote = span.slice(text)?.to_owned();
        let (first, last) = span.lines_in(text);
        Some(Self {
            document: document.id.to_string(),
            file_path: document.source.clone(),
            span: [span.start, span.end],
            lines: [first, last],
            lines_match_source: document.lines_match_source,
            place: document.place_of(span).map(|place| place.to_string()),
            quote,
        })
    }
}

impl From<&Citation> for CitationItem {
    fn from(citation: &Citation) -> Self {
        Self {
            number: citation.number,
            place: PlaceItem {
                document: citation.document.to_string(),
                file_path: citation.source.clone(),
                span: [citation.span.start, citation.span.end],
                lines: [citation.lines.0, citation.lines.1],
                lines_match_source: citation.lines_match_source,
                place: citation.place.as_ref().map(ToString::to_string),
                quote: citation.quote.clone(),
            },
        }
    }
}
