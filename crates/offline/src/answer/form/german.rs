//! The form of a German question.

use super::super::question::AnswerType;
use super::super::words::{self, any_word};
use super::{Form, answer_type_of_noun};
use crate::languages::Language;
use crate::lexicon::is_stop_word;
use crate::token::Token;

/// Nouns that name the kind of answer.
const NOUNS: &[(&str, AnswerType)] = &[
    (words::AMOUNTS_GERMAN, AnswerType::Amount { measured: false }),
    (words::TIMES_GERMAN, AnswerType::Time),
    (words::PLACES_GERMAN, AnswerType::Place),
    (words::REASON_NOUNS, AnswerType::Reason),
];

impl Form {
    pub(super) fn german(words: &[Token<'_>]) -> Self {
        let word = |at: usize| words.get(at).map_or("", |word: &Token<'_>| word.lower.as_str());
        let mut form = Self::new(AnswerType::Thing);
        let is_asking =
            |word: &Token<'_>| any_word(words::ASKING_GERMAN, &word.lower) || word.lower.starts_with("welch");
        let Some(at) = words.iter().position(is_asking) else {
            if any_word("nenne nennen liste zähle", word(0)) {
                form.many = true;
                form.skipped.push(0);
            } else if !words.is_empty()
                && words[0].is_capital()
                && any_word(words::VERBS_FIRST_GERMAN, word(0))
            {
                form.answer_type = AnswerType::Truth;
            }
            return form;
        };
        form.asking = Some(at);
        let next = word(at + 1);
        match word(at) {
            "wer" | "wen" | "wem" | "wessen" => {
                form.answer_type = AnswerType::Person;
                form.many = at > 0 && word(at - 1) == "aus";
            }
            "wann" => form.answer_type = AnswerType::Time,
            "wo" | "woher" | "wohin" => form.answer_type = AnswerType::Place,
            "warum" | "wieso" | "weshalb" | "weswegen" => form.answer_type = AnswerType::Reason,
            "wieviel" | "wieviele" => form.answer_type = AnswerType::Amount { measured: false },
            "wie" if any_word("viel viele vielen", next) => {
                form.answer_type = AnswerType::Amount { measured: false };
                form.skipped.push(at + 1);
                form.counted =
                    Some(at + 2).filter(|at| next != "viel" && words.get(*at).is_some_and(Token::is_capital));
            }
            // `Wie lange ist das her?`
            "wie" if next == "lange" && words.last().is_some_and(|last| last.lower == "her") => {
                form.answer_type = AnswerType::Time;
                form.skipped.extend([at + 1, words.len() - 1]);
            }
            "wie" if any_word(words::MEASURES_GERMAN, next) => {
                form.answer_type = AnswerType::Amount { measured: true };
                form.measure = Some(next.to_owned());
                form.skipped.push(at + 1);
            }
            "wie" if any_word("heißt heißen hieß hießen lautet lauten", next) => {
                form.skipped.push(at + 1);
                // `Wie heißt ihr Hund?` asks for the name of the noun.
                if any_word("heißt hieß", next) {
                    let noun = (at + 2..words.len()).find(|at| words[*at].is_capital());
                    if noun.is_some() {
                        (form.answer_type, form.naming, form.key) = (AnswerType::Person, true, noun);
                        return form;
                    }
                }
            }
            "wie" => form.answer_type = AnswerType::Manner,
            // `Was tun, wenn es klingelt?`, `Was muss ich tun?`
            "was"
                if any_word("tun machen", next)
                    || any_word("ich wir man", word(at + 2))
                        && words.iter().any(|word| any_word("tun machen", &word.lower)) =>
            {
                form.answer_type = AnswerType::Manner;
            }
            "was" if any_word("kostet kosten kostete kosteten", next) => {
                form.answer_type = AnswerType::Amount { measured: true };
                form.measure = Some("teuer".to_owned());
            }
            "was" if any_word("bedeutet bedeuten heißt", next) => form.answer_type = AnswerType::Meaning,
            // `Was gilt als Verspätung?`
            "was" if next == "gilt" && words.get(at + 2).is_some_and(|behind| behind.lower == "als") => {
                form.answer_type = AnswerType::Meaning;
                form.skipped.push(at + 1);
            }
            "was" if any_word("ist sind war waren", next) => form.read_was(at, words),
            start if start.starts_with("welch") => form.read_welche(at, words),
            _ => {}
        }
        form.key = main_verb(at, &form, words);
        form
    }

    /// Reads what a question with `was ist` asks for.
    fn read_was(&mut self, at: usize, words: &[Token<'_>]) {
        let rest = words.get(at + 2..).unwrap_or_default();
        let nouns: Vec<&Token<'_>> = rest.iter().filter(|word| word.is_capital()).collect();
        let binds = rest.last().is_some_and(|last| last.lower == "tun")
            || rest.iter().any(|word| any_word("der des von vom eines einer in im am beim für", &word.lower));
        let answer_type =
            nouns.first().map_or(AnswerType::Thing, |noun| answer_type_of_noun(&noun.lower, NOUNS));
        self.answer_type = match answer_type {
            AnswerType::Thing if !binds && (1..=2).contains(&nouns.len()) => AnswerType::Meaning,
            answer_type => answer_type,
        };
        self.many = any_word("sind waren", &words[at + 1].lower) && self.answer_type != AnswerType::Meaning;
    }

    /// Reads the class of the answer that a question names: `welche kleine Insel`.
    fn read_welche(&mut self, at: usize, words: &[Token<'_>]) {
        let mut noun = at + 1;
        while words.get(noun).is_some_and(|word| !word.is_capital()) && noun < at + 3 {
            noun += 1;
        }
        if let Some(head) = words.get(noun).filter(|word| word.is_capital()) {
            self.class.push(noun);
            self.answer_type = answer_type_of_noun(&head.lower, NOUNS);
        }
        let plural = words.iter().skip(noun).any(|word| any_word(words::PLURAL_VERBS_GERMAN, &word.lower));
        let plural_noun =
            words.get(noun).is_some_and(|head| head.lower.ends_with("en") || head.lower.ends_with("er"));
        let plural_verb = words.get(noun + 1).is_some_and(|verb| {
            !verb.is_capital() && ["en", "ern", "eln"].iter().any(|ending| verb.lower.ends_with(ending))
        });
        self.many = words[at].lower == "welche" && (plural || plural_noun || plural_verb);
        if self.many {
            self.answer_type = AnswerType::Thing;
        }
    }
}

/// Returns the verb of a German question: a final participle or infinitive, or else the word after the question word and its noun.
fn main_verb(asking: usize, form: &Form, words: &[Token<'_>]) -> Option<usize> {
    const LIGHT: &str = "gilt gelten galt galten beträgt betragen betrug heißt hieß kostet kostete gibt gab dauert dauerte kommt kam macht machte geht ging steht stand liegt lag bedeutet \
        gehört gehören hat haben hatte findet finden";
    let may_be = |at: &usize| {
        let word = &words[*at];
        let lower = word.lower.as_str();
        !word.is_capital()
            && !is_stop_word(lower)
            && !Language::German.is_function_word(lower)
            && !any_word(LIGHT, lower)
            && !any_word(words::VERBS_FIRST_GERMAN, lower)
            && lower.chars().all(char::is_alphabetic)
    };
    let last = words.len() - 1;
    let ends_as_verb = ["t", "en", "ern", "eln"].iter().any(|ending| words[last].lower.ends_with(ending));
    let behind = form.class.last().copied().unwrap_or(asking) + 1;
    let first = Some(behind).filter(|at| *at < words.len() && !form.skipped.contains(at) && may_be(at));
    Some(last).filter(|at| *at > asking + 1 && ends_as_verb && may_be(at)).or(first)
}
