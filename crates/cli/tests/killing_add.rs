//! `kill -9` at any moment of `add` loses nothing that was acknowledged and pays for nothing twice.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::common::Graphloom;
use crate::common::model::{ScriptedModel, with_things};

const DOCUMENTS: usize = 60;
const CALLS_IN_FLIGHT: usize = 4;
/// Documents have one chunk each, and as many are indexed at once as calls are in flight. So at most that many answers are paid for
/// but not yet on disk.
const ADD: [&str; 9] = [
    "--json",
    "--llm",
    "openai:scripted",
    "--set",
    "gleaning=0",
    "--set",
    "max_concurrent_documents=4",
    "add",
    "docs",
];

/// When a process is killed.
enum Moment {
    /// While the model holds its answers back, after it has answered this many calls.
    AfterAnswers(usize),
    /// As soon as this event is printed; the model answers at once.
    AtEvent(&'static str),
}

#[test]
fn after_twenty_kills_the_state_equals_a_clean_run() {
    let model = ScriptedModel::start();
    let graphloom = with_documents(&model);
    let moments: Vec<Moment> = (0..15)
        .map(|round| Moment::AfterAnswers(round % 4))
        .chain(["source", "source", "advanced", "finished", "finished"].map(Moment::AtEvent))
        .collect();
    let kills = moments.len();
    assert_eq!(kills, 20);
    for moment in moments {
        kill_at(&graphloom, &model, moment);
    }
    graphloom.run(&ADD).exits(0);

    let status = graphloom.json(&["status"]);
    assert_eq!(status["by_status"]["ready"], DOCUMENTS, "no document is lost or stuck");
    graphloom.run(&["check"]).exits(0);
    let asked = model.asked();
    assert_eq!(asked.len(), DOCUMENTS);
    let paid_twice: usize = asked.values().map(|times| times - 1).sum();
    assert!(paid_twice <= kills * CALLS_IN_FLIGHT, "{paid_twice} calls were made twice");

    let clean = with_documents(&model);
    clean.run(&ADD).exits(0);
    assert_eq!(graphloom.hash(), clean.hash());
}

#[test]
fn documents_of_a_killed_process_are_shown_as_interrupted_until_work_continues_them() {
    let model = ScriptedModel::start();
    let graphloom = with_things(&model, &["ThingA"]);
    let shown = |expected: &str| {
        let line = format!("docs/ThingA.md: {expected}, 0 of 1 chunk read");
        graphloom.run(&["status"]).exits(0).says(&format!("  1 {expected}\n")).says(&line);
        graphloom.run(&["status", "--track", "run"]).exits(0).says(&format!("1 {expected}\n")).says(&line);
        graphloom.run(&["show", "docs/ThingA.md"]).exits(0).says(&format!("status      {expected}"));
        graphloom.json(&["status"])["documents"][0]["interrupted"].as_bool().expect("a truth value")
    };
    model.allow(0);
    let mut add = graphloom.command(&["add", "docs", "--track", "run"]);
    let add = add.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs");
    model.wait_for_held();
    assert!(!shown("indexing"));
    kill(add);
    assert!(shown("interrupted"));
    for command in [&["status"][..], &["status", "--track", "run"], &["show", "docs/ThingA.md"]] {
        graphloom.run(command).says("run `graphloom work` to continue");
    }
    model.release();
    graphloom.run(&["work"]).exits(0).says("1 document in the graph");
    graphloom.run(&["status"]).exits(0).says("  1 ready");
}

fn with_documents(model: &ScriptedModel) -> Graphloom {
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    for number in 0..DOCUMENTS {
        let text = format!("Thing{number} stands beside Thing{} and Thing{}.\n", number % 7, number + 1);
        graphloom.write(&format!("docs/{number}.md"), text);
    }
    graphloom
}

fn kill_at(graphloom: &Graphloom, model: &ScriptedModel, moment: Moment) {
    match moment {
        Moment::AfterAnswers(answers) => {
            model.allow(answers);
            let child = start(graphloom);
            model.wait_for_held();
            kill(child);
            model.release();
        }
        Moment::AtEvent(event) => {
            let mut child = start(graphloom);
            let stdout = child.stdout.take().expect("a pipe");
            let wanted = format!("\"event\":\"{event}\"");
            let mut lines = BufReader::new(stdout).lines();
            // If the process ends before the event, the kill comes too late, which must do no harm either.
            lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(&wanted)));
            kill(child);
        }
    }
}

fn start(graphloom: &Graphloom) -> Child {
    graphloom.command(&ADD).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("runs")
}

fn kill(mut child: Child) {
    child.kill().expect("still ours to kill");
    child.wait().expect("ended");
}
