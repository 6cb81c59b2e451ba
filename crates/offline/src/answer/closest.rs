//! The passages nearest to a question without an answer.

use std::ops::Range;

use super::Quote;
use super::evidence::Evidence;
use super::likely::probability;
use super::lines::{Line, LineForm, window_around};
use super::question::Role;

/// Maximum number of passages shown.
const MAX_SHOWN: usize = 3;
/// Maximum number of bytes shown around the best line of a passage; a longer line is shown whole.
const MAX_BYTES: usize = 420;
/// Minimum share of the question in a near line and its surroundings.
const MIN_SHARE: f32 = 0.34;
/// The same if the line or a heading above it contains a word of the question itself, not only in other words.
const MIN_SHARE_VERBATIM: f32 = 0.18;
/// Minimum probability of a near line that a model scored, whatever its share.
const MIN_RECOGNIZED: f32 = 0.1;
/// Minimum share of the best passage's score for another passage to be shown.
const MIN_OF_BEST: f32 = 0.5;

/// Returns the passages nearest to the question, best first; empty if no line contains enough of it.
pub(super) fn closest(evidence: &Evidence<'_, '_>) -> Vec<Quote> {
    let lines = &evidence.reading.lines;
    let has = |at: usize, fits: fn(f32, Role) -> bool| {
        let mut pairs = evidence.direct[at].iter().zip(&evidence.question.terms);
        pairs.any(|(strength, term)| fits(*strength, term.role))
    };
    let has_or_below = |at: usize, fits: fn(f32, Role) -> bool| {
        lines[at].headings.iter().copied().chain([at]).any(|line| has(line, fits))
    };
    let has_content_word =
        |at: usize| has_or_below(at, |strength, role| strength > 0.0 && role != Role::Common);
    let has_verbatim = |at: usize| has_or_below(at, |strength, role| strength >= 1.0 && role != Role::Common);
    let has_name_or_number =
        |at: usize| has(at, |strength, role| strength >= 1.0 && matches!(role, Role::Name | Role::Number));
    // The title among the properties of a document stands for its text.
    let text_of = |at: usize| match lines[at].form {
        LineForm::Property => (at..lines.len())
            .take_while(|below| lines[*below].passage == lines[at].passage)
            .find(|below| !matches!(lines[*below].form, LineForm::Property | LineForm::Heading(_)))
            .unwrap_or(at),
        _ => at,
    };
    let mut near: Vec<(f32, usize)> = (0..lines.len())
        .filter(|at| !matches!(lines[*at].form, LineForm::Heading(_) | LineForm::Cell))
        .filter(|at| has_content_word(*at) || evidence.scores[*at].is_some())
        .map(|at| {
            let direct: f32 =
                evidence.direct[at].iter().sum::<f32>() / evidence.question.terms.len().max(1) as f32;
            let recognized = match evidence.scores[at] {
                Some(_) => probability(evidence.odds(at)),
                None => 0.0,
            };
            (evidence.share(at) + 0.25 * direct + recognized, recognized, at)
        })
        .filter(|(_, recognized, at)| {
            let share = evidence.share(*at);
            share >= MIN_SHARE
                || share >= MIN_SHARE_VERBATIM && has_verbatim(*at)
                || *recognized >= MIN_RECOGNIZED
                || has_name_or_number(*at)
        })
        .map(|(score, _, at)| (score, text_of(at)))
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let best = near.first().map_or(0.0, |(score, _)| *score);
    let mut shown: Vec<Quote> = Vec::new();
    let mut lines_shown: Vec<usize> = Vec::new();
    for (_, at) in near.into_iter().take_while(|(score, _)| *score >= MIN_OF_BEST * best) {
        if shown.len() == MAX_SHOWN {
            break;
        }
        let is_shown = |at: usize| lines_shown.iter().any(|known| is_same(&lines[*known], &lines[at]));
        if is_shown(at) {
            continue;
        }
        let taken = window(evidence, at, &is_shown);
        let (first, last) = (&lines[taken.start], &lines[taken.end - 1]);
        shown.push(Quote {
            passage: first.passage,
            range: first.range.start..last.range.end,
            matches: matches(evidence, taken.clone()),
        });
        lines_shown.extend(taken);
    }
    shown
}

/// True if two lines show the same words. Overlapping passages contain the same line, perhaps truncated.
fn is_same(one: &Line<'_>, other: &Line<'_>) -> bool {
    const MIN_CUT_BYTES: usize = 24;
    let (short, long) = if one.text.len() < other.text.len() { (one, other) } else { (other, one) };
    let is_cut = short.text.len() >= MIN_CUT_BYTES
        && (long.text.starts_with(short.text) || long.text.ends_with(short.text));
    short.text == long.text || is_cut
}

/// Returns the lines around a line that belong to its paragraph and are not shown yet.
fn window(evidence: &Evidence<'_, '_>, at: usize, is_shown: &dyn Fn(usize) -> bool) -> Range<usize> {
    let lines = &evidence.reading.lines;
    let belongs = |other: usize| {
        !matches!(lines[other].form, LineForm::Heading(_) | LineForm::Cell)
            && (lines[other].form == LineForm::Property) == (lines[at].form == LineForm::Property)
            && !is_shown(other)
    };
    let precedes = |before: usize| lines[before + 1].goes_on && belongs(before);
    let follows = |next: usize| (lines[next].goes_on || lines[next].form != LineForm::Prose) && belongs(next);
    window_around(lines, at, MAX_BYTES, &precedes, &follows, false)
}

/// Returns the byte ranges, in their passage, where the lines match words of the question.
pub(super) fn matches(evidence: &Evidence<'_, '_>, lines: Range<usize>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for line in &evidence.reading.lines[lines] {
        for term in &evidence.question.terms {
            if term.unspaced {
                let places = line.text.match_indices(&term.word);
                found.extend(
                    places.map(|(at, word)| line.range.start + at..line.range.start + at + word.len()),
                );
                continue;
            }
            let is_match = |root: &str| evidence.reading.roots.likeness(&term.root, root) > 0.0;
            let same = line
                .words
                .iter()
                .filter(|word| is_match(&word.root) || (term.role != Role::Name && term.is_related(word)));
            found.extend(same.map(|word| {
                let start = line.range.start + word.at;
                start..start + word.text.len()
            }));
        }
    }
    found.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in found {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}
