//! The strength of a term of a question in a line.

use super::evidence::Passages;
use super::families::{is_close, share_close};
use super::lines::{Line, LineForm, Word};
use super::question::{AnswerType, ParsedQuestion, Role, Term};
use super::ranges::Quantity;
use super::words::{LIMITS, PRICED, any_word};
use super::{kinds, kinship, measures};
use crate::dates::decade;
use crate::languages::Language;

/// Strength of a verb if a line names only its agent or the action, and the endings of such nouns.
const AS_AGENT: f32 = 0.5;
const AGENTS: [&str; 5] = ["or", "ors", "er", "ers", "erin"];
const ACTIONS: [&str; 2] = ["ment", "ments"];
/// Strength of a name that only modifies the word joined to it.
const IN_COMPOUND: f32 = 0.5;
/// Strength of a word that is expressed in other words.
const OTHER_WORDS: f32 = 0.8;
/// The same by a word that means nearly the same in some texts only: less than [`IS_THERE`](super::evidence::IS_THERE).
const LOOSE_WORDS: f32 = 0.5;

/// A term of a question, with everything that is the same for all lines.
pub(super) struct Matcher<'q> {
    reading: &'q Passages<'q>,
    question: &'q ParsedQuestion,
    term: &'q Term,
    /// The answer type if the term is the key word, which is matched more strictly: `new-born` is not a birth.
    key: Option<AnswerType>,
    /// Close and loose synonyms of a term that is searched for verbatim.
    relatives: [Vec<&'static str>; 2],
    /// Expressions for a maximum or minimum, if the term means that.
    limits: Vec<&'static str>,
    /// True if it asks for a price, which any amount of money expresses.
    is_price: bool,
    /// The first year of the decade that the term names.
    decade: Option<u32>,
    /// The number of the term, which a range may contain.
    number: Option<Quantity<'q>>,
    /// True if it asks about a birth, which the years of a life also express: `(1815 - 1852)`.
    is_birth: bool,
    /// True if it asks about a death, which these years also express.
    is_death: bool,
    /// True if it asks about a death, which `killed` also expresses.
    is_dying: bool,
    /// True if it asks who wrote something, which an author after a title also expresses.
    is_writing: bool,
}

impl<'q> Matcher<'q> {
    /// - `at`: the index of the term in the question.
    pub(super) fn of(reading: &'q Passages<'q>, question: &'q ParsedQuestion, at: usize) -> Self {
        let term = &question.terms[at];
        let key = (question.key == Some(at)).then_some(question.answer_type);
        let is_of =
            |word: &str| share_close(&term.families, &reading.roots.families(&reading.roots.root(word)));
        let families = term.families.iter().copied().filter(|_| term.unspaced);
        let (close, loose): (Vec<u16>, Vec<u16>) = families.partition(|family| is_close(*family));
        let by_years = key != Some(AnswerType::Place);
        let limits = LIMITS.iter().filter(|(words, _)| any_word(words, &term.word));
        Self {
            reading,
            question,
            term,
            key,
            relatives: [close, loose].map(|families| reading.roots.relatives(&families)),
            limits: limits.flat_map(|(_, marks)| marks.iter().copied()).collect(),
            is_price: matches!(question.answer_type, AnswerType::Amount { .. })
                && any_word(PRICED, &term.word),
            decade: decade(&term.word),
            number: Quantity::of(&question.lower, &term.word, term.unspaced),
            is_birth: by_years && (is_of("born") || is_of("geboren")),
            is_death: by_years && (is_of("died") || is_of("gestorben")),
            is_dying: is_of("died"),
            is_writing: is_of("wrote"),
        }
    }

    /// Returns the strength of the term in a line: 1 if it occurs, less if it is expressed in other words, 0 otherwise.
    pub(super) fn strength(&self, line: &Line<'_>) -> f32 {
        if self.term.unspaced {
            if line.text.contains(&self.term.word) {
                return 1.0;
            }
            let [close, loose] =
                self.relatives.each_ref().map(|words| words.iter().any(|word| line.text.contains(word)));
            return match () {
                () if close || self.is_limit(line) || self.is_in_range(line) => OTHER_WORDS,
                () if loose => LOOSE_WORDS,
                () => 0.0,
            };
        }
        let in_other_words = if self.is_implied(line) { OTHER_WORDS } else { 0.0 };
        (0..line.words.len()).map(|at| self.likeness(line, at)).fold(in_other_words, f32::max)
    }

