//! Finds the two things that a question compares: the texts on both sides of a joining word.

use std::ops::Range;

use harper_brill::UPOS;

use super::words::{BEFORE_PLACES, PRICED, any_word};
use crate::languages::Language;
use crate::lexicon::is_stop_word;
use crate::parts::{MAX_QUESTION_BYTES, coordinators, measures};
use crate::phrase::{PhraseKind, phrases};
use crate::scripts::has_no_spaces;
use crate::token::{Token, tokens};

/// Maximum number of readings of a question.
const MAX_READINGS: usize = 12;
/// Maximum number of texts before a joining word that may be the first thing.
const MAX_LEFT: usize = 3;
/// Fewest and most characters of a thing in a script without spaces.
const UNSPACED_CHARS: std::ops::RangeInclusive<usize> = 2..=16;

/// Words before `with` and `to` that compare.
const COMPARED: &str = "compared compare verglichen vergleich";

/// Two compared things, as written in the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) one: String,
    pub(super) other: String,
    /// True if the joining word offers a choice or compares, as `or` and `than` do; `and` only lists.
    pub(super) chooses: bool,
}

/// Returns the possible readings of a question as a comparison of two things, the most likely ones first.
///
/// - `occurs`: true if a text occurs in the passages; used to find the ends of things in scripts without spaces.
pub(super) fn sides(question: &str, language: Language, occurs: &dyn Fn(&str) -> bool) -> Vec<Sides> {
    if question.len() > MAX_QUESTION_BYTES {
        return Vec::new();
    }
    let mut found = match has_no_spaces(question) {
        true => unspaced_sides(question, language, occurs),
        false => spaced_sides(question, language),
    };
    // In `A and B or C`, `A and B` may be one thing.
    if found.iter().any(|sides| sides.chooses) {
        found.retain(|sides| sides.chooses);
    }
    found.truncate(MAX_READINGS);
    found
}

fn spaced_sides(question: &str, language: Language) -> Vec<Sides> {
    let words = tokens(question, 0..question.len());
    let names: Vec<Range<usize>> = phrases(question)
        .into_iter()
        .filter(|phrase| matches!(phrase.kind, PhraseKind::Name | PhraseKind::Quoted))
        .map(|phrase| phrase.range)
        .collect();
    let in_name = |at: usize| {
        let is_inside = |name: &Range<usize>| name.start < words[at].start && words[at].end < name.end;
        names.iter().any(is_inside)
    };
    let mut found: Vec<Sides> = Vec::new();
    for at in (1..words.len().saturating_sub(1)).filter(|at| !in_name(*at)) {
        let Some(chooses) = joins(&words, at, language) else { continue };
        let end = if any_word(COMPARED, &words[at - 1].lower) { at - 1 } else { at };
        let before = before(&words, end, &names, language);
        let behind = behind(&words, at, language);
        for left in before.iter().take(MAX_LEFT) {
            for right in &behind {
                let text = |range: &Range<usize>| question[range.clone()].to_owned();
                let sides = Sides { one: text(left), other: text(right), chooses };
                if ![left, right].iter().all(|range| may_be_thing(&words, range, language)) {
                    continue;
                }
                if sides.one != sides.other && !found.contains(&sides) {
                    found.push(sides);
                }
            }
        }
    }
    found
}

