//! Finds the lists that a question asks for, and the lists and answers that a line announces.

use std::ops::Range;

use super::counted::{counts_persons, members};
use super::evidence::{Evidence, IS_THERE};
use super::judge::LineScore;
use super::kinds;
use super::lines::{Line, LineForm};
use super::question::{AnswerType, Role};
use super::rows::rows;

/// Maximum number of lines between a heading and its list.
const MAX_LINES_BETWEEN: usize = 4;
/// Maximum number of lines of a list that is quoted for one of its items.
const MAX_LIST_LINES: usize = 16;
/// Minimum coverage of a line that announces the requested list.
const MIN_COVERAGE: f32 = 0.66;
/// The same for a line that is a question, answered by the following lines.
const MIN_QUESTION_COVERAGE: f32 = 0.8;
/// Number of enumerated things above which a sentence is no more likely a list.
const MAX_COUNTED: usize = 5;
/// Maximum number of bytes between a counted noun and the colon that announces its members.
const NEAR_COLON: usize = 25;
/// Minimum number of commas and coordinators of a sentence that is a list.
pub(super) const MIN_ENUMERATED: usize = 2;
/// Minimum coverage of a heading, with the text above it, whose sentences are the list.
const MIN_SECTION_COVERAGE: f32 = 0.8;
/// Penalty for a list without the class word.
const NO_CLASS: f32 = 0.3;
/// Number of sentences below such a heading.
const SECTION_LINES: std::ops::RangeInclusive<usize> = 2..=8;
/// Share of the best score from which lines of a section that each name one thing are also answers.
const NEARLY_AS_GOOD: f32 = 0.85;

/// Returns the list for a question that asks for several things: table rows, entries below a line that announces them, sentences
/// that name the things that an earlier line counts, or a sentence that enumerates them.
pub(super) fn list(evidence: &Evidence<'_, '_>) -> Option<Vec<usize>> {
    let question = evidence.question;
    if !question.many && !matches!(question.answer_type, AnswerType::Manner | AnswerType::Person) {
        return None;
    }
    if let Some(found) = rows(evidence).filter(|found| question.many && found.by_value) {
        return Some(found.lines);
    }
    let lines = &evidence.reading.lines;
    let mut best: Option<(f32, Vec<usize>)> = None;
    let mut offer = |score: f32, found: Vec<usize>| {
        if best.as_ref().is_none_or(|(known, _)| score > *known) {
            best = Some((score, found));
        }
    };
    for (at, line) in lines.iter().enumerate() {
        let holds = evidence.has_names(at) && evidence.has_numbers(at) && evidence.has_key(at);
        let coverage = evidence.coverage(at);
        let own: f32 = evidence.direct[at].iter().sum();
        let may_announce =
            question.many || question.answer_type == AnswerType::Manner || counts_persons(evidence, at);
        let is_other = || is_of_other_class(evidence, at) || evidence.lacks_class_in_passage(at);
        if !holds || own == 0.0 || coverage < MIN_COVERAGE || !may_announce || is_other() {
            continue;
        }
        let entries = match line.form {
            LineForm::Heading(_) => section(evidence, at),
            LineForm::Item | LineForm::Row | LineForm::Cell | LineForm::Code | LineForm::Property => {
                Vec::new()
            }
            LineForm::Question | LineForm::Prose => {
                let entries = announced(evidence, at);
                if entries.is_empty() { members(evidence, at) } else { entries }
            }
        };
        let share = evidence.share(at) - if lacks_class(evidence, at) { NO_CLASS } else { 0.0 };
        if !entries.is_empty() {
            let heading = if matches!(line.form, LineForm::Heading(_)) { 0.0 } else { 0.1 };
            let own_line = (!matches!(line.form, LineForm::Heading(_))).then_some(at);
            offer(coverage + share + heading + 0.1, own_line.into_iter().chain(entries).collect());
        } else if question.many
            && matches!(line.form, LineForm::Prose | LineForm::Item)
            && evidence.judge(at).is_some()
            && enumerates(line) >= MIN_ENUMERATED
        {
            let marks = match question.answer_type {
                AnswerType::Person => kinds::names(question, line).len(),
                _ => kinds::marks(question, line),
            };
            let marks = marks.min(MAX_COUNTED);
            let things = 0.02 * enumerates(line).min(MAX_COUNTED) as f32
                + 0.04 * marks as f32
                + 0.15 * evidence.sequence(at);
            let colon = if announces_inside(evidence, line) { 0.2 } else { 0.0 };
            let own: f32 = if evidence.named_by[at].is_some() { 0.0 } else { 0.1 };
            offer(
                coverage + share + colon + things + own,
                evidence.named_by[at].into_iter().chain([at]).collect(),
            );
        }
    }
    best.map(|(_, found)| found)
}

