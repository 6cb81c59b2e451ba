//! What the models are shown.

use graphloom_core::ChatMessage;

use super::super::{Mode, Question, prompt_of, prompts};
use super::world::World;
use super::{found, question};

fn printed(messages: &[ChatMessage]) -> String {
    let message = |message: &ChatMessage| format!("<<{:?}>>\n{}", message.role, message.content);
    messages.iter().map(message).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_keyword_prompt_ends_with_the_question() {
    insta::assert_snapshot!(printed(&prompts::keywords("Who taught {{Ada}}?")), @"");
}

#[tokio::test]
async fn the_answer_prompt_ends_with_the_context() {
    let world = World::library().await;
    let asked = question(Mode::Mix, "Who taught Ada Lovelace?", &["education"], &["Ada Lovelace"]);
    let retrieval = found(&world, &asked).await;
    insta::assert_snapshot!(printed(&prompt_of(&asked, &retrieval)), @"");
}

#[tokio::test]
async fn the_naive_prompt_has_passages_and_documents_alone() {
    let world = World::library().await;
    let asked = Question {
        response_type: "One line".to_owned(),
        ..question(Mode::Naive, "Exhibition 1851", &[], &[])
    };
    let retrieval = found(&world, &asked).await;
    insta::assert_snapshot!(printed(&prompt_of(&asked, &retrieval)), @"");
}

#[tokio::test]
async fn the_same_library_and_question_give_the_same_prompt() {
    let mut prompts = Vec::new();
    for _ in 0..2 {
        let world = World::library().await;
        let asked =
            question(Mode::Mix, "Who taught Ada Lovelace in London?", &["education"], &["Ada", "London"]);
        prompts.push(prompt_of(&asked, &found(&world, &asked).await));
    }
    assert_eq!(prompts[0], prompts[1]);
}
