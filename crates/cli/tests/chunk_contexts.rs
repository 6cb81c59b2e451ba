//! Searches also match the context of a chunk: title and headings, or a sentence written by an LLM.

use serde_json::json;

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

/// A report with two sections; the second names its company only in the title.
fn report() -> Graphloom {
    let graphloom =
        Graphloom::new().with("GRAPHLOOM_CHUNK_TOKENS", "24").with("GRAPHLOOM_CHUNK_OVERLAP", "0");
    graphloom.write(
        "docs/report.md",
        "# Zephyrine annual report\n\n## Outlook\n\nMills will need more gears next year, and the axles that go with \
         them.\n\n## Revenue\n\nIt grew by three percent, mostly in the second half of the year.\n",
    );
    graphloom
}

fn hits(graphloom: &Graphloom, text: &str) -> Vec<String> {
    let found = graphloom.json(&["search", text]);
    let passages = found["passages"].as_array().expect("a list");
    passages.iter().map(|it| it["chunk"]["text"].as_str().expect("a text").trim().to_owned()).collect()
}

#[test]
fn a_passage_is_found_by_its_headings_and_quoted_without_them() {
    let graphloom = report();
    graphloom.ok(&["add", "docs", "--contextual", "headings"]);
    let status = graphloom.json(&["status"]);
    assert_eq!(status["contextualized"]["headings"], status["counts"]["chunks"]);
    let asked = ["ask", "How much did Zephyrine revenue grow?", "--mode", "contextual", "--context-only"];
    let found = graphloom.json(&asked);
    let first = found["chunks"][0]["chunk"]["text"].as_str().expect("a text");
    assert!(first.starts_with("## Revenue"), "{first}");
    assert!(
        !found["context"].as_str().expect("a text").contains('→'),
        "the context holds the documents' own words"
    );
    let answer = graphloom.json(&["ask", "What grew by three percent?", "--mode", "contextual"]);
    let quote = answer["citations"][0]["quote"].as_str().expect("a quote");
    assert!(quote.contains("grew by three percent") && !quote.contains('→'), "{quote}");
    graphloom.run(&["check"]).exits(0);

    let plain = report();
    plain.ok(&["add", "docs"]);
    assert_ne!(graphloom.hash(), plain.hash());
    graphloom.run(&["contextualize", "--contextual", "off"]).exits(0).says("got a new context");
    assert_eq!(graphloom.hash(), plain.hash(), "without the option no context is left");
    let again = graphloom.run(&["contextualize", "--contextual", "headings"]).exits(0);
    again.says("got a new context");
    graphloom.run(&["contextualize", "--contextual", "headings"]).exits(0).says("1 document up to date");
    plain.ok(&["rm", "docs/report.md"]);
    plain.ok(&["add", "docs", "--contextual", "headings"]);
    assert_eq!(graphloom.hash(), plain.hash());
}

#[test]
fn a_model_writes_chunk_contexts_and_a_failed_chunk_is_listed_and_retried() {
    let model = ScriptedModel::start();
    model.answer_with("From the Quillfeather minutes.");
    model.refuse(Some("<passage>\n## Revenue"));
    let graphloom = report()
        .with("GRAPHLOOM_BASE_URL", &model.base_url())
        .with("GRAPHLOOM_CONTEXT_LLM", "openai:scripted")
        .with("GRAPHLOOM_CONTEXTUAL", "model");
    let estimate = graphloom.json(&["add", "docs", "--estimate"]);
    assert_eq!(
        (&estimate["steps"][0]["step"], &estimate["steps"][0]["role"]),
        (&json!("contextualize"), &json!("context"))
    );
    let added = graphloom.run(&["add", "docs"]).exits(3);
    added.says("failed: docs/report.md chunk 2");
    let status = graphloom.run(&["status"]).exits(0);
    status.says("1 of ").says("without context: ").says("`graphloom retry`");
    let found = hits(&graphloom, "Quillfeather");
    assert!(!found.is_empty() && !found.iter().any(|text| text.contains("Quillfeather")), "{found:?}");

    graphloom.run(&["retry", "--contextual", "headings"]).exits(2).says("contextual model, not headings");
    let otherwise = graphloom.run(&["retry", "--contextual", "headings", "--switch"]).exits(3);
    otherwise.says("1 chunk failed to get a context from openai:scripted");
    model.refuse(None);
    graphloom.run(&["retry", "--switch"]).exits(0).says("1 chunk got a context");
    graphloom.run(&["status", "--status", "ready"]).exits(0).says("docs/report.md: ready");
    graphloom.run(&["check"]).exits(0);
    graphloom.run(&["cost"]).exits(0).says("context");
}

#[test]
fn a_missing_model_is_reported_before_anything_is_stored() {
    let graphloom = report();
    let refused = graphloom.run(&["add", "docs", "--contextual", "model"]).exits(2);
    refused.says("no LLM is configured").says("set context_llm or llm");
    graphloom.run(&["add", "docs", "--contextual", "titles"]).exits(2).says("off, headings or model");
    assert!(!graphloom.path(".graphloom").join("default.graphloom").exists());
}
