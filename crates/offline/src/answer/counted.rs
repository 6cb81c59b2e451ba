//! Things that a line counts and the following lines name one by one: `Two men came by boat. Eskil steered. Tam rowed.`

use super::evidence::Evidence;
use super::lines::{Line, LineForm, Word};
use super::lists::{MIN_ENUMERATED, enumerates};
use super::question::{AnswerType, ParsedQuestion, Role};
use super::words::{GENERAL_NOUNS, any_word, count};

/// Maximum number of words between a number and the counted word, including that word.
const NEAR: usize = 3;
/// First words that must contain the number if the question does not ask for several things: `Two men came.`
const FIRST: usize = 2;
/// Maximum number of counted things.
const MAX_COUNT: usize = 12;

/// Returns how many things of the requested class a line counts; `None` for none or one.
pub(super) fn counted(question: &ParsedQuestion, line: &Line<'_>) -> Option<usize> {
    let found = match question.terms.iter().any(|term| term.unspaced) {
        true => counted_unspaced(question, line.text),
        false => counted_spaced(question, line),
    };
    found.filter(|count| (2..=MAX_COUNT).contains(count))
}

fn counted_spaced(question: &ParsedQuestion, line: &Line<'_>) -> Option<usize> {
    let matches_class =
        |word: &Word<'_>| any_word(GENERAL_NOUNS, &word.lower) || question.has_besides_names(word);
    line.words.iter().enumerate().find_map(|(at, word)| {
        let count = count(&word.lower).filter(|_| question.many || at < FIRST)?;
        let behind = || line.words.iter().skip(at + 1);
        let is_elliptic =
            at == 0 && behind().next().is_some_and(|next| any_word("were are have had", &next.lower));
        (is_elliptic || behind().take(NEAR).any(matches_class)).then_some(count)
    })
}

/// Reads `四家茶厂`: a number, a counter and a word of the question.
fn counted_unspaced(question: &ParsedQuestion, text: &str) -> Option<usize> {
    const NUMBERS: &str = "两二三四五六七八九十";
    const MAX_BETWEEN: usize = 5;
    text.char_indices().find_map(|(at, c)| {
        let place = NUMBERS.chars().position(|number| number == c)?;
        let behind: String = text[at + c.len_utf8()..].chars().take(MAX_BETWEEN).collect();
        let is_counted =
            question.terms.iter().any(|term| term.role != Role::Name && behind.contains(term.word.as_str()))
                || ["个人", "位", "种", "项", "点"].iter().any(|counter| behind.starts_with(counter));
        // 两 and 二 both mean two.
        is_counted.then_some(place.max(1) + 1)
    })
}

/// Returns the lines after a line that name the things it counts; empty if it counts nothing or names them all itself.
///
/// The lines end with the paragraph or with the last counted thing. If they name less than half of the things, they are about
/// something else.
pub(super) fn members(evidence: &Evidence<'_, '_>, at: usize) -> Vec<usize> {
    let lines = &evidence.reading.lines;
    let line = &lines[at];
    let Some(count) = counted(evidence.question, line).filter(|_| line.form == LineForm::Prose) else {
        return Vec::new();
    };
    let own = enumerates(line);
    // `three sizes: small, medium and large`
    if own >= MIN_ENUMERATED && own + 1 >= count {
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
        named += if things >= MIN_ENUMERATED { things + 1 } else { 1 };
        if named >= count {
            break;
        }
    }
    if 2 * named < count { Vec::new() } else { found }
}

/// True if the question asks for people, and a line counts them before they are named.
pub(super) fn counts_persons(evidence: &Evidence<'_, '_>, at: usize) -> bool {
    evidence.question.answer_type == AnswerType::Person && !members(evidence, at).is_empty()
}
