//! Tests of the cache: what is cached between questions, and that it is never out of date.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use graphloom_core::{CacheKind, CallOutcome, ContentHash, DocumentId, Role, table};
use proptest::prelude::*;

use super::super::{
    Answer, Mode, QueryCaches, QueryError, Question, Retrieval, answer, prompt_of, retrieve, search,
};
use super::world::{LONDON, World};
use super::{answered, found, question};

const KEYWORDS: &str = r#"{"high_level_keywords": ["education"], "low_level_keywords": ["Ada Lovelace"]}"#;

fn asked() -> Question {
    Question { text: "Who taught Ada Lovelace?".to_owned(), mode: Mode::Mix, ..Question::default() }
}

/// Asks and answers like another process that has just opened the workspace.
async fn ask_in_new_process(world: &mut World, question: &Question) -> (Retrieval, Answer) {
    world.engine.caches = QueryCaches::default();
    let retrieval = found(world, question).await;
    let (answer, streamed) = answered(world, question, &retrieval).await;
    assert_eq!(answer.text, streamed);
    assert_eq!((&retrieval.cost.unstored, &answer.cost.unstored), (&None, &None));
    (retrieval, answer)
}

fn is_remembered(answer: &Answer) -> bool {
    answer.cost.cached.contains(&CacheKind::Answer)
}

#[tokio::test]
async fn a_repeated_question_costs_no_call_in_another_process() {
    let mut world = World::library().await;
    world.finding_keywords(&[KEYWORDS]);
    world.answering(&[&["<think>Hm.</think>Mary ", "Somerville taught her [1]."]]);
    let (first, first_answer) = ask_in_new_process(&mut world, &asked()).await;
    assert_eq!((first.cost.calls.len(), first_answer.cost.calls.len()), (2, 1));
    assert!(first.cost.cached.is_empty() && first_answer.cost.cached.is_empty());

    let streaming = Question { stream: true, ..asked() };
    let (again, again_answer) = ask_in_new_process(&mut world, &streaming).await;
    assert!(again.cost.calls.is_empty() && again_answer.cost.calls.is_empty());
    assert_eq!(again.cost.cached, [CacheKind::Keywords, CacheKind::Vector]);
    assert_eq!(again_answer.cost.cached, [CacheKind::Answer]);
    assert_eq!(again_answer.text, "Mary Somerville taught her [1].");
    assert_eq!((again.context, again.keywords), (first.context, first.keywords));
    assert_eq!(again_answer.citations, first_answer.citations);

    let view = world.engine.store.snapshot().await.expect("a snapshot");
    assert_eq!(view.counts().await.expect("counts").calls, 3);
}

#[tokio::test]
async fn any_change_to_the_context_leads_to_a_new_answer() {
    let mut world = World::library().await;
    world.answering(&[&["one [1]"], &["two [1]"], &["three [1]"], &["four [1]"], &["five [1]"]]);
    let asked = question(Mode::Mix, "Who taught Ada Lovelace?", &["education"], &["Ada Lovelace"]);
    assert!(!is_remembered(&ask_in_new_process(&mut world, &asked).await.1));
    assert!(is_remembered(&ask_in_new_process(&mut world, &asked).await.1));

    // A new passage that is found changes the answer.
    world.document("school.md", &["Ada Lovelace was taught at home."]);
    world.commit().await;
    assert_eq!(ask_in_new_process(&mut world, &asked).await.1.text, "two [1]");
    // A passage that is not found changes nothing, and neither does the ledger.
    world.document("bread.md", &["Rye rises slowly."]);
    world.commit().await;
    assert!(is_remembered(&ask_in_new_process(&mut world, &asked).await.1));
    // A changed description changes the answer.
    world.entity("Ada Lovelace", "Person", "Ada Lovelace, countess.", &[]);
    world.commit().await;
    assert_eq!(ask_in_new_process(&mut world, &asked).await.1.text, "three [1]");
    // A removed document changes the answer.
    let retrieval = found(&world, &asked).await;
    let school = retrieval.references.iter().find(|reference| reference.source == "school.md");
    world.remove(&school.expect("it is found").document.clone()).await;
    assert_eq!(ask_in_new_process(&mut world, &asked).await.1.text, "four [1]");
    assert_eq!(ask_in_new_process(&mut world, &asked).await.1.text, "four [1]");
}

