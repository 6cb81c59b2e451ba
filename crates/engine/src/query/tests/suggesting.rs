//! Tests of questions that a model proposes, and of the sentences that answer them.

use super::super::suggest;
use super::world::World;

/// Proposals: one that the library answers, the same again, one that no excerpt answers, and one with an unknown excerpt.
const PROPOSED: &str = r#"{"questions": [
    {"question": "Who taught Ada Lovelace mathematics?", "excerpt": 1},
    {"question": "Who taught Ada Lovelace mathematics?", "excerpt": 1},
    {"question": "Zebras?", "excerpt": 1},
    {"question": "Who taught Ada Lovelace mathematics then?", "excerpt": 99}
]}"#;

#[tokio::test]
async fn suggested_questions_come_with_the_sentence_that_answers_them() {
    let mut world = World::library().await;
    let model = world.answering(&[&[PROPOSED]]);
    let suggested = suggest(&world.engine, Some("Mary Somerville"), 5).await.expect("suggesting succeeds");
    assert_eq!(suggested.model.as_deref(), Some("test:answers"));
    let [question] = &suggested.questions[..] else { panic!("{suggested:?}") };
    assert_eq!(question.question, "Who taught Ada Lovelace mathematics?");
    assert_eq!((question.source.as_str(), question.lines), ("london.md", (1, 1)));
    assert_eq!(question.quote, "Mary Somerville taught Ada Lovelace mathematics.");
    assert_eq!((suggested.dropped, suggested.cost.calls.len()), (2, 1), "{suggested:?}");
    let request = &model.requests()[0];
    insta::assert_snapshot!("suggest_prompt", super::prompting::printed(&request.messages));
}

#[tokio::test]
async fn an_answer_without_questions_is_an_error_and_the_call_is_in_the_ledger() {
    let mut world = World::library().await;
    world.answering(&[&["I have none."]]);
    let refused = suggest(&world.engine, None, 5).await.expect_err("an error");
    assert!(crate::chain::chain(&refused).contains("no questions"), "{refused:?}");
}
