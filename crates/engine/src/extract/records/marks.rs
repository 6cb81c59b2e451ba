//! The marks of the tuple forms, intact or damaged: field delimiters, the end of an answer, record tags.

use std::ops::Range;

use super::steps::tally;

/// Separates the fields of a record.
pub(super) const FIELD: &str = "<|#|>";
/// Separates the fields in LightRAG's and GraphRAG's older form.
pub(super) const OLD_FIELD: &str = "<|>";
/// Ends an answer.
pub(super) const COMPLETE: &str = "<|COMPLETE|>";

/// Maximum length of a word inside a damaged delimiter, as in `<|diff_marker|>`.
const MAX_WORD_BYTES: usize = 12;
/// How many bytes around a word are searched to recognize a completion mark.
const MAX_MARK_BYTES: usize = 16;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Entity,
    Relation,
    Themes,
}

/// Returns the tag that a word stands for. Case, singular or plural, and older names do not matter.
pub(super) fn tag_of(word: &str) -> Option<Tag> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    const TAGS: [(&str, Tag); 9] = [
        ("entity", Tag::Entity),
        ("entities", Tag::Entity),
        ("relation", Tag::Relation),
        ("relations", Tag::Relation),
        ("relationship", Tag::Relation),
        ("relationships", Tag::Relation),
        ("content_keywords", Tag::Themes),
        ("content keywords", Tag::Themes),
        ("high_level_keywords", Tag::Themes),
    ];
    TAGS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, tag)| *tag)
}

/// Returns the tag word at the start of `text`, and its length; the word must end there.
pub(super) fn leading_tag(text: &str) -> Option<(Tag, usize)> {
    let end = text.find(|c: char| !(c.is_ascii_alphabetic() || c == '_')).unwrap_or(text.len());
    Some((tag_of(text.get(..end).filter(|word| !word.is_empty())?)?, end))
}

/// Returns the start of `text`, long enough for any tag and its delimiter.
pub(super) fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(48)]
}

/// True for quotation marks that models put around fields.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '＂' | '「' | '」')
}

/// How strictly delimiters are recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Only `<|#|>`.
    Exact,
    /// Only `<|>`.
    ExactOld,
    /// Anything that looks like a delimiter, even with a word inside.
    WordInside,
    /// Anything that looks like a delimiter.
    Loose,
}

/// Splits `text` into its fields, in order; at least one.
pub(super) fn split(text: &str, spelling: Spelling) -> Vec<Range<usize>> {
    tally(text.len());
    let mut fields = Vec::new();
    let mut start = 0;
    match spelling {
        Spelling::Exact | Spelling::ExactOld => {
            let delimiter = if spelling == Spelling::Exact { FIELD } else { OLD_FIELD };
            for (at, _) in text.match_indices(delimiter) {
                fields.push(start..at);
                start = at + delimiter.len();
            }
        }
        Spelling::WordInside | Spelling::Loose => {
            let mut at = 0;
            while at < text.len() {
                match delimiter_at(text, at, spelling == Spelling::WordInside) {
                    Some(end) => {
                        fields.push(start..at);
                        start = end;
                        at = end;
                    }
                    None => at = after_run(text, at),
                }
            }
        }
    }
    fields.push(start..text.len());
    fields
}

/// True if `text` contains anything that looks like a delimiter.
pub(super) fn has_delimiter(text: &str) -> bool {
    split(text, Spelling::Loose).len() > 1
}

/// Returns the end of the delimiter that starts at `at`, even if it is damaged.
pub(super) fn delimiter_at(text: &str, at: usize, word_inside: bool) -> Option<usize> {
    let rest = text.get(at..)?;
    let (head, shape) = mark_run(rest)?;
    if word_inside && matches!(shape.as_str(), "<" | "<|") {
        let tail = &rest[head..];
        let word = tail.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(tail.len());
        tally(word);
        if (1..=MAX_WORD_BYTES).contains(&word)
            && let Some((run, closing)) = mark_run(&tail[word..])
        {
            if closing == "|>" {
                return Some(at + head + word + run);
            }
            let last = &tail[word + run..];
            let letters = last.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(last.len());
            if closing == "|#|" && letters <= MAX_WORD_BYTES && last[letters..].starts_with('>') {
                return Some(at + head + word + run + letters + 1);
            }
        }
    }
    let barred = shape.contains('|') && shape.contains(['<', '>', '#']);
    (barred || matches!(shape.as_str(), "<#>" | "<##>" | "<#|" | "<\\#>")).then_some(at + head)
}

