//! A paused workspace accepts documents but makes no model calls for them until it is resumed.

use std::process::Stdio;

use serde_json::json;

use crate::common::CommandResult;
use crate::common::model::{ScriptedModel, with_things};

#[test]
fn a_paused_process_stores_the_calls_in_flight_and_the_work_resumes_later() {
    let model = ScriptedModel::start();
    let names = ["ThingA", "ThingB", "ThingC"];
    let graphloom = with_things(&model, &names);
    model.allow(0);
    let add = ["add", "docs"];
    let child = graphloom.command(&add).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    model.wait_for_held();
    graphloom.run(&["pause"]).exits(0).says("paused");
    model.release();
    CommandResult::of(&add, child.wait_with_output().expect("ends")).exits(6).says("the workspace is paused");
    assert_eq!(model.asked().len(), 1, "no other call was sent");
    assert_eq!(graphloom.json(&["status"])["queue"], "paused");
    graphloom.run(&["status"]).exits(0).says("`graphloom resume` resumes it");

    graphloom.write("docs/ThingD.md", "ThingD stands beside ThingZ.\n");
    graphloom.run(&add).exits(6).says("1 document accepted").says("the workspace is paused");
    graphloom.run(&["work"]).exits(6);
    assert_eq!(model.asked().len(), 1);

    graphloom.run(&["resume"]).exits(0).says("`graphloom work` indexes the queued documents");
    let asked_before: usize = model.asked().values().sum();
    graphloom.run(&["work"]).exits(0);
    assert_eq!(model.asked().values().sum::<usize>() - asked_before, 3, "one answer was stored already");
    assert_eq!(graphloom.json(&["status"])["by_status"], json!({ "ready": 4 }));
    let plain = with_things(&model, &["ThingA", "ThingB", "ThingC", "ThingD"]);
    plain.ok(&add);
    assert_eq!(graphloom.hash(), plain.hash());
    graphloom.run(&["resume"]).exits(0).says("the workspace was not paused");
}
