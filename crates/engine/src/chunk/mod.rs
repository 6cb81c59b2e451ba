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
    /// Where the borders are sought.
    pub strategy: ChunkStrategy,
    /// Most tokens of a chunk. `None` adapts: 1200, or 600 for documents over [`ADAPTIVE_TOKENS`].
    pub max_chunk_tokens: Option<u32>,
    /// Tokens that neighbouring chunks share.
    pub overlap_tokens: u32,
}

/// Documents above this many tokens get smaller chunks where the size is adaptive.
pub const ADAPTIVE_TOKENS: u32 = 25_000;

/// Most tokens of a chunk where the size is adaptive.
pub const CHUNK_TOKENS: u32 = 1200;

/// Most tokens of a chunk of a document over [`ADAPTIVE_TOKENS`] where the size is adaptive.
pub const SMALL_CHUNK_TOKENS: u32 = 600;

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
    /// Whether it is what a publisher put around the text.
    pub is_boilerplate: bool,
}

impl Default for ChunkConfig {
    fn default() -> Self {
        Self { strategy: ChunkStrategy::Auto, max_chunk_tokens: None, overlap_tokens: 100 }
    }
}

/// Why a [`ChunkConfig`] makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkConfigError {
    /// Chunks that could not hold a word.
    #[error("chunks of {tokens} tokens are too small, the least is {MIN_WINDOW_TOKENS}")]
    TooSmall {
        /// The size asked for.
        tokens: u32,
    },
    /// Chunks that repeat more than they add.
    #[error("an overlap of {overlap} tokens is more than half of a chunk of {tokens}")]
    Overlap {
        /// The overlap asked for.
        overlap: u32,
        /// The size, or the smaller of the adaptive sizes.
        tokens: u32,
    },
}

impl ChunkConfig {
    /// Whether [`chunk`] can do exactly this; it clamps what it cannot.
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

/// The chunks of a document, in order.
///
/// - Every span lies on character borders, has no white space at its ends and at most `max_chunk_tokens`
///   tokens; spans ascend strictly in start and end, and together hold everything that is not white space.
/// - [`ChunkStrategy::TokenWindow`] is LightRAG's fixed window, without a last chunk made of overlap only.
/// - [`ChunkStrategy::Recursive`] fills chunks with whole paragraphs, and with sentences, lines, clauses or
///   words where one is too long; the overlap is the last whole sentences or lines of the chunk before. It
///   differs from LightRAG's R in filling a chunk with the first sentences of a long paragraph, and in
///   looking for sentences.
/// - [`ChunkStrategy::Headings`] joins small sections and splits large ones recursively; only the parts of
///   one section overlap.
/// - Rows of CSV, JSON lines and JSON stay whole where they fit, and do not overlap.
/// - What publishers put around the text stands in chunks of its own.
/// - A size below [`MIN_WINDOW_TOKENS`] counts as that, an overlap above half the size as half.
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

/// A text of `end` bytes in parts that are boilerplate and parts that are not, in order; none is empty.
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

/// Where a format's text is best split, best first.
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
        | Format::Eml => &[Border::Paragraph, Border::Sentence, Border::Line, Border::Clause, Border::Word],
        Format::Code => &[Border::Paragraph, Border::Line, Border::Word],
        Format::Csv | Format::Json | Format::JsonLines | Format::Xlsx | Format::Xls | Format::Ods => {
            &[Border::Line, Border::Clause, Border::Word]
        }
    }
}

/// Joins neighbouring sections of `part` up to `max` tokens.
///
/// A group that is three quarters full ends before a section that does not stand under its first heading. A
/// section above `max` tokens is a group of its own, with the few words that may stand before it.
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
    /// Takes a range without the white space at its ends, unless it adds nothing to the piece before; a piece
    /// that it holds whole gives way.
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

/// The range without white space at its ends.
fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let slice = &text[range.clone()];
    let start = range.start + (slice.len() - slice.trim_start().len());
    start..start + slice.trim().len()
}

#[cfg(test)]
mod tests;
