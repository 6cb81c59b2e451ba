//! `graphloom re-embed` changes the embedder of a workspace and keeps everything else.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use graphloom_providers::testing::{Reply, ScriptedServer};
use serde_json::json;

use crate::common::Graphloom;
use crate::common::serving::{PATIENCE, Serving};

/// Starts an OpenAI-compatible embedding service that refuses call number `fails_at`.
fn embedding_service(fails_at: Option<u32>) -> ScriptedServer {
    let calls = AtomicU32::new(0);
    ScriptedServer::start(move |_, request| {
        if Some(calls.fetch_add(1, Ordering::Relaxed)) == fails_at {
            return Reply::json(400, r#"{"error":{"message":"too much"}}"#);
        }
        let texts = request.json()["input"].as_array().cloned().unwrap_or_default();
        let vector = |(index, text): (usize, &serde_json::Value)| {
            let text = text.as_str().unwrap_or_default().to_lowercase();
            let numbers = ["bridge", "station", "river"].map(|word| 0.1 + text.matches(word).count() as f32);
            json!({ "object": "embedding", "index": index, "embedding": numbers })
        };
        let data: Vec<serde_json::Value> = texts.iter().enumerate().map(vector).collect();
        let body = json!({
            "object": "list", "data": data, "model": "small", "usage": { "prompt_tokens": 7, "total_tokens": 7 }
        });
        Reply::json(200, body.to_string())
    })
}

fn with_documents(server: &ScriptedServer) -> Graphloom {
    let graphloom = Graphloom::new()
        .with("OPENAI_API_KEY", "sk-0123456789")
        .with("OPENAI_BASE_URL", &format!("{}/v1", server.url()));
    graphloom.write("docs/bridge.md", "Ada Lind designed the bridge over the river Vessa.\n");
    graphloom.write("docs/station.md", "Bo Marsh built the station in 1904.\n");
    graphloom.ok(&["add", "docs"]);
    graphloom
}

#[test]
fn a_workspace_can_change_its_embedder_and_later_commands_use_the_new_one() {
    let server = embedding_service(None);
    let graphloom = with_documents(&server);
    graphloom.run(&["--embedder", "openai:small", "ask", "Who built the station?"]).exits(1).says("re-embed");
    let estimate = graphloom.json(&["re-embed", "openai:small", "--estimate"]);
    assert!(server.recorded().is_empty(), "an estimate calls no model");
    assert_eq!(estimate["event"], "estimate");
    let texts = estimate["texts"].as_u64().expect("a number");
    assert!(texts > 3 && estimate["total"]["input_tokens"]["low"].as_u64() > Some(texts), "{estimate}");

    let done = graphloom.json(&["re-embed", "openai:small"]);
    assert_eq!((&done["event"], &done["embedded"]), (&"summary".into(), &texts.into()));
    assert_eq!(done["to"]["model"].as_str().map(|name| name.starts_with("openai:small")), Some(true));
    graphloom.run(&["status"]).exits(0).says("openai:small");
    graphloom.run(&["check"]).exits(0);
    graphloom.run(&["ask", "Who built the station?"]).exits(0).says("Bo Marsh");
    // New documents use the same embedder, although the command does not name it.
    graphloom.write("docs/river.md", "The river Vessa is 40 km long.\n");
    graphloom.ok(&["add", "docs"]);
    graphloom.run(&["check"]).exits(0);
    graphloom.run(&["re-embed", "openai:small"]).exits(0).says("already");
    graphloom.run(&["re-embed", "builtin"]).exits(0).says("1024 dimensions");
    graphloom.run(&["ask", "How long is the river Vessa?"]).exits(0).says("40 km");
}

#[test]
fn a_failed_re_embedding_keeps_its_progress_and_the_old_vectors_stay_in_use() {
    let server = embedding_service(Some(0));
    let graphloom = with_documents(&server);
    graphloom.run(&["re-embed", "openai:small"]).exits(1);
    graphloom.run(&["ask", "Who built the station?"]).exits(0).says("Bo Marsh");
    graphloom.run(&["status"]).exits(0).says("builtin");
    graphloom.run(&["re-embed", "openai:small"]).exits(0);
    graphloom.run(&["check"]).exits(0);
}

#[test]
fn a_missing_or_unknown_embedder_is_refused_with_the_choices() {
    let graphloom = Graphloom::new();
    graphloom.run(&["re-embed", "builtin"]).exits(1).says("no workspace");
    graphloom.write("a.md", "Ada Lind designed the bridge.\n");
    graphloom.ok(&["add", "a.md"]);
    graphloom.run(&["re-embed"]).exits(0).says("already");
    graphloom.run(&["re-embed", "words"]).exits(2).says("builtin, static:NAME");
}

#[cfg(unix)]
#[test]
fn a_running_server_switches_to_the_new_embedder() {
    let server = embedding_service(None);
    let graphloom = with_documents(&server);
    let serving = Serving::start(&graphloom, &[]);
    let question = json!({ "query": "Who built the station?" });
    assert!(serving.ok("POST", "/query", "", &question)["response"].to_string().contains("Bo Marsh"));
    graphloom.ok(&["re-embed", "openai:small"]);
    assert!(serving.ok("POST", "/query", "", &question)["response"].to_string().contains("Bo Marsh"));
    let document = json!({ "text": "Cy Holt painted the bridge in 1931.", "file_source": "paint.md" });
    serving.ok("POST", "/documents/text", "", &document);
    let until = Instant::now() + PATIENCE;
    while serving.ok("GET", "/documents/status_counts", "", &json!({}))["status_counts"]["processed"] != 3 {
        assert!(Instant::now() < until, "not indexed");
        std::thread::sleep(Duration::from_millis(50));
    }
    serving.stop();
    graphloom.run(&["check"]).exits(0);
    graphloom.run(&["status"]).exits(0).says("openai:small");
}
