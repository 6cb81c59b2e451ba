//! `cancel` removes documents from the queue, even while another process works on them; `retry` queues them again.

use std::process::Stdio;

use serde_json::json;

use crate::common::CommandResult;
use crate::common::model::{ScriptedModel, with_things};

const NAMES: [&str; 4] = ["ThingA", "ThingB", "ThingC", "ThingD"];

fn plain_hash(model: &ScriptedModel) -> String {
    let plain = with_things(model, &NAMES);
    plain.ok(&["add", "docs"]);
    plain.hash()
}

#[test]
fn a_running_process_drops_cancelled_documents_and_nothing_is_paid_twice() {
    let model = ScriptedModel::start();
    let graphloom = with_things(&model, &NAMES);
    model.allow(0);
    let add = ["add", "docs"];
    let child = graphloom.command(&add).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    model.wait_for_held();
    let done = graphloom.json(&["cancel", "--all"]);
    assert_eq!(done["cancelled"].as_array().map(Vec::len), Some(4));
    // The call in flight is sent again because its connection broke, and its answer is stored.
    model.release();
    CommandResult::of(&add, child.wait_with_output().expect("ends")).exits(0).says("4 documents cancelled");
    assert_eq!(model.asked().len(), 1, "no other call was sent");
    assert_eq!(graphloom.json(&["status"])["by_status"], json!({ "cancelled": 4 }));
    graphloom.run(&["check"]).exits(0);
    graphloom.run(&add).exits(0).says("4 unchanged documents cancelled earlier");
    graphloom.run(&["retry"]).exits(0).says("0 chunks of 0 documents queued again");

    let asked_before: usize = model.asked().values().sum();
    graphloom.run(&["retry", "--cancelled"]).exits(0);
    assert_eq!(model.asked().values().sum::<usize>() - asked_before, 3, "one answer was stored already");
    assert_eq!(graphloom.hash(), plain_hash(&model));
}

#[test]
fn waiting_documents_can_be_cancelled_by_name_and_are_still_found_by_keyword() {
    let model = ScriptedModel::start();
    let graphloom = with_things(&model, &NAMES);
    graphloom.ok(&["add", "docs", "--no-wait", "--track", "one"]);
    graphloom.run(&["cancel", "docs/ThingA.md"]).exits(0).says("cancelled docs/ThingA.md");
    graphloom.run(&["cancel", "docs/ThingA.md"]).exits(0).says("not in the queue: docs/ThingA.md");
    graphloom.run(&["cancel", "docs/ThingX.md"]).exits(1).says("no document");
    graphloom.run(&["work"]).exits(0);
    assert_eq!(graphloom.json(&["status"])["by_status"], json!({ "cancelled": 1, "ready": 3 }));
    let found = graphloom.json(&["search", "ThingA"]);
    assert_eq!(found["passages"][0]["source"], "docs/ThingA.md");
    graphloom.run(&["cancel", "--track", "one"]).exits(0).says("not in the queue: docs/ThingB.md");
    graphloom.run(&["retry", "docs/ThingA.md"]).exits(0);
    assert_eq!(graphloom.hash(), plain_hash(&model));
    graphloom.run(&["cancel", "--all"]).exits(0).says("nothing is queued");
}
