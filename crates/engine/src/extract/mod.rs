//! Records from chunks, by a model: one call, gleanings, one content-addressed extraction.

mod tuples;

use graphloom_core::{
    Call, CallOutcome, ChatMessage, ChatRequest, ChatRole, Chunk, Clock, Completion, DocumentId, Extraction,
    ExtractionKey, FinishReason, LanguageModel, ModelError, Records, RelationRecord, Role, complete,
};

use crate::prompt::Prompt;
use crate::text::entity_key;
pub(crate) use tuples::after_thinking;
use tuples::{ParsedResponse, parse_tuples};

/// Asks for the records of a chunk.
pub const SYSTEM_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/extract_system.md"));
/// Carries the chunk.
pub const USER_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/extract_user.md"));
/// Asks for what was missed.
pub const GLEAN_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/extract_glean.md"));

/// Most records asked of one answer, LightRAG's limit.
pub const MAX_RECORDS: u32 = 100;
/// Most entities asked of one answer, LightRAG's limit.
pub const MAX_ENTITIES: u32 = 40;
/// LightRAG's entity types.
pub const ENTITY_TYPES: [&str; 12] = [
    "Person",
    "Creature",
    "Organization",
    "Location",
    "Event",
    "Concept",
    "Method",
    "Content",
    "Data",
    "Artifact",
    "NaturalObject",
    "Other",
];
/// Bumped when the rules change what they extract, so that old extractions are not mistaken for new ones.
const RULES: &str = "rules-1";

/// How records are asked for; everything here is part of the extraction's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractSpec {
    /// Types offered to the model.
    pub entity_types: Vec<String>,
    /// Extra passes for what the first answer missed.
    pub gleaning: u32,
}

impl Default for ExtractSpec {
    fn default() -> Self {
        Self { entity_types: ENTITY_TYPES.map(str::to_owned).to_vec(), gleaning: 1 }
    }
}

/// An extraction and what it cost.
#[derive(Debug)]
pub struct Extracted {
    /// The outcome; an error where the chunk failed.
    pub result: Result<Extraction, ModelError>,
    /// One row per call, failed ones included.
    pub calls: Vec<Call>,
}

/// The key under which the records of `chunk` are kept: everything that can change the answer. `model` is `None` for
/// the rules.
pub fn extraction_key(chunk: &Chunk, spec: &ExtractSpec, model: Option<&str>) -> ExtractionKey {
    let section = section_line(chunk);
    match model {
        None => ExtractionKey::new(&[RULES, &chunk.text]),
        Some(model) => ExtractionKey::new(&[
            model,
            &spec.gleaning.to_string(),
            &system_prompt(spec),
            USER_PROMPT.body(),
            GLEAN_PROMPT.body(),
            &section,
            &chunk.text,
        ]),
    }
}

/// The records of `chunk` by the offline rules.
pub fn extract_by_rules(chunk: &Chunk, key: ExtractionKey) -> Extraction {
    let records = crate::offline::extract(&chunk.text);
    Extraction { key, model: RULES.to_owned(), responses: Vec::new(), records, rejects: Vec::new() }
}

/// The records of `chunk` by `model`: a first answer and up to `spec.gleaning` more. A gleaning that fails leaves what
/// was already said; a first answer that fails is the chunk's failure.
pub async fn extract_by_model(
    chunk: &Chunk,
    key: ExtractionKey,
    spec: &ExtractSpec,
    model: &dyn LanguageModel,
    clock: &dyn Clock,
) -> Extracted {
    let mut messages = vec![
        ChatMessage::new(ChatRole::System, system_prompt(spec)),
        ChatMessage::new(ChatRole::User, user_prompt(chunk)),
    ];
    let mut calls = Vec::new();
    let mut responses: Vec<String> = Vec::new();
    let mut parsed: Vec<ParsedResponse> = Vec::new();
    for pass in 0..=spec.gleaning {
        let request = ChatRequest { messages: messages.clone(), ..ChatRequest::default() };
        let (answer, call) = ask(model, request, Role::Extract, Some(&chunk.document), clock).await;
        calls.push(call);
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if pass == 0 => return Extracted { result: Err(error), calls },
            Err(error) => {
                tracing::warn!(chunk = %chunk.id, pass, %error, "gleaning failed; the first answer stands");
                break;
            }
        };
        let read = parse_tuples(pass, &answer);
        let silent = read.records.entities.is_empty() && read.records.relations.is_empty();
        parsed.push(read);
        messages.push(ChatMessage::new(ChatRole::Assistant, answer.clone()));
        messages.push(ChatMessage::new(ChatRole::User, GLEAN_PROMPT.body()));
        responses.push(answer);
        if pass > 0 && silent {
            break;
        }
    }
    if let Some(error) = says_nothing(model, &responses, &parsed) {
        return Extracted { result: Err(error), calls };
    }
    let rejects = parsed.iter_mut().flat_map(|read| std::mem::take(&mut read.rejects)).collect();
    let records = glean(parsed.into_iter().map(|read| read.records));
    let extraction = Extraction { key, model: model.name().to_owned(), responses, records, rejects };
    Extracted { result: Ok(extraction), calls }
}