/// True if a delimiter, intact or damaged, starts at `at` after white space.
pub(super) fn delimiter_follows(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let skipped = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    delimiter_at(text, at + skipped, true).is_some()
}

/// Reads the run of delimiter characters at the start of `text`: its length, and its shape in ASCII. A run ends before
/// the start of another delimiter (`><`), and continues across a single space between two of its characters.
fn mark_run(text: &str) -> Option<(usize, String)> {
    let mut shape = String::new();
    let mut end = 0;
    while let Some((mark, len)) = mark_at(&text[end..]) {
        if mark == '<' && shape.ends_with('>') {
            break;
        }
        shape.push(mark);
        end += len;
        let spaced = text[end..].strip_prefix(' ').and_then(mark_at);
        if spaced.is_some_and(|(next, _)| next != '<') && mark != '>' && shape.starts_with('<') {
            end += 1;
        }
    }
    if shape == "<|#" && text[end..].starts_with(':') {
        end += 1;
    }
    tally(end + 1);
    (!shape.is_empty()).then_some((end, shape))
}

/// Returns the delimiter character at the start of `text`, in ASCII, and its length.
fn mark_at(text: &str) -> Option<(char, usize)> {
    let c = text.chars().next()?;
    let mark = match c {
        '<' | '>' | '|' | '#' | '\\' => c,
        '＜' => '<',
        '＞' => '>',
        '｜' => '|',
        '＃' => '#',
        '&' if text.starts_with("&lt;") => return Some(('<', 4)),
        '&' if text.starts_with("&gt;") => return Some(('>', 4)),
        _ => return None,
    };
    Some((mark, c.len_utf8()))
}

/// Returns the next place where a delimiter may start: after the run of marks at `at`, or after the character there.
fn after_run(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    match mark_run(rest) {
        // A lone `<` may be directly followed by a real delimiter.
        Some((len, shape)) if shape != "<" => at + len,
        _ => at + rest.chars().next().map_or(1, char::len_utf8),
    }
}

/// Finds the completion marks of `text`, intact or damaged: `<|complete|>`, `|COMPLETE|`, `<|COMPLETE`, or the
/// word alone on its line. The flag says whether the mark is intact.
pub(super) fn completion_marks(text: &str) -> Vec<(Range<usize>, bool)> {
    let bytes = text.as_bytes();
    let word = b"complete";
    let mut marks = Vec::new();
    let mut at = 0;
    tally(text.len());
    while at + word.len() <= bytes.len() {
        if !bytes[at..at + word.len()].eq_ignore_ascii_case(word) {
            at += 1;
            continue;
        }
        let start = marks_before(text, at);
        let mut end = at + word.len();
        if bytes.get(end).is_some_and(|b| b.eq_ignore_ascii_case(&b'd')) {
            end += 1;
        }
        let word_end = end;
        while end - word_end < MAX_MARK_BYTES
            && let Some((mark, len)) = mark_at(&text[end..])
        {
            end += len;
            if mark == '>' {
                break;
            }
        }
        let (before, after) = (&text[start..at], &text[word_end..end]);
        let barred = |side: &str| side.contains(['|', '｜']);
        let next_ends = text[end..].chars().next().is_none_or(|c| !c.is_alphanumeric());
        let marked = (barred(before) && (!after.is_empty() || next_ends)) || (barred(after) && start < at);
        let alone = bytes[at..word_end] == *b"COMPLETE" && is_alone(text, start, end);
        if marked || alone {
            marks.push((start..end, &text[start..end] == COMPLETE));
        }
        at = end;
    }
    marks
}

