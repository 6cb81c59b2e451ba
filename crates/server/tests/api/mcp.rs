//! The Model Context Protocol over HTTP, tested with the client of the same library over a real socket.

use std::collections::HashMap;

use axum::http::{HeaderName, HeaderValue};
use graphloom_server::Right;
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig, ProtocolVersion, Tool};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};

use crate::support::{Request, Running};

const STATION: &str = "# Weir Station\n\nMaren Oskoldt directed Weir Station until 1994. Tobias Renn succeeded Maren \
                       Oskoldt as director of Weir Station in 1995.\n";

type Client = RunningService<RoleClient, ClientConfig>;

fn newest() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Connects a client to a path of the server, with a key if one is given.
async fn client(server: &Running, path: &str, key: Option<&str>, lifecycle: ClientLifecycleMode) -> Client {
    // The client's library needs a TLS provider, although TLS is not used here. Installing it twice does no harm.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HashMap::new();
    if let Some(key) = key {
        let key = HeaderValue::from_str(key).expect("a header");
        headers.insert(HeaderName::from_static("x-api-key"), key);
    }
    let uri = format!("http://{}{path}", server.address);
    let config = StreamableHttpClientTransportConfig::with_uri(uri).custom_headers(headers);
    let transport = StreamableHttpClientTransport::from_config(config);
    ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.expect("connected")
}

async fn call(client: &Client, tool: &str, arguments: Value) -> CallToolResult {
    let arguments = arguments.as_object().expect("an object").clone();
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    client.call_tool(request).await.expect("a result")
}

/// Returns the structured content of a successful call, which its text must equal.
async fn ok(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments).await;
    assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
    let text = result.content[0].as_text().expect("text").text.clone();
    let value = result.structured_content.expect("structured content");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
    value
}

/// Returns the text of a failed call.
async fn refused(client: &Client, tool: &str, arguments: Value) -> String {
    let result = call(client, tool, arguments).await;
    assert_eq!(result.is_error, Some(true), "{tool}: {result:?}");
    result.content[0].as_text().expect("text").text.clone()
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_ref()).collect()
}

#[tokio::test]
async fn a_client_can_search_ask_read_and_explore_with_citations() {
    let server = Running::start().await;
    server.add("", "station.md", STATION).await;
    let client = client(&server, "/mcp", None, newest()).await;

    let found = ok(&client, "search", json!({ "query": "director of Weir Station", "limit": 5 })).await;
    let passage = &found["passages"][0];
    assert_eq!(passage["file_path"], "station.md");
    assert!(passage["text"].as_str().expect("text").contains("Tobias Renn"), "{found}");

    let answer = ok(&client, "ask", json!({ "question": "Who succeeded Maren Oskoldt as director?" })).await;
    assert!(answer["answer"].as_str().expect("text").contains("Tobias Renn"), "{answer}");
    let citation = &answer["citations"][0];
    let quote = citation["quote"].as_str().expect("a quote");
    let span = |at: usize| citation["span"][at].as_u64().expect("a byte") as usize;
    assert_eq!(&STATION[span(0)..span(1)], quote);

    let around = json!({ "document": citation["document"], "start": span(0), "max_bytes": quote.len() });
    let source = ok(&client, "get_source", around).await;
    assert_eq!((&source["text"], &source["status"]), (&json!(quote), &json!("ready")));
    let whole = ok(&client, "get_source", json!({ "document": "station.md" })).await;
    assert_eq!((&whole["text"], whole.get("next_start")), (&json!(STATION), None));

    let overview = ok(&client, "corpus_overview", json!({ "limit": 3 })).await;
    assert!(
        overview["documents"].as_u64() >= Some(1) && overview["entities"][0]["name"].is_string(),
        "{overview}"
    );
    assert_eq!(overview["notes"].as_array().map(Vec::len), Some(2), "no layer is derived yet: {overview}");
    let around = ok(&client, "graph_neighbors", json!({ "entity": "weir station" })).await;
    assert_eq!(around["entities"][0]["depth"], 0);
    assert_eq!(around["entities"][0]["file_paths"], json!(["station.md"]));
    assert!(around["entities"].as_array().expect("a list").len() > 1, "{around}");
}

