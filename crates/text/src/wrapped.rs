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
        if divides_word(&joined, body) {
            joined.pop();
        } else if !(joined.is_empty()
            || joined.ends_with(is_ideograph_or_mark) && body.starts_with(is_ideograph_or_mark))
        {
            joined.push(' ');
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

/// Returns `text` with every word whole that was divided by a hyphen at a line end. The second half moves to the line of
/// the first, so line numbers stay correct. `text` has `\n` as line ends.
///
/// The hyphen stays if the text has the hyphenated word elsewhere, or if both halves are words of the text and the joined
/// word is not.
pub fn with_whole_words(text: String) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let divided = |at: usize| {
        lines.get(at + 1).is_some_and(|next| divides_word(lines[at].trim_end(), next.trim_start()))
    };
    if !(0..lines.len()).any(divided) {
        return text;
    }
    let words = words_of(&lines);
    let mut whole = String::with_capacity(text.len());
    let mut rest: Option<&str> = None;
    for (at, line) in lines.iter().enumerate() {
        let line = rest.take().unwrap_or(line);
        if at > 0 {
            whole.push('\n');
        }
        let next = if divided(at) { lines[at + 1].trim_start() } else { "" };
        let second = next.split_whitespace().next().unwrap_or_default();
        let left = next[second.len()..].trim_start();
        if second.is_empty() || left.is_empty() || !divides_word(line.trim_end(), next) {
            whole.push_str(line);
            continue;
        }
        let line = line.trim_end();
        let first = line.rsplit(char::is_whitespace).next().unwrap_or_default();
        let kept = if keeps_hyphen(first, second, &words) { line } else { line.trim_end_matches(is_hyphen) };
        whole.push_str(kept);
        whole.push_str(second);
        rest = Some(left);
    }
    whole
}

/// Returns the words inside lines, in lower case, with their hyphens.
fn words_of<'a>(lines: &[&'a str]) -> HashSet<Cow<'a, str>> {
    let words = lines.iter().flat_map(|line| line.split_whitespace()).map(bare);
    let whole = words.filter(|word| !word.is_empty() && !word.ends_with(is_hyphen));
    whole.map(lowercase).collect()
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
    fn words_divided_at_line_ends_are_whole_on_the_first_line() {
        check_whole_words("All infor-\n  mation, that\nis known.", "All information,\nthat\nis known.");
        check_whole_words(
            "a semi-\nconductor of a uni-\nversity there",
            "a semiconductor\nof a university\nthere",
        );
    }

    #[test]
    fn hyphens_that_belong_to_words_stay() {
        check_whole_words("He is well known: a well-\nknown man", "He is well known: a well-known\nman");
        check_whole_words("self-made and self-\nmade men", "self-made and self-made\nmen");
        check_whole_words("pre-\nand postwar", "pre-\nand postwar");
        check_whole_words("Jean-\nPaul and 5-\nfold x-\nray", "Jean-\nPaul and 5-\nfold x-\nray");
    }

    #[test]
    fn a_line_of_one_half_stays() {
        check_whole_words("infor-\nmation\n\nend", "infor-\nmation\n\nend");
    }

    proptest! {
        #[test]
        fn whole_words_move_no_line_and_lose_no_letter(text in "([a-c]{1,3}|[ \n-]|-\n){0,40}") {
            let whole = with_whole_words(text.clone());
            prop_assert_eq!(whole.split('\n').count(), text.split('\n').count());
            let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
            prop_assert_eq!(letters(&whole), letters(&text));
        }
    }
}
