//! A reranker orders the passages of an answer. If it fails, a warning is printed and the order does not change.

use graphloom_providers::testing::{ReceivedRequest, Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::common::Graphloom;

/// Returns the program with two documents and a reranker that prefers passages about tea.
fn library(server: &ScriptedServer) -> Graphloom {
    let graphloom = Graphloom::new()
        .with("GRAPHLOOM_JINA_BASE_URL", &format!("{}/v1", server.url()))
        .with("GRAPHLOOM_RERANKER", "jina:r");
    graphloom.write("bread.md", "Bread is baked in the kiln house every day of the week.\n");
    graphloom.write("tea.md", "Tea is brewed in the kiln house every second day of the week.\n");
    graphloom.ok(&["add", "bread.md", "tea.md"]);
    graphloom
}

fn prefer_tea(request: &ReceivedRequest) -> Reply {
    let documents = request.json()["documents"].as_array().cloned().unwrap_or_default();
    let about_tea = |text: &Value| {
        text.as_str()
            .is_some_and(|text| text.contains("Tea") || text.contains("radium") || text.contains("Radium"))
    };
    let results: Vec<Value> = (0usize..)
        .zip(&documents)
        .map(|(index, text)| json!({"index": index, "relevance_score": if about_tea(text) { 0.9 } else { 0.2 }}))
        .collect();
    Reply::json(200, json!({"results": results, "usage": {"total_tokens": 20}}).to_string())
}

/// Returns the sources of the passages, best first, with their rerank scores.
fn check_order(retrieval: &Value) -> Vec<(String, Option<f64>)> {
    let sources = retrieval["references"].as_array().expect("a list");
    let source = |number: &Value| {
        sources.iter().find(|it| it["number"] == *number).expect("numbered")["source"].clone()
    };
    let chunks = retrieval["chunks"].as_array().expect("a list");
    let rounded = |score: f64| (score * 10.0).round() / 10.0;
    let row = |chunk: &Value| {
        let name = source(&chunk["reference"]).as_str().unwrap_or_default().to_owned();
        (name, chunk["rerank_score"].as_f64().map(rounded))
    };
    chunks.iter().map(row).collect()
}

const ASK: [&str; 5] =
    ["ask", "--mode", "naive", "--context-only", "Is bread baked in the kiln house every day?"];

#[test]
fn passages_come_in_the_rerankers_order_and_the_call_is_in_the_ledger() {
    let server = ScriptedServer::start(|_, request| prefer_tea(request));
    let graphloom = library(&server);
    let row = |source: &str, score| (source.to_owned(), score);
    let reranked = graphloom.json(&ASK);
    assert_eq!(check_order(&reranked), [row("tea.md", Some(0.9)), row("bread.md", Some(0.2))]);
    assert_eq!(reranked["notes"], json!([]));
    let without = graphloom.json(&[&ASK[..], &["--no-rerank"]].concat());
    assert_eq!(check_order(&without), [row("bread.md", None), row("tea.md", None)]);
    let best = graphloom.json(&[&ASK[..], &["--min-rerank-score", "0.5"]].concat());
    assert_eq!(check_order(&best), [row("tea.md", Some(0.9))]);
    let calls = graphloom.json(&["status"])["calls"].clone();
    let rerank =
        calls.as_array().expect("a list").iter().find(|call| call["role"] == "rerank").expect("a row");
    assert_eq!((&rerank["model"], &rerank["calls"]), (&json!("jina:r"), &json!(2)));
    graphloom.run(&["doctor"]).exits(0).says("ok    reranker: jina:r works");
}

#[test]
fn a_failed_reranker_causes_a_warning_and_passages_keep_the_search_order() {
    let server = ScriptedServer::replies([Reply::json(401, r#"{"detail":"invalid key"}"#)]);
    let graphloom = library(&server);
    let answered = graphloom
        .run(&["--quiet", "ask", "--mode", "naive", "Is bread baked in the kiln house every day?"])
        .exits(0);
    answered
        .says("warning: passages are in the order of the search, not reranked: model jina:r rejected the API key: invalid key")
        .says("help: set JINA_API_KEY");
    let retrieval = graphloom.json(&ASK);
    assert_eq!(retrieval["notes"][0]["note"], "not_reranked");
    let answer = graphloom.json(&["ask", "--mode", "naive", "Is bread baked in the kiln house every day?"]);
    assert_eq!(answer["notes"][0]["reranker"], "jina:r");
    assert_eq!(check_order(&retrieval).len(), 2);
    graphloom.run(&["doctor"]).exits(1).says("FAIL  reranker");
}

#[test]
fn a_lowest_score_without_a_reranker_is_an_error() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "a.md"]);
    graphloom.run(&["ask", "Who?", "--min-rerank-score", "0.5"]).exits(2).says("reranker=cohere:MODEL");
    graphloom.run(&["ask", "Who?", "--min-rerank-score", "0.5", "--no-rerank"]).exits(2);
    graphloom
        .run(&["--set", "reranker=openai:x", "status"])
        .exits(2)
        .says("none, cohere:MODEL or jina:MODEL");
}
