//! Answers without an LLM: returns sentences that answer a question, or the nearest passages, and says which.
//!
//! A sentence is an answer if it contains what the question is about, what it asks about that, and something of the right answer
//! type. Nothing else is presented as an answer: the reply then contains the nearest passages, or nothing.

mod acronyms;
mod all_but_one;
mod attribution;
mod change;
mod closest;
mod compared_measures;
mod counted;
mod defining;
mod definitions;
mod evidence;
mod excerpt;
mod families;
mod features;
mod first_names;
mod form;
mod grams;
mod headings;
mod how_to;
mod judge;
mod kinds;
mod kinship;
mod likely;
mod lines;
mod lists;
mod matcher;
mod measures;
mod names;
mod parallel;
mod question;
mod ranges;
mod roots;
mod rows;
mod score;
mod scored;
mod several;
mod sides;
mod trees;
mod turns;
mod unspaced;
mod words;

use std::collections::BTreeSet;
use std::ops::Range;

pub use defining::DefinitionQuestion;
use evidence::{Evidence, Passages};
pub use features::LINE_FEATURES;
use how_to::Section;
use judge::LineScore;
use lines::LineForm;
use question::{AnswerType, ParsedQuestion, Role};
pub use scored::{Window, scores};
pub use trees::{LineFeatures, line_features};

/// Maximum number of passages read; callers pass the best first.
pub const MAX_PASSAGES: usize = 64;
/// Maximum number of sentences in an answer, counting each list entry.
const MAX_SENTENCES: usize = 24;
/// Sentences with at least this share of the best score are returned too.
const AS_GOOD: f32 = 0.985;
/// Share of a two-step question that a single line must contain to be the answer.
const BOTH_STEPS: f32 = 0.9;
/// Maximum number of equally good answers.
const MAX_AS_GOOD: usize = 2;

/// A passage that may contain an answer.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// Its text.
    pub text: &'a str,
    /// The title of its document.
    pub title: &'a str,
    /// The headings above it, outermost first.
    pub headings: &'a [String],
}

/// What the passages say about a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Sentences that answer the question, in reading order.
    Answer(Vec<Quote>),
    /// No sentence meets all conditions for an answer, but these most likely contain it; or these are a part of an answer that is
    /// too long to be quoted whole.
    Likely(Vec<Quote>),
    /// No sentence answers the question; the nearest passages, best first.
    Closest(Vec<Quote>),
    /// No passage is near the question.
    Nothing,
}

/// A quote from a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Index of the passage among those given.
    pub passage: usize,
    /// Byte range in the text of the passage.
    pub range: Range<usize>,
    /// Byte ranges within `range` that match words of the question; ascending and disjoint.
    pub matches: Vec<Range<usize>>,
}

