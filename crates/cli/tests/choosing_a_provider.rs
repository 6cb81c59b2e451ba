//! All providers are selected, tested and called the same way, and a key is sent only to the address its owner set.

use graphloom_providers::testing::{Reply, ScriptedServer};

use crate::common::Graphloom;

fn with_a_document(graphloom: &Graphloom) {
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "a.md"]);
}

#[test]
fn anthropic_answers_with_its_key_and_doctor_tests_it() {
    let server = ScriptedServer::start(|_, request| {
        if request.json()["stream"] == true {
            return Reply::sse([
                "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":1}}}\n\n",
                "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Ada [1].\"}}\n\n",
                "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\n",
                "data: {\"type\":\"message_stop\"}\n\n",
            ]);
        }
        Reply::json(
            200,
            r#"{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn",
                "usage":{"input_tokens":9,"output_tokens":1}}"#,
        )
    });
    let graphloom = Graphloom::new()
        .with("ANTHROPIC_API_KEY", "sk-ant-0123456789")
        .with("ANTHROPIC_BASE_URL", &server.url());
    with_a_document(&graphloom);
    let answer = graphloom.json(&[
        "--set",
        "answer_llm=anthropic:claude-x",
        "ask",
        "--stream",
        "Who wrote the first program?",
    ]);
    assert_eq!((&answer["answer"], &answer["model"]), (&"Ada [1].".into(), &"anthropic:claude-x".into()));
    assert_eq!(answer["calls"][0]["prompt_tokens"], 10);
    let asked = &server.recorded()[0];
    assert_eq!(
        (asked.path.as_str(), asked.headers["x-api-key"].as_str()),
        ("/v1/messages", "sk-ant-0123456789")
    );
    graphloom
        .run(&["--llm", "anthropic:claude-x", "doctor"])
        .exits(0)
        .says("anthropic:claude-x answers (the test used 10 tokens)");
    graphloom.run(&["doctor"]).exits(0).says("an API key is set; --llm anthropic:MODEL uses it");
}

