//! Which responses are compressed, and which are not.

use std::io::Read;

use serde_json::json;

use crate::support::{Answer, Request, Running};

fn get(path: &str, accepted: &str) -> Request {
    Request::get(path).header("accept-encoding", accepted)
}

/// Returns the encoding of a response, and its decoded text.
fn decoded(answer: &Answer) -> (Option<&str>, String) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let encoding = answer.headers.get("content-encoding").map(String::as_str);
    let mut text = String::new();
    match encoding {
        Some("gzip") => {
            flate2::read::GzDecoder::new(&answer.bytes[..]).read_to_string(&mut text).expect("gzip");
        }
        Some("zstd") => {
            let bytes = zstd::decode_all(&answer.bytes[..]).expect("zstd");
            text = String::from_utf8(bytes).expect("text");
        }
        _ => text.clone_from(&answer.body),
    }
    (encoding, text)
}

async fn with_a_long_document() -> (Running, String) {
    let server = Running::start().await;
    let text = "Tobias Renn succeeded Maren Oskoldt as director of Weir Station. ".repeat(100);
    server.add("", "station.md", &text).await;
    let listed = server.post("/documents/paginated", json!({})).await.ok();
    let id = listed["documents"][0]["id"].as_str().expect("an id").to_owned();
    (server, id)
}

#[tokio::test]
async fn a_response_has_the_encoding_that_the_client_prefers_and_the_same_content() {
    let (server, id) = with_a_long_document().await;
    for path in
        [&format!("/documents/{id}/text"), "/export?format=jsonl", "/export?format=graphml", "/openapi.json"]
    {
        let plain = server.get(path).await;
        assert!(!plain.headers.contains_key("content-encoding"), "{path}");
        for (accepted, encoding) in [
            ("gzip", Some("gzip")),
            ("zstd", Some("zstd")),
            ("gzip, deflate, br, zstd", Some("zstd")),
            ("zstd;q=0.1, gzip;q=0.9", Some("gzip")),
            ("br", None),
            ("identity", None),
            ("gzip;q=0", None),
        ] {
            let answer = server.send(get(path, accepted)).await;
            let (came, text) = decoded(&answer);
            assert_eq!((came, text), (encoding, plain.body.clone()), "{path} as {accepted}");
            assert_eq!(answer.headers.get("vary").map(String::as_str), Some("accept-encoding"), "{path}");
            assert!(encoding.is_none() || answer.bytes.len() * 2 < plain.bytes.len(), "{path} as {accepted}");
        }
    }
}

#[tokio::test]
async fn small_responses_tokens_and_compressed_files_are_not_compressed() {
    let server = Running::start().await;
    server.user("ada", "correct-horse");
    let form = Request::new("POST", "/login").header("content-type", "application/x-www-form-urlencoded");
    let login = form.header("accept-encoding", "gzip").body("username=ada&password=correct-horse");
    for request in [get("/livez", "gzip"), get("/auth-status", "gzip"), login] {
        let answer = server.send(request.clone()).await;
        assert_eq!(decoded(&answer).0, None, "{request:?}");
    }
    let script = server.send(get("/docs/swagger-ui-bundle.js", "zstd, gzip")).await;
    let (encoding, text) = decoded(&script);
    assert_eq!(encoding, Some("gzip"), "in its stored encoding, compressed once");
    assert!(text.contains("swagger"));
}

#[tokio::test]
async fn streams_are_not_compressed_even_if_the_client_accepts_it() {
    let (server, id) = with_a_long_document().await;
    let accepted = "gzip, zstd";
    // The stream does not end by itself, so its first event arrives on its own or not at all.
    let mut events = server.begin(&get("/jobs/events", accepted).bytes(server.address)).await;
    let mut read = crate::support::read_head(&mut events).await;
    while !String::from_utf8_lossy(&read).contains("event: state") {
        let more = tokio::io::AsyncReadExt::read_buf(&mut events, &mut read).await.expect("a connection");
        assert!(more > 0, "{}", String::from_utf8_lossy(&read));
    }
    assert!(!String::from_utf8_lossy(&read).contains("content-encoding"));
    let question = json!({ "query": "Who succeeded Maren Oskoldt?", "stream": true });
    let chat = json!({
        "model": "default:auto",
        "messages": [{ "role": "user", "content": "Who succeeded Maren Oskoldt?" }],
        "stream": true,
    });
    for (path, body) in [
        (format!("/jobs/{id}/events"), None),
        ("/query/stream".to_owned(), Some(question.clone())),
        ("/query/events".to_owned(), Some(json!({ "query": "Who succeeded Maren Oskoldt?" }))),
        ("/v1/chat/completions".to_owned(), Some(chat.clone())),
        ("/api/chat".to_owned(), Some(chat)),
    ] {
        let request = match body {
            None => get(&path, accepted),
            Some(body) => Request::post(&path, body).header("accept-encoding", accepted),
        };
        let answer = server.send(request).await;
        assert_eq!(decoded(&answer).0, None, "{path}");
        assert!(
            answer.headers["content-type"].starts_with("text/event-stream")
                || answer.headers["content-type"] == "application/x-ndjson",
            "{path}: {answer:?}"
        );
    }
}
