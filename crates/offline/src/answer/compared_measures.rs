//! What a comparing word measures: `cheaper` asks for prices, `older` for ages or dates.

use super::question::{AnswerType, ParsedQuestion, Role};
use super::words::{AMOUNTS_ENGLISH, AMOUNTS_GERMAN, any_word};

/// Comparing words and the measuring word of the same property; those without one compare any number.
const COMPARATIVES: &[(&str, Option<&str>)] = &[
    ("longer longest shorter shortest länger längste kürzer kürzeste", Some("lasting")),
    ("quieter quietest louder loudest noisier leiser lauter", Some("loud")),
    ("cheaper cheapest dearer dearest pricier expensive teurer teuer billiger günstiger", Some("expensive")),
    ("heavier heaviest lighter lightest schwerer leichter", Some("heavy")),
    ("deeper deepest wider widest thicker breiter tiefer dicker", Some("deep")),
    ("taller tallest", Some("tall")),
    ("warmer hotter colder cooler wärmer kälter heißer", Some("hot")),
    ("faster fastest slower quicker schneller langsamer", Some("fast")),
    ("farther nearer closer weiter näher", Some("far")),
    ("larger largest bigger biggest smaller smallest größer kleiner", Some("large")),
    ("higher highest lower lowest höher niedriger", Some("high")),
    ("more most less fewer fewest mehr weniger better worse besser stronger", None),
];
/// Words that compare times.
const TIMES: &str =
    "first last earlier later sooner older younger oldest youngest früher später älter jünger zuerst zuletzt";
/// Words that ask for prices.
const PRICES: &str = "cost costs pay pays price prices fee fees charge charges fare fares rent kosten kostet kostete zahlen zahlt preis preise \
    gebühr gebühren miete";
/// The same as [`COMPARATIVES`] for scripts without spaces.
const UNSPACED: &[(&str, Option<&str>)] = &[
    ("便宜", Some("多少钱")),
    ("更贵", Some("多少钱")),
    ("更长", Some("多长")),
    ("更高", Some("多高")),
    ("更重", Some("多重")),
    ("更快", None),
    ("更多", None),
    ("更大", Some("多大")),
];

/// True if a lowercase word compares things.
pub(super) fn is_comparative(word: &str) -> bool {
    any_word(TIMES, word) || COMPARATIVES.iter().any(|(words, _)| any_word(words, word))
}

/// Returns the question for the compared values; `None` if it asks for no values.
pub(super) fn question_for_values(question: &ParsedQuestion) -> Option<ParsedQuestion> {
    if matches!(question.answer_type, AnswerType::Amount { .. } | AnswerType::Time) {
        return Some(question.clone());
    }
    let words = || question.lower.split(|c: char| !c.is_alphanumeric());
    let is_in_question = |comparing: &str| words().any(|word| any_word(comparing, word));
    let found = COMPARATIVES.iter().find(|(comparing, _)| is_in_question(comparing));
    let unspaced = || UNSPACED.iter().find(|(comparing, _)| question.lower.contains(comparing));
    let mut values = question.clone();
    values.counted = values.counted.or_else(|| compared_number(question));
    values
        .terms
        .iter_mut()
        .filter(|term| is_comparative(&term.word))
        .for_each(|term| term.role = Role::Common);
    match found.or_else(unspaced) {
        Some((_, measure)) => {
            values.answer_type = AnswerType::Amount { measured: measure.is_some() };
            values.measure = measure.map(str::to_owned);
        }
        None if ["多少", "几"].iter().any(|asking| question.lower.contains(asking)) => {
            values.answer_type = AnswerType::Amount { measured: false };
        }
        None if is_in_question(PRICES) => {
            values.answer_type = AnswerType::Amount { measured: true };
            values.measure = Some("expensive".to_owned());
        }
        None if is_in_question(AMOUNTS_ENGLISH) || is_in_question(AMOUNTS_GERMAN) => {
            values.answer_type = AnswerType::Amount { measured: false };
        }
        None if is_in_question(TIMES) => values.answer_type = AnswerType::Time,
        None => return None,
    }
    Some(values)
}

/// Returns the term after a comparing word without a measure: `employees` in `more employees`.
fn compared_number(question: &ParsedQuestion) -> Option<usize> {
    const OF_NUMBER: &str = "more most less fewer fewest mehr weniger";
    let mut words = question.lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.find(|word| any_word(OF_NUMBER, word))?;
    let next = words.next()?;
    question.terms.iter().position(|term| term.word == next && term.role == Role::Relation)
}