#[tokio::test]
async fn questions_before_the_first_document_get_empty_answers_that_say_how_to_add_one() {
    let server = Running::start().await;
    let client = client(&server, "/w/alpha/mcp", None, newest()).await;
    let asked = [
        ("search", json!({ "query": "anything" })),
        ("ask", json!({ "question": "Who directs Weir Station?" })),
        ("suggest_questions", json!({})),
        ("corpus_overview", json!({})),
    ];
    let notes = json!(["workspace alpha has no documents yet: `add_document` adds one"]);
    for (tool, arguments) in &asked {
        let answer = ok(&client, tool, arguments.clone()).await;
        assert_eq!(answer["notes"], notes, "{tool}: {answer}");
        if *tool == "ask" {
            assert_eq!(answer["answer"], "There are no documents to search yet.");
            assert_eq!(answer["answer_kind"], "empty");
        }
    }
    // The same holds for a workspace whose documents are all removed.
    server.add("/w/alpha", "station.md", STATION).await;
    for (tool, arguments) in &asked {
        let answer = ok(&client, tool, arguments.clone()).await;
        assert!(!answer["notes"].to_string().contains("no documents yet"), "{tool}: {answer}");
    }
    ok(&client, "forget_document", json!({ "document": "station.md" })).await;
    for (tool, arguments) in asked {
        let answer = ok(&client, tool, arguments).await;
        assert!(answer["notes"].as_array().expect("notes").contains(&notes[0]), "{tool}: {answer}");
    }
}

#[tokio::test]
async fn documents_that_a_client_adds_are_stored_and_those_it_forgets_are_removed() {
    let server = Running::start().await;
    let client = client(&server, "/w/alpha/mcp", None, newest()).await;
    let add = json!({ "name": "station.md", "text": STATION });
    let added = ok(&client, "add_document", add.clone()).await;
    let track = added["track_id"].as_str().expect("a track");
    server.wait_for("/w/alpha", track).await;
    let source = json!({ "document": added["documents"][0] });
    assert_eq!(ok(&client, "get_source", source).await["text"], STATION);

    let said = refused(&client, "add_document", add).await;
    assert!(said.contains("station.md exists already; set replace=true"), "{said}");
    let newer = json!({ "name": "station.md", "text": "Ada Quill directs Weir Station.", "replace": true });
    let added = ok(&client, "add_document", newer).await;
    server.wait_for("/w/alpha", added["track_id"].as_str().expect("a track")).await;
    let answer = ok(&client, "ask", json!({ "question": "Who directs Weir Station?" })).await;
    assert!(answer["answer"].as_str().expect("text").contains("Ada Quill"), "{answer}");

    let forgotten = ok(&client, "forget_document", json!({ "document": "station.md" })).await;
    assert_eq!((&forgotten["documents"], &forgotten["file_path"]), (&json!(1), &json!("station.md")));
    assert_eq!(server.get("/w/alpha/documents/status_counts").await.ok()["status_counts"]["all"], 0);
    let said = refused(&client, "forget_document", json!({ "document": "station.md" })).await;
    assert!(said.contains("no document \"station.md\"; use the document"), "{said}");
}

#[tokio::test]
async fn a_key_with_the_right_to_read_can_list_and_call_only_the_reading_tools() {
    let server = Running::start().await;
    let reader = server.key(Right::Read, &["alpha"]);
    let writer = server.key(Right::Write, &["alpha"]);
    let reading = client(&server, "/w/alpha/mcp", Some(&reader), newest()).await;
    let tools = reading.list_all_tools().await.expect("tools");
    let reads = ["search", "ask", "suggest_questions", "get_source", "graph_neighbors", "corpus_overview"];
    assert_eq!(names(&tools), reads);
    for (tool, arguments) in [
        ("add_document", json!({ "name": "a.md", "text": "text" })),
        ("forget_document", json!({ "document": "a.md" })),
    ] {
        let said = refused(&reading, tool, arguments).await;
        assert!(said.contains("has the right read; this request needs write"), "{said}");
    }
    let writing = client(&server, "/w/alpha/mcp", Some(&writer), newest()).await;
    let tools = writing.list_all_tools().await.expect("tools");
    assert_eq!(names(&tools)[6..], ["add_document", "forget_document"]);
    for tool in &tools {
        let hints = tool.annotations.as_ref().expect("annotations");
        let reads = !["add_document", "forget_document"].contains(&tool.name.as_ref());
        assert_eq!((hints.read_only_hint, hints.destructive_hint), (Some(reads), Some(!reads)));
        assert_eq!(tool.input_schema["type"], "object", "{tool:?}");
        let formats = format!("{:?} {:?}", tool.input_schema, tool.output_schema);
        assert!(!formats.contains("uint"), "clients warn about formats that no standard knows: {formats}");
        let output = tool.output_schema.as_ref().expect("a schema");
        assert!(output["properties"].as_object().is_some_and(|fields| !fields.is_empty()), "{tool:?}");
    }
    // Nothing was added, so no workspace was created; another workspace cannot be reached at all.
    let found = ok(&reading, "search", json!({ "query": "anything" })).await;
    let add = "workspace alpha has no documents yet: a credential with the right write can add them";
    assert_eq!(found, json!({ "passages": [], "entities": [], "relations": [], "notes": [add] }));
    let elsewhere = Request::post("/w/beta/mcp", json!({})).header("x-api-key", &writer);
    server.send(elsewhere).await.problem(403);
    server.post("/mcp", json!({})).await.problem(401);
}

