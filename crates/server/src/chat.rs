//! Conversations of clients with other protocols: maps a model name to a workspace and mode, and a list of
//! messages to a question.

use std::sync::Arc;

use graphloom_core::{Call, ChatMessage, ChatRole, WorkspaceId};
use graphloom_engine::query::{Citation, MAX_STOP_CHARS, MAX_STOPS, Mode, Question};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Right;
use crate::answering::{QuestionOutcome, plain};
use crate::app::App;
use crate::guard::{Admission, check};
use crate::host::IfMissing;
use crate::problem::Problem;
use crate::space::Space;

/// The model name that stands for the workspace of the request.
const OWN_NAME: &str = "graphloom";
/// The name that LightRAG clients use for the same model.
const LIGHTRAG: &str = "lightrag";
/// Models listed in an error about an unknown one.
const MAX_NAMED: usize = 5;
/// Maximum characters of a model name in an error.
const MAX_SHOWN: usize = 100;
/// Ollama's tag for the default version; ignored.
const LATEST: &str = "latest";

/// A workspace and an optional mode, from a model name.
pub(crate) struct ModelChoice {
    /// The workspace.
    pub(crate) space: Arc<Space>,
    /// The mode.
    pub(crate) mode: Option<Mode>,
}

/// Resolves a model name: `WORKSPACE:MODE`, `WORKSPACE`, or `graphloom` and `graphloom:MODE` for the workspace of
/// the request, even if a workspace has that name. The caller must be allowed to read the workspace.
pub(crate) async fn resolve_model(
    app: &App,
    admitted: &Admission,
    model: &str,
) -> Result<ModelChoice, Problem> {
    let (name, tag) = model.split_once(':').unwrap_or((model, LATEST));
    let mode = match tag {
        LATEST => None,
        mode => match Mode::named(mode) {
            Some(mode) => Some(mode),
            None => return Err(unknown(app, admitted, model).await),
        },
    };
    let Ok(named) = WorkspaceId::new(name) else { return Err(unknown(app, admitted, model).await) };
    let workspace = if is_own_name(name) { admitted.workspace.clone() } else { named };
    if !is_own_name(name) && !admitted.caller.grant.reaches(&workspace) {
        let what = format!("this credential has no access to model {:?}", shown(model));
        return Err(Problem::forbidden(what).remedy(Some(known_models(app, admitted).await)));
    }
    check(&admitted.caller, Right::Read, &workspace)?;
    if admitted.names_workspace && workspace != admitted.workspace {
        let what =
            format!("the request names workspace {}, but the model names {workspace}", admitted.workspace);
        return Err(Problem::invalid(what).remedy(Some("name the workspace only once")));
    }
    match app.spaces.get(&workspace, IfMissing::Leave).await {
        Ok(space) => Ok(ModelChoice { space, mode }),
        Err(problem) if problem.is_not_found() => Err(unknown(app, admitted, model).await),
        Err(problem) => Err(problem),
    }
}

/// Whether the model name stands for the workspace of the request. A workspace with such a name must not take its
/// place.
fn is_own_name(name: &str) -> bool {
    [OWN_NAME, LIGHTRAG].contains(&name)
}

/// Whether the caller has access to the workspace and it is addressable by a model name.
fn is_model(admitted: &Admission, workspace: &WorkspaceId) -> bool {
    let is_meant = *workspace == admitted.workspace || !is_own_name(workspace.as_str());
    is_meant && admitted.caller.grant.reaches(workspace)
}

/// The error for an unknown model, with some known ones.
async fn unknown(app: &App, admitted: &Admission, model: &str) -> Problem {
    Problem::not_found(format!("no model {:?}", shown(model))).remedy(Some(known_models(app, admitted).await))
}

/// A model name, shortened for an error.
fn shown(model: &str) -> String {
    model.chars().take(MAX_SHOWN).collect()
}

/// Explains model names, with examples the caller has access to.
async fn known_models(app: &App, admitted: &Admission) -> String {
    let known: Vec<String> = match app.host.workspaces().await {
        Ok(workspaces) => {
            let reached = workspaces.into_iter().filter(|workspace| is_model(admitted, workspace));
            reached.take(MAX_NAMED).map(|workspace| format!("{workspace}:{}", Mode::ALL[0].name())).collect()
        }
        Err(_) => Vec::new(),
    };
    let such_as = match known.is_empty() {
        true => String::new(),
        false => format!(", such as {}", known.join(", ")),
    };
    format!("models are named WORKSPACE:MODE{such_as}; GET /v1/models lists them")
}

/// The names of all models the caller has access to, by workspace, the default mode first.
pub(crate) async fn model_names(app: &App, admitted: &Admission) -> Result<Vec<String>, Problem> {
    let workspaces = app.host.workspaces().await?;
    let reached = workspaces.into_iter().filter(|workspace| is_model(admitted, workspace));
    Ok(reached
        .flat_map(|workspace| Mode::ALL.iter().map(move |mode| format!("{workspace}:{}", mode.name())))
        .collect())
}

