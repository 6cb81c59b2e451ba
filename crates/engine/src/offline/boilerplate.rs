//! Finds what publishers put around texts: paragraphs that state rights and licences, and what stands behind the end. What they name is not what a text is about.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// Beginnings of words, in small letters, by which such paragraphs are known.
const MARKS: &[&str] = &[
    "licen",
    "copyright",
    "trademark",
    "royalt",
    "redistribut",
    "warrant",
    "disclaim",
    "liab",
    "refund",
    "donat",
    "charit",
    "damages",
    "ebook",
    "restrict",
    "infring",
    "proprietary",
    "permission",
    "lizenz",
    "urheberrecht",
    "haftung",
    "gewähr",
    "nutzungsrecht",
    "markenrecht",
];
/// Marks of these kinds that a paragraph holds, at least.
const MIN_KINDS: usize = 3;
/// Words of a paragraph that are marks: one in so many, at least.
const WORDS_PER_MARK: usize = 25;
/// Signs of a line that parts a text from what publishers put around it: `*** END OF THE EBOOK ***`.
const RULE: &str = "***";

/// The text with blanks for such paragraphs, byte for byte.
pub(super) fn without_boilerplate(text: &str) -> Cow<'_, str> {
    let ranges = boilerplate(text);
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        plain.push_str(&text[at..range.start]);
        // Lines stay, so that what stands around keeps its paragraphs.
        let blanks = text[range.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
        plain.extend(blanks);
        at = range.end;
    }
    plain.push_str(&text[at..]);
    Cow::Owned(plain)
}

/// The bytes of such paragraphs, ascending and disjoint.
fn boilerplate(text: &str) -> Vec<Range<usize>> {
    let all = paragraphs(text);
    let is_border = |line: &str, mark: &str| {
        line.starts_with(RULE) && line.ends_with(RULE) && line.to_uppercase().contains(mark)
    };
    let mut ended = false;
    let mut found = Vec::new();
    for range in all {
        let line = text[range.clone()].trim();
        ended |= is_border(line, "END OF");
        if ended || is_border(line, "START OF") || states_rights(line) {
            found.push(range);
        }
    }
    found
}

fn states_rights(paragraph: &str) -> bool {
    let lower = paragraph.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    let marks: Vec<&str> =
        words.iter().filter_map(|word| MARKS.iter().find(|mark| word.starts_with(**mark)).copied()).collect();
    let kinds: BTreeSet<&str> = marks.iter().copied().collect();
    kinds.len() >= MIN_KINDS && marks.len() * WORDS_PER_MARK >= words.len()
}

/// What stands between empty lines.
fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        match (line.trim().is_empty(), found.last_mut().filter(|_| open)) {
            (true, _) => open = false,
            (false, Some(last)) => last.end = range.end,
            (false, None) => {
                found.push(range);
                open = true;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn licences_name_nothing_and_stories_do() {
        let licence = "Redistribution is subject to the trademark license of Halden Press, especially commercial redistribution.";
        let text =
            format!("Ada Byron met the smith.\n\n{licence}\n\nThe mayor donated a bell to the village.\n");
        let plain = without_boilerplate(&text);
        assert!(
            !plain.contains("Halden") && plain.contains("Ada Byron") && plain.contains("mayor donated"),
            "{plain}"
        );
        assert_eq!(plain.len(), text.len());
    }

    #[test]
    fn what_publishers_put_around_a_text_names_nothing() {
        let text = "Title: Tales\n\n*** START OF THE EBOOK TALES ***\n\nAda slept.\n\n*** END OF THE EBOOK TALES ***\n\nVisit Halden.\n";
        let plain = without_boilerplate(text);
        assert_eq!(plain.split_whitespace().collect::<Vec<_>>(), ["Title:", "Tales", "Ada", "slept."]);
    }

    proptest! {
        #[test]
        fn blanks_keep_every_byte_in_its_place(text in "(\\PC|\n|licence royalty warranty ){0,60}") {
            prop_assert_eq!(without_boilerplate(&text).len(), text.len());
        }
    }
}
