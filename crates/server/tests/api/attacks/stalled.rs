//! Requests whose bodies stall, as many as the server accepts at once and more.

use std::time::Duration;

use graphloom_server::{Limits, Right};
use serde_json::json;
use tokio::net::TcpStream;

use crate::support::{Request, Running};

/// Starts a server without a time limit for bodies, so that only their order matters.
async fn patient() -> Running {
    let long = Duration::from_secs(3600);
    let limits =
        Limits { body: long, body_window: long, turn: long, rate_of_stranger: None, ..Limits::default() };
    Running::start_with(limits).await
}

/// Returns the head of a request and the first byte of its body.
fn stalled(server: &Running, path: &str, kind: &str, key: Option<&str>) -> Vec<u8> {
    let credential = key.map(|key| format!("x-api-key: {key}\r\n")).unwrap_or_default();
    let host = server.address;
    format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: {kind}\r\n{credential}content-length: 1000\r\n\r\n-"
    )
    .into_bytes()
}

async fn stall(server: &Running, many: usize, bytes: &[u8], looking: &str) -> Vec<TcpStream> {
    let mut stalled = Vec::new();
    for _ in 0..many {
        stalled.push(server.begin(bytes).await);
    }
    server.wait_until_in_progress(Some(looking), many).await;
    stalled
}

/// Reads, asks and adds as another caller.
async fn check_served(server: &Running, key: &str) {
    let as_other = |request: Request| request.header("x-api-key", key);
    for request in [
        Request::get("/documents/status_counts"),
        Request::post("/documents/text", json!({ "text": "Radium glows." })),
        Request::new("POST", "/documents/upload?replace=true").file("a.md", "Radium glows."),
        Request::post("/search", json!({ "query": "radium" })),
        Request::post("/query", json!({ "query": "What glows?" })),
    ] {
        let path = request.path().to_owned();
        let status = server.send(as_other(request)).await.status;
        assert_eq!(status, 200, "{path}");
    }
}

#[tokio::test]
async fn stalled_uploads_do_not_block_changes_of_others() {
    let server = patient().await;
    let (writer, other) = (server.key(Right::Write, &["default"]), server.key(Right::Admin, &[]));
    let upload = stalled(&server, "/documents/upload", "multipart/form-data; boundary=B", Some(&writer));
    let _stalled = stall(&server, 2 * Limits::default().changes, &upload, &other).await;
    check_served(&server, &other).await;
    check_served(&server, &writer).await;
}

#[tokio::test]
async fn stalled_questions_do_not_block_questions_of_others() {
    let server = patient().await;
    let (reader, other) = (server.key(Right::Read, &["default"]), server.key(Right::Admin, &[]));
    let question = stalled(&server, "/query", "application/json", Some(&reader));
    let _stalled = stall(&server, 2 * Limits::default().questions, &question, &other).await;
    check_served(&server, &other).await;
}

#[tokio::test]
async fn stalled_logins_do_not_block_callers_with_credentials() {
    let server = patient().await;
    let other = server.key(Right::Admin, &[]);
    let login = stalled(&server, "/login", "application/x-www-form-urlencoded", None);
    let mut stalled = Vec::new();
    for _ in 0..Limits::default().others + 10 {
        stalled.push(server.begin(&login).await);
    }
    // One address gets a quarter of the logins, and eight waiting places for each.
    server.wait_until_in_progress(Some(&other), Limits::default().logins / 4 * 9).await;
    check_served(&server, &other).await;
}
