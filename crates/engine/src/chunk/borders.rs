//! Finds the places where a text may be cut, from paragraphs down to words.

use std::ops::Range;

use graphloom_text::sentences_and_code;

/// A kind of place to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Border {
    /// After blank lines.
    Paragraph,
    /// Between sentences, list items, headings and table rows.
    Sentence,
    /// Between lines.
    Line,
    /// After commas and semicolons, of any script.
    Clause,
    /// Between words.
    Word,
}

impl Border {
    /// Splits `range` into parts without gaps or overlap; returns one part if there is no such border inside.
    pub(super) fn parts(self, text: &str, range: Range<usize>) -> Vec<Range<usize>> {
        let slice = &text[range.clone()];
        let cuts = match self {
            Self::Paragraph => paragraph_starts(slice),
            Self::Sentence => sentences_and_code(slice).into_iter().map(|sentence| sentence.start).collect(),
            Self::Line => line_starts(slice),
            Self::Clause => starts_after(slice, |c, next| {
                matches!(c, ',' | ';' | '，' | '、' | '；' | '،') && !next.is_ascii_digit()
            }),
            Self::Word => starts_after(slice, |c, next| c.is_whitespace() && !next.is_whitespace()),
        };
        let mut parts = Vec::with_capacity(cuts.len() + 1);
        let mut start = range.start;
        for cut in
            cuts.into_iter().map(|cut| range.start + cut).filter(|&cut| cut > range.start && cut < range.end)
        {
            parts.push(start..cut);
            start = cut;
        }
        parts.push(start..range.end);
        parts
    }
}

/// Returns the offsets of the lines; a carriage return alone ends a line too.
fn line_starts(text: &str) -> Vec<usize> {
    starts_after(text, |c, next| c == '\n' || (c == '\r' && next != '\n'))
}

fn paragraph_starts(text: &str) -> Vec<usize> {
    let mut after_blank = false;
    let mut found = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = line_end(text, start);
        let blank = text[start..end].trim().is_empty();
        if after_blank && !blank {
            found.push(start);
        }
        after_blank = blank;
        start = end;
    }
    found
}

/// Returns the end of the line that starts at `start`, including its line break.
fn line_end(text: &str, start: usize) -> usize {
    let Some(at) = text[start..].find(['\n', '\r']).map(|at| start + at) else { return text.len() };
    at + if text[at..].starts_with("\r\n") { 2 } else { 1 }
}

/// Returns the end of a block of about `bytes` from `range.start`: where the first of `borders` cuts anyway, so that cutting the
/// blocks gives the same parts as cutting the whole. If there is no such place for long, the block ends after a line, a word or a
/// character.
pub(super) fn block_end(text: &str, range: &Range<usize>, borders: &[Border], bytes: usize) -> usize {
    let floor = |at: usize| text.floor_char_boundary(at.min(range.end));
    let (least, most) = (floor(range.start + bytes), floor(range.start + 2 * bytes));
    if most >= range.end {
        return range.end;
    }
    let slice = &text[least..most];
    let paragraph = || paragraph_starts(slice).first().copied();
    let line = || (line_end(slice, 0) < slice.len()).then(|| line_end(slice, 0));
    let word = || slice.find(char::is_whitespace);
    let first = borders.first().filter(|first| **first == Border::Paragraph).and_then(|_| paragraph());
    first.or_else(line).or_else(word).filter(|cut| *cut > 0).map_or(most, |cut| least + cut)
}

/// Returns the offsets of the characters for which `cut(before, at)` is true.
fn starts_after(text: &str, cut: impl Fn(char, char) -> bool) -> Vec<usize> {
    let pairs = text.chars().zip(text.char_indices().skip(1));
    pairs.filter(|&(before, (_, at))| cut(before, at)).map(|(_, (offset, _))| offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_parts(border: Border, text: &str, expected: &[&str]) {
        let parts: Vec<&str> =
            border.parts(text, 0..text.len()).into_iter().map(|part| &text[part]).collect();
        assert_eq!(parts, expected);
    }

    #[test]
    fn each_border_cuts_at_its_own_places() {
        check_parts(Border::Paragraph, "a\nb\r\n \r\n\r\nc", &["a\nb\r\n \r\n\r\n", "c"]);
        check_parts(Border::Sentence, "One. Two.\n- x", &["One. ", "Two.\n", "- x"]);
        check_parts(Border::Line, "a\r\nb\rc\nd", &["a\r\n", "b\r", "c\n", "d"]);
        check_parts(Border::Clause, "1,5 a, b，c", &["1,5 a,", " b，", "c"]);
        check_parts(Border::Word, "a  b", &["a  ", "b"]);
        check_parts(Border::Word, "word", &["word"]);
    }
}
