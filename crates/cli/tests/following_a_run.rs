//! Every run that queues documents has a name. Commands list, retry, cancel and remove the run's documents by this name.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::model::{ScriptedModel, with_things};

/// Parses the lines that a command printed with `--json`.
fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_run_prints_its_name_and_its_documents_are_listed_by_it() {
    let model = ScriptedModel::start();
    let graphloom = with_things(&model, &["ThingA", "ThingB"]);
    let ran = graphloom.run(&["--json", "add", "docs"]).exits(0);
    let printed = lines(&ran.stdout);
    let track = printed[0]["track"].as_str().expect("the first line names the run").to_owned();
    assert_eq!(printed[0]["event"], "track");
    assert!(track.starts_with("add-"), "{track}");
    assert_eq!(printed.last().expect("a summary")["track"], track.as_str());

    model.refuse(Some("ThingC"));
    graphloom.write("docs/ThingC.md", "ThingC stands beside ThingZ.\n");
    graphloom.run(&["-v", "add", "docs", "--track", "nightly"]).exits(3).says("status --track nightly");
    let status = graphloom.json(&["status", "--track", &track]);
    assert_eq!((&status["total"], &status["by_status"]), (&json!(2), &json!({ "ready": 2 })));
    let status = graphloom.json(&["status", "--track", "nightly"]);
    assert_eq!((&status["by_status"], &status["settled"]), (&json!({ "incomplete": 1 }), &json!(1)));
    assert_eq!(status["documents"][0]["source"], "docs/ThingC.md");
    let ran = graphloom.run(&["status", "--track", "nightly"]).exits(0);
    ran.says("1 of 1 document done: 1 incomplete").says("chunk 0 failed");

    model.refuse(None);
    let ran = graphloom.run(&["--json", "retry", "--track", "nightly"]).exits(0);
    let retry = lines(&ran.stdout)[0]["track"].as_str().expect("a name").to_owned();
    for name in [retry.as_str(), "nightly"] {
        assert_eq!(
            graphloom.json(&["status", "--track", name])["by_status"],
            json!({ "ready": 1 }),
            "{name}"
        );
    }
    graphloom.run(&["rm", "--track", "nightly"]).exits(0).says("removed docs/ThingC.md");
    graphloom.run(&["status", "--track", "nightly"]).exits(1).says("run nightly has no documents");
    graphloom.run(&["add", "docs", "--track", "a b"]).exits(2).says("must be 1 to 100 of the characters");
}

#[test]
fn documents_can_be_accepted_now_and_indexed_later() {
    let model = ScriptedModel::start();
    let names = ["ThingA", "ThingB", "ThingC"];
    let graphloom = with_things(&model, &names);
    graphloom.run(&["add", "docs", "--no-wait", "--track", "later"]).exits(0).says("`graphloom work`");
    assert!(model.asked().is_empty());
    assert_eq!(graphloom.json(&["status", "--track", "later"])["by_status"], json!({ "waiting": 3 }));
    graphloom.run(&["work"]).exits(0).says("3 documents in the graph");
    graphloom.run(&["work"]).exits(0).says("nothing is queued");
    let plain = with_things(&model, &names);
    plain.ok(&["add", "docs"]);
    assert_eq!(graphloom.hash(), plain.hash());
}

#[test]
fn work_says_if_another_process_indexes_the_queued_documents() {
    let model = ScriptedModel::start();
    let graphloom = with_things(&model, &["ThingA"]);
    model.allow(0);
    let mut other = graphloom.command(&["add", "docs"]);
    let mut other = other.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    model.wait_for_held();
    graphloom.run(&["work"]).exits(0).says("another process is indexing 1 document");
    model.answer_held();
    assert!(other.wait().expect("it ends").success());
    graphloom.run(&["work"]).exits(0).says("nothing is queued");
}
