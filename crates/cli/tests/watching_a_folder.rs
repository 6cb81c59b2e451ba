//! `add --watch` adds new and changed files of a folder, and ends cleanly.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::Graphloom;

/// Deadline for expected events, so that a test fails instead of hanging.
const DEADLINE: Duration = Duration::from_secs(60);

/// A watching process and the events it prints.
struct Watching {
    child: Child,
    events: Receiver<Value>,
}

impl Watching {
    /// Starts the process and waits until it watches.
    fn start(graphloom: &Graphloom, arguments: &[&str]) -> Self {
        let watching = Self::spawn(graphloom, arguments);
        watching.wait_for(|event| event["event"] == "watching");
        watching
    }

    fn spawn(graphloom: &Graphloom, arguments: &[&str]) -> Self {
        let arguments: Vec<&str> =
            ["--json", "add", "docs", "--watch"].iter().chain(arguments).copied().collect();
        let mut child = graphloom
            .command(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("runs");
        let stdout = child.stdout.take().expect("piped");
        let (send, events) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Ok(event) = serde_json::from_str(&line)
                    && send.send(event).is_err()
                {
                    return;
                }
            }
        });
        Self { child, events }
    }

    /// Waits for the next event that `wanted` accepts, and returns it.
    fn wait_for(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + DEADLINE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left).expect("the event comes");
            if wanted(&event) {
                return event;
            }
        }
    }

    /// Waits for the next outcome of this source, and returns it.
    fn outcome_of(&self, source: &str) -> Value {
        self.wait_for(|event| event["event"] == "source" && event["source"] == source)["outcome"].clone()
    }

    /// Interrupts the process and returns its exit code.
    fn interrupt(mut self) -> Option<i32> {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        self.child.wait().expect("ends").code()
    }
}

impl Drop for Watching {
    /// Leaves no process behind if a test fails.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn docs() -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write("docs/a.md", "Maren Oskoldt founded the Larkfen Laboratory.\n");
    graphloom.write("docs/b.md", "Tobias Wren directs the Larkfen Laboratory.\n");
    graphloom
}

fn plain_hash(files: &[(&str, &str)]) -> String {
    let plain = Graphloom::new();
    for (name, text) in files {
        plain.write(&format!("docs/{name}"), text);
    }
    plain.ok(&["add", "docs"]);
    plain.hash()
}

#[test]
fn new_changed_and_renamed_files_are_added_and_missing_ones_removed_with_prune() {
    let graphloom = docs();
    let watching = Watching::start(&graphloom, &["--prune"]);
    graphloom.write("docs/deep/er/c.md", "Ilse Brandt built the Weir House.\n");
    assert_eq!(watching.outcome_of("docs/deep/er/c.md"), "accepted");
    graphloom.write("docs/a.md", "Maren Oskoldt founded the Larkfen Laboratory in Kelm.\n");
    assert_eq!(watching.outcome_of("docs/a.md"), "accepted");
    // Watching also skips ignored files.
    graphloom.write("docs/.graphloomignore", "secret.md\n");
    graphloom.write("docs/secret.md", "Nobody may know.\n");
    fs::rename(graphloom.path("docs/b.md"), graphloom.path("docs/renamed.md")).expect("renamed");
    assert_eq!(watching.outcome_of("docs/renamed.md"), "accepted");
    let gone = watching.wait_for(|event| event["event"] == "gone");
    assert_eq!((&gone["source"], &gone["removed"]), (&Value::from("docs/b.md"), &Value::from(true)));
    assert_eq!(watching.interrupt(), Some(0));
    let files = [
        ("a.md", "Maren Oskoldt founded the Larkfen Laboratory in Kelm.\n"),
        ("deep/er/c.md", "Ilse Brandt built the Weir House.\n"),
        ("renamed.md", "Tobias Wren directs the Larkfen Laboratory.\n"),
    ];
    assert_eq!(graphloom.hash(), plain_hash(&files));
}

#[test]
fn without_prune_the_document_of_a_missing_file_stays_and_is_reported() {
    let graphloom = docs();
    let watching = Watching::start(&graphloom, &[]);
    fs::remove_file(graphloom.path("docs/b.md")).expect("removed");
    let gone = watching.wait_for(|event| event["event"] == "gone");
    assert_eq!((&gone["source"], &gone["removed"]), (&Value::from("docs/b.md"), &Value::from(false)));
    assert_eq!(watching.interrupt(), Some(0));
    assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 2);
    // A file that was deleted while nothing watched is noticed at the next start.
    let watching = Watching::spawn(&graphloom, &["--prune"]);
    watching.wait_for(|event| event["event"] == "gone" && event["removed"] == true);
    watching.wait_for(|event| event["event"] == "watching");
    assert_eq!(watching.interrupt(), Some(0));
    assert_eq!(graphloom.hash(), plain_hash(&[("a.md", "Maren Oskoldt founded the Larkfen Laboratory.\n")]));
}

#[test]
fn a_deleted_file_is_all_that_is_reported_when_nothing_else_changed() {
    let graphloom = docs();
    graphloom.ok(&["add", "docs"]);
    let mut command = graphloom.command(&["add", "docs", "--watch", "--prune"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    let mut notes = BufReader::new(child.stderr.take().expect("piped")).lines();
    assert!(notes.any(|line| line.is_ok_and(|line| line.contains("watching 2 files"))));
    fs::remove_file(graphloom.path("docs/b.md")).expect("removed");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let removed = "removed docs/b.md: its file was deleted";
    let before: Vec<String> = lines.by_ref().take_while(|line| line != removed).collect();
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(before, ["0 documents accepted, 2 unchanged"], "then {:?}", lines.next());
}

#[test]
fn a_folder_that_is_missing_for_a_while_removes_no_document() {
    let graphloom = docs();
    let watching = Watching::start(&graphloom, &["--prune"]);
    fs::rename(graphloom.path("docs"), graphloom.path("elsewhere")).expect("renamed");
    watching.wait_for(|event| event["event"] == "trouble");
    fs::rename(graphloom.path("elsewhere"), graphloom.path("docs")).expect("renamed back");
    // The restored folder is watched again.
    let ended = watching.interrupt();
    assert_eq!(ended, Some(0));
    assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 2);
}

#[test]
fn documents_queued_by_another_process_are_indexed_too() {
    let graphloom = docs();
    let watching = Watching::start(&graphloom, &[]);
    graphloom.write("other.md", "Sigrid Falk keeps the archive.\n");
    graphloom.ok(&["add", "other.md", "--no-wait"]);
    graphloom.write("docs/c.md", "Ilse Brandt built the Weir House.\n");
    let mut left = vec!["other.md", "docs/c.md"];
    while !left.is_empty() {
        let finished = watching.wait_for(|event| event["event"] == "finished");
        left.retain(|source| finished["source"] != *source);
    }
    assert_eq!(watching.interrupt(), Some(0));
}

#[test]
fn watching_needs_an_existing_file_or_folder() {
    let graphloom = Graphloom::new();
    graphloom.run(&["add", "none", "--watch"]).exits(1).says("--watch needs folders and files that exist");
    graphloom.run(&["add", "-", "--name", "a.md", "--watch"]).exits(2).says("--watch needs a folder or file");
}
