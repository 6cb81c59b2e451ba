//! Extraction by a scripted model.

use std::sync::Mutex;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use graphloom_core::{
    ChatEvent, ChatStream, ChunkExtraction, ChunkId, ContentHash, DocumentId, RejectReason, Span, Timestamp,
    Usage,
};

use super::*;

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
}

/// Returns its answers in order and keeps the requests. `None` fails, and an answer that ends in `…` is cut there.
struct ScriptedAnswers(Mutex<Vec<Option<&'static str>>>, Mutex<Vec<ChatRequest>>);

#[async_trait]
impl LanguageModel for ScriptedAnswers {
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

fn run_extraction(answers: &[Option<&'static str>], gleaning: u32) -> (ExtractResult, Vec<ChatRequest>) {
    let model = ScriptedAnswers(Mutex::new(answers.to_vec()), Mutex::default());
    let (chunk, spec) = (
        chunk("Ada works in Kelm.", &[]),
        ExtractSpec { gleaning: Gleaning::Passes(gleaning), ..ExtractSpec::default() },
    );
    let key = extraction_key(&chunk, &spec, &Prompts::default(), Some("scripted"));
    let extracted =
        block_on(extract_by_model(&chunk, key, &spec, &Prompts::default(), &model, &StoppedClock));
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
fn a_failed_gleaning_keeps_the_first_answer_and_is_in_the_ledger() {
    let first = "entity<|#|>Ada<|#|>Person<|#|>Works.\n<|COMPLETE|>";
    assert_eq!(check_extraction(&[Some(first), None]), (entities(&[("Ada", "Works.")]), 2));
    let (extracted, _) = run_extraction(&[Some(first), None], 1);
    assert_eq!(extracted.losses.describe(), "parts of the answer were lost: 1 not_answered");
}

#[test]
fn an_answer_without_records_or_completion_mark_is_a_failure() {
    let (result, _) = check_extraction(&[Some("I cannot help with that."), Some("Sorry.")]);
    assert!(result.is_err_and(|error| error.contains("contains no records")));
    assert_eq!(check_extraction(&[Some("<|COMPLETE|>"), Some("<|COMPLETE|>")]).0, entities(&[]));
}

#[test]
fn a_cut_answer_keeps_its_complete_records_and_is_continued_with_twice_the_limit() {
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
    assert_eq!(requests.iter().map(|r| r.max_output_tokens).collect::<Vec<_>>(), [Some(4096), Some(8192)]);
    let asked: Vec<_> = requests[1].messages[2..].iter().map(|m| m.content.as_str()).collect();
    assert_eq!(asked, ["entity<|#|>Ada<|#|>Person<|#|>Works.", EXTRACT_CONTINUE.body()]);
}

#[test]
fn an_endless_answer_is_continued_three_times() {
    let cut = Some("entity<|#|>Ada<|#|>Person<|#|>Works.\nentity<|#|>Ke…");
    let (extracted, requests) = run_extraction(&[cut; 9], 0);
    let extraction = extracted.result.expect("records");
    assert_eq!(extraction.records.entities.len(), 1);
    let limits: Vec<_> = requests.iter().filter_map(|r| r.max_output_tokens).collect();
    assert_eq!(limits, [4_096, 8_192, 16_384, 32_768]);
    assert_eq!(extraction.rejects.iter().map(|r| r.response).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn a_cut_answer_without_a_record_is_requested_again_with_a_higher_limit() {
    let (extracted, requests) =
        run_extraction(&[Some("<think>Let me…"), Some("entity<|#|>Ada<|#|>Person<|#|>Works.")], 0);
    assert_eq!(extracted.result.expect("records").records.entities.len(), 1);
    assert_eq!(requests[0].messages, requests[1].messages);
    assert_eq!(requests[1].max_output_tokens, Some(8192));
}

#[test]
fn the_end_of_an_answer_and_the_start_of_its_gleaning_are_never_joined() {
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
fn an_answer_with_lost_records_is_requested_again_and_the_complete_one_is_used() {
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
fn the_records_of_a_damaged_answer_are_stored_under_their_own_key() {
    let damaged = "entity<|#|>Ada<|#|>Person<|#|>Works.\nrelation<|#|>Ada<|#|>Ke";
    let worse = "entity<|#|>Ada<|#|>Per";
    let (extracted, _) = run_extraction(&[Some(damaged), Some(worse)], 0);
    let extraction = extracted.result.expect("what was saved");
    assert_eq!(extraction.records.entities.len(), 1);
    assert_eq!(extracted.losses.describe(), "parts of the answer were lost: 1 cut");
    let spec = ExtractSpec { gleaning: Gleaning::Passes(0), ..ExtractSpec::default() };
    let key = extraction_key(&chunk("Ada works in Kelm.", &[]), &spec, &Prompts::default(), Some("scripted"));
    assert_ne!(extraction.key, key);
    let (again, _) = run_extraction(&[Some(damaged), None], 0);
    assert_eq!(again.result.expect("what was saved").key, extraction.key);
}

#[test]
fn an_answer_that_starts_over_after_a_cut_replaces_the_first_part() {
    let first = "entity<|#|>Ada<|#|>Person<|#|>Works.\nrelation<|#|>Ada<|#|>Kelm<|#|>work<|#|>Works there.\nrelation<|#|>Ada<|#|>Ke…";
    let anew = "entity<|#|>Ada<|#|>Person<|#|>Works.\nrelation<|#|>Ada<|#|>Kelm<|#|>work<|#|>Works there.\nrelation<|#|>Ada<|#|>Kelm<|#|>home<|#|>Lives.\n<|COMPLETE|>";
    let (extracted, _) = run_extraction(&[Some(first), Some(anew)], 0);
    assert!(extracted.losses.is_empty());
    assert_eq!(extracted.result.expect("records").records.relations.len(), 2);
}

#[test]
fn examples_of_the_prompt_are_not_records() {
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
    let key = extraction_key(&chunk("text", &[]), &spec, &Prompts::default(), Some("m"));
    let other_spec = ExtractSpec { gleaning: Gleaning::Passes(0), ..spec.clone() };
    let guided = ExtractSpec { entity_guidance: Some("Method: a technique.".to_owned()), ..spec.clone() };
    let shaped = ExtractSpec { form: RecordForm::Shaped, ..spec.clone() };
    let (mut french, mut own) = (Prompts::default(), Prompts::default());
    french.set_language("French");
    own.replace(EXTRACT_GLEAN, "More? {{nothing}}").expect("a version");
    let others = [
        extraction_key(&chunk("other", &[]), &spec, &Prompts::default(), Some("m")),
        extraction_key(&chunk("text", &["Heading"]), &spec, &Prompts::default(), Some("m")),
        extraction_key(&chunk("text", &[]), &spec, &Prompts::default(), Some("n")),
        extraction_key(&chunk("text", &[]), &spec, &Prompts::default(), None),
        extraction_key(&chunk("text", &[]), &other_spec, &Prompts::default(), Some("m")),
        extraction_key(&chunk("text", &[]), &shaped, &Prompts::default(), Some("m")),
        extraction_key(&chunk("text", &[]), &guided, &Prompts::default(), Some("m")),
        extraction_key(&chunk("text", &[]), &spec, &french, Some("m")),
        extraction_key(&chunk("text", &[]), &spec, &own, Some("m")),
    ];
    assert!(others.iter().all(|other| *other != key));
}

fn run_shaped(answers: &[Option<&'static str>]) -> (ExtractResult, Vec<ChatRequest>) {
    let model = ScriptedAnswers(Mutex::new(answers.to_vec()), Mutex::default());
    let chunk = chunk("Ada works in Kelm.", &[]);
    let spec =
        ExtractSpec { gleaning: Gleaning::Passes(0), form: RecordForm::Shaped, ..ExtractSpec::default() };
    let key = extraction_key(&chunk, &spec, &Prompts::default(), Some("scripted"));
    let extracted =
        block_on(extract_by_model(&chunk, key, &spec, &Prompts::default(), &model, &StoppedClock));
    (extracted, model.1.into_inner().expect("one caller"))
}

const SHAPED: &str = r#"{"entities": [{"name": "Ada", "type": "Person", "description": "Works."}, {"name": "Kelm", "type": "Location", "description": "A town."}], "relations": [{"source": "Ada", "target": "Kelm", "keywords": ["work"], "description": "Ada works there."}]}"#;

#[test]
fn a_json_answer_gives_the_same_records_as_lines() {
    let lines = "entity<|#|>Ada<|#|>Person<|#|>Works.\nentity<|#|>Kelm<|#|>Location<|#|>A town.\nrelation<|#|>Ada<|#|>Kelm<|#|>work<|#|>Ada works there.\n<|COMPLETE|>";
    let (shaped, requests) = run_shaped(&[Some(SHAPED)]);
    let (lines, plain) = run_extraction(&[Some(lines)], 0);
    assert!(shaped.losses.is_empty());
    assert_eq!(shaped.result.expect("records").records, lines.result.expect("records").records);
    assert_eq!(requests[0].shape.as_ref().map(|asked| asked.name), Some("knowledge_graph"));
    assert_eq!(plain[0].shape, None);
    let empty = run_shaped(&[Some(r#"{"entities": [], "relations": []}"#)]).0;
    assert!(empty.result.is_ok_and(|extraction| extraction.records == Records::default()));
}

#[test]
fn a_cut_json_answer_is_requested_again_with_a_higher_limit() {
    let cut = r#"{"entities": [{"name": "Ada", "type": "Person", "description": "Works."}, {"name": "Ke…"#;
    let (extracted, requests) = run_shaped(&[Some(cut), Some(SHAPED)]);
    assert_eq!(requests[0].messages, requests[1].messages);
    assert_eq!(requests[1].max_output_tokens, Some(8192));
    let extraction = extracted.result.expect("records");
    assert_eq!((extraction.records.entities.len(), extraction.responses.len()), (2, 1));
    assert!(extracted.losses.is_empty());
}

#[test]
fn prompts_of_other_steps_change_no_extraction() {
    let key =
        |prompts: &Prompts| extraction_key(&chunk("text", &[]), &ExtractSpec::default(), prompts, Some("m"));
    let mut own = Prompts::default();
    own.replace(crate::prompt::ANSWER, "{{additions}}{{context}}").expect("a version");
    own.replace(EXTRACT_GLEAN, EXTRACT_GLEAN.file()).expect("the same words");
    assert_eq!(key(&own), key(&Prompts::default()));
}

#[test]
fn guidance_and_language_are_in_the_instructions() {
    let guidance = "Method: a technique.\nLeave out dates.\n";
    let spec = ExtractSpec {
        entity_types: vec!["Method".to_owned()],
        entity_guidance: Some(guidance.to_owned()),
        ..ExtractSpec::default()
    };
    let mut prompts = Prompts::default();
    prompts.set_language("French");
    insta::assert_snapshot!("extract_system_guided", system_prompt(&spec, &prompts));
}

#[test]
fn examples_of_a_custom_prompt_are_not_records_either() {
    let mut prompts = Prompts::default();
    let own = "Write so:\nentity<|#|>Zeno Volt<|#|>Person<|#|>Invented the lamp.\n<|COMPLETE|>";
    prompts.replace(EXTRACT_SYSTEM, own).expect("a version");
    let answer = "entity<|#|>Zeno Volt<|#|>Person<|#|>Invented the lamp.\nentity<|#|>Ada<|#|>Person<|#|>Works.\n<|COMPLETE|>";
    let model = ScriptedAnswers(Mutex::new(vec![Some(answer)]), Mutex::default());
    let (chunk, spec) = (
        chunk("Ada works in Kelm.", &[]),
        ExtractSpec { gleaning: Gleaning::Passes(0), ..ExtractSpec::default() },
    );
    let key = extraction_key(&chunk, &spec, &prompts, Some("scripted"));
    let extracted = block_on(extract_by_model(&chunk, key, &spec, &prompts, &model, &StoppedClock));
    assert_eq!(extracted.result.expect("records").records.entities.len(), 1);
}

#[test]
fn prompts_render_as_reviewed() {
    let spec = ExtractSpec::default();
    insta::assert_snapshot!("extract_system", system_prompt(&spec, &Prompts::default()));
    let shaped = ExtractSpec { form: RecordForm::Shaped, ..spec.clone() };
    insta::assert_snapshot!("extract_json_system", system_prompt(&shaped, &Prompts::default()));
    insta::assert_snapshot!(
        "extract_user",
        user_prompt(&chunk("Ada works in Kelm.", &["People", "Staff"]), &Prompts::default())
    );
    insta::assert_snapshot!(
        "extract_glean",
        Prompts::default().render(EXTRACT_GLEAN, &[("nothing", spec.form.nothing())])
    );
    insta::assert_snapshot!("extract_continue", EXTRACT_CONTINUE.body());
}

#[test]
fn claims_are_requested_separately_and_stored_with_the_records() {
    let entities = "entity<|#|>Ada<|#|>Person<|#|>Works in Kelm.\n<|COMPLETE|>";
    let claims = "claim<|#|>Ada<|#|>Kelm<|#|>work<|#|>TRUE<|#|>1998<|#|>NONE<|#|>Ada works there.<|#|>Ada works in Kelm.\n\
                  claim<|#|>Ada<|#|>NONE<|#|>prize<|#|>TRUE<|#|>1998<|#|>NONE<|#|>Invented.<|#|>Ada won a prize.\n<|COMPLETE|>";
    let chunk = chunk("Ada works in Kelm.", &[]);
    let spec = ExtractSpec { gleaning: Gleaning::Passes(0), claims: true, ..ExtractSpec::default() };
    let without = ExtractSpec { claims: false, ..spec.clone() };
    let prompts = Prompts::default();
    let key = extraction_key(&chunk, &spec, &prompts, Some("scripted"));
    assert_ne!(key, extraction_key(&chunk, &without, &prompts, Some("scripted")));
    let ask = |answers: Vec<Option<&'static str>>| {
        let model = ScriptedAnswers(Mutex::new(answers), Mutex::default());
        block_on(extract_by_model(&chunk, key.clone(), &spec, &prompts, &model, &StoppedClock))
    };
    let extracted = ask(vec![Some(entities), Some(claims)]);
    let extraction = extracted.result.expect("both answers came");
    assert_eq!(extraction.records.entities.len(), 1);
    assert_eq!(extraction.records.claims.len(), 1, "the invented quote is dropped");
    assert_eq!(extraction.rejects[0].reason, RejectReason::QuoteNotFound);
    assert_eq!((extracted.losses.is_empty(), extracted.calls.len()), (true, 2));

    // Without its claims the extraction is damaged, so that it is requested again.
    let failed = ask(vec![Some(entities), None]);
    assert_eq!(failed.result.expect("the entities stand").records.claims, []);
    assert!(!failed.losses.is_empty());
}
