//! With `store`, workspaces are in a PostgreSQL database; everything else works as with files.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use graphloom_core::WorkspaceId;
use graphloom_postgres::testing::{TestDatabase, new_workspace};
use serde_json::{Value, json};

use crate::common::serving::{PATIENCE, Serving};
use crate::common::{Graphloom, copy_lab};

/// The program with its own workspace in the test database, deleted at the end.
struct InDatabase {
    graphloom: Graphloom,
    workspace: WorkspaceId,
    database: TestDatabase,
}

impl InDatabase {
    fn new() -> Self {
        let (database, workspace) = (TestDatabase::shared(), new_workspace());
        let graphloom = machine(&database, &workspace);
        copy_lab(&graphloom);
        Self { graphloom, workspace, database }
    }
}

impl Drop for InDatabase {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let database = self.database.open();
        runtime.block_on(database.delete(&self.workspace)).expect("the workspace is deleted");
    }
}

/// Returns a fresh folder that uses the workspace in the database.
fn machine(database: &TestDatabase, workspace: &WorkspaceId) -> Graphloom {
    Graphloom::new().with("GRAPHLOOM_STORE", &database.url).with("GRAPHLOOM_WORKSPACE", workspace.as_str())
}

/// Returns the hash of a workspace file with the samples, optionally without one of them.
fn hash_in_a_file(removed: Option<&str>) -> String {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    if let Some(name) = removed {
        std::fs::remove_file(graphloom.path(name)).expect("there");
    }
    graphloom.ok(&["add", "docs"]);
    graphloom.hash()
}

#[test]
fn the_everyday_commands_work_and_the_state_equals_that_of_a_file() {
    let here = InDatabase::new();
    let graphloom = &here.graphloom;
    graphloom.run(&["status"]).exits(1).says("no workspace").says("postgres://");
    graphloom.ok(&["add", "docs"]);
    assert!(!graphloom.path(".graphloom").join(format!("{}.graphloom", here.workspace)).exists());
    assert_eq!(graphloom.hash(), hash_in_a_file(None));
    let status = graphloom.json(&["status"]);
    assert_eq!(status["file_bytes"], Value::Null);
    assert!(status["by_status"]["ready"].as_u64() > Some(3), "{status}");
    let found = graphloom.json(&["search", "newsletter winter"]);
    assert!(!found["passages"].as_array().expect("passages").is_empty(), "{found}");
    graphloom.run(&["ask", "Who wrote the newsletter in winter 2018?"]).exits(0);
    graphloom.run(&["check"]).exits(0).says("no contradictions");
    graphloom.run(&["rm", "docs/staff.csv"]).exits(0);
    assert_eq!(graphloom.hash(), hash_in_a_file(Some("docs/staff.csv")));
    graphloom.run(&["check"]).exits(0);
}

#[test]
fn a_workspace_can_be_copied_to_a_database_and_back_unchanged() {
    let here = InDatabase::new();
    let file = Graphloom::new().with("GRAPHLOOM_WORKSPACE", here.workspace.as_str());
    copy_lab(&file);
    file.ok(&["add", "docs"]);
    file.ok(&["graph", "edit", "Edda Corrin", "--description", "Chief executive since 2019."]);
    file.ok(&["derive", "communities"]);
    let hash = file.hash();
    let url = here.database.url.as_str();
    let copied = file.json(&["copy", ".graphloom", url]);
    assert_eq!((&copied["hash"], &copied["present"]), (&json!(hash), &json!(0)), "{copied}");
    assert_eq!(here.graphloom.hash(), hash);
    here.graphloom.run(&["check"]).exits(0).says("no contradictions");
    assert_eq!(here.graphloom.json(&["communities"]), file.json(&["communities"]));
    assert_eq!(file.json(&["copy", ".graphloom", url])["copied"], json!(0), "a copy that is complete");
    let back = Graphloom::new().with("GRAPHLOOM_WORKSPACE", here.workspace.as_str());
    back.ok(&["copy", url]);
    assert_eq!(back.hash(), hash);
    back.run(&["check"]).exits(0);
    assert_eq!(back.json(&["cost"]), file.json(&["cost"]));
}

#[test]
fn a_killed_add_resumes_where_it_stopped() {
    let here = InDatabase::new();
    let graphloom = &here.graphloom;
    for event in ["source", "advanced", "source", "advanced"] {
        let mut child =
            graphloom.command(&["--json", "add", "docs"]).stdout(Stdio::piped()).spawn().expect("it runs");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let happens = format!("\"event\":\"{event}\"");
        let _ = lines.map_while(Result::ok).find(|line| line.contains(&happens));
        child.kill().expect("killed");
        child.wait().expect("ended");
    }
    graphloom.ok(&["add", "docs"]);
    assert_eq!(graphloom.hash(), hash_in_a_file(None));
    graphloom.run(&["check"]).exits(0);
}

#[cfg(unix)]
#[test]
fn one_server_answers_from_what_another_indexed() {
    let here = InDatabase::new();
    let elsewhere = machine(&here.database, &here.workspace);
    let (first, second) = (Serving::start(&here.graphloom, &[]), Serving::start(&elsewhere, &[]));
    let text = "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995.";
    first.ok("POST", "/documents/text", "", &json!({ "text": text, "file_source": "station.md" }));
    let until = Instant::now() + PATIENCE;
    while second.ok("GET", "/documents/status_counts", "", &json!({}))["status_counts"]["processed"] != 1 {
        assert!(Instant::now() < until, "not indexed");
        std::thread::sleep(Duration::from_millis(50));
    }
    let question = "Who succeeded Maren Oskoldt as director?";
    let answer = second.ok("POST", "/query", "", &json!({ "query": question }));
    assert!(answer["response"].as_str().expect("text").contains("Tobias Renn"), "{answer}");
    first.stop();
    second.stop();
    assert!(elsewhere.ok(&["ask", question]).contains("Tobias Renn"));
    here.graphloom.run(&["check"]).exits(0);
}

#[test]
fn commands_that_a_database_does_not_support_say_so() {
    let here = InDatabase::new();
    here.graphloom.run(&["repair"]).exits(2).says("`repair` works on workspace files");
    let wrong = Graphloom::new();
    wrong.run(&["--store", "mysql://ada:secret@host/x", "status"]).exits(2).says("is not a database address");
    let ran = wrong.run(&["--store", "postgres://ada:secret@127.0.0.1:1/x", "status"]).exits(1);
    let ran = ran.says("postgres://127.0.0.1:1/x is not available");
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    let limited = here.graphloom.run(&["--set", "max_workspace_mb=5", "status"]);
    limited.exits(2).says("max_workspace_mb limits workspace files");
}
