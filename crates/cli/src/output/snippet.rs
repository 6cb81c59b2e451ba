//! Finds the part of a text where the searched words are closest together.

use std::ops::Range;

/// Minimum length in characters of the shorter word if one word may be the start of the other, like `paper` and `papers`.
const LEAST_STEM: usize = 4;
/// Maximum difference in length of such words, in characters.
const MOST_ENDING: usize = 3;
/// The snippet starts at the start of the sentence or line if this is at most so many characters before the first match.
const LEAD: usize = 60;

/// A part of a text with matching words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snippet {
    /// Byte range in the text.
    pub(crate) range: Range<usize>,
    /// Byte ranges of the matching words, in order.
    pub(crate) matches: Vec<Range<usize>>,
}

/// Returns the first part of `text` with the most distinct words of `wanted`, at most `most` characters long. It starts at
/// the start of its sentence if that is near. Without a match, returns the start of `text`.
pub(crate) fn snippet(text: &str, wanted: &str, most: usize) -> Snippet {
    let wanted: Vec<String> = terms(wanted).into_iter().map(|range| wanted[range].to_lowercase()).collect();
    let wanted: Vec<&String> = wanted.iter().filter(|word| !is_common(word)).collect();
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    for range in terms(text) {
        let word = text[range.clone()].to_lowercase();
        if let Some(which) = wanted.iter().position(|wanted| is_same(wanted, &word)) {
            found.push((range, which));
        }
    }
    let reach =
        |from: usize| text[from..].char_indices().nth(most).map_or(text.len(), |(offset, _)| from + offset);
    let distinct = |first: usize| {
        let end = reach(found[first].0.start);
        let inside = found[first..].iter().take_while(|(range, _)| range.end <= end);
        let mut which: Vec<usize> = inside.map(|(_, which)| *which).collect();
        which.sort_unstable();
        which.dedup();
        which.len()
    };
    // The first of the best, because `max_by_key` returns the last maximum.
    let best = (0..found.len()).rev().max_by_key(|first| distinct(*first));
    let start = best.map_or(0, |best| sentence_start(text, found[best].0.start));
    let range = start..reach(start);
    let inside = |it: &Range<usize>| range.start <= it.start && it.end <= range.end;
    let matches = found.into_iter().map(|(range, _)| range).filter(inside).collect();
    Snippet { range, matches }
}

/// Returns the start of the sentence or line around byte `at`, or of the word [`LEAD`] characters before it.
fn sentence_start(text: &str, at: usize) -> usize {
    let mut previous = at;
    for (offset, c) in text[..at].char_indices().rev().take(LEAD) {
        if matches!(c, '\n' | '。' | '！' | '？') || (c == ' ' && text[..offset].ends_with(['.', '!', '?']))
        {
            return offset + c.len_utf8();
        }
        if offset == 0 {
            return 0;
        }
        if c == ' ' {
            previous = offset + 1;
        }
    }
    previous
}

/// Returns the words of a text; for scripts without spaces, each character.
fn terms(text: &str) -> Vec<Range<usize>> {
    let mut terms: Vec<Range<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    for (at, c) in text.char_indices() {
        let single = is_ideograph(c);
        if (single || !c.is_alphanumeric())
            && let Some(start) = open.take()
        {
            terms.push(start..at);
        }
        if single {
            terms.push(at..at + c.len_utf8());
        } else if c.is_alphanumeric() && open.is_none() {
            open = Some(at);
        }
    }
    terms.extend(open.map(|start| start..text.len()));
    terms
}

fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

fn is_same(wanted: &str, word: &str) -> bool {
    let (long, short) = if wanted.len() >= word.len() { (wanted, word) } else { (word, wanted) };
    long == short
        || (short.chars().count() >= LEAST_STEM
            && long.strip_prefix(short).is_some_and(|ending| ending.chars().count() <= MOST_ENDING))
}

/// True for words so common that a match carries no information.
fn is_common(word: &str) -> bool {
    const COMMON: &[&str] = &[
        "a", "an", "and", "are", "as", "at", "be", "by", "das", "der", "des", "did", "die", "do", "does",
        "for", "from", "had", "has", "have", "how", "in", "is", "ist", "it", "its", "of", "on", "or", "s",
        "that", "the", "this", "to", "und", "von", "was", "were", "what", "when", "where", "which", "who",
        "why", "with", "的", "了", "在", "是",
    ];
    COMMON.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_snippet(text: &str, wanted: &str, most: usize) -> (String, Vec<String>) {
        let found = snippet(text, wanted, most);
        let words = found.matches.into_iter().map(|range| text[range].to_owned()).collect();
        (text[found.range].to_owned(), words)
    }

    #[test]
    fn the_part_with_the_most_search_words_is_found_anywhere_in_the_text() {
        let text = "Papers are kept here. Much is said of dams. The first paper on echoes is of 1998.";
        let (part, words) = check_snippet(text, "the first paper", 30);
        assert_eq!(part, "The first paper on echoes is o");
        assert_eq!(words, ["first", "paper"]);
    }

    #[test]
    fn words_match_despite_different_endings_unless_they_are_short() {
        assert_eq!(check_snippet("two papers, one car", "paper care", 40).1, ["papers"]);
    }

    #[test]
    fn scripts_without_spaces_match_by_character() {
        let (part, words) = check_snippet("本手册。水库必须检查。", "检查", 20);
        assert_eq!((part.as_str(), words.len()), ("水库必须检查。", 2));
    }

    #[test]
    fn without_a_match_the_snippet_is_the_beginning() {
        assert_eq!(check_snippet("one two three", "zebra", 7), ("one two".to_owned(), Vec::new()));
    }
}