/// Asks once and writes the ledger row.
pub(crate) async fn ask(
    model: &dyn LanguageModel,
    request: ChatRequest,
    role: Role,
    document: Option<&DocumentId>,
    clock: &dyn Clock,
) -> (Result<String, ModelError>, Call) {
    let started_at = clock.now();
    let answer = complete(model, request).await;
    let done = answer.as_ref().ok().map(|(_, completion)| *completion);
    let outcome = match &answer {
        Ok((_, Completion { finish: FinishReason::Length, .. })) => CallOutcome::Truncated,
        Ok(_) => CallOutcome::Ok,
        Err(error) => CallOutcome::Failed { reason: error.to_string() },
    };
    let call = Call {
        role,
        model: model.name().to_owned(),
        prompt_tokens: done.map_or(0, |done| done.usage.prompt_tokens),
        completion_tokens: done.map_or(0, |done| done.usage.completion_tokens),
        attempts: done.map_or(1, |done| done.attempts),
        started_at,
        duration_ms: clock.now().0.saturating_sub(started_at.0),
        outcome,
        document: document.cloned(),
    };
    (answer.map(|(text, _)| text), call)
}

/// An answer that holds text but neither a record nor the completion mark is no extraction: keeping it would hide the
/// failure for ever.
fn says_nothing(
    model: &dyn LanguageModel,
    responses: &[String],
    parsed: &[ParsedResponse],
) -> Option<ModelError> {
    let recordless =
        parsed.iter().all(|read| read.records.entities.is_empty() && read.records.relations.is_empty());
    if !recordless || parsed.iter().any(|read| read.complete) {
        return None;
    }
    let what = match responses.iter().find(|response| !response.trim().is_empty()) {
        None => "the answer is empty".to_owned(),
        Some(text) => format!("the answer holds no record: {:?}", text.chars().take(80).collect::<String>()),
    };
    Some(ModelError::Malformed { model: model.name().to_owned(), what })
}

/// Joins the passes: new names and pairs are added, and of two records of one name or pair the longer description
/// stays, as in LightRAG. Records of one pass never compete with each other.
fn glean(passes: impl IntoIterator<Item = Records>) -> Records {
    let mut passes = passes.into_iter();
    let mut all = passes.next().unwrap_or_default();
    for pass in passes {
        for entity in pass.entities {
            match all.entities.iter_mut().find(|known| entity_key(&known.name) == entity_key(&entity.name)) {
                Some(known) if known.description.len() >= entity.description.len() => {}
                Some(known) => *known = entity,
                None => all.entities.push(entity),
            }
        }
        for relation in pass.relations {
            match all.relations.iter_mut().find(|known| pair(known) == pair(&relation)) {
                Some(known) if known.description.len() >= relation.description.len() => {}
                Some(known) => *known = relation,
                None => all.relations.push(relation),
            }
        }
    }
    all
}

fn pair(relation: &RelationRecord) -> Option<graphloom_core::RelationKey> {
    graphloom_core::RelationKey::new(entity_key(&relation.source)?, entity_key(&relation.target)?)
}

fn system_prompt(spec: &ExtractSpec) -> String {
    SYSTEM_PROMPT.render(&[
        ("entity_types", &spec.entity_types.join(", ")),
        ("max_records", &MAX_RECORDS.to_string()),
        ("max_entities", &MAX_ENTITIES.to_string()),
    ])
}

fn user_prompt(chunk: &Chunk) -> String {
    USER_PROMPT.render(&[("section", &section_line(chunk)), ("text", &chunk.text)])
}

/// `Section: a → b` for chunks under headings, else nothing.
fn section_line(chunk: &Chunk) -> String {
    if chunk.breadcrumb.is_empty() {
        return String::new();
    }
    format!("Section: {}\n", chunk.breadcrumb.join(" → "))
}
