//! Records from chunks, by a model: one call, gleanings, one content-addressed extraction.

mod coverage;
mod glean;
mod leaks;
mod loss;
mod output;
pub mod parse;

use std::sync::LazyLock;

use graphloom_core::{
    Call, CallOutcome, ChatMessage, ChatRequest, ChatRole, Chunk, Clock, Completion, DocumentId, Extraction,
    ExtractionKey, FinishReason, LanguageModel, ModelError, Records, Reject, RejectReason, RelationRecord,
    Role, complete,
};

use crate::offline::RULES;
use crate::prompt::Prompt;
use crate::text::entity_key;
pub use coverage::{Coverage, MAX_MISSED, MIN_MISSED, MIN_MISSED_PERCENT, coverage};
pub use glean::Gleaning;
use glean::again;
use leaks::ExampleNames;
pub use loss::Losses;
use loss::damaged_key;
pub(crate) use loss::ends_a_sentence;
use output::{Answer, ask_well};
pub use output::{CONTINUE_PROMPT, MAX_CONTINUATIONS, MAX_OUTPUT_TOKENS, output_limit};
pub(crate) use parse::{THOUGHT_BLOCKS, after_thinking};

/// Asks for the records of a chunk.
pub const SYSTEM_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/extract_system.md"));
/// Carries the chunk.
pub const USER_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/extract_user.md"));
/// Asks for what was missed.
pub const GLEAN_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/extract_glean.md"));
/// Asks for names that were missed.
pub const MISSED_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/extract_missed.md"));

/// The examples of the system prompt; what a workspace sets is in none of them.
static EXAMPLES: LazyLock<ExampleNames> = LazyLock::new(|| ExampleNames::of(SYSTEM_PROMPT.body()));

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

/// How records are asked for; everything here is part of the extraction's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractSpec {
    /// Types offered to the model.
    pub entity_types: Vec<String>,
    /// When a chunk is asked about again for what the first answer missed.
    pub gleaning: Gleaning,
}

impl Default for ExtractSpec {
    fn default() -> Self {
        Self { entity_types: ENTITY_TYPES.map(str::to_owned).to_vec(), gleaning: Gleaning::default() }
    }
}

