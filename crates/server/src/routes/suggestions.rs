//! Questions to ask next.

use axum::routing::get;
use graphloom_engine::query::{self, MAX_ABOUT_CHARS, MAX_SUGGESTIONS, Suggestion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apart::run_question;
use crate::input::{ExistingWorkspace, Params};
use crate::problem::Problem;
use crate::route::{Gives, Load, Route, Takes, schema};

pub(super) const ROUTES: &[Route] = &[Route::get(
    "/suggestions",
    "Questions that the documents answer, each with the sentence that answers it",
    || get(list),
)
.reads()
.load(Load::Question)
.takes(Takes::Query(schema::<SuggestParams>))
.gives(Gives::Json(schema::<Suggestions>))];

#[derive(Deserialize, JsonSchema)]
struct SuggestParams {
    /// A name, or a text such as the last answer; the questions are about the entities that it names.
    #[schemars(length(max = MAX_ABOUT_CHARS))]
    about: Option<String>,
    /// Maximum questions, 1 to 50.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = MAX_SUGGESTIONS))]
    limit: usize,
}

fn five() -> usize {
    5
}

/// Questions to ask next.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Suggestions {
    /// The most interesting first.
    questions: Vec<SuggestedQuestion>,
    /// The model that proposed them; `null` for rules.
    model: Option<String>,
    /// Proposals that were left out because no sentence of the documents answers them.
    dropped: u32,
}

/// A question with the sentence that answers it.
#[derive(Serialize, JsonSchema)]
struct SuggestedQuestion {
    question: String,
    /// Id of the document.
    document: String,
    /// Name of the document.
    file_path: String,
    /// First byte and end byte (exclusive) in the document's text.
    span: [u64; 2],
    /// First and last line, from 1.
    lines: [u32; 2],
    /// The sentence.
    quote: String,
}

impl From<Suggestion> for SuggestedQuestion {
    fn from(suggestion: Suggestion) -> Self {
        Self {
            question: suggestion.question,
            document: suggestion.document.to_string(),
            file_path: suggestion.source,
            span: [suggestion.span.start, suggestion.span.end],
            lines: [suggestion.lines.0, suggestion.lines.1],
            quote: suggestion.quote,
        }
    }
}

async fn list(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(SuggestParams { about, limit }): Params<SuggestParams>,
) -> Result<axum::Json<Suggestions>, Problem> {
    if !(1..=MAX_SUGGESTIONS).contains(&limit) {
        return Err(Problem::invalid(format!("limit must be from 1 to {MAX_SUGGESTIONS}")));
    }
    run_question(async move || suggested(&space.asking, about.as_deref(), limit).await.map(axum::Json)).await
}

/// At most `limit` questions to ask next.
pub(crate) async fn suggested(
    engine: &graphloom_engine::Engine,
    about: Option<&str>,
    limit: usize,
) -> Result<Suggestions, Problem> {
    let found = query::suggest(engine, about, limit).await?;
    let questions = found.questions.into_iter().map(SuggestedQuestion::from).collect();
    Ok(Suggestions { questions, model: found.model, dropped: found.dropped })
}
