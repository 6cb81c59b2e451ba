//! An arm: one way of asking, under a name.

use graphloom_engine::query::{Mode, QueryError, Question};
use serde::{Deserialize, Serialize};

/// Longest name of an arm, in characters.
const MAX_NAME_CHARS: usize = 60;

/// One way of asking: a question without its words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name in results.
    pub name: String,
    /// Everything but the words.
    pub question: Question,
}

/// Why something is no arm.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// There is no name, or a long one.
    #[error("an arm's name has 1 to {MAX_NAME_CHARS} characters, and no control characters")]
    Name,
    /// The fields are none of a question.
    #[error("arm {name}")]
    Fields {
        /// The arm.
        name: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Words, or what only an answer needs.
    #[error("arm {name} sets {field}, which every question of the set has its own of")]
    OwnWords {
        /// The arm.
        name: String,
        /// The field.
        field: &'static str,
    },
    /// It finds nothing by design.
    #[error("arm {name}: mode bypass searches nothing")]
    Bypass {
        /// The arm.
        name: String,
    },
    /// A value is out of range.
    #[error("arm {name}")]
    Range {
        /// The arm.
        name: String,
        /// What is wrong.
        source: QueryError,
    },
}

impl Arm {
    /// The arm of a mode with the defaults of everything else, named after it.
    pub fn of_mode(mode: Mode) -> Self {
        let name = serde_json::to_value(mode).ok().and_then(|name| name.as_str().map(str::to_owned));
        Self { name: name.unwrap_or_default(), question: Question { mode, ..Question::default() } }
    }

    /// The arm of this name whose fields differ from the defaults as the JSON object says, such as
    /// `{"mode": "ppr", "top_k": 60}`.
    pub fn of_json(name: &str, json: &str) -> Result<Self, ArmError> {
        let question = serde_json::from_str(json)
            .map_err(|source| ArmError::Fields { name: name.to_owned(), source })?;
        let arm = Self { name: name.to_owned(), question };
        arm.check()?;
        Ok(arm)
    }

    /// The question of this arm with these words.
    ///
    /// - `most`: how many passages the result is looked at to; more are kept in the context where the arm would keep
    ///   fewer and does not say how many.
    pub fn ask(&self, words: &str, most: usize) -> Question {
        let mut question = Question { text: words.to_owned(), ..self.question.clone() };
        if question.chunk_top_k == Question::default().chunk_top_k {
            question.chunk_top_k = question.chunk_top_k.max(most);
        }
        question
    }

    /// Refuses what cannot be asked of every question of a set.
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
        if self.question.mode == Mode::Bypass {
            return Err(ArmError::Bypass { name: name() });
        }
        self.ask("?", 1).check().map_err(|source| ArmError::Range { name: name(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_differs_from_the_defaults_only_where_it_says_so() {
        let arm = Arm::of_json("wide", r#"{"mode": "naive", "chunk_top_k": 5}"#).expect("an arm");
        let expected =
            Question { text: "Q?".to_owned(), mode: Mode::Naive, chunk_top_k: 5, ..Question::default() };
        assert_eq!(arm.ask("Q?", 20), expected);
        let mix = Arm::of_mode(Mode::Mix);
        assert_eq!((mix.name.as_str(), mix.ask("Q?", 50).chunk_top_k), ("mix", 50));
        assert_eq!(mix.ask("Q?", 5).chunk_top_k, Question::default().chunk_top_k);
    }

    #[test]
    fn what_cannot_be_asked_of_every_question_is_refused() {
        for (name, json, expected) in [
            ("", "{}", "an arm's name has 1 to 60 characters, and no control characters"),
            ("a", "{\"topk\": 1}", "arm a"),
            ("a", "{\"query\": \"x\"}", "arm a sets query, which every question of the set has its own of"),
            ("a", "{\"mode\": \"bypass\"}", "arm a: mode bypass searches nothing"),
            ("a", "{\"top_k\": 1001}", "arm a"),
        ] {
            assert_eq!(Arm::of_json(name, json).expect_err("refused").to_string(), expected);
        }
    }
}
