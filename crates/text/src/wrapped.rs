//! Joins what line ends separate: wrapped sentences, quotations, hyphenated words.

use std::borrow::Cow;
use std::collections::HashSet;

/// Words that can follow a shortened compound, as in `pre- and postwar`.
const AFTER_SHORTENED: [&str; 12] =
    ["and", "or", "to", "und", "oder", "bis", "bzw", "et", "ou", "y", "o", "en"];

/// Returns a sentence or passage on one line. Line ends become spaces, or nothing between characters of scripts without
/// spaces. The `>` marks of quoted lines are removed, and words divided at line ends are joined.
pub fn one_line(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for (n, line) in text.split(['\n', '\r']).enumerate() {
        let (_, body) = if n == 0 { (0, line.trim()) } else { without_quotation_marks(line) };
        if body.is_empty() {
            continue;
        }
        match joint(&joined, body) {
            Joint::Word => {
                joined.pop();
            }
            Joint::Space => joined.push(' '),
            Joint::Nothing => {}
        }
        for (n, word) in body.split_whitespace().enumerate() {
            if n > 0 {
                joined.push(' ');
            }
            joined.push_str(word);
        }
    }
    joined
}

/// What takes the place of a line end inside a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// Nothing, and the hyphen before it goes: it divides a word.
    Word,
    /// Nothing: the script has no spaces, or no text precedes.
    Nothing,
    /// A space.
    Space,
}

/// Returns what joins a line that ends with `before` and the next one.
pub fn joint(before: &str, next: &str) -> Joint {
    if divides_word(before, next) {
        Joint::Word
    } else if before.is_empty()
        || before.ends_with(is_ideograph_or_mark) && next.starts_with(is_ideograph_or_mark)
    {
        Joint::Nothing
    } else {
        Joint::Space
    }
}

/// Joins the lines of paragraphs. It knows the words of the whole text, which show whether a hyphen at a line end belongs to its
/// word.
#[derive(Default)]
pub struct LineJoiner {
    words: HashSet<Cow<'static, str>>,
}

impl LineJoiner {
    /// Reads the words of all lines of a text.
    pub fn of<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Self {
        if !lines.clone().any(|line| line.trim_end().ends_with(is_hyphen)) {
            return Self::default();
        }
        Self { words: words_of(lines).map(|word| Cow::Owned(word.into_owned())).collect() }
    }

    /// Appends the line `next` to the paragraph `text`. A word that the line end divides is joined; its hyphen stays under the
    /// same conditions as in [`with_whole_words`].
    pub fn join(&self, text: &mut String, next: &str) {
        match joint(text, next) {
            Joint::Word => {
                let first = text.rsplit(char::is_whitespace).next().unwrap_or_default();
                let second = next.split_whitespace().next().unwrap_or_default();
                if !keeps_hyphen(first, second, &self.words) {
                    text.pop();
                }
            }
            Joint::Space => text.push(' '),
            Joint::Nothing => {}
        }
        text.push_str(next);
    }
}

/// Returns the quotation depth of a line and the text after its marks, without surrounding white space.
pub(super) fn without_quotation_marks(line: &str) -> (usize, &str) {
    let mut depth = 0;
    let mut body = line.trim();
    while let Some(rest) = body.strip_prefix('>') {
        (depth, body) = (depth + 1, rest.trim_start());
    }
    (depth, body)
}

pub(super) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

fn is_ideograph_or_mark(c: char) -> bool {
    is_ideograph(c) || matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}')
}

fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{2010}' | '\u{ad}')
}

/// True if `before` ends with the first half of a word and `next` begins with the second half.
fn divides_word(before: &str, next: &str) -> bool {
    let mut back = before.chars().rev();
    let word: String = next.chars().take_while(|c| c.is_alphabetic()).collect();
    back.next().is_some_and(is_hyphen)
        && back.take(2).filter(|c| c.is_alphabetic()).count() == 2
        && word.starts_with(char::is_lowercase)
        && !AFTER_SHORTENED.contains(&word.as_str())
}