#[tokio::test]
async fn any_change_to_the_prompt_or_model_leads_to_a_new_answer() {
    let mut world = World::library().await;
    let plain = question(Mode::Naive, "Who taught Ada Lovelace?", &[], &[]);
    let answers: Vec<String> = (0..6).map(|n| format!("answer {n} [1]")).collect();
    let answers: Vec<[&str; 1]> = answers.iter().map(|answer| [answer.as_str()]).collect();
    let slices: Vec<&[&str]> = answers.iter().map(<[&str; 1]>::as_slice).collect();
    world.answering(&slices);
    for (n, changed) in [
        plain.clone(),
        Question { response_type: "One line".to_owned(), ..plain.clone() },
        Question { user_prompt: Some("Be brief.".to_owned()), ..plain.clone() },
        Question { chunk_top_k: 1, ..plain.clone() },
        Question {
            history: vec![graphloom_core::ChatMessage::new(graphloom_core::ChatRole::User, "Hi")],
            ..plain.clone()
        },
        Question { text: "Who taught Ada?".to_owned(), ..plain.clone() },
    ]
    .into_iter()
    .enumerate()
    {
        let (_, answer) = ask_in_new_process(&mut world, &changed).await;
        assert_eq!(answer.text, format!("answer {n} [1]"));
        assert!(is_remembered(&ask_in_new_process(&mut world, &changed).await.1));
    }
    world.answering_as("test:other", &[&["another [1]"]]);
    assert_eq!(ask_in_new_process(&mut world, &plain).await.1.text, "another [1]");
}

#[tokio::test]
async fn a_question_without_the_cache_neither_reads_nor_writes_it() {
    let mut world = World::library().await;
    world.finding_keywords(&[KEYWORDS, KEYWORDS, KEYWORDS]);
    world.answering(&[&["one [1]"], &["two [1]"], &["three [1]"]]);
    let without = Question { cache: false, ..asked() };
    assert_eq!(ask_in_new_process(&mut world, &without).await.1.text, "one [1]");
    assert_eq!(ask_in_new_process(&mut world, &asked()).await.1.text, "two [1]");
    assert_eq!(ask_in_new_process(&mut world, &without).await.1.text, "three [1]");
    assert!(is_remembered(&ask_in_new_process(&mut world, &asked()).await.1));
    world.engine.caches = QueryCaches::off();
    world.finding_keywords(&[KEYWORDS]);
    assert!(found(&world, &asked()).await.cost.cached.is_empty());
}

/// Returns the ledger: the role of each call, and whether it failed.
async fn ledger(world: &World) -> Vec<(Role, bool)> {
    let view = world.engine.store.snapshot().await.expect("a snapshot");
    let calls = view.scan(table::Calls, None, 9).await.expect("calls");
    calls.iter().map(|call| (call.role, matches!(call.outcome, CallOutcome::Failed { .. }))).collect()
}

#[tokio::test]
async fn each_step_stores_its_calls_before_the_next_one_can_fail() {
    let mut world = World::library().await;
    world.failing_keywords();
    let failed = retrieve(&world.engine, &asked()).await;
    assert!(matches!(failed, Err(QueryError::Model { role: Some(Role::Keywords), .. })));
    let mut rows = vec![(Role::Keywords, true)];
    assert_eq!(ledger(&world).await, rows);

    world.finding_keywords(&[KEYWORDS]);
    world.embedder.fails.store(true, Ordering::Relaxed);
    let failed = retrieve(&world.engine, &asked()).await;
    assert!(matches!(failed, Err(QueryError::Model { role: Some(Role::Embed), .. })));
    rows.extend([(Role::Keywords, false), (Role::Embed, true)]);
    assert_eq!(ledger(&world).await, rows);
    assert!(search(&world.engine, "Ada", 5, None).await.is_err());
    rows.push((Role::Embed, true));
    assert_eq!(ledger(&world).await, rows);

    // The keywords of the failed question are not requested again, not even by another process.
    world.engine.caches = QueryCaches::default();
    world.embedder.fails.store(false, Ordering::Relaxed);
    world.failing_answers();
    let retrieval = found(&world, &asked()).await;
    rows.push((Role::Embed, false));
    assert_eq!(ledger(&world).await, rows);
    let failed = answer(&world.engine, &asked(), &retrieval, &mut |_| {}).await;
    assert!(matches!(failed, Err(QueryError::Model { role: Some(Role::Answer), .. })));
    rows.push((Role::Answer, true));
    assert_eq!(ledger(&world).await, rows);

    world.engine.caches = QueryCaches::default();
    assert!(found(&world, &asked()).await.cost.calls.is_empty());
}

