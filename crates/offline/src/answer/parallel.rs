//! Finds parallel lines about two compared things: rows of one table, items of one list or neighbouring sentences, each with a
//! value of the compared property.

use std::borrow::Cow;
use std::ops::Range;

use super::compared_measures::{is_comparative, question_for_values};
use super::evidence::{Evidence, Passages};
use super::judge::MAX_ANSWER_BYTES;
use super::kinds;
use super::lines::{Line, LineForm};
use super::measures;
use super::question::{AnswerType, ParsedQuestion, Role};
use super::sides::{Sides, sides};
use super::words::any_word;
use crate::scripts::has_no_spaces;

/// Maximum number of lines about one thing that are paired.
const MAX_LINES: usize = 12;
/// Minimum share of a thing in its line.
const MIN_THING: f32 = 0.65;
/// Minimum lead of a thing over the other one in its line.
const MIN_LEAD: f32 = 0.25;
/// Minimum share of the compared property in both lines together.
const MIN_PROPERTY: f32 = 0.5;
/// Strength of a thing that the previous sentence is about.
const CONTINUED: f32 = 0.8;
/// Lead of a line with both values over two lines.
const IN_ONE_LINE: f32 = 1.4;
/// Lead of a value of the requested kind over another one.
const OF_KIND: f32 = 0.2;
/// The same in a line whose value is not of the requested kind.
const MIN_OF_OTHER_KIND: f32 = 0.3;
/// Strength of a property that only the kind of the value shows, as `£` shows a price.
const BY_VALUE: f32 = 0.6;
/// Penalty for each more likely reading of the question.
const BY_RANK: f32 = 0.05;
/// Measuring words for which the kind of a value tells too little: prices, lengths and shares are all high.
const GENERAL_MEASURES: &str = "large big small high groß klein hoch 多大 多高";
/// Minimum likeness of the lines about two things that a question only lists.
const MIN_LIKENESS: f32 = 0.5;
/// Penalty for each line between two lines, and the most lines that count.
const BY_DISTANCE: f32 = 0.01;
const MAX_DISTANCE: usize = 20;
/// Maximum distance of neighbouring lines.
const NEAR: usize = 3;

/// A line about one of the compared things.
struct About {
    line: usize,
    /// How much of the thing it contains.
    share: f32,
    /// How much of the compared property it shows.
    property: f32,
}

/// One of the compared things.
struct Thing {
    lower: String,
    /// The terms of the question that only this thing has and that occur in the passages.
    own: Vec<usize>,
    /// True if the passages name it word by word.
    is_named: bool,
}

/// One or two lines with the values of both things.
struct Found {
    lines: Vec<usize>,
    score: f32,
}

/// A comparison of two things with everything that is known about its lines.
struct Comparison<'e, 'r, 'a> {
    evidence: &'e Evidence<'r, 'a>,
    /// The lines in lowercase.
    texts: &'e [String],
    one: Thing,
    other: Thing,
    /// The terms that both things share.
    shared: Vec<usize>,
    /// See [`Sides::chooses`].
    chooses: bool,
}

/// Returns the parallel lines about two compared things; `None` if the question compares none, the texts do not, or the lines that
/// are known already have a value of each.
///
/// - `known`: the lines that answer by other rules.
pub(super) fn parallel(
    reading: &Passages<'_>,
    question: &str,
    parsed: &ParsedQuestion,
    known: &[usize],
) -> Option<Vec<usize>> {
    let values = question_for_values(parsed)?;
    let readings = sides(question, reading.language, &|text| reading.holds(text));
    if readings.is_empty() {
        return None;
    }
    let evidence = Evidence::of(reading, &values);
    let texts: Vec<String> = reading.lines.iter().map(|line| line.text.to_lowercase()).collect();
    let mut best: Option<Found> = None;
    for (rank, sides) in readings.iter().enumerate() {
        let comparison = Comparison::of(&evidence, &texts, sides);
        let found = comparison.pairs().into_iter().chain(comparison.single_lines());
        for found in found {
            if found.lines.iter().all(|line| known.contains(line)) {
                return None;
            }
            let found = Found { score: found.score - BY_RANK * rank as f32, ..found };
            if best.as_ref().is_none_or(|best| found.score > best.score) {
                best = Some(found);
            }
        }
    }
    best.map(|best| best.lines)
}

