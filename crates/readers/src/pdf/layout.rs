//! Reconstructs lines, paragraphs, headings and tables from the glyphs of a page.

use std::collections::BTreeMap;
use std::ops::Range;

use graphloom_text::LineJoiner;

/// Minimum size of a heading, as a multiple of the body text's size.
const HEADING_RATIO: f64 = 1.15;
/// Maximum characters of a heading. Longer lines in large letters are text.
const MAX_HEADING_CHARS: usize = 200;
/// Maximum heading sizes that are distinguished.
const MAX_HEADING_LEVELS: usize = 4;
/// Minimum gap between two words, as a multiple of the size.
const WORD_GAP: f64 = 0.16;
/// Minimum gap between two columns, as a multiple of the size.
const COLUMN_GAP: f64 = 1.2;
/// A larger step down than this multiple of the size separates two paragraphs.
const PARAGRAPH_STEP: f64 = 1.75;
/// Glyphs are on the same line if their baselines differ by less than this multiple of the size.
const BASELINE_SLACK: f64 = 0.4;
/// A line that ends before this share of the text's width ends a paragraph or item.
const FULL_LINE: f64 = 0.85;
/// Lines begin at the same place if they differ by less than this multiple of the size. A first line may be indented.
const MARGIN_SLACK: f64 = 3.0;
/// Minimum rows with columns that make a table.
const MIN_TABLE_ROWS: usize = 2;

/// A glyph with its position.
#[derive(Debug, Clone)]
pub(super) struct Glyph {
    x: f64,
    y: f64,
    width: f64,
    size: f64,
    turned: bool,
    pub(super) text: String,
}

impl Glyph {
    /// Creates a glyph. `at` is the matrix from glyph to page, in PDF's order. Rotated text is rotated back.
    pub(super) fn new(at: [f64; 6], width: f64, font_size: f64, text: &str) -> Self {
        let [a, b, c, d, x, y] = at;
        let turned = b.abs() > a.abs();
        let along = (a * a + b * b).sqrt();
        let size = (font_size * (c * c + d * d).sqrt()).abs();
        let sign = if b > 0.0 { 1.0 } else { -1.0 };
        let (x, y) = if turned { (y * sign, -x * sign) } else { (x, y) };
        Self { x, y, width: (width * font_size * along).abs(), size, turned, text: text.to_owned() }
    }
}

/// The letter sizes that are headings.
pub(super) struct Sizes {
    /// The size of most letters, in tenths.
    body: u32,
    /// Sizes above the body's, in tenths, largest first.
    headings: Vec<u32>,
}

impl Sizes {
    /// Determines the sizes. The body's size is the one that most letters have.
    pub(super) fn of<'a>(glyphs: impl Iterator<Item = &'a Glyph>) -> Self {
        let mut letters: BTreeMap<u32, usize> = BTreeMap::new();
        for glyph in glyphs {
            *letters.entry(tenths(glyph.size)).or_default() += glyph.text.len();
        }
        let body = letters.iter().max_by_key(|(size, letters)| (**letters, std::cmp::Reverse(**size)));
        let least = body.map_or(u32::MAX, |(size, _)| tenths(f64::from(*size) / 10.0 * HEADING_RATIO));
        let mut headings: Vec<u32> = Vec::new();
        for &size in letters.keys().rev().filter(|size| **size >= least) {
            // Sizes that hardly differ are one level.
            if headings.last().is_none_or(|last| size * 20 < last * 19) {
                headings.push(size);
            }
        }
        headings.truncate(MAX_HEADING_LEVELS);
        if least == u32::MAX {
            headings.clear();
        }
        // Sizes smaller than the last distinguished level are on that level.
        let headings = if headings.is_empty() { headings } else { [headings, vec![least]].concat() };
        Self { body: body.map_or(0, |(size, _)| *size), headings }
    }

    /// True if a size is clearly smaller than the body's, as in footnotes.
    pub(super) fn is_small(&self, size: f64) -> bool {
        tenths(size) * 20 < self.body * 19
    }

    pub(super) fn level(&self, size: f64) -> Option<u8> {
        let (least, levels) = self.headings.split_last()?;
        if tenths(size) < *least {
            return None;
        }
        let at = levels.iter().position(|level| tenths(size) * 20 >= level * 19).unwrap_or(levels.len() - 1);
        Some(at as u8 + 1)
    }
}

