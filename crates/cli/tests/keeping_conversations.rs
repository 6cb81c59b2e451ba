//! Conversations survive a restart, and nothing of a removed document is left in them or in any file.

use std::path::Path;

use serde_json::json;

use crate::common::Graphloom;
use crate::common::serving::Serving;

/// A word that occurs in only one document.
const CANARY: &str = "Zilphacanary";

/// Returns the files below a folder that contain these bytes.
#[cfg(unix)]
fn holding(folder: &Path, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(holding(&path, words));
        } else if std::fs::read(&path).expect("a file").windows(words.len()).any(|at| at == words.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[cfg(unix)]
#[test]
fn an_answer_is_stored_until_its_document_is_removed_and_then_is_in_no_file() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/secret.md", format!("{CANARY} directs Weir Station in Ostwick."));
    graphloom.write("docs/other.md", "Maren Oskoldt lives in Weirholm.");
    graphloom.ok(&["add", "docs"]);
    let hash = graphloom.hash();
    let serving = Serving::start(&graphloom, &[]);
    let ask = |serving: &Serving, text: &str, conversation: &str| {
        let body = json!({ "query": text, "mode": "auto", "conversation": conversation });
        let (status, said) = serving.send("POST", "/query/events", "", &body);
        assert_eq!(status, 200, "{said}");
    };
    ask(&serving, "Who directs Weir Station?", "new");
    serving.stop();
    assert_eq!(graphloom.hash(), hash, "conversations are not part of the state");

    let serving = Serving::start(&graphloom, &[]);
    let all = serving.ok("GET", "/conversations", "", &json!({}));
    let id = all["conversations"][0]["id"].as_str().expect("an id").to_owned();
    let path = format!("/conversations/{id}");
    let kept = serving.ok("GET", &path, "", &json!({}));
    let quote = kept["exchanges"][0]["answer"]["citations"][0]["quote"].as_str().expect("a quote").to_owned();
    assert!(quote.contains(CANARY), "{kept}");
    serving.stop();
    // Only the rows of conversations have this form.
    let stored = format!("\"quote\":\"{quote}");
    assert!(!holding(&graphloom.path("."), &stored).is_empty(), "a search finds the conversation");

    graphloom.ok(&["rm", "docs/secret.md"]);
    let serving = Serving::start(&graphloom, &[]);
    let after = serving.ok("GET", &path, "", &json!({}));
    assert!(after["exchanges"][0]["answer"].is_null() && !after.to_string().contains(CANARY), "{after}");
    serving.stop();
    assert_eq!(holding(&graphloom.path("."), &stored), Vec::<String>::new());
    assert!(!graphloom.ok(&["dump"]).contains(CANARY));
    assert!(!graphloom.ok(&["export", "--format", "jsonl"]).contains(CANARY));
    graphloom.ok(&["check"]);
}