/// A message, common to both protocols.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Message {
    /// `system`, `developer`, `user` or `assistant`.
    pub(crate) role: String,
    /// Text, or a list of parts of type `text`.
    #[serde(default)]
    pub(crate) content: Content,
    /// Not supported; must be absent or empty.
    images: Option<Vec<Value>>,
}

impl Message {
    pub(crate) fn new(role: impl Into<String>, content: Content) -> Self {
        Self { role: role.into(), content, images: None }
    }
}

/// Where an answer ends: a text, or a list of texts.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected text or a list of texts")]
pub(crate) enum Stop {
    /// One text.
    One(#[schemars(length(max = MAX_STOP_CHARS))] String),
    /// The first of several texts.
    Many(#[schemars(length(max = MAX_STOPS), inner(length(max = MAX_STOP_CHARS)))] Vec<String>),
}

/// Output limits from this value on are not passed on: services reject limits above their own.
const NO_LIMIT: u32 = 16_384;

/// Applies the client's limits to the answer.
pub(crate) fn limit(
    question: &mut Question,
    max_tokens: Option<u32>,
    stop: Option<Stop>,
) -> Result<(), Problem> {
    if max_tokens == Some(0) {
        return Err(Problem::invalid("the token limit of an answer must be at least 1"));
    }
    question.max_output_tokens = max_tokens.filter(|most| *most < NO_LIMIT);
    question.stop = match stop {
        None => Vec::new(),
        Some(Stop::One(stop)) => vec![stop],
        Some(Stop::Many(stops)) => stops,
    };
    question.stop.retain(|stop| !stop.is_empty());
    Ok(())
}

/// Marks in prompts that Open WebUI sends for its own purposes: titles, tags, follow-up questions, search queries,
/// completions. Such prompts are about the conversation, not about documents.
const HOUSEKEEPING: [&str; 2] = ["\n<chat_history>\n", "\n<context>\n"];

/// The start of such a conversation.
const SPEAKERS: [&str; 2] = ["USER:", "ASSISTANT:"];

/// Whether a message is such a prompt of Open WebUI.
fn is_housekeeping(text: &str) -> bool {
    let begins = |rest: &str| SPEAKERS.iter().any(|speaker| rest.starts_with(speaker));
    HOUSEKEEPING.iter().any(|mark| text.split(mark).skip(1).any(begins))
}

/// The content of a message.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected text or a list of parts")]
pub(crate) enum Content {
    /// Text.
    Text(String),
    /// Text in parts.
    Parts(Vec<Part>),
    /// None, as in a message that only calls a tool.
    #[default]
    Nothing,
}

/// A part of a message.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

impl Content {
    fn into_text(self) -> Result<String, Problem> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Nothing => Ok(String::new()),
            Self::Parts(parts) => parts
                .into_iter()
                .map(|part| match (part.kind.as_str(), part.text) {
                    ("text" | "input_text" | "output_text", Some(text)) => Ok(text),
                    (kind, _) => Err(Problem::invalid(format!(
                        "unsupported part of type {kind:?}: only text is supported"
                    ))),
                })
                .collect::<Result<Vec<_>, _>>()
                .map(|texts| texts.join("\n")),
        }
    }
}

/// The last message of a conversation as a question; earlier messages become its history, and instructions go to
/// the answer model.
///
/// A client's own housekeeping prompt goes to the answer model alone, without our instructions.
pub(crate) fn question_of(messages: Vec<Message>, mode: Mode) -> Result<Question, Problem> {
    let (mut history, mut instructions) = (Vec::new(), Vec::new());
    for Message { role, content, images } in messages {
        if images.is_some_and(|images| !images.is_empty()) {
            return Err(Problem::invalid("images: only text is supported"));
        }
        let content = content.into_text()?;
        match role.as_str() {
            "system" | "developer" => instructions.push(content),
            "user" => history.push(ChatMessage::new(ChatRole::User, content)),
            "assistant" => history.push(ChatMessage::new(ChatRole::Assistant, content)),
            other => {
                let what = format!("unsupported role {other:?}: use system, user or assistant");
                return Err(Problem::invalid(what));
            }
        }
    }
    let text = match history.pop() {
        Some(last) if last.role == ChatRole::User => last.content,
        Some(_) | None => return Err(Problem::invalid("the last message must have the role user")),
    };
    let user_prompt = (!instructions.is_empty()).then(|| instructions.join("\n"));
    let housekeeps = is_housekeeping(&text);
    let mode = if housekeeps { Mode::Bypass } else { mode };
    let disable_user_prompt_prefix = housekeeps;
    Ok(Question { text, mode, history, user_prompt, disable_user_prompt_prefix, ..Question::default() })
}

/// Appended to an answer that no LLM wrote.
const VERBATIM: &str = "Answered without an LLM: verbatim sentences from the documents.";

