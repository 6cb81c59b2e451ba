//! Decides whether a line is about the subject of the question, and not about another person or thing.

use std::collections::BTreeSet;

use super::evidence::{EVERYWHERE, Evidence};
use super::lines::{Line, LineForm, Word};
use super::question::{AnswerType, Role, Term};
use super::words::{self, any_word};
use super::{kinds, rows};
use crate::lexicon::is_stop_word;
use crate::scripts::has_no_spaces;

/// Minimum own share of a line if only its passage names the subject of the question.
const MIN_OWN: f32 = 0.6;

impl Evidence<'_, '_> {
    /// True if nothing ties a name to a line except that most passages, including this one, contain the name.
    fn is_far(&self, line: usize, name: &BTreeSet<usize>) -> bool {
        name.iter().all(|term| self.strength[line][*term] <= EVERYWHERE)
    }

    /// The same for any name of the question.
    pub(super) fn is_far_from_a_name(&self, line: usize) -> bool {
        self.question.names.iter().any(|name| self.is_far(line, name))
    }

    /// True if nothing else ties a name to a line, and the line contains little of the question.
    fn is_far_from_names(&self, line: usize) -> bool {
        const OTHERS: &str = "he she him her his hers er ihn ihm";
        let far = |name: &BTreeSet<usize>| self.is_far(line, name);
        if self.question.possessive && self.question.names.iter().any(far) {
            return true;
        }
        // A pronoun refers to a nearer name, and an instruction names its subject.
        let is_elsewhere = || {
            let words = &self.reading.lines[line].words;
            // A table row is about its own content.
            self.question.answer_type == AnswerType::Manner
                || self.reading.lines[line].form == LineForm::Row
                || self.reading.lines[line].begins_with_pronoun
                || words.iter().any(|word| any_word(OTHERS, &word.lower))
        };
        if self.question.names.iter().any(far) && (is_elsewhere() || self.is_about_others(line)) {
            return true;
        }
        self.question.names.iter().any(far) && self.own_share(line) < MIN_OWN
            || (self.question.names.iter().any(far)
                && !self.question.terms.iter().any(|term| term.role == Role::Relation))
    }

    /// True if a line mentions a birth or death but none of the people in the question: `where the sound is born`.
    fn is_about_other_life(&self, at: usize) -> bool {
        const PERSONS: &str = "he she his her hers er sie sein seine ihr ihre ihren who wer der die";
        let line = &self.reading.lines[at];
        self.question.of_life
            && !self.question.names.is_empty()
            && line.form == LineForm::Prose
            && !has_no_spaces(line.text)
            && !self.question.names.iter().any(|name| name.iter().any(|term| self.direct[at][*term] > 0.0))
            && !line.words.iter().any(|word| any_word(PERSONS, &word.lower))
    }

    /// True if a line negates what the question asks about and the question does not: `has never owned a patent`.
    ///
    /// How to do something, why, and whether may also be answered by a negation.
    pub(super) fn is_denied(&self, at: usize) -> bool {
        const NEAR: usize = 3;
        // `not only`, `not before nine`
        const LIMITS: &str = "only until before just nur vor bis erst";
        let question = self.question;
        let is_open = question.answer_type.is_typed() || question.answer_type == AnswerType::Thing;
        if !is_open || question.denies {
            return false;
        }
        let words = &self.reading.lines[at].words;
        let is_denied = |at: usize| {
            let before = words[at.saturating_sub(NEAR)..at].iter().rev();
            let limited = words[at.saturating_sub(NEAR)..words.len().min(at + 2)].iter();
            before.take_while(|word| !self.is_in_question(word)).any(|word| words::is_negation(&word.lower))
                && !limited.into_iter().any(|word| any_word(LIMITS, &word.lower))
        };
        let denies = |term: &Term| {
            // Synonyms count only where the word itself does not occur.
            let is_same = |at: &usize| self.reading.roots.likeness(&term.root, &words[*at].root) > 0.0;
            let occurs = (0..words.len()).any(|at| is_same(&at));
            let is_place = |at: &usize| if occurs { is_same(at) } else { self.is_of(term, &words[*at]) };
            let mut places = (0..words.len()).filter(is_place).peekable();
            places.peek().is_some() && places.all(is_denied)
        };
        question.terms.iter().any(|term| term.role == Role::Relation && denies(term))
    }

