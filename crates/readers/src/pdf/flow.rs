//! Writes the pieces of pages, with paragraphs that continue in the next column or on the next page.

use std::collections::BTreeMap;

use graphloom_core::Part;
use graphloom_text::LineJoiner;

use super::super::draft::Draft;
use super::edges::mark_edges;
use super::layout::{Block, Line, Paragraph, Sizes, blocks, is_cut};

/// Minimum lines of a paragraph that may continue with a capital. Fewer may be a line of a title page.
const MIN_FULL_LINES: usize = 2;

/// Writes pages, each with its number and its lines in the order in which they were drawn. What was `written` on a page follows.
///
/// A paragraph that continues on the next page is written as one. The notes and the foot of its first page come before it, and
/// the head of the next page after it, so each piece is still on its page.
pub(super) fn write(
    mut pages: Vec<(u32, Vec<Line>)>,
    written: &BTreeMap<u32, Vec<String>>,
    sizes: &Sizes,
    draft: &mut Draft,
) {
    mark_edges(&mut pages, sizes);
    let texts: Vec<String> = pages.iter().flat_map(|(_, lines)| lines.iter().map(Line::text)).collect();
    let joiner = LineJoiner::of(texts.iter().map(String::as_str));
    let blocks_of = |(page, lines): (u32, Vec<Line>)| {
        let written = written.get(&page).into_iter().flatten();
        let mut blocks = blocks(&lines, sizes, &joiner);
        blocks.extend(written.map(|text| Block::Aside(text.clone())));
        (page, blocks)
    };
    let mut pages = pages.into_iter().map(blocks_of).peekable();
    // Whether the last paragraph written continues on this page.
    let mut continues = false;
    while let Some((page, blocks)) = pages.next() {
        let next = pages.peek().map_or(&[][..], |(_, blocks)| blocks);
        let first = blocks.iter().position(|block| !matches!(block, Block::Aside(_)));
        let last = blocks.iter().rposition(|block| !matches!(block, Block::Aside(_)));
        // Text after a paragraph that began on an earlier page cannot come before it.
        let may_move =
            last.is_some_and(|last| !(continues && Some(last) == first && last + 1 < blocks.len()));
        let goes_on = may_move
            && last.and_then(|last| paragraph_at(&blocks, last)).is_some_and(|last| {
                let next = next.iter().find(|block| !matches!(block, Block::Aside(_)));
                next.is_some_and(|next| matches!(next, Block::Paragraph(next) if flows(last, next)))
            });
        let mut order: Vec<usize> = (0..blocks.len()).collect();
        if let Some(first) = first.filter(|_| continues) {
            order[..=first].rotate_right(1);
        }
        if let Some(last) = last.filter(|_| goes_on) {
            order[last..].rotate_left(1);
        }
        let mut part = Some(Part::Page(page));
        let mut before: Option<&Paragraph> = None;
        for (nth, block) in order.into_iter().map(|at| &blocks[at]).enumerate() {
            let is_continued = nth == 0 && continues;
            if let Some(part) = part.take_if(|_| !is_continued) {
                draft.part(part);
            }
            before = match block {
                Block::Paragraph(paragraph) => {
                    let in_next_column = before.is_some_and(|before| {
                        before.turned == paragraph.turned
                            && before.bottom < paragraph.top
                            && flows(before, paragraph)
                    });
                    if is_continued || in_next_column {
                        draft.go_on(part.take(), &paragraph.text, |text, next| joiner.join(text, next));
                    } else {
                        draft.paragraph(&paragraph.text);
                    }
                    Some(paragraph)
                }
                Block::Heading(level, title) => {
                    draft.heading(*level, title);
                    None
                }
                Block::Table(rows) => {
                    draft.table(rows);
                    None
                }
                Block::Aside(text) => {
                    draft.paragraph(text);
                    None
                }
            };
        }
        continues = goes_on;
    }
}

fn paragraph_at(blocks: &[Block], at: usize) -> Option<&Paragraph> {
    match blocks.get(at)? {
        Block::Paragraph(paragraph) => Some(paragraph),
        Block::Heading(..) | Block::Table(_) | Block::Aside(_) => None,
    }
}

/// True if a paragraph in the next column or on the next page continues a sentence of `before`.
fn flows(before: &Paragraph, next: &Paragraph) -> bool {
    let closers = ['"', '”', '’', '\'', '»', '“', '」', '』', '）', ')', ']', '*'];
    let ends =
        before.text.trim_end_matches(closers).ends_with(['.', '!', '?', ':', '…', '。', '！', '？', '：']);
    let same_size = (before.size - next.size).abs() * 20.0 < before.size.max(next.size);
    if ends || !same_size || before.has_columns || next.has_columns || next.begins_item {
        return false;
    }
    is_cut(&before.text, &next.text)
        || next.text.starts_with(char::is_lowercase)
        || before.is_full
            && before.lines >= MIN_FULL_LINES
            && !before.begins_item
            && next.text.starts_with(|c: char| c.is_alphanumeric() || "\"'“„«‘(「『《".contains(c))
}
