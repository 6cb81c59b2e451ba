//! `graphloom serve` answers over HTTP, indexes in the background, and stops cleanly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::Graphloom;
use crate::common::model::{ScriptedModel, with_things};
use crate::common::serving::{PATIENCE, Serving};

#[cfg(unix)]
#[test]
fn documents_sent_to_a_server_are_indexed_and_visible_on_the_command_line() {
    let graphloom = Graphloom::new();
    let serving = Serving::start(&graphloom, &[]);
    let text = "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995.";
    let body = json!({ "text": text, "file_source": "station.md" });
    serving.ok("POST", "/documents/text", "", &body);
    let until = Instant::now() + PATIENCE;
    while serving.ok("GET", "/documents/status_counts", "", &json!({}))["status_counts"]["processed"] != 1 {
        assert!(Instant::now() < until, "not indexed");
        std::thread::sleep(Duration::from_millis(50));
    }
    let question = json!({ "query": "Who succeeded Maren Oskoldt as director?" });
    let answer = serving.ok("POST", "/query", "", &question);
    assert!(answer["response"].as_str().expect("text").contains("Tobias Renn"), "{answer}");
    assert_eq!(answer["references"][0]["file_path"], "station.md");
    serving.stop();
    assert!(graphloom.ok(&["ask", "Who succeeded Maren Oskoldt as director?"]).contains("Tobias Renn"));
    graphloom.ok(&["check"]);
}

#[cfg(unix)]
#[test]
fn a_stopping_server_stores_the_answers_it_is_waiting_for() {
    let model = ScriptedModel::start();
    let graphloom = with_things(&model, &["ThingA", "ThingB", "ThingC", "ThingD"]);
    graphloom.ok(&["add", "docs", "--no-wait"]);
    model.answer_after(Duration::from_millis(700));
    let serving = Serving::start(&graphloom, &[]);
    model.wait_until_asked(1);
    serving.stop();
    assert!(model.asked().len() < 4, "it was stopped early");
    model.answer_after(Duration::ZERO);
    graphloom.ok(&["work"]);
    assert!(
        model.asked().values().all(|times| *times == 1),
        "nothing is paid for again: {:?}",
        model.asked()
    );
}

#[cfg(unix)]
#[test]
fn refused_requests_are_logged_but_not_as_errors() {
    let graphloom = Graphloom::new();
    graphloom.write("station.md", "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995.");
    graphloom.ok(&["add", "station.md"]);
    let path = graphloom.path("server.log");
    let log = std::fs::File::create(&path).expect("a file");
    let serving = Serving::start_with_log(&graphloom, &[], log.into());
    let nobody = json!({ "entity_name": "Nobody at all", "updated_data": { "description": "x" } });
    assert_eq!(serving.send("POST", "/graph/entity/edit", "", &nobody).0, 400);
    let nothing = json!({ "query": "Who succeeded Maren Oskoldt?", "filter": { "sources": ["other.md"] } });
    assert_eq!(serving.send("POST", "/query", "", &nothing).0, 422);
    serving.stop();
    let log = std::fs::read_to_string(path).expect("a log");
    assert!(log.contains("an edit is refused") && log.contains("a question is refused"), "{log}");
    assert!(!log.contains("ERROR"), "{log}");
}

#[test]
fn the_server_and_the_command_line_return_the_same() {
    let graphloom = Graphloom::new();
    graphloom.write("station.md", "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995.");
    graphloom.ok(&["add", "station.md"]);
    let serving = Serving::start(&graphloom, &[]);
    let get = |path: &str| serving.ok("GET", path, "", &json!({}));
    assert_eq!(get("/dump/hash")["hash"], graphloom.ok(&["dump", "--hash"]).trim());
    let (status, exported) = serving.send("GET", "/export?format=graphml", "", &json!({}));
    assert_eq!(status, 200);
    assert!(exported.contains(&graphloom.ok(&["export", "--format", "graphml"])), "{exported}");
    assert_eq!(get("/cost"), graphloom.json(&["cost"]));
    let searched = serving.ok("POST", "/search", "", &json!({ "query": "Tobias Renn" }));
    let printed = graphloom.json(&["search", "Tobias Renn"]);
    assert_eq!(searched["passages"][0]["chunk_id"], printed["passages"][0]["chunk"]["id"]);
    let texts = json!({ "texts": ["Maren Oskoldt left."], "file_sources": ["left.md"] });
    let estimate = serving.ok("POST", "/documents/texts/estimate", "", &texts);
    graphloom.write("left.md", "Maren Oskoldt left.");
    let printed = graphloom.json(&["add", "--estimate", "left.md"]);
    for field in ["documents", "chunks", "steps", "total"] {
        assert_eq!(estimate[field], printed[field], "{field}");
    }
}

