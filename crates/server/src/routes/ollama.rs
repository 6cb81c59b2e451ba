//! Ollama's protocol, as emulated by LightRAG: a question may start with a mode, as in `/local Who ...?`.

use std::time::Instant;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use graphloom_engine::query::{Mode, Question};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answering::{QuestionOutcome, ask, check_answerable, write_answer};
use crate::apart::run_question;
use crate::app::{App, now};
use crate::chat::{
    Message, ModelChoice, Stop, Tokens, below, limit, model_names, question_of, resolve_model,
};
use crate::guard::Admission;
use crate::input::AnyJson;
use crate::lines::{Framing, Lines};
use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route, Takes, schema};
use crate::space::Space;
use crate::vectors::{Input, vectors};

/// The Ollama release whose protocol this is [LightRAG].
const VERSION: &str = "0.9.3";
/// Suffix of a mode that requests only the context [LightRAG].
const CONTEXT: &str = "context";

pub(super) const ROUTES: &[Route] = &[
    Route::get("/api/version", "The Ollama release whose protocol this is", || get(version))
        .needs(Needs::Credential)
        .load(Load::None)
        .gives(Gives::Json(schema::<Version>)),
    Route::get("/api/tags", "A model for each workspace and mode the caller has access to", || get(tags))
        .needs(Needs::Credential)
        .gives(Gives::Json(schema::<Tags>)),
    Route::get("/api/ps", "The same list: all models are loaded", || get(tags))
        .needs(Needs::Credential)
        .gives(Gives::Json(schema::<Tags>)),
    Route::post("/api/show", "Details of a model", || post(show))
        .needs(Needs::Credential)
        .takes(Takes::Json(schema::<ShowRequest>))
        .gives(Gives::Json(schema::<Value>)),
    Route::post("/api/generate", "An answer of the LLM without documents", || post(generate))
        .needs(Needs::Credential)
        .load(Load::Question)
        .takes(Takes::Json(schema::<GenerateRequest>))
        .gives(Gives::Lines(schema::<Value>))
        .or_gives(Gives::Json(schema::<Value>)),
    Route::post("/api/chat", "An answer from the documents of the workspace that the model names", || {
        post(chat)
    })
    .needs(Needs::Credential)
    .load(Load::Question)
    .takes(Takes::Json(schema::<OllamaChatRequest>))
    .gives(Gives::Lines(schema::<Value>))
    .or_gives(Gives::Json(schema::<Value>)),
    Route::post("/api/embed", "Vectors of the embedder of the workspace that the model names", || {
        post(embed)
    })
    .needs(Needs::Credential)
    .load(Load::Question)
    .takes(Takes::Json(schema::<EmbedRequest>))
    .gives(Gives::Json(schema::<EmbedResponse>)),
    Route::post("/api/embeddings", "A vector of one text, for older clients", || post(embed_one))
        .needs(Needs::Credential)
        .load(Load::Question)
        .takes(Takes::Json(schema::<EmbedOneRequest>))
        .gives(Gives::Json(schema::<EmbeddingResponse>)),
];

#[derive(Serialize, JsonSchema)]
struct Version {
    version: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Serialize, JsonSchema)]
struct Tag {
    /// `WORKSPACE:MODE`.
    name: String,
    model: String,
    modified_at: String,
    expires_at: String,
    size: u64,
    size_vram: u64,
    digest: String,
    details: Value,
}

#[derive(Deserialize, JsonSchema)]
struct ShowRequest {
    #[serde(alias = "name")]
    model: String,
}

/// A prompt for the answer model, without documents.
#[derive(Deserialize, JsonSchema)]
struct GenerateRequest {
    model: String,
    /// Without a prompt, only checks that the model exists, as Ollama does to load it.
    prompt: Option<String>,
    system: Option<String>,
    /// Not supported: an answer is text.
    format: Option<Value>,
    /// Not supported; must be absent or empty.
    images: Option<Vec<Value>>,
    /// Default: on.
    stream: Option<bool>,
    options: Option<Options>,
}

/// The supported options, which limit the answer. Others are ignored: models and their settings are those of the
/// workspace.
#[derive(Default, Deserialize, JsonSchema)]
struct Options {
    /// Maximum tokens of the answer; no limit if not positive.
    num_predict: Option<i64>,
    /// Texts at which the answer ends.
    stop: Option<Stop>,
}

