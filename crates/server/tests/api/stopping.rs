//! Connections that end, responses that must end, and a server that stops.

use std::time::Duration;

use graphloom_core::Timestamp;
use graphloom_server::{Limits, Right};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{HELD, Request, Running, read_head, read_one};

async fn read_rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut rest)).await;
    read.expect("it ends").expect("not broken off");
    String::from_utf8(rest).expect("text")
}

#[tokio::test]
async fn a_refused_request_with_a_small_body_leaves_its_connection_open() {
    let server = Running::start().await;
    server.key(Right::Read, &[]);
    let mut stream = TcpStream::connect(server.address).await.expect("connected");
    for _ in 0..3 {
        let body = "{\"query\":\"x\"}";
        let head = format!(
            "POST /search HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-api-key: glk_bad\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.expect("sent");
        tokio::task::yield_now().await;
        stream.write_all(body.as_bytes()).await.expect("sent");
        let answer = read_one(&mut stream).await;
        answer.problem(403);
        assert_eq!(answer.headers.get("connection"), None);
    }
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("sent");
    assert_eq!(read_one(&mut stream).await.status, 200);
}

#[tokio::test]
async fn a_response_before_the_end_of_a_large_body_announces_that_the_connection_closes() {
    let server = Running::start().await;
    let key = server.key(Right::Write, &[]);
    for (path, key, status) in [
        ("/documents/upload", "glk_bad", 403),
        ("/documents/text", key.as_str(), 413),
        ("/nowhere", key.as_str(), 404),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-api-key: {key}\r\ncontent-length: 50000000\r\n\r\n"
        );
        let mut stream = server.begin(head.as_bytes()).await;
        let answer = read_one(&mut stream).await;
        assert_eq!((answer.status, answer.headers["connection"].as_str()), (status, "close"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_draining_server_still_serves_and_reports_that_it_is_not_ready() {
    let limits = Limits { drain: Duration::from_secs(3600), ..Limits::default() };
    let mut server = Running::start_with(limits).await;
    let mut kept = TcpStream::connect(server.address).await.expect("connected");
    let look = b"GET /documents/status_counts HTTP/1.1\r\nhost: localhost\r\n\r\n";
    kept.write_all(look).await.expect("sent");
    assert_eq!(read_one(&mut kept).await.headers.get("connection"), None);
    server.ask_to_stop();
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    while server.get("/readyz").await.status != 503 {
        assert!(tokio::time::Instant::now() < until, "it says that it is ready");
    }
    kept.write_all(look).await.expect("sent");
    let last = read_one(&mut kept).await;
    assert_eq!((last.status, last.headers["connection"].as_str()), (200, "close"));
    assert_eq!(server.get("/documents/status_counts").await.status, 200, "new connections are served too");
}

#[tokio::test]
async fn streams_cut_by_a_stop_end_with_an_error_in_their_own_format() {
    let limits = Limits { stop: Duration::from_millis(50), ..Limits::default() };
    let server = Running::start_with(limits).await;
    server.add("", "a.md", "Radium glows.").await;
    let question = |path: &str| Request::post(path, json!({ "query": HELD, "mode": "naive" }));
    let chat = |path: &str| {
        let messages = json!([{ "role": "user", "content": HELD }]);
        Request::post(path, json!({ "model": "default:naive", "stream": true, "messages": messages }))
    };
    let mut streams = Vec::new();
    let response = json!({ "model": "default:naive", "stream": true, "input": HELD });
    for request in [
        question("/query/events"),
        question("/query/stream"),
        chat("/v1/chat/completions"),
        chat("/api/chat"),
        Request::post("/v1/responses", response),
    ] {
        let mut stream = server.begin(&request.bytes(server.address)).await;
        let head = read_head(&mut stream).await;
        streams.push((request, String::from_utf8(head).expect("text"), stream));
    }
    server.stop().await;
    for (request, mut text, mut stream) in streams {
        text.push_str(&read_rest(&mut stream).await);
        let path = request.path();
        let ends = match path {
            "/query/events" => text.contains("event: error\ndata: {") && text.contains("\"status\":503"),
            "/v1/chat/completions" => text.contains("\"server_error\"") && text.contains("data: [DONE]"),
            "/v1/responses" => text.contains("event: response.failed\ndata: {\"response\":{"),
            _ => text.contains("{\"error\":\"the server is stopping"),
        };
        if path == "/v1/responses" {
            let numbers = text.matches("\"sequence_number\":").count();
            assert!(text.contains(&format!("\"sequence_number\":{}", numbers - 1)), "{text}");
            assert!(!text.contains("[DONE]") && text.contains("the server is stopping"), "{text}");
        }
        assert!(ends && text.trim_end().ends_with('0'), "{path}: {text}");
    }
}

const WHY: &str = "the server is stopping; try again in a moment";

#[tokio::test]
async fn requests_cut_by_a_stop_get_an_error_in_their_own_format_before_the_connection_closes() {
    let limits = Limits { stop: Duration::from_millis(50), ..Limits::default() };
    let mut server = Running::start_with(limits).await;
    server.add("", "a.md", "Radium glows.").await;
    let messages = json!([{ "role": "user", "content": HELD }]);
    let arguments = json!({ "question": HELD, "mode": "naive" });
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "ask", "arguments": arguments } });
    let requests = [
        Request::post("/query", json!({ "query": HELD, "mode": "naive" })),
        Request::post("/v1/chat/completions", json!({ "model": "default:naive", "messages": messages })),
        Request::post(
            "/api/chat",
            json!({ "model": "default:naive", "stream": false, "messages": messages }),
        ),
        Request::post("/mcp", call).header("accept", "application/json, text/event-stream"),
    ];
    let mut streams = Vec::new();
    for request in &requests {
        streams.push(server.begin(&request.bytes(server.address)).await);
    }
    server.wait_until_in_progress(None, requests.len()).await;
    server.ask_to_stop();
    for (request, mut stream) in requests.iter().zip(streams) {
        let answer = read_one(&mut stream).await;
        assert_eq!((answer.status, answer.headers["connection"].as_str()), (503, "close"), "{answer:?}");
        let (path, body) = (request.path(), answer.json());
        match path {
            "/mcp" => {
                assert_eq!((&body["id"], &body["error"]["message"]), (&json!(7), &json!(WHY)), "{answer:?}");
            }
            _ => assert_eq!((answer.problem(503).as_str(), &answer.headers["retry-after"][..]), (WHY, "1")),
        }
        match path {
            "/v1/chat/completions" => assert_eq!(body["error"]["type"], "server_error", "{answer:?}"),
            "/api/chat" => assert_eq!(body["error"], WHY, "{answer:?}"),
            _ => {}
        }
    }
    // A thread of the test answers the tool call.
    server.release();
    server.stop().await;
}

#[tokio::test]
async fn a_stream_ends_with_the_key_that_opened_it() {
    let server = Running::start().await;
    let admin = server.key(Right::Admin, &[]);
    let add = |text: &str| {
        let body = json!({ "text": text, "file_source": "secret-name.md" });
        Request::post("/documents/text", body).header("x-api-key", &admin)
    };
    let reader = server
        .access()
        .change(|access| access.create_key("reader", crate::support::grant(Right::Read, &[]), Timestamp(1)));
    let reader = reader.expect("a key");
    assert_eq!(
        server
            .send(Request::post("/documents/text", json!({ "text": "Radium." })).header("x-api-key", &admin))
            .await
            .status,
        200
    );
    let follow = Request::get("/jobs/events").header("x-api-key", &reader.secret);
    let mut stream = server.begin(&follow.bytes(server.address)).await;
    let head = read_head(&mut stream).await;
    assert!(head.starts_with(b"HTTP/1.1 200"));
    server.access().change(|access| access.revoke_key(&reader.id, Timestamp(2))).expect("revoked");
    assert_eq!(server.send(add("Polonium glows.")).await.status, 200);
    let text = read_rest(&mut stream).await;
    assert!(text.contains("event: end") && text.contains("no longer valid"), "{text}");
    assert!(!text.contains("secret-name"), "{text}");
    let again: Value = server.send(follow).await.json();
    assert_eq!(again["status"], 403);
}