#[tokio::test]
async fn an_answer_with_only_thoughts_is_an_error_and_not_cached() {
    let mut world = World::library().await;
    world.answering(&[&["<think>Hm."], &["Mary Somerville [1]."]]);
    let asked = question(Mode::Naive, "Who taught Ada Lovelace?", &[], &[]);
    let retrieval = found(&world, &asked).await;
    let failed = answer(&world.engine, &asked, &retrieval, &mut |_| {}).await.expect_err("no words");
    assert!(
        std::error::Error::source(&failed).is_some_and(|cause| cause.to_string().contains("only thoughts"))
    );
    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!(answer.text, "Mary Somerville [1].");
}

#[tokio::test]
async fn a_question_is_answered_even_if_nothing_can_be_stored_and_says_so() {
    let mut world = World::empty();
    world.document("london.md", &LONDON);
    world.commit().await;
    world.refusing_to_write();
    world.answering(&[&["Mary Somerville [1]."]]);
    let asked = question(Mode::Naive, "Who taught Ada Lovelace?", &[], &[]);
    let retrieval = found(&world, &asked).await;
    let (first, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!(first.citations.len(), 1);
    let hits = search(&world.engine, "Somerville", 5, None).await.expect("searching succeeds");
    for cost in [&retrieval.cost, &first.cost, &hits.cost] {
        assert_eq!((cost.calls.len(), cost.unstored.as_deref()), (1, Some("committing: read-only")));
    }
    // If nothing was paid for, there is nothing to store.
    let again = found(&world, &asked).await;
    assert_eq!((again.cost.calls.len(), again.cost.unstored), (0, None));
    // If both the model and the store fail, the error is that of the model.
    world.failing_answers();
    let failed = answer(&world.engine, &asked, &retrieval, &mut |_| {}).await;
    assert!(matches!(failed, Err(QueryError::Model { role: Some(Role::Answer), .. })));
}

/// Something that happens to the workspace between two questions.
#[derive(Debug, Clone, Copy)]
enum Step {
    Add(usize),
    Remove(usize),
    Describe(usize),
    Nothing,
}

/// Documents that are added and removed; the last is about something else.
const COMING: [&str; 3] =
    ["Ada Lovelace was taught at home.", "Mary Somerville taught many.", "Rye rises slowly."];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..COMING.len()).prop_map(Step::Add),
        (0..COMING.len()).prop_map(Step::Remove),
        (0..2usize).prop_map(Step::Describe),
        Just(Step::Nothing),
    ]
}

/// Asks after each step. An answer must come from the cache exactly if the model got the same prompt before.
async fn check_history(steps: &[(Step, usize)]) {
    let mut world = World::library().await;
    let answers: Vec<String> = (0..steps.len()).map(|n| format!("Answer {n} [1].")).collect();
    let answers: Vec<[&str; 1]> = answers.iter().map(|answer| [answer.as_str()]).collect();
    world.answering(&answers.iter().map(<[&str; 1]>::as_slice).collect::<Vec<_>>());
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for (step, number) in steps {
        match *step {
            Step::Add(at) => world.document(&format!("{at}.md"), &COMING[at..=at]),
            Step::Remove(at) => {
                let hash = ContentHash::of(COMING[at].as_bytes());
                world.remove(&DocumentId::new(&format!("{at}.md"), &hash)).await;
            }
            Step::Describe(at) => {
                world.entity("Ada Lovelace", "Person", ["Countess.", "Mathematician."][at], &[]);
            }
            Step::Nothing => {}
        }
        world.commit().await;
        let text = ["Who taught Ada Lovelace?", "Who was taught?"][*number];
        let asked = question(Mode::Mix, text, &["education"], &["Ada Lovelace"]);
        let (retrieval, answer) = ask_in_new_process(&mut world, &asked).await;
        let prompt = format!("{:?}", prompt_of(&world.engine, &asked, &retrieval));
        assert_eq!(is_remembered(&answer), known.contains_key(&prompt));
        assert_eq!(&answer.text, known.entry(prompt).or_insert_with(|| answer.text.clone()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn an_answer_is_cached_if_and_only_if_its_prompt_is_the_same(
        steps in proptest::collection::vec((step(), 0..2usize), 1..10),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(check_history(&steps));
    }
}
