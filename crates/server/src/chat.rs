//! Conversations of clients that speak other protocols: which workspace and mode a model name means, and which question
//! a list of messages asks.

use std::sync::Arc;

use graphloom_core::{Call, ChatMessage, ChatRole, WorkspaceId};
use graphloom_engine::query::{Citation, MAX_STOP_CHARS, MAX_STOPS, Mode, Question};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Right;
use crate::answering::{Answered, plain};
use crate::app::App;
use crate::guard::{Admitted, check};
use crate::host::Missing;
use crate::problem::Problem;
use crate::space::Space;

/// What a model is called that means the workspace of the request.
const OWN_NAME: &str = "graphloom";
/// What clients of LightRAG call it.
const LIGHTRAG: &str = "lightrag";
/// Models named where another was asked for.
const MAX_NAMED: usize = 5;
/// Characters of a model's name that are said back.
const MAX_SHOWN: usize = 100;
/// The tag that says nothing, in the manner of Ollama.
const LATEST: &str = "latest";

/// Every mode, the default first.
pub(crate) const MODES: [Mode; 9] = [
    Mode::Auto,
    Mode::Ppr,
    Mode::Mix,
    Mode::Hybrid,
    Mode::Local,
    Mode::Global,
    Mode::Naive,
    Mode::Contextual,
    Mode::Bypass,
];

/// A mode's name.
pub(crate) fn name_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "auto",
        Mode::Ppr => "ppr",
        Mode::Mix => "mix",
        Mode::Hybrid => "hybrid",
        Mode::Local => "local",
        Mode::Global => "global",
        Mode::Naive => "naive",
        Mode::Contextual => "contextual",
        Mode::Bypass => "bypass",
    }
}

/// The mode of this name.
pub(crate) fn mode_named(name: &str) -> Option<Mode> {
    MODES.into_iter().find(|mode| name_of(*mode) == name)
}

/// Who is asked: a workspace, and a mode where the name says one.
pub(crate) struct Asked {
    /// The workspace.
    pub(crate) space: Arc<Space>,
    /// The mode.
    pub(crate) mode: Option<Mode>,
}

/// The workspace and mode of a model name: `WORKSPACE:MODE`, `WORKSPACE`, or `graphloom` and `graphloom:MODE` for the
/// workspace of the request, also where a workspace has that name. The caller must be allowed to read it.
pub(crate) async fn asked(app: &App, admitted: &Admitted, model: &str) -> Result<Asked, Problem> {
    let (name, tag) = model.split_once(':').unwrap_or((model, LATEST));
    let mode = match tag {
        LATEST => None,
        mode => match mode_named(mode) {
            Some(mode) => Some(mode),
            None => return Err(unknown(app, admitted, model).await),
        },
    };
    let Ok(named) = WorkspaceId::new(name) else { return Err(unknown(app, admitted, model).await) };
    let workspace = if is_own_name(name) { admitted.workspace.clone() } else { named };
    if !is_own_name(name) && !admitted.caller.grant.reaches(&workspace) {
        let what = format!("this credential reaches no model {:?}", shown(model));
        return Err(Problem::forbidden(what).remedy(Some(known_models(app, admitted).await)));
    }
    check(&admitted.caller, Right::Read, &workspace)?;
    if admitted.names_workspace && workspace != admitted.workspace {
        let what = format!("the request names workspace {}, and the model {workspace}", admitted.workspace);
        return Err(Problem::invalid(what).remedy(Some("leave the workspace to one of the two")));
    }
    match app.spaces.get(&workspace, Missing::Leave).await {
        Ok(space) => Ok(Asked { space, mode }),
        Err(problem) if problem.is_not_found() => Err(unknown(app, admitted, model).await),
        Err(problem) => Err(problem),
    }
}

/// Whether a model of this name means the workspace of the request. A workspace that was given this name must not answer
/// in its place.
fn is_own_name(name: &str) -> bool {
    [OWN_NAME, LIGHTRAG].contains(&name)
}