fn tenths(size: f64) -> u32 {
    (size * 10.0).round().clamp(0.0, 100_000.0) as u32
}

/// Words that are separated only by word gaps.
struct Cell {
    start: f64,
    end: f64,
    text: String,
}

/// Glyphs on one baseline.
pub(super) struct Line {
    pub(super) y: f64,
    pub(super) size: f64,
    pub(super) turned: bool,
    cells: Vec<Cell>,
    /// True if the line is not part of the text around it: a head or foot of the page.
    pub(super) is_aside: bool,
}

impl Line {
    pub(super) fn text(&self) -> String {
        self.cells.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(" | ")
    }

    fn end(&self) -> f64 {
        self.cells.last().map_or(0.0, |cell| cell.end)
    }

    fn start(&self) -> f64 {
        self.cells.first().map_or(0.0, |cell| cell.start)
    }
}

/// A piece of a page.
pub(super) enum Block {
    Heading(u8, String),
    Table(Vec<Vec<String>>),
    Paragraph(Paragraph),
    /// A head or foot of the page, or a note below its text.
    Aside(String),
}

/// Lines that follow each other closely.
pub(super) struct Paragraph {
    pub(super) text: String,
    pub(super) size: f64,
    /// Baselines of its first and last line.
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) turned: bool,
    pub(super) lines: usize,
    /// True if its first line begins an item or a form field.
    pub(super) begins_item: bool,
    /// True if its last line goes as far as the longest line of the page that begins at the same place.
    pub(super) is_full: bool,
    /// True if its first or last line has columns.
    pub(super) has_columns: bool,
}

/// Returns the pieces of a page in the order in which they were drawn. Small print below the text becomes notes.
pub(super) fn blocks(lines: &[Line], sizes: &Sizes, joiner: &LineJoiner) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        if line.is_aside {
            blocks.push(Block::Aside(line.text()));
            at += 1;
            continue;
        }
        let rows = table_rows(&lines[at..]);
        if rows >= MIN_TABLE_ROWS {
            blocks.push(Block::Table(columns_of(&lines[at..at + rows])));
            at += rows;
            continue;
        }
        let text = line.text();
        match sizes.level(line.size) {
            Some(level)
                if text.chars().count() <= MAX_HEADING_CHARS && text.contains(char::is_alphabetic) =>
            {
                // A heading may continue on the next line.
                let same =
                    |next: &&Line| tenths(next.size) == tenths(line.size) && next.turned == line.turned;
                let more = lines[at + 1..].iter().zip(&lines[at..]).take_while(|(next, before)| {
                    same(next) && before.y - next.y > 0.0 && before.y - next.y < line.size * PARAGRAPH_STEP
                });
                let more: Vec<String> = more.map(|(next, _)| next.text()).collect();
                at += 1 + more.len();
                let title = std::iter::once(text).chain(more).collect::<Vec<_>>().join(" ");
                blocks.push(Block::Heading(level, title));
            }
            Some(_) | None => {
                let count = paragraph_lines(&lines[at..], sizes);
                blocks.push(Block::Paragraph(paragraph(lines, at..at + count, joiner)));
                at += count;
            }
        }
    }
    let small = blocks.iter().rev().take_while(|block| match block {
        Block::Aside(_) => true,
        Block::Paragraph(paragraph) => sizes.is_small(paragraph.size),
        Block::Heading(..) | Block::Table(_) => false,
    });
    let first_note = blocks.len() - small.count();
    if blocks[..first_note].iter().any(|block| matches!(block, Block::Paragraph(_))) {
        for block in &mut blocks[first_note..] {
            if let Block::Paragraph(paragraph) = block {
                *block = Block::Aside(std::mem::take(&mut paragraph.text));
            }
        }
    }
    blocks
}

