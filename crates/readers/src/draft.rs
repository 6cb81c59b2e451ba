//! Builds a document's text block by block: headings, paragraphs, list items, table rows, and the start of each part.

use graphloom_core::{Part, PartMark, Span};

use super::rows::Rows;
use super::{Body, Heading, ParseError};
use graphloom_text::sanitize;

/// Maximum indentation of a list.
const MAX_LIST_DEPTH: usize = 8;
/// Maximum characters of a heading. A longer "heading" is a paragraph in large letters.
const MAX_HEADING_CHARS: usize = 300;

/// A text under construction.
#[derive(Default)]
pub(super) struct Draft {
    body: Body,
    max_bytes: usize,
    /// The part that begins with the next block.
    part: Option<Part>,
    /// Whether the next block must be preceded by a blank line.
    apart: bool,
}

impl Draft {
    /// Creates a draft of at most `max_bytes`; see [`Draft::finish`].
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// True if the text exceeds its limit, so that the rest need not be read.
    pub(super) fn is_full(&self) -> bool {
        self.body.text.len() > self.max_bytes
    }

    /// Starts a page, slide or sheet with the next block. If no block follows, it gets no text and no mark.
    pub(super) fn part(&mut self, part: Part) {
        self.part = Some(part);
        self.apart = true;
    }

    /// Adds a remark about how the source was read, unless the same remark already exists.
    pub(super) fn remark(&mut self, remark: String) {
        if !self.body.remarks.contains(&remark) {
            self.body.remarks.push(remark);
        }
    }

    /// Sets the title, unless there already is one.
    pub(super) fn title(&mut self, title: &str) {
        let title = words(title);
        if self.body.title.is_none() && !title.is_empty() {
            self.body.title = Some(title);
        }
    }

    /// Writes a heading. Level 1 is the outermost.
    pub(super) fn heading(&mut self, level: u8, title: &str) {
        let title = words(title);
        if title.is_empty() {
            return;
        }
        if title.chars().count() > MAX_HEADING_CHARS {
            self.paragraph(&title);
            return;
        }
        let level = level.clamp(1, 6);
        self.apart = true;
        let offset = self.block(&format!("{} {title}", "#".repeat(usize::from(level))));
        self.body.push_heading(Heading { offset, level, title });
        self.apart = true;
    }

    /// Writes a paragraph. Line breaks are kept; runs of other white space become one space.
    pub(super) fn paragraph(&mut self, text: &str) {
        let text = lines(text);
        if text.is_empty() {
            return;
        }
        self.apart = true;
        self.block(&text);
        self.apart = true;
    }

    /// Continues the last paragraph, which `join` does with the lines of `text`; `part` begins with the added text.
    pub(super) fn go_on(&mut self, part: Option<Part>, text: &str, join: impl FnOnce(&mut String, &str)) {
        let text = lines(text);
        let kept = self.body.text.trim_end_matches('\n').len();
        self.body.text.truncate(kept);
        join(&mut self.body.text, &text);
        let offset = (self.body.text.len() - text.len()) as u64;
        self.body.parts.extend(part.map(|part| PartMark { offset, part }));
        self.body.text.push('\n');
        self.apart = true;
    }

    /// Leaves a blank line before the next block.
    pub(super) fn apart(&mut self) {
        self.apart = true;
    }

    /// Writes a line that follows the previous block without a blank line.
    pub(super) fn line(&mut self, text: &str) {
        let text = words(text);
        if !text.is_empty() {
            self.block(&text);
        }
    }

    /// Writes a list item. `depth` 0 is the outermost; `mark` is for example `-` or `3.`.
    pub(super) fn item(&mut self, depth: usize, mark: &str, text: &str) {
        let text = words(text);
        if !text.is_empty() {
            self.block(&format!("{}{mark} {text}", "  ".repeat(depth.min(MAX_LIST_DEPTH))));
        }
    }

    /// Writes a table. If the first row looks like a header, every other row names its columns.
    pub(super) fn table(&mut self, table: &[Vec<String>]) {
        self.apart = true;
        let mut rows = Rows::default();
        for row in table {
            self.line(&rows.line(row));
        }
        self.apart = true;
    }

