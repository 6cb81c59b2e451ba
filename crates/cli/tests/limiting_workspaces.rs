//! A full workspace refuses further documents, over HTTP and on the command line; other workspaces are not affected.
#![cfg(unix)]

use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::Graphloom;
use crate::common::serving::{PATIENCE, Serving};

const LIMITS: &str = "[workspaces.small]\nmax_documents = 2\n\n[workspaces.heavy]\nmax_workspace_mb = 1\n";

fn text(name: &str) -> serde_json::Value {
    json!({ "text": format!("Ada Quill wrote about {name}."), "file_source": name })
}

#[test]
fn each_workspace_accepts_its_configured_number_of_documents() {
    let graphloom = Graphloom::new();
    graphloom.write("graphloom.toml", LIMITS);
    let serving = Serving::start(&graphloom, &[]);
    let send = |workspace: &str, body: &serde_json::Value| {
        serving.send("POST", &format!("/w/{workspace}/documents/text"), "", body)
    };
    for name in ["one.md", "two.md"] {
        assert_eq!(send("small", &text(name)).0, 200, "{name}");
    }
    let (status, said) = send("small", &text("three.md"));
    assert_eq!(status, 413, "{said}");
    assert!(
        said.contains("has 2 documents, the limit is 2") && said.contains("raise max_documents"),
        "{said}"
    );
    // A new version does not count as another document. Several texts are accepted together or not at all.
    let newer = json!({ "text": "Ada Quill wrote again.", "file_source": "one.md", "replace": true });
    assert_eq!(send("small", &newer).0, 200);
    let several = json!({ "texts": ["Ada.", "Bob."], "file_sources": ["three.md", "four.md"] });
    assert_eq!(serving.send("POST", "/w/small/documents/texts", "", &several).0, 413);
    for name in ["one.md", "two.md", "three.md"] {
        assert_eq!(send("other", &text(name)).0, 200, "another workspace has no limit");
    }
    // Removed documents make room, but only after the new version has replaced the old one.
    let until = Instant::now() + PATIENCE;
    while serving.ok("GET", "/w/small/documents/status_counts", "", &json!({}))["status_counts"]["all"] != 2 {
        assert!(Instant::now() < until, "not indexed");
        std::thread::sleep(Duration::from_millis(50));
    }
    let listed = serving.ok("POST", "/w/small/documents/paginated", "", &json!({}));
    let two = listed["documents"].as_array().expect("a list").iter().find(|one| one["file_path"] == "two.md");
    let ids = json!({ "doc_ids": [two.expect("known")["id"]] });
    serving.ok("DELETE", "/w/small/documents/delete_document", "", &ids);
    assert_eq!(send("small", &text("three.md")).0, 200);
    serving.stop();
}

#[test]
fn a_workspace_at_its_size_limit_refuses_documents_and_still_answers() {
    let graphloom = Graphloom::new();
    graphloom.write("graphloom.toml", LIMITS);
    let long: String =
        (0..4000).map(|n| format!("Station {n} lies beside lake {}. ", n * 7919 % 100_003)).collect();
    let serving = Serving::start(&graphloom, &[]);
    let add = |name: &str| {
        let body = json!({ "text": format!("{name} {long}"), "file_source": name });
        serving.send("POST", "/w/heavy/documents/text", "", &body)
    };
    let refused = (0..50).map(|n| add(&format!("{n}.txt"))).find(|(status, _)| *status != 200);
    let (status, said) = refused.expect("it becomes full");
    assert_eq!(status, 413, "{said}");
    assert!(said.contains("the limit is 1.0 MiB") && said.contains("max_workspace_mb"), "{said}");
    let found = serving.ok("POST", "/w/heavy/search", "", &json!({ "query": "Station 17" }));
    assert!(!found["passages"].as_array().expect("a list").is_empty(), "{found}");
    serving.stop();
}
