//! If stdout or stderr is closed, printing neither ends nor blocks the program.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::common::Graphloom;
use crate::common::serving::Serving;

/// Returns a pipe whose reading end is closed.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

#[test]
fn a_server_stops_on_request_even_if_nobody_reads_its_output() {
    for name in ["-TERM", "-INT"] {
        let graphloom = Graphloom::new();
        let mut serving = Serving::start_with_log(&graphloom, &[], closed());
        // Writing each line of the log fails too.
        for _ in 0..3 {
            serving.ok("GET", "/health", "", &json!({}));
        }
        signal(name, serving.child.id());
        let status = serving.child.wait().expect("it ends");
        assert_eq!((status.code(), status.signal()), (Some(0), None), "{name}");
    }
}

#[test]
fn a_server_serves_even_if_nobody_reads_its_first_line() {
    let graphloom = Graphloom::new();
    let mut command = graphloom.command(&["serve", "--port", "0"]);
    let mut child = command.stdout(closed()).stderr(Stdio::piped()).spawn().expect("it runs");
    let said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let warned = said.map_while(Result::ok).any(|line| line.contains("printing the server's address failed"));
    assert!(warned, "it ended");
    signal("-TERM", child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn work_goes_on_if_nobody_reads_its_output_any_more() {
    let graphloom = Graphloom::new();
    for number in 0..20 {
        graphloom
            .write(&format!("docs/{number}.md"), format!("Person{number} Oskoldt runs Harbour{number}.\n"));
    }
    let mut command = graphloom.command(&["--json", "add", "docs"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    lines.next().expect("a line").expect("readable");
    drop(lines);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(graphloom.json(&["status"])["by_status"], json!({ "ready": 20 }));
}

#[test]
fn no_command_panics_if_its_output_is_closed() {
    let graphloom = Graphloom::new();
    graphloom.write("station.md", "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995.");
    for arguments in [
        &["add", "station.md"][..],
        &["--json", "add", "station.md"],
        &["add", "missing.md"],
        &["ask", "Who succeeded Maren Oskoldt?"],
        &["search", "Tobias"],
        &["status"],
        &["graph", "Weir Station"],
        &["dump"],
        &["export"],
        &["check"],
        &["config", "show"],
        &["key", "list"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
        &["nonsense"],
        &["--set", "nonsense=1", "status"],
    ] {
        let mut command = graphloom.command(arguments);
        let status = command.stdout(closed()).stderr(closed()).status().expect("it runs");
        assert!(status.code().is_some_and(|code| code != 101), "{arguments:?}: {status}");
    }
    // Enough output that writing it fails, in all formats.
    let text: String =
        (0..2000).map(|number| format!("Person{number} Oskoldt runs Harbour{number}.\n")).collect();
    graphloom.write("long.md", text);
    graphloom.ok(&["add", "long.md"]);
    for arguments in [
        &["dump"][..],
        &["export"],
        &["export", "--format", "csv", "--only", "entities"],
        &["export", "--format", "graphml"],
        &["--json", "export", "--format", "jsonl"],
        &["status"],
        &["completions", "bash"],
    ] {
        let mut command = graphloom.command(arguments);
        let ended = command.stdout(closed()).stderr(Stdio::piped()).output().expect("it runs");
        let errors = String::from_utf8(ended.stderr).expect("UTF-8");
        assert_eq!(
            (ended.status.code(), errors.contains("error")),
            (Some(0), false),
            "{arguments:?}: {errors}"
        );
    }
    // The work itself was done.
    assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 2);
}
