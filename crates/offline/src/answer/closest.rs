//! The passages nearest to a question that no sentence answers.

use std::ops::Range;

use super::Quote;
use super::asked::Role;
use super::evidence::Evidence;
use super::lines::{Line, LineForm};

/// Passages shown, at most.
const MAX_SHOWN: usize = 3;
/// Bytes of a passage around its best line that are shown, at most; a longer line is shown whole.
const MAX_BYTES: usize = 420;
/// Share of the question that a line must hold, with what is around it, to be near.
const MIN_SHARE: f32 = 0.34;
/// A passage is shown only if it holds this share of what the best one holds.
const MIN_OF_BEST: f32 = 0.5;

/// The places nearest to the question, best first; none where nothing is near, or where most of what it names is nowhere.
pub(super) fn closest(evidence: &Evidence<'_, '_>) -> Vec<Quote> {
    let lines = &evidence.reading.lines;
    let telling = |at: usize| {
        let held = evidence.direct[at].iter().zip(&evidence.asked.terms);
        held.into_iter().any(|(held, term)| *held > 0.0 && term.role != Role::Common)
    };
    let mut near: Vec<(f32, usize)> = (0..lines.len())
        .filter(|at| !matches!(lines[*at].form, LineForm::Heading(_) | LineForm::Cell) && telling(*at))
        .map(|at| {
            let direct: f32 =
                evidence.direct[at].iter().sum::<f32>() / evidence.asked.terms.len().max(1) as f32;
            (evidence.share(at) + 0.25 * direct, at)
        })
        .filter(|(_, at)| evidence.share(*at) >= MIN_SHARE)
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

/// Whether two lines show the same words: passages that overlap hold them both, one of them perhaps cut.
fn is_same(one: &Line<'_>, other: &Line<'_>) -> bool {
    const MIN_CUT_BYTES: usize = 24;
    let (short, long) = if one.text.len() < other.text.len() { (one, other) } else { (other, one) };
    let is_cut = short.text.len() >= MIN_CUT_BYTES
        && (long.text.starts_with(short.text) || long.text.ends_with(short.text));
    short.text == long.text || is_cut
}

/// The lines around a line that belong to its paragraph and are not shown yet.
fn window(evidence: &Evidence<'_, '_>, at: usize, is_shown: &dyn Fn(usize) -> bool) -> Range<usize> {
    let lines = &evidence.reading.lines;
    let belongs = |other: usize| {
        lines.get(other).is_some_and(|line| {
            line.passage == lines[at].passage
                && line.headings == lines[at].headings
                && !matches!(line.form, LineForm::Heading(_) | LineForm::Cell)
                && !is_shown(other)
        })
    };
    let (mut start, mut end) = (at, at + 1);
    let size = |start: usize, end: usize| lines[end - 1].range.end - lines[start].range.start;
    loop {
        let longer = (belongs(end)
            && (lines[end].goes_on || lines[end].form != LineForm::Prose)
            && size(start, end + 1) <= MAX_BYTES)
            .then(|| (start, end + 1));
        let earlier =
            (start > 0 && lines[start].goes_on && belongs(start - 1) && size(start - 1, end) <= MAX_BYTES)
                .then(|| (start - 1, end));
        match longer.or(earlier) {
            Some(window) => (start, end) = window,
            None => return start..end,
        }
    }
}

/// Where the lines hold words of the question, in bytes of their passage.
pub(super) fn matches(evidence: &Evidence<'_, '_>, lines: Range<usize>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for line in &evidence.reading.lines[lines] {
        for term in &evidence.asked.terms {
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
