//! Splits a question into parts, by rules or with an LLM, and gives the reason.

use graphloom_core::{ChatMessage, ChatRequest, LanguageModel};
use serde::Serialize;
use serde_json::Value;

use super::calls::QueryCost;
use super::keywords::{SearchQuestion, object_in, respond, standalone_in};
use super::question::MAX_QUESTION_CHARS;
use super::trust::PageRankTrust;
use super::{QueryError, Question, history, prompts};
use crate::Engine;
use graphloom_offline::{MAX_PARTS, Parts};

/// How mode auto searches for a question, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Route {
    /// The kind of question.
    pub form: QuestionForm,
    /// Sub-questions that are searched for in addition to the whole question; empty if it has no parts.
    pub parts: Vec<String>,
    /// The model that split the question; `None` for rules.
    pub model: Option<String>,
    /// The reason, as a sentence for users.
    pub reason: String,
    /// How much the search trusted PageRank; `None` if nothing was searched.
    pub pagerank: Option<PageRankTrust>,
}

/// Kinds of questions with different searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionForm {
    /// Asks for one thing.
    Whole,
    /// Compares things; its parts are the question about each of them.
    Compared,
    /// Needs several steps; its parts are the questions to answer on the way.
    Steps,
    /// Asks about the documents as a whole.
    Documents,
}

impl Route {
    /// Returns the route of a question about the documents as a whole.
    pub(super) fn of_documents() -> Self {
        Self::new(QuestionForm::Documents, Vec::new(), None)
    }

    fn new(form: QuestionForm, parts: Vec<String>, model: Option<String>) -> Self {
        let form = match form {
            QuestionForm::Documents => form,
            _ if parts.is_empty() => QuestionForm::Whole,
            form => form,
        };
        let reason = match form {
            QuestionForm::Whole => {
                "the question asks for one thing: PageRank starts from passages close to it and from the names in it"
            }
            QuestionForm::Compared => {
                "the question compares: half of PageRank starts from passages close to each thing compared"
            }
            QuestionForm::Documents => {
                "the question asks about the documents as a whole: the answer comes from community reports"
            }
            QuestionForm::Steps => {
                "the question takes several steps: half of PageRank starts from passages close to each step"
            }
        };
        Self { form, parts, model, reason: reason.to_owned(), pagerank: None }
    }

    /// Returns the route that the rules derive from the wording of a question.
    pub(super) fn by_rules(question: &str) -> Self {
        let (form, parts) = match graphloom_offline::parts(question) {
            Parts::Whole => (QuestionForm::Whole, Vec::new()),
            Parts::Compared(parts) => (QuestionForm::Compared, parts),
            Parts::Steps(parts) => (QuestionForm::Steps, parts),
        };
        Self::new(form, parts, None)
    }
}

/// Asks a model, in one call, for the parts of a question and for its standalone form. The rules replace an invalid response.
pub(super) async fn by_model(
    engine: &Engine,
    model: &dyn LanguageModel,
    question: &Question,
    history: &[ChatMessage],
    cost: &mut QueryCost,
) -> Result<SearchQuestion, QueryError> {
    let text = question.text.trim();
    let messages = prompts::decompose(&engine.prompts, &history::transcript(history), text);
    let request = ChatRequest { messages, json_object: true, ..ChatRequest::default() };
    let is_usable = |response: &str| read(response).is_some();
    let response = respond(engine, model, request, is_usable, question.cache, cost).await?;
    let read = read(&response);
    if read.is_none() {
        tracing::warn!(model = model.name(), "the model did not split the question; rules split it");
    }
    let standalone = standalone_in(&response, model.name(), text, history);
    let route = read.map(|(form, parts)| Route::new(form, parts, Some(model.name().to_owned())));
    Ok(SearchQuestion { standalone, route, ..SearchQuestion::default() })
}

/// Parses form and parts from a model's response; `None` if it has none.
fn read(response: &str) -> Option<(QuestionForm, Vec<String>)> {
    let value = object_in(response)?;
    let parts = value["sub_questions"].as_array()?.iter().filter_map(Value::as_str).map(str::trim);
    let fits = |part: &&str| !part.is_empty() && part.chars().count() <= MAX_QUESTION_CHARS;
    let form = match value["form"].as_str() {
        Some("compared") => QuestionForm::Compared,
        Some(_) | None => QuestionForm::Steps,
    };
    Some((form, parts.filter(fits).take(MAX_PARTS).map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_question_are_read_from_any_text_around_them() {
        let answer = r#"Sure: ```json
{"standalone_question": "Is A or B older?", "form": "compared", "sub_questions": ["How old is A?", "", 3, " How old is B? "]}
```"#;
        let parts = vec!["How old is A?".to_owned(), "How old is B?".to_owned()];
        assert_eq!(read(answer), Some((QuestionForm::Compared, parts)));
        assert_eq!(
            read(r#"{"form": "whole", "sub_questions": []}"#),
            Some((QuestionForm::Steps, Vec::new()))
        );
        for nonsense in ["", "{}", "no", r#"{"sub_questions": "none"}"#] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_question_without_parts_stays_whole_under_any_label() {
        assert_eq!(Route::new(QuestionForm::Steps, Vec::new(), None).form, QuestionForm::Whole);
    }
}
