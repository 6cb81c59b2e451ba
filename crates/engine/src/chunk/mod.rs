//! Splits a document into chunks of bounded token length.

mod borders;
mod breadcrumb;
mod pack;

use std::ops::Range;

use graphloom_core::{Format, Span};

use borders::Border;
use breadcrumb::Breadcrumbs;
use graphloom_readers::{Heading, ParsedDocument};
use graphloom_text::{MIN_WINDOW_TOKENS, TokenMap, Tokenizer};
use pack::Packer;

/// How texts are split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkConfig {
    /// How chunk borders are chosen.
    pub strategy: ChunkStrategy,
    /// Maximum tokens per chunk. `None` adapts: 1200, or 600 for documents over [`ADAPTIVE_TOKENS`].
    pub max_chunk_tokens: Option<u32>,
    /// Tokens that neighbouring chunks share.
    pub overlap_tokens: u32,
}

/// Documents with more tokens than this get smaller chunks if the size is adaptive.
pub const ADAPTIVE_TOKENS: u32 = 25_000;

/// Maximum tokens per chunk if the size is adaptive.
pub const CHUNK_TOKENS: u32 = 1200;

/// Maximum tokens per chunk of a document over [`ADAPTIVE_TOKENS`] if the size is adaptive.
pub const SMALL_CHUNK_TOKENS: u32 = 600;

/// How chunk borders are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkStrategy {
    /// Headings if the document has any, otherwise recursive separators.
    Auto,
    /// Fixed windows of tokens.
    TokenWindow,
    /// Paragraphs, then lines, sentences, words.
    Recursive,
    /// Sections under headings; the headings become the breadcrumb.
    Headings,
}

/// One chunk of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its position in the text.
    pub span: Span,
    /// The number of its tokens.
    pub token_count: u32,
    /// Headings above it, outermost first.
    pub breadcrumb: Vec<String>,
    /// Whether it is boilerplate that a publisher put around the text.
    pub is_boilerplate: bool,
}

impl Default for ChunkConfig {
    fn default() -> Self {
        Self { strategy: ChunkStrategy::Auto, max_chunk_tokens: None, overlap_tokens: 100 }
    }
}

/// Why a [`ChunkConfig`] is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkConfigError {
    /// Chunks are too small to hold a word.
    #[error("chunks of {tokens} tokens are too small, the minimum is {MIN_WINDOW_TOKENS}")]
    TooSmall {
        /// The requested size.
        tokens: u32,
    },
    /// Chunks repeat more than they add.
    #[error("an overlap of {overlap} tokens is more than half of a chunk of {tokens}")]
    Overlap {
        /// The requested overlap.
        overlap: u32,
        /// The size, or the smaller of the adaptive sizes.
        tokens: u32,
    },
}

impl ChunkConfig {
    /// Checks that [`chunk`] can follow this exactly; values out of range would be clamped.
    pub fn validate(&self) -> Result<(), ChunkConfigError> {
        let tokens = self.max_chunk_tokens.unwrap_or(SMALL_CHUNK_TOKENS);
        if (tokens as usize) < MIN_WINDOW_TOKENS {
            return Err(ChunkConfigError::TooSmall { tokens });
        }
        if self.overlap_tokens > tokens / 2 {
            return Err(ChunkConfigError::Overlap { overlap: self.overlap_tokens, tokens });
        }
        Ok(())
    }
}

/// Splits a document into chunks, in order.
///
/// - Every span lies on character boundaries, has no white space at its ends and at most `max_chunk_tokens` tokens. Spans ascend
///   strictly in start and end, and together cover everything except white space.
/// - [`ChunkStrategy::TokenWindow`] is LightRAG's fixed window, without a last chunk that is only overlap.
/// - [`ChunkStrategy::Recursive`] fills chunks with whole paragraphs, or with sentences, lines, clauses or words if a paragraph is
///   too long. The overlap is the last whole sentences or lines of the previous chunk. Unlike LightRAG's R, it fills a chunk with
///   the first sentences of a long paragraph, and it looks for sentences.
/// - [`ChunkStrategy::Headings`] joins small sections and splits large ones recursively; only parts of the same section overlap.
/// - Rows of CSV, JSON lines and JSON stay whole if they fit, and do not overlap.
/// - Boilerplate that publishers put around the text is in chunks of its own.
/// - A size below [`MIN_WINDOW_TOKENS`] counts as that minimum, an overlap above half the size as half the size.
pub fn chunk(document: &ParsedDocument, config: &ChunkConfig, tokens: Tokenizer) -> Vec<Piece> {
    let text = document.text.as_str();
    let map = tokens.map(text);
    let max = max_tokens(config, map.len());
    let overlap = (config.overlap_tokens as usize).min(max / 2);
    let strategy = match config.strategy {
        ChunkStrategy::Auto if document.headings.is_empty() => ChunkStrategy::Recursive,
        ChunkStrategy::Auto => ChunkStrategy::Headings,
        chosen => chosen,
    };
    let mut crumbs = Breadcrumbs::new(&document.headings, tokens);
    let packer = Packer {
        text,
        map: &map,
        max,
        overlap,
        borders: borders_of(document.format),
        headings: &document.headings,
    };
    let mut pieces = Pieces { text, tokens, found: Vec::new() };
    for (part, is_boilerplate) in parts(text.len(), &document.boilerplate) {
        let ranges = match strategy {
            ChunkStrategy::TokenWindow => map.windows(text, part, max, overlap),
            ChunkStrategy::Auto | ChunkStrategy::Recursive => packer.pack(part),
            ChunkStrategy::Headings => {
                let groups = group_sections(&document.headings, &map, part, max);
                groups.into_iter().flat_map(|group| packer.pack(group)).collect()
            }
        };
        for range in ranges {
            pieces.push(range, is_boilerplate, &mut crumbs);
        }
    }
    pieces.found
}

