//! `graphloom mcp`: a client starts the built program and talks to it on standard input and output.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};

use crate::common::Graphloom;

/// How long a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

const STATION: &str = "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995.";

type Client = RunningService<RoleClient, ClientConfig>;

async fn start(graphloom: &Graphloom, arguments: &[&str], lifecycle: ClientLifecycleMode) -> Client {
    let arguments: Vec<&str> = ["mcp"].iter().chain(arguments).copied().collect();
    let mut command = tokio::process::Command::from(graphloom.command(&arguments));
    command.stderr(Stdio::null());
    let transport = TokioChildProcess::new(command).expect("it runs");
    ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.expect("connected")
}

fn newest() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    let arguments = arguments.as_object().expect("an object").clone();
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let result = client.call_tool(request).await.expect("a result");
    assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
    result.structured_content.expect("structured content")
}

async fn names(client: &Client) -> Vec<String> {
    let tools = client.list_all_tools().await.expect("tools");
    tools.into_iter().map(|tool| tool.name.into_owned()).collect()
}

#[tokio::test]
async fn documents_added_by_a_client_are_indexed_and_visible_on_the_command_line() {
    let graphloom = Graphloom::new();
    let client = start(&graphloom, &[], newest()).await;
    let server = client.peer_info().expect("a server");
    assert_eq!(server.protocol_version, ProtocolVersion::V_2026_07_28);
    assert_eq!(names(&client).await.len(), 8);
    call(&client, "add_document", json!({ "name": "station.md", "text": STATION })).await;
    let until = Instant::now() + PATIENCE;
    while call(&client, "get_source", json!({ "document": "station.md" })).await["status"] != "ready" {
        assert!(Instant::now() < until, "not indexed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let question = json!({ "question": "Who succeeded Maren Oskoldt as director?" });
    let answer = call(&client, "ask", question).await;
    assert!(answer["answer"].as_str().expect("text").contains("Tobias Renn"), "{answer}");
    assert_eq!(answer["citations"][0]["quote"], STATION);
    let overview = call(&client, "corpus_overview", json!({})).await;
    let note = "there are no communities yet: `graphloom derive communities` makes them";
    assert_eq!(overview["notes"][0], note, "{overview}");
    client.cancel().await.expect("it ends");
    assert!(graphloom.ok(&["ask", "Who succeeded Maren Oskoldt as director?"]).contains("Tobias Renn"));
    graphloom.ok(&["check"]);
}

#[tokio::test]
async fn a_read_only_client_gets_only_reading_tools_and_changes_nothing() {
    let graphloom = Graphloom::new();
    graphloom.write("station.md", STATION);
    graphloom.write("later.md", "Ada Quill directs Weir Station.");
    graphloom.ok(&["add", "station.md"]);
    graphloom.ok(&["add", "--no-wait", "later.md"]);
    let before = graphloom.hash();
    let client = start(&graphloom, &["--read-only"], ClientLifecycleMode::Initialize).await;
    let server = client.peer_info().expect("a server");
    assert_eq!(server.protocol_version, ProtocolVersion::V_2025_11_25);
    let reads = ["search", "ask", "suggest_questions", "get_source", "graph_neighbors", "corpus_overview"];
    assert_eq!(names(&client).await, reads);
    let found = call(&client, "search", json!({ "query": "director" })).await;
    assert_eq!(found["passages"][0]["file_path"], "station.md");
    let waits = call(&client, "get_source", json!({ "document": "later.md" })).await;
    assert_eq!(waits["status"], "waiting");
    let arguments = json!({ "document": "station.md" }).as_object().expect("an object").clone();
    let forget = CallToolRequestParams::new("forget_document").with_arguments(arguments);
    let refused = client.call_tool(forget).await.expect("a result");
    assert_eq!(refused.is_error, Some(true));
    client.cancel().await.expect("it ends");
    assert_eq!(graphloom.hash(), before);
}

#[test]
fn only_the_protocol_is_printed_and_the_end_of_input_stops_the_server() {
    let graphloom = Graphloom::new();
    let mut command = graphloom.command(&["-vv", "mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let ask = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "search", "arguments": { "query": "anything" },
    } });
    write!(input, "{hello}\n{ready}\nthis is no message\n{ask}\n").expect("written");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}")))
        .collect();
    assert!(lines.iter().all(|line| line["jsonrpc"] == "2.0"), "{lines:?}");
    let answer = lines.iter().find(|line| line["id"] == 2).expect("an answer");
    let notes = &answer["result"]["structuredContent"]["notes"];
    assert_eq!(notes[0], "workspace default has no documents yet: `add_document` adds one", "{answer}");
    let refused = lines.iter().find(|line| line["error"]["code"] == -32700).expect("an error");
    assert_eq!(refused.get("id"), Some(&Value::Null), "{refused}");
    assert!(!output.stderr.is_empty(), "the log is on standard error");
}
