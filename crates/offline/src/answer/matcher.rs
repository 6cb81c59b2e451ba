//! How far a term of a question stands in a line.

use super::asked::{QuestionParts, Role, Term, Wants};
use super::evidence::Passages;
use super::lines::{Line, LineForm, Word};
use super::words::{LIMITS, PRICED, any_word};
use super::{kinds, kinship, measures};
use crate::languages::Language;

/// What a verb counts where only who does it or what is done is named, and how such words end.
const AS_AGENT: f32 = 0.5;
const AGENTS: [&str; 5] = ["or", "ors", "er", "ers", "erin"];
const DEEDS: [&str; 2] = ["ment", "ments"];
/// What a name counts that tells more about the word joined to it.
const IN_COMPOUND: f32 = 0.5;
/// What a word counts that tells the same in other words.
const OTHER_WORDS: f32 = 0.8;

/// A term of a question, with all that is the same for every line.
pub(super) struct Matcher<'q> {
    reading: &'q Passages<'q>,
    asked: &'q QuestionParts,
    term: &'q Term,
    /// What is asked for, where the term tells what is asked. It is judged more strictly: `new-born` does not tell of a birth.
    key: Option<Wants>,
    /// Words that tell the same as a term that is looked for as it is.
    relatives: Vec<&'static str>,
    /// Words by which a text says that something is the most or least that may be, as the term does.
    limits: Vec<&'static str>,
    /// Whether it asks for a price, so that any sum of money counts.
    is_price: bool,
    /// Whether it asks about a birth, which the years of a life tell: `(1815 - 1852)`.
    is_birth: bool,
    /// Whether it asks about a death, which they tell too.
    is_death: bool,
    /// Whether it asks about a death, which `killed` tells too.
    is_dying: bool,
    /// Whether it asks who wrote, which an author behind a title tells too.
    is_writing: bool,
}

impl<'q> Matcher<'q> {
    /// - `at`: the place of the term among those of the question.
    pub(super) fn of(reading: &'q Passages<'q>, asked: &'q QuestionParts, at: usize) -> Self {
        let term = &asked.terms[at];
        let key = (asked.key == Some(at)).then_some(asked.wants);
        let is_of = |word: &str| {
            let families = reading.roots.families(&reading.roots.root(word));
            term.families.iter().any(|family| families.contains(family))
        };
        let by_years = key != Some(Wants::Place);
        let limits = LIMITS.iter().filter(|(words, _)| any_word(words, &term.word));
        Self {
            reading,
            asked,
            term,
            key,
            relatives: if term.unspaced { reading.roots.relatives(&term.families) } else { Vec::new() },
            limits: limits.flat_map(|(_, marks)| marks.iter().copied()).collect(),
            is_price: matches!(asked.wants, Wants::Amount { .. }) && any_word(PRICED, &term.word),
            is_birth: by_years && (is_of("born") || is_of("geboren")),
            is_death: by_years && (is_of("died") || is_of("gestorben")),
            is_dying: is_of("died"),
            is_writing: is_of("wrote"),
        }
    }

    /// How far the term stands in a line: 1 as it is, less in other words, 0 not at all.
    pub(super) fn held(&self, line: &Line<'_>) -> f32 {
        if self.term.unspaced {
            if line.text.contains(&self.term.word) {
                return 1.0;
            }
            let is_there = self.relatives.iter().any(|word| line.text.contains(word)) || self.is_limit(line);
            return if is_there { OTHER_WORDS } else { 0.0 };
        }
        let in_other_words = if self.is_told(line) { OTHER_WORDS } else { 0.0 };
        (0..line.words.len()).map(|at| self.likeness(line, at)).fold(in_other_words, f32::max)
    }

    /// Whether a line says that something is the most or least that may be, as the term does.
    fn is_limit(&self, line: &Line<'_>) -> bool {
        !self.limits.is_empty() && {
            let text = kinds::spaced(&line.text.to_lowercase());
            self.limits.iter().any(|mark| text.contains(mark))
        }
    }