/// Whether the caller reaches the workspace, and a model of its name means it.
fn is_model(admitted: &Admitted, workspace: &WorkspaceId) -> bool {
    let is_meant = *workspace == admitted.workspace || !is_own_name(workspace.as_str());
    is_meant && admitted.caller.grant.reaches(workspace)
}

/// Says that there is no such model, and names some that there are.
async fn unknown(app: &App, admitted: &Admitted, model: &str) -> Problem {
    Problem::not_found(format!("no model {:?}", shown(model))).remedy(Some(known_models(app, admitted).await))
}

/// As much of a model's name as is said back.
fn shown(model: &str) -> String {
    model.chars().take(MAX_SHOWN).collect()
}

/// How models are named, with some that the caller reaches.
async fn known_models(app: &App, admitted: &Admitted) -> String {
    let known: Vec<String> = match app.host.workspaces().await {
        Ok(workspaces) => {
            let reached = workspaces.into_iter().filter(|workspace| is_model(admitted, workspace));
            reached.take(MAX_NAMED).map(|workspace| format!("{workspace}:{}", name_of(MODES[0]))).collect()
        }
        Err(_) => Vec::new(),
    };
    let such_as = match known.is_empty() {
        true => String::new(),
        false => format!(", such as {}", known.join(", ")),
    };
    format!("models are named WORKSPACE:MODE{such_as}; GET /v1/models lists all")
}

/// The names of all models that a caller may ask, by workspace, the default mode first.
pub(crate) async fn model_names(app: &App, admitted: &Admitted) -> Result<Vec<String>, Problem> {
    let workspaces = app.host.workspaces().await?;
    let reached = workspaces.into_iter().filter(|workspace| is_model(admitted, workspace));
    Ok(reached.flat_map(|workspace| MODES.map(|mode| format!("{workspace}:{}", name_of(mode)))).collect())
}

/// A message as both protocols have it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Message {
    /// `system`, `developer`, `user` or `assistant`.
    pub(crate) role: String,
    /// Text, or a list of parts of type `text`.
    #[serde(default)]
    pub(crate) content: Content,
    /// Not taken, but for an empty list: only text is read.
    images: Option<Vec<Value>>,
}

impl Message {
    pub(crate) fn new(role: impl Into<String>, content: Content) -> Self {
        Self { role: role.into(), content, images: None }
    }
}

/// Where an answer ends: a text, or a list of texts.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "text or a list of texts is expected")]
pub(crate) enum Stop {
    /// One.
    One(#[schemars(length(max = MAX_STOP_CHARS))] String),
    /// The first of several.
    Many(#[schemars(length(max = MAX_STOPS), inner(length(max = MAX_STOP_CHARS)))] Vec<String>),
}

/// Output limits from here on limit nothing, and are not passed on: services refuse one above their own.
const NO_LIMIT: u32 = 16_384;

/// Limits the answer as a client asks for.
pub(crate) fn limit(
    question: &mut Question,
    max_tokens: Option<u32>,
    stop: Option<Stop>,
) -> Result<(), Problem> {
    if max_tokens == Some(0) {
        return Err(Problem::invalid(
            "an answer has at least 1 token; the limit of its tokens must not be 0",
        ));
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

/// What stands before the conversation in what Open WebUI asks a model for its own purposes: titles, tags, further questions,
/// search queries, completions. It asks about the conversation and not about documents.
const HOUSEKEEPING: [&str; 2] = ["\n<chat_history>\n", "\n<context>\n"];

/// How such a conversation begins.
const SPEAKERS: [&str; 2] = ["USER:", "ASSISTANT:"];

/// Whether a message is what Open WebUI asks for its own purposes.
fn is_housekeeping(text: &str) -> bool {
    let begins = |rest: &str| SPEAKERS.iter().any(|speaker| rest.starts_with(speaker));
    HOUSEKEEPING.iter().any(|mark| text.split(mark).skip(1).any(begins))
}

/// What a message says.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "text or a list of parts is expected")]
pub(crate) enum Content {
    /// Text.
    Text(String),
    /// Text in parts.
    Parts(Vec<Part>),
    /// Nothing, as of a message that only called a tool.
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
                        "a part of type {kind:?} cannot be read; only text can"
                    ))),
                })
                .collect::<Result<Vec<_>, _>>()
                .map(|texts| texts.join("\n")),
        }
    }
}

