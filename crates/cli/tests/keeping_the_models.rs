//! A workspace keeps the models and settings it is built with; commands with others are refused unless they pass `--switch`.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use graphloom_providers::testing::{Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::common::model::ScriptedModel;
use crate::common::serving::Serving;
use crate::common::{CommandResult, Graphloom};

/// How long a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

/// Writes a document for each name, which relates it to `ThingZ`.
fn things(names: &[&str]) -> Graphloom {
    let graphloom = Graphloom::new();
    for name in names {
        graphloom.write(&format!("docs/{name}.md"), format!("{name} stands beside ThingZ.\n"));
    }
    graphloom
}

/// Returns the flags that select the model for a single command.
fn said(address: &str) -> [String; 4] {
    let base_url = format!("base_url={address}");
    ["--llm".to_owned(), "openai:scripted".to_owned(), "--set".to_owned(), base_url]
}

/// Runs with the model's flags after the arguments.
fn run_with(graphloom: &Graphloom, address: &str, arguments: &[&str]) -> CommandResult {
    let said = said(address);
    let all: Vec<&str> = arguments.iter().copied().chain(said.iter().map(String::as_str)).collect();
    graphloom.run(&all)
}

fn asked(model: &ScriptedModel) -> usize {
    model.asked().values().sum()
}

/// A service that has only the model `good`.
fn service_of_good() -> ScriptedServer {
    ScriptedServer::start(|_, request| {
        let asked = request.json();
        if asked["model"] != "good" {
            let error = json!({ "message": "The model does not exist", "code": "model_not_found" });
            return Reply::json(404, json!({ "error": error }).to_string());
        }
        if let Some(texts) = asked["input"].as_array() {
            let vectors: Vec<Value> = texts.iter().map(|_| json!({ "embedding": [0.6, 0.8] })).collect();
            return Reply::json(200, json!({ "data": vectors }).to_string());
        }
        let message = json!({ "content": "entity<|#|>ThingA<|#|>Concept<|#|>It is a thing.\n<|COMPLETE|>" });
        Reply::json(200, json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }).to_string())
    })
}

#[test]
fn another_model_replaces_one_that_its_service_does_not_have() {
    let service = service_of_good();
    for (flag, key, refusal) in [
        ("--llm", "extract_llm", "built with extract_llm openai:good, not openai:typo"),
        ("--embedder", "embedder", "embedded with openai:good, not with openai:typo"),
    ] {
        let graphloom = things(&["ThingA"]).with("GRAPHLOOM_BASE_URL", &service.url());
        graphloom.run(&[flag, "openai:typo", "add", "docs"]).exits(1).says("no model openai:typo");
        // Without a model, the command uses the workspace's, not the rules.
        graphloom.run(&["work"]).exits(1).says("no model openai:typo");
        graphloom.run(&[flag, "openai:good", "work"]).exits(0);
        let settings = graphloom.json(&["status"])["settings"].clone();
        assert_eq!(settings[key], "openai:good");
        assert!(!settings.to_string().contains("typo"), "{settings}");
        graphloom.run(&["status"]).exits(0).says("  1 ready");

        graphloom.write("docs/ThingB.md", "ThingB stands beside ThingZ.\n");
        graphloom.run(&[flag, "openai:typo", "add", "docs"]).says(refusal);
    }
}