#[cfg(unix)]
#[test]
fn health_says_whether_model_answers_are_cached() {
    let graphloom = Graphloom::new();
    let told = |arguments: &[&str]| {
        let health = Serving::start(&graphloom, arguments).ok("GET", "/health", "", &json!({}));
        health["configuration"]["enable_llm_cache"].as_bool()
    };
    assert_eq!((told(&[]), told(&["--set", "query_cache=false"])), (Some(true), Some(false)));
}

#[test]
fn a_key_works_until_it_is_revoked_and_network_access_needs_one() {
    let graphloom = Graphloom::new();
    graphloom.run(&["serve", "--host", "0.0.0.0", "--port", "0"]).exits(1).says("graphloom key create");
    let made = graphloom.json(&["key", "create", "notes", "--right", "write", "--only", "default"]);
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    let stored = std::fs::read_to_string(graphloom.path(".graphloom/access.json")).expect("the file");
    assert!(!stored.contains(key.splitn(3, '_').nth(2).expect("a secret")));
    let serving = Serving::start(&graphloom, &[]);
    let ask = |key: &str| serving.send("GET", "/graph/label/list", key, &json!({})).0;
    assert_eq!((ask(""), ask(key)), (403, 200));
    assert_eq!(serving.send("DELETE", "/documents", key, &json!({})).0, 403);
    assert_eq!(graphloom.json(&["key", "list"])[0]["id"], id);
    graphloom.ok(&["key", "revoke", "notes"]);
    assert_eq!(ask(key), 403);
    graphloom.run(&["key", "revoke", "notes"]).exits(1).says("graphloom key list");
    serving.stop();
}

#[test]
fn a_users_password_is_given_or_generated_and_never_stored() {
    let graphloom = Graphloom::new();
    let made = graphloom.ok(&["user", "add", "ada"]);
    assert!(made.trim().len() >= 24, "{made}");
    graphloom
        .run_with_input(&["user", "add", "bob", "--password-stdin"], "short\n")
        .exits(1)
        .says("8 characters");
    graphloom.run_with_input(&["user", "add", "bob", "--password-stdin"], "long enough\n").exits(0);
    let stored = std::fs::read_to_string(graphloom.path(".graphloom/access.json")).expect("the file");
    assert!(
        !stored.contains(made.trim()) && !stored.contains("long enough") && stored.contains("$argon2id$")
    );
    assert!(graphloom.ok(&["user", "list"]).contains("ada  has read access to every workspace"));
    graphloom.ok(&["user", "add", "eve", "--right", "write", "--only", "research"]);
    // A new password keeps the permissions; only those that are passed change.
    let again = graphloom.run(&["user", "add", "eve"]).exits(0);
    again.says("has write access to research");
    assert!(graphloom.ok(&["user", "list"]).contains("eve  has write access to research"));
    graphloom.ok(&["user", "add", "eve", "--right", "read"]);
    assert!(graphloom.ok(&["user", "list"]).contains("eve  has read access to research"));
    graphloom.ok(&["user", "remove", "ada"]);
    graphloom.run(&["user", "remove", "ada"]).exits(1).says("graphloom user list");
}

