//! Decides whether a line is about the names and numbers of a question.

use std::collections::BTreeSet;

use super::evidence::{EVERYWHERE, Evidence, IN_TITLE, IS_THERE};
use super::kinds;
use super::lines::Word;
use super::question::Role;
use super::words::{TITLES, any_word};
use crate::lexicon::{self, is_stop_word};

/// Words before a name at the beginning of a sentence that do not make it another name.
const TITLES_ONLY: &str = "mr mrs ms miss dr prof professor sir lady lord king queen captain herr frau";

impl Evidence<'_, '_> {
    /// True if a line is about every name of the question.
    pub(super) fn has_names(&self, line: usize) -> bool {
        const MAX_SHORTENED: usize = 3;
        let is_there = |term: &usize| self.strength[line][*term] >= IS_THERE;
        self.question.names.iter().all(|name| {
            let there = name.iter().filter(|term| is_there(term)).count();
            if there == name.len() {
                return true;
            }
            // A word that occurs nowhere makes it another name.
            let is_known =
                |term: &usize| self.known[*term] || any_word(TITLES, &self.question.terms[*term].word);
            if !name.iter().all(is_known) {
                return false;
            }
            // If the line contains one name, another one may be in a line above.
            let is_beside = self
                .question
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

    /// True if one of the lines above contains a name.
    fn is_named_above(&self, line: usize, name: &BTreeSet<usize>) -> bool {
        const FAR: usize = 4;
        let lines = &self.reading.lines;
        let above = (line.saturating_sub(FAR)..line).filter(|at| lines[*at].passage == lines[line].passage);
        above.into_iter().any(|at| name.iter().all(|term| self.direct[at][*term] > 0.0))
    }

    /// True if the last word of a name follows a word of another name: `Old Heron` for `Little Heron`.
    fn is_other_name(&self, line: usize, last: usize) -> bool {
        let words = &self.reading.lines[line].words;
        let term = &self.question.terms[last];
        let mut places = (0..words.len()).filter(|at| words[*at].root == term.root).peekable();
        if places.peek().is_none() {
            return false;
        }
        places.all(|at| {
            let before = at.checked_sub(1).map(|at| &words[at]);
            before.is_some_and(|before| {
                let adjacent = words[at].at == before.at + before.text.len() + 1;
                let is_in_question = self.question.terms.iter().any(|term| term.root == before.root);
                adjacent
                    && before.is_capital()
                    && at > 1
                    && !is_in_question
                    && !any_word(TITLES, &before.lower)
                    || (adjacent
                        && at == 1
                        && before.is_capital()
                        && !is_in_question
                        && !is_stop_word(&before.lower)
                        && !any_word(TITLES_ONLY, &before.lower))
            })
        })
    }

    /// True if a line, with the text above and before it, contains every number, year and month of the question.
    pub(super) fn has_numbers(&self, line: usize) -> bool {
        let strength = &self.strength[line];
        self.question.terms.iter().zip(strength).all(|(term, strength)| {
            let least = if term.word.contains(|c: char| c.is_ascii_digit()) { IN_TITLE } else { IS_THERE };
            term.role != Role::Number || *strength >= least
        })
    }

    /// True if a line contains a year or month, but not the one of the question.
    pub(super) fn holds_other_date(&self, at: usize) -> bool {
        let words = &self.reading.lines[at].words;
        let is_month = |word: &Word<'_>| lexicon::is_month(&word.lower) && word.is_capital();
        let is_missing = |term: &usize| {
            self.question.terms[*term].role == Role::Number && self.strength[at][*term] < IS_THERE
        };
        (0..self.question.terms.len()).filter(is_missing).any(|term| {
            let number = &self.question.terms[term].word;
            kinds::is_year(number) && words.iter().any(|word| kinds::is_year(&word.lower))
                || lexicon::is_month(number) && words.iter().any(is_month)
        })
    }

    /// True if the line itself contains every number of the question.
    pub(super) fn holds_numbers_itself(&self, line: usize) -> bool {
        let numbers =
            self.question.terms.iter().zip(&self.direct[line]).filter(|(term, _)| term.role == Role::Number);
        numbers.into_iter().all(|(_, strength)| *strength > 0.0)
    }

    /// True if the line itself contains a word of every name of the question.
    pub(super) fn holds_names_itself(&self, line: usize) -> bool {
        self.question.names.iter().all(|name| name.iter().any(|term| self.direct[line][*term] > 0.0))
    }

    /// True if a line is about every name, by itself or by the text above and before it.
    pub(super) fn is_about_names(&self, line: usize) -> bool {
        let is_near = self.reading.lines[line].begins_with_pronoun || self.named_by[line].is_none();
        is_near
            && self
                .question
                .names
                .iter()
                .all(|name| name.iter().any(|term| self.strength[line][*term] > EVERYWHERE))
    }

    /// True if a name of the question is among the first words of a line.
    pub(super) fn begins_with_name(&self, at: usize) -> bool {
        const FIRST: usize = 4;
        let line = &self.reading.lines[at];
        let names =
            || self.question.terms.iter().filter(|term| matches!(term.role, Role::Name | Role::Class));
        let first = line.words.iter().take(FIRST);
        line.begins_with_pronoun
            || first.into_iter().any(|word| names().any(|term| term.root == word.root))
            || names().any(|term| term.unspaced && line.text.contains(&term.word))
    }
}
