//! Text completions, for older clients: the text is a question.

use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Head, ModelQuestion, StreamOptions, Wish, finish};
use crate::answering::{QuestionOutcome, write_answer};
use crate::app::App;
use crate::chat::{Content, Message, Stop, Tokens, below};
use crate::guard::Admission;
use crate::input::Json;
use crate::lines::{Framing, Lines};
use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route, Takes, schema};
use crate::vectors::Input;

pub(super) const ROUTES: &[Route] = &[Route::post(
    "/v1/completions",
    "An answer to a text without a conversation, for older clients",
    || post(complete),
)
.needs(Needs::Credential)
.load(Load::Question)
.takes(Takes::Json(schema::<CompletionRequest>))
.gives(Gives::Json(schema::<TextCompletion>))
.or_gives(Gives::Events(schema::<TextCompletion>))];

/// A text. Unknown fields such as `temperature` are ignored: models and their settings are those of the workspace.
#[derive(Deserialize, JsonSchema)]
struct CompletionRequest {
    /// `WORKSPACE:MODE`, `WORKSPACE`, or `graphloom` for the workspace of the request.
    model: String,
    /// The question: a text or a list with one text.
    prompt: Input,
    /// Stream the answer as server-sent events.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Maximum tokens of the answer [default: no limit].
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
    /// Texts at which the answer ends.
    stop: Option<Stop>,
    /// Must be 1.
    #[schemars(range(min = 1, max = 1))]
    n: Option<u32>,
    /// Must be 1.
    #[schemars(range(min = 1, max = 1))]
    best_of: Option<u32>,
    /// Must be false: an answer does not repeat the question.
    echo: Option<bool>,
    /// Not supported: an answer cannot be fitted to a suffix.
    suffix: Option<String>,
    /// Not supported: there are no probabilities.
    logprobs: Option<u32>,
}

impl CompletionRequest {
    /// Rejects options that ask for more than an answer, since a client may depend on them.
    fn check_options(&self) -> Result<(), Problem> {
        let faults = [
            (self.n.is_some_and(|n| n != 1), "n must be 1: a question has one answer"),
            (self.best_of.is_some_and(|best| best != 1), "best_of must be 1: a question has one answer"),
            (self.echo.unwrap_or(false), "echo: an answer does not repeat the question"),
            (self.suffix.as_ref().is_some_and(|suffix| !suffix.is_empty()), "suffix: not supported"),
            (self.logprobs.is_some(), "logprobs: probabilities are not available"),
        ];
        match faults.into_iter().find(|(is_fault, _)| *is_fault) {
            Some((_, what)) => Err(Problem::invalid(what).remedy(Some("leave it out"))),
            None => Ok(()),
        }
    }
}

/// An answer, or a piece of one.
#[derive(Serialize, JsonSchema)]
struct TextCompletion {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    /// One choice; none in the final usage chunk of a stream.
    choices: Vec<TextChoice>,
    /// The usage; in a stream, in a final chunk if requested by `stream_options`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
    /// The kind of answer, as in `/query`; in a stream, in the piece with the `finish_reason`. Not part of OpenAI's
    /// API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer_kind: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct TextChoice {
    index: u32,
    /// The answer followed by its sources; if no LLM wrote it, the last line says so.
    text: String,
    #[schemars(with = "Option<Value>")]
    logprobs: (),
    /// `length` if an output limit cut it off; `null` if more follows.
    finish_reason: Option<&'static str>,
}

impl TextChoice {
    fn new(text: &str, finish_reason: Option<&'static str>) -> Self {
        Self { index: 0, text: text.to_owned(), logprobs: (), finish_reason }
    }
}

async fn complete(
    State(app): State<App>,
    admitted: Admission,
    Json(request): Json<CompletionRequest>,
) -> Result<Response, Problem> {
    request.check_options()?;
    let texts = request.prompt.texts()?;
    let [text] = <[String; 1]>::try_from(texts)
        .map_err(|_| Problem::invalid("prompt: only one text per request is supported"))?;
    let wish = Wish {
        model: request.model,
        messages: vec![Message::new("user", Content::Text(text))],
        max_tokens: request.max_tokens,
        stop: request.stop,
        stream: request.stream,
    };
    let prepared = ModelQuestion::of(&app, &admitted, wish, "cmpl-").await?;
    if !prepared.question.stream {
        let whole = |head: Head, answered: &QuestionOutcome, text: String| {
            let usage = Some(Tokens::of(&answered.calls));
            TextCompletion { usage, ..head.last_text(&text, answered) }
        };
        return prepared.whole(whole).await;
    }
    let ModelQuestion { space, question, head } = prepared;
    let with_usage = StreamOptions::with_usage(request.stream_options);
    let piece = head.clone();
    let (lines, response) = Lines::new(Framing::Events, move |text| json!(piece.text(text)));
    write_answer(admitted, space, question, lines, move |lines, question, answered| {
        match answered {
            Ok(answered) => {
                lines.text(&below(question, &answered));
                lines.line(json!(head.last_text("", &answered)));
                if with_usage {
                    let usage = Some(Tokens::of(&answered.calls));
                    lines.line(json!(TextCompletion { usage, ..head.no_text() }));
                }
            }
            Err(problem) => lines.line(problem.openai_error()),
        }
        lines.done();
    });
    Ok(response)
}

impl Head {
    fn text(&self, text: &str) -> TextCompletion {
        TextCompletion { choices: vec![TextChoice::new(text, None)], ..self.no_text() }
    }

    fn last_text(&self, text: &str, answered: &QuestionOutcome) -> TextCompletion {
        let choices = vec![TextChoice::new(text, Some(finish(answered)))];
        TextCompletion { choices, answer_kind: answered.kind_name(), ..self.no_text() }
    }

    fn no_text(&self) -> TextCompletion {
        TextCompletion {
            id: self.id.clone(),
            object: "text_completion",
            created: self.created,
            model: self.model.clone(),
            choices: Vec::new(),
            usage: None,
            answer_kind: None,
        }
    }
}