/// Returns `text` with every word whole that was divided by a hyphen at a line end, also in quotations (`>`). The second half
/// moves to the line of the first, so line numbers stay correct. `text` has `\n` as line ends.
///
/// - The hyphen stays if the text has the hyphenated word elsewhere, or if both halves are words of the text and the joined word
///   is not.
/// - A line that consists of the second half stays if its paragraph goes on: it would leave a blank line in the paragraph.
pub fn with_whole_words(text: String) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let is_blank = |at: usize| lines.get(at).is_none_or(|line| without_quotation_marks(line).1.is_empty());
    // The second half of the word that `line` begins, and its offset in the line below.
    let second_half = |at: usize, line: &str| -> Option<(&str, usize)> {
        let below: &str = lines.get(at + 1)?;
        let (depth, body) = without_quotation_marks(line);
        let (depth_below, body_below) = without_quotation_marks(below);
        let word = body_below.split_whitespace().next()?;
        let ends = word.len() == body_below.len() && !is_blank(at + 2);
        (depth == depth_below && divides_word(body, body_below) && !ends)
            .then(|| (word, below.trim_end().len() - body_below.len()))
    };
    if !(0..lines.len()).any(|at| second_half(at, lines[at]).is_some()) {
        return text;
    }
    let words: HashSet<Cow<'_, str>> = words_of(lines.iter().copied()).collect();
    let mut whole = String::with_capacity(text.len());
    let mut rest: Option<Cow<'_, str>> = None;
    for (at, line) in lines.iter().enumerate() {
        let line = rest.take().unwrap_or(Cow::Borrowed(line));
        if at > 0 {
            whole.push('\n');
        }
        let Some((second, offset)) = second_half(at, &line) else {
            whole.push_str(&line);
            continue;
        };
        let line = line.trim_end();
        let first = line.rsplit(char::is_whitespace).next().unwrap_or_default();
        let kept = if keeps_hyphen(first, second, &words) { line } else { line.trim_end_matches(is_hyphen) };
        whole.push_str(kept);
        whole.push_str(second);
        let (marks, below) = lines[at + 1].split_at(offset);
        let left = below[second.len()..].trim_start();
        rest = Some(if marks.trim().is_empty() { left.into() } else { format!("{marks}{left}").into() });
    }
    whole
}

/// Returns the words inside lines, in lower case, with their hyphens.
fn words_of<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Cow<'a, str>> {
    let words = lines.flat_map(str::split_whitespace).map(bare);
    words.filter(|word| !word.is_empty() && !word.ends_with(is_hyphen)).map(lowercase)
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && !is_hyphen(c))
}

fn lowercase(word: &str) -> Cow<'_, str> {
    if word.chars().all(char::is_lowercase) { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) }
}

fn keeps_hyphen(first: &str, second: &str, words: &HashSet<Cow<'_, str>>) -> bool {
    let (first, second) = (lowercase(bare(first)), lowercase(bare(second)));
    let half = first.trim_end_matches(is_hyphen);
    let known = |word: &str| words.contains(word);
    !known(&format!("{half}{second}"))
        && (known(&format!("{half}-{second}")) || (known(half) && known(&second)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_a_sentence_are_joined() {
        assert_eq!(one_line("built  by\r\n> > Hana,\r> who"), "built by Hana, who");
        assert_eq!(one_line("all infor-\nmation, pre-\nand postwar"), "all information, pre- and postwar");
        assert_eq!(one_line("春天来了，\n花开了"), "春天来了，花开了");
        assert_eq!(one_line("> 5 people"), "> 5 people");
    }

    #[track_caller]
    fn check_whole_words(text: &str, expected: &str) {
        assert_eq!(with_whole_words(text.to_owned()), expected);
    }

    #[test]
    fn words_hyphenated_at_line_ends_are_whole_on_the_first_line() {
        check_whole_words("All infor-\n  mation, that\nis known.", "All information,\nthat\nis known.");
        check_whole_words(
            "a semi-\nconductor of a uni-\nversity there",
            "a semiconductor\nof a university\nthere",
        );
    }

    #[test]
    fn hyphens_inside_words_stay() {
        check_whole_words("He is well known: a well-\nknown man", "He is well known: a well-known\nman");
        check_whole_words("self-made and self-\nmade men", "self-made and self-made\nmen");
        check_whole_words("pre-\nand postwar", "pre-\nand postwar");
        check_whole_words("Jean-\nPaul and 5-\nfold x-\nray", "Jean-\nPaul and 5-\nfold x-\nray");
    }

    #[test]
    fn the_half_that_ends_a_paragraph_leaves_a_blank_line() {
        check_whole_words("infor-\nmation.\n\nend", "information.\n\n\nend");
        check_whole_words("infor-\nmation", "information\n");
        check_whole_words("infor-\nmation\nand more", "infor-\nmation\nand more");
    }

    #[test]
    fn words_hyphenated_in_quotations_are_whole() {
        check_whole_words("> All infor-\n> mation that\n> is", "> All information\n> that\n> is");
        check_whole_words("> infor-\nmation that", "> infor-\nmation that");
    }

    #[test]
    fn a_joiner_keeps_hyphens_inside_words() {
        let joiner =
            LineJoiner::of(["known for a well-", "known man, all infor-", "mation; well"].into_iter());
        let join = |text: &str, next: &str| {
            let mut text = text.to_owned();
            joiner.join(&mut text, next);
            text
        };
        assert_eq!(join("a well-", "known man"), "a well-known man");
        assert_eq!(join("all infor-", "mation"), "all information");
        assert_eq!(join("pre-", "and postwar"), "pre- and postwar");
        assert_eq!(join("春天来了，", "花开了"), "春天来了，花开了");
    }

    proptest! {
        #[test]
        fn joining_words_moves_no_line_and_loses_no_letter(text in "([a-c]{1,3}|[ \n-]|-\n){0,40}") {
            let whole = with_whole_words(text.clone());
            prop_assert_eq!(whole.split('\n').count(), text.split('\n').count());
            let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
            prop_assert_eq!(letters(&whole), letters(&text));
        }
    }
}
