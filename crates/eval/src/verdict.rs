//! Verdicts on answers without an LLM: right, wrong, or a right or wrong refusal.

use std::collections::BTreeMap;

use graphloom_engine::query::AnswerKind;
use serde::{Deserialize, Serialize};

use crate::answer::{bare, normalised_words};
use crate::set::{ExpectedKind, SetQuestion};

/// The verdict on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The answer has all required parts, or correctly refuses.
    Correct,
    /// The answer has some of the parts, or the parts are in the closest passages.
    Partly,
    /// The answer has none of the parts.
    Wrong,
    /// The documents contain the answer, but it is neither in the answer nor in the closest passages.
    WronglyRefused,
    /// The documents do not contain the answer, but a sentence is returned as the answer.
    WronglyAnswered,
}

/// Number of answers by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// [`Verdict::Correct`].
    pub correct: usize,
    /// [`Verdict::Partly`].
    pub partly: usize,
    /// [`Verdict::Wrong`].
    pub wrong: usize,
    /// [`Verdict::WronglyRefused`].
    pub wrongly_refused: usize,
    /// [`Verdict::WronglyAnswered`].
    pub wrongly_answered: usize,
}

/// Returns the verdict on an answer without an LLM; `None` if the set does not define a verdict.
///
/// - `kind`: `None` if the question failed.
/// - A part is present if its normalised words occur consecutively in the answer.
pub fn verdict(question: &SetQuestion, kind: Option<AnswerKind>, text: &str) -> Option<Verdict> {
    let expected = &question.expected;
    let answers = (!question.answers.is_empty()).then(|| question.answers.clone());
    let parts: Vec<Vec<String>> = match expected.parts.is_empty() {
        true => answers.into_iter().collect(),
        false => expected.parts.clone(),
    };
    let words = normalised_words(&bare(text));
    let holds = |phrase: &String| {
        let phrase = normalised_words(phrase);
        !phrase.is_empty() && words.windows(phrase.len()).any(|window| window == phrase)
    };
    let there = parts.iter().filter(|ways| ways.iter().any(holds)).count();
    let is_whole = there == parts.len();
    match expected.kind {
        ExpectedKind::Answer if parts.is_empty() => None,
        ExpectedKind::Answer => Some(match kind {
            Some(AnswerKind::Answer) if expected.never.iter().any(holds) || there == 0 => Verdict::Wrong,
            Some(AnswerKind::Answer) if is_whole => Verdict::Correct,
            Some(AnswerKind::Answer) => Verdict::Partly,
            Some(AnswerKind::Closest | AnswerKind::Overview) if there > 0 => Verdict::Partly,
            Some(_) | None => Verdict::WronglyRefused,
        }),
        ExpectedKind::Overview => Some(match kind {
            Some(AnswerKind::Overview) if is_whole => Verdict::Correct,
            Some(AnswerKind::Overview) if there > 0 => Verdict::Partly,
            Some(AnswerKind::Overview | AnswerKind::Answer) => Verdict::Wrong,
            Some(_) | None => Verdict::WronglyRefused,
        }),
        ExpectedKind::Refusal => Some(match kind {
            Some(AnswerKind::Answer | AnswerKind::Overview | AnswerKind::Greeting) => {
                Verdict::WronglyAnswered
            }
            Some(AnswerKind::Closest | AnswerKind::NotFound | AnswerKind::Empty) | None => Verdict::Correct,
        }),
        ExpectedKind::Greeting => Some(match kind {
            Some(AnswerKind::Greeting) => Verdict::Correct,
            Some(_) | None => Verdict::WronglyAnswered,
        }),
    }
}

impl VerdictCounts {
    /// Returns the number of all answers.
    pub fn total(&self) -> usize {
        self.correct + self.partly + self.wrong + self.wrongly_refused + self.wrongly_answered
    }

