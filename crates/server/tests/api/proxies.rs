//! Requests that proxies forward.

use graphloom_server::{Limits, Right};
use serde_json::json;

use crate::support::{Request, Running};

fn login(from: &str, password: &str) -> Request {
    let form = format!("username=ada&password={password}");
    let request = Request::new("POST", "/login").header("content-type", "application/x-www-form-urlencoded");
    request.header("x-forwarded-for", from).body(form)
}

#[tokio::test]
async fn wrong_passwords_from_one_client_lock_out_no_other_client() {
    let server = Running::start_behind_a_proxy(Limits::default()).await;
    server.user("ada", "correct-horse");
    for guess in 0..5 {
        // Addresses that a client writes before its own change nothing.
        let from = format!("198.51.100.{guess}, 192.0.2.1");
        server.send(login(&from, "guess")).await.problem(401);
    }
    server.send(login("192.0.2.1", "correct-horse")).await.problem(429);
    assert_eq!(server.send(login("192.0.2.2", "correct-horse")).await.status, 200);
}

#[tokio::test]
async fn a_user_that_many_clients_guess_at_can_still_log_in() {
    let limits = Limits { rate_of_stranger: None, ..Limits::default() };
    let server = Running::start_behind_a_proxy(limits).await;
    server.user("ada", "correct-horse");
    for client in 0..21 {
        server.send(login(&format!("192.0.2.{client}"), "guess")).await.problem(401);
    }
    assert_eq!(server.send(login("198.51.100.1", "correct-horse")).await.status, 200);
}

#[tokio::test]
async fn without_keys_a_forwarded_request_is_refused_and_the_error_names_the_option() {
    let server = Running::start().await;
    let look = || Request::get("/graph/label/list");
    for (name, value) in [
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-for", "203.0.113.9"),
        ("forwarded", "for=127.0.0.1"),
        ("x-forwarded-proto", "https"),
        ("x-real-ip", "127.0.0.1"),
        ("via", "1.1 proxy"),
    ] {
        let refused = server.send(look().header(name, value)).await;
        assert!(refused.problem(403).contains("proxy"), "{refused:?}");
        let remedy = refused.json()["remedy"].to_string();
        assert!(remedy.contains("trusted_proxies") && remedy.contains("API key"), "{remedy}");
    }
    let plain =
        format!("GET /graph/label/list HTTP/1.0\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
    let refused = server.try_send(plain.as_bytes()).await.expect("an answer");
    assert!(refused.problem(403).contains("HTTP/1.0"));
    assert_eq!(server.send(look()).await.status, 200);
}

#[tokio::test]
async fn without_keys_a_trusted_proxy_can_forward_only_local_requests() {
    let server = Running::start_behind_a_proxy(Limits::default()).await;
    let look = |from: &str| Request::get("/graph/label/list").header("x-forwarded-for", from);
    assert_eq!(server.send(look("127.0.0.1")).await.status, 200);
    server.send(look("203.0.113.9")).await.problem(403);
    server.send(look("127.0.0.1, 203.0.113.9")).await.problem(403);
    server.send(Request::get("/graph/label/list").header("x-real-ip", "127.0.0.1")).await.problem(403);
}

#[tokio::test]
async fn a_page_over_plain_http_does_not_have_the_origin_of_a_tls_server() {
    let server = Running::start_behind_a_proxy(Limits::default()).await;
    let key = server.key(Right::Read, &[]);
    let message = |origin: &str, proto: Option<&str>| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let request = Request::post("/mcp", call).header("accept", "application/json, text/event-stream");
        let request =
            request.header("x-api-key", &key).header("host", "rag.example.com").header("origin", origin);
        proto.iter().fold(request, |request, proto| request.header("x-forwarded-proto", proto))
    };
    for (origin, proto, status) in [
        ("https://rag.example.com", Some("https"), 200),
        ("http://rag.example.com", Some("https"), 403),
        ("http://rag.example.com", Some("http"), 200),
        ("http://rag.example.com", None, 200),
        ("https://evil.example", Some("https"), 403),
    ] {
        assert_eq!(server.send(message(origin, proto)).await.status, status, "{origin} over {proto:?}");
    }
}