/// Returns the places of the numbers in a line that are not in the question; a number of several words counts once. Numbers
/// without a unit that may be years count only if times are compared.
pub(super) fn numbers(question: &ParsedQuestion, line: &Line<'_>) -> Vec<usize> {
    if has_no_spaces(line.text) {
        return unspaced_numbers(question, line.text);
    }
    let of_times = question.answer_type == AnswerType::Time;
    let is_number = |at: usize| {
        let word = &line.words[at];
        let is_value = word.is_number() && kinds::is_new(question, word) && word.lower != "one";
        is_value && (of_times || !kinds::is_year(&word.lower) || measures::has_unit(line, at))
    };
    // `2 million` is one number, `4, 6` are two.
    let is_joined = |at: usize| {
        let (before, word) = (&line.words[at - 1], &line.words[at]);
        let gap = line.text.get(before.at + before.text.len()..word.at);
        is_number(at - 1) && !word.has_digit() && matches!(gap, Some(" " | "-"))
    };
    let begins = |at: &usize| is_number(*at) && (*at == 0 || !is_joined(*at));
    (0..line.words.len()).filter(begins).map(|at| line.words[at].at).collect()
}

fn unspaced_numbers(question: &ParsedQuestion, text: &str) -> Vec<usize> {
    const NUMERALS: &str = "一二两三四五六七八九十百千万亿半.";
    let is_numeral = |c: char| c.is_ascii_digit() || NUMERALS.contains(c);
    let mut found = Vec::new();
    let mut offset = 0;
    for group in text.split(|c: char| !is_numeral(c)) {
        let at = offset + text[offset..].find(group).unwrap_or(0);
        // `一` and `万` are also parts of words.
        let is_number = !matches!(group.trim_matches('.'), "" | "一" | "万" | "千");
        if is_number && !question.lower.contains(group) {
            found.push(at);
        }
        offset = at + group.len();
    }
    found
}

impl<'e, 'r, 'a> Comparison<'e, 'r, 'a> {
    fn of(evidence: &'e Evidence<'r, 'a>, texts: &'e [String], sides: &Sides) -> Self {
        let terms = &evidence.question.terms;
        let words_of = |text: &str| -> Vec<String> {
            let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            words.map(|word| evidence.reading.roots.root(word)).collect()
        };
        let [one, other] = [&sides.one, &sides.other].map(|text| text.to_lowercase());
        let [words_of_one, words_of_other] = [&one, &other].map(|text| words_of(text));
        let is_in = |at: usize, text: &str, words: &[String]| match terms[at].unspaced {
            true => text.contains(&terms[at].word),
            false => words.contains(&terms[at].root),
        };
        let in_one = |at: &usize| is_in(*at, &one, &words_of_one);
        let in_other = |at: &usize| is_in(*at, &other, &words_of_other);
        let all = 0..terms.len();
        let own_of_one: Vec<usize> = all.clone().filter(|at| in_one(at) && !in_other(at)).collect();
        let own_of_other: Vec<usize> = all.clone().filter(|at| in_other(at) && !in_one(at)).collect();
        let is_property = |at: &usize| terms[*at].role != Role::Common && !is_comparative(&terms[*at].word);
        let shared = all.filter(|at| !own_of_one.contains(at) && !own_of_other.contains(at));
        let shared = shared.filter(|at| is_property(at) && !(in_one(at) && in_other(at))).collect();
        let is_known = |own: Vec<usize>| own.into_iter().filter(|at| evidence.known[*at]).collect();
        let thing = |own: Vec<usize>, text: &str, other: &str| {
            let is_named = texts.iter().any(|line| names_literally(line, text, other));
            Thing { own: is_known(own), lower: text.to_owned(), is_named }
        };
        let (one, other) = (thing(own_of_one, &one, &other), thing(own_of_other, &other, &one));
        Self { evidence, texts, one, other, shared, chooses: sides.chooses }
    }

