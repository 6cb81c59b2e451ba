//! Extracts records from chunks with an LLM: one call and its gleanings make one content-addressed extraction.

mod claims;
mod coverage;
mod form;
mod glean;
mod leaks;
mod loss;
mod output;
pub mod records;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use graphloom_core::{
    Call, CallOutcome, ChatMessage, ChatRequest, ChatRole, Chunk, Clock, Completion, DocumentId, Extraction,
    ExtractionKey, FinishReason, LanguageModel, ModelError, Records, Reject, RejectReason, RelationRecord,
    Role, complete,
};

use crate::Engine;
use crate::prompt::{EXTRACT_CONTINUE, EXTRACT_GLEAN, EXTRACT_MISSED, EXTRACT_SYSTEM, EXTRACT_USER, Prompts};
pub(crate) use claims::claim_messages;
pub use claims::{ClaimFields, MAX_CLAIMS, ParsedClaims, claim_record, parse_claims};
use claims::{ask_for_claims, claims_prompt};
pub use coverage::{Coverage, MAX_MISSED, MIN_MISSED, MIN_MISSED_PERCENT, coverage};
pub use form::RecordForm;
pub use glean::Gleaning;
use glean::again;
use graphloom_offline::RULES;
use graphloom_text::entity_key;
use leaks::ExampleNames;
pub use loss::Losses;
use loss::damaged_key;
pub(crate) use loss::ends_a_sentence;
use output::{Answer, ChunkQuestion, ask_with_retry};
pub use output::{MAX_CONTINUATIONS, MAX_OUTPUT_TOKENS, output_limit};
pub(crate) use records::{THOUGHT_BLOCKS, after_thinking};

/// Names in the examples of the built-in system prompt. Every answer is searched for them.
static EXAMPLES: LazyLock<ExampleNames> = LazyLock::new(|| ExampleNames::of(EXTRACT_SYSTEM.body()));

/// The model name of the extractions of chunks that the rules did not read.
pub(crate) const LEFT_OUT: &str = "rules-left-out";

/// The model name of the extractions of boilerplate that a publisher put around the text; no model is asked about it.
const BOILERPLATE: &str = "boilerplate";

/// Maximum number of records requested per answer, LightRAG's limit.
pub const MAX_RECORDS: u32 = 100;
/// Maximum number of entities requested per answer, LightRAG's limit.
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

/// How records are requested. Everything here is part of the extraction's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractSpec {
    /// Entity types offered to the model.
    pub entity_types: Vec<String>,
    /// What the types mean and what to leave out, as instructions for the model.
    pub entity_guidance: Option<String>,
    /// When a chunk is asked about again.
    pub gleaning: Gleaning,
    /// The form of the records.
    pub form: RecordForm,
    /// Whether a model is also asked for claims, in a separate call. The rules always find claims.
    pub claims: bool,
}

impl Default for ExtractSpec {
    fn default() -> Self {
        Self {
            entity_types: ENTITY_TYPES.map(str::to_owned).to_vec(),
            entity_guidance: None,
            gleaning: Gleaning::default(),
            form: RecordForm::default(),
            claims: false,
        }
    }
}

/// An extraction and its calls.
#[derive(Debug)]
pub struct ExtractResult {
    /// The extraction, or an error if the chunk failed.
    pub result: Result<Extraction, ModelError>,
    /// What the answers lost. If anything was lost, the extraction is what was saved.
    pub losses: Losses,
    /// One row per call, including failed calls.
    pub calls: Vec<Call>,
}

/// Returns the key under which the records of `chunk` are stored: a hash of everything that can change the answer. `model` is
/// `None` for the rules.
pub fn extraction_key(
    chunk: &Chunk,
    spec: &ExtractSpec,
    prompts: &Prompts,
    model: Option<&str>,
) -> ExtractionKey {
    let section = section_line(chunk);
    match model {
        None => ExtractionKey::new(&[RULES, &chunk.text]),
        Some(model) => {
            let (gleaning, form) = (spec.gleaning.identity(), spec.form.identity(&spec.entity_types));
            let (claims, system) =
                (spec.claims.then(|| claims_prompt(prompts)), system_prompt(spec, prompts));
            let mut parts = vec![
                model,
                &gleaning,
                &form,
                &system,
                prompts.body(EXTRACT_USER),
                prompts.body(EXTRACT_GLEAN),
                prompts.body(EXTRACT_CONTINUE),
                prompts.body(EXTRACT_MISSED),
                &section,
                &chunk.text,
            ];
            parts.extend(claims.as_deref());
            ExtractionKey::new(&parts)
        }
    }
}

/// Returns the key of a chunk's records by rules. Of a long document, the rules read only the first chunks.
pub(crate) fn rules_key(engine: &Engine, chunk: &Chunk) -> ExtractionKey {
    if chunk.ordinal < engine.index.max_rule_chunks {
        extraction_key(chunk, &engine.index.extract, &engine.prompts, None)
    } else {
        ExtractionKey::new(&[LEFT_OUT, &chunk.text])
    }
}

