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
    insta::assert_snapshot!(printed(&prompts::keywords("Who taught {{Ada}}?")), @r#"
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
    insta::assert_snapshot!(printed(&prompt_of(&asked, &retrieval)), @r#"
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
async fn the_naive_prompt_has_passages_and_documents_alone() {
    let world = World::library().await;
    let asked = Question {
        response_type: "One line".to_owned(),
        ..question(Mode::Naive, "Exhibition 1851", &[], &[])
    };
    let retrieval = found(&world, &asked).await;
    insta::assert_snapshot!(printed(&prompt_of(&asked, &retrieval)), @r#"
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
