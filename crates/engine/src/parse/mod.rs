//! Reads bytes into text: formats, encodings, headings.

mod encoding;
mod error;
mod format;
mod html;
mod json;
mod markdown;
mod table;

pub use error::ParseError;
pub use format::format_of;

use graphloom_core::Format;

use crate::text::sanitize;

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

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseLimits {
    /// Most bytes of one source, and of the text made of it.
    pub max_bytes: usize,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self { max_bytes: 50 * 1024 * 1024 }
    }
}

/// Reads `bytes` into text.
///
/// - `name`: path, URL or label; its extension tells the format where `format` is `None`, else the content
///   does.
/// - Plain text, Markdown, JSON and JSON lines are kept verbatim, line ends included; only control characters
///   go. JSON without line breaks is broken into lines, its values untouched.
/// - HTML becomes readable text: headings, lists and tables stay recognisable, scripts and navigation go.
/// - CSV becomes one line a row that names its columns, `name: Curie | field: physics`, each on the line
///   where the row starts in the source.
/// - Encodings are found by byte order mark, validity, HTML declaration and statistics, in this order.
///
/// Never panics; a source that cannot be read is an error that says what to do.
pub fn parse(
    name: &str,
    bytes: &[u8],
    format: Option<Format>,
    limits: &ParseLimits,
) -> Result<ParsedDocument, ParseError> {
    if bytes.is_empty() {
        return Err(ParseError::Empty);
    }
    if let Some(kind) = format::binary_kind(bytes) {
        return Err(ParseError::Unsupported { kind });
    }
    if bytes.len() > limits.max_bytes {
        return Err(ParseError::TooLarge { bytes: bytes.len(), max_bytes: limits.max_bytes });
    }
    let (decoded, encoding) = encoding::decode(bytes)?;
    let source = sanitize(&decoded);
    if source.trim().is_empty() {
        return Err(ParseError::Blank);
    }
    let format = format.unwrap_or_else(|| format::detect(name, &source));
    let body = match format {
        Format::Text | Format::JsonLines => Body::verbatim(source.into_owned()),
        Format::Markdown => markdown::parse(source.into_owned()),
        Format::Html => html::parse(&source, limits.max_bytes),
        Format::Csv => table::parse(&source, table::delimiter_of(name), limits.max_bytes)
            .unwrap_or_else(|| Body::verbatim(source.into_owned())),
        Format::Json => json::parse(source.into_owned(), limits.max_bytes),
    };
    if body.text.trim().is_empty() {
        return Err(ParseError::NoText { format });
    }
    if body.text.len() > limits.max_bytes {
        return Err(ParseError::TooLarge { bytes: body.text.len(), max_bytes: limits.max_bytes });
    }
    let Body { text, title, headings, lines_match_source } = body;
    Ok(ParsedDocument { text, format, encoding, title, headings, lines_match_source })
}

/// What a format's reader finds.
struct Body {
    text: String,
    title: Option<String>,
    headings: Vec<Heading>,
    lines_match_source: bool,
}

impl Body {
    fn verbatim(text: String) -> Self {
        Self { text, title: None, headings: Vec::new(), lines_match_source: true }
    }
}

/// Characters of a column name that are repeated in every row.
const MAX_LABEL_CHARS: usize = 80;

/// A column's name as it is repeated before values.
fn label(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_LABEL_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_parse(name: &str, bytes: &[u8]) -> ParsedDocument {
        parse(name, bytes, None, &ParseLimits::default()).expect("a readable document")
    }

    fn check_refusal(name: &str, bytes: &[u8]) -> String {
        let error = parse(name, bytes, None, &ParseLimits { max_bytes: 1000 }).expect_err("a refusal");
        format!("{error}; {}", error.remedy())
    }

    #[test]
    fn text_is_kept_verbatim_with_its_line_ends() {
        let document = check_parse("a.txt", b"\n one\r\ntwo \n");
        assert_eq!(document.text, "\n one\r\ntwo \n");
        assert_eq!((document.format, document.lines_match_source), (Format::Text, true));
        assert_eq!(document.encoding, "UTF-8");
    }

    #[test]
    fn every_unreadable_source_says_what_is_wrong_and_what_to_do() {
        assert!(check_refusal("a.txt", b"").contains("empty"));
        assert!(check_refusal("a.txt", b" \r\n\t").contains("only white space"));
        assert!(check_refusal("a.pdf", b"%PDF-1.7 ...").contains("PDF"));
        assert!(check_refusal("a.docx", b"PK\x03\x04....word/document.xml").contains("Word"));
        assert!(check_refusal("a.txt", b"\x89PNG\r\n\x1a\n").contains("PNG"));
        assert!(check_refusal("a.bin", b"ab\0cd\0\0e\x01").contains("binary"));
        assert!(check_refusal("a.txt", &[b'x'; 1001]).contains("1001"));
        assert!(check_refusal("a.html", b"<html><script>x()</script></html>").contains("no text"));
    }

    #[test]
    fn a_given_format_wins_over_the_name() {
        let limits = ParseLimits::default();
        let document = parse("a.txt", b"# Title", Some(Format::Markdown), &limits).expect("a document");
        assert_eq!(document.title.as_deref(), Some("Title"));
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), which in 0usize..6) {
            let name = ["a.txt", "a.md", "a.html", "a.csv", "a.json", "a"][which];
            let _ = parse(name, &bytes, None, &ParseLimits::default());
        }

        #[test]
        fn headings_lie_in_the_text(text in "([#=<>|`~ \n\r-]|<h[12]>|<td>|<li>|[a-c,é]){0,60}", html in any::<bool>()) {
            let format = if html { Format::Html } else { Format::Markdown };
            if let Ok(document) = parse("a", text.as_bytes(), Some(format), &ParseLimits::default()) {
                let mut last = None;
                for heading in &document.headings {
                    prop_assert!(document.text.is_char_boundary(heading.offset) && last < Some(heading.offset));
                    prop_assert!(!heading.title.is_empty());
                    last = Some(heading.offset);
                }
            }
        }
    }
}
