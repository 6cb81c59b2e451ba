//! Arms: named variants of asking a question.

use graphloom_engine::query::{Mode, QueryError, Question};
use serde::{Deserialize, Serialize};

/// Maximum length of an arm's name, in characters.
const MAX_NAME_CHARS: usize = 60;

/// A named way of asking: a question without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Name in results.
    pub name: String,
    /// All fields except the text.
    pub question: Question,
}

/// Why an arm is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// The name is empty, too long or has control characters.
    #[error("the name of an arm must have 1 to {MAX_NAME_CHARS} characters and no control characters")]
    Name,
    /// The fields are invalid.
    #[error("arm {name}")]
    Fields {
        /// The arm.
        name: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// It sets a field that belongs to each question or only to answers.
    #[error("arm {name} sets {field}, which each question of the set defines itself")]
    OwnWords {
        /// The arm.
        name: String,
        /// The field.
        field: &'static str,
    },
    /// Its mode does not search.
    #[error("arm {name}: mode bypass does not search")]
    Bypass {
        /// The arm.
        name: String,
    },
    /// A value is out of range.
    #[error("arm {name}")]
    Range {
        /// The arm.
        name: String,
        /// The cause.
        source: QueryError,
    },
}

impl Arm {
    /// Returns the arm for a mode with default settings, named after the mode.
    pub fn of_mode(mode: Mode) -> Self {
        Self { name: mode.name().to_owned(), question: Question { mode, ..Question::default() } }
    }

    /// Returns an arm with the fields of a JSON object such as `{"mode": "ppr", "top_k": 60}`; other fields have defaults.
    pub fn of_json(name: &str, json: &str) -> Result<Self, ArmError> {
        let question = serde_json::from_str(json)
            .map_err(|source| ArmError::Fields { name: name.to_owned(), source })?;
        let arm = Self { name: name.to_owned(), question };
        arm.check()?;
        Ok(arm)
    }

    /// Returns the question of this arm with the text `words`.
    ///
    /// - `most`: number of passages to evaluate. The context keeps at least as many, unless the arm sets a number.
    pub fn ask(&self, words: &str, most: usize) -> Question {
        let mut question = Question { text: words.to_owned(), ..self.question.clone() };
        if question.chunk_top_k == Question::default().chunk_top_k {
            question.chunk_top_k = question.chunk_top_k.max(most);
        }
        question
    }

    /// Rejects settings that cannot be used for every question of a set.
    pub fn check(&self) -> Result<(), ArmError> {
        let name = || self.name.clone();
        let chars = self.name.chars().count();
        if self.name.trim().is_empty() || chars > MAX_NAME_CHARS || self.name.chars().any(char::is_control) {
            return Err(ArmError::Name);
        }
        if !self.question.text.is_empty() {
            return Err(ArmError::OwnWords { name: name(), field: "query" });
        }
        if !self.question.history.is_empty() {
            return Err(ArmError::OwnWords { name: name(), field: "history" });
        }
        if !self.question.mode.searches() {
            return Err(ArmError::Bypass { name: name() });
        }
        self.ask("?", 1).check().map_err(|source| ArmError::Range { name: name(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_changes_only_the_defaults_it_sets() {
        let arm = Arm::of_json("wide", r#"{"mode": "naive", "chunk_top_k": 5}"#).expect("an arm");
        let expected =
            Question { text: "Q?".to_owned(), mode: Mode::Naive, chunk_top_k: 5, ..Question::default() };
        assert_eq!(arm.ask("Q?", 20), expected);
        let mix = Arm::of_mode(Mode::Mix);
        assert_eq!((mix.name.as_str(), mix.ask("Q?", 50).chunk_top_k), ("mix", 50));
        assert_eq!(mix.ask("Q?", 5).chunk_top_k, Question::default().chunk_top_k);
    }

    #[test]
    fn options_that_do_not_apply_to_every_question_are_refused() {
        for (name, json, expected) in [
            ("", "{}", "the name of an arm must have 1 to 60 characters and no control characters"),
            ("a", "{\"topk\": 1}", "arm a"),
            ("a", "{\"query\": \"x\"}", "arm a sets query, which each question of the set defines itself"),
            ("a", "{\"mode\": \"bypass\"}", "arm a: mode bypass does not search"),
            ("a", "{\"top_k\": 1001}", "arm a"),
        ] {
            assert_eq!(Arm::of_json(name, json).expect_err("refused").to_string(), expected);
        }
    }
}
