//! Finds the text that publishers add: paragraphs that state rights and licences, and everything after an end mark. The
//! names in it do not belong to the subject of the text.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use super::around::around;

/// Word prefixes that are typical of rights and licence paragraphs, in lower case.
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
/// Minimum number of different marks in such a paragraph.
const MIN_KINDS: usize = 3;
/// At least one word in this many is a mark.
const WORDS_PER_MARK: usize = 25;
/// Minimum number of different marks in a licence of several paragraphs.
const MIN_KINDS_OF_MANY: usize = 5;
/// At least one word in this many is a mark in a licence of several paragraphs.
const WORDS_PER_MARK_OF_MANY: usize = 40;
/// Maximum number of words between two marked paragraphs of the same licence.
const MAX_WORDS_BETWEEN: usize = 120;
/// Minimum number of equal signs on each side of a line that separates the text from what the publisher added: `*** END OF
/// THE EBOOK ***`.
const MIN_FENCE: usize = 3;
/// Characters that fences are made of.
const FENCE_SIGNS: &[char] = &['*', '=', '-', '#', '~', '_', '+'];
/// How an end mark begins, in lower case.
const ENDS: &[&str] = &["end of ", "ende de", "fin de ", "fin du ", "fine de", "fim d", "einde van "];
/// How a start mark begins, in lower case.
const STARTS: &[&str] =
    &["start of ", "beginn de", "anfang de", "début d", "inizio d", "início d", "begin van "];
/// A mark that contains one of these words was added by a publisher.
const EDITIONS: &[&str] = &["ebook", "e-book", "etext", "e-text", "gutenberg"];
/// Longest start or end mark, in bytes.
const MAX_MARK_BYTES: usize = 300;

/// Returns what follows the end of a text, including the end mark, a line such as `*** END OF THE EBOOK TALES ***`.
///
/// An end mark counts only if it names an edition or if the text after it states rights, so `*** END OF PART ONE ***` does
/// not end a text. The range stops at the next start mark, because a file may contain several texts.
pub fn behind_end_marks(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open: Option<(usize, bool)> = None;
    let mut close = |(from, names_edition): (usize, bool), to: usize| {
        if names_edition || Marks::of(&text[from..to]).state_rights_at_length() {
            found.push(from..to);
        }
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        match border(line) {
            Some(Border::End { names_edition }) if open.is_none() => open = Some((start, names_edition)),
            Some(Border::Start) => {
                if let Some(begun) = open.take() {
                    close(begun, start);
                }
            }
            Some(Border::End { .. }) | None => {}
        }
    }
    if let Some(begun) = open {
        close(begun, text.len());
    }
    found
}

/// True if a text is about rights, licences or editions, so that what publishers add around a work may answer it.
pub fn is_about_rights(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_mark = |word: &str| MARKS.iter().any(|mark| word.starts_with(mark));
    EDITIONS.iter().any(|edition| lower.contains(edition))
        || lower.split(|c: char| !c.is_alphabetic()).any(is_mark)
}

/// A line that separates a text from what the publisher added.
enum Border {
    Start,
    End { names_edition: bool },
}

fn border(line: &str) -> Option<Border> {
    let line = line.trim();
    let sign =
        line.chars().next().filter(|sign| FENCE_SIGNS.contains(sign) && line.len() <= MAX_MARK_BYTES)?;
    let inner = line.trim_matches(sign);
    let fence = |side: &str| side.chars().count() >= MIN_FENCE;
    let (before, after) =
        (&line[..line.len() - line.trim_start_matches(sign).len()], line.trim_end_matches(sign));
    if inner.is_empty() || !fence(before) || !fence(&line[after.len()..]) {
        return None;
    }
    let words = inner.trim().to_lowercase();
    let begins = |marks: &[&str]| marks.iter().any(|mark| words.starts_with(mark));
    if begins(STARTS) {
        return Some(Border::Start);
    }
    let names_edition = EDITIONS.iter().any(|edition| words.contains(edition));
    begins(ENDS).then_some(Border::End { names_edition })
}

/// Returns the text with rights and licence paragraphs, and lines around an article such as its byline, replaced by spaces; the
/// length in bytes stays the same.
pub fn without_boilerplate(text: &str) -> Cow<'_, str> {
    match blanked(text, boilerplate(text)) {
        Cow::Owned(plain) => Cow::Owned(blanked(&plain, around(&plain)).into_owned()),
        Cow::Borrowed(text) => blanked(text, around(text)),
    }
}

fn blanked(text: &str, ranges: Vec<Range<usize>>) -> Cow<'_, str> {
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        plain.push_str(&text[at..range.start]);
        // Newlines are kept, so the surrounding text keeps its paragraphs.
        let blanks = text[range.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
        plain.extend(blanks);
        at = range.end;
    }
    plain.push_str(&text[at..]);
    Cow::Owned(plain)
}

/// Returns the byte ranges of rights and licence paragraphs and of marks, ascending and disjoint.
fn boilerplate(text: &str) -> Vec<Range<usize>> {
    let all = paragraphs(text);
    let marked: Vec<Marks> = all.iter().map(|range| Marks::of(&text[range.clone()])).collect();
    let licences = licences(&marked);
    let is_licence = |at: usize| licences.iter().any(|licence| licence.contains(&at));
    let stays = |(at, range): &(usize, Range<usize>)| {
        !(is_licence(*at) || marked[*at].states_rights() || border(&text[range.clone()]).is_some())
    };
    all.into_iter().enumerate().filter(|paragraph| !stays(paragraph)).map(|(_, range)| range).collect()
}

