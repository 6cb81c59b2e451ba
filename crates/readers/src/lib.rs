//! Reads bytes into text: formats, encodings and headings.

mod aligned;
mod archive;
mod code;
mod docx;
mod draft;
mod eml;
mod encoding;
mod epub;
mod error;
mod format;
mod html;
mod json;
mod latex;
mod markdown;
mod notebook;
mod numerals;
mod opendocument;
mod package;
mod pdf;
mod pptx;
mod rows;
mod rst;
mod rtf;
mod subtitles;
mod superscript;
mod table;
mod workbook;
mod xml;
mod xml_events;

pub use error::ParseError;
pub use format::{extensions, format_by_media_type, format_by_name, format_of};

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use graphloom_core::{Format, PartMark, Span};
use serde::{Deserialize, Serialize};

use graphloom_text::{behind_end_marks, sanitize, with_whole_words};

/// A document's text and its structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParsedDocument {
    /// The text. Spans refer to it.
    pub text: String,
    /// The format that the bytes were read as.
    pub format: Format,
    /// The encoding of the bytes.
    pub encoding: String,
    /// The title found in the document; if there is none, the caller uses the file name.
    pub title: Option<String>,
    /// Headings, in order of appearance.
    pub headings: Vec<Heading>,
    /// Whether line `n` of the text is line `n` of the source.
    pub lines_match_source: bool,
    /// The start of each page, slide or sheet in the text, in order.
    pub parts: Vec<PartMark>,
    /// Parts that publishers add around the text, such as a licence after its end or an imprint. Ascending
    /// and disjoint. They can be found by search, but name nothing that the document is about.
    pub boilerplate: Vec<Span>,
    /// Remarks about what could not be read, for people; empty if everything could be read.
    pub remarks: Vec<String>,
}

/// A heading of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// First byte of the heading in the text.
    pub offset: usize,
    /// 1 is the outermost level.
    pub level: u8,
    /// The text of the heading.
    pub title: String,
}

/// Limits on what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParseLimits {
    /// Maximum bytes of one source, and of its text.
    pub max_bytes: usize,
    /// Maximum bytes that the members of a compressed document unpack to, together.
    pub max_unpacked_bytes: usize,
    /// Maximum pages, slides, sheets or chapters.
    pub max_parts: usize,
    /// Maximum nesting of elements. Of HTML that is nested deeper, only the text is kept.
    pub max_depth: usize,
    /// Maximum bytes of a source that is kept as original, beside its text; 0 keeps none.
    pub max_original_bytes: usize,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self {
            max_bytes: 50 * 1024 * 1024,
            max_unpacked_bytes: 256 * 1024 * 1024,
            max_parts: 10_000,
            max_depth: 256,
            max_original_bytes: 50 * 1024 * 1024,
        }
    }
}

impl ParseLimits {
    /// Returns an error if there are more pages, slides, sheets or chapters than allowed.
    fn check_parts(&self, what: &'static str, found: usize) -> Result<(), ParseError> {
        if found > self.max_parts {
            return Err(ParseError::TooMany { what, found, max: self.max_parts });
        }
        Ok(())
    }
}