/// Splits a text of `end` bytes into non-empty parts that are boilerplate and parts that are not, in order.
fn parts(end: usize, boilerplate: &[Span]) -> Vec<(Range<usize>, bool)> {
    let mut parts = Vec::new();
    let mut at = 0;
    for span in boilerplate {
        let (start, stop) = (span.start as usize, span.end as usize);
        parts.extend([(at..start, false), (start..stop, true)]);
        at = stop;
    }
    parts.push((at..end, false));
    parts.retain(|(range, _)| !range.is_empty());
    parts
}

fn max_tokens(config: &ChunkConfig, document_tokens: usize) -> usize {
    let adaptive = if document_tokens > ADAPTIVE_TOKENS as usize { SMALL_CHUNK_TOKENS } else { CHUNK_TOKENS };
    (config.max_chunk_tokens.unwrap_or(adaptive) as usize).max(MIN_WINDOW_TOKENS)
}

/// Returns the kinds of borders at which a format is split, best first.
fn borders_of(format: Format) -> &'static [Border] {
    match format {
        Format::Text
        | Format::Markdown
        | Format::Html
        | Format::Xml
        | Format::Pdf
        | Format::Docx
        | Format::Pptx
        | Format::Odt
        | Format::Odp
        | Format::Epub
        | Format::Rtf
        | Format::Eml
        | Format::Rst
        | Format::Latex
        | Format::Subtitles
        | Format::Notebook => {
            &[Border::Paragraph, Border::Sentence, Border::Line, Border::Clause, Border::Word]
        }
        Format::Code => &[Border::Paragraph, Border::Line, Border::Word],
        Format::Csv | Format::Json | Format::JsonLines | Format::Xlsx | Format::Xls | Format::Ods => {
            &[Border::Line, Border::Clause, Border::Word]
        }
    }
}

/// Joins neighbouring sections of `part` up to `max` tokens.
///
/// A group that is three quarters full ends before a section that is not under its first heading. A section above `max` tokens is
/// a group of its own, together with the few words that may precede it.
fn group_sections(headings: &[Heading], map: &TokenMap, part: Range<usize>, max: usize) -> Vec<Range<usize>> {
    let first = headings.partition_point(|heading| heading.offset < part.start);
    let last = headings.partition_point(|heading| heading.offset < part.end);
    let (headings, end) = (&headings[first..last], part.end);
    let starts = headings.iter().map(|heading| (heading.offset, heading.level));
    let ends = headings.iter().map(|heading| heading.offset).skip(1).chain([end]);
    let preamble = (part.start..headings.first().map_or(end, |heading| heading.offset), u8::MAX);
    let sections =
        std::iter::once(preamble).chain(starts.zip(ends).map(|((at, level), end)| (at..end, level)));
    let mut groups: Vec<(Range<usize>, u8)> = Vec::new();
    for (section, level) in sections.filter(|(section, _)| !section.is_empty()) {
        if let Some((group, first)) = groups.last_mut() {
            let fits = map.count(&(group.start..section.end)) <= max;
            let tokens = map.count(group);
            let leaves = level <= *first && tokens * 4 >= max * 3;
            if (fits && !leaves) || tokens * 8 < max {
                group.end = section.end;
                continue;
            }
        }
        groups.push((section, level));
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

/// Collects ranges as pieces.
struct Pieces<'a> {
    text: &'a str,
    tokens: Tokenizer,
    found: Vec<Piece>,
}

impl Pieces<'_> {
    /// Adds a range without the white space at its ends, unless it adds nothing to the previous piece. A previous piece that it
    /// contains completely is dropped.
    fn push(&mut self, range: Range<usize>, is_boilerplate: bool, crumbs: &mut Breadcrumbs<'_>) {
        let range = trim(self.text, range);
        let adds = self.found.last().is_none_or(|last| range.end as u64 > last.span.end);
        if range.is_empty() || !adds {
            return;
        }
        while self.found.last().is_some_and(|last| last.span.start >= range.start as u64) {
            self.found.pop();
        }
        let token_count = self.tokens.count(&self.text[range.clone()]);
        let breadcrumb = crumbs.over(&range);
        let span = Span::new(range.start, range.end);
        self.found.push(Piece { span, token_count, breadcrumb, is_boilerplate });
    }
}

/// Returns the range without white space at its ends.
fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let slice = &text[range.clone()];
    let start = range.start + (slice.len() - slice.trim_start().len());
    start..start + slice.trim().len()
}

#[cfg(test)]
mod tests;
