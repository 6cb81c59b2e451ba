//! A cached answer is not paid for twice, and is never out of date.

use serde_json::{Value, json};

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

const ASK: [&str; 5] =
    ["--set", "answer_llm=openai:scripted", "ask", "--mode=naive", "Who wrote the first program?"];

fn started() -> (ScriptedModel, Graphloom) {
    let model = ScriptedModel::start();
    model.answer_with("Ada Lovelace wrote it [1].");
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    graphloom.write("docs/ada.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "docs"]);
    (model, graphloom)
}

fn ask(graphloom: &Graphloom, more: &[&str]) -> Value {
    graphloom.json(&[&ASK[..], more].concat())
}

/// True if the model was called; an answer is either paid for or cached.
fn called_model(answer: &Value) -> bool {
    let calls = answer["calls"].as_array().expect("a list").len();
    assert_eq!(answer["cached"] == json!(["answer"]), calls == 0, "{answer}");
    calls == 1
}

#[test]
fn the_same_question_is_paid_for_once() {
    let (model, graphloom) = started();
    let first = ask(&graphloom, &[]);
    assert!(called_model(&first));
    let before = graphloom.hash();
    model.answer_with("Somebody else did [1].");
    let second = ask(&graphloom, &[]);
    assert!(!called_model(&second));
    assert_eq!((&second["answer"], &second["citations"]), (&first["answer"], &first["citations"]));
    graphloom.run(&ASK).exits(0).says("Ada Lovelace wrote it [1].").says("--no-cache asks the LLM again");
    assert_eq!(graphloom.hash(), before);
    let calls = &graphloom.json(&["status"])["calls"];
    assert_eq!(calls[0]["calls"], 1, "{calls}");

    let again = ask(&graphloom, &["--no-cache"]);
    assert!(called_model(&again));
    assert_eq!(again["answer"], "Somebody else did [1].");
    assert_eq!(ask(&graphloom, &[])["answer"], "Ada Lovelace wrote it [1].");
    let off = graphloom.json(&[&["--set", "query_cache=false"], &ASK[..]].concat());
    assert!(called_model(&off));
    graphloom.run(&["--set", "query_cache=perhaps", "status"]).exits(2).says("must be true or false");
}

#[test]
fn a_change_to_the_documents_leads_to_a_new_answer() {
    let (model, graphloom) = started();
    assert!(called_model(&ask(&graphloom, &[])));
    // A document that the question does not find changes nothing.
    graphloom.write("docs/bread.md", "Rye rises slowly.\n");
    graphloom.ok(&["add", "docs"]);
    assert!(!called_model(&ask(&graphloom, &["--chunk-top-k", "1"])));
    graphloom.write("docs/ada.md", "Ada Lovelace wrote the first program, and notes on it.\n");
    graphloom.ok(&["add", "docs"]);
    model.answer_with("Ada did [1].");
    let changed = ask(&graphloom, &["--chunk-top-k", "1"]);
    assert!(called_model(&changed));
    assert_eq!(changed["answer"], "Ada did [1].");
    graphloom.ok(&["rm", "docs/ada.md"]);
    graphloom.run(&ASK).exits(4).says("Not found in ");
}

#[test]
fn cached_answers_can_be_listed_and_deleted() {
    let (_model, graphloom) = started();
    ask(&graphloom, &[]);
    let shown = graphloom.json(&["cache", "show"]);
    assert_eq!(shown[1], json!({ "kind": "answer", "entries": 1, "bytes": 26 }));
    graphloom.ok(&["cache", "clear", "--keywords", "--vectors"]);
    assert!(!called_model(&ask(&graphloom, &[])));
    let cleared = graphloom.json(&["cache", "clear", "--answers"]);
    assert_eq!(cleared["cleared"], json!([{ "kind": "answer", "entries": 1, "bytes": 26 }]));
    assert!(called_model(&ask(&graphloom, &[])));
    graphloom.run(&["cache", "clear"]).exits(0).says("answer");
}

#[test]
fn a_failed_call_is_in_the_ledger() {
    let (model, graphloom) = started();
    model.refuse(Some("Who wrote"));
    graphloom.run(&ASK).exits(1).says("refused");
    let calls = graphloom.json(&["status"])["calls"].clone();
    assert_eq!((&calls[0]["role"], &calls[0]["failed"]), (&json!("answer"), &json!(1)), "{calls}");
    model.refuse(None);
    assert!(called_model(&ask(&graphloom, &[])));
}