#[tokio::test]
async fn the_newest_and_the_previous_revision_work_without_sessions() {
    let server = Running::start().await;
    let modern = client(&server, "/mcp", None, newest()).await;
    assert_eq!(modern.peer_info().expect("a server").protocol_version, ProtocolVersion::V_2026_07_28);
    let older = client(&server, "/mcp", None, ClientLifecycleMode::Initialize).await;
    assert_eq!(older.peer_info().expect("a server").protocol_version, ProtocolVersion::V_2025_11_25);
    assert_eq!(names(&older.list_all_tools().await.expect("tools")).len(), 8);
    for version in ["2025-11-25", "2025-06-18", "2025-03-26"] {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = server.send(message("initialize", params)).await;
        assert_eq!(answer.ok()["result"]["protocolVersion"], version);
        assert!(!answer.headers.contains_key("mcp-session-id"), "{answer:?}");
    }
    for method in ["GET", "DELETE"] {
        server.send(Request::new(method, "/mcp")).await.problem(405);
    }
}

/// Returns a message as a client sends it in a revision with a handshake.
fn message(method: &str, params: Value) -> Request {
    Request::post("/mcp", json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
        .header("accept", "application/json, text/event-stream")
}

#[tokio::test]
async fn wrong_tool_calls_return_results_that_explain_the_error() {
    let server = Running::start().await;
    server.add("", "station.md", STATION).await;
    let client = client(&server, "/mcp", None, newest()).await;
    for (tool, arguments, why) in [
        ("search", json!({}), "missing field `query`"),
        ("search", json!({ "query": " " }), "the question is empty"),
        ("search", json!({ "query": "x", "limit": 0 }), "limit is 0; it must be from 1 to 50"),
        ("search", json!({ "query": "x", "top_k": 5 }), "unknown field `top_k`"),
        ("search", json!({ "query": "x", "filter": { "name": "a" } }), "unknown field `name`"),
        ("ask", json!({ "question": 7 }), "question: expected text, got the number 7"),
        ("ask", json!({ "question": "Who?", "mode": "best" }), "unknown variant `best`"),
        (
            "ask",
            json!({ "question": "What are the themes?", "mode": "drift" }),
            "no communities to answer from; POST /layers/communities/derive derives them",
        ),
        ("get_source", json!({ "document": "../etc/passwd" }), "no document"),
        ("get_source", json!({ "document": "station.md", "start": 9999 }), "beyond the end"),
        (
            "get_source",
            json!({ "document": "station.md", "start": -1 }),
            "start: expected a whole number from 0, got the number -1",
        ),
        ("graph_neighbors", json!({ "entity": "Weir Statoin" }), "no entity \"Weir Statoin\""),
        ("graph_neighbors", json!({ "entity": "*", "depth": 9 }), "from 1 to 3"),
        ("add_document", json!({ "name": "../a.md", "text": "x" }), "the parts . and .. are not allowed"),
        ("add_document", json!({ "name": "a.md", "text": " " }), "text cannot be empty"),
        ("forget_document", json!({ "document": "" }), "no document"),
    ] {
        let said = refused(&client, tool, arguments.clone()).await;
        assert!(said.contains(why), "{tool} {arguments}: {said}");
    }
    let unknown = CallToolRequestParams::new("drop_tables");
    let said = client.call_tool(unknown).await.expect_err("no such tool").to_string();
    assert!(said.contains("unknown tool drop_tables; the tools are search"), "{said}");
}

#[tokio::test]
async fn wrong_parameters_are_named_and_unknown_methods_have_their_own_error_code() {
    let server = Running::start().await;
    for (method, params, code, why) in [
        ("tools/call", json!({ "name": 7 }), -32602, "name: expected text, got the number 7"),
        ("tools/call", json!({ "arguments": {} }), -32602, "missing field `name`"),
        (
            "tools/call",
            json!({ "name": "search", "arguments": "x" }),
            -32602,
            "arguments: expected an object, got the text \"x\"",
        ),
        ("tools/call", json!({ "name": "search", "arguments": [] }), -32602, "arguments: expected an object"),
        ("tools/drop", json!({}), -32601, "tools/drop"),
    ] {
        let answer = server.send(message(method, params.clone())).await.json();
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        let said = answer["error"]["message"].as_str().expect("an error");
        assert!(said.contains(why), "{method} {params}: {said}");
    }
}

#[tokio::test]
async fn invalid_messages_are_refused_with_the_error_codes_of_the_protocol() {
    let server = Running::start().await;
    let accept = "application/json, text/event-stream";
    let post = |body: &str| {
        let request = Request::new("POST", "/mcp").header("content-type", "application/json");
        request.header("accept", accept).body(body)
    };
    server.send(Request::post("/mcp", json!({}))).await.problem(406);
    let form = Request::new("POST", "/mcp").header("accept", accept).body("a=b");
    server.send(form).await.problem(415);
    let deep = "[".repeat(100_000);
    for (body, code, id) in [
        ("", -32700, json!(null)),
        ("{", -32700, json!(null)),
        (deep.as_str(), -32700, json!(null)),
        ("[]", -32600, json!(null)),
        ("null", -32600, json!(null)),
        ("7", -32600, json!(null)),
        ("{\"jsonrpc\":\"1.0\"}", -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, json!(null)),
        (r#"{"jsonrpc":"1.0","id":"a7","method":"ping"}"#, -32600, json!("a7")),
    ] {
        let answer = server.send(post(body)).await;
        assert_eq!((answer.status, answer.headers["content-type"].as_str()), (400, "application/json"));
        let said = answer.json();
        assert_eq!((&said["error"]["code"], &said["id"]), (&json!(code), &id), "{body:.20}: {said}");
        assert_eq!(said["jsonrpc"], "2.0", "{body:.20}");
    }
    let large =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"{}\"}}", "x".repeat(4 << 20));
    server.send(post(&large)).await.problem(413);
    let ping = post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(server.send(ping.clone()).await.ok()["result"], json!({}));
    server.send(ping.clone().header("origin", "https://evil.example")).await.problem(403);
    let ours = format!("http://{}", server.address);
    assert_eq!(server.send(ping.header("origin", &ours)).await.status, 200);
    let key = server.key(Right::Admin, &[]);
    let foreign = post("{}").header("origin", "https://evil.example").header("x-api-key", &key);
    server.send(foreign).await.problem(403);
}

#[tokio::test]
async fn a_batch_gets_a_list_of_responses_if_the_revision_supports_batches() {
    let server = Running::start().await;
    let batch = |messages: Value, revision: Option<&str>| {
        let request = Request::post("/mcp", messages).header("accept", "application/json, text/event-stream");
        revision.iter().fold(request, |request, revision| request.header("mcp-protocol-version", revision))
    };
    let ping = |id: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let list = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" });
    for revision in [None, Some("2025-03-26")] {
        let messages = json!([ping("a"), initialized, { "jsonrpc": "1.0", "id": "b" }, list]);
        let answers = server.send(batch(messages, revision)).await.ok();
        let answers = answers.as_array().expect("a list");
        let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&json!("a"), &json!("b"), &json!(7)], "{answers:?}");
        assert_eq!(answers[0]["result"], json!({}));
        assert_eq!(answers[1]["error"]["code"], -32600);
        assert_eq!(answers[2]["result"]["tools"].as_array().map(Vec::len), Some(8));
    }
    let silent = server.send(batch(json!([initialized]), None)).await;
    assert_eq!((silent.status, silent.body.as_str()), (202, ""));
    let first = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    for (messages, revision, why) in [
        (json!([ping("a")]), Some("2025-06-18"), "has no batches"),
        (json!([]), None, "empty"),
        (json!([first]), None, "initialize cannot be part"),
        (Value::Array(vec![ping("a"); 33]), None, "33, the limit is 32"),
    ] {
        let refused = server.send(batch(messages, revision)).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        assert_eq!(refused.json()["error"]["code"], -32600);
        assert!(refused.json()["error"]["message"].as_str().expect("words").contains(why), "{refused:?}");
    }
}
