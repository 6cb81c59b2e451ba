//! The tree of summaries: built by rules and by an LLM, browsed, searched, estimated, stopped and continued.

use std::process::Stdio;

use serde_json::json;

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

/// Notes about four subjects, six about each.
fn notes() -> Graphloom {
    let graphloom = Graphloom::new();
    let subjects = [
        ("bees", "The beekeeper Orla Finch checks the hive for honey and brood."),
        ("bridges", "The engineer Tomas Reed measures the bridge and its old stone piers."),
        ("bread", "The baker Ines Moreau kneads dough and heats the brick oven."),
        ("boats", "The sailor Kai Larsen mends the mast and the sail of the boat."),
    ];
    for (subject, sentence) in subjects {
        for number in 1..=6 {
            let text = format!("{sentence} This is note {number} about {subject} in week {number}.\n");
            graphloom.write(&format!("notes/{subject}-{number}.md"), text);
        }
    }
    graphloom
}

#[test]
fn a_tree_can_be_built_browsed_and_searched_and_says_when_it_is_outdated() {
    let graphloom = notes();
    graphloom.ok(&["add", "notes"]);
    graphloom.run(&["tree"]).exits(0).says("no tree yet");
    let plain = graphloom.hash();
    graphloom.run(&["derive", "tree", "--estimate"]).exits(0).says("free of charge");
    assert_eq!(graphloom.hash(), plain);
    graphloom.run(&["derive", "tree"]).exits(0).says("written");
    let listed = graphloom.json(&["tree", "--level", "1"]);
    assert_eq!((&listed["layer"]["current"], &listed["level"]), (&json!(true), &json!(1)));
    let first = &listed["nodes"][0];
    assert_eq!(first["by"], json!("rules"));
    let id = first["id"].as_str().expect("an id");
    let node = graphloom.json(&["tree", &id[..id.len() - 8]]);
    let passage = &node["members"][0];
    let source = passage["source"].as_str().expect("a source");
    let text = graphloom.json(&["show", source, "--text"]);
    let text = text.as_str().expect("a text");
    assert!(text.contains(passage["text"].as_str().expect("a passage").trim()));
    graphloom.run(&["tree", id]).exits(0).says(&format!("{source}:1"));
    graphloom.run(&["tree"]).exits(0).says("on level 1");
    graphloom.run(&["derive", "tree"]).exits(0).says("unchanged");
    graphloom.run(&["status"]).exits(0).says("layer       tree");
    graphloom.run(&["check"]).exits(0);
    for mode in ["tree", "tree_descent"] {
        let answer = graphloom.json(&["ask", "--mode", mode, "Who checks the hive?"]);
        let citation = &answer["citations"][0];
        assert!(
            citation["source"].as_str().is_some_and(|source| source.contains("bees")),
            "{mode}: {answer}"
        );
    }

    graphloom.write("notes/more.md", "The beekeeper Orla Finch sells honey.\n");
    graphloom.ok(&["add", "notes"]);
    graphloom.run(&["tree"]).exits(0).says("out of date");
    graphloom.run(&["ask", "--mode", "tree", "Who sells honey?"]).exits(0).says("out of date");
    graphloom.ok(&["rm", "notes/more.md"]);
    graphloom.ok(&["derive", "tree"]);
    let other = notes().with("GRAPHLOOM_DERIVE", "tree");
    other.ok(&["add", "notes"]);
    assert_eq!(graphloom.hash(), other.hash(), "a removed document leaves no trace");
    graphloom.run(&["tree", "0000"]).exits(1).says("no node");
    let soft = ["--set", "tree_clustering=soft"];
    graphloom.run(&[&["derive", "tree"], &soft[..]].concat()).exits(0).says("removed");
    let wrong = ["--set", "tree_clustering=hard"];
    graphloom.run(&[&["derive", "tree"], &wrong[..]].concat()).exits(2).says("agglomerative or soft");
}

#[test]
fn summaries_by_a_model_cost_what_was_estimated_and_failures_are_retried() {
    let model = ScriptedModel::start();
    model.answer_with("Notes about work\n\nPeople work.");
    let graphloom = notes()
        .with("GRAPHLOOM_BASE_URL", &model.base_url())
        .with("GRAPHLOOM_SUMMARIZE_LLM", "openai:scripted");
    graphloom.ok(&["add", "notes"]);
    let asked = model.prompts_of_any_kind();
    let llm = ["--set", "prices=openai:scripted=1/2"];
    let with = |args: &[&'static str]| [args, &llm[..]].concat();
    let estimate = graphloom.json(&with(&["derive", "tree", "--estimate"]));
    assert_eq!(model.prompts_of_any_kind(), asked);
    assert!(estimate["total"]["price"]["high"].as_f64().is_some_and(|price| price > 0.0), "{estimate}");
    graphloom.run(&with(&["derive", "tree", "--budget", "100tokens"])).exits(5);
    model.refuse(Some("hive"));
    graphloom.run(&with(&["derive", "tree"])).exits(3).says("failed");
    graphloom.run(&["status"]).exits(0).says("`graphloom retry` tries again");
    let before: usize = model.prompts_of_any_kind().values().sum();
    model.refuse(None);
    graphloom.run(&with(&["retry"])).exits(0).says("tree:");
    assert!(model.prompts_of_any_kind().values().sum::<usize>() > before);
    let nodes = graphloom.json(&["tree"]);
    assert_eq!(nodes["layer"]["current"], json!(true));
    assert_eq!(nodes["nodes"][0]["title"], json!("Notes about work"));
    graphloom.run(&with(&["derive", "tree"])).exits(0).says("unchanged");
    let done = graphloom.json(&with(&["derive", "tree", "--estimate"]));
    assert_eq!(done["total"]["calls"]["high"], json!(0));
}

#[test]
fn the_next_run_finishes_a_killed_one_and_repeats_only_calls_in_flight() {
    const CALLS_IN_FLIGHT: usize = 4;
    for layer in ["communities", "tree"] {
        let model = ScriptedModel::start();
        let finding = json!({ "summary": "They work.", "explanation": "They work every week [R1]." });
        let report = json!({ "title": "Work", "summary": "They work.", "rating": 5, "findings": [finding] });
        model.answer_with(&report.to_string());
        let derive = ["derive", layer, "--set", "summarize_llm=openai:scripted"];
        let [killed, clean] = [(); 2].map(|()| notes().with("GRAPHLOOM_BASE_URL", &model.base_url()));
        killed.ok(&["add", "notes"]);
        let kills = [0, 1, 2, 1];
        for answers in kills {
            model.allow(answers);
            let mut child =
                killed.command(&derive).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs");
            while child.try_wait().expect("ours").is_none() && !model.is_holding() {
                std::thread::yield_now();
            }
            child.kill().expect("still ours to kill");
            child.wait().expect("ended");
            model.release();
        }
        killed.ok(&derive);
        killed.run(&["check"]).exits(0);
        let twice: usize = model.prompts_of_any_kind().values().map(|times| times - 1).sum();
        assert!(twice <= kills.len() * CALLS_IN_FLIGHT, "{layer}: {twice} calls were made twice");
        clean.ok(&["add", "notes"]);
        clean.ok(&derive);
        assert_eq!(killed.hash(), clean.hash(), "{layer}");
    }
}