/// Text appended to an answer for clients that show only text: its sources, and a note if no LLM wrote it. Empty
/// if there is nothing to add, or if the client set a stop text.
pub(crate) fn below(question: &Question, answered: &QuestionOutcome) -> String {
    if !question.stop.is_empty() || (answered.cut && question.max_output_tokens.is_some()) {
        return String::new();
    }
    let sources = sources_of(&answered.citations);
    if answered.verbatim { format!("{sources}\n\n{VERBATIM}") } else { sources }
}

/// The cited places, one line per document; empty if there are none.
fn sources_of(citations: &[Citation]) -> String {
    let mut lines: Vec<(u32, String)> = Vec::new();
    for citation in citations {
        let (first, last) = citation.lines;
        let place = match &citation.place {
            Some(place) => place.to_string(),
            None if first == last => format!("line {first}"),
            None => format!("lines {first}-{last}"),
        };
        match lines.iter_mut().find(|(number, _)| *number == citation.number) {
            Some((_, line)) if line.ends_with(&place) => {}
            Some((_, line)) => line.push_str(&format!("; {place}")),
            None => lines.push((
                citation.number,
                format!("[{}] {}, {place}", citation.number, plain(&citation.source)),
            )),
        }
    }
    lines.sort_by_key(|(number, _)| *number);
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    if lines.is_empty() { String::new() } else { format!("\n\nSources:\n{}", lines.join("\n")) }
}

/// Tokens used by an answer; cached and rule-based steps use none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Tokens {
    /// Tokens sent.
    pub(crate) prompt_tokens: u64,
    /// Tokens received.
    pub(crate) completion_tokens: u64,
    /// Sum of both.
    pub(crate) total_tokens: u64,
}

impl Tokens {
    pub(crate) fn of(calls: &[Call]) -> Self {
        let prompt_tokens = calls.iter().map(|call| call.prompt_tokens).sum();
        let completion_tokens = calls.iter().map(|call| call.completion_tokens).sum();
        Self { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::{DocumentId, Span};

    use super::*;

    fn check_question(json: &str) -> Result<Question, String> {
        let messages: Vec<Message> = serde_json::from_str(json).expect("messages");
        question_of(messages, Mode::Mix).map_err(|problem| problem.words())
    }

    #[test]
    fn the_last_message_is_the_question_and_instructions_are_not_in_the_history() {
        let question = check_question(
            r#"[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"},
                {"role": "assistant", "content": "Ada."},
                {"role": "user", "content": [{"type": "text", "text": "And"}, {"type": "text", "text": "when?"}]}]"#,
        );
        let question = question.expect("a question");
        assert_eq!(
            (question.text.as_str(), question.user_prompt.as_deref()),
            ("And\nwhen?", Some("Be brief."))
        );
        assert_eq!(question.history.len(), 2);
    }

    #[test]
    fn open_webuis_own_prompts_bypass_the_documents() {
        let asked = |task: &str| format!("### Task:\nSuggest a title.\n{task}");
        let mode_of = |text: &str| {
            let content = Content::Text(text.to_owned());
            question_of(vec![Message::new("user", content)], Mode::Mix).expect("a question").mode
        };
        for own in [
            "### Chat History:\n<chat_history>\nUSER: Who?\nASSISTANT: Ada.\n</chat_history>",
            "### Chat History:\n<chat_history>\nASSISTANT: Ada.\nUSER: And when?\n</chat_history>",
            "### Context:\n<context>\nUSER: Who?\n</context>\n<text>Wh</text>",
        ] {
            assert_eq!(mode_of(&asked(own)), Mode::Bypass, "{own}");
        }
        for question in [
            "What does <chat_history> stand for?",
            "<context>\n<source id=\"1\">USER: x</source>\n</context>",
            "\n<chat_history>\nWho?",
        ] {
            assert_eq!(mode_of(&asked(question)), Mode::Mix, "{question}");
        }
    }

    #[test]
    fn an_invalid_conversation_is_refused_with_the_reason() {
        for (json, why) in [
            ("[]", "the last message must have the role user"),
            (r#"[{"role": "assistant", "content": "Hi"}]"#, "the last message must have the role user"),
            (r#"[{"role": "tool", "content": "Hi"}]"#, "role \"tool\""),
            (r#"[{"role": "user", "content": [{"type": "image_url"}]}]"#, "type \"image_url\""),
        ] {
            let said = check_question(json).expect_err(json);
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn sources_list_each_document_on_one_line_with_its_places() {
        let citation = |number: u32, source: &str, lines: (u32, u32)| Citation {
            number,
            document: DocumentId::from_stored(source),
            source: source.to_owned(),
            span: Span { start: 0, end: 1 },
            lines,
            lines_match_source: true,
            place: None,
            quote: "x".to_owned(),
        };
        let citations =
            [citation(2, "b.md", (4, 4)), citation(1, "a.md", (1, 2)), citation(2, "b.md", (9, 9))];
        assert_eq!(sources_of(&citations), "\n\nSources:\n[1] a.md, lines 1-2\n[2] b.md, line 4; line 9");
        assert_eq!(sources_of(&[]), "");
    }
}
