//! The form of a question: its answer type, and the words that determine it.

use super::measures;
use super::question::AnswerType;
use super::unspaced;
use super::words::{self, any_word};
use crate::languages::Language;
use crate::token::Token;

mod english;
mod german;

/// What the form of a question reveals.
pub(super) struct Form {
    pub(super) answer_type: AnswerType,
    pub(super) many: bool,
    /// The question word.
    pub(super) asking: Option<usize>,
    /// Words that name the class of the answer.
    pub(super) class: Vec<usize>,
    /// Words that only ask.
    pub(super) skipped: Vec<usize>,
    /// The counted noun.
    pub(super) counted: Option<usize>,
    /// Common words that are specific in this question.
    pub(super) telling: Vec<usize>,
    pub(super) key: Option<usize>,
    pub(super) measure: Option<String>,
    pub(super) acts: bool,
    pub(super) by_noun: bool,
    /// True if it asks for the name of the key word: `Hund` in `Wie heißt der Hund?`
    pub(super) naming: bool,
    /// The preposition behind the key word that ends the question: `in` in `Which language is it written in?`.
    pub(super) stranded: Option<String>,
    /// A key word that the question omits: `contain` in `What is in the box?`.
    pub(super) implied: Option<&'static str>,
}

impl Form {
    pub(super) fn read(words: &[Token<'_>], lower: &str, language: Language) -> Self {
        let form = match language {
            Language::Chinese | Language::Japanese | Language::Korean => Self::unspaced(lower),
            Language::German => Self::german(words),
            _ => Self::english(words),
        };
        form.with_measure_of_nouns(words, lower)
    }

    /// Adds the measure that a noun of the question names: a phone number has digits, a salary is money.
    fn with_measure_of_nouns(mut self, words: &[Token<'_>], lower: &str) -> Self {
        let has = |list: &str| words.iter().any(|word| any_word(list, &word.lower));
        let is_open = matches!(
            self.answer_type,
            AnswerType::Thing | AnswerType::Meaning | AnswerType::Amount { measured: false }
        ) && self.counted.is_none()
            && !self.many;
        let asks_phone = has(words::PHONE_NOUNS)
            || has("phone telephone") && has("number numbers")
            || words::PHONE_NOUNS_UNSPACED.iter().any(|noun| lower.contains(noun));
        if is_open && asks_phone {
            self.answer_type = AnswerType::Amount { measured: true };
            self.measure = Some(measures::PHONE.to_owned());
        } else if self.answer_type == (AnswerType::Amount { measured: false })
            && self.counted.is_none()
            && !has(words::SHARES)
        {
            let is_money = has(words::MONEY_VERBS_GERMAN) || !has("how wie") && has(words::MONEY_NOUNS);
            let of_noun = || words.iter().find_map(|word| measures::measure_of_noun(&word.lower));
            self.measure = match if is_money { Some("expensive") } else { of_noun() } {
                // `the length of the course`
                Some("long") if has(words::LASTING) => Some("lasting".to_owned()),
                measure => measure.map(str::to_owned),
            };
            if self.measure.is_some() {
                self.answer_type = AnswerType::Amount { measured: true };
            }
        }
        self
    }

    fn unspaced(lower: &str) -> Self {
        let (answer_type, many) = unspaced::unspaced_answer_type(lower);
        let measure = words::MEASURING_UNSPACED.iter().find(|word| lower.contains(**word));
        let measure = measure.filter(|_| answer_type == AnswerType::Amount { measured: true });
        let is_inside = ["里", "里面", "中", "内"].iter().any(|inside| {
            ["有什么", "是什么", "有哪些"].iter().any(|asks| lower.contains(&format!("{inside}{asks}")))
        });
        let implied = is_inside.then_some("里面");
        let naming = answer_type == AnswerType::Thing
            && words::NAMING_UNSPACED.iter().any(|asks| lower.contains(asks));
        Self {
            many,
            naming,
            measure: measure.map(|word| (*word).to_owned()),
            implied,
            ..Self::new(answer_type)
        }
    }

    fn new(answer_type: AnswerType) -> Self {
        Self {
            answer_type,
            many: false,
            asking: None,
            class: Vec::new(),
            skipped: Vec::new(),
            counted: None,
            telling: Vec::new(),
            key: None,
            measure: None,
            acts: false,
            by_noun: false,
            naming: false,
            stranded: None,
            implied: None,
        }
    }
}

/// Returns the answer type that a noun asks for.
///
/// - `types`: nouns, separated by spaces, with their answer type.
fn answer_type_of_noun(noun: &str, types: &[(&str, AnswerType)]) -> AnswerType {
    let found = types.iter().find(|(nouns, _)| any_word(nouns, noun));
    found.map_or(AnswerType::Thing, |(_, answer_type)| *answer_type)
}

#[cfg(test)]
mod tests {
    use super::super::question::ParsedQuestion;
    use super::super::roots::Roots;
    use super::*;

    fn check_answer_type(question: &str, answer_type: AnswerType, many: bool) {
        let roots = Roots::of(Language::of_question(question));
        let parsed = ParsedQuestion::read(question, &roots, &|_| false);
        assert_eq!((parsed.answer_type, parsed.many), (answer_type, many), "{question}");
    }

    #[test]
    fn a_question_says_what_kind_of_thing_answers_it() {
        let amount = AnswerType::Amount { measured: false };
        for (question, answer_type, many) in [
            ("Who designed the bridge?", AnswerType::Person, false),
            ("Who is Ada Lovelace?", AnswerType::Meaning, false),
            ("Who were the founders of Larkfen?", AnswerType::Person, true),
            ("When was it built?", AnswerType::Time, false),
            ("In which year was it built?", AnswerType::Time, false),
            ("Where is the bridge?", AnswerType::Place, false),
            ("In which city is the bridge?", AnswerType::Place, false),
            ("How many arches does it have?", amount, false),
            ("How long is it?", AnswerType::Amount { measured: true }, false),
            ("How long ago was it built?", AnswerType::Time, false),
            ("Wie lange ist der Umbau her?", AnswerType::Time, false),
            ("What is the price of the ticket?", AnswerType::Amount { measured: true }, false),
            ("What was the unemployment rate in April?", amount, false),
            ("Why did it fall?", AnswerType::Reason, false),
            ("How do I install it?", AnswerType::Manner, false),
            ("What is Tessel used for?", AnswerType::Meaning, false),
            ("What is the shuttle for?", AnswerType::Meaning, false),
            ("What is Ada famous for?", AnswerType::Thing, false),
            ("What was Ada arrested for?", AnswerType::Thing, false),
            ("What is meant by a berth?", AnswerType::Meaning, false),
            ("What counts as a delay?", AnswerType::Meaning, false),
            ("What is ownership?", AnswerType::Meaning, false),
            ("What is spaced repetition?", AnswerType::Meaning, false),
            ("What is a list?", AnswerType::Meaning, false),
            ("What was in the leather case?", AnswerType::Thing, false),
            ("Which operating systems does it run on?", AnswerType::Thing, true),
            ("What are the three rules of steps?", AnswerType::Thing, true),
            ("Does it support lists?", AnswerType::Truth, false),
            ("Which actors star in the film?", AnswerType::Thing, true),
            ("Wie heißt der Hund?", AnswerType::Person, false),
            ("Wer baute die Orgel?", AnswerType::Person, false),
            ("In welchem Jahr wurde sie gebaut?", AnswerType::Time, false),
            ("Wie viele Tore hatte die Mauer?", amount, false),
            ("Welche Ortsteile gehören zu Ahrenfels?", AnswerType::Thing, true),
            ("Was ist ein Furtkuchen?", AnswerType::Meaning, false),
            ("Was gilt als Verspätung?", AnswerType::Meaning, false),
            ("公司现任总经理是谁？", AnswerType::Person, false),
            ("什么是反渗透？", AnswerType::Meaning, false),
            ("公司有多少员工？", amount, false),
            ("公司的主要客户有哪些？", AnswerType::Thing, true),
            ("为什么不能使用热水？", AnswerType::Reason, false),
        ] {
            check_answer_type(question, answer_type, many);
        }
    }
}
