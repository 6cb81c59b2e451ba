//! Communities with reports, by rules and by an LLM, up to date and out of date.

use serde_json::json;

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

fn people() -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write(
        "docs/club.md",
        "Ada Lovelace met Charles Babbage in London. Charles Babbage built the Analytical Engine. Ada Lovelace wrote \
         notes about the Analytical Engine. Mary Somerville taught Ada Lovelace in London.\n",
    );
    graphloom
}

#[test]
fn communities_can_be_derived_listed_and_shown_and_say_when_they_are_outdated() {
    let graphloom = people();
    graphloom.ok(&["add", "docs"]);
    graphloom.run(&["communities"]).exits(0).says("no communities yet");
    let plain = graphloom.hash();
    graphloom.run(&["derive", "communities"]).exits(0).says("written");
    assert_ne!(graphloom.hash(), plain);
    let listed = graphloom.json(&["communities"]);
    assert_eq!(listed["layer"]["current"], json!(true));
    let first = &listed["communities"][0];
    assert_eq!(first["by"], json!("rules"));
    let id = first["id"].as_str().expect("an id");
    let report = graphloom.json(&["communities", &id[..id.len() - 8]]);
    let quote = report["findings"][0]["references"][0]["quote"].as_str().expect("a quote");
    assert!(graphloom.json(&["show", "docs/club.md", "--text"]).as_str().expect("a text").contains(quote));
    graphloom.run(&["communities", id]).exits(0).says("docs/club.md:1");
    graphloom.run(&["derive", "communities"]).exits(0).says("unchanged");
    graphloom.run(&["status"]).exits(0).says("layer       communities");
    graphloom.run(&["check"]).exits(0);

    graphloom.write("docs/more.md", "Charles Babbage wrote to Joseph Clement.\n");
    graphloom.ok(&["add", "docs"]);
    graphloom.run(&["communities"]).exits(0).says("out of date");
    graphloom.run(&["status"]).exits(0).says("`graphloom derive communities` updates it");
    graphloom.ok(&["rm", "docs/more.md"]);
    graphloom.ok(&["derive", "communities"]);
    let other = people().with("GRAPHLOOM_DERIVE", "communities");
    other.ok(&["add", "docs"]);
    assert_eq!(graphloom.hash(), other.hash(), "a removed document leaves no trace");
    graphloom.run(&["communities", "0000"]).exits(1).says("no community");
}

#[test]
fn reports_by_a_model_stay_within_the_budget_and_are_written_once() {
    let model = ScriptedModel::start();
    let report = json!({ "title": "The club", "summary": "They met.", "rating": 8, "findings": [
        { "summary": "Ada Lovelace met Charles Babbage.", "explanation": "They met in London [R1, R77]." }
    ] });
    model.answer_with(&report.to_string());
    let graphloom = people().with("GRAPHLOOM_BASE_URL", &model.base_url());
    graphloom.ok(&["add", "docs"]);
    let llm = ["--set", "summarize_llm=openai:scripted"];
    graphloom.run(&[&["derive", "communities", "--budget", "100tokens"], &llm[..]].concat()).exits(5);
    graphloom.run(&[&["derive", "communities"], &llm[..]].concat()).exits(0).says("written");
    let asked: usize = model.asked().values().sum();
    let listed = graphloom.json(&["communities"]);
    assert_eq!(listed["communities"][0]["title"], json!("The club"));
    let id = listed["communities"][0]["id"].as_str().expect("an id");
    let shown = graphloom.json(&["communities", id]);
    assert_eq!((&shown["rating"], &shown["dropped_references"]), (&json!(8.0), &json!(1)));
    graphloom.run(&[&["derive", "communities"], &llm[..]].concat()).exits(0).says("unchanged");
    assert_eq!(model.asked().values().sum::<usize>(), asked);
}