#[test]
fn gemini_embeds_and_answers_with_its_key_and_doctor_tests_it() {
    let server = ScriptedServer::start(|_, request| {
        if request.path.ends_with(":batchEmbedContents") {
            let count = request.json()["requests"].as_array().map_or(0, Vec::len);
            let vectors = vec![r#"{"values":[0.6,0.8]}"#; count].join(",");
            return Reply::json(200, format!(r#"{{"embeddings":[{vectors}]}}"#));
        }
        let body = r#"{"candidates":[{"content":{"parts":[{"text":"Ada [1]."}]},"finishReason":"STOP"}],
            "usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}}"#;
        if request.path.contains("alt=sse") {
            return Reply::sse([format!("data: {}\n\n", body.replace('\n', " "))]);
        }
        Reply::json(200, body)
    });
    let graphloom = Graphloom::new()
        .with("GOOGLE_API_KEY", "google-0123456789")
        .with("GRAPHLOOM_GEMINI_BASE_URL", &format!("{}/v1beta", server.url()))
        .with("GRAPHLOOM_EMBEDDER", "gemini:embedding-x");
    with_a_document(&graphloom);
    let answer =
        graphloom.json(&["--set", "answer_llm=gemini:gemini-x", "ask", "Who wrote the first program?"]);
    assert_eq!((&answer["answer"], &answer["model"]), (&"Ada [1].".into(), &"gemini:gemini-x".into()));
    let asked = server.recorded();
    assert!(asked.iter().all(|request| request.headers["x-goog-api-key"] == "google-0123456789"));
    assert_eq!(asked[0].path, "/v1beta/models/embedding-x:batchEmbedContents");
    let tried = graphloom.run(&["--llm", "gemini:gemini-x", "doctor"]).exits(0);
    tried
        .says("gemini:embedding-x works, 2 dimensions")
        .says("gemini:gemini-x answers (the test used 11 tokens");
}

#[test]
fn a_service_that_forbids_a_call_is_quoted_and_only_a_wrong_key_is_called_one() {
    for (status, message, error, help) in [
        (
            401,
            "Incorrect API key",
            "openai:m rejected the API key: Incorrect API key",
            "help: set OPENAI_API_KEY",
        ),
        (
            403,
            "Country not supported",
            "the service does not allow the use of model openai:m (status 403): Country not supported",
            "help: check which models, countries and networks the service allows",
        ),
        (
            403,
            "The input was flagged by moderation",
            "openai:m rejected the request (status 403): The input was flagged by moderation",
            "",
        ),
    ] {
        let body = serde_json::json!({ "error": { "message": message } }).to_string();
        let server = ScriptedServer::start(move |_, _| Reply::json(status, body.clone()));
        let graphloom = Graphloom::new()
            .with("OPENAI_API_KEY", "sk-0123456789")
            .with("GRAPHLOOM_BASE_URL", &server.url());
        with_a_document(&graphloom);
        let answer_llm = ["--set", "answer_llm=openai:m"];
        let asked = graphloom.run(&[&answer_llm[..], &["ask", "Who wrote the first program?"]].concat());
        asked.exits(1).says(error).says(help);
    }
}

#[test]
fn a_missing_provider_key_is_an_error_at_start_that_names_the_variable() {
    let graphloom = Graphloom::new().with("OPENAI_API_KEY", "sk-of-another");
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    for (flag, model, variable) in [
        ("--llm", "anthropic:claude-x", "set ANTHROPIC_API_KEY, or set GRAPHLOOM_ANTHROPIC_BASE_URL"),
        ("--llm", "gemini:gemini-x", "set GEMINI_API_KEY, or set GRAPHLOOM_GEMINI_BASE_URL"),
        ("--embedder", "gemini:embedding-x", "set GEMINI_API_KEY, or set GRAPHLOOM_GEMINI_BASE_URL"),
    ] {
        graphloom.run(&[flag, model, "add", "a.md"]).exits(2).says(variable);
    }
    graphloom.run(&["--embedder", "anthropic:claude-x", "add", "a.md"]).exits(2).says("but must be builtin");
    assert!(!graphloom.path(".graphloom/default.graphloom").exists());
    graphloom.ok(&["add", "a.md"]);
    graphloom.run(&["--set", "reranker=cohere:r", "ask", "Who?"]).exits(2).says("set COHERE_API_KEY");
    graphloom
        .run(&["--set", "reranker=jina:r", "doctor"])
        .exits(1)
        .says("FAIL  reranker")
        .says("JINA_API_KEY");
}

#[test]
fn a_folder_that_would_send_the_users_key_elsewhere_causes_a_warning_even_if_quiet() {
    let graphloom = Graphloom::new().with("OPENAI_API_KEY", "sk-do-not-print-me");
    graphloom.write("graphloom.toml", "base_url = \"https://elsewhere.example/v1\"\n");
    let warned = graphloom.run(&["--quiet", "config", "show"]).exits(0);
    assert!(warned.stderr.contains(
        "warning: your openai key (environment OPENAI_API_KEY) would be sent to elsewhere.example"
    ));
    assert!(!warned.stderr.contains("sk-do-not"));
    graphloom.run(&["doctor"]).exits(0).says("warn  key: your openai key");
    let chosen = graphloom.with("GRAPHLOOM_BASE_URL", "https://elsewhere.example/v1");
    assert!(!chosen.run(&["config", "show"]).exits(0).stderr.contains("elsewhere.example"));
}

#[test]
fn a_sentence_scorer_that_is_not_downloaded_is_an_error_with_a_remedy() {
    let graphloom = Graphloom::new();
    with_a_document(&graphloom);
    let scorer = ["--set", "sentence_scorer=local:all-minilm-l6-v2"];
    graphloom
        .run(&[&scorer[..], &["ask", "Who wrote the first program?"]].concat())
        .exits(1)
        .says("setting up sentence scorer local:all-minilm-l6-v2: no model all-minilm-l6-v2 in ")
        .says("`graphloom model pull NAME`");
    graphloom.run(&[&scorer[..], &["doctor"]].concat()).exits(1).says("sentence scorer");
}
