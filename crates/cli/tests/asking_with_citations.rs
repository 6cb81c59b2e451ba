//! Every citation leads to the exact words at the printed lines.

use serde_json::Value;

use crate::common::model::ScriptedModel;
use crate::common::{Graphloom, copy_lab};

const QUESTIONS: [&str; 3] = [
    "Which product grew out of the lab's first paper?",
    "Who succeeded Maren Oskoldt as director?",
    "How much did the recall of the Hearthmoth cost?",
];

#[test]
fn every_quote_is_verbatim_at_the_printed_lines() {
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
    // Rows of a table become sentences with column names: the line numbers are those of the file, the text is not.
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
    let asked =
        asked.exits(0).says("written by Ada Lovelace [1]").says("dropped citations that point to nothing: 1");
    assert!(
        asked.stdout.contains("[1] docs/ada.md:3  \"Ada Lovelace wrote the first program.\""),
        "{}",
        asked.stdout
    );
    assert!(!asked.stderr.contains("without an LLM"));
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

/// Adds the samples; returns a question that two sentences of one document and one of another answer.
fn lab_answer(graphloom: &Graphloom) -> Vec<&'static str> {
    copy_lab(graphloom);
    graphloom.ok(&["add", "docs"]);
    vec!["ask", "Who designed the Hearthmoth and Braidline?"]
}

#[test]
fn citation_numbers_count_from_one_in_order_and_each_leads_to_one_place() {
    let graphloom = Graphloom::new();
    let ask = lab_answer(&graphloom);
    let stdout = graphloom.ok(&ask);
    let (answer, sources) = stdout.split_once("\n\n").expect("an answer and its sources");
    let numbers: Vec<&str> = answer
        .lines()
        .map(|line| line.rsplit_once(" [").expect("a number").1.trim_end_matches(']'))
        .collect();
    let expected: Vec<String> = (1..=numbers.len()).map(|number| number.to_string()).collect();
    assert_eq!(numbers, expected, "{stdout}");
    let places: Vec<&str> = sources.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(places.len(), numbers.len(), "{stdout}");
    assert!(places.iter().all(|place| place.contains(".csv:") || place.contains(".md:")), "{stdout}");
}

#[test]
fn sentences_of_one_document_have_their_own_numbers() {
    let model = ScriptedModel::start();
    model.answer_with(
        "Ada Lovelace wrote the first program [1]. Grace Hopper found a moth [1]. Ada Lovelace wrote it [1].",
    );
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n\nGrace Hopper found a moth.\n");
    graphloom.ok(&["add", "a.md"]);
    let ask = ["--set", "answer_llm=openai:scripted", "ask", "Who wrote the first program?"];
    let stdout = graphloom.ok(&ask);
    assert!(
        stdout.contains("first program [1]. Grace Hopper found a moth [2]. Ada Lovelace wrote it [1]."),
        "{stdout}"
    );
    assert!(
        stdout.contains("[1] a.md:1  \"Ada Lovelace wrote the first program.\"\n[2] a.md:3  "),
        "{stdout}"
    );
}

#[test]
fn a_models_own_list_of_references_is_left_out() {
    let model = ScriptedModel::start();
    model.answer_with("Ada Lovelace wrote the first program [1].\n\n### References\n\n* [1] a.md");
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "a.md"]);
    let stdout = graphloom.ok(&["--set", "answer_llm=openai:scripted", "ask", "Who wrote it?"]);
    assert!(!stdout.contains("References") && stdout.contains("[1] a.md:1"), "{stdout}");
}

#[test]
fn verbatim_sentences_are_printed_twice_only_if_quotes_are_requested() {
    let graphloom = Graphloom::new();
    let ask = lab_answer(&graphloom);
    let sentence = "The posts were designed by Tobias Quillhaven";
    assert_eq!(graphloom.ok(&ask).matches(sentence).count(), 1);
    assert_eq!(graphloom.ok(&[&ask[..], &["--quotes"]].concat()).matches(sentence).count(), 2);
}

#[test]
fn an_answer_is_wrapped_to_the_terminal_between_words() {
    let graphloom = Graphloom::new();
    let ask = lab_answer(&graphloom);
    let whole = graphloom.ok(&ask);
    let mut command = graphloom.command(&ask);
    let output = command.env("COLUMNS", "40").output().expect("runs");
    let wrapped = String::from_utf8(output.stdout).expect("UTF-8");
    let answer = wrapped.split("\n\n").next().expect("an answer");
    assert!(answer.lines().count() > 3 && answer.lines().all(|line| line.chars().count() <= 40), "{wrapped}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&wrapped), words(&whole), "no word is broken");
}

#[test]
fn places_are_links_if_the_terminal_supports_them() {
    let graphloom = Graphloom::new();
    graphloom.write("my docs/ada.md", "# Ada\n\nAda Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "my docs"]);
    let ask = ["ask", "Who wrote the first program?"];
    let mut command = graphloom.command(&ask);
    let output = command.env("FORCE_HYPERLINK", "1").output().expect("runs");
    let linked = String::from_utf8(output.stdout).expect("UTF-8");
    let end = "/my%20docs/ada.md#3\u{1b}\\my docs/ada.md:3\u{1b}]8;;\u{1b}\\";
    assert!(linked.contains("\u{1b}]8;;file:///") && linked.contains(end), "{linked:?}");
    assert!(!graphloom.ok(&ask).contains('\u{1b}'));

    graphloom.write(
        "loom.html",
        "<html><body><p>Joseph Marie Jacquard built the first loom with cards.</p></body></html>",
    );
    graphloom.ok(&["add", "loom.html"]);
    let words = "/loom.html#:~:text=Joseph%20Marie%20Jacquard%20built";
    for arguments in [["ask", "Who built the first loom with cards?"], ["search", "loom"]] {
        let mut command = graphloom.command(&arguments);
        let output = command.env("FORCE_HYPERLINK", "1").output().expect("runs");
        let linked = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(linked.contains(words), "{linked:?}");
    }
}

#[test]
fn verbose_says_in_a_few_lines_why_the_answer_is_this_one() {
    let graphloom = Graphloom::new();
    let ask = lab_answer(&graphloom);
    let ran = graphloom.run(&[&["-v"], &ask[..]].concat()).exits(0);
    let (_, why) = ran.stderr.split_once("Why this answer:\n").expect("an explanation");
    assert!(why.lines().filter(|line| line.starts_with("  ")).count() <= 9, "{why}");
    assert!(why.contains("mode auto read ") && why.contains("  [1] docs/"), "{why}");
    assert!(why.contains("reached through the graph") || why.contains("matches the question"), "{why}");
}

#[test]
fn the_json_of_an_answer_is_small_unless_all_details_are_requested() {
    let graphloom = Graphloom::new();
    let ask = lab_answer(&graphloom);
    let small = graphloom.json(&ask);
    assert!(small["retrieval"].is_null() && small.to_string().len() < 8_000, "{small}");
    let full = graphloom.json(&[&ask[..], &["--full"]].concat());
    assert!(full["retrieval"]["chunks"].as_array().is_some_and(|chunks| !chunks.is_empty()));
}
