//! Answers without a language model: sentences that answer a question, or the passages nearest to it, and which of both they
//! are.
//!
//! A sentence answers where it holds what the question asks about, what it asks of it, and the kind of thing it asks for. All
//! else is not passed off as an answer: the nearest passages are shown as what they are, or nothing is found.

mod all_but_one;
mod asked;
mod attribution;
mod closest;
mod counted;
mod definitions;
mod evidence;
mod families;
mod first_names;
mod form;
mod grams;
mod judge;
mod kinds;
mod kinship;
mod likely;
mod lines;
mod lists;
mod matcher;
mod measures;
mod names;
mod roots;
mod rows;
mod score;
mod several;
mod turns;
mod unspaced;
mod words;

use std::collections::BTreeSet;
use std::ops::Range;

use asked::{QuestionParts, Role, Wants};
use evidence::{Evidence, Passages};
use lines::LineForm;

/// Passages read, at most; callers pass the best first.
pub const MAX_PASSAGES: usize = 64;
/// Sentences of an answer, at most; those of a list count one by one.
const MAX_SENTENCES: usize = 24;
/// Sentences that answer as well as the best are given too.
const AS_GOOD: f32 = 0.985;
/// Share of a question that goes over another thing which a line must hold to be the answer by itself.
const BOTH_STEPS: f32 = 0.9;
/// Answers that are as good as each other, at most.
const MAX_AS_GOOD: usize = 2;

/// A passage that may hold an answer.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// Its words.
    pub text: &'a str,
    /// The title of its document.
    pub title: &'a str,
    /// The headings above it, outermost first.
    pub headings: &'a [String],
}

/// What the passages say to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Sentences that answer it, in the order in which they are to be read.
    Answer(Vec<Quote>),
    /// No sentence holds all that an answer must, but this most likely answers it.
    Likely(Vec<Quote>),
    /// Nothing answers it; the passages nearest to it, best first.
    Closest(Vec<Quote>),
    /// Nothing is near to it.
    Nothing,
}

/// Words of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// The place of the passage among those given.
    pub passage: usize,
    /// The bytes in its text.
    pub range: Range<usize>,
    /// Bytes in its text, within the range, that the question holds too; ascending and disjoint.
    pub matches: Vec<Range<usize>>,
}

