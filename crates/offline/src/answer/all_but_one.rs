//! Whether a line holds all that is asked but one word.

use super::asked::{Role, Wants};
use super::evidence::{Evidence, IS_THERE};
use super::lines::{Line, LineForm, Word};
use super::words::{PRICED, SPEECH, any_word};

impl Evidence<'_, '_> {
    /// The terms that tell what is asked.
    pub(super) fn relations(&self) -> impl Iterator<Item = usize> {
        (0..self.asked.terms.len()).filter(|term| self.asked.terms[*term].role == Role::Relation)
    }

    /// Whether any sum of money tells a term.
    fn is_priced(&self, term: usize) -> bool {
        any_word(PRICED, &self.asked.terms[term].word)
    }

    /// Whether a line itself holds what is asked for by its kind, the word that tells it, and all other words but one.
    ///
    /// Questions describe in other words what a text says; what they ask for stands there as it is.
    pub(super) fn holds_all_but_one(&self, line: usize) -> bool {
        const MIN_DIRECT: usize = 2;
        let is_typed = match self.asked.wants {
            Wants::Person | Wants::Time | Wants::Place | Wants::Reason => self.asked.key.is_some(),
            Wants::Amount { .. } => {
                self.asked.key.is_some() || self.asked.counted.is_some() || self.asked.measure.is_some()
            }
            Wants::Manner | Wants::Meaning | Wants::Thing | Wants::Truth => false,
        };
        let is_own = |term: usize| self.direct[line][term] > 0.0;
        let direct = self.relations().filter(|term| is_own(*term) && !self.is_priced(*term)).count();
        let missing = self.relations().filter(|term| self.strength[line][*term] < IS_THERE).count();
        // A name and any number beside it tell no size and no price.
        let names = if self.asked.key.is_some() { self.asked.names.len() } else { 0 };
        is_typed
            && [self.asked.key, self.asked.counted].into_iter().flatten().all(is_own)
            && direct + names >= MIN_DIRECT
            && missing <= 1
    }

    /// Whether a line itself holds each name and all that is asked but one word, and a number, time, place or doer beside it.
    ///
    /// Texts say in their own words what is done; whom it is done to and the kind of thing that is asked for are there as they are.
    pub(super) fn lacks_only_the_verb(&self, at: usize) -> bool {
        const MIN_HELD: usize = 2;
        let line = &self.reading.lines[at];
        let is_own = |term: &usize| self.direct[at][*term] >= IS_THERE;
        let is_typed = match self.asked.wants {
            Wants::Time | Wants::Place => true,
            Wants::Amount { .. } => self.asked.counted.is_none_or(|counted| is_own(&counted)),
            Wants::Person => !self.asked.by_noun,
            Wants::Reason | Wants::Manner | Wants::Thing | Wants::Meaning | Wants::Truth => false,
        };
        let missing = self.relations().filter(|term| !is_own(term)).count();
        let direct = self.relations().filter(|term| is_own(term) && !self.is_priced(*term)).count();
        let held = direct + self.asked.names.len();
        let least = if self.asked.wants == Wants::Person { MIN_HELD + 1 } else { MIN_HELD };
        is_typed
            // Only a word for a birth or a death tells of one.
            && !self.asked.of_life
            && !self.speaks(line)
            && line.form == LineForm::Prose
            && missing <= 1
            && held >= least
            && self.asked.names.iter().all(|name| name.iter().any(is_own))
            && (self.asked.wants != Wants::Person || self.names_a_doer(line))
    }

    /// Whether what the question names only says something in a line: `Okafor said`.
    fn speaks(&self, line: &Line<'_>) -> bool {
        let is_name = |word: &Word<'_>| {
            self.asked.terms.iter().any(|term| term.role == Role::Name && term.root == word.root)
        };
        line.words.windows(2).any(|pair| {
            is_name(&pair[0]) && any_word(SPEECH, &pair[1].lower)
                || is_name(&pair[1]) && any_word(SPEECH, &pair[0].lower)
        })
    }

    /// Whether a line names who does something: `carried out by Ada`.
    fn names_a_doer(&self, line: &Line<'_>) -> bool {
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