/// The question that a conversation ends with: what came before is its history, and instructions go to the answer model.
///
/// What a client asks for its own purposes is left to the answer model alone, without instructions of ours.
pub(crate) fn question_of(messages: Vec<Message>, mode: Mode) -> Result<Question, Problem> {
    let (mut history, mut instructions) = (Vec::new(), Vec::new());
    for Message { role, content, images } in messages {
        if images.is_some_and(|images| !images.is_empty()) {
            return Err(Problem::invalid("images: only text can be read"));
        }
        let content = content.into_text()?;
        match role.as_str() {
            "system" | "developer" => instructions.push(content),
            "user" => history.push(ChatMessage::new(ChatRole::User, content)),
            "assistant" => history.push(ChatMessage::new(ChatRole::Assistant, content)),
            other => {
                let what = format!(
                    "a message of role {other:?} cannot be read; only system, user and assistant can"
                );
                return Err(Problem::invalid(what));
            }
        }
    }
    let text = match history.pop() {
        Some(last) if last.role == ChatRole::User => last.content,
        Some(_) | None => return Err(Problem::invalid("the last message must be the user's")),
    };
    let user_prompt = (!instructions.is_empty()).then(|| instructions.join("\n"));
    let housekeeps = is_housekeeping(&text);
    let mode = if housekeeps { Mode::Bypass } else { mode };
    let disable_user_prompt_prefix = housekeeps;
    Ok(Question { text, mode, history, user_prompt, disable_user_prompt_prefix, ..Question::default() })
}

/// Says below an answer that no model wrote it.
const VERBATIM: &str = "Answered without a language model: verbatim sentences from the documents.";

/// What is added to an answer for clients that show its text alone: its sources, and whether no model wrote it. Empty where
/// there is nothing to add, and where the client said itself how the text ends.
pub(crate) fn below(question: &Question, answered: &Answered) -> String {
    if !question.stop.is_empty() || (answered.cut && question.max_output_tokens.is_some()) {
        return String::new();
    }
    let sources = sources_of(&answered.citations);
    if answered.verbatim { format!("{sources}\n\n{VERBATIM}") } else { sources }
}

/// The places behind the numbers of an answer, one line for each document. Empty where it has none.
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

/// Tokens of the calls that an answer took; what was remembered or made by rules cost none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Tokens {
    /// Sent.
    pub(crate) prompt_tokens: u64,
    /// Received.
    pub(crate) completion_tokens: u64,
    /// Together.
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
    fn the_last_message_asks_and_instructions_are_no_part_of_the_conversation() {
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
    fn what_open_webui_asks_for_itself_is_no_question_to_documents() {
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
    fn what_is_no_conversation_says_why() {
        for (json, why) in [
            ("[]", "the last message must be the user's"),
            (r#"[{"role": "assistant", "content": "Hi"}]"#, "the last message must be the user's"),
            (r#"[{"role": "tool", "content": "Hi"}]"#, "role \"tool\""),
            (r#"[{"role": "user", "content": [{"type": "image_url"}]}]"#, "type \"image_url\""),
        ] {
            let said = check_question(json).expect_err(json);
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn every_mode_has_a_name_that_leads_back() {
        for mode in MODES {
            assert_eq!(mode_named(name_of(mode)), Some(mode));
            assert_eq!(serde_json::to_value(mode).expect("JSON"), name_of(mode));
        }
    }

    #[test]
    fn sources_are_one_line_for_each_document_with_its_places() {
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