/// Returns the list below a heading that names exactly what a question asks for: `What is in the box?`.
pub(super) fn titled(evidence: &Evidence<'_, '_>) -> Option<Vec<usize>> {
    if evidence.question.answer_type != AnswerType::Thing {
        return None;
    }
    let lines = &evidence.reading.lines;
    let lists = (0..lines.len()).filter(|at| evidence.names_topic(*at));
    lists.map(|heading| below_heading(lines, heading)).find(|list| !list.is_empty())
}

/// Returns the steps that a numbered list item belongs to, if the question asks how to do something; otherwise the line alone.
pub(super) fn steps_with(evidence: &Evidence<'_, '_>, at: usize) -> Range<usize> {
    let lines = &evidence.reading.lines;
    let is_step = evidence.question.answer_type == AnswerType::Manner && number(&lines[at]).is_some();
    let mut lists = steps_of(lines, at).into_iter().filter(|_| is_step);
    lists.find(|list| list.contains(&at)).unwrap_or(at..at + 1)
}

/// Returns the lists among the lines below the same heading as a line: all items with what continues them, in reading order.
///
/// A paragraph ends a list, unless the numbers go on after it.
pub(super) fn steps_of(lines: &[Line<'_>], at: usize) -> Vec<Range<usize>> {
    let belongs = |other: &usize| {
        let line = &lines[*other];
        line.passage == lines[at].passage
            && line.headings == lines[at].headings
            && !matches!(line.form, LineForm::Heading(_) | LineForm::Cell)
    };
    let first = (0..at).rev().take_while(belongs).last().unwrap_or(at);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut last_number = None;
    for at in (first..lines.len()).take_while(belongs) {
        let line = &lines[at];
        let is_item = line.form == LineForm::Item;
        let number = number(line);
        let counts_on = number.is_some_and(|number| number.checked_sub(1) == last_number);
        let adjoins = is_item || line.goes_on || line.form == LineForm::Code;
        match found.last_mut() {
            Some(list) if counts_on || adjoins && list.end == at => list.end = at + 1,
            _ if is_item => found.push(at..at + 1),
            _ => {}
        }
        last_number = number.or(last_number);
    }
    found
}

/// Returns the list of an item, with the line that announces it, if the question asks for several things; `None` if the list is long.
pub(super) fn list_with(evidence: &Evidence<'_, '_>, at: usize) -> Option<Range<usize>> {
    let lines = &evidence.reading.lines;
    if !evidence.question.many || lines[at].form != LineForm::Item {
        return None;
    }
    let list = steps_of(lines, at).into_iter().find(|list| list.contains(&at))?;
    let announces =
        |before: &usize| lines[*before].passage == lines[at].passage && ends_with_colon(lines[*before].text);
    let start = list.start.checked_sub(1).filter(announces).unwrap_or(list.start);
    (list.len() <= MAX_LIST_LINES).then_some(start..list.end)
}

/// Returns the number of a numbered list item.
fn number(item: &Line<'_>) -> Option<u32> {
    let digits = item.text.split(|c: char| !c.is_ascii_digit()).next();
    digits.filter(|_| item.form == LineForm::Item)?.parse().ok()
}

/// Returns what a line announces: the entries of the following list, or the line after a colon.
pub(super) fn announced(evidence: &Evidence<'_, '_>, at: usize) -> Vec<usize> {
    let lines = &evidence.reading.lines;
    let line = &lines[at];
    if matches!(
        line.form,
        LineForm::Item | LineForm::Row | LineForm::Cell | LineForm::Code | LineForm::Heading(_)
    ) {
        return Vec::new();
    }
    let announces = ends_with_colon(line.text);
    // A further sentence of a list item announces no other items.
    let is_of_item = lines[..at]
        .iter()
        .rev()
        .zip(lines[..=at].iter().rev())
        .take_while(|(before, line)| line.goes_on && before.passage == line.passage)
        .any(|(before, _)| before.form == LineForm::Item);
    if is_of_item && !announces {
        return Vec::new();
    }
    let entries = entries(lines, at + 1, line);
    match (announces, entries.is_empty()) {
        (_, false) => entries,
        // The text after the colon is on a separate line.
        (true, true) => lines
            .get(at + 1)
            .filter(|next| {
                next.passage == line.passage && !matches!(next.form, LineForm::Heading(_) | LineForm::Cell)
            })
            .map(|_| at + 1)
            .into_iter()
            .collect(),
        (false, true) => Vec::new(),
    }
}

/// True if a colon directly follows a counted word of the question, as in `three brothers:`.
fn announces_inside(evidence: &Evidence<'_, '_>, line: &Line<'_>) -> bool {
    let colons = || line.text.match_indices([':', '：']).map(|(at, _)| at);
    line.words.windows(2).any(|pair| {
        let is_in_question =
            evidence.question.terms.iter().any(|term| term.root == pair[1].root && term.role != Role::Name);
        let end = pair[1].at + pair[1].text.len();
        pair[0].is_number()
            && is_in_question
            && colons().any(|colon| colon >= end && colon - end <= NEAR_COLON)
    })
}

fn ends_with_colon(text: &str) -> bool {
    text.trim_end_matches(['*', '_', ' ']).ends_with([':', '：'])
}

/// Returns the entries of a list or an announced table that begins at `from`, with the lines that belong to them.
fn entries(lines: &[Line<'_>], from: usize, above: &Line<'_>) -> Vec<usize> {
    let Some(first) = lines.get(from).filter(|line| line.passage == above.passage) else { return Vec::new() };
    if first.form == LineForm::Item {
        let mut lists = steps_of(lines, from).into_iter();
        return lists
            .find(|list| list.contains(&from))
            .map_or_else(Vec::new, |list| (from..list.end).collect());
    }
    if first.form != LineForm::Row || !ends_with_colon(above.text) {
        return Vec::new();
    }
    let belongs = |at: &usize| {
        let line = &lines[*at];
        line.passage == above.passage
            && match line.form {
                LineForm::Row => *at == from || lines[at - 1].is_of_table(),
                LineForm::Prose | LineForm::Question | LineForm::Code => {
                    line.goes_on && line.headings == above.headings
                }
                LineForm::Item | LineForm::Heading(_) | LineForm::Cell | LineForm::Property => false,
            }
    };
    // A row also contains the first sentence of its cells.
    let adds = |at: &usize| lines[at - 1].range.end < lines[*at].range.end;
    (from..lines.len()).take_while(belongs).filter(adds).collect()
}

/// True if a line contains neither the class word nor a relation word of the question.
fn is_of_other_class(evidence: &Evidence<'_, '_>, at: usize) -> bool {
    let mut terms = evidence.question.terms.iter().zip(&evidence.direct[at]);
    lacks_class(evidence, at) && !terms.any(|(term, strength)| term.role == Role::Relation && *strength > 0.0)
}

/// True if the question names a class that a line, with the text above it, does not contain.
fn lacks_class(evidence: &Evidence<'_, '_>, at: usize) -> bool {
    let terms = evidence.question.terms.iter().zip(&evidence.strength[at]);
    let mut classes = terms.filter(|(term, _)| term.role == Role::Class).peekable();
    classes.peek().is_some() && !classes.any(|(_, strength)| *strength >= IS_THERE)
}

/// Returns the list below a heading: its first list, or all its sentences if the heading names only what is asked for.
fn section(evidence: &Evidence<'_, '_>, heading: usize) -> Vec<usize> {
    let lines = &evidence.reading.lines;
    let listed = below_heading(lines, heading);
    // The list of a subsection is another list, unless the heading names the class.
    let is_of_part = listed.last().is_some_and(|entry| lines[*entry].headings.last() != Some(&heading));
    if is_of_part && lacks_class(evidence, heading) {
        return Vec::new();
    }
    if !listed.is_empty() || !evidence.question.many || evidence.coverage(heading) < MIN_SECTION_COVERAGE {
        return listed;
    }
    let within: Vec<usize> = (heading + 1..lines.len())
        .take_while(|at| {
            lines[*at].passage == lines[heading].passage && lines[*at].headings.contains(&heading)
        })
        .collect();
    let is_prose = within.iter().all(|at| lines[*at].form == LineForm::Prose);
    let is_section =
        evidence.names_nothing_else(heading) && is_prose && SECTION_LINES.contains(&within.len());
    if is_section { within } else { Vec::new() }
}

/// Returns the rows of a table about the topic of the question.
pub(super) fn rows_of_all(evidence: &Evidence<'_, '_>) -> Option<Vec<usize>> {
    rows(evidence).filter(|_| evidence.question.many).map(|found| found.lines)
}

/// Returns all lines of a section that answer nearly as well as the best one, if each names one of several things.
pub(super) fn one_by_one(
    evidence: &Evidence<'_, '_>,
    best: &LineScore,
    answers: &[LineScore],
) -> Option<Vec<usize>> {
    let lines = &evidence.reading.lines;
    let of_best = &lines[best.line];
    let names_one = |line: &Line<'_>| {
        matches!(line.form, LineForm::Prose | LineForm::Item) && enumerates(line) < MIN_ENUMERATED
    };
    if !evidence.question.many || !names_one(of_best) || !members(evidence, best.line).is_empty() {
        return None;
    }
    let is_alike = |other: &&LineScore| {
        let line = &lines[other.line];
        other.score >= NEARLY_AS_GOOD * best.score
            && line.passage == of_best.passage
            && line.headings == of_best.headings
            && line.form == of_best.form
    };
    let mut found: Vec<usize> = answers.iter().filter(is_alike).map(|other| other.line).collect();
    found.sort_unstable();
    (found.len() > 1).then_some(found)
}

/// Returns the first list below a heading, with the line that announces it.
fn below_heading(lines: &[Line<'_>], heading: usize) -> Vec<usize> {
    let head = &lines[heading];
    let within = |at: &usize| {
        lines.get(*at).is_some_and(|line| line.passage == head.passage && line.headings.contains(&heading))
    };
    let first = (heading + 1..=heading + 1 + MAX_LINES_BETWEEN)
        .take_while(within)
        .find(|at| lines[*at].form == LineForm::Item);
    let Some(first) = first else { return Vec::new() };
    let announcing = Some(first - 1).filter(|at| *at > heading && ends_with_colon(lines[*at].text));
    announcing.into_iter().chain(entries(lines, first, head)).collect()
}

/// Returns the number of commas and coordinators in a sentence.
pub(super) fn enumerates(line: &Line<'_>) -> usize {
    let commas = line.text.chars().filter(|c| matches!(c, ',' | '、' | '，' | ';' | '；')).count();
    let coordinated = [" and ", " or ", " und ", " oder ", "和", "与", "及", " et ", " y "];
    let text = kinds::spaced(line.text);
    commas + coordinated.iter().map(|word| text.matches(word).count()).sum::<usize>()
}

/// True if a line enumerates things, announces a list, or is an entry or row.
pub(super) fn may_be_list(evidence: &Evidence<'_, '_>, at: usize) -> bool {
    let line = &evidence.reading.lines[at];
    let is_entry = matches!(line.form, LineForm::Item | LineForm::Row);
    is_entry
        || enumerates(line) > 0
        || !announced(evidence, at).is_empty()
        || !members(evidence, at).is_empty()
}

/// Returns the lines after a line that asks the same question, as in dialogues and FAQs.
pub(super) fn answered_question(evidence: &Evidence<'_, '_>) -> Option<Vec<usize>> {
    let lines = &evidence.reading.lines;
    let asks = |at: usize| {
        let line = &lines[at];
        let is_question = line.form == LineForm::Question
            || (matches!(line.form, LineForm::Heading(_)) && line.text.ends_with(['?', '？']));
        // A question in a story is answered, if at all, for a character of the story.
        let is_speech = line.text.starts_with(['"', '“', '„', '«', '‘', '\'']);
        is_question
            && !is_speech
            && evidence.coverage(at) >= MIN_QUESTION_COVERAGE
            && evidence.has_numbers(at)
            && evidence.has_key(at)
    };
    let direct = |at: usize| evidence.direct[at].iter().sum::<f32>();
    let with_titles = |at: usize| evidence.strength[at].iter().sum::<f32>();
    // There are many different questions about the same name.
    let tells = |role: Role| !matches!(role, Role::Name | Role::Common);
    if evidence.question.measure.is_some() || !evidence.question.terms.iter().any(|term| tells(term.role)) {
        return None;
    }
    let best = (0..lines.len()).filter(|at| asks(*at)).filter_map(|at| {
        let reply = evidence.reply_to(at)?;
        // A question does not name the person who replies.
        let replies = |term: &usize| evidence.names_speaker(reply.start, *term);
        let count = (0..evidence.question.terms.len()).filter(|term| !replies(term)).count() as f32;
        let has_names =
            evidence.has_names(at) || evidence.question.names.iter().all(|name| name.iter().any(replies));
        let fits = has_names && with_titles(at) >= 0.75 * count && direct(at) >= 0.5 * count;
        fits.then_some((at, reply))
    });
    let (question, reply) =
        best.max_by(|(one, _), (other, _)| direct(*one).total_cmp(&direct(*other)).then(other.cmp(one)))?;
    let asks_the_same =
        evidence.reading.parse_question(lines[question].text).answer_type == evidence.question.answer_type;
    let is_of_kind = match evidence.question.answer_type {
        AnswerType::Person
        | AnswerType::Time
        | AnswerType::Place
        | AnswerType::Amount { .. }
        | AnswerType::Reason => asks_the_same || kinds::holds(evidence.question, &lines[reply.start], None),
        AnswerType::Thing | AnswerType::Manner | AnswerType::Meaning | AnswerType::Truth => asks_the_same,
    };
    let tells = reply.clone().any(|at| matches!(lines[at].form, LineForm::Prose | LineForm::Item));
    let heading = matches!(lines[question].form, LineForm::Heading(_));
    (tells && is_of_kind && evidence.may_answer(question)).then(|| {
        let mut found: Vec<usize> = (!heading).then_some(question).into_iter().collect();
        found.extend(reply.clone());
        found.extend(announced(evidence, reply.end - 1));
        found
    })
}