impl Options {
    fn limit(self, question: &mut Question) -> Result<(), Problem> {
        let most = self.num_predict.filter(|most| *most > 0);
        limit(question, most.map(|most| u32::try_from(most).unwrap_or(u32::MAX)), self.stop)
    }
}

/// Texts to embed.
#[derive(Deserialize, JsonSchema)]
struct EmbedRequest {
    /// `WORKSPACE`, `WORKSPACE:MODE`, or `graphloom` for the workspace of the request.
    model: String,
    /// Without input, only checks that the model exists, as Ollama does to load it.
    input: Option<Input>,
    /// Must match the embedder, if set.
    dimensions: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
struct EmbedResponse {
    model: String,
    /// One vector per text, in order.
    embeddings: Vec<Vec<f32>>,
    /// Nanoseconds.
    total_duration: u64,
    load_duration: u64,
    /// Tokens sent to a service.
    prompt_eval_count: u64,
}

/// A text to embed.
#[derive(Deserialize, JsonSchema)]
struct EmbedOneRequest {
    model: String,
    /// Without a prompt, only checks that the model exists.
    prompt: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct EmbeddingResponse {
    embedding: Vec<f32>,
}

/// A conversation. Unknown fields are ignored.
#[derive(Deserialize, JsonSchema)]
struct OllamaChatRequest {
    /// `WORKSPACE:MODE`, `WORKSPACE`, or `graphloom` for the workspace of the request.
    model: String,
    /// Without messages, only checks that the model exists, as Ollama does to load it.
    messages: Option<Vec<Message>>,
    system: Option<String>,
    /// Not supported: an answer is text.
    format: Option<Value>,
    /// Default: on.
    stream: Option<bool>,
    options: Option<Options>,
}

async fn version() -> axum::Json<Version> {
    axum::Json(Version { version: VERSION })
}

async fn tags(State(app): State<App>, admitted: Admission) -> Result<axum::Json<Tags>, Problem> {
    let names = model_names(&app, &admitted).await?;
    let tag = |name: String| Tag {
        model: name.clone(),
        modified_at: graphloom_core::Timestamp(0).to_iso(),
        expires_at: "2050-01-01T00:00:00+00:00".to_owned(),
        size: 0,
        size_vram: 0,
        digest: blake3::hash(name.as_bytes()).to_hex().to_string(),
        details: details(),
        name,
    };
    Ok(axum::Json(Tags { models: names.into_iter().map(tag).collect() }))
}

/// Programs read these fields, which do not apply to a workspace.
fn details() -> Value {
    json!({
        "parent_model": "",
        "format": "graphloom",
        "family": "graphloom",
        "families": ["graphloom"],
        "parameter_size": "",
        "quantization_level": "",
    })
}

async fn show(
    State(app): State<App>,
    admitted: Admission,
    AnyJson(ShowRequest { model }): AnyJson<ShowRequest>,
) -> Result<axum::Json<Value>, Problem> {
    let ModelChoice { space, .. } = resolve_model(&app, &admitted, &model).await?;
    Ok(axum::Json(json!({
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": details(),
        "model_info": {
            "general.architecture": "graphloom",
            "graphloom.workspace": space.id,
            "graphloom.embedding_model": space.asking.models.embedder.name(),
        },
        "capabilities": ["completion"],
    })))
}

async fn generate(
    State(app): State<App>,
    admitted: Admission,
    AnyJson(request): AnyJson<GenerateRequest>,
) -> Result<Response, Problem> {
    let GenerateRequest { model, prompt, system, format, images, stream, options } = request;
    check_options(format.as_ref(), images.as_deref())?;
    let ModelChoice { space, .. } = resolve_model(&app, &admitted, &model).await?;
    let form = Form { model, generates: true };
    let Some(text) = prompt.filter(|prompt| !prompt.is_empty()) else { return Ok(form.loaded()) };
    let stream = stream.unwrap_or(true);
    let mut question =
        Question { text, mode: Mode::Bypass, user_prompt: system, stream, ..Question::default() };
    options.unwrap_or_default().limit(&mut question)?;
    respond(admitted, space, question, form).await
}

async fn chat(
    State(app): State<App>,
    admitted: Admission,
    AnyJson(request): AnyJson<OllamaChatRequest>,
) -> Result<Response, Problem> {
    let OllamaChatRequest { model, messages, system, format, stream, options } = request;
    check_options(format.as_ref(), None)?;
    let ModelChoice { space, mode } = resolve_model(&app, &admitted, &model).await?;
    let form = Form { model, generates: false };
    let Some(messages) = messages.filter(|messages| !messages.is_empty()) else { return Ok(form.loaded()) };
    let mut question = question_of(messages, mode.unwrap_or(Mode::Mix))?;
    options.unwrap_or_default().limit(&mut question)?;
    let prefixed = PrefixedQuestion::read(&question.text);
    let instructions = [system, question.user_prompt, prefixed.user_prompt.map(str::to_owned)];
    let instructions: Vec<String> = instructions.into_iter().flatten().collect();
    question.user_prompt = (!instructions.is_empty()).then(|| instructions.join("\n"));
    question.only_need_context = prefixed.context_only;
    question.mode = prefixed.mode.unwrap_or(question.mode);
    question.text = prefixed.question.to_owned();
    question.stream = stream.unwrap_or(true);
    respond(admitted, space, question, form).await
}

/// Rejects options that ask for more than text, since a client may depend on them.
fn check_options(format: Option<&Value>, images: Option<&[Value]>) -> Result<(), Problem> {
    if format.is_some_and(|format| !format.is_null() && *format != "") {
        let what = "format: an answer is always text with its sources";
        return Err(Problem::invalid(what).remedy(Some("leave it out")));
    }
    match images.is_some_and(|images| !images.is_empty()) {
        true => Err(Problem::invalid("images: only text is supported")),
        false => Ok(()),
    }
}

/// A question with a prefix: `/MODE` or `/MODEcontext`, each optionally with instructions as in `/MODE[...]`.
struct PrefixedQuestion<'a> {
    mode: Option<Mode>,
    context_only: bool,
    user_prompt: Option<&'a str>,
    question: &'a str,
}

impl<'a> PrefixedQuestion<'a> {
    fn read(text: &'a str) -> Self {
        let plain = Self { mode: None, context_only: false, user_prompt: None, question: text };
        let Some(rest) = text.strip_prefix('/') else { return plain };
        let word = rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
        let rest = &rest[word.len()..];
        let bracketed = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (user_prompt, question) = match bracketed {
            Some((inside, rest)) if !inside.contains('\n') => (Some(inside), rest),
            Some(_) | None => (None, rest),
        };
        let (name, context_only) = match word.strip_suffix(CONTEXT) {
            Some(name) => (name, true),
            None => (word, false),
        };
        let mode = Mode::named(name);
        let is_known = mode.is_some() || (name.is_empty() && (context_only || user_prompt.is_some()));
        let ends = question.is_empty() || question.starts_with(char::is_whitespace) || user_prompt.is_some();
        if !is_known || !ends {
            return plain;
        }
        Self { mode, context_only, user_prompt, question: question.trim_start() }
    }
}

/// The response format of one of the two routes.
#[derive(Clone)]
struct Form {
    model: String,
    generates: bool,
}

impl Form {
    /// A line with a piece of the answer.
    fn piece(&self, text: &str) -> Value {
        let mut line = json!({ "model": self.model, "created_at": now().to_iso(), "done": false });
        match self.generates {
            true => line["response"] = json!(text),
            false => line["message"] = json!({ "role": "assistant", "content": text, "images": null }),
        }
        line
    }