/// Returns the number of lines of the paragraph that begins with the first of `lines`.
fn paragraph_lines(lines: &[Line], sizes: &Sizes) -> usize {
    let mut count = 1;
    while let (Some(before), Some(next)) = (lines.get(count - 1), lines.get(count)) {
        let step = before.y - next.y;
        let goes_on = step > 0.0
            && step < before.size.max(next.size) * PARAGRAPH_STEP
            && next.turned == before.turned
            && !next.is_aside
            && sizes.level(next.size).is_none()
            && table_rows(&lines[count..]) < MIN_TABLE_ROWS;
        if !goes_on {
            break;
        }
        count += 1;
    }
    count
}

/// Returns the paragraph that consists of these lines of a page.
fn paragraph(page: &[Line], range: Range<usize>, joiner: &LineJoiner) -> Paragraph {
    let lines = &page[range];
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    let start = lines.iter().map(Line::start).fold(f64::INFINITY, f64::min);
    let end = lines.iter().map(Line::end).fold(f64::NEG_INFINITY, f64::max);
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let line_text = line.text();
        let Some(before) = at.checked_sub(1).and_then(|before| lines.get(before)) else {
            text.push_str(&line_text);
            continue;
        };
        let is_full = before.end() - start >= (end - start) * FULL_LINE || is_cut(&text, &line_text);
        if !is_full || begins_item(&line_text) || before.cells.len() > 1 || line.cells.len() > 1 {
            text.push('\n');
            text.push_str(&line_text);
        } else {
            joiner.join(&mut text, &line_text);
        }
    }
    let beside = page.iter().filter(|line| {
        line.turned == last.turned
            && !line.is_aside
            && (line.start() - start).abs() < last.size * MARGIN_SLACK
    });
    let longest = beside.map(Line::end).fold(end, f64::max);
    Paragraph {
        size: lines.iter().map(|line| line.size).fold(0.0, f64::max),
        top: first.y,
        bottom: last.y,
        turned: last.turned,
        lines: lines.len(),
        begins_item: begins_item(&first.text()),
        is_full: last.end() - start >= (longest - start) * FULL_LINE,
        has_columns: first.cells.len() > 1 || last.cells.len() > 1,
        text,
    }
}

