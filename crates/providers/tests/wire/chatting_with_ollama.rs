//! Chat and embeddings over Ollama's native API.

use crate::common::{complete, deltas, endpoint, http, quick, request};
use graphloom_core::{ChatRequest, Embedder, FinishReason, LanguageModel, Purpose, Usage};
use graphloom_providers::EmbedBatching;
use graphloom_providers::ollama::{
    DEFAULT_CONTEXT_TOKENS, OllamaChat, OllamaChatConfig, OllamaEmbedder, OllamaEmbedderConfig,
};
use graphloom_providers::testing::{Reply, ScriptedServer};

fn chat(server: &ScriptedServer) -> OllamaChat {
    let config = OllamaChatConfig {
        endpoint: endpoint("ollama", server),
        model: "qwen3:8b".to_owned(),
        temperature: Some(0.5),
        context_tokens: DEFAULT_CONTEXT_TOKENS,
        think: None,
    };
    OllamaChat::new(http(quick()), config).unwrap()
}

fn hello() -> Reply {
    Reply::ndjson([
        "{\"message\":{\"role\":\"assistant\",\"content\":\"hel\"},\"done\":false}\n{\"message\":{\"content\":\"l",
        "o\"},\"done\":false}\n",
        "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"length\",\"prompt_eval_count\":5,\"eval_count\":2}\n",
    ])
}

#[tokio::test]
async fn response_lines_become_deltas_and_an_end() {
    let server = ScriptedServer::replies([hello()]);
    let model = chat(&server);
    assert_eq!(model.name(), "ollama:qwen3:8b");
    let (deltas, end) = deltas(&model, true).await;
    assert_eq!(deltas.concat(), "hello");
    let end = end.unwrap();
    assert_eq!(
        (end.finish, end.usage),
        (FinishReason::Length, Usage { prompt_tokens: 5, completion_tokens: 2, ..Usage::default() })
    );
    let asked = &server.recorded()[0];
    assert_eq!(asked.path, "/api/chat");
    assert_eq!(
        asked.body,
        r#"{"model":"qwen3:8b","messages":[{"role":"user","content":"hi"}],"stream":true,"options":{"num_ctx":32768,"temperature":0.5}}"#
    );
}

#[tokio::test]
async fn answer_limits_are_sent_as_options() {
    let server = ScriptedServer::replies([hello()]);
    let limited = ChatRequest { max_output_tokens: Some(9), stop: vec!["END".to_owned()], ..request(false) };
    complete(&chat(&server), limited).await.unwrap();
    let options = &server.recorded()[0].json()["options"];
    assert_eq!((&options["num_predict"], &options["stop"][0]), (&9.into(), &"END".into()));
}

#[tokio::test]
async fn without_streaming_there_is_one_delta() {
    let server = ScriptedServer::replies([hello()]);
    assert_eq!(deltas(&chat(&server), false).await.0, ["hello"]);
}

#[tokio::test]
async fn a_missing_model_is_refused_with_ollamas_message() {
    let server = ScriptedServer::replies([Reply::json(404, r#"{"error":"model 'qwen3:8b' not found"}"#)]);
    let error = deltas(&chat(&server), true).await.1.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the service has no model ollama:qwen3:8b (status 404): model 'qwen3:8b' not found"
    );
    assert!(!error.is_transient());
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("`ollama pull qwen3:8b`")));
}

#[tokio::test]
async fn an_error_line_or_a_missing_end_fails_the_answer() {
    for lines in [
        vec!["{\"message\":{\"content\":\"a\"}}\n", "{\"error\":\"out of memory\"}\n"],
        vec!["{\"message\":{\"content\":\"a\"}}\n"],
    ] {
        let server = ScriptedServer::replies([Reply::ndjson(lines)]);
        assert!(deltas(&chat(&server), true).await.1.unwrap_err().is_transient());
    }
}

#[tokio::test]
async fn embeddings_are_in_order_and_have_unit_length() {
    let server = ScriptedServer::replies([Reply::json(
        200,
        r#"{"model":"nomic","embeddings":[[3,4],[0,2]],"prompt_eval_count":9}"#,
    )]);
    let config = OllamaEmbedderConfig {
        endpoint: endpoint("ollama", &server),
        model: "nomic".to_owned(),
        batching: EmbedBatching { query_prefix: "q: ".to_owned(), ..EmbedBatching::default() },
    };
    let embedder = OllamaEmbedder::new(http(quick()), config).unwrap();
    assert_eq!(embedder.name(), r#"ollama:nomic[document="",query="q: "]"#);
    let embedded = embedder.embed(Purpose::Query, &["a".to_owned(), "b".to_owned()]).await.unwrap();
    assert_eq!(embedded.vectors, [vec![0.6, 0.8], vec![0.0, 1.0]]);
    assert_eq!((embedded.usage.prompt_tokens, embedder.dimensions().await.unwrap()), (9, 2));
    assert_eq!(server.recorded()[0].body, r#"{"model":"nomic","input":["q: a","q: b"],"truncate":true}"#);
}
