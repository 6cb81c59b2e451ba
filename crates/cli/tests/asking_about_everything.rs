//! Questions about all documents, answered from community reports, and suggested questions.

use serde_json::json;

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

const THEMES: &str = "What are the main themes?";

fn club() -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write(
        "docs/club.md",
        "Ada Lovelace is a mathematician. Ada Lovelace met Charles Babbage in London. Charles Babbage built the Analytical \
         Engine. Ada Lovelace wrote notes about the Analytical Engine.\n",
    );
    graphloom
        .write("docs/bridge.md", "Isambard Brunel built the Clifton Bridge in Bristol. Bristol is a city.\n");
    graphloom.ok(&["add", "docs"]);
    graphloom
}

#[test]
fn without_communities_the_output_says_how_to_derive_them() {
    let graphloom = club();
    graphloom.run(&["ask", THEMES]).exits(0).says("graphloom derive communities").says("Overview");
    for mode in ["community_global", "community_local", "drift"] {
        graphloom.run(&["ask", THEMES, "--mode", mode]).exits(1).says("graphloom derive communities");
    }
}

#[test]
fn a_question_about_everything_is_answered_from_reports_and_says_why() {
    let graphloom = club();
    graphloom.ok(&["derive", "communities"]);
    let answer = graphloom.json(&["ask", THEMES]);
    assert_eq!((&answer["mode"], &answer["kind"]), (&json!("auto"), &json!("overview")));
    assert_eq!(answer["route"]["form"], json!("documents"));
    let citations = answer["citations"].as_array().expect("citations");
    let sources: Vec<&str> = citations.iter().filter_map(|citation| citation["source"].as_str()).collect();
    assert!(sources.contains(&"docs/club.md") && sources.contains(&"docs/bridge.md"), "{answer}");
    graphloom.run(&["-v", "ask", THEMES]).exits(0).says("from community reports").says("read ");
    let fact = graphloom.json(&["ask", "Who built the Clifton Bridge?"]);
    assert_eq!(fact["route"]["form"], json!("whole"));
    graphloom.run(&["ask", THEMES, "--mode", "drift"]).exits(1).says("needs an answer model");
    graphloom
        .run(&["ask", THEMES, "--mode", "community_global", "--source", "*.md"])
        .exits(1)
        .says("cannot be filtered");
    graphloom
        .run(&["ask", "Who is Ada Lovelace?", "--mode", "community_local"])
        .exits(0)
        .says("mathematician");
    graphloom
        .run(&["ask", "Who is Ada Lovelace?", "--mode", "naive", "--level", "1"])
        .exits(0)
        .says("no effect in this mode with these models: --level");
    graphloom.write("docs/new.md", "Grace Hopper wrote a compiler.\n");
    graphloom.ok(&["add", "docs"]);
    graphloom.run(&["ask", THEMES]).exits(0).says("out of date").says("graphloom derive communities");
}

#[test]
fn points_from_an_llm_become_an_answer_and_every_call_is_in_the_ledger() {
    let model = ScriptedModel::start();
    let point = json!({ "points": [
        { "point": "Charles Babbage built the Analytical Engine.", "score": 90, "sources": ["F1", "F2", "F3", "F4"] }
    ] });
    // The same text serves the call that extracts points and the call that answers.
    model.answer_with(&format!("{point} Charles Babbage built the Analytical Engine [1]."));
    let graphloom = club();
    graphloom.ok(&["derive", "communities"]);
    let graphloom = graphloom.with("GRAPHLOOM_BASE_URL", &model.base_url());
    let asked = ["ask", THEMES, "--llm", "openai:scripted", "--full"];
    let answer = graphloom.json(&asked);
    let calls = answer["calls"].as_array().expect("calls");
    assert_eq!(calls.iter().filter(|call| call["role"] == json!("answer")).count(), 2, "{calls:?}");
    assert_eq!(answer["retrieval"]["points"][0]["score"], json!(90.0));
    assert_eq!(answer["dropped_citations"], json!(0), "{answer}");
    let cached = graphloom.json(&asked);
    assert_eq!(cached["calls"].as_array().map(Vec::len), Some(0));
    let context =
        graphloom.json(&["ask", THEMES, "--llm", "openai:scripted", "--context-only", "--no-cache"]);
    assert_eq!(context["calls"].as_array().map(Vec::len), Some(0), "a context costs no call");
}

#[test]
fn suggested_questions_have_an_answer() {
    let graphloom = club();
    let suggested = graphloom.json(&["suggest", "--limit", "3"]);
    let questions = suggested["questions"].as_array().expect("questions");
    assert!(!questions.is_empty(), "{suggested}");
    for suggestion in questions {
        let question = suggestion["question"].as_str().expect("a question");
        assert!(!question.starts_with("Who wrote"), "her work has no name: {question}");
        let answer = graphloom.json(&["ask", question]);
        assert_eq!(answer["kind"], json!("answer"), "{question}: {answer}");
        let source = suggestion["source"].as_str().expect("a source");
        let text = graphloom.json(&["show", source, "--text"]);
        let quote = suggestion["quote"].as_str().expect("a quote");
        assert!(text.as_str().expect("a text").contains(quote), "{suggestion}");
    }
    let about = graphloom.json(&["suggest", "--about", "Charles Babbage"]);
    let about = about["questions"].as_array().expect("questions");
    assert!(
        !about.is_empty() && about.iter().all(|it| it["quote"].to_string().contains("Babbage")),
        "{about:?}"
    );
    assert!(about.iter().any(|it| it["question"] == json!("Who built the Analytical Engine?")), "{about:?}");
    graphloom.run(&["suggest", "--about", "Nobody Here"]).exits(4).says("names no entity");
    Graphloom::new().run(&["suggest"]).exits(1).says("no workspace");
}