#[cfg(unix)]
#[test]
fn the_log_names_the_client_in_a_format_that_programs_can_read() {
    let graphloom = Graphloom::new();
    graphloom.ok(&["user", "add", "ada"]);
    let path = graphloom.path("server.log");
    let log = std::fs::File::create(&path).expect("a file");
    let mut command = graphloom.command(&["serve", "--port", "0", "--trusted-proxy", "127.0.0.1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("it runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("listening on http://").expect("an address").to_owned();
    let serving = Serving { child, address };
    for (path, form) in [
        ("/login", "username=mallory%22+client%3D192.0.2.7&password=guessed"),
        ("/livez", ""),
        ("/documents/status_counts", ""),
    ] {
        let mut stream = TcpStream::connect(&serving.address).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let method = if form.is_empty() { "GET" } else { "POST" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nx-forwarded-for: 203.0.113.9\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
            serving.address,
            form.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        stream.read_to_string(&mut String::new()).expect("an answer");
    }
    serving.stop();
    let log = std::fs::read_to_string(path).expect("a log");
    let lines: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split_once("graphloom_server::observe: answered "))
        .map(|(_, rest)| rest)
        .collect();
    let [login, counts] = lines.as_slice() else { panic!("probes are not in it: {log}") };
    assert!(login.starts_with("client=203.0.113.9 status=401 "), "{login}");
    assert!(login.contains(r#"caller="mallory\" client=192.0.2.7""#), "{login}");
    assert!(counts.starts_with("client=203.0.113.9 status=401 "), "{counts}");
    for said in [
        "every request needs an API key or a login",
        "data folder: /",
        "workspaces: default",
        "LLMs: none",
        "/docs",
    ] {
        assert!(log.contains(said), "{said}: {log}");
    }
}

#[cfg(unix)]
#[test]
fn the_log_names_the_caller_that_lacks_a_right() {
    let graphloom = Graphloom::new();
    let made = graphloom.json(&["key", "create", "notes", "--right", "read", "--only", "default"]);
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    let path = graphloom.path("server.log");
    let log = std::fs::File::create(&path).expect("a file");
    let serving = Serving::start_with_log(&graphloom, &[], log.into());
    for (method, path) in [("DELETE", "/documents"), ("GET", "/w/other/graph/label/list")] {
        assert_eq!(serving.send(method, path, key, &json!({})).0, 403);
    }
    serving.stop();
    let log = std::fs::read_to_string(path).expect("a log");
    let answered = |line: &&str| line.contains("\"status\":403");
    let callers = log.lines().filter(answered).filter_map(|line| {
        let said: Value = serde_json::from_str(line).expect("JSON");
        said["fields"]["caller"].as_str().map(str::to_owned)
    });
    assert_eq!(callers.collect::<Vec<_>>(), [format!("key {id}"), format!("key {id}")], "{log}");
}

#[test]
fn failed_chunks_are_counted_until_a_retry_indexes_them() {
    let model = ScriptedModel::start();
    let graphloom = with_things(&model, &["ThingA", "ThingB"]);
    model.refuse(Some("ThingB"));
    graphloom.run(&["add", "docs"]).exits(3);
    let chunks = || {
        // A new process has not counted anything yet.
        let serving = Serving::start(&graphloom, &[]);
        let (_, metrics) = serving.send("GET", "/metrics", "", &json!({}));
        let line =
            metrics.lines().find(|line| line.starts_with("graphloom_chunks_ill{") && line.contains("failed"));
        line.expect("a line").rsplit(' ').next().expect("a number").to_owned()
    };
    assert_eq!(chunks(), "1");
    model.refuse(None);
    graphloom.run(&["retry"]).exits(0);
    assert_eq!(chunks(), "0");
}

#[cfg(unix)]
#[test]
fn nothing_is_acknowledged_while_the_workspace_file_is_missing() {
    let graphloom = Graphloom::new();
    graphloom.write("station.md", "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995.");
    graphloom.ok(&["add", "station.md"]);
    let serving = Serving::start(&graphloom, &[]);
    let send = |name: &str| {
        let body = json!({ "text": format!("Ada met Bob in {name}."), "file_source": name });
        serving.send("POST", "/documents/text", "", &body)
    };
    assert_eq!(send("one.md").0, 200);
    let (file, away) = (graphloom.path(".graphloom/default.graphloom"), graphloom.path("away"));
    std::fs::rename(&file, &away).expect("moved");
    let (status, said) = send("two.md");
    assert_eq!(status, 503, "{said}");
    assert!(said.contains("moved, deleted or replaced"), "{said}");
    assert_eq!(serving.send("GET", "/readyz", "", &json!({})).0, 503);
    std::fs::rename(&away, &file).expect("moved back");
    assert_eq!(send("three.md").0, 200);
    assert_eq!(serving.send("GET", "/readyz", "", &json!({})).0, 200);
    serving.stop();
    assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 3);
    graphloom.ok(&["check"]);
}
