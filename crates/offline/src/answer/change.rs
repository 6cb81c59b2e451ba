//! Finds the line that gives a value before and after a change: `rises from 4 to 6 euros`, `75 euros (until 2023: 30 euros)`.

use std::ops::Range;

use super::compared_measures::{is_comparative, question_for_values};
use super::evidence::{Evidence, Passages};
use super::judge::MAX_ANSWER_BYTES;
use super::kinds;
use super::lines::{Line, LineForm};
use super::parallel::{is_apart, numbers};
use super::question::{ParsedQuestion, Role};
use crate::scripts::has_no_spaces;

/// Pairs of words in a question about a value at two times; an empty one is always there.
const ASKING: &[(&str, &str)] = &[
    ("old", "new"),
    ("last year", "this year"),
    ("last year", "now"),
    ("before", "now"),
    ("before", "after"),
    ("used to", "now"),
    ("at first", "now"),
    ("originally", "now"),
    ("planned", "actual"),
    ("planned", "moved"),
    ("planned", "postponed"),
    ("than planned", ""),
    ("changed", ""),
    ("change?", ""),
    ("früher", "heute"),
    ("früher", "jetzt"),
    ("bisher", "künftig"),
    ("vorher", "nachher"),
    ("alte", "neue"),
    ("letztes jahr", "dieses jahr"),
    ("als geplant", ""),
    ("geändert", ""),
    ("geworden", ""),
    ("去年", "今年"),
    ("以前", "现在"),
    ("原来", "现在"),
    ("前后", ""),
];
/// Marks of a change in a line; both parts occur in this order.
const MARKS: &[(&str, &str)] = &[
    ("from", "to"),
    ("up from", ""),
    ("down from", ""),
    ("instead of", ""),
    ("previously", ""),
    ("(until", ""),
    ("last year", ""),
    ("von", "auf"),
    ("statt", ""),
    ("bisher", ""),
    ("(bis", ""),
    ("vorher", ""),
    ("从", "到"),
    ("由", "到"),
    ("由", "至"),
    ("原来", ""),
    ("去年", ""),
];
/// Number of lines above a line that say what it is about.
const ABOVE: usize = 2;
/// Number of lines above a line in which the head of its columns may be.
const BELOW_HEAD: usize = 8;
/// Minimum share of the changed thing in a line and those above it.
const MIN_SHARE: f32 = 0.5;
/// Fewest values of a change.
const MIN_VALUES: usize = 2;

/// Returns the line with the values before and after the change that a question asks for; `None` if it asks for none.
pub(super) fn change(reading: &Passages<'_>, parsed: &ParsedQuestion) -> Option<Vec<usize>> {
    let asked = ASKING.iter().find(|marks| holds_marks(&parsed.lower, marks))?;
    let values = question_for_values(parsed)?;
    let evidence = Evidence::of(reading, &values);
    let score = |at: usize| {
        let line = &reading.lines[at];
        let tells = matches!(line.form, LineForm::Prose | LineForm::Item | LineForm::Row);
        let may_tell = tells && line.text.len() <= MAX_ANSWER_BYTES && gives_two(&values, line);
        if !may_tell || !(changes(line) || is_below_times(reading, at, asked)) {
            return None;
        }
        let above =
            (at.saturating_sub(ABOVE)..=at).find(|above| reading.lines[*above].passage == line.passage);
        let share = share(&evidence, asked, above.unwrap_or(at)..at + 1);
        (share >= MIN_SHARE).then(|| (at, share + evidence.share(at)))
    };
    let found = (0..reading.lines.len()).filter_map(score);
    let best = found.max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)));
    best.map(|(at, _)| vec![at])
}

/// Returns the weighted share of the changed thing in several lines together, without the words that only ask for the change.
fn share(evidence: &Evidence<'_, '_>, (first, second): &(&str, &str), lines: Range<usize>) -> f32 {
    let terms = evidence.question.terms.iter().enumerate();
    let of_thing = terms.filter(|(_, term)| {
        let only_asks =
            first.contains(&term.word) || second.contains(&term.word) || is_comparative(&term.word);
        term.role != Role::Common && !only_asks
    });
    let (mut all, mut found) = (0.0, 0.0);
    for (term, _) in of_thing {
        let strongest = lines.clone().map(|line| evidence.strength[line][term]).fold(0.0, f32::max);
        all += evidence.weights[term];
        found += evidence.weights[term] * strongest;
    }
    if all == 0.0 { 0.0 } else { found / all }
}

/// True if a line gives two values of the requested type.
fn gives_two(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    kinds::holds(question, line, None) && numbers(question, line).len() >= MIN_VALUES
}

/// True if a line says that a value changed: two marks with a number behind each, or a mark such as `previously`.
fn changes(line: &Line<'_>) -> bool {
    let lower = line.text.to_lowercase();
    MARKS.iter().any(|marks| {
        holds_marks(&lower, marks)
            && (marks.1.is_empty() || has_no_spaces(line.text) || has_number_behind(&lower, marks))
    })
}

