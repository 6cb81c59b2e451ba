//! Every citation leads to the exact words at the printed lines.

mod common;

use common::model::ScriptedModel;
use common::{Graphloom, copy_lab};
use serde_json::Value;

const QUESTIONS: [&str; 3] = [
    "Which product grew out of the lab's first paper?",
    "Who succeeded Maren Oskoldt as director?",
    "How much did the recall of the Hearthmoth cost?",
];

#[test]
fn every_quote_stands_verbatim_at_the_printed_lines() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    for question in QUESTIONS {
        let answer = graphloom.json(&["ask", question]);
        let citations = answer["citations"].as_array().expect("a list");
        assert!(!citations.is_empty(), "{question}");
        for citation in citations {
            check_citation(&graphloom, citation);
        }
        assert_eq!(answer["dropped_citations"], 0);
    }
}

fn check_citation(graphloom: &Graphloom, citation: &Value) {
    let source = citation["source"].as_str().expect("a source");
    let quote = citation["quote"].as_str().expect("a quote");
    let text = graphloom.ok(&["show", source, "--text"]);
    let span = |end: &str| citation["span"][end].as_u64().expect("a byte") as usize;
    assert_eq!(&text[span("start")..span("end")], quote);
    check_lines(&text, citation, quote);
    // Rows of a table are written out with their column names; the lines are the file's, the words are not.
    if citation["lines_match_source"] == true && !source.ends_with(".csv") {
        let file = std::fs::read_to_string(graphloom.path(source)).expect("UTF-8");
        let lines: Vec<&str> = file.lines().collect();
        let (first, last) = lines_of(citation);
        let first_words = quote.split_whitespace().next().expect("words");
        assert!(lines[first - 1..last].join("\n").contains(first_words), "{citation}");
    }
}

fn check_lines(text: &str, citation: &Value, quote: &str) {
    let (first, last) = lines_of(citation);
    let lines: Vec<&str> = text.split('\n').collect();
    assert!(lines[first - 1..last].join("\n").contains(quote.trim_end()), "{citation}");
}

fn lines_of(citation: &Value) -> (usize, usize) {
    let line = |at: usize| citation["lines"][at].as_u64().expect("a line") as usize;
    (line(0), line(1))
}

#[test]
fn a_models_answer_streams_and_its_citations_are_resolved() {
    let model = ScriptedModel::start();
    model.answer_with("The first program was written by Ada Lovelace [1]. The moon is cheese [9].");
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    graphloom.write("docs/ada.md", "# Ada\n\nAda Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "docs"]);
    let asked =
        graphloom.run(&["--set", "answer_llm=openai:scripted", "ask", "Who wrote the first program?"]);
    let asked = asked
        .exits(0)
        .says("written by Ada Lovelace [1]")
        .says("citations that pointed to nothing and were dropped: 1");
    assert!(
        asked.stdout.contains("[1] docs/ada.md:3  \"Ada Lovelace wrote the first program.\""),
        "{}",
        asked.stdout
    );
    assert!(!asked.stderr.contains("without a language model"));
    let calls = graphloom.json(&["status"])["calls"].clone();
    assert_eq!(calls[0]["role"], "answer");
    assert_eq!(calls[0]["prompt_tokens"], 10);
}

#[test]
fn the_context_and_the_prompt_can_be_seen_without_asking_a_model() {
    let model = ScriptedModel::start();
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    graphloom.write("docs/ada.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "docs"]);
    let context = graphloom.ok(&["ask", "Who wrote the first program?", "--context-only"]);
    assert!(context.contains("Ada Lovelace wrote the first program."), "{context}");
    let prompt = graphloom.ok(&["ask", "Who wrote the first program?", "--prompt-only"]);
    assert!(prompt.contains(context.trim()) && prompt.contains("Who wrote the first program?"), "{prompt}");
}
