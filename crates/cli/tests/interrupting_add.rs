//! Ctrl-C stops `add` cleanly, and the same command continues.
#![cfg(unix)]

use std::process::{Command, Stdio};

use crate::common::model::ScriptedModel;
use crate::common::{CommandResult, Graphloom};

const MODEL: [&str; 4] = ["--llm", "openai:scripted", "--set", "gleaning=0"];

#[test]
fn an_interrupted_add_says_how_to_resume_and_resumes() {
    let model = ScriptedModel::start();
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    for number in 0..12 {
        graphloom.write(
            &format!("docs/{number}.md"),
            format!("Thing{number} stands beside Thing{}.\n", number + 1),
        );
    }
    let add: Vec<&str> = MODEL.iter().copied().chain(["add", "docs"]).collect();

    model.allow(3);
    let mut command = graphloom.command(&add);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    model.wait_for_held();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    model.answer_held();
    let output = child.wait_with_output().expect("ends");
    CommandResult::of(&add, output).exits(130).says("stopped; run the same command to continue");

    graphloom.run(&add).exits(0).says("12 unchanged");
    let asked = model.asked();
    assert!(
        asked.len() == 12 && asked.values().all(|times| *times == 1),
        "answers in flight are stored: {asked:?}"
    );
    graphloom.run(&["status"]).exits(0).says("12 ready");
    graphloom.run(&["check"]).exits(0);

    let plain = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    for number in 0..12 {
        plain.write(
            &format!("docs/{number}.md"),
            format!("Thing{number} stands beside Thing{}.\n", number + 1),
        );
    }
    plain.run(&add).exits(0);
    assert_eq!(graphloom.hash(), plain.hash());
}