    /// True if a line without the subject of the question is about another person: its speaker, its reader, or another name if the
    /// question does not ask for one.
    fn is_about_others(&self, line: usize) -> bool {
        const OTHERS: &str = "we us our you your yours wir uns unser unsere du dich dir dein deine";
        let line = &self.reading.lines[line];
        let addresses =
            |word: &Word<'_>| words::is_first_person(&word.lower) || any_word(OTHERS, &word.lower);
        let is_speech = line.words.iter().any(addresses);
        let asks_for_names = matches!(self.question.answer_type, AnswerType::Person | AnswerType::Place);
        is_speech || (!asks_for_names && kinds::names_person(self.question, line))
    }

    /// True if speakers say the line about themselves, and only an earlier line names the subject of the question.
    fn is_said_by_others(&self, at: usize) -> bool {
        let line = &self.reading.lines[at];
        self.named_by[at].is_some()
            && self.named_by[at] != line.turn
            && !self.holds_names_itself(at)
            && line.words.iter().any(|word| words::is_first_person(&word.lower))
    }

    /// True if a line ends with the subject of the question as its speaker and has no pronoun for it: `Ada would come, Okafor said.`
    fn names_subject_only_as_speaker(&self, at: usize) -> bool {
        let words = &self.reading.lines[at].words;
        let is_subject = |word: &Word<'_>| {
            self.question.terms.iter().any(|term| term.role == Role::Name && term.root == word.root)
        };
        let is_report = |word: &Word<'_>| words::is_report(&word.lower);
        let behind =
            words.iter().rev().skip_while(|word| is_report(word)).skip_while(|word| is_subject(word));
        let told = behind.skip_while(|word| is_report(word)).count();
        let tag = &words[told..];
        let ends_with_speaker = tag.iter().any(is_report) && tag.iter().any(is_subject);
        let refers =
            |word: &Word<'_>| words::is_first_person(&word.lower) || any_word(words::PRONOUNS, &word.lower);
        ends_with_speaker
            && self.question.speaker.is_none()
            && !words.iter().any(refers)
            && !words[..told].iter().any(is_subject)
    }

    /// True if the requested relation belongs to another name in this line: `the niece's sister` is not Ada's.
    pub(super) fn is_owned_by_others(&self, at: usize) -> bool {
        let owned = self.question.possessive || self.question.of_name;
        let Some(key) = self.question.key.filter(|_| owned).map(|key| &self.question.terms[key]) else {
            return false;
        };
        let line = &self.reading.lines[at];
        let keys = (1..line.words.len()).filter(|at| line.words[*at].root == key.root);
        let mut owners = keys
            .filter(|at| {
                let before = line.text[..line.words[*at].at].trim_end();
                before.ends_with("'s") || before.ends_with("’s")
            })
            .map(|at| &line.words[at - 1])
            .peekable();
        let is_in_question = |word: &Word<'_>| {
            let bare = word.lower.trim_end_matches("'s").trim_end_matches("’s");
            self.question
                .terms
                .iter()
                .any(|term| term.role == Role::Name && (term.root == word.root || term.word == bare))
        };
        if owners.peek().is_some() && owners.all(|owner| !is_in_question(owner)) {
            return true;
        }
        let is_key = |word: &Word<'_>| key.is_word(word);
        self.is_owned_by_nearer_name(line, &is_key, &is_in_question)
            || names_subject_only_as_owner(line, &is_key, &is_in_question)
    }

    /// True if another name is nearer to each `his brother` of a line than the name in the question.
    fn is_owned_by_nearer_name(
        &self,
        line: &Line<'_>,
        is_key: &dyn Fn(&Word<'_>) -> bool,
        is_in_question: &dyn Fn(&Word<'_>) -> bool,
    ) -> bool {
        let words = &line.words;
        let others = self.places_of_names(line);
        let owned = |at: &usize| is_key(&words[at + 1]) && any_word("his her their", &words[*at].lower);
        let mut pronouns = (0..words.len().saturating_sub(1)).filter(owned).peekable();
        let is_of_other = |at: usize| {
            let other = others.iter().rev().find(|other| **other < at);
            let own = (0..at).rev().find(|own| is_in_question(&words[*own]));
            other.is_some_and(|other| own.is_none_or(|own| own < *other))
        };
        let is_alone =
            !(0..words.len()).any(|at| is_in_question(&words[at]) && words.get(at + 1).is_some_and(is_key));
        pronouns.peek().is_some() && is_alone && pronouns.all(is_of_other)
    }

    /// True if others do in this line what the question asks of a name: `the voices died away` is not Ada's death.
    pub(super) fn is_action_of_others(&self, at: usize) -> bool {
        const HELPS: &str = "had has have was were is are be been will would can could did do does not never also then soon \
            later ever first finally only just already still";
        const ANYBODY: &str = "everybody everyone nobody somebody someone anyone others people men women";
        let Some(key) =
            self.question.key.filter(|_| self.question.name_acts).map(|key| &self.question.terms[key])
        else {
            return false;
        };
        let line = &self.reading.lines[at];
        let words = &line.words;
        let is_key = |at: &usize| key.is_word(&words[*at]);
        let mut verbs = (1..words.len()).filter(is_key).peekable();
        // `in their lives` does not say where a person lives.
        let is_thing = |verb: usize| {
            self.question.answer_type == AnswerType::Place
                && words[verb].root == key.root
                && any_word("the a an his her its their our my your of", &words[verb - 1].lower)
        };
        let is_of_other = |verb: usize| {
            if is_thing(verb) {
                return true;
            }
            let subject = (0..verb).rev().find(|at| !any_word(HELPS, &words[*at].lower));
            subject.is_some_and(|subject| {
                let word = &words[subject];
                let adjoins = |at: usize| {
                    let end = words[at].at + words[at].text.len();
                    line.text.get(end..words[at + 1].at) == Some(" ")
                };
                // `the Okafor family`
                let is_part = subject.checked_sub(1).is_some_and(|before| {
                    adjoins(before) && (self.is_in_question(&words[before]) || words[before].is_capital())
                });
                let is_noun = !is_stop_word(&word.lower)
                    && !word.is_capital()
                    && !word.has_digit()
                    && !["ly", "ing", "ed"].iter().any(|ending| word.lower.ends_with(ending))
                    && !words::is_time(&word.lower)
                    && !any_word(words::GENERIC_NOUNS, &word.lower)
                    && !is_part;
                adjoins(subject) && !self.is_in_question(word) && (is_noun || any_word(ANYBODY, &word.lower))
            })
        };
        verbs.peek().is_some() && verbs.all(is_of_other)
    }

    /// True if someone other than the speaker in the question says the line.
    fn is_not_said_by_speaker(&self, at: usize) -> bool {
        const NEAR: usize = 4;
        let Some(speaker) = &self.question.speaker else { return false };
        let words = &self.reading.lines[at].words;
        let is_speaker = |word: &Word<'_>| {
            speaker
                .iter()
                .any(|term| self.reading.roots.likeness(&self.question.terms[*term].root, &word.root) > 0.0)
        };
        let says = |word: &Word<'_>| any_word(words::SPEECH, &word.lower);
        if !self.question.names.iter().all(|name| name.iter().any(|term| self.direct[at][*term] > 0.0)) {
            return true;
        }
        let names: Vec<usize> = (0..words.len()).filter(|at| is_speaker(&words[*at])).collect();
        let verbs = (0..words.len()).filter(|at| says(&words[*at]));
        !verbs.into_iter().any(|verb| names.iter().any(|name| name.abs_diff(verb) <= NEAR))
    }

    /// True if the question contains a negation and the line does not: `Where are no ducks?`.
    fn lacks_denial(&self, at: usize) -> bool {
        let is_open = !matches!(
            self.question.answer_type,
            AnswerType::Reason | AnswerType::Manner | AnswerType::Truth | AnswerType::Meaning
        );
        let words = &self.reading.lines[at].words;
        self.question.denies && is_open && !words.iter().any(|word| words::is_denial(&word.lower))
    }

    /// True if the line is about something other than the subject of the question.
    pub(super) fn is_of_others(&self, at: usize) -> bool {
        self.is_far_from_names(at)
            || self.is_owned_by_others(at)
            || self.is_action_of_others(at)
            || self.is_said_by_others(at)
            || self.names_subject_only_as_speaker(at)
            || self.is_not_said_by_speaker(at)
            || self.lacks_denial(at)
            || self.is_denied(at)
            || self.is_about_other_life(at)
            || rows::is_of_other_subject(self, at)
    }
}

/// True if a line names the subject only as the owner of something else: `Ada's sister` for a question about Ada's husband.
fn names_subject_only_as_owner(
    line: &Line<'_>,
    is_key: &dyn Fn(&Word<'_>) -> bool,
    is_in_question: &dyn Fn(&Word<'_>) -> bool,
) -> bool {
    const NEAR: usize = 2;
    let mut places = (0..line.words.len()).filter(|at| is_in_question(&line.words[*at])).peekable();
    places.peek().is_some()
        && places.all(|at| {
            let word = &line.words[at];
            let behind = line.text.get(word.at + word.text.len()..).unwrap_or_default();
            (behind.starts_with("'s ") || behind.starts_with("’s "))
                && !line.words.iter().skip(at + 1).take(NEAR).any(is_key)
        })
}