/// An extraction and what it cost.
#[derive(Debug)]
pub struct Extracted {
    /// The outcome; an error where the chunk failed.
    pub result: Result<Extraction, ModelError>,
    /// What of the answers was lost; the extraction is then what was saved.
    pub losses: Losses,
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
            &spec.gleaning.identity(),
            &system_prompt(spec),
            USER_PROMPT.body(),
            GLEAN_PROMPT.body(),
            CONTINUE_PROMPT.body(),
            MISSED_PROMPT.body(),
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

/// The records of `chunk` by `model`: a first answer and as many more as `spec.gleaning` says. An answer of which records
/// were lost is asked for once more at once. A gleaning that fails leaves what was already said, as a loss; a first answer
/// that fails is the chunk's failure.
pub async fn extract_by_model(
    chunk: &Chunk,
    key: ExtractionKey,
    spec: &ExtractSpec,
    model: &dyn LanguageModel,
    clock: &dyn Clock,
) -> Extracted {
    let opening = first_messages(chunk, spec);
    let mut messages = opening.clone();
    let limit = output_limit(chunk.text.len());
    let mut calls = Vec::new();
    let mut answers: Vec<Answer> = Vec::new();
    let failed = |error, calls| Extracted { result: Err(error), losses: Losses::default(), calls };
    let mut not_answered = None;
    for pass in 0.. {
        let answer = match ask_well(&mut messages, limit, &chunk.document, model, clock, &mut calls).await {
            Ok(answer) => answer,
            Err(error) if pass == 0 => return failed(error, calls),
            // What is stored must not depend on the budget; the later run asks again.
            Err(error @ ModelError::OverBudget { .. }) => return failed(error, calls),
            Err(error) => {
                tracing::warn!(chunk = %chunk.id, pass, %error, "gleaning failed; the first answer stands");
                not_answered = Some(error.to_string());
                break;
            }
        };
        answers.push(answer);
        let records: Vec<Records> = answers.iter().map(Answer::records).collect();
        match again(spec.gleaning, &chunk.text, &opening, &messages, &records) {
            Some(next) => messages = next,
            None => break,
        }
    }
    if let Some(error) = says_nothing(model, &answers) {
        return failed(error, calls);
    }
    let mut losses = Losses::default();
    let (mut responses, mut rejects, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for answer in &mut answers {
        for ((text, parsed), call) in answer.pieces.iter_mut().zip(&answer.calls) {
            EXAMPLES.take_out(parsed, &chunk.text);
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
    if !rejects.is_empty() {
        tracing::warn!(chunk = %chunk.id, rejects = rejects.len(), "parts of the answer were no records");
    }
    let records = glean(records);
    let key = if losses.is_empty() { key } else { damaged_key(&key, &responses) };
    let extraction = Extraction { key, model: model.name().to_owned(), responses, records, rejects };
    Extracted { result: Ok(extraction), losses, calls }
}

/// Asks once and writes the ledger row; one of 0 attempts where the call was not sent.
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
    let over_budget = matches!(answer, Err(ModelError::OverBudget { .. }));
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
        attempts: done.map_or(u32::from(!over_budget), |done| done.attempts),
        started_at,
        duration_ms: clock.now().0.saturating_sub(started_at.0),
        outcome,
        document: document.cloned(),
        rejects: 0,
    };
    (answer.map(|(text, _)| text), call)
}

/// An answer that holds text but neither a record nor the completion mark is no extraction: keeping it would hide the
/// failure for ever.
fn says_nothing(model: &dyn LanguageModel, answers: &[Answer]) -> Option<ModelError> {
    if answers.iter().any(|answer| !answer.says_nothing()) {
        return None;
    }
    let mut texts = answers.iter().flat_map(|answer| &answer.pieces).map(|(text, _)| text);
    let what = match texts.find(|text| !text.trim().is_empty()) {
        None => "the answer is empty".to_owned(),
        Some(text) => format!("the answer holds no record: {:?}", text.chars().take(80).collect::<String>()),
    };
    Some(ModelError::Malformed { model: model.name().to_owned(), what })
}

/// Joins the answers: new names and pairs are added, and of two records of one name or pair the longer description
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

/// The first question about `chunk`: instructions that are the same for every chunk, then the chunk.
pub(crate) fn first_messages(chunk: &Chunk, spec: &ExtractSpec) -> Vec<ChatMessage> {
    vec![
        ChatMessage::new(ChatRole::System, system_prompt(spec)),
        ChatMessage::new(ChatRole::User, user_prompt(chunk)),
    ]
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use futures::{StreamExt, stream};
    use graphloom_core::{
        ChatEvent, ChatStream, ChunkExtraction, ChunkId, ContentHash, DocumentId, RejectReason, Span,
        Timestamp, Usage,
    };

    use super::*;

    struct StoppedClock;

    impl Clock for StoppedClock {
        fn now(&self) -> Timestamp {
            Timestamp(0)
        }
    }

    /// Gives its answers in order and keeps what it was asked; `None` fails, and an answer that ends in `…` is cut there.
    struct Scripted(Mutex<Vec<Option<&'static str>>>, Mutex<Vec<ChatRequest>>);

    #[async_trait]
    impl LanguageModel for Scripted {
        fn name(&self) -> &str {
            "scripted"
        }

        async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
            self.1.lock().expect("one caller").push(request);
            let next = self.0.lock().expect("one caller").remove(0);
            let Some(text) = next else {
                return Err(ModelError::Timeout { model: "scripted".to_owned(), idle_ms: 1 });
            };
            let (text, finish) = match text.strip_suffix('…') {
                Some(text) => (text, FinishReason::Length),
                None => (text, FinishReason::Stop),
            };
            let done = Completion { finish, usage: Usage::default(), attempts: 1 };
            Ok(stream::iter([Ok(ChatEvent::Delta(text.to_owned())), Ok(ChatEvent::Done(done))]).boxed())
        }
    }

    fn chunk(text: &str, breadcrumb: &[&str]) -> Chunk {
        let document = DocumentId::new("a.md", &ContentHash::of(text.as_bytes()));
        Chunk {
            id: ChunkId::new(&document, 0, 0, text.len() as u64),
            document,
            ordinal: 0,
            span: Span::new(0, text.len()),
            token_count: 0,
            breadcrumb: breadcrumb.iter().map(|&title| title.to_owned()).collect(),
            text: text.to_owned(),
            extraction: ChunkExtraction::Pending,
        }
    }

    fn check_extraction(answers: &[Option<&'static str>]) -> (Result<Vec<(String, String)>, String>, usize) {
        let (extracted, _) = run_extraction(answers, 1);
        let result = extracted.result.map_err(|error| error.to_string()).map(|extraction| {
            extraction.records.entities.into_iter().map(|entity| (entity.name, entity.description)).collect()
        });
        (result, extracted.calls.len())
    }

    fn run_extraction(answers: &[Option<&'static str>], gleaning: u32) -> (Extracted, Vec<ChatRequest>) {
        let model = Scripted(Mutex::new(answers.to_vec()), Mutex::default());
        let (chunk, spec) = (
            chunk("Ada works in Kelm.", &[]),
            ExtractSpec { gleaning: Gleaning::Passes(gleaning), ..ExtractSpec::default() },
        );
        let key = extraction_key(&chunk, &spec, Some("scripted"));
        let extracted = block_on(extract_by_model(&chunk, key, &spec, &model, &StoppedClock));
        (extracted, model.1.into_inner().expect("one caller"))
    }

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
    }

    fn entities(list: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        Ok(list.iter().map(|(name, description)| ((*name).to_owned(), (*description).to_owned())).collect())
    }

    #[test]
    fn a_gleaning_adds_what_is_new_and_keeps_the_longer_description() {
        let first =
            "entity<|#|>Ada<|#|>Person<|#|>Works.\nentity<|#|>Kelm<|#|>Location<|#|>A town.\n<|COMPLETE|>";
        let second = "entity<|#|>ada<|#|>Person<|#|>Works in Kelm.\nentity<|#|>Kelm<|#|>Location<|#|>Town\nentity<|#|>Lab<|#|>Other<|#|>x\n<|COMPLETE|>";
        let expected = entities(&[("ada", "Works in Kelm."), ("Kelm", "A town."), ("Lab", "x")]);
        assert_eq!(check_extraction(&[Some(first), Some(second)]), (expected, 2));
    }

    #[test]
    fn a_gleaning_that_fails_leaves_the_first_answer_and_is_in_the_ledger() {
        let first = "entity<|#|>Ada<|#|>Person<|#|>Works.\n<|COMPLETE|>";
        assert_eq!(check_extraction(&[Some(first), None]), (entities(&[("Ada", "Works.")]), 2));
        let (extracted, _) = run_extraction(&[Some(first), None], 1);
        assert_eq!(extracted.losses.describe(), "parts of the answer were lost: 1 not_answered");
    }

    #[test]
    fn an_answer_without_records_or_completion_mark_is_a_failure_and_not_an_empty_extraction() {
        let (result, _) = check_extraction(&[Some("I cannot help with that."), Some("Sorry.")]);
        assert!(result.is_err_and(|error| error.contains("holds no record")));
        assert_eq!(check_extraction(&[Some("<|COMPLETE|>"), Some("<|COMPLETE|>")]).0, entities(&[]));
    }

    #[test]
    fn a_cut_answer_keeps_its_complete_records_and_is_gone_on_with_at_twice_the_limit() {
        let first = "entity<|#|>Ada<|#|>Person<|#|>Works.\nentity<|#|>Kelm<|#|>Location<|#|>A to…";
        let rest = "entity<|#|>Kelm<|#|>Location<|#|>A town.\n<|COMPLETE|>";
        let (extracted, requests) = run_extraction(&[Some(first), Some(rest)], 0);
        let extraction = extracted.result.expect("records");
        let names: Vec<_> =
            extraction.records.entities.iter().map(|e| (e.name.as_str(), e.description.as_str())).collect();
        assert_eq!(names, [("Ada", "Works."), ("Kelm", "A town.")]);
        assert_eq!(extraction.rejects.len(), 1);
        assert_eq!((extraction.rejects[0].reason, extraction.rejects[0].response), (RejectReason::Cut, 0));
        assert_eq!(extracted.calls[0].outcome, CallOutcome::Truncated);
        assert_eq!(extracted.calls.iter().map(|call| call.rejects).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(
            requests.iter().map(|r| r.max_output_tokens).collect::<Vec<_>>(),
            [Some(4096), Some(8192)]
        );
        let asked: Vec<_> = requests[1].messages[2..].iter().map(|m| m.content.as_str()).collect();
        assert_eq!(asked, ["entity<|#|>Ada<|#|>Person<|#|>Works.", CONTINUE_PROMPT.body()]);
    }

    #[test]
    fn an_answer_that_never_ends_is_gone_on_with_three_times() {
        let cut = Some("entity<|#|>Ada<|#|>Person<|#|>Works.\nentity<|#|>Ke…");
        let (extracted, requests) = run_extraction(&[cut; 9], 0);
        let extraction = extracted.result.expect("records");
        assert_eq!(extraction.records.entities.len(), 1);
        let limits: Vec<_> = requests.iter().filter_map(|r| r.max_output_tokens).collect();
        assert_eq!(limits, [4_096, 8_192, 16_384, 32_768]);
        assert_eq!(extraction.rejects.iter().map(|r| r.response).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn a_cut_answer_without_a_record_is_asked_again_with_more_room() {
        let (extracted, requests) =
            run_extraction(&[Some("<think>Let me…"), Some("entity<|#|>Ada<|#|>Person<|#|>Works.")], 0);
        assert_eq!(extracted.result.expect("records").records.entities.len(), 1);
        assert_eq!(requests[0].messages, requests[1].messages);
        assert_eq!(requests[1].max_output_tokens, Some(8192));
    }

    #[test]
    fn a_first_answers_tail_and_a_gleanings_head_are_never_fused() {
        let first = "entity<|#|>Ada<|#|>Person<|#|>Works.\nrelation<|#|>Ada<|#|>Kelm<|#|>";
        let second = "work<|#|>Ada works in Kelm.\nentity<|#|>Kelm<|#|>Location<|#|>A town.\n<|COMPLETE|>";
        let (extracted, _) = run_extraction(&[Some(first), Some(first), Some(second), Some(second)], 1);
        let extraction = extracted.result.expect("records");
        assert_eq!((extraction.records.entities.len(), extraction.records.relations.len()), (2, 0));
        assert_eq!(extracted.losses.describe(), "parts of the answer were lost: 1 cut, 1 unknown_tag");
        let rejects: Vec<_> = extraction.rejects.iter().map(|r| (r.response, r.offset)).collect();
        assert_eq!(rejects, [(0, 37), (1, 0)]);
    }

    #[test]
    fn an_answer_of_which_records_were_lost_is_asked_for_once_more_and_the_whole_one_stands() {
        let damaged = "entity<|#|>Ada<|#|>Person<|#|>Works.\nrelation<|#|>Ada<|#|>Ke";
        let whole = "entity<|#|>Ada<|#|>Person<|#|>Works.\nrelation<|#|>Ada<|#|>Kelm<|#|>work<|#|>Works there.\n<|COMPLETE|>";
        let (extracted, requests) = run_extraction(&[Some(damaged), Some(whole)], 0);
        let extraction = extracted.result.expect("records");
        assert!(extracted.losses.is_empty());
        assert_eq!(
            (extraction.records.relations.len(), extraction.responses.as_slice()),
            (1, &[whole.to_owned()][..])
        );
        assert_eq!((&requests[0].messages, extracted.calls.len()), (&requests[1].messages, 2));
    }

    #[test]
    fn what_was_saved_of_a_damaged_answer_is_kept_under_a_key_of_its_own() {
        let damaged = "entity<|#|>Ada<|#|>Person<|#|>Works.\nrelation<|#|>Ada<|#|>Ke";
        let worse = "entity<|#|>Ada<|#|>Per";
        let (extracted, _) = run_extraction(&[Some(damaged), Some(worse)], 0);
        let extraction = extracted.result.expect("what was saved");
        assert_eq!(extraction.records.entities.len(), 1);
        assert_eq!(extracted.losses.describe(), "parts of the answer were lost: 1 cut");
        let spec = ExtractSpec { gleaning: Gleaning::Passes(0), ..ExtractSpec::default() };
        let key = extraction_key(&chunk("Ada works in Kelm.", &[]), &spec, Some("scripted"));
        assert_ne!(extraction.key, key);
        let (again, _) = run_extraction(&[Some(damaged), None], 0);
        assert_eq!(again.result.expect("what was saved").key, extraction.key);
    }

    #[test]
    fn an_answer_that_is_begun_anew_after_a_cut_replaces_the_piece_before() {
        let first = "entity<|#|>Ada<|#|>Person<|#|>Works.\nrelation<|#|>Ada<|#|>Kelm<|#|>work<|#|>Works there.\nrelation<|#|>Ada<|#|>Ke…";
        let anew = "entity<|#|>Ada<|#|>Person<|#|>Works.\nrelation<|#|>Ada<|#|>Kelm<|#|>work<|#|>Works there.\nrelation<|#|>Ada<|#|>Kelm<|#|>home<|#|>Lives.\n<|COMPLETE|>";
        let (extracted, _) = run_extraction(&[Some(first), Some(anew)], 0);
        assert!(extracted.losses.is_empty());
        assert_eq!(extracted.result.expect("records").records.relations.len(), 2);
    }

    #[test]
    fn examples_of_the_prompt_are_no_records() {
        let leaked =
            "entity<|#|>name<|#|>type<|#|>description\nentity<|#|>Ada<|#|>Person<|#|>Works.\n<|COMPLETE|>";
        let (extracted, _) = run_extraction(&[Some(leaked)], 0);
        let extraction = extracted.result.expect("records");
        assert_eq!(extraction.records.entities.len(), 1);
        assert_eq!(extraction.rejects[0].reason, RejectReason::PromptExample);
    }

    #[test]
    fn everything_that_changes_the_answer_changes_the_key() {
        let spec = ExtractSpec::default();
        let key = extraction_key(&chunk("text", &[]), &spec, Some("m"));
        let other_spec = ExtractSpec { gleaning: Gleaning::Passes(0), ..spec.clone() };
        let others = [
            extraction_key(&chunk("other", &[]), &spec, Some("m")),
            extraction_key(&chunk("text", &["Heading"]), &spec, Some("m")),
            extraction_key(&chunk("text", &[]), &spec, Some("n")),
            extraction_key(&chunk("text", &[]), &spec, None),
            extraction_key(&chunk("text", &[]), &other_spec, Some("m")),
        ];
        assert!(others.iter().all(|other| *other != key));
    }

    #[test]
    fn prompts_render_as_reviewed() {
        let spec = ExtractSpec::default();
        insta::assert_snapshot!("extract_system", system_prompt(&spec));
        insta::assert_snapshot!(
            "extract_user",
            user_prompt(&chunk("Ada works in Kelm.", &["People", "Staff"]))
        );
        insta::assert_snapshot!("extract_glean", GLEAN_PROMPT.body());
        insta::assert_snapshot!("extract_continue", CONTINUE_PROMPT.body());
    }
}
