//! Finds the table rows that a question for several things asks for: those with the values that it names, or all of them.

use std::collections::BTreeSet;
use std::ops::Range;

use super::evidence::{Evidence, IS_THERE};
use super::judge::LineScore;
use super::lines::{Line, LineForm, Word};
use super::question::{AnswerType, Role, Term};
use super::ranges::Quantity;
use super::words::any_word;
use crate::scripts::has_no_spaces;

/// Maximum share of the relation words that occur neither in the table nor above it.
const MAX_MISSING: f32 = 0.3;
/// Separator of cells.
const BETWEEN: &str = " | ";
/// Separator of the label and value of a cell.
const LABEL: &str = ": ";

/// A table row: the byte ranges of the label and value of each cell.
struct Row {
    line: usize,
    cells: Vec<(Range<usize>, Range<usize>)>,
}

/// True if a row has labels, as in `name: Ada | room: 4`; a table head has none.
pub(super) fn has_labels(row: &str) -> bool {
    row.split(BETWEEN).filter(|cell| cell.contains(LABEL)).count() > 1
}

/// Returns the cells of a row with labels; `None` for a table head.
fn cells(line: &Line<'_>) -> Option<Vec<(Range<usize>, Range<usize>)>> {
    if line.form != LineForm::Row {
        return None;
    }
    let mut found = Vec::new();
    let mut start = 0;
    for cell in line.text.split(BETWEEN) {
        let end = start + cell.len();
        if let Some(label) = cell.find(LABEL) {
            found.push((start..start + label, start + label + LABEL.len()..end));
        }
        start = end + BETWEEN.len();
    }
    (found.len() > 1).then_some(found)
}

/// True if a row gives a number or time of something else: its first cell does not name the subject of the question, and the cell
/// that does names other things, too. The price in `part: R1 | fits: G2; G3 | price: 9` is not that of G2.
pub(super) fn is_of_other_subject(evidence: &Evidence<'_, '_>, at: usize) -> bool {
    const IDENTIFYING: &str =
        "name title product model item article part person description produkt modell artikel bezeichnung";
    let (line, question) = (&evidence.reading.lines[at], evidence.question);
    let asks_value = matches!(question.answer_type, AnswerType::Amount { .. } | AnswerType::Time);
    let Some(cells) = cells(line).filter(|_| asks_value && !has_no_spaces(line.text)) else { return false };
    let words_of =
        |bytes: &Range<usize>| line.words.iter().filter(|word| bytes.contains(&word.at)).collect::<Vec<_>>();
    let is_other = |name: &BTreeSet<usize>| {
        let names = |value: &Range<usize>| {
            words_of(value)
                .into_iter()
                .any(|word| name.iter().any(|term| question.terms[*term].is_word(word)))
        };
        let is_among_others = |(label, value): &(Range<usize>, Range<usize>)| {
            let text = line.text.get(value.clone()).unwrap_or_default();
            text.contains([',', ';', '/'])
                && !words_of(label).into_iter().any(|word| any_word(IDENTIFYING, &word.lower))
                && !words_of(value).into_iter().all(|word| evidence.is_in_question(word))
        };
        let mut naming = cells.iter().enumerate().filter(|(_, (_, value))| names(value)).peekable();
        naming.peek().is_some() && naming.all(|(column, cell)| column > 0 && is_among_others(cell))
    };
    question.names.iter().any(is_other)
}

/// Table rows that answer a question for several things.
pub(super) struct Rows {
    /// True if the question names values of these rows; false if they are all rows of the table.
    pub(super) by_value: bool,
    /// Share of the relation words that the table contains.
    coverage: f32,
    pub(super) lines: Vec<usize>,
}

/// Returns the requested rows of the table that contains most of the question; `None` if no table has any.
///
/// Words that select rows must occur in a value of each row. All other words must occur in a label or above the table. Only the
/// verb may be missing if a label names the requested property.
pub(super) fn rows(evidence: &Evidence<'_, '_>) -> Option<Rows> {
    let lines = &evidence.reading.lines;
    let mut best: Option<Rows> = None;
    let mut at = 0;
    while at < lines.len() {
        let passage = lines[at].passage;
        let end = (at..lines.len())
            .find(|next| !lines[*next].is_of_table() || lines[*next].passage != passage)
            .unwrap_or(lines.len());
        let table: Vec<Row> =
            (at..end).filter_map(|line| Some(Row { line, cells: cells(&lines[line])? })).collect();
        let fits = |rows: &Rows| (rows.by_value, rows.coverage, rows.lines.len());
        if let Some(found) = chosen(evidence, &table)
            && best.as_ref().is_none_or(|known| fits(&found) > fits(known))
        {
            best = Some(found);
        }
        at = end.max(at + 1);
    }
    best
}

/// Where a term of the question occurs in a table.
#[derive(PartialEq)]
enum Place {
    /// In the values of at least one row.
    Value,
    /// In a label.
    Label,
    /// In a heading above the table, or in the title.
    Above,
    Nowhere,
}