    /// The response to an empty request, with which clients load a model.
    fn loaded(&self) -> Response {
        let mut line = self.piece("");
        line["done"] = json!(true);
        line["done_reason"] = json!("load");
        axum::Json(line).into_response()
    }

    /// The last line, with `text` if it is the only one.
    fn end(&self, text: &str, answered: &QuestionOutcome, since: Instant) -> Value {
        let total = nanoseconds(since);
        let tokens = Tokens::of(&answered.calls);
        let mut line = self.piece(text);
        line["done"] = json!(true);
        line["done_reason"] = json!(if answered.cut { "length" } else { "stop" });
        line["answer_kind"] = json!(answered.kind_name());
        for (name, value) in [
            ("total_duration", total),
            ("load_duration", 0),
            ("prompt_eval_count", tokens.prompt_tokens),
            ("prompt_eval_duration", 0),
            ("eval_count", tokens.completion_tokens),
            ("eval_duration", total),
        ] {
            line[name] = json!(value);
        }
        if self.generates {
            line["context"] = json!([]);
        }
        line
    }
}

async fn respond(
    admitted: Admission,
    space: std::sync::Arc<Space>,
    mut question: Question,
    form: Form,
) -> Result<Response, Problem> {
    question.check()?;
    check_answerable(&space.asking, &question)?;
    question.prefix_user_prompt(&space.user_prompt_prefix);
    let started = Instant::now();
    if !question.stream {
        return run_question(async move || {
            let answered = ask(&space.asking, &question, &mut |_| {}).await?;
            let text = format!("{}{}", answered.text, below(&question, &answered));
            Ok(axum::Json(form.end(&text, &answered, started)).into_response())
        })
        .await;
    }
    let pieces = form.clone();
    let (lines, response) = Lines::new(Framing::Lines, move |text| pieces.piece(text));
    write_answer(admitted, space, question, lines, move |lines, question, answered| match answered {
        Ok(answered) => {
            lines.text(&below(question, &answered));
            lines.line(form.end("", &answered, started));
        }
        Err(problem) => {
            let mut line = form.piece("");
            line["error"] = json!(problem.words());
            line["done"] = json!(true);
            lines.line(line);
        }
    });
    Ok(response)
}

async fn embed(
    State(app): State<App>,
    admitted: Admission,
    AnyJson(request): AnyJson<EmbedRequest>,
) -> Result<axum::Json<EmbedResponse>, Problem> {
    let EmbedRequest { model, input, dimensions } = request;
    let ModelChoice { space, .. } = resolve_model(&app, &admitted, &model).await?;
    let started = Instant::now();
    let texts = input.map_or(Ok(Vec::new()), Input::texts)?;
    let is_nothing = texts.iter().all(String::is_empty) && texts.len() < 2;
    let (embeddings, prompt_eval_count) = match is_nothing {
        true => (Vec::new(), 0),
        false => {
            let made = run_question(async move || vectors(&space, &texts, dimensions).await).await?;
            (made.vectors, made.usage.prompt_tokens)
        }
    };
    let total_duration = nanoseconds(started);
    Ok(axum::Json(EmbedResponse { model, embeddings, total_duration, load_duration: 0, prompt_eval_count }))
}

async fn embed_one(
    State(app): State<App>,
    admitted: Admission,
    AnyJson(request): AnyJson<EmbedOneRequest>,
) -> Result<axum::Json<EmbeddingResponse>, Problem> {
    let ModelChoice { space, .. } = resolve_model(&app, &admitted, &request.model).await?;
    let embedding = match request.prompt.filter(|prompt| !prompt.is_empty()) {
        Some(prompt) => {
            let made = run_question(async move || vectors(&space, &[prompt], None).await).await?;
            made.vectors.into_iter().next().unwrap_or_default()
        }
        None => Vec::new(),
    };
    Ok(axum::Json(EmbeddingResponse { embedding }))
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_prefix(text: &str) -> (Option<Mode>, bool, Option<&str>, &str) {
        let PrefixedQuestion { mode, context_only, user_prompt, question } = PrefixedQuestion::read(text);
        (mode, context_only, user_prompt, question)
    }

    #[test]
    fn a_mode_prefix_is_removed_from_the_question() {
        assert_eq!(check_prefix("/local  Who?"), (Some(Mode::Local), false, None, "Who?"));
        assert_eq!(check_prefix("/naivecontext Who?"), (Some(Mode::Naive), true, None, "Who?"));
        assert_eq!(check_prefix("/context Who?"), (None, true, None, "Who?"));
        assert_eq!(check_prefix("/mix[as a list] Who?"), (Some(Mode::Mix), false, Some("as a list"), "Who?"));
        assert_eq!(check_prefix("/[as a list]Who?\nWhen?"), (None, false, Some("as a list"), "Who?\nWhen?"));
        assert_eq!(check_prefix("/auto Who?"), (Some(Mode::Auto), false, None, "Who?"));
    }

    #[test]
    fn text_that_only_looks_like_a_mode_stays_in_the_question() {
        for text in
            ["Who?", "/etc/passwd is what?", "/localhost is what?", "/ Who?", "/MIX Who?", "/mix[a\nb] Who?"]
        {
            assert_eq!(check_prefix(text), (None, false, None, text), "{text}");
        }
    }
}
