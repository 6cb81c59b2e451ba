//! Things that a line counts and the lines behind it name one by one: `Two men came by boat. Eskil steered. Tam rowed.`

use super::asked::{QuestionParts, Role, Wants};
use super::evidence::Evidence;
use super::lines::{Line, LineForm, Word};
use super::lists::enumerates;
use super::words::{GENERAL_NOUNS, any_word, count};

/// Words between a number and what it counts, the counted word included.
const NEAR: usize = 3;
/// Words of a line among which the count stands where it is not said that several are asked for: `Two men came.`
const FIRST: usize = 2;
/// Things counted, at most.
const MAX_COUNT: usize = 12;
/// From so many commas and coordinators on, a line names several things.
const SEVERAL: usize = 2;

/// How many things of the sort that is asked for a line counts; `None` where it counts none, or only one.
pub(super) fn counted(asked: &QuestionParts, line: &Line<'_>) -> Option<usize> {
    let found = match asked.terms.iter().any(|term| term.unspaced) {
        true => counted_unspaced(asked, line.text),
        false => counted_spaced(asked, line),
    };
    found.filter(|count| (2..=MAX_COUNT).contains(count))
}

fn counted_spaced(asked: &QuestionParts, line: &Line<'_>) -> Option<usize> {
    let is_sort = |word: &Word<'_>| {
        any_word(GENERAL_NOUNS, &word.lower)
            || asked
                .terms
                .iter()
                .any(|term| term.role != Role::Name && (term.root == word.root || term.is_related(word)))
    };
    line.words.iter().enumerate().find_map(|(at, word)| {
        let count = count(&word.lower).filter(|_| asked.many || at < FIRST)?;
        let behind = || line.words.iter().skip(at + 1);
        let is_elliptic =
            at == 0 && behind().next().is_some_and(|next| any_word("were are have had", &next.lower));
        (is_elliptic || behind().take(NEAR).any(is_sort)).then_some(count)
    })
}

/// `四家茶厂`: a number, what counts, and a word of the question.
fn counted_unspaced(asked: &QuestionParts, text: &str) -> Option<usize> {
    const NUMBERS: &str = "两二三四五六七八九十";
    const MAX_BETWEEN: usize = 5;
    text.char_indices().find_map(|(at, c)| {
        let place = NUMBERS.chars().position(|number| number == c)?;
        let behind: String = text[at + c.len_utf8()..].chars().take(MAX_BETWEEN).collect();
        let is_counted =
            asked.terms.iter().any(|term| term.role != Role::Name && behind.contains(term.word.as_str()))
                || ["个人", "位", "种", "项", "点"].iter().any(|counter| behind.starts_with(counter));
        // 两 and 二 are both two.
        is_counted.then_some(place.max(1) + 1)
    })
}

/// The lines behind a line that name what it counts; empty where it counts nothing, or names all itself.
///
/// They end with the paragraph, or where as many things are named. Where it ends with less than half of them, they are about
/// something else.
pub(super) fn members(evidence: &Evidence<'_, '_>, at: usize) -> Vec<usize> {
    let lines = &evidence.reading.lines;
    let line = &lines[at];
    let Some(count) = counted(evidence.asked, line).filter(|_| line.form == LineForm::Prose) else {
        return Vec::new();
    };
    let own = enumerates(line);
    // `three sizes: small, medium and large`
    if own >= SEVERAL && own + 1 >= count {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut named = 0;
    let belongs = |at: &usize| {
        let next = &lines[*at];
        next.passage == line.passage
            && next.goes_on
            && next.headings == line.headings
            && matches!(next.form, LineForm::Prose | LineForm::Question)
    };
    for next in (at + 1..lines.len()).take_while(belongs) {
        let things = enumerates(&lines[next]);
        found.push(next);
        named += if things >= SEVERAL { things + 1 } else { 1 };
        if named >= count {
            break;
        }
    }
    if 2 * named < count { Vec::new() } else { found }
}

/// Whether persons are asked for by `who`, and a line counts them before they are named.
pub(super) fn counts_persons(evidence: &Evidence<'_, '_>, at: usize) -> bool {
    evidence.asked.wants == Wants::Person && !members(evidence, at).is_empty()
}