/// Returns what `passages` say about `question`. The same texts always give the same reply.
///
/// - `passages`: best first; only the first [`MAX_PASSAGES`] are read.
/// - A year, month or number in the question must occur with the answer.
/// - The reply includes what a pronoun refers to, the list that a sentence announces, both sides of a comparison and both steps
///   of a two-step question.
pub fn reply(question: &str, passages: &[Passage<'_>]) -> Reply {
    reply_with_scores(question, passages, &[])
}

/// Like [`reply`], with the log odds by a model that lines answer.
///
/// - `scores`: the [`scores`] of the same question and passages.
pub fn reply_with_scores(question: &str, passages: &[Passage<'_>], scores: &[(Window, Vec<f32>)]) -> Reply {
    let passages = &passages[..passages.len().min(MAX_PASSAGES)];
    let reading = Passages::read(question, passages);
    let parsed = reading.parse_question(question);
    if parsed.terms.is_empty() {
        return Reply::Nothing;
    }
    let evidence = Evidence::scored(&reading, &parsed, scores);
    if let Some(surnames) = first_names::requested_surnames(question) {
        return match first_names::line(&reading, &surnames) {
            Some(line) => Reply::Answer(quotes(&evidence, &[line])),
            None => nearest(&evidence),
        };
    }
    if let Some(acronym) = acronyms::requested(question) {
        return match acronyms::line(&reading, &acronym) {
            Some(line) => Reply::Answer(quotes(&evidence, &[line])),
            None => nearest(&evidence),
        };
    }
    let compares = several::compares(&reading, question);
    let two_steps = several::describes_by_another(question);
    let compared = several::compared(&reading, question);
    if let Some(lines) =
        parallel::parallel(&reading, question, &parsed, compared.as_deref().unwrap_or_default())
    {
        return Reply::Likely(quotes(&evidence, &lines));
    }
    if compared.is_none()
        && let Some(lines) = change::change(&reading, &parsed).filter(|lines| !evidence.is_refuted(lines))
    {
        return Reply::Likely(quotes(&evidence, &lines));
    }
    let answer = compared
        .or_else(|| lists::list(&evidence))
        .or_else(|| lists::rows_of_all(&evidence))
        .or_else(|| lists::titled(&evidence))
        .filter(|lines| !evidence.is_refuted(lines));
    if answer.is_none()
        && let Some(section) = how_to::section(&evidence)
    {
        return match section {
            Section::Answer(lines) => answer_of(&evidence, &lines),
            Section::Start(lines) => Reply::Likely(quotes(&evidence, &lines)),
        };
    }
    let is_whole = answer.is_some();
    let answer = answer
        .or_else(|| single(&evidence, compares, two_steps))
        .or_else(|| several::steps(&reading, question))
        .filter(|lines| evidence.may_answer_together(lines) && !evidence.is_refuted(lines));
    let scored_instead_of = |lines: &[usize]| evidence.scored_instead_of(lines, two_steps, compares);
    if let Some(lines) = answer.as_deref().filter(|_| !is_whole).and_then(scored_instead_of) {
        return Reply::Likely(quotes(&evidence, &lines));
    }
    if let Some(lines) = answer {
        return answer_of(&evidence, &lines);
    }
    if let Some(lines) = evidence.likeliest(two_steps, compares) {
        return Reply::Likely(quotes(&evidence, &lines));
    }
    nearest(&evidence)
}

/// Returns lines that answer as a reply; only as a likely one if they are more than an answer may contain.
fn answer_of(evidence: &Evidence<'_, '_>, lines: &[usize]) -> Reply {
    let is_complete = lines.iter().collect::<BTreeSet<_>>().len() <= MAX_SENTENCES;
    let quotes = quotes(evidence, lines);
    if is_complete { Reply::Answer(quotes) } else { Reply::Likely(quotes) }
}

/// Returns the passages nearest to a question without an answer.
fn nearest(evidence: &Evidence<'_, '_>) -> Reply {
    let closest = closest::closest(evidence);
    if closest.is_empty() { Reply::Nothing } else { Reply::Closest(closest) }
}

/// Returns the best line, with the lines needed to understand it.
///
/// - `compares`: true for a comparison; the line must then contain all compared things.
/// - `two_steps`: true for a two-step question; the line must then contain nearly all of it.
fn single(evidence: &Evidence<'_, '_>, compares: bool, two_steps: bool) -> Option<Vec<usize>> {
    if let Some(lines) = lists::answered_question(evidence) {
        return Some(lines);
    }
    let mut answers = evidence.answers();
    // A single thing does not answer a question for several.
    let is_several = |line: usize| {
        !evidence.question.many
            || evidence.question.answer_type != AnswerType::Thing
            || lists::may_be_list(evidence, line)
    };
    answers.retain(|scored| is_several(scored.line));
    answers.retain(|scored| !compares || evidence.holds_names_itself(scored.line));
    answers.retain(|scored| !two_steps || evidence.share(scored.line) >= BOTH_STEPS);
    let best = answers.first().filter(|best| evidence.may_answer(best.line))?;
    if let Some(rows) = rows::rows_alike(evidence, best.line, &answers) {
        return Some(rows);
    }
    if let Some(lines) = lists::one_by_one(evidence, best, &answers) {
        return Some(lines);
    }
    let mut found: Vec<usize> = Vec::new();
    let mut texts: BTreeSet<&str> = BTreeSet::new();
    let is_as_good = |scored: &&LineScore| scored.score >= AS_GOOD * best.score;
    for scored in answers.iter().filter(is_as_good) {
        // Overlapping passages contain the same sentence.
        if texts.len() < MAX_AS_GOOD && texts.insert(evidence.reading.lines[scored.line].text) {
            found.extend(whole(evidence, scored.line));
        }
    }
    if found == [best.line]
        && let Some(excerpt) = evidence.excerpt_around(best.line)
    {
        return Some(excerpt.whole(evidence));
    }
    Some(found)
}

/// Returns a line with the lines needed to understand it: the line that names its subject, the list that it announces or is a part
/// of, the following step of an instruction, the next sentence if that has the requested value, and the reply to a question.
fn whole(evidence: &Evidence<'_, '_>, line: usize) -> Vec<usize> {
    let named_by = evidence.named_by[line].or_else(|| evidence.described_by(line));
    let is_text = |at: &usize| !matches!(evidence.reading.lines[*at].form, LineForm::Heading(_));
    let mut found: Vec<usize> = named_by.into_iter().filter(is_text).collect();
    found.extend(introduced_by(evidence, line));
    // The line that names the speaker.
    let spoken = &evidence.reading.lines[line];
    found.extend(spoken.turn.filter(|turn| spoken.of_speaker && *turn < line));
    found.push(line);
    found.extend(lists::steps_with(evidence, line));
    found.extend(lists::list_with(evidence, line).into_iter().flatten());
    let announced = lists::announced(evidence, line);
    let announced = match announced.is_empty() && evidence.question.many {
        true => counted::members(evidence, line),
        false => announced,
    };
    let next = evidence.reading.lines.get(line + 1);
    // Instructions often take more than one sentence, and a reason follows what it explains.
    let goes_on = next.is_some_and(|next| {
        next.goes_on
            && next.passage == spoken.passage
            && next.turn == spoken.turn
            && next.form == LineForm::Prose
            && next.range.start >= spoken.range.end
    });
    let holds = |at: usize| kinds::holds(evidence.question, &evidence.reading.lines[at], None);
    let needs_next = || match evidence.question.answer_type {
        AnswerType::Manner => true,
        AnswerType::Reason => !kinds::gives_reason(spoken.text),
        answer_type => answer_type.is_typed() && !holds(line) && holds(line + 1),
    };
    if announced.is_empty() && goes_on && needs_next() {
        found.push(line + 1);
    }
    found.extend(announced);
    if spoken.form == LineForm::Question {
        found.extend(evidence.reply_to(line).into_iter().flatten());
    }
    let mut seen = BTreeSet::new();
    found.retain(|at| seen.insert(*at));
    found
}

/// Returns the line with the full name of a person whom this line calls by first name, if the question asks for a person.
fn introduced_by(evidence: &Evidence<'_, '_>, at: usize) -> Option<usize> {
    const FAR: usize = 3;
    let lines = &evidence.reading.lines;
    if evidence.question.answer_type != AnswerType::Person
        || kinds::names_person(evidence.question, &lines[at])
    {
        return None;
    }
    let short = kinds::names(evidence.question, &lines[at]);
    let is_whole = |name: &String| {
        name.split_once(' ').is_some_and(|(first, _)| short.iter().any(|short| short == first))
    };
    let before =
        (at.saturating_sub(FAR)..at).rev().filter(|before| lines[*before].passage == lines[at].passage);
    before.into_iter().find(|before| kinds::names(evidence.question, &lines[*before]).iter().any(is_whole))
}

/// Returns the lines as quotes in reading order, each line once, and only the first [`MAX_SENTENCES`] given. Lines that follow each
/// other in a passage, in the same turn of a conversation, form one quote. The marks of a Markdown heading are left out.
fn quotes(evidence: &Evidence<'_, '_>, found: &[usize]) -> Vec<Quote> {
    let lines = &evidence.reading.lines;
    let is_joined = |one: &usize, other: &usize| {
        let (line, next) = (&lines[*one], &lines[*other]);
        let follows = *other == one + 1 && line.range.end <= next.range.start;
        follows && line.passage == next.passage && line.turn == next.turn
    };
    let mut seen = BTreeSet::new();
    let mut fresh: Vec<usize> =
        found.iter().copied().filter(|line| seen.insert(*line)).take(MAX_SENTENCES).collect();
    fresh.sort_by_key(|at| (lines[*at].passage, lines[*at].range.start, *at));
    let quote = |part: &[usize]| {
        let (first, last) = (part[0], part[part.len() - 1]);
        let marks = match lines[first].form {
            LineForm::Heading(_) => {
                lines[first].text.len() - lines[first].text.trim_start_matches(['#', ' ']).len()
            }
            _ => 0,
        };
        Quote {
            passage: lines[first].passage,
            range: lines[first].range.start + marks..lines[last].range.end,
            matches: closest::matches(evidence, first..last + 1),
        }
    };
    fresh.chunk_by(is_joined).map(quote).collect()
}

/// Longest preferred sentence about a topic, in bytes; longer ones are used only if there is no other.
const MAX_TOPIC_BYTES: usize = 320;

/// Number of commas from which a sentence counts as a list.
const MAX_COMMAS: usize = 4;

/// Returns the sentence of `passages` that says most about `name` by itself: preferably one that defines it, then one that begins
/// with it; `None` if no sentence names it.
pub fn sentence_about(name: &str, passages: &[Passage<'_>]) -> Option<Quote> {
    let passages = &passages[..passages.len().min(MAX_PASSAGES)];
    let reading = Passages::read(name, passages);
    let parsed = ParsedQuestion { answer_type: AnswerType::Meaning, ..reading.parse_question(name) };
    if parsed.terms.is_empty() {
        return None;
    }
    let evidence = Evidence::of(&reading, &parsed);
    let score = |at: usize| {
        let line = &reading.lines[at];
        let names_it = evidence.direct[at].iter().all(|strength| *strength >= 1.0);
        let tells = line.form == LineForm::Prose && line.words.len() + line.text.chars().count() / 4 >= 8;
        let begins =
            line.words.iter().take(4).any(|word| parsed.terms.iter().any(|term| term.root == word.root))
                || parsed.terms.iter().any(|term| term.unspaced && line.text.starts_with(&term.word));
        let fits = line.text.len() <= MAX_TOPIC_BYTES && !line.text.ends_with([':', '：']);
        (names_it && tells).then(|| {
            f32::from(u8::from(fits)) * 2.0
                + f32::from(u8::from(definitions::means(&parsed, line)))
                + f32::from(u8::from(begins)) * 0.6
                - f32::from(u8::from(line.refers)) * 0.3
                // Lists of names say little about each name.
                - f32::from(u8::from(line.text.matches([',', ';', '、']).count() >= MAX_COMMAS)) * 0.8
                - f32::from(u8::from(line.text.contains([':', '：']))) * 0.5
                - line.range.start as f32 / (1.0 + passages[line.passage].text.len() as f32) * 0.2
        })
    };
    let scored = (0..reading.lines.len()).filter_map(|at| Some((score(at)?, at)));
    let (_, best) = scored.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))?;
    quotes(&evidence, &[best]).into_iter().next()
}

/// Returns the words of a question that are searched for, as written, without those that only ask.
pub fn looked_for(question: &str) -> Vec<String> {
    let reading = Passages::read(question, &[]);
    let parsed = reading.parse_question(question);
    let all_common = parsed.terms.iter().all(|term| term.role == Role::Common);
    let searched = parsed.terms.iter().filter(|term| all_common || term.role != Role::Common);
    searched
        .map(|term| {
            let at = parsed.lower.find(&term.word).filter(|_| parsed.lower.len() == question.len());
            let written = at.and_then(|at| question.get(at..at + term.word.len()));
            written.map_or_else(|| term.word.clone(), str::to_owned)
        })
        .collect()
}

#[cfg(test)]
mod any_text_tests;
#[cfg(test)]
mod chinese_tests;
#[cfg(test)]
mod manuals_tests;
#[cfg(test)]
mod other_words_tests;
#[cfg(test)]
mod structure_tests;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod values_tests;
