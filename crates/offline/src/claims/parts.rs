//! Splits a sentence into parts with one verb each.

use std::ops::Range;

use super::verbs::Verb;
use super::words::Item;

/// Words that may begin a part.
const JOINS: [&str; 25] = [
    "and", "but", "before", "until", "till", "when", "after", "then", "while", "whereas", "who", "which",
    "that", "where", "since", "whom", "because", "und", "aber", "bevor", "bis", "nachdem", "während", "ehe",
    "to",
];
const SIGNS: [&str; 8] = [",", ";", ":", "(", ")", "–", "—", "-"];

/// A part of a sentence with one verb.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) range: Range<usize>,
    pub(super) verb: Verb,
}

/// Returns the parts of a sentence, in order. The border between two verbs is before the last word or sign between them that may
/// begin a part.
pub(super) fn parts(items: &[Item<'_>], verbs: Vec<Verb>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::with_capacity(verbs.len());
    let mut start = 0;
    let mut verbs = verbs.into_iter().peekable();
    while let Some(verb) = verbs.next() {
        let end = verbs.peek().map_or(items.len(), |next| border(items, verb.end, next.start));
        parts.push(Part { range: start..end, verb });
        start = end;
    }
    parts
}

fn border(items: &[Item<'_>], from: usize, to: usize) -> usize {
    let begins = |at: &usize| {
        let word = items[*at].lower();
        JOINS.contains(&word) || SIGNS.contains(&word)
    };
    let last = (from..to).rev().find(begins);
    // `after he left, Marks and Spencer appointed ...`
    let other = last.filter(|at| joins_name(items, *at)).and_then(|at| (from..at).rev().find(begins));
    other.or(last).unwrap_or(to)
}

/// True if a word may be part of a name: `Marks and Spencer`.
fn joins_name(items: &[Item<'_>], at: usize) -> bool {
    let is_name = |at: Option<usize>| {
        let word = at.and_then(|at| items.get(at)).and_then(Item::word);
        word.is_some_and(|word| word.is_name_like() && !word.is_sign())
    };
    matches!(items[at].lower(), "and" | "und") && is_name(at.checked_sub(1)) && is_name(Some(at + 1))
}