    fn add(&mut self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Correct => &mut self.correct,
            Verdict::Partly => &mut self.partly,
            Verdict::Wrong => &mut self.wrong,
            Verdict::WronglyRefused => &mut self.wrongly_refused,
            Verdict::WronglyAnswered => &mut self.wrongly_answered,
        };
        *count += 1;
    }

    /// Returns the counts over all rows, then by type, then by language, each sorted by name; empty without rows.
    ///
    /// - `rows`: type, language and verdict; an empty type or language forms no group.
    pub fn grouped<'a>(rows: impl Iterator<Item = (&'a str, &'a str, Verdict)>) -> Vec<(String, Self)> {
        let mut all = Self::default();
        let mut groups: BTreeMap<(u8, &str), Self> = BTreeMap::new();
        for (kind, language, verdict) in rows {
            all.add(verdict);
            for key in [(0, kind), (1, language)] {
                if !key.1.is_empty() {
                    groups.entry(key).or_default().add(verdict);
                }
            }
        }
        if all.total() == 0 {
            return Vec::new();
        }
        let groups = groups.into_iter().map(|((_, name), counts)| (name.to_owned(), counts));
        std::iter::once(("all".to_owned(), all)).chain(groups).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::set::ExpectedAnswer;

    use super::*;

    fn question(kind: ExpectedKind, parts: &[&[&str]], never: &[&str]) -> SetQuestion {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        SetQuestion {
            id: "q".to_owned(),
            text: "Q?".to_owned(),
            answers: Vec::new(),
            kind: String::new(),
            gold: Vec::new(),
            expected: ExpectedAnswer {
                kind,
                parts: parts.iter().map(|part| owned(part)).collect(),
                never: owned(never),
                language: String::new(),
            },
        }
    }

    #[test]
    fn an_answer_is_correct_if_it_contains_all_parts() {
        let asked = question(ExpectedKind::Answer, &[&["Ada", "Lovelace"], &["1815"]], &["Babbage"]);
        for (kind, text, expected) in [
            (AnswerKind::Answer, "Lovelace was born in 1815. [1]", Verdict::Correct),
            (AnswerKind::Answer, "Ada lived there. [2]", Verdict::Partly),
            (AnswerKind::Answer, "Ada, born in 1815, met Babbage. [1]", Verdict::Wrong),
            (AnswerKind::Answer, "It rained. [1815]", Verdict::Wrong),
            (AnswerKind::Closest, "Closest: Ada [1]", Verdict::Partly),
            (AnswerKind::Closest, "Closest: it rained [1]", Verdict::WronglyRefused),
            (AnswerKind::NotFound, "Not found.", Verdict::WronglyRefused),
        ] {
            assert_eq!(verdict(&asked, Some(kind), text), Some(expected), "{text}");
        }
        assert_eq!(verdict(&asked, None, ""), Some(Verdict::WronglyRefused));
    }

    #[test]
    fn unanswerable_questions_must_be_refused() {
        let asked = question(ExpectedKind::Refusal, &[], &[]);
        assert_eq!(verdict(&asked, Some(AnswerKind::Answer), "Ada."), Some(Verdict::WronglyAnswered));
        assert_eq!(verdict(&asked, Some(AnswerKind::Closest), "Ada."), Some(Verdict::Correct));
        assert_eq!(verdict(&asked, Some(AnswerKind::NotFound), "No."), Some(Verdict::Correct));
    }

    #[test]
    fn overviews_and_greetings_are_distinguished_from_answers() {
        let overview = question(ExpectedKind::Overview, &[&["bees"]], &[]);
        assert_eq!(verdict(&overview, Some(AnswerKind::Overview), "Bees: x [1]"), Some(Verdict::Correct));
        assert_eq!(verdict(&overview, Some(AnswerKind::Answer), "Bees."), Some(Verdict::Wrong));
        let greeting = question(ExpectedKind::Greeting, &[], &[]);
        assert_eq!(verdict(&greeting, Some(AnswerKind::Closest), "x"), Some(Verdict::WronglyAnswered));
        assert_eq!(verdict(&question(ExpectedKind::Answer, &[], &[]), Some(AnswerKind::Answer), "x"), None);
    }

    #[test]
    fn verdicts_are_counted_by_type_and_language() {
        let rows =
            [("who", "en", Verdict::Correct), ("who", "de", Verdict::Wrong), ("", "en", Verdict::Partly)];
        let groups = VerdictCounts::grouped(rows.into_iter());
        let told: Vec<(&str, usize, usize)> =
            groups.iter().map(|(name, counts)| (name.as_str(), counts.total(), counts.correct)).collect();
        assert_eq!(told, [("all", 3, 1), ("who", 2, 1), ("de", 1, 0), ("en", 2, 1)]);
    }
}
