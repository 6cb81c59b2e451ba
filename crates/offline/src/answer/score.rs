//! Scores lines that answer a question, to compare them.

use super::definitions;
use super::evidence::Evidence;
use super::kinds;
use super::lines::Word;
use super::measures;
use super::question::{AnswerType, Role};

impl Evidence<'_, '_> {
    /// Returns the score of a line that answers; `coverage` is its [`Evidence::coverage`].
    pub(super) fn score(&self, at: usize, coverage: f32) -> f32 {
        let line = &self.reading.lines[at];
        let measure = if measures::mentions_measure(self.question, line) { 0.25 } else { 0.0 };
        let named = match self.question.terms.iter().any(|term| term.role == Role::Class)
            && self.question.answer_type == AnswerType::Thing
        {
            true if kinds::marks(self.question, line) > 0 => 0.15,
            true | false => 0.0,
        };
        let mut classes =
            self.question.terms.iter().zip(&self.direct[at]).filter(|(term, _)| term.role == Role::Class);
        let classed = if classes.any(|(_, strength)| *strength > 0.0) { 0.1 } else { 0.0 };
        let rank = 1.0 - line.passage as f32 / self.reading.passages.len().max(1) as f32;
        let short = 1.0 / (1.0 + line.words.len() as f32 / 40.0);
        let manner = match self.question.answer_type {
            AnswerType::Manner => {
                let lower = line.text.to_lowercase();
                let tells = ["to ", "you ", "use ", "um "].iter().any(|start| lower.starts_with(start));
                if tells { 0.1 } else { 0.0 }
            }
            AnswerType::Person if kinds::names_person(self.question, line) => 0.08,
            AnswerType::Meaning if self.question.acts && definitions::says_use(self.question, line) => 0.3,
            AnswerType::Meaning
                if line.words.len() > 3 && definitions::defines_clearly(&line.text.to_lowercase()) =>
            {
                0.1
            }
            _ => 0.0,
        };
        let own = self.own_share(at);
        let label = if kinds::is_label(self.question, line) { 0.12 } else { 0.0 };
        0.5 * coverage
            + 0.2 * self.share(at)
            + 0.05 * own
            + 0.1 * self.nearness(at)
            + 0.15 * self.sequence(at)
            + 0.05 * rank
            + 0.05 * short
            + manner
            + measure
            + named
            + classed
            + label
            - if self.is_far_from_a_name(at) { 0.1 } else { 0.0 }
    }

    /// Returns the weighted share of the question, without names and classes, that the line itself contains.
    pub(super) fn own_share(&self, at: usize) -> f32 {
        let terms = self
            .question
            .terms
            .iter()
            .enumerate()
            .filter(|(_, term)| term.role != Role::Name && term.role != Role::Class);
        let (all, own) = terms.fold((0.0, 0.0), |(all, own), (term, _)| {
            (all + self.weights[term], own + self.weights[term] * self.direct[at][term])
        });
        if all == 0.0 { 1.0 } else { own / all }
    }

    /// Returns the length of the longest sequence of question words that occurs verbatim in a line, from 0 to 1.
    pub(super) fn sequence(&self, at: usize) -> f32 {
        const LONG: f32 = 5.0;
        let (question_roots, words) = (&self.question.roots, &self.reading.lines[at].words);
        let tells = |root: &str| self.question.terms.iter().any(|term| term.root == root);
        let mut best = 0_usize;
        // For each word of the question: the sequence that ends at it, and how many of its words are terms.
        let mut runs = vec![(0_usize, 0_usize); question_roots.len() + 1];
        for word in words {
            let telling = usize::from(tells(&word.root));
            for place in (0..question_roots.len()).rev() {
                runs[place + 1] = match question_roots[place] == word.root {
                    true => (runs[place].0 + 1, runs[place].1 + telling),
                    false => (0, 0),
                };
                if runs[place + 1].1 >= 2 {
                    best = best.max(runs[place + 1].0);
                }
            }
        }
        (best.saturating_sub(1) as f32 / (LONG - 1.0)).min(1.0)
    }

    /// Returns how close together the words of the question are in a line.
    pub(super) fn nearness(&self, at: usize) -> f32 {
        let line = &self.reading.lines[at];
        let is_in_question = |word: &Word<'_>| {
            self.question.terms.iter().any(|term| term.role != Role::Common && term.is_word(word))
        };
        let mut places =
            line.words.iter().enumerate().filter(|(_, word)| is_in_question(word)).map(|(place, _)| place);
        let Some(first) = places.next() else { return 0.5 };
        let (last, count) = places.fold((first, 1), |(_, count), place| (place, count + 1));
        count as f32 / (last - first + 1) as f32
    }
}