fn chosen(evidence: &Evidence<'_, '_>, table: &[Row]) -> Option<Rows> {
    let question = evidence.question;
    let first = table.first()?;
    let line = |row: &Row| &evidence.reading.lines[row.line];
    let is_in = |row: &Row, bytes: &Range<usize>, term: &Term| {
        let mut words = line(row).words.iter().filter(|word| bytes.contains(&word.at));
        let text = line(row).text.get(bytes.clone()).unwrap_or_default();
        words.any(|word| matches_term(evidence, term, word))
            || term.unspaced && text.contains(&term.word)
            || Quantity::of(&question.lower, &term.word, term.unspaced)
                .is_some_and(|number| number.is_in_range(text))
    };
    let in_value = |row: &Row, term: &Term| row.cells.iter().any(|(_, value)| is_in(row, value, term));
    let in_label = |term: &Term| first.cells.iter().any(|(label, _)| is_in(first, label, term));
    // The question asks only for things of a class.
    let is_whole_question = |term: &Term| term.is_class && term.role == Role::Relation;
    let is_alone = |term: &Term| {
        let count = |row: &Row, value: &Range<usize>| {
            line(row).words.iter().filter(|word| value.contains(&word.at)).count()
        };
        let is_whole =
            |row: &Row| row.cells.iter().any(|(_, value)| count(row, value) <= 1 && is_in(row, value, term));
        table.iter().any(is_whole)
    };
    let is_above = |at: usize| {
        let line = line(first);
        line.headings.iter().any(|heading| evidence.direct[*heading][at] > 0.0)
            || evidence.reading.is_in_title(line.passage, &question.terms[at])
    };
    let place = |at: usize, term: &Term| {
        let is_value = table.iter().any(|row| in_value(row, term));
        let names = matches!(term.role, Role::Name | Role::Number);
        match () {
            // `September` of `the meeting on 12 September` selects no rows below a heading with that date.
            () if term.role == Role::Number && is_above(at) => Place::Above,
            () if names && is_value => Place::Value,
            () if term.role == Role::Class && is_above(at) => Place::Above,
            () if in_label(term) => Place::Label,
            () if evidence.strength[first.line][at] >= IS_THERE && !is_value => Place::Above,
            // `Meaning: motor too hot` does not name a kind of motor.
            () if is_value && is_whole_question(term) && !is_alone(term) => Place::Nowhere,
            () if is_value => Place::Value,
            () => Place::Nowhere,
        }
    };
    let places: Vec<Place> = question.terms.iter().enumerate().map(|(at, term)| place(at, term)).collect();
    let (mut all, mut missing, mut has_label) = (0.0, 0.0, false);
    for (at, term) in question.terms.iter().enumerate() {
        let is_there = places[at] != Place::Nowhere;
        has_label |= places[at] == Place::Label && term.role == Role::Relation;
        match term.role {
            Role::Name | Role::Number | Role::Class if !is_there => return None,
            Role::Relation => {
                all += evidence.weights[at];
                missing += if is_there || question.key == Some(at) { 0.0 } else { evidence.weights[at] };
            }
            Role::Name | Role::Number | Role::Class | Role::Common => {}
        }
    }
    let lacks_key = question.key.is_some_and(|key| places[key] == Place::Nowhere);
    if missing > MAX_MISSING * all || (lacks_key && !has_label) {
        return None;
    }
    let values: Vec<usize> = (0..places.len())
        .filter(|at| places[*at] == Place::Value && question.terms[*at].role != Role::Common)
        .collect();
    // If the table is about the question's topic, all its rows are requested.
    let is_about = || {
        places
            .iter()
            .zip(&question.terms)
            .any(|(place, term)| *place == Place::Above && matches!(term.role, Role::Relation | Role::Class))
    };
    if values.is_empty() && !is_about() {
        return None;
    }
    let holds = |row: &Row| {
        values.iter().all(|value| {
            let term = &question.terms[*value];
            // In `mint family`, the value belongs to the label that it modifies.
            let label = question
                .pairs
                .iter()
                .find(|(modifier, head)| modifier == value && places[*head] == Place::Label);
            row.cells.iter().any(|(label_bytes, bytes)| {
                is_in(row, bytes, term)
                    && label.is_none_or(|(_, head)| is_in(row, label_bytes, &question.terms[*head]))
            })
        })
    };
    let mut texts: BTreeSet<&str> = BTreeSet::new();
    let found: Vec<usize> =
        table.iter().filter(|row| holds(row) && texts.insert(line(row).text)).map(|row| row.line).collect();
    let coverage = if all == 0.0 { 1.0 } else { 1.0 - missing / all };
    (!found.is_empty()).then_some(Rows { by_value: !values.is_empty(), coverage, lines: found })
}

fn matches_term(evidence: &Evidence<'_, '_>, term: &Term, word: &Word<'_>) -> bool {
    match term.role {
        Role::Number => word.lower == term.word,
        Role::Name => evidence.reading.roots.likeness(&term.root, &word.root) > 0.0,
        Role::Relation | Role::Class | Role::Common => evidence.is_of(term, word),
    }
}

/// Returns all rows that answer like the best row, if the question asks for several things; `None` if the best line is not a row.
pub(super) fn rows_alike(
    evidence: &Evidence<'_, '_>,
    best: usize,
    answers: &[LineScore],
) -> Option<Vec<usize>> {
    let lines = &evidence.reading.lines;
    if !evidence.question.many || lines[best].form != LineForm::Row {
        return None;
    }
    let is_alike = |line: &usize| {
        let holds = evidence.direct[*line]
            .iter()
            .zip(&evidence.direct[best])
            .all(|(strength, best)| strength >= best);
        holds && lines[*line].form == LineForm::Row && lines[*line].passage == lines[best].passage
    };
    let mut rows: Vec<usize> = answers.iter().map(|scored| scored.line).filter(is_alike).collect();
    rows.sort_unstable();
    Some(rows)
}
