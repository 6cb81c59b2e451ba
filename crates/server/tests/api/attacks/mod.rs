//! Hostile input: tables of what strangers could send, each with its safe response, and the code that tries them.

mod archives;
mod bodies;
mod credentials;
mod framing;
mod hosts;
mod injection;
mod names;
mod paths;
mod searches;
mod stalled;
mod urls;

use serde_json::{Value, json};

use crate::support::{Answer, Request, Running};

/// Something that a stranger could send, with its safe response.
struct Attack {
    what: String,
    sent: Delivery,
    safe: Safe,
}

enum Delivery {
    /// A well-formed request.
    Request(Request),
    /// Bytes that no client would send; `HOST` stands for the server's address.
    Bytes(Vec<u8>),
}

/// The response that keeps the server and its documents safe.
enum Safe {
    /// One of these statuses; 0 is a connection that is closed without a response.
    Status(&'static [u16]),
    /// A tool result with an error.
    ToolError,
}

impl Attack {
    fn new(what: impl Into<String>, request: Request, safe: &'static [u16]) -> Self {
        Self { what: what.into(), sent: Delivery::Request(request), safe: Safe::Status(safe) }
    }

    fn bytes(what: impl Into<String>, bytes: impl Into<Vec<u8>>, safe: &'static [u16]) -> Self {
        Self { what: what.into(), sent: Delivery::Bytes(bytes.into()), safe: Safe::Status(safe) }
    }

    /// Returns a call of a tool of the Model Context Protocol.
    fn tool(what: impl Into<String>, name: &str, arguments: Value) -> Self {
        let sent = Delivery::Request(tool_call("/mcp", name, arguments));
        Self { what: what.into(), sent, safe: Safe::ToolError }
    }

    /// Tries the attack, and asserts the safe response.
    async fn check(self, server: &Running) -> Option<Answer> {
        let Self { what, sent, safe } = self;
        let answer = match sent {
            Delivery::Request(request) => server.try_send(&request.bytes(server.address)).await,
            Delivery::Bytes(bytes) => {
                let address = server.address.to_string();
                server.try_send(&replaced(&bytes, b"HOST", address.as_bytes())).await
            }
        };
        let status = answer.as_ref().map_or(0, |answer| answer.status);
        match safe {
            Safe::Status(statuses) => assert!(statuses.contains(&status), "{what}: {status} {answer:?}"),
            Safe::ToolError => {
                let result = answer.as_ref().map(Answer::ok).expect("an answer");
                assert_eq!(result["result"]["isError"], true, "{what}: {result}");
            }
        }
        if let Some(answer) = &answer {
            check_harmless(&what, answer);
        }
        answer
    }
}

/// Returns a call of a tool as an older client sends it, without a handshake.
fn tool_call(path: &str, name: &str, arguments: Value) -> Request {
    let params = json!({ "name": name, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    Request::post(path, call).header("accept", "application/json, text/event-stream")
}

/// Asserts that nothing in a response runs in a browser, reveals the machine, or was injected by the sender.
fn check_harmless(what: &str, answer: &Answer) {
    let Answer { headers, body, .. } = answer;
    assert!(!headers.contains_key("set-cookie") && !headers.contains_key("x-injected"), "{what}: {answer:?}");
    assert!(!headers.contains_key("access-control-allow-origin"), "{what}: {answer:?}");
    assert!(!body.contains("root:x:0") && !body.contains("HTTP/1.1 "), "{what}: {answer:?}");
    // Anything that is not a request is rejected below the routes, without a body.
    if body.is_empty() && [400, 414, 431].contains(&answer.status) {
        return;
    }
    let kind = headers.get("content-type").map_or("", String::as_str);
    let is_data = kind.contains("json") || kind.starts_with("text/plain") || kind == "text/event-stream";
    assert!(is_data || body.is_empty(), "{what}: {answer:?}");
    assert_eq!(headers["x-content-type-options"], "nosniff", "{what}: {answer:?}");
    let policy = "default-src 'none'; frame-ancestors 'none'";
    assert_eq!(headers["content-security-policy"], policy, "{what}: {answer:?}");
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match bytes.windows(from.len()).position(|window| window == from) {
        Some(at) => [&bytes[..at], to, &bytes[at + from.len()..]].concat(),
        None => bytes.to_vec(),
    }
}

/// Returns everything the server holds: documents, names of the graph, workspaces, files.
async fn held(server: &Running) -> Vec<String> {
    let mut held = vec![
        server.post("/documents/paginated", json!({})).await.body,
        server.get("/graph/label/list").await.body,
        server.get("/api/tags").await.body,
    ];
    let files = std::fs::read_dir(server.folder.path()).expect("a folder");
    held.extend(files.map(|file| file.expect("a file").path().display().to_string()));
    held
}

/// Tries all attacks, and asserts that afterwards the server holds the same as before and still works.
async fn check_all(server: &Running, attacks: Vec<Attack>) {
    let before = held(server).await;
    for attack in attacks {
        attack.check(server).await;
    }
    assert_eq!(held(server).await, before);
    assert_eq!(server.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn the_corpus_has_at_least_two_hundred_attacks() {
    let tables = [
        ("archives", archives::table().len()),
        ("bodies", bodies::table().len() + bodies::oversized().len()),
        ("credentials", credentials::table("glk_0123456789ab_key").len()),
        ("framing", framing::table().len()),
        ("hosts", hosts::table().len()),
        ("injection", injection::table().len() + injection::TEXTS.len()),
        ("names", names::table().len()),
        ("paths", paths::table().len()),
        ("searches", searches::table().len()),
        ("urls", urls::table(1).len()),
    ];
    let total: usize = tables.iter().map(|(_, attacks)| attacks).sum();
    assert!(total >= 200 && tables.iter().all(|(_, attacks)| *attacks >= 10), "{total}: {tables:?}");
}