/// Returns whether a joining word offers a choice or compares; `None` if the word joins nothing, or joins two questions.
fn joins(words: &[Token<'_>], at: usize, language: Language) -> Option<bool> {
    const ASKING: &str =
        "who what how when where which whose why wer was wie wann wo welche welcher welches wem wen warum";
    const WITH: &str = "with to mit zu";
    let word = words[at].lower.as_str();
    let asks_again = words.get(at + 1..at + 3).is_some_and(|next| {
        let skipped = usize::from(any_word("on in by at auf bis", &next[0].lower));
        any_word(ASKING, &next[skipped].lower)
    });
    if asks_again {
        return None;
    }
    if measures(language).contains(&word) || any_word(WITH, word) && any_word(COMPARED, &words[at - 1].lower)
    {
        return Some(true);
    }
    const LISTING: &str = "and und et y e ed en i oraz и і й та";
    let is_between = || words[..at].iter().any(|word| any_word("between zwischen", &word.lower));
    coordinators(language).contains(&word).then(|| !any_word(LISTING, word) || is_between())
}

/// Returns the texts before a joining word that may be a thing: the nearest run of words, the name in it, all words since the last
/// comma, and earlier runs.
fn before(words: &[Token<'_>], join: usize, names: &[Range<usize>], language: Language) -> Vec<Range<usize>> {
    let ends = |at: usize| is_small(&words[at], language) || words[at + 1].gap.contains([',', ':', ';']);
    let mut found: Vec<Range<usize>> = Vec::new();
    // In `Which is dearer, A or B?`, the first thing is behind the comma.
    let comma = (1..join).rev().find(|at| words[*at].gap.contains([',', ':']));
    let first = comma.unwrap_or(0);
    let mut end = join;
    while end > first {
        if is_small(&words[end - 1], language) {
            end -= 1;
            continue;
        }
        let start = (first..end - 1).rev().find(|at| ends(*at)).map_or(first, |at| at + 1);
        let run = words[start].start..words[end - 1].end;
        let named = names.iter().find(|name| run.start < name.end && name.start < run.end);
        found.extend(named.filter(|name| name.end <= words[join].start).cloned());
        found.push(run);
        end = start;
    }
    found.extend(comma.map(|at| words[at].start..words[join - 1].end));
    dedup(found)
}

/// Words before a thing that are no part of it, besides prepositions.
const LEADING: &str = "the a an my our your his her their its this that for with as than der die das den dem des ein eine einen einem einer eines \
    für mit von vom bei beim im am in zu zum zur nach unter auf la le les el los las il lo gli i o os un une una het de een";

/// Returns the texts after a joining word that may be a thing: the first run of words, and all words up to a comma or the end.
fn behind(words: &[Token<'_>], join: usize, language: Language) -> Vec<Range<usize>> {
    let end = (join + 2..words.len()).find(|at| words[*at].gap.contains([',', ';'])).unwrap_or(words.len());
    let Some(start) = (join + 1..end).find(|at| !is_small(&words[*at], language)) else { return Vec::new() };
    let leads = |word: &Token<'_>| any_word(LEADING, &word.lower) || any_word(BEFORE_PLACES, &word.lower);
    if !words[join + 1..start].iter().all(leads) {
        return Vec::new();
    }
    let run = (start..end).find(|at| is_small(&words[*at], language)).unwrap_or(end);
    dedup(vec![words[start].start..words[run - 1].end, words[start].start..words[end - 1].end])
}

/// True if a text may be a thing: not a single verb and, in languages that capitalize nouns, with a capital or a number.
fn may_be_thing(words: &[Token<'_>], range: &Range<usize>, language: Language) -> bool {
    let mut of_range = words.iter().filter(|word| range.start <= word.start && word.end <= range.end);
    match language.capitalises_nouns() {
        true => of_range.any(|word| word.is_capital() || word.text.contains(|c: char| c.is_ascii_digit())),
        false => of_range.any(|word| word.tag != UPOS::VERB || word.lower.ends_with("ing")),
    }
}

fn dedup(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        if !found.contains(&range) {
            found.push(range);
        }
    }
    found
}

/// True if a word is never part of a thing: a function word or a word that compares.
fn is_small(word: &Token<'_>, language: Language) -> bool {
    let is_letter = word.text.len() == 1 && word.is_capital() && word.text != "I";
    !is_letter
        && (is_stop_word(&word.lower)
            || language.is_function_word(&word.lower)
            || any_word(PRICED, &word.lower)
            || super::compared_measures::is_comparative(&word.lower))
}

/// The same for scripts without spaces: the longest texts that end before a joining word and begin after it and occur in the
/// passages.
fn unspaced_sides(question: &str, language: Language, occurs: &dyn Fn(&str) -> bool) -> Vec<Sides> {
    const LISTING: [&str; 7] = ["和", "与", "與", "跟", "及", "以及", "と"];
    let mut found = Vec::new();
    for join in coordinators(language).iter().chain(&["比"]) {
        for (at, _) in question.match_indices(join).take(MAX_READINGS) {
            let (before, behind) = (&question[..at], &question[at + join.len()..]);
            let lengths = || UNSPACED_CHARS.rev();
            let last =
                |length: usize| before.char_indices().rev().nth(length - 1).map(|(at, _)| &before[at..]);
            let first = |length: usize| {
                let end = behind.char_indices().map(|(at, _)| at).chain([behind.len()]).nth(length);
                end.map(|end| &behind[..end])
            };
            let one = lengths().filter_map(last).find(|text| is_thing(text) && occurs(text));
            let other = lengths().filter_map(first).find(|text| is_thing(text) && occurs(text));
            if let (Some(one), Some(other)) = (one, other) {
                let chooses = !LISTING.contains(join);
                found.push(Sides { one: one.to_owned(), other: other.to_owned(), chooses });
            }
        }
    }
    found
}

fn is_thing(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '-' || c == ' ') && !text.contains("分别")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_sides(question: &str, one: &str, other: &str) {
        let found = sides(question, Language::of_question(question), &|text| text == one || text == other);
        let is_there = found.iter().any(|sides| sides.one == one && sides.other == other);
        assert!(is_there, "{question}: {found:?}");
    }

    #[test]
    fn the_things_of_a_comparison_are_found_without_capitals() {
        check_sides("Does the noise fall more after ploughing or under tillage?", "ploughing", "tillage");
        check_sides("How long is the loan of a bike compared with a tent?", "bike", "tent");
        check_sides("Which is dearer, Kite 20 or Kite 20 S?", "Kite 20", "Kite 20 S");
        check_sides("Was kosten 80 und 120 Liter?", "80", "120 Liter");
        check_sides("主治医师和副主治医师的诊费分别是多少？", "主治医师", "副主治医师");
    }

    #[test]
    fn two_questions_are_no_comparison_of_things() {
        let found = sides("How much is the tent and how long is the loan?", Language::English, &|_| true);
        assert_eq!(found, []);
    }
}
