//! Tests of follow-up questions.

use graphloom_core::{ChatMessage, ChatRole, Role};

use super::super::{Mode, QueryNote, Question, prompt_of};
use super::world::World;
use super::{answered, found, question};

fn conversation() -> Vec<ChatMessage> {
    vec![
        ChatMessage::new(ChatRole::User, "Who wrote notes on the Analytical Engine?"),
        ChatMessage::new(ChatRole::Assistant, "Ada Lovelace [1]."),
    ]
}

fn asked(mode: Mode) -> Question {
    let text = "Who taught her mathematics?".to_owned();
    Question { text, mode, history: conversation(), ..Question::default() }
}

#[tokio::test]
async fn one_call_returns_the_standalone_question_and_its_keywords() {
    let mut world = World::library().await;
    let model = world
        .finding_keywords(&[r#"Sure: {"standalone_question": "Who taught Ada Lovelace mathematics?",
        "high_level_keywords": ["education"], "low_level_keywords": ["Ada Lovelace"]}"#]);
    let answers = world.answering(&[&["Mary Somerville [1]."]]);
    let asked = asked(Mode::Mix);
    let retrieval = found(&world, &asked).await;
    assert_eq!(retrieval.standalone_question.as_deref(), Some("Who taught Ada Lovelace mathematics?"));
    assert_eq!(retrieval.keywords.low_level, ["Ada Lovelace"]);
    let texts = world.embedder.texts.lock().expect("unpoisoned").clone();
    assert_eq!(texts, [["Who taught Ada Lovelace mathematics?", "Ada Lovelace", "education"]]);
    let roles: Vec<Role> = retrieval.cost.calls.iter().map(|call| call.role).collect();
    assert_eq!((roles, model.calls()), (vec![Role::Keywords, Role::Embed], 1));

    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!(answer.citations.len(), 1);
    let messages = &answers.requests()[0].messages;
    let said: Vec<(ChatRole, &str)> =
        messages[1..].iter().map(|message| (message.role, message.content.as_str())).collect();
    assert_eq!(
        said,
        [
            (ChatRole::User, "Who wrote notes on the Analytical Engine?"),
            (ChatRole::Assistant, "Ada Lovelace [1]."),
            (ChatRole::User, "Who taught her mathematics?"),
        ]
    );
}

#[tokio::test]
async fn without_a_model_rules_add_the_names_of_the_conversation() {
    let world = World::library().await;
    let retrieval = found(&world, &asked(Mode::Mix)).await;
    let standalone = "Who taught her mathematics? (Analytical Engine, Ada Lovelace)";
    assert_eq!(retrieval.standalone_question.as_deref(), Some(standalone));
    assert!(retrieval.keywords.low_level.contains(&"Ada Lovelace".to_owned()), "{:?}", retrieval.keywords);
    let (answer, _) = answered(&world, &asked(Mode::Mix), &retrieval).await;
    assert!(answer.text.contains("Mary Somerville taught Ada Lovelace mathematics."), "{}", answer.text);
}

#[tokio::test]
async fn if_the_models_answer_lacks_the_question_the_rules_are_used() {
    let mut world = World::library().await;
    world.finding_keywords(&[r#"{"high_level_keywords": ["education"], "low_level_keywords": ["Ada"]}"#]);
    let retrieval = found(&world, &asked(Mode::Mix)).await;
    assert!(retrieval.standalone_question.is_some_and(|question| question.ends_with("Ada Lovelace)")));
    assert_eq!(retrieval.keywords.low_level, ["Ada"]);
}

#[tokio::test]
async fn naive_requests_only_the_question_and_given_keywords_need_no_call() {
    let mut world = World::library().await;
    let model = world.finding_keywords(&[
        r#"{"standalone_question": "Who taught Ada Lovelace?", "high_level_keywords": [], "low_level_keywords": ["x"]}"#,
    ]);
    let naive = found(&world, &asked(Mode::Naive)).await;
    assert_eq!(naive.standalone_question.as_deref(), Some("Who taught Ada Lovelace?"));
    assert!(naive.keywords.is_empty());
    assert_eq!(model.calls(), 1);
    // Without a conversation, mode naive needs no keyword model. With keywords, no mode does.
    found(&world, &question(Mode::Naive, "Who taught Ada?", &[], &[])).await;
    let given = Question { history: conversation(), ..question(Mode::Mix, "Who taught her?", &[], &["Ada"]) };
    let given = found(&world, &given).await;
    assert_eq!(given.keywords.low_level, ["Ada"]);
    assert!(given.standalone_question.is_some());
    assert_eq!(model.calls(), 1);
}

#[tokio::test]
async fn a_standalone_question_is_searched_as_is() {
    let mut world = World::library().await;
    world.finding_keywords(&[
        r#"{"standalone_question": "Who taught Mary Somerville?", "high_level_keywords": ["a"], "low_level_keywords": []}"#,
    ]);
    let asked = Question { text: "Who taught Mary Somerville?".to_owned(), ..asked(Mode::Mix) };
    assert_eq!(found(&world, &asked).await.standalone_question, None);
}

#[tokio::test]
async fn a_long_conversation_drops_its_oldest_messages_and_says_so() {
    let world = World::library().await;
    let mut asked = asked(Mode::Naive);
    asked.history.insert(0, ChatMessage::new(ChatRole::User, "word ".repeat(1500)));
    asked.max_total_tokens = 2000;
    let retrieval = found(&world, &asked).await;
    assert_eq!(
        (retrieval.history_messages, &retrieval.notes[..]),
        (2, &[QueryNote::HistoryCut { left_out: 1 }][..])
    );
    let prompt = prompt_of(&world.engine, &asked, &retrieval);
    assert_eq!(prompt.len(), 4);
    let tokens: u32 = prompt.iter().map(|message| world.engine.tokenizer.count(&message.content)).sum();
    assert!(!retrieval.chunks.is_empty() && tokens <= 2000, "{tokens}");
}

#[tokio::test]
async fn bypass_gets_the_conversation_and_the_users_instructions() {
    let mut world = World::library().await;
    let model = world.answering(&[&["I am."]]);
    let asked = Question { user_prompt: Some("Be brief.".to_owned()), ..asked(Mode::Bypass) };
    let retrieval = found(&world, &asked).await;
    answered(&world, &asked, &retrieval).await;
    let roles: Vec<ChatRole> = model.requests()[0].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [ChatRole::System, ChatRole::User, ChatRole::Assistant, ChatRole::User]);
    assert_eq!(model.requests()[0].messages[0].content, "Be brief.");
}