    /// Appends the output of the reader of another format for a part of the source. Its headings are moved
    /// `deeper` levels down.
    pub(super) fn append(&mut self, body: Body, deeper: u8) {
        if body.text.trim().is_empty() {
            return;
        }
        self.apart = true;
        let start = self.block(body.text.trim_end());
        for heading in body.headings {
            self.body.push_heading(Heading {
                offset: start + heading.offset,
                level: heading.level.saturating_add(deeper),
                title: heading.title,
            });
        }
        self.body.headings_left_out += body.headings_left_out;
        self.apart = true;
    }

    /// Like [`Self::append`], for a part that the publisher added.
    pub(super) fn append_boilerplate(&mut self, body: Body) {
        let before = self.body.text.len();
        self.append(body, 0);
        if self.body.text.len() > before {
            self.body.boilerplate.push(Span::new(before, self.body.text.len()));
        }
    }

    /// Returns the text, or an error if it exceeds its limit.
    pub(super) fn finish(self) -> Result<Body, ParseError> {
        if self.is_full() {
            return Err(ParseError::TooLarge { bytes: self.body.text.len(), max_bytes: self.max_bytes });
        }
        Ok(self.body)
    }

    /// Writes a block on its own lines and returns its first byte.
    fn block(&mut self, text: &str) -> usize {
        let out = &mut self.body.text;
        if self.apart && !out.is_empty() {
            out.push('\n');
        }
        self.apart = false;
        let start = out.len();
        if let Some(part) = self.part.take() {
            self.body.parts.push(PartMark { offset: start as u64, part });
        }
        out.push_str(text);
        out.push('\n');
        start
    }
}

/// Returns the words of a text on one line.
pub(super) fn words(text: &str) -> String {
    sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the lines of a text without blank lines at either end.
fn lines(text: &str) -> String {
    let text = sanitize(text);
    let lines: Vec<String> = text.lines().map(words).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_draft(write: impl Fn(&mut Draft), expected: &str) -> Body {
        let mut draft = Draft::new(10_000);
        write(&mut draft);
        let body = draft.finish().expect("a short text");
        assert_eq!(body.text, expected);
        body
    }

    #[test]
    fn blocks_are_separated_and_list_items_stay_together() {
        check_draft(
            |draft| {
                draft.heading(2, " A \n title ");
                draft.paragraph("one\n  two   three \n");
                draft.item(0, "-", "x");
                draft.item(1, "1.", "y");
                draft.paragraph(" ");
                draft.paragraph("end");
            },
            "## A title\n\none\ntwo three\n\n- x\n  1. y\n\nend\n",
        );
    }

    #[test]
    fn rows_repeat_the_header_of_their_table() {
        let table = [["Item", "Cost"], ["Pipes", "12"], ["Valves", ""]];
        let table: Vec<Vec<String>> =
            table.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
        check_draft(
            |draft| {
                draft.paragraph("a");
                draft.table(&table);
            },
            "a\n\nItem | Cost\nItem: Pipes | Cost: 12\nItem: Valves\n",
        );
    }

    #[test]
    fn parts_start_at_their_first_block() {
        let body = check_draft(
            |draft| {
                for page in 1..=3 {
                    draft.part(Part::Page(page));
                    if page != 2 {
                        draft.heading(1, &format!("Page {page}"));
                    }
                }
            },
            "# Page 1\n\n# Page 3\n",
        );
        let marks: Vec<_> = body.parts.iter().map(|mark| (mark.offset, mark.part.clone())).collect();
        assert_eq!(marks, [(0, Part::Page(1)), (10, Part::Page(3))]);
        assert_eq!(body.headings.iter().map(|heading| heading.offset).collect::<Vec<_>>(), [0, 10]);
    }

    #[test]
    fn too_much_text_is_refused() {
        let mut draft = Draft::new(4);
        draft.paragraph("much text");
        assert!(draft.is_full());
        assert!(matches!(draft.finish(), Err(ParseError::TooLarge { bytes: 10, max_bytes: 4 })));
    }
}