/// Reads `bytes` into text.
///
/// - `name`: path, URL or label. If `format` is `None`, the extension of the name determines the format, or else the content.
/// - Every line ends with a line feed, whatever the source uses, and keeps its position.
/// - Plain text is kept verbatim, except that control characters are removed and words divided at line ends are joined.
/// - Markdown becomes readable text, with every line on its line of the source. Emphasis, comments, tags and link targets are
///   removed; code stays between fences.
/// - JSON and JSON lines become one line per record, as CSV does, on the line where the record starts in the source unless
///   records share a line.
/// - HTML becomes the readable text of its main content. Headings, lists and tables stay recognizable; scripts and navigation
///   are removed.
/// - CSV becomes one line per row that names its columns, `name: Curie | field: physics`, on the line where the row starts in
///   the source.
/// - reStructuredText and LaTeX become readable text, with every line on its line of the source. Subtitles become the spoken words.
///   Notebooks become prose, and code between fences.
/// - Source code is kept verbatim, with its definitions as headings.
/// - Office documents, books, messages, XML and PDF become readable text with headings, lists and tables. Pages, slides and
///   sheets are marked.
/// - Encodings are detected by byte order mark, validity, declaration and statistics, in this order.
///
/// Never panics, even if a reader does. A source that cannot be read is an error with a remedy. Only `limits` bounds the time,
/// so callers that read untrusted sources should limit the time as well. Bytes that are passed by value are freed as soon as
/// possible, which matters for large documents.
pub fn parse<'a>(
    name: &str,
    bytes: impl Into<Cow<'a, [u8]>>,
    format: Option<Format>,
    limits: &ParseLimits,
) -> Result<ParsedDocument, ParseError> {
    let bytes = bytes.into();
    if bytes.is_empty() {
        return Err(ParseError::Empty);
    }
    if bytes.len() > limits.max_bytes {
        return Err(ParseError::TooLarge { bytes: bytes.len(), max_bytes: limits.max_bytes });
    }
    let format = format::identify(name, &bytes, format)?;
    let read = move || read(name, bytes, format, limits);
    let (body, format, encoding) = catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParseError::Panicked { format: format.unwrap_or(Format::Text) }))?;
    if body.text.trim().is_empty() {
        return Err(ParseError::NoText { format });
    }
    if body.text.len() > limits.max_bytes {
        return Err(ParseError::TooLarge { bytes: body.text.len(), max_bytes: limits.max_bytes });
    }
    let boilerplate = boilerplate_of(&body, format);
    let Body { text, title, headings, headings_left_out, parts, mut remarks, lines_match_source, .. } = body;
    if headings_left_out > 0 {
        let (all, kept) = (headings.len() + headings_left_out, headings.len());
        remarks.push(format!("it has {all} headings; those after the first {kept} are read as text"));
    }
    Ok(ParsedDocument {
        text,
        format,
        encoding,
        title,
        headings,
        lines_match_source,
        parts,
        boilerplate,
        remarks,
    })
}

/// Returns the parts that publishers added: those that the reader of the format found, and the text after an end marker.
fn boilerplate_of(body: &Body, format: Format) -> Vec<Span> {
    let mut all = body.boilerplate.clone();
    if format != Format::Code {
        all.extend(behind_end_marks(&body.text).into_iter().map(|range| Span::new(range.start, range.end)));
    }
    all.sort_unstable();
    let mut apart: Vec<Span> = Vec::with_capacity(all.len());
    for span in all {
        match apart.last_mut().filter(|last| span.start <= last.end) {
            Some(last) => last.end = last.end.max(span.end),
            None => apart.push(span),
        }
    }
    apart
}

/// Encoding reported for formats that declare it themselves.
const SELF_DESCRIBED: &str = "UTF-8";

/// Returns the output of the format's reader, the format (detected from the text if necessary), and the encoding.
fn read(
    name: &str,
    bytes: Cow<'_, [u8]>,
    format: Option<Format>,
    limits: &ParseLimits,
) -> Result<(Body, Format, String), ParseError> {
    let read_bytes = |body: Result<Body, ParseError>, format| Ok((body?, format, SELF_DESCRIBED.to_owned()));
    let format = match format {
        Some(format @ Format::Pdf) => return read_bytes(pdf::parse(&bytes, limits), format),
        Some(format @ Format::Docx) => return read_bytes(docx::parse(&bytes, limits), format),
        Some(format @ Format::Pptx) => return read_bytes(pptx::parse(&bytes, limits), format),
        Some(format @ Format::Xlsx) => return read_bytes(workbook::parse_xlsx(&bytes, limits), format),
        Some(format @ Format::Xls) => return read_bytes(workbook::parse_xls(&bytes, limits), format),
        Some(format @ (Format::Odt | Format::Ods | Format::Odp)) => {
            return read_bytes(opendocument::parse(&bytes, format, limits), format);
        }
        Some(format @ Format::Epub) => return read_bytes(epub::parse(&bytes, limits), format),
        Some(format @ Format::Rtf) => return read_bytes(rtf::parse(&bytes, limits), format),
        Some(format @ Format::Eml) => return read_bytes(eml::parse(&bytes, limits), format),
        Some(
            Format::Text
            | Format::Markdown
            | Format::Html
            | Format::Csv
            | Format::Json
            | Format::JsonLines
            | Format::Xml
            | Format::Code
            | Format::Rst
            | Format::Latex
            | Format::Subtitles
            | Format::Notebook,
        )
        | None => format,
    };
    let DecodedText { text: source, encoding, original } = decoded(bytes)?;
    if source.trim().is_empty() {
        return Err(ParseError::Blank);
    }
    let format = match format {
        Some(Format::Json | Format::Subtitles | Format::Notebook) | None => {
            format::detect(name, &source, format)
        }
        Some(format) => format,
    };
    if format == Format::Eml {
        let body = eml::parse(original.as_deref().unwrap_or(source.as_bytes()), limits)?;
        return Ok((body, format, encoding));
    }
    drop(original);
    let body = match format {
        Format::Text => Body::verbatim(with_whole_words(source.into_owned())),
        Format::Markdown => markdown::parse(&source),
        Format::Html => html::parse_page(source, limits),
        Format::Csv => table::parse(&source, table::delimiter_of(name), limits.max_bytes)
            .unwrap_or_else(|| Body::verbatim(source.into_owned())),
        Format::Json => json::parse(source.into_owned(), limits),
        Format::JsonLines => json::parse_lines(source.into_owned(), limits),
        Format::Code => code::parse(source.into_owned()),
        Format::Xml => xml::parse(&source, limits)?,
        Format::Rst => rst::parse(&source),
        Format::Latex => latex::parse(&source),
        Format::Subtitles => subtitles::parse(&source),
        Format::Notebook => notebook::parse(&source, limits)?,
        Format::Eml
        | Format::Pdf
        | Format::Docx
        | Format::Pptx
        | Format::Xlsx
        | Format::Xls
        | Format::Odt
        | Format::Ods
        | Format::Odp
        | Format::Epub
        | Format::Rtf => Body::verbatim(source.into_owned()),
    };
    Ok((body, format, encoding))
}

