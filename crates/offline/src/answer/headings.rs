//! Compares headings with the question.

use super::evidence::Evidence;
use super::lines::{LineForm, Word};
use super::question::{Role, Term};
use super::words::{COMMON_ENGLISH, any_word};
use crate::lexicon::is_stop_word;

impl Evidence<'_, '_> {
    /// True if a heading names the task or topic of the question, and nothing else.
    pub(super) fn names_topic(&self, at: usize) -> bool {
        let (line, terms) = (&self.reading.lines[at], &self.question.terms);
        let is_given = |term: usize| {
            self.direct[at][term] > 0.0
                || terms[term].role == Role::Common
                // `contain` for `What is in the box?`
                || !self.question.lower.contains(&terms[term].word)
                || terms[term].role == Role::Name && self.reading.is_in_title(line.passage, &terms[term])
        };
        let has_topic = |term: usize| terms[term].role == Role::Relation && self.direct[at][term] > 0.0;
        matches!(line.form, LineForm::Heading(_))
            && (0..terms.len()).any(has_topic)
            && (0..terms.len()).all(is_given)
            && self.names_nothing_else(at)
    }

    /// True if each word of a heading is in the question or says little.
    pub(super) fn names_nothing_else(&self, heading: usize) -> bool {
        let says_little = |word: &Word<'_>| {
            word.has_digit() || is_stop_word(&word.lower) || any_word(COMMON_ENGLISH, &word.lower)
        };
        self.reading.lines[heading].words.iter().all(|word| self.is_in_question(word) || says_little(word))
    }

    /// True if a line is one of the first below a heading that contains a relation or class word of the question.
    pub(super) fn is_below_matching_heading(&self, at: usize) -> bool {
        const FIRST: usize = 2;
        let lines = &self.reading.lines;
        let Some(&heading) = lines[at].headings.last() else { return false };
        let tells = |(strength, term): (&f32, &Term)| {
            *strength > 0.0 && matches!(term.role, Role::Relation | Role::Class)
        };
        at - heading <= FIRST && self.direct[heading].iter().zip(&self.question.terms).any(tells)
    }
}