/// Returns the start of the run of marks that ends at `at`; it does not extend into a delimiter before it.
fn marks_before(text: &str, at: usize) -> usize {
    let mut start = at;
    for (i, c) in text[..at].char_indices().rev() {
        let opening = matches!(c, '<' | '＜');
        if at - i > MAX_MARK_BYTES || !(opening || matches!(c, '|' | '#' | '｜' | '＃')) {
            break;
        }
        start = i;
        if opening {
            break;
        }
    }
    start
}

/// True if the line has only a little decoration besides `start..end`.
fn is_alone(text: &str, start: usize, end: usize) -> bool {
    let plain = |c: &char| c.is_whitespace() || matches!(c, '*' | '#' | '`' | '"' | '.' | '-' | '_');
    let within = |c: &char| *c != '\n';
    let before = text[..start].chars().rev().take(MAX_MARK_BYTES).take_while(within);
    let after = text[end..].chars().take(MAX_MARK_BYTES).take_while(within);
    before.chain(after).all(|c| plain(&c))
}

/// Returns the end of `text` without the beginning of a mark at its very end: a mark that was cut is not content.
pub(super) fn without_cut_mark(text: &str) -> usize {
    let window = text.len().saturating_sub(COMPLETE.len() - 1);
    for (at, _) in text[text.ceil_char_boundary(window)..].match_indices('<') {
        let at = text.ceil_char_boundary(window) + at;
        let tail = &text[at..];
        let is_cut = |mark: &str| tail.len() < mark.len() && mark.starts_with(tail);
        if is_cut(COMPLETE) || is_cut(FIELD) || is_cut("<|complete|>") {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_fields(text: &str, spelling: Spelling) -> Vec<&str> {
        split(text, spelling).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn damaged_delimiters_separate_fields() {
        for delimiter in [
            "<|#|>",
            "<|>",
            "<|##|>",
            "<|\\#|>",
            "<#>",
            "<|#>",
            "<|#",
            "<|#:",
            "<||#>",
            "<||>",
            "<||",
            "|#|>",
            "<|#|>|",
            "||#||",
            "<#|>",
            "＜｜＃｜＞",
            "&lt;|#|&gt;",
            "< | # | >",
        ] {
            let text = format!("Ada{delimiter}Person{delimiter}Works.");
            let fields = check_fields(&text, Spelling::Loose);
            assert_eq!(
                fields.iter().map(|f| f.trim()).collect::<Vec<_>>(),
                ["Ada", "Person", "Works."],
                "{delimiter}"
            );
        }
        for delimiter in ["<|diff_marker|>", "<TIME|>", "<X|#|Y>"] {
            let text = format!("Ada{delimiter}Person");
            assert_eq!(check_fields(&text, Spelling::WordInside), ["Ada", "Person"], "{delimiter}");
        }
    }

    #[test]
    fn ordinary_angle_brackets_and_bars_separate_nothing() {
        for text in ["Vec<T> and a < b", "C# and a | b", "a || b", "# heading", "x > y"] {
            assert_eq!(check_fields(text, Spelling::WordInside), [text]);
        }
        assert_eq!(check_fields("a<|#|><|#|>b", Spelling::Loose), ["a", "", "b"]);
    }

    #[test]
    fn completion_marks_are_found_whole_and_damaged() {
        for (text, expected) in [
            ("x<|COMPLETE|>", Some(true)),
            ("x<|complete|>", Some(false)),
            ("|COMPLETE|", Some(false)),
            ("<|COMPLETE", Some(false)),
            ("<|COMPLETED|>", Some(false)),
            ("**COMPLETE**", Some(false)),
            ("the work is complete", None),
            ("complete works", None),
        ] {
            let marks = completion_marks(text);
            assert_eq!(marks.first().map(|(_, whole)| *whole), expected, "{text}");
        }
        assert_eq!(completion_marks("a<|#|><|COMPLETE|>")[0].0, 6..18);
    }

    #[test]
    fn the_start_of_a_mark_at_the_end_is_no_content() {
        for tail in ["<", "<|", "<|#", "<|#|", "<|COMPL"] {
            assert_eq!(without_cut_mark(&format!("Ada{tail}")), 3, "{tail}");
        }
        assert_eq!(without_cut_mark("a < b"), 5);
    }
}
