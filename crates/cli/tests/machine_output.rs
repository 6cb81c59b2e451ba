//! Output for programs: only JSON on stdout, exit codes, pipes that close early.

use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Graphloom, copy_lab};

#[test]
fn add_prints_one_event_a_line_and_a_summary() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.write("docs/picture.png", "x");
    let stdout = graphloom.ok(&["--json", "add", "docs"]);
    let events: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let count = |event: &str| events.iter().filter(|it| it["event"] == event).count();
    assert_eq!((count("source"), count("skipped"), count("finished"), count("summary")), (12, 1, 12, 1));
    let summary = events.last().expect("a last one");
    assert_eq!((&summary["event"], &summary["accepted"]), (&Value::from("summary"), &Value::from(12)));
    assert_eq!(summary["run"]["report"]["finished"], 12);
}

#[test]
fn every_reading_command_prints_one_json_value() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.ok(&["add", "a.md"]);
    for arguments in [
        vec!["status"],
        vec!["show", "a.md"],
        vec!["show", "a.md", "--text"],
        vec!["graph", "Ada Lovelace"],
        vec!["graph", "show", "Ada Lovelace"],
        vec!["graph", "labels"],
        vec!["graph", "subgraph", "Ada Lovelace"],
        vec!["graph", "edit", "Ada Lovelace", "--type", "Mathematician"],
        vec!["graph", "history"],
        vec!["graph", "undo"],
        vec!["search", "program"],
        vec!["ask", "Who wrote the first program?"],
        vec!["ask", "Who wrote the first program?", "--context-only"],
        vec!["ask", "Who wrote the first program?", "--prompt-only"],
        vec!["cache", "show"],
        vec!["cache", "clear"],
        vec!["check"],
        vec!["doctor"],
        vec!["dump", "--hash"],
        vec!["config", "show"],
        vec!["model", "list"],
        vec!["rm", "a.md"],
    ] {
        graphloom.json(&arguments);
    }
}

#[test]
fn output_outside_a_terminal_has_no_colours_and_no_progress_bars() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program in London.\n");
    for arguments in [vec!["add", "a.md"], vec!["status"], vec!["ask", "Who wrote the first program?"]] {
        let ran = graphloom.run(&arguments).exits(0);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{arguments:?}");
    }
    let colored = graphloom.ok(&["--color", "always", "status"]);
    assert!(colored.contains('\u{1b}'));
}

#[test]
fn quiet_prints_only_results_and_errors() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.write("b.md", "");
    let added = graphloom.run(&["-q", "add", "a.md"]).exits(0);
    assert_eq!((added.stdout.as_str(), added.stderr.as_str()), ("", ""));
    let refused = graphloom.run(&["-q", "add", "b.md"]).exits(3);
    assert_eq!(refused.stdout, "");
    assert!(refused.stderr.starts_with("refused: b.md: "), "{}", refused.stderr);
    for arguments in [&["-q", "work"][..], &["-q", "retry"], &["-q", "rm", "a.md"]] {
        let ran = graphloom.run(arguments).exits(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{arguments:?}");
    }
    graphloom.run(&["-q", "add", "a.md"]).exits(0);
    assert_eq!(graphloom.run(&["-q", "ask", "Who wrote the first program?"]).exits(0).stderr, "");
}

#[test]
fn closing_the_output_pipe_is_no_error() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    let mut command = graphloom.command(&["dump"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    let mut first = [0; 1];
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_exact(&mut first).expect("a byte");
    drop(stdout);
    let output = child.wait_with_output().expect("ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("error"), "{stderr}");
}

#[test]
fn a_document_cannot_steer_the_terminal() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote \u{1b}[2J the first program in London.\n");
    graphloom.run(&["add", "a.md"]).exits(0);
    for arguments in [vec!["ask", "Who wrote the first program?"], vec!["search", "program"]] {
        assert!(!graphloom.run(&arguments).stdout.contains('\u{1b}'));
    }
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    let graphloom = Graphloom::new();
    graphloom.run(&["ad", "docs"]).exits(2).says("add");
    graphloom.run(&["ask"]).exits(2);
    graphloom.run(&["ask", "x", "--mode", "best"]).exits(2).says("naive");
    graphloom.run(&["ask", " "]).exits(2).says("help: write a question");
    graphloom.run(&["ask", "x", "--top-k", "1001"]).exits(2).says("top_k: 1001, the limit is 1000");
}

#[test]
fn completions_are_printed_for_shells() {
    let graphloom = Graphloom::new();
    assert!(graphloom.ok(&["completions", "bash"]).contains("_graphloom"));
}