/// A decoded document.
struct DecodedText<'a> {
    /// Its text, with a line feed at the end of every line.
    text: Cow<'a, str>,
    encoding: String,
    /// Its bytes, unless they are those of the text.
    original: Option<Cow<'a, [u8]>>,
}

/// Decodes `bytes`. Makes no copy if they already are the text.
fn decoded(bytes: Cow<'_, [u8]>) -> Result<DecodedText<'_>, ParseError> {
    let (other_text, encoding) = {
        let (decoded, encoding) = encoding::decode(&bytes)?;
        let tidied = match with_unix_line_ends(sanitize(&decoded)) {
            Cow::Owned(tidied) => Some(tidied),
            Cow::Borrowed(_) => None,
        };
        let is_whole = decoded.len() == bytes.len() && matches!(decoded, Cow::Borrowed(_));
        (tidied.or_else(|| (!is_whole).then(|| decoded.into_owned())), encoding)
    };
    let (text, original) = match (other_text, bytes) {
        (Some(text), bytes) => (Cow::Owned(text), Some(bytes)),
        (None, Cow::Borrowed(bytes)) => (String::from_utf8_lossy(bytes), None),
        (None, Cow::Owned(bytes)) => {
            (Cow::Owned(String::from_utf8(bytes).expect("it was decoded as UTF-8 without a change")), None)
        }
    };
    Ok(DecodedText { text, encoding, original })
}

/// Returns `text` with a line feed at the end of every line, so that documents from all systems read the same.
fn with_unix_line_ends(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains('\r') {
        return text;
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// The output of a format's reader.
#[derive(Debug, Default)]
struct Body {
    text: String,
    title: Option<String>,
    headings: Vec<Heading>,
    /// Number of headings beyond [`MAX_HEADINGS`]. They are treated as ordinary text.
    headings_left_out: usize,
    parts: Vec<PartMark>,
    /// Spans that the format marks as added by a publisher.
    boilerplate: Vec<Span>,
    remarks: Vec<String>,
    lines_match_source: bool,
}

/// Maximum headings of a document that name the sections below them.
const MAX_HEADINGS: usize = 50_000;
/// Maximum columns that are read from separated values or a sheet.
const MAX_COLUMNS: usize = 1000;

/// Returns the remark about a table with more columns than are read.
fn columns_left_out() -> String {
    format!("columns after the first {MAX_COLUMNS} of a table were left out")
}

impl Body {
    /// Adds a heading, or only counts it if there are too many.
    fn push_heading(&mut self, heading: Heading) {
        if self.headings.len() < MAX_HEADINGS {
            self.headings.push(heading);
        } else {
            self.headings_left_out += 1;
        }
    }

    fn verbatim(text: String) -> Self {
        Self { text, lines_match_source: true, ..Self::default() }
    }
}

/// Maximum characters of a column name that are repeated in every row.
const MAX_LABEL_CHARS: usize = 80;

/// Returns a column's name in the form that is repeated before values.
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
        let limits = ParseLimits { max_bytes: 1000, ..ParseLimits::default() };
        let error = parse(name, bytes, None, &limits).expect_err("a refusal");
        format!("{error}; {}", error.remedy())
    }

    #[test]
    fn text_is_kept_verbatim() {
        let document = check_parse("a.txt", b"\n one\ntwo \n");
        assert_eq!(document.text, "\n one\ntwo \n");
        assert_eq!((document.format, document.lines_match_source), (Format::Text, true));
        assert_eq!(document.encoding, "UTF-8");
    }

    #[test]
    fn line_ends_of_all_systems_read_the_same() {
        for name in ["a.txt", "a.md", "a.csv", "a.jsonl", "a.json", "a.html", "a.xml", "a.rs"] {
            let source = match name {
                "a.csv" => "a,b\n1,\"2\n3\"\n",
                "a.jsonl" => "{\"a\": 1}\n{\"a\": 2}\n",
                "a.json" => "{\n \"a\": 1\n}\n",
                _ => "<p>One infor-\nmation here\n\nand two</p>\n",
            };
            let expected = check_parse(name, source.as_bytes());
            for end in ["\r\n", "\r"] {
                assert_eq!(
                    check_parse(name, source.replace('\n', end).as_bytes()),
                    expected,
                    "{name} {end:?}"
                );
            }
        }
    }

    #[test]
    fn every_unreadable_source_says_what_is_wrong_and_what_to_do() {
        assert!(check_refusal("a.txt", b"").contains("empty"));
        assert!(check_refusal("a.txt", b" \r\n\t").contains("only white space"));
        assert!(check_refusal("a.pdf", b"%PDF-1.7 ...").contains("damaged"));
        assert!(check_refusal("a.docx", b"PK\x03\x04....word/document.xml").contains("damaged"));
        assert!(check_refusal("a.docx", b"words").contains("named like a Word document but is text"));
        assert!(check_refusal("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1").contains("older"));
        assert!(check_refusal("a.txt", b"\x89PNG\r\n\x1a\n").contains("PNG"));
        assert!(check_refusal("a.bin", b"ab\0cd\0\0e\x01").contains("binary"));
        assert!(check_refusal("a.txt", &[b'x'; 1001]).contains("1001"));
        assert!(check_refusal("a.html", b"<html><script>x()</script></html>").contains("no text"));
    }

    #[test]
    fn headings_beyond_the_limit_are_text_and_the_document_says_so() {
        for (name, line) in [("a.md", "# A\n"), ("a.html", "<h1>A</h1>\n")] {
            let document = check_parse(name, line.repeat(MAX_HEADINGS + 2).as_bytes());
            assert_eq!(document.headings.len(), MAX_HEADINGS, "{name}");
            let said = "it has 50002 headings; those after the first 50000 are read as text";
            assert_eq!(document.remarks, [said], "{name}");
        }
    }

    #[test]
    fn a_given_format_overrides_the_name() {
        let limits = ParseLimits::default();
        let document = parse("a.txt", b"# Title", Some(Format::Markdown), &limits).expect("a document");
        assert_eq!(document.title.as_deref(), Some("Title"));
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), which in 0usize..11) {
            let (name, start) = [
                ("a.txt", ""), ("a.md", ""), ("a.html", ""), ("a.csv", ""), ("a.json", ""), ("a", ""), ("a.rs", ""),
                ("a.rtf", "{\\rtf1 "), ("a.eml", "From: a\r\n"), ("a.xml", "<?xml?><a>"), ("a.pdf", "%PDF-1.4\n"),
            ][which];
            let bytes = [start.as_bytes(), &bytes].concat();
            let outcome = parse(name, bytes, None, &ParseLimits::default());
            prop_assert!(!matches!(outcome, Err(ParseError::Panicked { .. })), "{:?}", outcome);
        }

        #[test]
        fn a_damaged_document_is_read_or_refused(cut in 0usize..4000, flip in 0usize..4000, byte in any::<u8>(), which in 0usize..3) {
            let text = pdf::tests::show(&[(50, 700, 10, "Words.")]);
            let document = "<w:document><w:body><w:p><w:r><w:t>Words</w:t></w:r></w:p></w:body></w:document>";
            let (name, mut bytes) = match which {
                0 => ("a.pdf", pdf::tests::pdf(&[&text, &text])),
                1 => ("a.docx", archive::pack(&[("word/document.xml", document)])),
                _ => ("a.rtf", b"{\\rtf1\\ansi {\\info{\\title x}} \\u8364? \\'e9 words\\par}".to_vec()),
            };
            let at = flip % bytes.len();
            bytes[at] = byte;
            bytes.truncate(cut.max(10));
            let _ = parse(name, bytes, None, &ParseLimits::default());
        }

        #[test]
        fn headings_are_in_the_text(text in "([#=<>|`~ \n\r-]|<h[12]>|<td>|<li>|[a-c,é]){0,60}", html in any::<bool>()) {
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
