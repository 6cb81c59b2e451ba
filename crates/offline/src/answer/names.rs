//! Whether a line speaks of the names and numbers of a question.

use std::collections::BTreeSet;

use super::asked::Role;
use super::evidence::{EVERYWHERE, Evidence, IN_TITLE, IS_THERE};
use super::kinds;
use super::lines::Word;
use super::words::{TITLES, any_word};
use crate::lexicon::{self, is_stop_word};

/// Words that stand before a name at the beginning of a sentence and are no part of another one.
const TITLES_ONLY: &str = "mr mrs ms miss dr prof professor sir lady lord king queen captain herr frau";

impl Evidence<'_, '_> {
    /// Whether a line speaks of everything that the question names.
    pub(super) fn has_names(&self, line: usize) -> bool {
        const MAX_SHORTENED: usize = 3;
        let is_there = |term: &usize| self.strength[line][*term] >= IS_THERE;
        self.asked.names.iter().all(|name| {
            let there = name.iter().filter(|term| is_there(term)).count();
            if there == name.len() {
                return true;
            }
            // What stands nowhere makes it another name.
            let is_known =
                |term: &usize| self.known[*term] || any_word(TITLES, &self.asked.terms[*term].word);
            if !name.iter().all(is_known) {
                return false;
            }
            // Beside a name that the line holds, another one may stand further above.
            let is_beside = self
                .asked
                .names
                .iter()
                .any(|other| other != name && other.iter().all(|term| self.direct[line][*term] > 0.0));
            if is_beside && self.is_named_above(line, name) {
                return true;
            }
            let last = name.iter().next_back().filter(|term| is_there(term));
            let is_short =
                last.is_some_and(|last| name.len() <= MAX_SHORTENED && !self.is_other_name(line, *last));
            (name.len() > 2 && there >= (2 * name.len()).div_ceil(3)) || is_short
        })
    }

    /// Whether one of the lines above holds a name.
    fn is_named_above(&self, line: usize, name: &BTreeSet<usize>) -> bool {
        const FAR: usize = 4;
        let lines = &self.reading.lines;
        let above = (line.saturating_sub(FAR)..line).filter(|at| lines[*at].passage == lines[line].passage);
        above.into_iter().any(|at| name.iter().all(|term| self.direct[at][*term] > 0.0))
    }

    /// Whether the last word of a name stands in a line behind a word of another name: `Old Heron` for `Little Heron`.
    fn is_other_name(&self, line: usize, last: usize) -> bool {
        let words = &self.reading.lines[line].words;
        let term = &self.asked.terms[last];
        let mut places = (0..words.len()).filter(|at| words[*at].root == term.root).peekable();
        if places.peek().is_none() {
            return false;
        }
        places.all(|at| {
            let before = at.checked_sub(1).map(|at| &words[at]);
            before.is_some_and(|before| {
                let adjacent = words[at].at == before.at + before.text.len() + 1;
                let is_asked = self.asked.terms.iter().any(|term| term.root == before.root);
                adjacent && before.is_capital() && at > 1 && !is_asked && !any_word(TITLES, &before.lower)
                    || (adjacent
                        && at == 1
                        && before.is_capital()
                        && !is_asked
                        && !is_stop_word(&before.lower)
                        && !any_word(TITLES_ONLY, &before.lower))
            })
        })
    }

    /// Whether a line holds every number, year and month of the question.
    pub(super) fn has_numbers(&self, line: usize) -> bool {
        let strength = &self.strength[line];
        self.asked.terms.iter().zip(strength).all(|(term, held)| {
            let least = if term.word.contains(|c: char| c.is_ascii_digit()) { IN_TITLE } else { IS_THERE };
            term.role != Role::Number || *held >= least
        })
    }

    /// Whether a line gives another year or month than the question, and not that one.
    pub(super) fn holds_other_date(&self, at: usize) -> bool {
        let words = &self.reading.lines[at].words;
        let is_month = |word: &Word<'_>| lexicon::is_month(&word.lower) && word.is_capital();
        let is_missing = |term: &usize| {
            self.asked.terms[*term].role == Role::Number && self.strength[at][*term] < IS_THERE
        };
        (0..self.asked.terms.len()).filter(is_missing).any(|term| {
            let asked = &self.asked.terms[term].word;
            kinds::is_year(asked) && words.iter().any(|word| kinds::is_year(&word.lower))
                || lexicon::is_month(asked) && words.iter().any(is_month)
        })
    }

    /// Whether a line holds every number of the question itself.
    pub(super) fn holds_numbers_itself(&self, line: usize) -> bool {
        let numbers =
            self.asked.terms.iter().zip(&self.direct[line]).filter(|(term, _)| term.role == Role::Number);
        numbers.into_iter().all(|(_, held)| *held > 0.0)
    }

    /// Whether a line holds every name of the question itself.
    pub(super) fn holds_names_itself(&self, line: usize) -> bool {
        self.asked.names.iter().all(|name| name.iter().any(|term| self.direct[line][*term] > 0.0))
    }

    /// Whether a line speaks of every name, itself or by what stands above and before it.
    pub(super) fn speaks_of_names(&self, line: usize) -> bool {
        let is_near = self.reading.lines[line].begins_with_pronoun || self.named_by[line].is_none();
        is_near
            && self
                .asked
                .names
                .iter()
                .all(|name| name.iter().any(|term| self.strength[line][*term] > EVERYWHERE))
    }

    /// Whether a name of the question is among the first words of a line.
    pub(super) fn begins_with_name(&self, at: usize) -> bool {
        const FIRST: usize = 4;
        let line = &self.reading.lines[at];
        let names = || self.asked.terms.iter().filter(|term| matches!(term.role, Role::Name | Role::Class));
        let first = line.words.iter().take(FIRST);
        line.begins_with_pronoun
            || first.into_iter().any(|word| names().any(|term| term.root == word.root))
            || names().any(|term| term.unspaced && line.text.contains(&term.word))
    }
}