    /// True if a line expresses the maximum or minimum that the term asks for.
    fn is_limit(&self, line: &Line<'_>) -> bool {
        !self.limits.is_empty() && {
            let text = kinds::spaced(&line.text.to_lowercase());
            self.limits.iter().any(|mark| text.contains(mark))
        }
    }

    /// True if a line contains a range with the number of the term.
    fn is_in_range(&self, line: &Line<'_>) -> bool {
        self.number.is_some_and(|number| number.is_in_range(line.text))
    }

    /// True if a line contains a year of the decade that the term names.
    fn is_in_decade(&self, line: &Line<'_>) -> bool {
        let year = |word: &Word<'_>| word.lower.parse().ok().filter(|year: &u32| *year >= 1000);
        self.decade.is_some_and(|decade| {
            line.words.iter().filter_map(year).any(|year| (decade..decade + 10).contains(&year))
        })
    }

    /// True if a line expresses the term without a word for it.
    fn is_implied(&self, line: &Line<'_>) -> bool {
        let is_killed =
            || line.words.iter().any(|word| any_word("killed assassinated murdered", &word.lower));
        self.is_limit(line)
            || self.is_in_decade(line)
            || self.is_in_range(line)
            || self.is_price && measures::holds_money(line)
            || self.key.is_some() && !kinship::inverse_words(self.question, line).is_empty()
            || self.is_birth && kinds::gives_life_years(line, false)
            || self.is_death && kinds::gives_life_years(line, true)
            || self.is_dying && is_killed()
            || self.is_writing && kinds::credits(line)
    }

    /// Returns how well a word of a line matches the term.
    fn likeness(&self, line: &Line<'_>, at: usize) -> f32 {
        let (word, term, language) = (&line.words[at], self.term, self.reading.language);
        if self.key.is_some() && (word.is_joined || is_figure(line, word) || self.is_in_name(line, at)) {
            return 0.0;
        }
        let like = match term.role {
            Role::Number => f32::from(u8::from(word.lower == term.word)),
            // `Bremsbeläge` are not `Bremsen`.
            _ if term.is_class && word.root.len() > term.root.len() && word.root.starts_with(&term.root) => {
                0.0
            }
            // `meisten` in `die meisten` is not part of `Bürgermeister`.
            _ if language == Language::German && !word.is_capital() && term.root.len() > word.root.len() => {
                0.0
            }
            _ => self.reading.roots.likeness(&term.root, &word.root),
        };
        let like = match () {
            () if like > 0.0 => like,
            () if term.role == Role::Name => return 0.0,
            () if term.is_related(word) => OTHER_WORDS,
            () if term.is_loosely_related(word) => LOOSE_WORDS,
            () => return 0.0,
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

    /// True if a word names only the agent or the action of the key word: a line that says only that a visit takes place does not
    /// name the visitor.
    fn is_agent(&self, word: &Word<'_>) -> bool {
        let is_end = |ending: &&str| word.lower.ends_with(ending) && !self.term.word.ends_with(ending);
        let may_be_person = matches!(self.key, Some(AnswerType::Person | AnswerType::Meaning));
        // `order` is not the agent of `ordered`.
        self.key.is_some()
            && !self.term.word.starts_with(&word.lower)
            && match self.reading.language {
                Language::English => {
                    self.key == Some(AnswerType::Person) && ACTIONS.iter().any(is_end)
                        || (AGENTS.iter().any(is_end) && !may_be_person)
                }
                Language::German => word.is_capital() && AGENTS.iter().any(is_end) && !may_be_person,
                _ => false,
            }
    }

    /// True if a word is part of a name: `Teaching Award` does not say whom a person taught.
    fn is_in_name(&self, line: &Line<'_>, at: usize) -> bool {
        let is_capital = |at: usize| at > 0 && line.words.get(at).is_some_and(Word::is_capital);
        self.reading.language == Language::English
            && line.form == LineForm::Prose
            && is_capital(at)
            && (is_capital(at - 1) || is_capital(at + 1))
    }
}

/// True for `born of the wind`, which is not a birth.
fn is_figure(line: &Line<'_>, word: &Word<'_>) -> bool {
    let behind = || line.text.get(word.at + word.text.len()..).unwrap_or_default();
    word.lower == "born" && behind().starts_with(" of the ")
}
