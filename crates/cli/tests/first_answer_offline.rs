//! On a fresh machine, two commands give a cited answer: no key, no service, no network.

use crate::common::{Graphloom, copy_lab};

#[test]
fn two_commands_give_a_cited_answer() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.run(&["add", "docs"]).exits(0).says("12 documents accepted");
    let asked = graphloom.run(&["ask", "Who was the first customer of Braidline?"]).exits(0);
    assert!(asked.stdout.contains("\n[1] docs/braidline-product-sheet.md:35"), "{}", asked.stdout);
    assert!(asked.stdout.starts_with("The Kellmere Water Board was the first customer"), "{}", asked.stdout);
    asked.says("answered without an LLM: verbatim sentences from your documents");
}

#[test]
fn an_offline_answer_in_json_names_no_model() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    let answer = graphloom.json(&["ask", "Who succeeded Maren Oskoldt as director?"]);
    assert!(answer["model"].is_null());
    assert!(answer["found"].as_bool() == Some(true));
    assert!(!answer["citations"].as_array().expect("a list").is_empty());
}

#[test]
fn every_searching_mode_gives_an_answer() {
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
fn a_definition_is_found_among_many_documents_that_name_the_same_thing() {
    let graphloom = Graphloom::new();
    for number in 0..30 {
        let text = format!("It is late. What a day! It is time: close Tessel {number}, open Tessel again.");
        graphloom.write(&format!("step{number}.md"), text);
    }
    let history = "In the mills of the valley, every loom had a clock, and no two clocks agreed. ".repeat(8);
    graphloom.write("history.md", format!("{history}Tessel is a program that keeps looms in step."));
    graphloom.ok(&["add", "."]);
    let asked = graphloom.run(&["ask", "What is Tessel?"]).exits(0);
    assert!(asked.stdout.starts_with("Tessel is a program that keeps looms in step."), "{}", asked.stdout);
}

#[test]
fn questions_find_documents_that_still_wait_by_their_words() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs", "--no-wait"]);
    for mode in ["auto", "naive", "mix"] {
        let asked =
            graphloom.run(&["ask", "Who was the first customer of Braidline?", "--mode", mode]).exits(0);
        assert!(asked.stdout.contains("docs/braidline-product-sheet.md:35"), "{mode}: {}", asked.stdout);
    }
    let unknown = ["ask", "Zyzzyva quokka?"];
    let waits = "12 of 12 documents are not indexed yet; `graphloom work` indexes them";
    graphloom.run(&unknown).exits(4).says(waits);
    let told = graphloom.run(&["--json", "ask", "Zyzzyva quokka?"]).exits(4);
    told.says(r#""notes":[{"note":"not_indexed","waiting":12,"documents":12}]"#);
    graphloom.ok(&["work"]);
    assert!(!graphloom.run(&unknown).exits(4).stderr.contains("not indexed yet"));
}

#[test]
fn an_unanswered_question_exits_with_4() {
    let graphloom = Graphloom::new();
    graphloom.write("b.md", "Bread is baked at dawn.");
    graphloom.run(&["add", "b.md"]).exits(0);
    graphloom
        .run(&["ask", "zyxwv qponm?"])
        .exits(4)
        .says("Not found in 1 document. Searched for: zyxwv, qponm.");
}

#[test]
fn an_answer_says_whether_it_answers_the_question() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    for (question, kind, code) in [
        ("Who succeeded Maren Oskoldt as director?", "answer", 0),
        ("What was the name of Maren Oskoldt's dog?", "closest", 0),
        ("What is this about?", "overview", 0),
        ("zyxwv qponm?", "not_found", 4),
        ("Hello!", "greeting", 0),
    ] {
        let asked = graphloom.run(&["--json", "ask", question]).exits(code);
        let answer: serde_json::Value = serde_json::from_str(&asked.stdout).expect("JSON");
        assert_eq!(answer["kind"], kind, "{question}: {}", answer["answer"]);
    }
    let closest = graphloom.run(&["ask", "What was the name of Maren Oskoldt's dog?"]).exits(0);
    assert!(
        closest.stdout.starts_with("No sentence answers this directly. Closest passages:\n"),
        "{}",
        closest.stdout
    );
    assert!(!closest.stderr.contains("verbatim sentences"), "{}", closest.stderr);
    #[cfg(feature = "local")]
    closest.says("`graphloom model pull multilingual-e5-small`");
}

#[test]
fn every_sentence_of_an_overview_has_its_place() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    // The overview cites other passages than those that the question finds.
    let question: &[&str] = &["ask", "What is this about?", "--quotes", "--chunk-top-k", "1"];
    let shown = graphloom.ok(question);
    let (answer, places) = shown.split_once("\n\n[1] ").expect("places below the answer");
    let topics: Vec<&str> = answer.lines().skip(1).filter(|line| !line.is_empty()).collect();
    assert!(topics.len() > 2, "{shown}");
    for (at, topic) in topics.iter().enumerate() {
        assert!(topic.ends_with(']'), "no number behind {topic:?}");
        let sentence = topic.split_once(": ").expect("a topic").1.rsplit_once(" [").expect("a number").0;
        let place = format!("[1] {places}");
        let place = place.lines().nth(at).expect("a place").to_owned();
        let quoted = place.split_once('"').expect("a quote").1.trim_end_matches(['"', '…']);
        assert!(sentence.starts_with(quoted), "{place:?} is not the place of {sentence:?}");
    }
}

#[test]
fn a_missing_answer_is_reported_in_the_language_of_the_question() {
    let graphloom = Graphloom::new();
    graphloom.write("b.md", "Bread is baked at dawn.");
    graphloom.ok(&["add", "b.md"]);
    for (question, words) in [
        ("Who discovered penicillin?", "Not found in 1 document. Searched for: discovered, penicillin."),
        ("Wer hat das Penizillin entdeckt?", "Nicht gefunden in 1 Dokument. Gesucht: Penizillin, entdeckt."),
        ("谁发现了青霉素？", "在1个文档中没有找到。搜索的词：发现、青霉素。"),
    ] {
        graphloom.run(&["ask", question]).exits(4).says(words);
    }
    graphloom.ok(&["rm", "b.md"]);
    graphloom.run(&["ask", "Who bakes bread?"]).exits(4).says("There are no documents to search yet.");
}

#[test]
fn without_documents_the_output_names_the_next_step() {
    let graphloom = Graphloom::new();
    graphloom.run(&["ask", "anything?"]).exits(1).says("help: `graphloom add PATH` creates it");
    assert!(!graphloom.path(".graphloom").exists());
}

#[test]
fn status_show_graph_search_and_check_work_on_added_documents() {
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