    fn line(&self, at: usize) -> &Line<'a> {
        &self.evidence.reading.lines[at]
    }

    /// True if a line, or the row that contains it, names a thing word by word.
    fn names(&self, at: usize, thing: &Thing, other: &Thing) -> bool {
        let is_named = |at: usize| names_literally(&self.texts[at], &thing.lower, &other.lower);
        is_named(at) || self.line(at).row.is_some_and(is_named)
    }

    /// Returns how much of a thing a line contains: 1 if it is there word by word.
    fn share(&self, at: usize, thing: &Thing, other: &Thing, strengths: &[Vec<f32>]) -> f32 {
        if self.names(at, thing, other) {
            return 1.0;
        }
        // `Kite 20` has no word that `Kite 20 S` lacks, and `主治医师` is a part of `副主治医师`.
        if thing.own.is_empty() || names_literally(&other.lower, &thing.lower, "") {
            return 0.0;
        }
        let weight = |at: &usize| self.evidence.weights[*at];
        let all: f32 = thing.own.iter().map(weight).sum();
        let found: f32 = thing.own.iter().map(|term| weight(term) * strengths[at][*term]).sum();
        if all == 0.0 { 0.0 } else { found / all }
    }

    /// Returns how much of a thing the previous sentence of the paragraph contains, if the line itself is about no other.
    fn continued(&self, at: usize, thing: &Thing, other: &Thing) -> f32 {
        let direct = &self.evidence.direct;
        let goes_on = self.line(at).goes_on && at > 0 && self.line(at).form == LineForm::Prose;
        if !goes_on || self.share(at, other, thing, direct) > 0.0 {
            return 0.0;
        }
        let is_other = self.share(at - 1, other, thing, direct) > 0.0;
        if is_other { 0.0 } else { CONTINUED * self.share(at - 1, thing, other, direct) }
    }

    /// Returns how much of the compared property a line shows, by its words or by the kind of its value; `None` without a value.
    fn property(&self, at: usize) -> Option<f32> {
        let (question, line) = (self.evidence.question, self.line(at));
        let weight = |at: &usize| self.evidence.weights[*at];
        let all: f32 = self.shared.iter().map(weight).sum();
        let there: f32 =
            self.shared.iter().map(|term| weight(term) * self.evidence.strength[at][*term]).sum();
        let by_words = if all == 0.0 { 0.0 } else { there / all };
        let is_of_kind = kinds::holds(question, line, None);
        // Many lines have a date: `and` alone does not say that they belong to the two things.
        let tells_kind = question.answer_type == AnswerType::Time && self.chooses
            || question.measure.as_ref().is_some_and(|measure| !any_word(GENERAL_MEASURES, measure));
        match is_of_kind {
            true if tells_kind => Some(by_words.max(BY_VALUE)),
            true => Some(by_words),
            // `At 60 °C` is no price, but the number in a column of prices is one.
            false if tells_kind && (by_words < MIN_OF_OTHER_KIND || !is_in_columns(line)) => None,
            false => (!numbers(question, line).is_empty()).then_some(by_words),
        }
    }

    /// Returns the lines about one thing, those with most of it first.
    fn lines_about(&self, thing: &Thing, other: &Thing) -> Vec<About> {
        let strengths = &self.evidence.strength;
        let fits = |at: usize| {
            let line = self.line(at);
            let may_tell = matches!(
                line.form,
                LineForm::Prose | LineForm::Item | LineForm::Row | LineForm::Heading(_) | LineForm::Property
            );
            if !may_tell || line.text.len() > MAX_ANSWER_BYTES {
                return None;
            }
            let share = self.share(at, thing, other, strengths).max(self.continued(at, thing, other));
            // `Mitglieder` is a part of `Nichtmitglieder`, but the texts name both.
            let is_named = || self.names(at, thing, other) && !self.names(at, other, thing) && other.is_named;
            let leads = || share - self.share(at, other, thing, strengths) >= MIN_LEAD || is_named();
            let is_about = share >= MIN_THING && leads();
            Some(About { line: at, share, property: self.property(at).filter(|_| is_about)? })
        };
        let mut found: Vec<About> = (0..strengths.len()).filter_map(fits).collect();
        let rank = |about: &About| about.share + about.property;
        found.sort_by(|one, other| rank(other).total_cmp(&rank(one)).then(one.line.cmp(&other.line)));
        found.truncate(MAX_LINES);
        found
    }

    /// Returns pairs of lines, one about each thing.
    fn pairs(&self) -> Vec<Found> {
        let of_one = self.lines_about(&self.one, &self.other);
        let of_other = self.lines_about(&self.other, &self.one);
        let pairs = of_one.iter().flat_map(|one| of_other.iter().map(move |other| (one, other)));
        pairs.filter_map(|(one, other)| self.pair(one, other)).collect()
    }

    fn pair(&self, one: &About, other: &About) -> Option<Found> {
        let parallel = self.likeness(one.line, other.line);
        if one.line == other.line || !self.chooses && parallel < MIN_LIKENESS {
            return None;
        }
        // The second of two parallel lines need not repeat the property.
        let property = match parallel > 0.0 {
            true => f32::midpoint(one.property, other.property),
            false => one.property.min(other.property),
        };
        if property < MIN_PROPERTY {
            return None;
        }
        let is_same_text = self.line(one.line).passage == self.line(other.line).passage;
        let distance =
            if is_same_text { one.line.abs_diff(other.line).min(MAX_DISTANCE) } else { MAX_DISTANCE };
        let lines = [one.line, other.line];
        let is_of_kind = |at: &&usize| kinds::holds(self.evidence.question, self.line(**at), None);
        let kind = OF_KIND * lines.iter().filter(is_of_kind).count() as f32;
        let score =
            one.share + other.share + 2.0 * property + kind + parallel - BY_DISTANCE * distance as f32;
        let naming = [
            self.named_above(one.line, &self.one, &self.other),
            self.named_above(other.line, &self.other, &self.one),
        ];
        let rows = lines.into_iter().filter_map(|at| self.line(at).row);
        Some(Found { lines: naming.into_iter().flatten().chain(rows).chain(lines).collect(), score })
    }

    /// Returns the heading that names a thing if a line itself does not: `Fee: 72 euros` alone does not tell whose.
    fn named_above(&self, at: usize, thing: &Thing, other: &Thing) -> Option<usize> {
        let direct = &self.evidence.direct;
        let names = |at: &usize| self.share(*at, thing, other, direct) >= MIN_THING;
        self.line(at).headings.iter().rev().copied().find(names).filter(|_| !names(&at))
    }

    /// Returns how parallel two lines are: rows of one table most, then items of one list and neighbouring sentences.
    fn likeness(&self, one: usize, other: usize) -> f32 {
        let (first, second) = (self.line(one), self.line(other));
        if first.passage != second.passage || first.form != second.form {
            return 0.0;
        }
        let between = one.min(other)..one.max(other);
        let all_alike = || between.clone().all(|at| self.line(at).form == first.form);
        match first.form {
            LineForm::Row if all_alike() => 1.0,
            LineForm::Item if all_alike() && first.headings == second.headings => 0.8,
            LineForm::Heading(_) => 0.6,
            _ if between.len() <= NEAR => 0.5,
            _ => 0.1,
        }
    }

    /// Returns lines with the values of both things.
    fn single_lines(&self) -> Vec<Found> {
        let direct = &self.evidence.direct;
        let fits = |at: usize| {
            let line = self.line(at);
            if line.text.len() > MAX_ANSWER_BYTES
                || matches!(line.form, LineForm::Heading(_) | LineForm::Question)
            {
                return None;
            }
            let [of_one, of_other] = [(&self.one, &self.other), (&self.other, &self.one)]
                .map(|(thing, other)| self.share(at, thing, other, direct));
            let property = self.property(at).filter(|property| *property >= MIN_PROPERTY)?;
            let is_both = of_one >= MIN_THING && of_other >= MIN_THING;
            (is_both && self.gives_both(line))
                .then(|| Found { lines: vec![at], score: of_one + of_other + 2.0 * property + IN_ONE_LINE })
        };
        (0..direct.len()).filter_map(fits).collect()
    }

    /// True if a line gives several values, one of them between the two things if it names them word by word.
    fn gives_both(&self, line: &Line<'_>) -> bool {
        const SEVERAL: usize = 2;
        let numbers = numbers(self.evidence.question, line);
        let lower = line.text.to_lowercase();
        let place = |thing: &Thing| lower.find(&thing.lower);
        let is_parted = match place(&self.one).zip(place(&self.other)) {
            Some((one, other)) if lower.len() == line.text.len() => {
                numbers.iter().any(|number| (one.min(other)..one.max(other)).contains(number))
            }
            _ => true,
        };
        numbers.len() >= SEVERAL && is_parted
    }
}

