//! Chat and embeddings over the Gemini API.

use crate::common::{KEY, complete, deltas, endpoint, http, quick};
use graphloom_core::{
    ChatMessage, ChatRequest, ChatRole, Embedder, FinishReason, LanguageModel, ModelError, Purpose, Usage,
};
use graphloom_providers::EmbedBatching;
use graphloom_providers::gemini::{GeminiChat, GeminiChatConfig, GeminiEmbedder, GeminiEmbedderConfig};
use graphloom_providers::testing::{Reply, ScriptedServer};

fn chat(server: &ScriptedServer) -> GeminiChat {
    let config = GeminiChatConfig {
        endpoint: endpoint("gemini", server),
        model: "gemini-x".to_owned(),
        temperature: Some(0.5),
    };
    GeminiChat::new(http(quick()), config).unwrap()
}

fn whole(text: &str, reason: &str) -> Reply {
    Reply::json(
        200,
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"hm","thought":true}},{{"text":"{text}"}}],"role":"model"}},
                "finishReason":"{reason}","index":0}}],
                "usageMetadata":{{"promptTokenCount":40,"cachedContentTokenCount":32,"candidatesTokenCount":3,
                "thoughtsTokenCount":6,"totalTokenCount":49}},"modelVersion":"gemini-x"}}"#
        ),
    )
}

#[tokio::test]
async fn a_whole_answer_is_its_text_with_all_tokens_counted() {
    let server = ScriptedServer::replies([whole("hello", "STOP")]);
    let model = chat(&server);
    assert_eq!(model.name(), "gemini:gemini-x");
    let (deltas, end) = deltas(&model, false).await;
    let end = end.unwrap();
    assert_eq!((deltas, end.finish), (vec!["hello".to_owned()], FinishReason::Stop));
    assert_eq!(end.usage, Usage { prompt_tokens: 40, cached_prompt_tokens: 32, completion_tokens: 9 });
    let asked = &server.recorded()[0];
    assert_eq!(asked.path, "/models/gemini-x:generateContent");
    assert_eq!(asked.headers["x-goog-api-key"], KEY);
    assert!(!asked.headers.contains_key("authorization"));
    assert_eq!(
        asked.body,
        r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"temperature":0.5}}"#
    );
}

#[tokio::test]
async fn a_streamed_answer_arrives_in_pieces() {
    let server = ScriptedServer::replies([Reply::sse([
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hel\"}],\"role\":\"model\"},\"index\":0}],\
         \"usageMetadata\":{\"promptTokenCount\":4}}\r\n\r\ndata: {\"candi",
        "dates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}],\"role\":\"model\"},\"finishReason\":\"MAX_TOKENS\",\"index\":0}],\
         \"usageMetadata\":{\"promptTokenCount\":4,\"candidatesTokenCount\":2,\"totalTokenCount\":6}}\r\n\r\n",
    ])]);
    let (deltas, end) = deltas(&chat(&server), true).await;
    assert_eq!(deltas.concat(), "Hello");
    let end = end.unwrap();
    assert_eq!(end.finish, FinishReason::Length);
    assert_eq!(end.usage, Usage { prompt_tokens: 4, completion_tokens: 2, ..Usage::default() });
    assert_eq!(server.recorded()[0].path, "/models/gemini-x:streamGenerateContent?alt=sse");
}

#[tokio::test]
async fn instructions_and_roles_have_their_own_fields() {
    let server = ScriptedServer::replies([whole("{}", "STOP")]);
    let message = |role, text: &str| ChatMessage::new(role, text);
    let request = ChatRequest {
        messages: vec![
            message(ChatRole::System, "rules"),
            message(ChatRole::User, "one"),
            message(ChatRole::Assistant, "two"),
            message(ChatRole::User, "three"),
        ],
        max_output_tokens: Some(9),
        stop: vec!["END".to_owned()],
        temperature: Some(0.0),
        json_object: true,
        ..ChatRequest::default()
    };
    complete(&chat(&server), request).await.unwrap();
    assert_eq!(
        server.recorded()[0].body,
        r#"{"systemInstruction":{"parts":[{"text":"rules"}]},"contents":[{"role":"user","parts":[{"text":"one"}]},{"role":"model","parts":[{"text":"two"}]},{"role":"user","parts":[{"text":"three"}]}],"generationConfig":{"temperature":0.0,"maxOutputTokens":9,"stopSequences":["END"],"responseMimeType":"application/json"}}"#
    );
}

#[tokio::test]
async fn an_answer_with_only_thoughts_is_empty_and_cut() {
    let body = r#"{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}],
        "usageMetadata":{"promptTokenCount":4,"thoughtsTokenCount":16}}"#;
    let server = ScriptedServer::replies([Reply::json(200, body)]);
    let (deltas, end) = deltas(&chat(&server), false).await;
    let end = end.unwrap();
    assert!(deltas.is_empty());
    assert_eq!((end.finish, end.usage.completion_tokens), (FinishReason::Length, 16));
}