/// Returns the ranges of paragraphs that form a long licence: runs of marked paragraphs with few words between them that
/// state rights together.
fn licences(paragraphs: &[Marks]) -> Vec<Range<usize>> {
    let mut runs: Vec<(Range<usize>, Marks)> = Vec::new();
    let mut between = Marks::default();
    for (at, marks) in paragraphs.iter().enumerate() {
        if marks.kinds.is_empty() {
            between.add(marks);
            continue;
        }
        match runs.last_mut().filter(|_| between.words <= MAX_WORDS_BETWEEN) {
            Some((run, all)) => {
                run.end = at + 1;
                all.add(&between);
                all.add(marks);
            }
            None => {
                let mut all = Marks::default();
                all.add(marks);
                runs.push((at..at + 1, all));
            }
        }
        between = Marks::default();
    }
    // What follows a licence at the end of the text is usually part of the licence.
    if let Some((run, _)) = runs.last_mut().filter(|_| between.words <= MAX_WORDS_BETWEEN / 2) {
        run.end = paragraphs.len();
    }
    runs.retain(|(_, all)| all.state_rights_at_length());
    runs.into_iter().map(|(run, _)| run).collect()
}

/// Statistics of the marks in one or more paragraphs.
#[derive(Default)]
struct Marks {
    words: usize,
    count: usize,
    kinds: BTreeSet<&'static str>,
}

impl Marks {
    fn of(paragraph: &str) -> Self {
        let lower = paragraph.to_lowercase();
        let mut marks = Self::default();
        for word in lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
            marks.words += 1;
            if let Some(mark) = MARKS.iter().find(|mark| word.starts_with(**mark)) {
                marks.count += 1;
                marks.kinds.insert(mark);
            }
        }
        marks
    }

    fn add(&mut self, other: &Self) {
        self.words += other.words;
        self.count += other.count;
        self.kinds.extend(&other.kinds);
    }

    fn states_rights(&self) -> bool {
        self.are_dense(MIN_KINDS, WORDS_PER_MARK)
    }

    fn state_rights_at_length(&self) -> bool {
        self.are_dense(MIN_KINDS_OF_MANY, WORDS_PER_MARK_OF_MANY)
    }

    fn are_dense(&self, kinds: usize, words_per_mark: usize) -> bool {
        self.kinds.len() >= kinds && self.count * words_per_mark >= self.words
    }
}

/// Returns the byte ranges of the paragraphs, which are separated by blank lines.
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
    fn licences_are_boilerplate_and_stories_are_not() {
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
    fn all_paragraphs_of_a_long_licence_are_boilerplate() {
        let text = "Ada Byron met the smith in Ludlow.\n\n\
            1.A. The license of Halden Press covers its trademark and redistribution of all copies.\n\n\
            1.B. Halden Press is known in forty countries.\n\n\
            1.C. Halden Press gives no warranty; liability for damages ends with a refund.\n\n\
            1.D. Donations are sent to Halden House.\n";
        let plain = without_boilerplate(text);
        assert_eq!(plain.trim(), "Ada Byron met the smith in Ludlow.");
        let story = "A license was nailed to the door.\n\nAda gave a donation.\n\nHalden paid the damages.\n";
        assert_eq!(without_boilerplate(story), story);
    }

    #[track_caller]
    fn check_behind(text: &str, expected: &[&str]) {
        let found: Vec<&str> = behind_end_marks(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn an_end_mark_that_names_an_edition_ends_the_text() {
        check_behind(
            "Title: Tales\n\n*** START OF THE EBOOK TALES ***\n\nAda slept.\n\n*** END OF THE EBOOK TALES ***\n\nVisit Halden.\n",
            &["*** END OF THE EBOOK TALES ***\n\nVisit Halden.\n"],
        );
        check_behind("Ada schlief.\n\n***ENDE DES E-BOOKS***\nHalden", &["***ENDE DES E-BOOKS***\nHalden"]);
    }

    #[test]
    fn a_text_that_starts_after_the_end_of_another_is_kept() {
        check_behind(
            "One.\n=== END OF ETEXT ONE ===\nVisit us.\n=== START OF ETEXT TWO ===\nTwo.\n=== END OF ETEXT TWO ===\n",
            &["=== END OF ETEXT ONE ===\nVisit us.\n", "=== END OF ETEXT TWO ===\n"],
        );
    }

    #[test]
    fn any_other_end_mark_ends_the_text_if_a_licence_follows() {
        let licence = "--- END OF FILE ---\nThe licence of Halden Press grants copyright permission; no warranty, no liability for damages.\n";
        check_behind(&format!("Ada slept.\n{licence}"), &[licence]);
        check_behind("Ada slept.\n\n*** END OF PART ONE ***\n\nAda woke up in Ludlow.\n", &[]);
        check_behind("The end of the ebook market was near.\n\n***\n\nAda woke.\n", &[]);
    }

    #[test]
    fn questions_about_rights_are_told_from_questions_about_the_work() {
        for question in [
            "How do I donate?",
            "Is it under copyright?",
            "Was sagt die Lizenz?",
            "Who runs Project Gutenberg?",
        ] {
            assert!(is_about_rights(question), "{question}");
        }
        for question in ["Who are the main people?", "Where do most people start?", "What does Scrooge give?"]
        {
            assert!(!is_about_rights(question), "{question}");
        }
    }

    #[test]
    fn start_and_end_marks_are_boilerplate() {
        let plain = without_boilerplate("*** START OF THE EBOOK TALES ***\n\nAda slept.\n");
        assert_eq!(plain.trim(), "Ada slept.");
    }

    proptest! {
        #[test]
        fn blanking_boilerplate_keeps_all_byte_offsets(text in "(\\PC|\n|licence royalty warranty ){0,60}") {
            prop_assert_eq!(without_boilerplate(&text).len(), text.len());
        }
    }
}
