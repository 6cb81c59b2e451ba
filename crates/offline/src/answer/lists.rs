//! Finds the lists that a question asks for, and the lists and answers that a line announces.

use super::asked::{Role, Wants};
use super::counted::{counts_persons, members};
use super::evidence::{Evidence, IS_THERE};
use super::judge::LineScore;
use super::kinds;
use super::lines::{Line, LineForm, Word};
use super::rows::rows;
use super::words::{self, any_word};
use crate::lexicon::is_stop_word;

/// Entries of a list, at most.
const MAX_ENTRIES: usize = 20;
/// Lines between a heading and its list, at most.
const MAX_LINES_BETWEEN: usize = 4;
/// Share of what is asked that a line must hold to announce the list that is asked for.
const MIN_HELD: f32 = 0.66;
/// The same for a line that is a question, to be answered by what follows.
const MIN_HELD_QUESTION: f32 = 0.8;
/// Things that a sentence enumerates; more of them make it no likelier.
const MAX_COUNTED: usize = 5;
/// Bytes between what is counted and the colon that announces it, at most.
const NEAR_COLON: usize = 25;
/// Things that a sentence must enumerate to be a list.
pub(super) const MIN_ENUMERATED: usize = 2;
/// The least share of what is asked that a heading must hold, with what is above it, whose sentences are the list.
const MIN_HELD_SECTION: f32 = 0.8;
/// What a list counts less that does not hold the sort of thing that is asked for.
const NO_CLASS: f32 = 0.3;
/// Sentences below such a heading.
const SECTION_LINES: std::ops::RangeInclusive<usize> = 2..=8;
/// Lines of a section that each name one thing answer nearly as well as the best of them.
const NEARLY_AS_GOOD: f32 = 0.85;

/// The list that a question for several things asks for: rows of a table, entries below a line that announces them, sentences
/// that name what a line before counts, or a sentence that enumerates.
pub(super) fn list(evidence: &Evidence<'_, '_>) -> Option<Vec<usize>> {
    let asked = evidence.asked;
    if !asked.many && !matches!(asked.wants, Wants::Manner | Wants::Person) {
        return None;
    }
    if let Some(found) = rows(evidence).filter(|found| asked.many && found.by_value) {
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
        let held = evidence.held(at);
        let own: f32 = evidence.direct[at].iter().sum();
        let may_announce = asked.many || asked.wants == Wants::Manner || counts_persons(evidence, at);
        let is_other = || is_of_other_sort(evidence, at) || evidence.is_silent_about_sort(at);
        if !holds || own == 0.0 || held < MIN_HELD || !may_announce || is_other() {
            continue;
        }
        let entries = match line.form {
            LineForm::Heading(_) => section(evidence, at),
            LineForm::Item | LineForm::Row | LineForm::Cell | LineForm::Code => Vec::new(),
            LineForm::Question | LineForm::Prose => {
                let entries = announced(evidence, at);
                if entries.is_empty() { members(evidence, at) } else { entries }
            }
        };
        let share = evidence.share(at) - if lacks_class(evidence, at) { NO_CLASS } else { 0.0 };
        if !entries.is_empty() {
            let heading = if matches!(line.form, LineForm::Heading(_)) { 0.0 } else { 0.1 };
            let own_line = (!matches!(line.form, LineForm::Heading(_))).then_some(at);
            offer(held + share + heading + 0.1, own_line.into_iter().chain(entries).collect());
        } else if asked.many
            && matches!(line.form, LineForm::Prose | LineForm::Item)
            && evidence.judge(at).is_some()
            && enumerates(line) >= MIN_ENUMERATED
        {
            let marks = match asked.wants {
                Wants::Person => kinds::names(asked, line).len(),
                _ => kinds::marks(asked, line),
            };
            let marks = marks.min(MAX_COUNTED);
            let things = 0.02 * enumerates(line).min(MAX_COUNTED) as f32
                + 0.04 * marks as f32
                + 0.15 * evidence.sequence(at);
            let colon = if announces_inside(evidence, line) { 0.2 } else { 0.0 };
            let own: f32 = if evidence.named_by[at].is_some() { 0.0 } else { 0.1 };
            offer(
                held + share + colon + things + own,
                evidence.named_by[at].into_iter().chain([at]).collect(),
            );
        }
    }
    best.map(|(_, found)| found)
}