/// True if a line begins an item of a list or a form field.
fn begins_item(line: &str) -> bool {
    line.starts_with(['•', '-', '–', '▪', '◦', '·', '*'])
        || is_labelled(line)
        || line.split_once(['.', ')']).is_some_and(|(number, _)| {
            !number.is_empty() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// True if a line begins like a form field: `Prepared by: ...`.
fn is_labelled(line: &str) -> bool {
    const MAX_LABEL_CHARS: usize = 30;
    let label = line.split_once(": ").map(|(label, _)| label);
    label.is_some_and(|label| {
        label.starts_with(char::is_uppercase) && label.chars().count() <= MAX_LABEL_CHARS
    })
}

/// True if the line end between two lines divides a word.
pub(super) fn is_cut(text: &str, next: &str) -> bool {
    let mut last = text.chars().rev();
    matches!(last.next(), Some('-' | '\u{2010}' | '\u{ad}'))
        && last.next().is_some_and(char::is_alphabetic)
        && next.starts_with(char::is_lowercase)
}

/// Returns the number of lines at the start that are rows of a table.
pub(super) fn table_rows(lines: &[Line]) -> usize {
    let Some(first) = lines.first().filter(|line| line.cells.len() > 1) else { return 0 };
    let is_row = |line: &Line| {
        // A row has some of the columns of the first row and is close to it.
        let inside =
            |cell: &Cell| first.cells.iter().any(|column| cell.start < column.end && column.start < cell.end);
        line.cells.len() > 1
            && !line.is_aside
            && line.cells.len() <= first.cells.len()
            && line.cells.iter().filter(|cell| inside(cell)).count() > 1
    };
    let close = |at: usize| {
        let Some(before) = at.checked_sub(1).and_then(|before| lines.get(before)) else { return true };
        let step = before.y - lines[at].y;
        step > 0.0 && step < before.size * 4.0 && before.turned == lines[at].turned
    };
    (0..lines.len()).take_while(|&at| close(at) && is_row(&lines[at])).count()
}

/// Returns the cells of rows. A cell belongs to the column of the first row whose start, end or middle is nearest to its own.
fn columns_of(lines: &[Line]) -> Vec<Vec<String>> {
    let Some(first) = lines.first() else { return Vec::new() };
    let distance = |cell: &Cell, column: &Cell| {
        let middle = |cell: &Cell| f64::midpoint(cell.start, cell.end);
        let ends = [cell.start - column.start, cell.end - column.end, middle(cell) - middle(column)];
        ends.map(f64::abs).into_iter().fold(f64::INFINITY, f64::min)
    };
    let row = |line: &Line| {
        let mut row = vec![String::new(); first.cells.len()];
        for cell in &line.cells {
            let columns = first.cells.iter().enumerate();
            let nearest = columns.min_by(|(_, a), (_, b)| distance(cell, a).total_cmp(&distance(cell, b)));
            if let Some(column_text) = nearest.and_then(|(column, _)| row.get_mut(column)) {
                if !column_text.is_empty() {
                    column_text.push(' ');
                }
                column_text.push_str(&cell.text);
            }
        }
        row
    };
    lines.iter().map(row).collect()
}

/// Groups glyphs that follow each other on one baseline into lines.
pub(super) fn lines_of(glyphs: Vec<Glyph>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut open: Vec<Glyph> = Vec::new();
    for glyph in glyphs {
        let goes_on = open.last().is_none_or(|last| {
            let slack = last.size.max(glyph.size).max(1.0) * BASELINE_SLACK;
            glyph.turned == last.turned && (glyph.y - last.y).abs() < slack
        });
        if !goes_on {
            lines.extend(line_of(std::mem::take(&mut open)));
        }
        open.push(glyph);
    }
    lines.extend(line_of(open));
    lines
}

/// Returns a line in reading order; `None` if it contains only white space.
fn line_of(mut glyphs: Vec<Glyph>) -> Option<Line> {
    // Glyphs may be drawn in any order along the line. Those at the same position, such as accents, keep their order.
    glyphs.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut cells: Vec<Vec<Glyph>> = Vec::new();
    for glyph in glyphs {
        let blank = glyph.text.chars().all(char::is_whitespace);
        let gap = cells
            .last()
            .and_then(|cell| cell.last())
            .map_or(0.0, |last: &Glyph| glyph.x - last.x - last.width);
        match cells.last_mut() {
            Some(cell) if gap < glyph.size * COLUMN_GAP => cell.push(glyph),
            Some(_) | None if blank => {}
            Some(_) | None => cells.push(vec![glyph]),
        }
    }
    let first = cells.first()?.first()?;
    let (y, turned) = (first.y, first.turned);
    let size = cells.iter().flatten().map(|glyph| glyph.size).fold(0.0, f64::max);
    let mut cells: Vec<Cell> = cells.iter().filter_map(|glyphs| cell_of(glyphs)).collect();
    let right_to_left = cells.iter().filter(|cell| is_right_to_left(&cell.text)).count() * 2 > cells.len();
    if right_to_left {
        cells.reverse();
    }
    (!cells.is_empty()).then_some(Line { y, size, turned, cells, is_aside: false })
}

fn cell_of(glyphs: &[Glyph]) -> Option<Cell> {
    let (first, last) = (glyphs.first()?, glyphs.last()?);
    let mut words: Vec<String> = vec![String::new()];
    let mut runs: Vec<Vec<&str>> = vec![Vec::new()];
    let mut before: Option<&Glyph> = None;
    for glyph in glyphs {
        let blank = glyph.text.trim().is_empty();
        // Words with different directions are separate words, however close they are.
        let parts = before.is_some_and(|before| {
            glyph.x - before.x - before.width > glyph.size * WORD_GAP || turns(&before.text, &glyph.text)
        });
        if blank || parts {
            runs.push(Vec::new());
        }
        if let Some(run) = runs.last_mut()
            && !blank
        {
            run.push(&glyph.text);
        }
        before = Some(glyph);
    }
    runs.retain(|run| !run.is_empty());
    let letters = |run: &[&str]| run.concat();
    if is_right_to_left(&runs.iter().map(|run| letters(run)).collect::<String>()) {
        // Right-to-left text: the order of words and of their letters is reversed, except for words and
        // numbers in other scripts.
        let mut turned: Vec<String> = Vec::new();
        let mut other: Vec<String> = Vec::new();
        for run in runs.iter().rev() {
            if is_right_to_left(&letters(run)) {
                turned.extend(other.drain(..).rev());
                turned.push(reversed(run));
            } else {
                other.push(letters(run));
            }
        }
        turned.extend(other.drain(..).rev());
        words = turned;
    } else {
        words.clear();
        words.extend(runs.iter().map(|run| letters(run)));
    }
    let text = words.join(" ").trim().to_owned();
    (!text.is_empty()).then_some(Cell { start: first.x, end: last.x + last.width, text })
}

/// Returns the letters of a right-to-left word in reading order. Digits and letters of other scripts inside
/// it keep their order.
fn reversed(run: &[&str]) -> String {
    let mut out = String::new();
    let mut other: Vec<&str> = Vec::new();
    for letter in run.iter().rev() {
        if letter.chars().any(|c| c.is_ascii_alphanumeric()) {
            other.push(letter);
        } else {
            out.extend(other.drain(..).rev());
            out.push_str(letter);
        }
    }
    out.extend(other.drain(..).rev());
    out
}

/// True if one letter is written right to left and the other left to right.
fn turns(one: &str, other: &str) -> bool {
    let latin = |text: &str| text.chars().any(|c| c.is_ascii_alphanumeric());
    (is_right_to_left(one) && latin(other)) || (latin(one) && is_right_to_left(other))
}

/// True if most letters are in Hebrew, Arabic or a related script.
fn is_right_to_left(text: &str) -> bool {
    let is_rtl =
        |c: char| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}');
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    text.chars().filter(|c| is_rtl(*c)).count() * 2 > letters
}

#[cfg(test)]
mod tests {
    use super::super::super::draft::Draft;
    use super::super::flow::write;
    use super::*;

    fn check_text(glyphs: Vec<Glyph>, expected: &str) {
        let sizes = Sizes::of(glyphs.iter());
        let mut draft = Draft::new(1000);
        write(vec![(1, lines_of(glyphs))], &BTreeMap::new(), &sizes, &mut draft);
        assert_eq!(draft.finish().expect("a short text").text, expected);
    }

    fn check_layout(glyphs: &[(f64, f64, &str)], expected: &str) {
        let glyph =
            |(x, y, text): &(f64, f64, &str)| Glyph::new([1.0, 0.0, 0.0, 1.0, *x, *y], 0.5, 10.0, text);
        check_text(glyphs.iter().map(glyph).collect(), expected);
    }

    #[test]
    fn gaps_separate_words_and_text_is_ordered_by_position() {
        check_layout(&[(10.0, 0.0, "b"), (5.0, 0.0, "a"), (17.0, 0.0, "c")], "ab c\n");
    }

    #[test]
    fn only_right_to_left_words_are_reversed() {
        // Drawn from left to right: "R2" is to the left of a word whose last letter is leftmost.
        let drawn = [(0.0, 0.0, "R"), (5.0, 0.0, "2"), (13.0, 0.0, "ם"), (18.0, 0.0, "ל"), (23.0, 0.0, "ש")];
        check_layout(&drawn, "שלם R2\n");
    }

    #[test]
    fn drawn_spaces_separate_words_of_both_directions() {
        let drawn = [(0.0, 0.0, "P"), (5.0, 0.0, " "), (7.0, 0.0, "ם"), (12.0, 0.0, "ש"), (17.0, 0.0, " ")];
        check_layout(&drawn, "שם P\n");
        check_layout(&[(0.0, 0.0, "P"), (5.0, 0.0, "ם"), (10.0, 0.0, "ש")], "שם P\n");
    }

    #[test]
    fn rotated_text_is_read_along_its_line() {
        let glyph = |y: f64, text: &str| Glyph::new([0.0, 1.0, -1.0, 0.0, 30.0, y], 0.5, 10.0, text);
        check_text(vec![glyph(100.0, "a"), glyph(105.0, "b")], "ab\n");
    }
}
