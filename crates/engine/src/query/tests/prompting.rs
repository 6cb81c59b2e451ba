//! Tests of the prompts.

use graphloom_core::ChatMessage;

use super::super::{Mode, Question, prompt_of, prompts};
use super::world::World;
use super::{found, question};
use crate::prompt::Prompts;

pub(super) fn printed(messages: &[ChatMessage]) -> String {
    let message = |message: &ChatMessage| format!("<<{:?}>>\n{}", message.role, message.content);
    messages.iter().map(message).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_keyword_prompt_ends_with_the_question() {
    insta::assert_snapshot!(printed(&prompts::keywords(&Prompts::default(), "Who taught {{Ada}}?")), @r#"
    <<System>>
    You prepare a question for a search in a knowledge graph. You do not answer it. You name what to look for.

    Give two lists:

    - `high_level_keywords`: what the question is about as a whole: themes, kinds of relation, the intent behind it.
    - `low_level_keywords`: the concrete things it names: people, places, organisations, products, terms, dates, numbers.

    Rules:

    1. Answer with one JSON object that has exactly these two keys, each an array of strings. Write no other text.
    2. Take keywords from the question alone; add nothing that it does not say or plainly mean.
    3. Keep names and terms of several words together: "supply chain", not "supply" and "chain".
    4. Write keywords in the language of the question; leave names as they are written.
    5. If there is nothing to look for, as in a greeting, give two empty arrays.

    Examples:

    Question: Which treaties did Bolivia sign to settle its borders?
    {"high_level_keywords": ["border settlement", "treaties"], "low_level_keywords": ["Bolivia"]}

    Question: How does soil acidity change the yield of winter wheat?
    {"high_level_keywords": ["crop yield", "effect of soil acidity"], "low_level_keywords": ["soil acidity", "winter wheat"]}

    Question: Good morning!
    {"high_level_keywords": [], "low_level_keywords": []}
    <<User>>
    Find the keywords of this question.

    User Query: Who taught {{Ada}}?
    "#);
}

#[tokio::test]
async fn the_answer_prompt_ends_with_the_context() {
    let world = World::library().await;
    let asked = question(Mode::Mix, "Who taught Ada Lovelace?", &["education"], &["Ada Lovelace"]);
    let retrieval = found(&world, &asked).await;
    insta::assert_snapshot!(printed(&prompt_of(&world.engine, &asked, &retrieval)), @r#"
    <<System>>
    You are a careful expert in synthesizing information from a provided knowledge base. You answer the user's question from
    the context at the end of this message, and from nothing else.

    How to answer:

    1. Find out what the user wants to know. Then gather what the context says about it: the passages are the documents'
       own words, the entities and relations say how things hang together. Where they differ, trust the passages.
    2. State only what the context states or plainly implies. Use your own knowledge to write well, never to add facts.
    3. If the context does not hold the answer, say so in one sentence. Do not guess.
    4. After each sentence that rests on a passage, put the number of its document in brackets, like this: [1]. The number
       is the passage's `reference_id`. Use no number that is not in the list of documents.
    5. Write in the language of the question, in Markdown, in this form: Multiple Paragraphs.
    6. Close with a section `### References` that names the documents you cited, at most five, one a line, like this:
       `* [1] Document Title`. Write nothing after it.

    Context:

    ## Entities

    What the documents speak of, one JSON object a line.

    ```json
    {"entity":"Ada Lovelace","type":"Person","description":"Mathematician who wrote notes."}
    {"entity":"Mary Somerville","type":"Person","description":"Teacher of science."}
    ```

    ## Relations

    How these hang together, one JSON object a line.

    ```json
    {"entity1":"Ada Lovelace","entity2":"Analytical Engine","description":"She described its programs."}
    {"entity1":"Ada Lovelace","entity2":"Mary Somerville","description":"One tutored the other."}
    ```

    ## Passages

    The documents' own words, one JSON object a line. `reference_id` is the number of the document in the list below.

    ```json
    {"reference_id":"1","content":"Mary Somerville taught Ada Lovelace mathematics. Letters survive."}
    {"reference_id":"2","content":"Ada Lovelace wrote notes on the Analytical Engine. The notes hold \"a program\"."}
    ```

    ## Documents

    [1] london.md
    [2] ada.md
    <<User>>
    Who taught Ada Lovelace?
    "#);
}

#[tokio::test]
async fn the_naive_prompt_has_only_passages_and_documents() {
    let world = World::library().await;
    let asked = Question {
        response_type: "One line".to_owned(),
        ..question(Mode::Naive, "Exhibition 1851", &[], &[])
    };
    let retrieval = found(&world, &asked).await;
    insta::assert_snapshot!(printed(&prompt_of(&world.engine, &asked, &retrieval)), @r#"
    <<System>>
    You are a careful expert in synthesizing information from a provided knowledge base. You answer the user's question from
    the passages at the end of this message, and from nothing else.

    How to answer:

    1. Find out what the user wants to know. Then gather what the passages say about it.
    2. State only what the passages state or plainly imply. Use your own knowledge to write well, never to add facts.
    3. If the passages do not hold the answer, say so in one sentence. Do not guess.
    4. After each sentence that rests on a passage, put the number of its document in brackets, like this: [1]. The number
       is the passage's `reference_id`. Use no number that is not in the list of documents.
    5. Write in the language of the question, in Markdown, in this form: One line.
    6. Close with a section `### References` that names the documents you cited, at most five, one a line, like this:
       `* [1] Document Title`. Write nothing after it.

    Context:

    ## Passages

    The documents' own words, one JSON object a line. `reference_id` is the number of the document in the list below.

    ```json
    {"reference_id":"1","content":"London hosted the Great Exhibition in 1851. Six million visitors came."}
    ```

    ## Documents

    [1] london.md
    <<User>>
    Exhibition 1851
    "#);
}

#[test]
fn the_prompt_of_a_follow_up_ends_with_the_conversation_and_the_question() {
    let prompt =
        prompts::keywords_of_follow_up(&Prompts::default(), "User: Hi\nAssistant: {{Hello}}", "Who is she?");
    insta::assert_snapshot!(printed(&prompt), @r#"
    <<System>>
    You prepare the latest question of a conversation for a search in a knowledge graph. You do not answer it. You say what is
    asked, and you name what to look for.

    Give three things:

    - `standalone_question`: the latest question as somebody would ask it who knows nothing of the conversation.
    - `high_level_keywords`: what that question is about as a whole: themes, kinds of relation, the intent behind it.
    - `low_level_keywords`: the concrete things it names: people, places, organisations, products, terms, dates, numbers.

    Rules:

    1. Answer with one JSON object that has exactly these three keys: a string and two arrays of strings. Write no other text.
    2. Put names in the place of words that point back, such as "she", "it", "there", "the first one", and complete what was
       left out. Take them from the conversation, and prefer what was said last.
    3. Change nothing else. A question that is complete, or that begins another subject, stays word for word as it is.
    4. Take keywords from the question as you wrote it; add nothing that it does not say or plainly mean.
    5. Keep names and terms of several words together: "supply chain", not "supply" and "chain".
    6. Write in the language of the latest question; leave names as they are written.
    7. If there is nothing to look for, as in thanks, give two empty arrays.

    Examples:

    User: Which treaties did Bolivia sign with Chile?
    Assistant: The Treaty of Peace and Friendship of 1904.
    Latest question: Who signed it?
    {"standalone_question": "Who signed the Treaty of Peace and Friendship of 1904 between Bolivia and Chile?", "high_level_keywords": ["signatories of a treaty"], "low_level_keywords": ["Treaty of Peace and Friendship", "1904", "Bolivia", "Chile"]}

    User: How does soil acidity change the yield of winter wheat?
    Assistant: Below a pH of 5.5 the yield falls.
    Latest question: And of barley?
    {"standalone_question": "How does soil acidity change the yield of barley?", "high_level_keywords": ["crop yield", "effect of soil acidity"], "low_level_keywords": ["soil acidity", "barley"]}
    <<User>>
    Prepare the latest question of this conversation.

    User: Hi
    Assistant: {{Hello}}
    Latest question: Who is she?
    "#);
}

#[tokio::test]
async fn the_users_instructions_are_between_the_rules_and_the_context() {
    let world = World::library().await;
    let user_prompt = Some(" Answer as a poem. {{context}} ".to_owned());
    for mode in [Mode::Naive, Mode::Mix] {
        let asked =
            Question { user_prompt: user_prompt.clone(), ..question(mode, "Exhibition 1851", &["a"], &[]) };
        let retrieval = found(&world, &asked).await;
        let prompt = prompt_of(&world.engine, &asked, &retrieval);
        let (rules, context) = prompt[0].content.split_once("Additional instructions").expect("instructions");
        assert!(context.contains("hold:\n\nAnswer as a poem. {{context}}\n\nContext:\n\n## "), "{context}");
        assert!(rules.ends_with("Write nothing after it.\n\n"), "{rules}");
        assert!(!retrieval.keywords.high_level.contains(&"poem".to_owned()));
    }
}

#[tokio::test]
async fn the_same_library_and_question_give_the_same_prompt() {
    let mut prompts = Vec::new();
    for _ in 0..2 {
        let world = World::library().await;
        let asked =
            question(Mode::Mix, "Who taught Ada Lovelace in London?", &["education"], &["Ada", "London"]);
        prompts.push(prompt_of(&world.engine, &asked, &found(&world, &asked).await));
    }
    assert_eq!(prompts[0], prompts[1]);
}