/// Extracts a chunk by rules, under its [`rules_key`]; returns no records if the rules do not read the chunk.
pub(crate) fn run_rules(engine: &Engine, chunk: &Chunk, key: ExtractionKey) -> Extraction {
    if chunk.ordinal < engine.index.max_rule_chunks {
        return extract_by_rules(chunk, key);
    }
    let (responses, records, rejects) = (Vec::new(), Records::default(), Vec::new());
    Extraction { key, model: LEFT_OUT.to_owned(), responses, records, rejects }
}

/// Returns the key of the extraction of a boilerplate chunk with this text.
fn boilerplate_key(text: &str) -> ExtractionKey {
    ExtractionKey::new(&[BOILERPLATE, text])
}

/// Returns the extraction of a boilerplate chunk: no records. Its key marks the chunk as boilerplate.
pub(crate) fn of_boilerplate(text: &str) -> Extraction {
    let (responses, records, rejects) = (Vec::new(), Records::default(), Vec::new());
    Extraction { key: boilerplate_key(text), model: BOILERPLATE.to_owned(), responses, records, rejects }
}

/// True if a chunk is marked as boilerplate.
pub(crate) fn is_boilerplate(chunk: &Chunk) -> bool {
    chunk.extraction.key().is_some_and(|key| *key == boilerplate_key(&chunk.text))
}

/// Extracts the records of `chunk` with the offline rules.
pub fn extract_by_rules(chunk: &Chunk, key: ExtractionKey) -> Extraction {
    let records = graphloom_offline::extract(&chunk.text);
    Extraction { key, model: RULES.to_owned(), responses: Vec::new(), records, rejects: Vec::new() }
}

/// Extracts the records of `chunk` with `model`: a first answer, and as many more as `spec.gleaning` allows. An answer that lost
/// records is requested once more immediately. If a gleaning fails, the earlier answers stay and the failure counts as a loss. If
/// the first answer fails, the chunk fails.
pub async fn extract_by_model(
    chunk: &Chunk,
    key: ExtractionKey,
    spec: &ExtractSpec,
    prompts: &Prompts,
    model: &dyn LanguageModel,
    clock: &dyn Clock,
) -> ExtractResult {
    let opening = first_messages(chunk, spec, prompts);
    let shape = spec.form.shape(&spec.entity_types);
    let asking = ChunkQuestion {
        shape,
        prompts,
        limit: output_limit(chunk.text.len()),
        document: &chunk.document,
        model,
        clock,
    };
    let mut messages = opening.clone();
    let mut calls = Vec::new();
    let mut answers: Vec<Answer> = Vec::new();
    let failed = |error, calls| ExtractResult { result: Err(error), losses: Losses::default(), calls };
    let mut not_answered = None;
    for pass in 0.. {
        let answer = match ask_with_retry(&asking, &mut messages, &mut calls).await {
            Ok(answer) => answer,
            Err(error) if pass == 0 => return failed(error, calls),
            // The stored result must not depend on the budget or on a stop; a later run asks again.
            Err(error) if error.is_postponed() => return failed(error, calls),
            Err(error) => {
                tracing::warn!(chunk = %chunk.id, pass, %error, "gleaning failed; the first answer stands");
                not_answered = Some(error.to_string());
                break;
            }
        };
        answers.push(answer);
        let records: Vec<Records> = answers.iter().map(Answer::records).collect();
        match again(spec, prompts, &chunk.text, &opening, &messages, &records) {
            Some(next) => messages = next,
            None => break,
        }
    }
    if let Some(error) = says_nothing(model, &answers) {
        return failed(error, calls);
    }
    let own_examples;
    let examples = match prompts.is_own(spec.form.system_prompt()) {
        true => {
            own_examples = ExampleNames::of(prompts.body(spec.form.system_prompt()));
            &own_examples
        }
        false => &*EXAMPLES,
    };
    let mut losses = Losses::default();
    let (mut responses, mut rejects, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for answer in &mut answers {
        for ((text, parsed), call) in answer.pieces.iter_mut().zip(&answer.calls) {
            examples.reject_leaked(parsed, &chunk.text);
            calls[*call].rejects = parsed.rejects.len() as u32;
            rejects.extend(parsed.rejects_of(responses.len() as u32, text));
            responses.push(std::mem::take(text));
        }
        losses.extend(&answer.losses());
        records.push(answer.records());
    }
    if let Some(text) = not_answered {
        losses.add(RejectReason::NotAnswered);
        let response = responses.len() as u32;
        rejects.push(Reject { response, offset: 0, reason: RejectReason::NotAnswered, text });
    }
    let mut claims = Vec::new();
    if spec.claims {
        match ask_for_claims(chunk, prompts, model, clock, responses.len(), &mut calls).await {
            Ok(claimed) => {
                claims = claimed.records;
                losses.extend(&claimed.losses);
                rejects.extend(claimed.rejects);
                responses.extend(claimed.responses);
            }
            Err(error) if error.is_postponed() => return failed(error, calls),
            Err(error) => {
                tracing::warn!(chunk = %chunk.id, %error, "asking for claims failed; entities and relations stand");
                losses.add(RejectReason::NotAnswered);
                let (response, text) = (responses.len() as u32, error.to_string());
                rejects.push(Reject { response, offset: 0, reason: RejectReason::NotAnswered, text });
            }
        }
    }
    if !rejects.is_empty() {
        tracing::warn!(chunk = %chunk.id, rejects = rejects.len(), "parts of the answer were not records");
    }
    let records = Records { claims, ..glean(records) };
    let key = if losses.is_empty() { key } else { damaged_key(&key, &responses) };
    let extraction = Extraction { key, model: model.name().to_owned(), responses, records, rejects };
    ExtractResult { result: Ok(extraction), losses, calls }
}

/// Builds an extraction from answers that another program received about a chunk: the first answer, then gleanings. They are
/// parsed like the answers of our own models.
///
/// - `origin`: where the answers come from; used as the model name.
/// - `text`: the chunk's text.
pub fn extract_from_answers(origin: &str, text: &str, responses: Vec<String>) -> Extraction {
    let parts: Vec<&str> = [origin, text].into_iter().chain(responses.iter().map(String::as_str)).collect();
    let key = ExtractionKey::new(&parts);
    let (mut records, mut rejects) = (Vec::new(), Vec::new());
    for (number, response) in (0..).zip(&responses) {
        let parsed = records::parse(response, false);
        rejects.extend(parsed.rejects_of(number, response));
        records.push(parsed.records());
    }
    Extraction { key, model: origin.to_owned(), responses, records: glean(records), rejects }
}

/// Calls the model once and returns its answer with the ledger row. The row has 0 attempts if the call was not sent.
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
        cached_prompt_tokens: done.map_or(0, |done| done.usage.cached_prompt_tokens),
        completion_tokens: done.map_or(0, |done| done.usage.completion_tokens),
        attempts: match &answer {
            Ok((_, done)) => done.attempts,
            Err(ModelError::OverBudget { .. }) => 0,
            Err(ModelError::Stopped { attempts, .. }) => *attempts,
            Err(_) => 1,
        },
        started_at,
        duration_ms: clock.now().0.saturating_sub(started_at.0),
        outcome,
        document: document.cloned(),
        rejects: 0,
    };
    (answer.map(|(text, _)| text), call)
}