#[tokio::test]
async fn a_blocked_prompt_is_a_permanent_error_and_a_blocked_answer_has_its_own_finish_reason() {
    let server =
        ScriptedServer::replies([Reply::json(200, r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#)]);
    let error = deltas(&chat(&server), false).await.1.unwrap_err();
    assert_eq!(
        error.to_string(),
        "model gemini:gemini-x rejected the request (status 200): the prompt was blocked: SAFETY"
    );
    assert!(!error.is_transient());
    let server = ScriptedServer::replies([whole("x", "RECITATION")]);
    assert_eq!(deltas(&chat(&server), false).await.1.unwrap().finish, FinishReason::Other);
}

#[tokio::test]
async fn an_answer_without_a_finish_reason_was_cut() {
    let server = ScriptedServer::replies([Reply::sse([
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n",
    ])]);
    let error = deltas(&chat(&server), true).await.1.unwrap_err();
    assert!(matches!(error, ModelError::Malformed { .. }), "{error}");
}

async fn check_error(status: u16, body: &str) -> ModelError {
    let server = ScriptedServer::replies([Reply::json(status, body)]);
    deltas(&chat(&server), false).await.1.unwrap_err()
}

#[tokio::test]
async fn errors_are_mapped_as_for_other_providers() {
    let error = check_error(
        400,
        r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT",
            "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
    );
    let error = error.await;
    assert!(matches!(error, ModelError::Unauthorized { .. }), "{error}");
    assert_eq!(error.remedy().as_deref(), Some("set GEMINI_API_KEY"));
    let error = check_error(
        429,
        r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED",
            "details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3600s"}]}}"#,
    );
    assert!(matches!(error.await, ModelError::RateLimited { retry_after_ms: Some(3_600_000), .. }));
    let error =
        check_error(404, r#"{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}"#).await;
    assert!(matches!(error, ModelError::NoSuchModel { .. }), "{error}");
    let error = check_error(503, r#"[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]"#).await;
    assert_eq!(error.to_string(), "model gemini:gemini-x failed (status 503): busy");
}

fn embedder(server: &ScriptedServer) -> GeminiEmbedder {
    let config = GeminiEmbedderConfig {
        endpoint: endpoint("gemini", server),
        model: "embedding-x".to_owned(),
        batching: EmbedBatching::default(),
    };
    GeminiEmbedder::new(http(quick()), config).unwrap()
}

#[tokio::test]
async fn embeddings_are_in_order_with_unit_length_and_have_a_task_type() {
    let body = r#"{"embeddings":[{"values":[3,4]},{"values":[0,2]}]}"#;
    let server = ScriptedServer::replies([Reply::json(200, body)]);
    let embedder = embedder(&server);
    let texts = ["a".to_owned(), "b".to_owned()];
    let embedded = embedder.embed(Purpose::Document, &texts).await.unwrap();
    embedder.embed(Purpose::Query, &texts).await.unwrap();
    assert_eq!(embedded.vectors, [vec![0.6, 0.8], vec![0.0, 1.0]]);
    assert_eq!((embedder.name(), embedded.attempts), ("gemini:embedding-x", 1));
    let asked = server.recorded();
    assert_eq!(asked[0].path, "/models/embedding-x:batchEmbedContents");
    assert_eq!(
        asked[0].body,
        r#"{"requests":[{"model":"models/embedding-x","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_DOCUMENT"},{"model":"models/embedding-x","content":{"parts":[{"text":"b"}]},"taskType":"RETRIEVAL_DOCUMENT"}]}"#
    );
    assert_eq!(asked[1].json()["requests"][0]["taskType"], "RETRIEVAL_QUERY");
}

#[tokio::test]
async fn a_batch_has_at_most_a_hundred_texts() {
    let server = ScriptedServer::start(|_, request| {
        let count = request.json()["requests"].as_array().unwrap().len();
        Reply::json(200, format!(r#"{{"embeddings":[{}]}}"#, vec![r#"{"values":[1,0]}"#; count].join(",")))
    });
    let texts: Vec<String> = (0..250).map(|n| n.to_string()).collect();
    assert_eq!(embedder(&server).embed(Purpose::Document, &texts).await.unwrap().vectors.len(), 250);
    let mut sizes: Vec<usize> = server
        .recorded()
        .iter()
        .map(|request| request.json()["requests"].as_array().unwrap().len())
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [50, 100, 100]);
}

#[tokio::test]
async fn a_model_that_refuses_the_task_type_is_called_without_it() {
    let refusal =
        r#"{"error":{"code":400,"message":"taskType is not supported","status":"INVALID_ARGUMENT"}}"#;
    let answer =
        Reply::json(200, r#"{"embeddings":[{"values":[1,0]}],"usageMetadata":{"promptTokenCount":3}}"#);
    let server = ScriptedServer::replies([Reply::json(400, refusal), answer]);
    let embedder = embedder(&server);
    let embedded = embedder.embed(Purpose::Query, &["a".to_owned()]).await.unwrap();
    assert_eq!(embedded.usage.prompt_tokens, 3);
    embedder.embed(Purpose::Query, &["b".to_owned()]).await.unwrap();
    let told: Vec<bool> = server.recorded().iter().map(|request| request.body.contains("taskType")).collect();
    assert_eq!(told, [true, false, false]);
}