/// True if both marks have a number directly behind them: `from 4 to 6`.
fn has_number_behind(text: &str, (first, second): &(&str, &str)) -> bool {
    const NEAR: usize = 12;
    let is_near = |behind: &str| behind.chars().take(NEAR).any(|c| c.is_ascii_digit());
    let ends_near = |from: usize, mark: &str| ends_of(text, from, mark).find(|end| is_near(&text[*end..]));
    ends_near(0, first).is_some_and(|end| ends_near(end, second).is_some())
}

/// True if one of the lines above a line names both times, as the head of two columns does.
fn is_below_times(reading: &Passages<'_>, at: usize, marks: &(&str, &str)) -> bool {
    let passage = reading.lines[at].passage;
    !marks.1.is_empty()
        && reading.lines[at.saturating_sub(BELOW_HEAD)..at]
            .iter()
            .any(|line| line.passage == passage && holds_marks(&line.text.to_lowercase(), marks))
}

/// True if a text in lowercase contains both marks in this order, as whole words.
fn holds_marks(text: &str, (first, second): &(&str, &str)) -> bool {
    let end = ends_of(text, 0, first).next();
    end.is_some_and(|end| second.is_empty() || ends_of(text, end, second).next().is_some())
}

/// Returns where a mark ends in a text after the offset `from`, if it is there as whole words.
fn ends_of(text: &str, from: usize, mark: &str) -> impl Iterator<Item = usize> {
    let places = text[from..].match_indices(mark).map(move |(at, mark)| from + at..from + at + mark.len());
    places.filter(|place| is_apart(text, place)).map(|place| place.end)
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{joined, reply_from};
    use super::super::{Passage, Reply};
    use super::*;

    #[track_caller]
    fn check_answer(text: &str, question: &str, expected: &str) {
        let (reply, quotes) = reply_from(&[text], question);
        assert!(matches!(reply, Reply::Likely(_) | Reply::Answer(_)), "{question}: {reply:?}");
        assert_eq!(joined(&quotes), expected, "{question}");
    }

    #[test]
    fn a_line_with_both_values_answers_a_question_about_a_change() {
        let text = "The opening of the pool was planned for spring. Ms Orr is moving the opening of the pool from 3 May to 9 June. \
            The slide is red.";
        let expected = "Ms Orr is moving the opening of the pool from 3 May to 9 June.";
        check_answer(
            text,
            "When was the opening of the pool planned for and what date was it moved to?",
            expected,
        );
        let text =
            "Das Dach der Halle wird saniert. Die Kosten der Halle steigen von 2,1 auf 3,4 Millionen Euro.";
        let expected = "Die Kosten der Halle steigen von 2,1 auf 3,4 Millionen Euro.";
        check_answer(text, "Um wie viel teurer wird die Halle als geplant?", expected);
    }

    #[test]
    fn columns_of_two_years_answer_a_question_about_both() {
        let text = "Your policy\n\n              Last year     This year\nPremium       £120.40       £133.70\nExcess        £100          £150\n";
        let (reply, quotes) =
            reply_from(&[text], "How much was the premium last year and what is it this year?");
        assert!(matches!(reply, Reply::Likely(_) | Reply::Answer(_)), "{reply:?}");
        let text = joined(&quotes);
        assert!(text.contains("£120.40") && text.contains("£133.70"), "{text}");
    }

    #[track_caller]
    fn check_no_change(text: &str, question: &str) {
        let passages = [Passage { text, title: "", headings: &[] }];
        let reading = Passages::read(question, &passages);
        assert_eq!(change(&reading, &reading.parse_question(question)), None, "{question}");
    }

    #[test]
    fn a_line_with_one_value_tells_no_change() {
        let text = "The fare of the ferry is 4 euros. The ferry has two decks and was built in 1990.";
        check_no_change(text, "What was the old fare of the ferry and what is the new one?");
    }

    #[test]
    fn numbers_beside_each_other_are_two_values() {
        let text = "The fare of the ferry previously cost £4, £6 now. The slide is red.";
        let question = "What was the old fare of the ferry and what is the new one?";
        let passages = [Passage { text, title: "", headings: &[] }];
        let reading = Passages::read(question, &passages);
        assert_eq!(change(&reading, &reading.parse_question(question)), Some(vec![0]));
    }

    #[test]
    fn a_mark_within_a_word_asks_for_no_change() {
        let text = "The gold coins of the museum, 14 grams of them on loan, were cleaned for 300 visitors last year.";
        check_no_change(text, "How much does the gold of the new museum weigh?");
        let text = "Mitglieder des Vereins zahlten bisher 30 Euro und 12 Euro.";
        check_no_change(text, "Wie viel Euro erhalten neue Mitglieder des Vereins?");
    }
}
