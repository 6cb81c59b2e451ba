//! Claims: who held which office when, what ended each claim, and answers for a date.

use serde_json::{Value, json};

use crate::common::Graphloom;

const FIRST: &str =
    "Bo Lind was the chief executive officer of Velora Systems from 2006 to 2012. He grew up in Ostrava.\n";
const SECOND: &str = "In 2012, Ada Kern succeeded Bo Lind as chief executive officer of Velora Systems.\n";
const WHO: &str = "Who was the chief executive officer of Velora Systems?";

fn with_velora() -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write("docs/first.txt", FIRST);
    graphloom.write("docs/second.txt", SECOND);
    graphloom.ok(&["add", "docs"]);
    graphloom
}

fn claims(graphloom: &Graphloom, options: &[&str]) -> Vec<String> {
    let listed = graphloom.json(&[&["claims"], options].concat());
    let claims = listed["claims"].as_array().expect("a list");
    claims.iter().map(|claim| claim["line"].as_str().expect("a line").to_owned()).collect()
}

#[test]
fn an_answer_for_a_date_names_and_cites_the_holder_of_the_office_then() {
    let graphloom = with_velora();
    for (date, right, other) in [("2007", "Bo Lind", "Ada Kern"), ("2015-06", "Ada Kern", "Bo Lind")] {
        let answer = graphloom.json(&["ask", WHO, "--as-of", date]);
        let text = answer["answer"].as_str().expect("text");
        let first = text.lines().next().expect("a line");
        assert!(first.contains(right) && !first.contains(other), "{date}: {text}");
        let quotes = answer["citations"].as_array().expect("a list");
        let quote = quotes[0]["quote"].as_str().expect("a quote");
        assert!(quote.contains(right) && (FIRST.contains(quote) || SECOND.contains(quote)), "{quote}");
    }
}

#[test]
fn claims_can_be_listed_by_entity_date_and_status_and_show_what_ended_them() {
    let graphloom = with_velora();
    let lind = "Bo Lind, chief executive officer of Velora Systems: 2006 to 2012";
    let kern = "Ada Kern, chief executive officer of Velora Systems: since 2012";
    assert_eq!(claims(&graphloom, &["Velora Systems"]), [kern, lind]);
    assert_eq!(claims(&graphloom, &["--subject", "Bo Lind"]), [lind]);
    assert_eq!(claims(&graphloom, &["--as-of", "2008"]), [lind]);
    assert_eq!(claims(&graphloom, &["--from", "2013"]), [kern]);
    assert_eq!(claims(&graphloom, &["--to", "2011"]), [lind]);
    assert_eq!(claims(&graphloom, &["--status", "suspected"]), [] as [&str; 0]);

    let listed = graphloom.json(&["claims", "--subject", "Bo Lind"]);
    let claim = &listed["claims"][0];
    assert_eq!(claim["retired"]["by"], "end_date");
    // Both documents state the same claim and its end.
    assert_eq!(claim["quoted"].as_array().expect("a list").len(), 2);
    assert!(
        claim["retired_by"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|quote| quote["source"] == "docs/second.txt")
    );
    let shown = graphloom.json(&["graph", "Ada Kern"]);
    assert_eq!(shown["claims"][0]["line"], kern);
}

#[test]
fn removing_a_document_removes_its_claims_and_restores_those_they_ended() {
    let graphloom = Graphloom::new();
    graphloom.write(
        "docs/first.txt",
        "Bo Lind has been the chief executive officer of Velora Systems since 2006.\n",
    );
    graphloom.ok(&["add", "docs"]);
    let before = graphloom.ok(&["dump"]);
    graphloom
        .write("docs/second.txt", "Ada Kern became chief executive officer of Velora Systems in 2012.\n");
    graphloom.ok(&["add", "docs"]);
    let retired =
        |graphloom: &Graphloom| graphloom.json(&["claims", "Bo Lind"])["claims"][0]["retired"]["by"].clone();
    assert_eq!(retired(&graphloom), "successor");
    graphloom.ok(&["rm", "docs/second.txt"]);
    assert_eq!(retired(&graphloom), Value::Null);
    assert_eq!(graphloom.ok(&["dump"]), before);
    assert_eq!(graphloom.json(&["check"]), json!([]));
}

#[test]
fn a_context_for_a_date_omits_claims_that_did_not_hold_and_says_so() {
    let graphloom = Graphloom::new();
    graphloom.write(
        "docs/velora.txt",
        "Velora Systems makes pumps in Ostrava. Bo Lind was CEO of Velora Systems from 2006 to 2012. Ada Kern became CEO of \
         Velora Systems in 2014.\n",
    );
    graphloom.ok(&["add", "docs"]);
    let context = graphloom.ok(&["ask", WHO, "--as-of", "2010", "--context-only"]);
    assert!(context.contains("As of 2010") && context.contains("makes pumps"), "{context}");
    assert!(context.contains("Bo Lind") && !context.contains("became CEO"), "{context}");
    let whole = graphloom.ok(&["ask", WHO, "--context-only"]);
    assert!(whole.contains("## Claims") && whole.contains("became CEO"), "{whole}");
}

#[test]
fn an_invalid_date_is_refused_with_the_expected_format() {
    let graphloom = with_velora();
    graphloom.run(&["ask", WHO, "--as-of", "yesterday"]).exits(2).says("expected 2024, 2024-05");
}

#[test]
fn listed_claims_name_the_line_of_each_sentence_and_print_a_sentence_once() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/first.txt", format!("\n\n{FIRST}"));
    graphloom.ok(&["add", "docs"]);
    let listed = graphloom.ok(&["claims", "--subject", "Bo Lind"]);
    assert!(listed.contains("docs/first.txt:3"), "{listed}");
    assert_eq!(listed.matches("\u{201c}Bo Lind was").count(), 1, "{listed}");
    graphloom.write("docs/second.txt", format!("\n{SECOND}"));
    graphloom.ok(&["add", "docs"]);
    let listed = graphloom.ok(&["claims", "--subject", "Bo Lind"]);
    assert!(listed.contains("docs/second.txt:2"), "{listed}");
}
