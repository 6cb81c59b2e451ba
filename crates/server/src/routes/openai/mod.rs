//! OpenAI's protocol: models, chat completions, responses, completions, embeddings.

mod chat;
mod completions;
mod embeddings;
mod responses;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use graphloom_engine::query::{Citation, Mode, Question};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{hex, random};
use crate::answering::{QuestionOutcome, ask, check_answerable};
use crate::apart::run_question;
use crate::app::{App, now};
use crate::chat::{Message, ModelChoice, Stop, below, limit, model_names, question_of, resolve_model};
use crate::guard::Admission;
use crate::input::PathName;
use crate::problem::Problem;
use crate::route::{Gives, Needs, Route, schema};
use crate::space::Space;

pub(super) const TABLES: [&[Route]; 5] =
    [MODELS, chat::ROUTES, completions::ROUTES, embeddings::ROUTES, responses::ROUTES];

const MODELS: &[Route] = &[
    Route::get("/v1/models", "A model for each workspace and mode the caller has access to", || get(models))
        .needs(Needs::Credential)
        .gives(Gives::Json(schema::<Models>)),
    Route::get("/v1/models/{model}", "One model", || get(model))
        .needs(Needs::Credential)
        .gives(Gives::Json(schema::<ModelItem>)),
];

#[derive(Serialize, JsonSchema)]
struct Models {
    object: &'static str,
    data: Vec<ModelItem>,
}

#[derive(Serialize, JsonSchema)]
struct ModelItem {
    /// `WORKSPACE:MODE`.
    id: String,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

impl ModelItem {
    fn of(id: String) -> Self {
        Self { id, object: "model", created: 0, owned_by: "graphloom" }
    }
}

async fn models(State(app): State<App>, admitted: Admission) -> Result<axum::Json<Models>, Problem> {
    let names = model_names(&app, &admitted).await?;
    Ok(axum::Json(Models { object: "list", data: names.into_iter().map(ModelItem::of).collect() }))
}

async fn model(
    State(app): State<App>,
    admitted: Admission,
    PathName(name): PathName,
) -> Result<axum::Json<ModelItem>, Problem> {
    resolve_model(&app, &admitted, &name).await?;
    Ok(axum::Json(ModelItem::of(name)))
}

#[derive(Deserialize, JsonSchema)]
struct StreamOptions {
    /// Whether the last event contains the usage.
    include_usage: Option<bool>,
}

impl StreamOptions {
    fn with_usage(options: Option<Self>) -> bool {
        options.and_then(|options| options.include_usage).unwrap_or(false)
    }
}

/// The fields common to every piece of an answer.
#[derive(Clone)]
struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    /// The head of a new answer with an id that starts with `prefix`.
    fn new(prefix: &str, model: String) -> Result<Self, Problem> {
        Ok(Self { id: new_id(prefix)?, created: now().0 / 1000, model })
    }
}

fn new_id(prefix: &str) -> Result<String, Problem> {
    let unique = random::<12>().map_err(|error| Problem::internal(&error))?;
    Ok(format!("{prefix}{}", hex(&unique)))
}

/// A checked question to a model.
struct ModelQuestion {
    space: Arc<Space>,
    question: Question,
    head: Head,
}

/// A client's request, whichever form of the protocol it uses.
struct Wish {
    model: String,
    messages: Vec<Message>,
    max_tokens: Option<u32>,
    stop: Option<Stop>,
    stream: Option<bool>,
}

impl ModelQuestion {
    /// Prepares the question of a conversation, with the workspace's instructions for every question. The id of
    /// the answer starts with `prefix`.
    async fn of(app: &App, admitted: &Admission, wish: Wish, prefix: &str) -> Result<Self, Problem> {
        let Wish { model, messages, max_tokens, stop, stream } = wish;
        let ModelChoice { space, mode } = resolve_model(app, admitted, &model).await?;
        let mut question = question_of(messages, mode_of(mode))?;
        limit(&mut question, max_tokens, stop)?;
        question.stream = stream.unwrap_or(false);
        question.check()?;
        question.prefix_user_prompt(&space.user_prompt_prefix);
        check_answerable(&space.asking, &question)?;
        let head = Head::new(prefix, model)?;
        Ok(Self { space, question, head })
    }

    /// The complete answer; `form` builds it from the result and the text with sources.
    async fn whole<Whole: Serialize + Send + 'static>(
        self,
        form: impl FnOnce(Head, &QuestionOutcome, String) -> Whole + Send + 'static,
    ) -> Result<Response, Problem> {
        let Self { space, question, head } = self;
        run_question(async move || {
            let answered = ask(&space.asking, &question, &mut |_| {}).await?;
            let text = format!("{}{}", answered.text, below(&question, &answered));
            Ok(axum::Json(form(head, &answered, text)).into_response())
        })
        .await
    }
}

/// The mode in the model's name, or the default.
fn mode_of(mode: Option<Mode>) -> Mode {
    mode.unwrap_or(Mode::Auto)
}

fn finish(answered: &QuestionOutcome) -> &'static str {
    if answered.cut { "length" } else { "stop" }
}

/// A citation number in an answer and the document it points to.
struct Mark<'a> {
    /// Character range in the answer.
    start: usize,
    end: usize,
    /// Title of the document.
    title: &'a str,
    /// The document's URL, or a URL of this server.
    url: String,
    quote: &'a str,
}

/// All citation numbers in the answer with their documents.
fn marks<'a>(text: &str, citations: &'a [Citation]) -> Vec<Mark<'a>> {
    let mark = |citation: &'a Citation| {
        let mark = format!("[{}]", citation.number);
        let start = text.find(&mark).map(|at| text[..at].chars().count())?;
        let is_address = citation.source.starts_with("https://") || citation.source.starts_with("http://");
        let url = match is_address {
            true => citation.source.clone(),
            false => {
                format!("graphloom:{}#bytes={}-{}", citation.document, citation.span.start, citation.span.end)
            }
        };
        let end = start + mark.len();
        Some(Mark { start, end, title: &citation.source, url, quote: &citation.quote })
    };
    citations.iter().filter_map(mark).collect()
}