/// Returns an error if no answer has a record or a completion mark. Storing such answers would hide the failure
/// forever.
fn says_nothing(model: &dyn LanguageModel, answers: &[Answer]) -> Option<ModelError> {
    if answers.iter().any(|answer| !answer.says_nothing()) {
        return None;
    }
    let mut texts = answers.iter().flat_map(|answer| &answer.pieces).map(|(text, _)| text);
    let what = match texts.find(|text| !text.trim().is_empty()) {
        None => "the answer is empty".to_owned(),
        Some(text) => {
            format!("the answer contains no records: {:?}", text.chars().take(80).collect::<String>())
        }
    };
    Some(ModelError::Malformed { model: model.name().to_owned(), what })
}

/// Joins the answers: new names and pairs are added. Of two records with the same name or pair, the longer description
/// stays, as in LightRAG. Records of one answer never compete with each other.
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
        for theme in pass.themes {
            if !all.themes.contains(&theme) {
                all.themes.push(theme);
            }
        }
    }
    all
}

fn pair(relation: &RelationRecord) -> Option<graphloom_core::RelationKey> {
    graphloom_core::RelationKey::new(entity_key(&relation.source)?, entity_key(&relation.target)?)
}

/// Returns the first question about `chunk`: instructions that are the same for every chunk, then the chunk.
pub(crate) fn first_messages(chunk: &Chunk, spec: &ExtractSpec, prompts: &Prompts) -> Vec<ChatMessage> {
    vec![
        ChatMessage::new(ChatRole::System, system_prompt(spec, prompts)),
        ChatMessage::new(ChatRole::User, user_prompt(chunk, prompts)),
    ]
}

fn system_prompt(spec: &ExtractSpec, prompts: &Prompts) -> String {
    let guidance = spec.entity_guidance.as_deref().map_or(String::new(), guidance);
    prompts.render(
        spec.form.system_prompt(),
        &[
            ("entity_types", &spec.entity_types.join(", ")),
            ("guidance", &guidance),
            ("max_records", &MAX_RECORDS.to_string()),
            ("max_entities", &MAX_ENTITIES.to_string()),
            ("language", &prompts.language("its language", "")),
        ],
    )
}

/// Formats the guidance as part of the rule about types, with each line indented.
fn guidance(words: &str) -> String {
    let lines = words.trim().lines().map(|line| format!("\n  {}", line.trim_end()));
    format!(" What they mean, and what to leave out:{}", lines.collect::<String>())
}

fn user_prompt(chunk: &Chunk, prompts: &Prompts) -> String {
    prompts.render(EXTRACT_USER, &[("section", &section_line(chunk)), ("text", &chunk.text)])
}

/// Returns `Section: a → b` for chunks under headings, otherwise nothing.
fn section_line(chunk: &Chunk) -> String {
    if chunk.breadcrumb.is_empty() {
        return String::new();
    }
    format!("Section: {}\n", chunk.breadcrumb.join(" → "))
}