/// Waits until every document is in the graph.
fn wait_until_ready(graphloom: &Graphloom, documents: u64) {
    let until = Instant::now() + PATIENCE;
    while graphloom.json(&["status"])["by_status"]["ready"] != documents {
        assert!(Instant::now() < until, "not indexed");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn work_after_an_outage_continues_with_the_same_model_and_never_with_rules() {
    let graphloom = things(&["ThingA"]);
    let unused = TcpListener::bind("127.0.0.1:0").expect("a port");
    let nowhere = format!("http://{}/v1", unused.local_addr().expect("bound"));
    drop(unused);
    run_with(&graphloom, &nowhere, &["add", "docs"]).exits(1).says("reaching model openai:scripted");
    for command in ["work", "retry"] {
        let ran = graphloom.run(&[command]).exits(1);
        ran.says("reaching model openai:scripted")
            .says(&format!("help: start the model server at {nowhere}, or"));
    }
    assert_eq!(graphloom.json(&["status"])["counts"]["entities"], 0, "rules read nothing");

    let model = ScriptedModel::start();
    graphloom.run(&["--set", &format!("base_url={}", model.base_url()), "work"]).exits(0);
    assert_eq!(asked(&model), 1);
    graphloom.run(&["status"]).exits(0).says("built with  openai:scripted").says("1 ready");
}

#[test]
fn every_later_command_uses_the_models_and_settings_of_the_workspace() {
    let model = ScriptedModel::start();
    model.answer_with("ThingA does [1].");
    let graphloom = things(&["ThingA"]);
    let add = ["add", "docs", "--gleaning", "0", "--set", "chunk_tokens=300", "--no-wait"];
    run_with(&graphloom, &model.base_url(), &add).exits(0);
    model.refuse(Some("ThingA stands"));
    graphloom.run(&["work"]).exits(3);
    model.refuse(None);
    graphloom.run(&["retry"]).exits(0);
    assert_eq!(asked(&model), 2, "by work and by retry, with no gleaning");
    graphloom.write("docs/ThingB.md", "ThingB stands beside ThingZ.\n");
    graphloom.run(&["add", "docs"]).exits(0);
    assert_eq!(asked(&model), 3);
    assert_eq!(graphloom.json(&["ask", "What does ThingA do?"])["model"], "openai:scripted");
    let offline = graphloom.json(&["--llm", "none", "ask", "What does ThingA do?"]);
    assert_ne!(offline["model"], "openai:scripted", "a question can use another model");
    let shown = graphloom.ok(&["config", "show", "--origin"]);
    let origin = |key: &str| {
        let line = shown.lines().find(|line| line.starts_with(&format!("{key} "))).expect("the key");
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(origin("extract_llm"), "openai:scripted stored in the workspace");
    assert_eq!(origin("chunk_tokens"), "300 stored in the workspace");
    assert_eq!(origin("llm"), "none default");
}

#[test]
fn a_server_and_a_watched_folder_use_the_model_of_the_workspace() {
    let model = ScriptedModel::start();
    let graphloom = things(&["ThingA"]);
    run_with(&graphloom, &model.base_url(), &["add", "docs", "--gleaning", "0", "--no-wait"]).exits(0);
    let server = Serving::start(&graphloom, &[]);
    let text = json!({ "text": "ThingB stands beside ThingZ.", "file_source": "b.md" });
    server.ok("POST", "/documents/text", "", &text);
    wait_until_ready(&graphloom, 2);
    assert_eq!(asked(&model), 2);
    drop(server);

    graphloom.write("docs/ThingC.md", "ThingC stands beside ThingZ.\n");
    let mut command = graphloom.command(&["--json", "add", "docs", "--watch"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let watches = lines
        .map_while(Result::ok)
        .any(|line| serde_json::from_str::<Value>(&line).is_ok_and(|event| event["event"] == "watching"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(watches);
    assert_eq!(asked(&model), 3);
}

#[test]
fn documents_added_by_an_mcp_client_use_the_model_of_the_workspace() {
    let model = ScriptedModel::start();
    let graphloom = things(&["ThingA"]);
    run_with(&graphloom, &model.base_url(), &["add", "docs", "--gleaning", "0"]).exits(0);
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "add_document",
            "arguments": { "name": "b.md", "text": "ThingB stands beside ThingZ." } } }),
    ];
    let mut child = graphloom
        .command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    for message in messages {
        std::io::Write::write_all(&mut input, format!("{message}\n").as_bytes()).expect("sent");
    }
    wait_until_ready(&graphloom, 2);
    assert_eq!(asked(&model), 2);
    drop(input);
    child.wait().expect("it ends");
}

#[test]
fn other_models_and_settings_are_refused_until_the_workspace_is_switched() {
    let model = ScriptedModel::start();
    let graphloom = things(&["ThingA"]);
    run_with(&graphloom, &model.base_url(), &["add", "docs", "--gleaning", "0"]).exits(0);
    let before = graphloom.hash();
    graphloom.write("docs/ThingB.md", "ThingB stands beside ThingZ.\n");
    for (arguments, what) in [
        (["--llm", "openai:second", "add", "docs"], "extract_llm openai:scripted, not openai:second"),
        (["--llm", "none", "add", "docs"], "extract_llm openai:scripted, not none"),
        (["--set", "chunk_tokens=300", "work", "-v"], "chunk_tokens (unset), not 300"),
        (["--set", "language=French", "retry", "-v"], "language (unset), not French"),
    ] {
        let refused = graphloom.run(&arguments).exits(2);
        refused.says("the workspace is built with").says(what).says("--switch uses them");
    }
    assert_eq!((graphloom.hash(), asked(&model)), (before, 1), "nothing was built or stored");

    let switched = graphloom.run(&["--llm", "openai:second", "add", "docs", "--switch"]).exits(0);
    switched.says("the workspace is now built with extract_llm openai:second");
    assert_eq!(asked(&model), 2, "the graph is unchanged");
    graphloom.write("docs/ThingC.md", "ThingC stands beside ThingZ.\n");
    graphloom.run(&["add", "docs"]).exits(0);
    graphloom.run(&["status"]).exits(0).says("built with  openai:second").says("3 ready");
    graphloom.run(&["--llm", "openai:scripted", "work"]).exits(2).says("openai:second, not openai:scripted");
}

#[test]
fn a_server_with_another_model_refuses_documents_and_says_how_to_switch() {
    let graphloom = things(&["ThingA"]);
    graphloom.ok(&["add", "docs"]);
    let model = ScriptedModel::start();
    let set = format!("base_url={}", model.base_url());
    let server = Serving::start(&graphloom, &["--llm", "openai:scripted", "--set", &set]);
    let text = json!({ "text": "ThingB stands beside ThingZ.", "file_source": "b.md" });
    let (status, body) = server.send("POST", "/documents/text", "", &text);
    assert_eq!(status, 409, "{body}");
    assert!(body.contains("extract_llm none, not openai:scripted"), "{body}");
    assert!(body.contains("switch the workspace to them"), "{body}");
    assert_eq!(asked(&model), 0);
}

#[test]
fn a_workspace_without_documents_accepts_any_model() {
    let model = ScriptedModel::start();
    let graphloom = things(&["ThingA"]);
    graphloom.ok(&["add", "docs"]);
    run_with(&graphloom, &model.base_url(), &["add", "docs"]).exits(2).says("extract_llm none");
    graphloom.ok(&["rm", "docs/ThingA.md"]);
    run_with(&graphloom, &model.base_url(), &["add", "docs", "--gleaning", "0"]).exits(0);
    assert_eq!(asked(&model), 1);
    graphloom.run(&["status"]).exits(0).says("built with  openai:scripted");
}

#[test]
fn no_keys_and_no_credentials_in_addresses_are_stored() {
    let model = ScriptedModel::start();
    let graphloom = things(&["ThingA"]).with("OPENAI_API_KEY", "sk-never-to-be-stored");
    let address = model.base_url().replace("http://", "http://me:pw-never-to-be-stored@");
    run_with(&graphloom, &address, &["add", "docs", "--gleaning", "0"]).exits(0);
    let settings = graphloom.json(&["status"])["settings"].clone();
    assert_eq!(settings["base_url"], json!(model.base_url()));
    for entry in std::fs::read_dir(graphloom.path(".graphloom")).expect("the data folder") {
        let path = entry.expect("an entry").path();
        let bytes = if path.is_file() { std::fs::read(&path).expect("readable") } else { Vec::new() };
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("never-to-be-stored"), "{}", path.display());
    }
}

#[test]
fn an_address_stored_in_a_workspace_causes_a_warning_if_it_would_receive_a_key() {
    let graphloom = things(&["ThingA"]);
    run_with(&graphloom, "https://elsewhere.example/v1", &["add", "docs", "--no-wait"]).exits(0);
    let graphloom = graphloom.with("OPENAI_API_KEY", "sk-do-not-print-me");
    let warned = graphloom.run(&["--quiet", "status"]).exits(0);
    assert!(warned.stderr.contains("would be sent to elsewhere.example"), "{}", warned.stderr);
    assert!(!warned.stderr.contains("sk-do-not"));
}

#[test]
fn custom_prompts_are_stored_and_a_changed_one_is_refused() {
    let model = ScriptedModel::start();
    let graphloom = things(&["ThingA"]);
    graphloom.ok(&["prompts", "export", "own", "extract_user"]);
    let prompts = ["add", "docs", "--gleaning", "0", "--set", "prompts_dir=own"];
    run_with(&graphloom, &model.base_url(), &prompts).exits(0);
    graphloom.write("docs/ThingB.md", "ThingB stands beside ThingZ.\n");
    graphloom.run(&["add", "docs"]).exits(0);
    let own = std::fs::read_to_string(graphloom.path("own/extract_user.md")).expect("the prompt");
    graphloom.write("own/extract_user.md", format!("{own}\nBe brief.\n"));
    graphloom.run(&["add", "docs"]).exits(2).says("the workspace is built with prompts");
    graphloom.run(&["add", "docs", "--switch"]).exits(0);
    graphloom.run(&["add", "docs"]).exits(0);
}

#[test]
fn the_embedder_is_fixed_by_the_first_document_and_not_by_the_first_vector() {
    let unused = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = format!("ollama_host=http://{}", unused.local_addr().expect("bound"));
    drop(unused);
    let graphloom = things(&["ThingA"]);
    graphloom.run(&["--embedder", "ollama:embed-x", "--set", &host, "add", "docs"]).exits(1);
    graphloom.run(&["work"]).exits(1).says("ollama:embed-x");
    graphloom.run(&["--embedder", "builtin", "work"]).exits(2).says("embedder ollama:embed-x, not builtin");
    graphloom.run(&["--embedder", "builtin", "work", "--switch"]).exits(0);
    graphloom.run(&["status"]).exits(0).says("1 ready");
}

#[test]
fn custom_prompts_inside_a_project_move_with_it_and_a_missing_folder_has_a_remedy() {
    let model = ScriptedModel::start();
    let graphloom = Graphloom::new();
    graphloom.write("one/a.md", "ThingA stands beside ThingZ.\n");
    let run = |folder: &str, arguments: &[&str]| {
        let mut command = graphloom.command(arguments);
        command.current_dir(graphloom.path(folder));
        CommandResult::of(arguments, command.output().expect("it runs"))
    };
    run("one", &["prompts", "export", "own", "extract_user"]).exits(0);
    let said = said(&model.base_url());
    let add = ["add", "a.md", "--gleaning", "0", "--set", "prompts_dir=own"];
    let add: Vec<&str> = add.into_iter().chain(said.iter().map(String::as_str)).collect();
    run("one", &add).exits(0);
    std::fs::rename(graphloom.path("one"), graphloom.path("two")).expect("moved");
    graphloom.write("two/b.md", "ThingB stands beside ThingZ.\n");
    run("two", &["add", "b.md"]).exits(0);

    std::fs::rename(graphloom.path("two/own"), graphloom.path("two/other")).expect("moved");
    let gone = run("two", &["work"]).exits(2).says("own does not exist").says("--set prompts_dir=FOLDER");
    assert!(!gone.stderr.contains("No such file"), "{}", gone.stderr);
    run("two", &["work", "--set", "prompts_dir=other", "--switch"]).exits(0);
    run("two", &["work"]).exits(0);
}

#[test]
fn an_empty_value_unsets_a_setting_of_the_workspace() {
    let model = ScriptedModel::start();
    let graphloom = things(&["ThingA"]);
    let add = ["add", "docs", "--gleaning", "0", "--set", "language=French"];
    run_with(&graphloom, &model.base_url(), &add).exits(0);
    let refused = graphloom.run(&["work", "--set", "language="]).exits(2);
    refused.says("language French, not (unset)");
    graphloom.run(&["work", "--set", "language=", "--switch"]).exits(0);
    assert_eq!(graphloom.json(&["status"])["settings"]["language"], "");
    graphloom.run(&["work"]).exits(0);
    graphloom.run(&["--set", "workspace=", "status"]).exits(2).says("workspace cannot be empty");
}
