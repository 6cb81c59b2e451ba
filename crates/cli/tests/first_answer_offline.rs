//! On a fresh machine, two commands give a cited answer: no key, no service, no network.

mod common;

use common::{Graphloom, copy_lab};

#[test]
fn two_commands_give_a_cited_answer() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.run(&["add", "docs"]).exits(0).says("12 documents accepted");
    let asked = graphloom.run(&["ask", "Which product grew out of the lab's first paper?"]).exits(0);
    assert!(asked.stdout.contains("\n[1] docs/"), "{}", asked.stdout);
    assert!(asked.stdout.contains("Braidline"), "{}", asked.stdout);
    asked.says("answered without a language model: verbatim sentences from your documents");
}

#[test]
fn an_answer_in_json_names_no_model() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    let answer = graphloom.json(&["ask", "Who succeeded Maren Oskoldt as director?"]);
    assert!(answer["model"].is_null());
    assert!(answer["found"].as_bool() == Some(true));
    assert!(!answer["citations"].as_array().expect("a list").is_empty());
}

#[test]
fn every_mode_that_searches_answers() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    for mode in ["naive", "local", "global", "hybrid", "mix"] {
        let answer = graphloom.json(&["ask", "Who is Maren Oskoldt?", "--mode", mode]);
        assert_eq!(answer["mode"], mode);
        assert!(!answer["citations"].as_array().expect("a list").is_empty(), "{mode}");
    }
    graphloom
        .run(&["ask", "Who is Maren Oskoldt?", "--mode", "bypass"])
        .exits(1)
        .says("needs an answer model");
}

#[test]
fn a_question_the_documents_do_not_answer_exits_with_4() {
    let graphloom = Graphloom::new();
    graphloom.write("b.md", "Bread is baked at dawn.");
    graphloom.run(&["add", "b.md"]).exits(0);
    graphloom.run(&["ask", "zyxwv qponm?"]).exits(4).says("not in your documents");
}

#[test]
fn without_documents_the_next_step_is_named() {
    let graphloom = Graphloom::new();
    graphloom.run(&["ask", "anything?"]).exits(1).says("help: `graphloom add PATH` makes one");
    assert!(!graphloom.path(".graphloom").exists());
}

#[test]
fn status_show_graph_search_and_check_work_on_what_was_added() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs", "--meta", "project=weir"]);
    let status = graphloom.json(&["status"]);
    assert_eq!(status["by_status"]["ready"], 12);
    let shown = graphloom.json(&["show", "docs/founding-charter.md"]);
    assert_eq!(shown["document"]["meta"]["project"], "weir");
    let id = shown["document"]["id"].as_str().expect("an id");
    assert_eq!(graphloom.json(&["show", &id[..12]])["document"]["id"], id);
    let text = graphloom.ok(&["show", "docs/founding-charter.md", "--text"]);
    assert_eq!(text, std::fs::read_to_string(graphloom.path("docs/founding-charter.md")).expect("readable"));
    let entity = graphloom.json(&["graph", "Maren Oskoldt"]);
    assert!(!entity["passages"].as_array().expect("a list").is_empty());
    let found = graphloom.json(&["search", "frost gating", "--top-k", "5"]);
    assert!(!found["passages"].as_array().expect("a list").is_empty());
    graphloom.run(&["check"]).exits(0).says("no contradictions");
    graphloom.run(&["doctor"]).exits(0).says("embedder");
}