    /// Whether a line tells what the term does without a word for it.
    fn is_told(&self, line: &Line<'_>) -> bool {
        let is_killed =
            || line.words.iter().any(|word| any_word("killed assassinated murdered", &word.lower));
        self.is_limit(line)
            || self.is_price && measures::holds_money(line)
            || self.key.is_some() && !kinship::told_inversely(self.asked, line).is_empty()
            || self.is_birth && kinds::gives_life(line, false)
            || self.is_death && kinds::gives_life(line, true)
            || self.is_dying && is_killed()
            || self.is_writing && kinds::credits(line)
    }

    /// How far a word of a line is the term.
    fn likeness(&self, line: &Line<'_>, at: usize) -> f32 {
        let (word, term, language) = (&line.words[at], self.term, self.reading.language);
        if self.key.is_some() && (word.is_joined || is_figure(line, word) || self.is_in_name(line, at)) {
            return 0.0;
        }
        let like = match term.role {
            Role::Number => f32::from(u8::from(word.lower == term.word)),
            // `Bremsbeläge` are no `Bremsen`.
            _ if term.is_sort && word.root.len() > term.root.len() && word.root.starts_with(&term.root) => {
                0.0
            }
            // `die meisten` are no part of `Bürgermeister`.
            _ if language == Language::German && !word.is_capital() && term.root.len() > word.root.len() => {
                0.0
            }
            _ => self.reading.roots.likeness(&term.root, &word.root),
        };
        let is_related = || term.role != Role::Name && term.is_related(word);
        let like = match like > 0.0 {
            true => like,
            false if is_related() => OTHER_WORDS,
            false => return 0.0,
        };
        // `The Cratchits` are not Bob Cratchit.
        let is_family = language == Language::English
            && term.role == Role::Name
            && word.lower.strip_suffix('s') == Some(&term.word);
        let like = if is_family { IN_COMPOUND * like } else { like };
        let like = if self.is_agent(word) { AS_AGENT * like } else { like };
        // `Rust-Compiler` is not Rust.
        let tells_more = term.role == Role::Name && word.joins && !word.is_joined;
        if tells_more { IN_COMPOUND * like } else { like }
    }

    /// Whether a word says only who does what is asked, or that it is done: a line that says only that a visit takes place does not
    /// name the visitor.
    fn is_agent(&self, word: &Word<'_>) -> bool {
        let is_end = |ending: &&str| word.lower.ends_with(ending) && !self.term.word.ends_with(ending);
        let may_be_person = matches!(self.key, Some(Wants::Person | Wants::Meaning));
        // `order` is no agent of `ordered`.
        self.key.is_some()
            && !self.term.word.starts_with(&word.lower)
            && match self.reading.language {
                Language::English => {
                    self.key == Some(Wants::Person) && DEEDS.iter().any(is_end)
                        || (AGENTS.iter().any(is_end) && !may_be_person)
                }
                Language::German => word.is_capital() && AGENTS.iter().any(is_end) && !may_be_person,
                _ => false,
            }
    }

    /// Whether a word is part of a name: `Teaching Award` does not say whom a person taught.
    fn is_in_name(&self, line: &Line<'_>, at: usize) -> bool {
        let is_capital = |at: usize| at > 0 && line.words.get(at).is_some_and(Word::is_capital);
        self.reading.language == Language::English
            && line.form == LineForm::Prose
            && is_capital(at)
            && (is_capital(at - 1) || is_capital(at + 1))
    }
}

/// `born of the wind` tells of no birth.
fn is_figure(line: &Line<'_>, word: &Word<'_>) -> bool {
    let behind = || line.text.get(word.at + word.text.len()..).unwrap_or_default();
    word.lower == "born" && behind().starts_with(" of the ")
}