/// What `passages` say to `question`; the same for the same texts.
///
/// - `passages`: best first; the first [`MAX_PASSAGES`] are read.
/// - A year, month or number of the question must stand where the answer does.
/// - What a pronoun stands for, the list that a sentence announces, both sides of a comparison and both steps of a question
///   that goes over another one come along.
pub fn reply(question: &str, passages: &[Passage<'_>]) -> Reply {
    let passages = &passages[..passages.len().min(MAX_PASSAGES)];
    let reading = Passages::read(question, passages);
    let asked = reading.ask(question);
    if asked.terms.is_empty() {
        return Reply::Nothing;
    }
    let evidence = Evidence::of(&reading, &asked);
    if let Some(surnames) = first_names::asked(question) {
        return match first_names::line(&reading, &surnames) {
            Some(line) => Reply::Answer(quotes(&evidence, &[line])),
            None => nearest(&evidence),
        };
    }
    let compares = several::compares(&reading, question);
    let two_steps = several::goes_over_another(question);
    let answer = several::compared(&reading, question)
        .or_else(|| lists::list(&evidence))
        .or_else(|| lists::rows_of_all(&evidence))
        .or_else(|| single(&evidence, compares, two_steps))
        .or_else(|| several::steps(&reading, question));
    if let Some(lines) = answer {
        return Reply::Answer(quotes(&evidence, &lines));
    }
    if let Some(lines) = evidence.likeliest(two_steps, compares) {
        return Reply::Likely(likely_quotes(&evidence, &lines));
    }
    nearest(&evidence)
}

/// The passages nearest to a question that nothing answers.
fn nearest(evidence: &Evidence<'_, '_>) -> Reply {
    let closest = closest::closest(evidence);
    if closest.is_empty() { Reply::Nothing } else { Reply::Closest(closest) }
}

/// The surest line, with what it needs to be understood.
///
/// - `compares`: whether things are compared, so that one line must hold them all.
/// - `two_steps`: whether the question goes over another thing, so that one line must hold nearly all of it.
fn single(evidence: &Evidence<'_, '_>, compares: bool, two_steps: bool) -> Option<Vec<usize>> {
    if let Some(lines) = lists::answered_question(evidence) {
        return Some(lines);
    }
    let mut answers = evidence.answers();
    // Several things are no one thing.
    let is_several = |line: usize| {
        !evidence.asked.many || evidence.asked.wants != Wants::Thing || lists::may_be_list(evidence, line)
    };
    answers.retain(|judged| is_several(judged.line));
    answers.retain(|judged| !compares || evidence.holds_names_itself(judged.line));
    answers.retain(|judged| !two_steps || evidence.share(judged.line) >= BOTH_STEPS);
    let best = answers.first().filter(|best| evidence.may_answer(best.line))?;
    if let Some(rows) = rows::rows_alike(evidence, best.line, &answers) {
        return Some(rows);
    }
    if let Some(lines) = lists::one_by_one(evidence, best, &answers) {
        return Some(lines);
    }
    let mut found: Vec<usize> = Vec::new();
    let mut texts: BTreeSet<&str> = BTreeSet::new();
    for judged in answers.iter().take_while(|judged| judged.score >= AS_GOOD * best.score) {
        // Overlapping passages hold the same sentence.
        if texts.len() < MAX_AS_GOOD && texts.insert(evidence.reading.lines[judged.line].text) {
            found.extend(whole(evidence, judged.line));
        }
    }
    Some(found)
}

/// A line with what it cannot be understood without: the line that names what it speaks of, the list that it announces, the
/// reason behind it.
fn whole(evidence: &Evidence<'_, '_>, line: usize) -> Vec<usize> {
    let mut found: Vec<usize> =
        evidence.named_by[line].or_else(|| evidence.described_by(line)).into_iter().collect();
    found.extend(introduced_by(evidence, line).filter(|before| !found.contains(before)));
    // Who says it.
    let spoken = &evidence.reading.lines[line];
    found.extend(spoken.turn.filter(|turn| spoken.of_speaker && *turn < line && !found.contains(turn)));
    found.push(line);
    let announced = lists::announced(evidence, line);
    let announced = match announced.is_empty() && evidence.asked.many {
        true => counted::members(evidence, line),
        false => announced,
    };
    let next = evidence.reading.lines.get(line + 1);
    // How something is done often takes more than one sentence.
    let goes_on = next.is_some_and(|next| {
        next.goes_on
            && next.passage == spoken.passage
            && next.form == LineForm::Prose
            && next.range.start >= spoken.range.end
    });
    if announced.is_empty() && goes_on && evidence.asked.wants == Wants::Manner {
        found.push(line + 1);
    }
    found.extend(announced);
    found
}

/// The line that gives the whole name of a person whom the line calls by the first name alone, where a person is asked for.
fn introduced_by(evidence: &Evidence<'_, '_>, at: usize) -> Option<usize> {
    const FAR: usize = 3;
    let lines = &evidence.reading.lines;
    if evidence.asked.wants != Wants::Person || kinds::names_person(evidence.asked, &lines[at]) {
        return None;
    }
    let short = kinds::names(evidence.asked, &lines[at]);
    let is_whole = |name: &String| {
        name.split_once(' ').is_some_and(|(first, _)| short.iter().any(|short| short == first))
    };
    let before =
        (at.saturating_sub(FAR)..at).rev().filter(|before| lines[*before].passage == lines[at].passage);
    before.into_iter().find(|before| kinds::names(evidence.asked, &lines[*before]).iter().any(is_whole))
}

/// The lines as quotes, each once; neighbouring lines of one turn of a conversation are one quote.
fn quotes(evidence: &Evidence<'_, '_>, found: &[usize]) -> Vec<Quote> {
    let lines = &evidence.reading.lines;
    joined(evidence, found, &|one, other| {
        other == one + 1 && lines[one].turn.is_some() && lines[one].turn == lines[other].turn
    })
}

/// The same where neighbouring lines of a paragraph are one quote too.
fn likely_quotes(evidence: &Evidence<'_, '_>, found: &[usize]) -> Vec<Quote> {
    let lines = &evidence.reading.lines;
    joined(evidence, found, &|one, other| {
        let is_same = lines[one].passage == lines[other].passage && lines[one].turn == lines[other].turn;
        other == one + 1 && is_same && (lines[one].turn.is_some() || lines[other].goes_on)
    })
}

/// The lines as quotes, each once.
///
/// - `is_joined`: whether two lines, the second given behind the first, are one quote.
fn joined(
    evidence: &Evidence<'_, '_>,
    found: &[usize],
    is_joined: &dyn Fn(usize, usize) -> bool,
) -> Vec<Quote> {
    let lines = &evidence.reading.lines;
    let mut seen = BTreeSet::new();
    let fresh: Vec<usize> =
        found.iter().copied().filter(|line| seen.insert(*line)).take(MAX_SENTENCES).collect();
    let quote = |part: &[usize]| {
        let (first, last) = (part[0], part[part.len() - 1]);
        Quote {
            passage: lines[first].passage,
            range: lines[first].range.start..lines[last].range.end,
            matches: closest::matches(evidence, first..last + 1),
        }
    };
    fresh.chunk_by(|one, other| is_joined(*one, *other)).map(quote).collect()
}

/// Longest sentence that stands for a topic, in bytes; longer ones only where there is no other.
const MAX_TOPIC_BYTES: usize = 320;

/// Commas from which on a sentence is a list.
const MAX_COMMAS: usize = 4;

/// The sentence of `passages` that tells most about `name` by itself: one that says what it is, else one that begins with it;
/// `None` where no sentence names it.
pub fn sentence_about(name: &str, passages: &[Passage<'_>]) -> Option<Quote> {
    let passages = &passages[..passages.len().min(MAX_PASSAGES)];
    let reading = Passages::read(name, passages);
    let asked = QuestionParts { wants: Wants::Meaning, ..reading.ask(name) };
    if asked.terms.is_empty() {
        return None;
    }
    let evidence = Evidence::of(&reading, &asked);
    let score = |at: usize| {
        let line = &reading.lines[at];
        let names_it = evidence.direct[at].iter().all(|held| *held >= 1.0);
        let tells = line.form == LineForm::Prose && line.words.len() + line.text.chars().count() / 4 >= 8;
        let begins =
            line.words.iter().take(4).any(|word| asked.terms.iter().any(|term| term.root == word.root))
                || asked.terms.iter().any(|term| term.unspaced && line.text.starts_with(&term.word));
        let fits = line.text.len() <= MAX_TOPIC_BYTES && !line.text.ends_with([':', '：']);
        (names_it && tells).then(|| {
            f32::from(u8::from(fits)) * 2.0
                + f32::from(u8::from(definitions::means(&asked, line)))
                + f32::from(u8::from(begins)) * 0.6
                - f32::from(u8::from(line.refers)) * 0.3
                // Lists of names tell little about each.
                - f32::from(u8::from(line.text.matches([',', ';', '、']).count() >= MAX_COMMAS)) * 0.8
                - f32::from(u8::from(line.text.contains([':', '：']))) * 0.5
                - line.range.start as f32 / (1.0 + passages[line.passage].text.len() as f32) * 0.2
        })
    };
    let scored = (0..reading.lines.len()).filter_map(|at| Some((score(at)?, at)));
    let (_, best) = scored.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))?;
    quotes(&evidence, &[best]).into_iter().next()
}

/// The words of a question that are looked for, as they are written; those that only ask are left out.
pub fn looked_for(question: &str) -> Vec<String> {
    let reading = Passages::read(question, &[]);
    let asked = reading.ask(question);
    let all_common = asked.terms.iter().all(|term| term.role == Role::Common);
    let told = asked.terms.iter().filter(|term| all_common || term.role != Role::Common);
    told.map(|term| {
        let at = asked.lower.find(&term.word).filter(|_| asked.lower.len() == question.len());
        let written = at.and_then(|at| question.get(at..at + term.word.len()));
        written.map_or_else(|| term.word.clone(), str::to_owned)
    })
    .collect()
}

#[cfg(test)]
mod other_words_tests;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