/// True if a line is a row, an item or set in columns.
fn is_in_columns(line: &Line<'_>) -> bool {
    const GAP: &str = "   ";
    matches!(line.form, LineForm::Row | LineForm::Item) || line.text.trim().contains(GAP)
}

/// True if a text contains a thing word by word, and not only as a part of the other thing; all in lowercase.
fn names_literally(text: &str, thing: &str, other: &str) -> bool {
    let masked = match other.contains(thing) {
        true => Cow::from(text.replace(other, " ")),
        false => Cow::from(text),
    };
    masked.match_indices(thing).any(|(at, thing)| is_apart(&masked, &(at..at + thing.len())))
}

/// True if a part of a text begins and ends with whole words.
pub(super) fn is_apart(text: &str, part: &Range<usize>) -> bool {
    is_edge(text[..part.start].chars().rev()) && is_edge(text[part.end..].chars())
}

/// True if a word ends before these characters; `80` does not begin within `124,80`.
fn is_edge(mut outside: impl Iterator<Item = char>) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() && !has_no_spaces(c.encode_utf8(&mut [0; 4]));
    match outside.next() {
        Some('.' | ',') => !outside.next().is_some_and(|c| c.is_ascii_digit()),
        next => !next.is_some_and(is_letter),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{joined, reply_from};
    use super::super::{Passage, Reply};
    use super::*;

    #[track_caller]
    fn check_answer(texts: &[&str], question: &str, expected: &[&str]) {
        let (reply, quotes) = reply_from(texts, question);
        assert!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{question}: {reply:?}");
        assert_eq!(joined(&quotes), joined(expected), "{question}");
    }

    #[test]
    fn rows_of_one_table_answer_a_comparison() {
        let text = "Course: Kite 20 | Seats: 12 | Fee: £31.00\nCourse: Heron | Seats: 9 | Fee: £12.50\nCourse: Kite 20 S | Seats: 7 | Fee: £44.00";
        let expected = "Course: Kite 20 | Seats: 12 | Fee: £31.00 Course: Kite 20 S | Seats: 7 | Fee: £44.00";
        check_answer(&[text], "Which is dearer, Kite 20 or Kite 20 S?", &[expected]);
    }

    #[test]
    fn a_thing_whose_name_is_a_part_of_the_other_has_its_own_line() {
        let text =
            "Was kostet der Saal?\n\n- Schüler: 20 Euro\n- Nichtschüler: 45 Euro\n- Reinigung: 15 Euro";
        let expected = "- Schüler: 20 Euro - Nichtschüler: 45 Euro";
        check_answer(&[text], "Was kostet der Saal für Schüler und für Nichtschüler?", &[expected]);
        let text = "级别: 副馆长 | 津贴: 300元\n级别: 馆长 | 津贴: 500元\n级别: 馆员 | 津贴: 100元";
        let expected = "级别: 副馆长 | 津贴: 300元 级别: 馆长 | 津贴: 500元";
        check_answer(&[text], "馆长和副馆长的津贴分别是多少？", &[expected]);
    }

    #[test]
    fn neighbouring_sentences_answer_a_comparison() {
        let text = "We counted larks on two meadows. The number of larks fell by 61% after mowing. Under late grazing the fall was 12%. \
            The weather was mild.";
        let expected = "The number of larks fell by 61% after mowing. Under late grazing the fall was 12%.";
        check_answer(&[text], "Did larks fall more after mowing or under late grazing?", &[expected]);
    }

    #[test]
    fn things_are_found_in_the_texts_about_them() {
        let texts = [
            "# Orle Mill\n\nIt was built of brick. It has 84 employees.",
            "# Skerry Works\n\nIt has 131 employees.",
        ];
        let expected = ["Orle Mill", "It has 84 employees.", "Skerry Works", "It has 131 employees."];
        check_answer(&texts, "Who has more employees, Orle Mill or Skerry Works?", &expected);
    }

    #[test]
    fn a_heading_that_names_a_thing_comes_with_its_value() {
        let text = "## Morning yoga\n\nThe course has ten evenings. Fee: 72 euros.\n\n## Back training\n\nBring a mat. Fee: 86 euros.";
        let (_, quotes) = reply_from(&[text], "Which is dearer, Morning yoga or Back training?");
        for part in ["Morning yoga", "72 euros", "Back training", "86 euros"] {
            assert!(joined(&quotes).contains(part), "{part}: {quotes:?}");
        }
    }

    /// Checks how many values each line of a text has.
    #[track_caller]
    fn check_number_of_values(text: &str, question: &str, expected: &[usize]) {
        let passages = [Passage { text, title: "", headings: &[] }];
        let reading = Passages::read(question, &passages);
        let parsed = reading.parse_question(question);
        let counts: Vec<usize> = reading.lines.iter().map(|line| numbers(&parsed, line).len()).collect();
        assert_eq!(counts, expected, "{question}");
    }

    #[test]
    fn a_number_with_a_unit_is_a_value_even_if_it_could_be_a_year() {
        let text = "The Kestrel tower is 1850 feet high. The Heron tower is 1720 feet high, since 1999.";
        let (reply, quotes) = reply_from(&[text], "Which tower is higher, the Kestrel or the Heron?");
        assert!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{reply:?}");
        assert!(joined(&quotes).contains("1850 feet") && joined(&quotes).contains("1720 feet"), "{quotes:?}");
        check_number_of_values(text, "Which is higher?", &[1, 1]);
    }

    #[test]
    fn a_numeral_in_a_word_is_no_value() {
        let text = "甲药一般在www.a.cn出售。乙药一般在www.b.cn出售，每盒12.5元。";
        check_number_of_values(text, "甲药和乙药的价格分别是多少？", &[0, 1]);
    }

    #[test]
    fn texts_without_the_compared_property_do_not_answer() {
        let text = "# Tents\n\nThe Kestrel sleeps 2 people. The Heron sleeps 4 people.\n\n- Kestrel: green\n- Heron: blue";
        for question in [
            "Which tent is heavier, the Kestrel or the Heron?",
            "Which is cheaper, the Kestrel or the Heron?",
        ] {
            let (reply, _) = reply_from(&[text], question);
            assert!(matches!(reply, Reply::Closest(_) | Reply::Nothing), "{question}: {reply:?}");
        }
    }

    #[test]
    fn one_date_of_two_things_is_no_comparison() {
        let text = "Veld Works and Corrin Lamps merged on 1 July 2019.\n\ndate: 3 May 2012 | recipient: Veld Works\n\
            date: 4 June 2014 | recipient: Corrin Lamps";
        let (_, quotes) = reply_from(&[text], "When did Veld Works and Corrin Lamps merge?");
        assert_eq!(joined(&quotes), "Veld Works and Corrin Lamps merged on 1 July 2019.");
    }
}