/// What a line announces: the entries of a list behind it, or the line behind a colon.
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
    let entries = entries(lines, at + 1, line);
    match (announces, entries.is_empty()) {
        (_, false) => entries,
        // What follows the colon on a line of its own.
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

/// Whether a colon stands directly behind a word of the question that a number counts, as in `three brothers:`.
fn announces_inside(evidence: &Evidence<'_, '_>, line: &Line<'_>) -> bool {
    let colons = || line.text.match_indices([':', '：']).map(|(at, _)| at);
    line.words.windows(2).any(|pair| {
        let is_number = pair[0].has_digit() || any_word(words::NUMBERS, &pair[0].lower);
        let is_asked =
            evidence.asked.terms.iter().any(|term| term.root == pair[1].root && term.role != Role::Name);
        let end = pair[1].at + pair[1].text.len();
        is_number && is_asked && colons().any(|colon| colon >= end && colon - end <= NEAR_COLON)
    })
}

fn ends_with_colon(text: &str) -> bool {
    text.trim_end_matches(['*', '_', ' ']).ends_with([':', '：'])
}

/// The entries of a list that begins at `from`, with the lines that belong to them.
fn entries(lines: &[Line<'_>], from: usize, above: &Line<'_>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = from;
    while let Some(line) =
        lines.get(at).filter(|line| line.passage == above.passage && found.len() < MAX_ENTRIES)
    {
        let belongs = match line.form {
            LineForm::Item => true,
            LineForm::Row => found.is_empty() || lines[at - 1].is_of_table(),
            LineForm::Prose | LineForm::Question | LineForm::Code => {
                !found.is_empty() && line.goes_on && line.headings == above.headings
            }
            LineForm::Heading(_) | LineForm::Cell => false,
        };
        if !belongs || (line.form == LineForm::Row && !ends_with_colon(above.text)) {
            break;
        }
        // The row before holds the first sentence in its cells.
        if lines[at - 1].range.end < line.range.end {
            found.push(at);
        }
        at += 1;
    }
    found
}

/// Whether a line holds neither the sort of thing that is asked for nor anything else that is asked of it.
fn is_of_other_sort(evidence: &Evidence<'_, '_>, at: usize) -> bool {
    let mut terms = evidence.asked.terms.iter().zip(&evidence.direct[at]);
    lacks_class(evidence, at) && !terms.any(|(term, held)| term.role == Role::Relation && *held > 0.0)
}

/// Whether the question asks for a sort of thing that a line, with what is above it, does not hold.
fn lacks_class(evidence: &Evidence<'_, '_>, at: usize) -> bool {
    let terms = evidence.asked.terms.iter().zip(&evidence.strength[at]);
    let mut classes = terms.filter(|(term, _)| term.role == Role::Class).peekable();
    classes.peek().is_some() && !classes.any(|(_, held)| *held >= IS_THERE)
}

/// What is listed below a heading: its first list, or all its sentences where it names nothing but what is asked for.
fn section(evidence: &Evidence<'_, '_>, heading: usize) -> Vec<usize> {
    let lines = &evidence.reading.lines;
    let listed = below_heading(lines, heading);
    // The list of a part below it is another one, unless the heading names what is listed.
    let is_of_part = listed.last().is_some_and(|entry| lines[*entry].headings.last() != Some(&heading));
    if is_of_part && lacks_class(evidence, heading) {
        return Vec::new();
    }
    if !listed.is_empty() || !evidence.asked.many || evidence.held(heading) < MIN_HELD_SECTION {
        return listed;
    }
    let tells = |word: &Word<'_>| !is_stop_word(&word.lower);
    let is_asked = |word: &Word<'_>| {
        evidence.asked.terms.iter().any(|term| term.root == word.root || term.is_related(word))
    };
    let names_only_that = lines[heading].words.iter().filter(|word| tells(word)).all(is_asked);
    let within: Vec<usize> = (heading + 1..lines.len())
        .take_while(|at| {
            lines[*at].passage == lines[heading].passage && lines[*at].headings.contains(&heading)
        })
        .collect();
    let is_prose = within.iter().all(|at| lines[*at].form == LineForm::Prose);
    let is_section = names_only_that && is_prose && SECTION_LINES.contains(&within.len());
    if is_section { within } else { Vec::new() }
}

/// The rows of a table that is about what is asked for.
pub(super) fn rows_of_all(evidence: &Evidence<'_, '_>) -> Option<Vec<usize>> {
    rows(evidence).filter(|_| evidence.asked.many).map(|found| found.lines)
}

/// All lines of a part of a text that answer nearly as well as the best, where each of them names one of several things.
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
    if !evidence.asked.many || !names_one(of_best) || !members(evidence, best.line).is_empty() {
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

/// The first list below a heading, with the line that announces it.
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

/// How many things a sentence puts side by side, by commas and coordinators.
pub(super) fn enumerates(line: &Line<'_>) -> usize {
    let commas = line.text.chars().filter(|c| matches!(c, ',' | '、' | '，' | ';' | '；')).count();
    let coordinated = [" and ", " or ", " und ", " oder ", "和", "与", "及", " et ", " y "];
    let text = kinds::spaced(line.text);
    commas + coordinated.iter().map(|word| text.matches(word).count()).sum::<usize>()
}

/// Whether a line enumerates, announces a list, or is an entry or row.
pub(super) fn may_be_list(evidence: &Evidence<'_, '_>, at: usize) -> bool {
    let line = &evidence.reading.lines[at];
    let is_entry = matches!(line.form, LineForm::Item | LineForm::Row);
    is_entry
        || enumerates(line) > 0
        || !announced(evidence, at).is_empty()
        || !members(evidence, at).is_empty()
}

/// What follows a line that asks the same question, as in dialogues and lists of questions.
pub(super) fn answered_question(evidence: &Evidence<'_, '_>) -> Option<Vec<usize>> {
    let lines = &evidence.reading.lines;
    let asks = |at: usize| {
        let line = &lines[at];
        let is_question = line.form == LineForm::Question
            || (matches!(line.form, LineForm::Heading(_)) && line.text.ends_with(['?', '？']));
        // What somebody asks in a story is answered there, if at all, to somebody else.
        let is_speech = line.text.starts_with(['"', '“', '„', '«', '‘', '\'']);
        is_question
            && !is_speech
            && evidence.held(at) >= MIN_HELD_QUESTION
            && evidence.has_numbers(at)
            && evidence.has_key(at)
    };
    let direct = |at: usize| evidence.direct[at].iter().sum::<f32>();
    let with_titles = |at: usize| evidence.strength[at].iter().sum::<f32>();
    // A name alone is asked about in many ways.
    let tells = |role: Role| !matches!(role, Role::Name | Role::Common);
    if evidence.asked.measure.is_some() || !evidence.asked.terms.iter().any(|term| tells(term.role)) {
        return None;
    }
    let best = (0..lines.len()).filter(|at| asks(*at)).filter_map(|at| {
        let reply = evidence.reply_to(at)?;
        // Who replies is not named in what is asked of them.
        let replies = |term: &usize| evidence.names_speaker(reply.start, *term);
        let count = (0..evidence.asked.terms.len()).filter(|term| !replies(term)).count() as f32;
        let has_names =
            evidence.has_names(at) || evidence.asked.names.iter().all(|name| name.iter().any(replies));
        let fits = has_names && with_titles(at) >= 0.75 * count && direct(at) >= 0.5 * count;
        fits.then_some((at, reply))
    });
    let (question, reply) =
        best.max_by(|(one, _), (other, _)| direct(*one).total_cmp(&direct(*other)).then(other.cmp(one)))?;
    let asks_the_same = evidence.reading.ask(lines[question].text).wants == evidence.asked.wants;
    let is_of_kind = match evidence.asked.wants {
        Wants::Person | Wants::Time | Wants::Place | Wants::Amount { .. } | Wants::Reason => {
            asks_the_same || kinds::holds(evidence.asked, &lines[reply.start], None)
        }
        Wants::Thing | Wants::Manner | Wants::Meaning | Wants::Truth => asks_the_same,
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
