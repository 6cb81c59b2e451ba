//! Workspaces are listed, deleted and moved, even while they are in use.

#![cfg(unix)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graphloom_postgres::testing::{TestDatabase, new_workspace};
use serde_json::{Value, json};

use crate::common::model::{ScriptedModel, with_things};
use crate::common::serving::Serving;
use crate::common::{Graphloom, copy_lab};

#[test]
fn workspaces_are_listed_and_deleted_only_with_confirmation() {
    let graphloom = Graphloom::new();
    graphloom.run(&["workspace", "list"]).exits(0).says("no workspaces in");
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    graphloom.write("other.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["--workspace", "other", "add", "other.md", "--no-wait"]);
    graphloom.ok(&["--workspace", "other", "pause"]);
    let listed = graphloom.run(&["workspace", "list"]).exits(0);
    let listed = listed.says("default: ").says("other: 1 document, 1 of them queued, paused");
    assert_eq!(listed.stdout.lines().count(), 2);
    let rows = graphloom.json(&["workspace", "list"]);
    assert_eq!(
        (&rows[1]["workspace"], &rows[1]["documents"], &rows[1]["queued"]),
        (&json!("other"), &json!(1), &json!(1))
    );
    let refused = graphloom.run(&["workspace", "delete", "other"]).exits(2);
    refused.says("this deletes other").says("1 document").says("--yes");
    graphloom.run(&["workspace", "delete", "nothing", "--yes"]).exits(1).says("no workspace nothing");
    graphloom.run(&["workspace", "delete", "other", "--yes"]).exits(0).says("deleted other");
    assert_eq!(graphloom.json(&["workspace", "list"]).as_array().map(Vec::len), Some(1));
    graphloom.run(&["check"]).exits(0);
}

#[test]
fn a_moved_workspace_keeps_its_hash_and_leaves_nothing_behind() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    let hash = graphloom.hash();
    graphloom.run(&["workspace", "move", "default", ".graphloom"]).exits(2).says("already");
    graphloom.run(&["workspace", "move", "default", "sqlite:elsewhere"]).exits(0).says(&hash);
    assert_eq!(graphloom.run(&["--data-dir", "elsewhere", "dump", "--hash"]).exits(0).stdout.trim(), hash);
    graphloom.run(&["status"]).exits(1).says("no workspace");
    graphloom.run(&["--data-dir", "elsewhere", "status"]).exits(0);
    assert!(!graphloom.run(&["--data-dir", "elsewhere", "status"]).stdout.contains("paused"));
}

#[test]
fn no_accepted_document_is_lost_while_its_workspace_moves() {
    let (database, workspace, model) = (TestDatabase::shared(), new_workspace(), ScriptedModel::start());
    model.answer_after(Duration::from_millis(20));
    let names: Vec<String> = (0..12).map(|number| format!("Thing{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let file = with_things(&model, &names).with("GRAPHLOOM_WORKSPACE", workspace.as_str());
    file.ok(&["add", "docs", "--no-wait"]);
    let server = Serving::start(&file, &[]);
    model.wait_until_asked(3);
    let has_moved = AtomicBool::new(false);
    let accepted: usize = std::thread::scope(|scope| {
        let adding = scope.spawn(|| {
            let mut accepted = 0;
            for number in 0.. {
                if has_moved.load(Ordering::Relaxed) {
                    break;
                }
                let text = format!("ThingMore{number} stands beside ThingZ.");
                let body = json!({ "text": text, "file_source": format!("more-{number}.md") });
                let (status, body) = server.send("POST", "/documents/text", "", &body);
                let body: Value = serde_json::from_str(&body).unwrap_or_default();
                accepted += usize::from(status == 200 && body["status"] == "success");
            }
            accepted
        });
        let moved = file.run(&["workspace", "move", workspace.as_str(), &database.url]);
        has_moved.store(true, Ordering::Relaxed);
        let accepted = adding.join().expect("no panic");
        moved.exits(0).says("moved to");
        accepted
    });
    drop(server);
    let moved = with_things(&model, &[]).with("GRAPHLOOM_WORKSPACE", workspace.as_str());
    let moved = moved.with("GRAPHLOOM_STORE", &database.url);
    moved.ok(&["work"]);
    assert_eq!(moved.json(&["status"])["by_status"], json!({ "ready": names.len() + accepted }));
    moved.run(&["check"]).exits(0).says("no contradictions");
    assert!(model.asked().values().all(|times| *times <= 2), "only calls in flight are paid for again");
    moved.run(&["workspace", "delete", workspace.as_str(), "--yes"]).exits(0);
}
