//! Decides whether a line contains all of a question except one word.

use super::evidence::{Evidence, IS_THERE};
use super::lines::{Line, LineForm, Word};
use super::question::{AnswerType, Role};
use super::words::{PRICED, SPEECH, any_word};

impl Evidence<'_, '_> {
    /// Returns the indexes of the relation words.
    pub(super) fn relations(&self) -> impl Iterator<Item = usize> {
        (0..self.question.terms.len()).filter(|term| self.question.terms[*term].role == Role::Relation)
    }

    /// True if any amount of money expresses a term.
    fn is_priced(&self, term: usize) -> bool {
        any_word(PRICED, &self.question.terms[term].word)
    }

    /// True if the answer type is recognizable and a line itself contains the key word and lacks at most one other relation word.
    ///
    /// Questions paraphrase what a text says, but the words for what they ask are the same.
    pub(super) fn holds_all_but_one(&self, line: usize) -> bool {
        const MIN_DIRECT: usize = 2;
        let is_typed = match self.question.answer_type {
            AnswerType::Person | AnswerType::Time | AnswerType::Place | AnswerType::Reason => {
                self.question.key.is_some()
            }
            AnswerType::Amount { .. } => {
                self.question.key.is_some()
                    || self.question.counted.is_some()
                    || self.question.measure.is_some()
            }
            AnswerType::Manner | AnswerType::Meaning | AnswerType::Thing | AnswerType::Truth => false,
        };
        let is_own = |term: usize| self.direct[line][term] > 0.0;
        let direct = self.relations().filter(|term| is_own(*term) && !self.is_priced(*term)).count();
        let missing = self.relations().filter(|term| self.strength[line][*term] < IS_THERE).count();
        // A name next to any number gives neither a size nor a price.
        let names = if self.question.key.is_some() { self.question.names.len() } else { 0 };
        is_typed
            && [self.question.key, self.question.counted].into_iter().flatten().all(is_own)
            && direct + names >= MIN_DIRECT
            && missing <= 1
    }

    /// True if a line itself contains each name and all relation words but one. Only for questions about numbers, times, places and
    /// agents.
    ///
    /// Texts describe an action in their own words, but its objects and the answer appear as in the question.
    pub(super) fn lacks_only_the_verb(&self, at: usize) -> bool {
        const MIN_PRESENT: usize = 2;
        let line = &self.reading.lines[at];
        let is_own = |term: &usize| self.direct[at][*term] >= IS_THERE;
        let is_typed = match self.question.answer_type {
            AnswerType::Time | AnswerType::Place => true,
            AnswerType::Amount { .. } => self.question.counted.is_none_or(|counted| is_own(&counted)),
            AnswerType::Person => !self.question.by_noun,
            AnswerType::Reason
            | AnswerType::Manner
            | AnswerType::Thing
            | AnswerType::Meaning
            | AnswerType::Truth => false,
        };
        let missing = self.relations().filter(|term| !is_own(term)).count();
        let direct = self.relations().filter(|term| is_own(term) && !self.is_priced(*term)).count();
        let present = direct + self.question.names.len();
        let least =
            if self.question.answer_type == AnswerType::Person { MIN_PRESENT + 1 } else { MIN_PRESENT };
        is_typed
            // Only a word for birth or death expresses one.
            && !self.question.of_life
            && !self.speaks(line)
            && line.form == LineForm::Prose
            && missing <= 1
            && present >= least
            && self.question.names.iter().all(|name| name.iter().any(is_own))
            && (self.question.answer_type != AnswerType::Person || self.names_agent(line))
    }

    /// True if a name of the question only says something in a line: `Okafor said`.
    fn speaks(&self, line: &Line<'_>) -> bool {
        let is_name = |word: &Word<'_>| {
            self.question.terms.iter().any(|term| term.role == Role::Name && term.root == word.root)
        };
        line.words.windows(2).any(|pair| {
            is_name(&pair[0]) && any_word(SPEECH, &pair[1].lower)
                || is_name(&pair[1]) && any_word(SPEECH, &pair[0].lower)
        })
    }

    /// True if a line names the agent of an action: `carried out by Ada`.
    fn names_agent(&self, line: &Line<'_>) -> bool {
        let names = self.places_of_names(line);
        let by = |at: &usize| {
            let mut before = line.words[..*at].iter().rev().map(|word| word.lower.as_str());
            let first = before
                .next()
                .filter(|word| !any_word("the der die das dem den", word))
                .or_else(|| before.next());
            first.is_some_and(|word| any_word("by von vom durch", word))
        };
        names.iter().any(by)
    }
}
