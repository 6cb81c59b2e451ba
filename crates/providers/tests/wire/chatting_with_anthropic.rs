//! Chat over Anthropic's Messages API: streamed, whole, cached, refused and broken answers.

use crate::common::{KEY, complete, deltas, endpoint, http, quick};
use graphloom_core::{ChatMessage, ChatRequest, ChatRole, FinishReason, LanguageModel, ModelError, Usage};
use graphloom_providers::anthropic::{AnthropicChat, AnthropicChatConfig};
use graphloom_providers::testing::{Reply, ScriptedServer};

fn chat(server: &ScriptedServer) -> AnthropicChat {
    let config = AnthropicChatConfig {
        endpoint: endpoint("anthropic", server),
        model: "claude-x".to_owned(),
        temperature: Some(0.0),
    };
    AnthropicChat::new(http(quick()), config).unwrap()
}

fn whole(text: &str, stop_reason: &str) -> Reply {
    Reply::json(
        200,
        format!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","model":"claude-x",
                "content":[{{"type":"thinking","thinking":"hm"}},{{"type":"text","text":"{text}"}}],
                "stop_reason":"{stop_reason}","stop_sequence":null,
                "usage":{{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":3}}}}"#
        ),
    )
}

fn streamed() -> Reply {
    Reply::sse([
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\
         \"role\":\"assistant\",\"content\":[],\"model\":\"claude-x\",\"stop_reason\":null,\"usage\":{\"input_tokens\":25,\
         \"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
         {\"type\":\"thinking\",\"thinking\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\
         \"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hel",
        "lo\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"!\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\",\"stop_sequence\":null},\
         \"usage\":{\"output_tokens\":15}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ])
}

#[tokio::test]
async fn a_whole_answer_is_its_text_with_all_tokens_counted() {
    let server = ScriptedServer::replies([whole("hello", "end_turn")]);
    let model = chat(&server);
    assert_eq!(model.name(), "anthropic:claude-x");
    let (deltas, end) = deltas(&model, false).await;
    let end = end.unwrap();
    assert_eq!((deltas, end.finish), (vec!["hello".to_owned()], FinishReason::Stop));
    assert_eq!(end.usage, Usage { prompt_tokens: 125, cached_prompt_tokens: 100, completion_tokens: 3 });
    let asked = &server.recorded()[0];
    assert_eq!(asked.path, "/messages");
    assert_eq!(
        (asked.headers["x-api-key"].as_str(), asked.headers["anthropic-version"].as_str()),
        (KEY, "2023-06-01")
    );
    assert!(!asked.headers.contains_key("authorization"));
    assert_eq!(
        asked.body,
        r#"{"model":"claude-x","max_tokens":8192,"messages":[{"role":"user","content":"hi"}],"temperature":0.0,"stream":false}"#
    );
}

#[tokio::test]
async fn a_streamed_answer_arrives_in_pieces_without_thoughts() {
    let server = ScriptedServer::replies([streamed()]);
    let (deltas, end) = deltas(&chat(&server), true).await;
    assert_eq!(deltas.concat(), "Hello!");
    let end = end.unwrap();
    assert_eq!(end.finish, FinishReason::Length);
    assert_eq!(end.usage, Usage { prompt_tokens: 32, cached_prompt_tokens: 7, completion_tokens: 15 });
}

fn conversation(system: &str) -> ChatRequest {
    let message = |role, text: &str| ChatMessage::new(role, text);
    ChatRequest {
        messages: vec![
            message(ChatRole::System, system),
            message(ChatRole::User, "one"),
            message(ChatRole::Assistant, "two"),
            message(ChatRole::User, "three"),
        ],
        max_output_tokens: Some(9),
        stop: vec!["\n".to_owned(), "END".to_owned()],
        json_object: true,
        ..ChatRequest::default()
    }
}

#[tokio::test]
async fn instructions_are_sent_separately_and_cached_once_they_repeat() {
    let server = ScriptedServer::replies([whole("{}", "end_turn")]);
    let model = chat(&server);
    for system in ["rules", "rules", "others", "rules"] {
        complete(&model, conversation(system)).await.unwrap();
    }
    let asked: Vec<_> = server.recorded().iter().map(|request| request.json()).collect();
    assert_eq!(asked[0]["max_tokens"], 9);
    assert_eq!(
        asked[0]["stop_sequences"],
        serde_json::json!(["END"]),
        "Anthropic refuses stops of only white space"
    );
    let turns: Vec<&str> =
        asked[0]["messages"].as_array().unwrap().iter().map(|turn| turn["role"].as_str().unwrap()).collect();
    assert_eq!(turns, ["user", "assistant", "user"]);
    assert_eq!(asked[0]["system"][0], serde_json::json!({"type": "text", "text": "rules"}));
    assert!(asked[0]["system"][1]["text"].as_str().unwrap().contains("JSON"));
    let marked: Vec<bool> =
        asked.iter().map(|body| body["system"][1]["cache_control"]["type"] == "ephemeral").collect();
    assert_eq!(marked, [false, true, false, true]);
}

#[tokio::test]
async fn a_shared_prefix_is_its_own_block_and_cached_at_once() {
    let server = ScriptedServer::replies([whole("x", "end_turn"), whole("y", "end_turn")]);
    let model = chat(&server);
    for shared_prefix_bytes in ["A document.".len(), 0] {
        let messages = vec![ChatMessage::new(ChatRole::User, "A document.\n\nA passage.")];
        complete(&model, ChatRequest { messages, shared_prefix_bytes, ..ChatRequest::default() })
            .await
            .unwrap();
    }
    let asked: Vec<_> = server.recorded().iter().map(|request| request.json()).collect();
    assert_eq!(
        asked[0]["messages"][0]["content"],
        serde_json::json!([
            {"type": "text", "text": "A document.", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "\n\nA passage."}
        ])
    );
    assert_eq!(asked[1]["messages"][0]["content"], "A document.\n\nA passage.");
}

#[tokio::test]
async fn every_stop_reason_is_mapped() {
    for (reason, finish) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("refusal", FinishReason::Other),
    ] {
        let server = ScriptedServer::replies([whole("x", reason)]);
        assert_eq!(deltas(&chat(&server), false).await.1.unwrap().finish, finish, "{reason}");
    }
}

fn error_body(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#)
}

async fn check_error(status: u16, kind: &str) -> ModelError {
    let server = ScriptedServer::replies([Reply::json(status, error_body(kind, "no"))]);
    deltas(&chat(&server), false).await.1.unwrap_err()
}

#[tokio::test]
async fn errors_are_mapped_by_their_status() {
    assert!(matches!(check_error(401, "authentication_error").await, ModelError::Unauthorized { .. }));
    assert!(matches!(check_error(403, "permission_error").await, ModelError::Forbidden { .. }));
    assert!(matches!(check_error(404, "not_found_error").await, ModelError::NoSuchModel { .. }));
    assert!(matches!(check_error(413, "request_too_large").await, ModelError::Refused { status: 413, .. }));
    assert!(matches!(check_error(429, "rate_limit_error").await, ModelError::RateLimited { .. }));
    assert!(matches!(check_error(529, "overloaded_error").await, ModelError::Server { status: 529, .. }));
    let remedy = check_error(401, "authentication_error").await.remedy();
    assert_eq!(remedy.as_deref(), Some("set ANTHROPIC_API_KEY"));
}

#[tokio::test]
async fn a_request_to_an_overloaded_server_is_retried() {
    let overloaded = Reply::json(529, error_body("overloaded_error", "Overloaded"));
    let server = ScriptedServer::replies([overloaded, whole("hello", "end_turn")]);
    assert_eq!(deltas(&chat(&server), false).await.1.unwrap().attempts, 2);
}

#[tokio::test]
async fn an_error_inside_a_stream_fails_the_answer_with_the_providers_message() {
    let event = format!("event: error\ndata: {}\n\n", error_body("overloaded_error", "Overloaded"));
    let server = ScriptedServer::replies([Reply::sse([event])]);
    let error = deltas(&chat(&server), true).await.1.unwrap_err();
    assert_eq!(error.to_string(), "model anthropic:claude-x failed (status 529): Overloaded");
    let cut = Reply::sse([
        "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n",
    ]);
    let error = deltas(&chat(&ScriptedServer::replies([cut])), true).await.1.unwrap_err();
    assert!(matches!(error, ModelError::Malformed { .. }) && error.is_transient());
}

#[tokio::test]
async fn a_model_that_refuses_a_temperature_gets_none() {
    let refusal =
        Reply::json(400, error_body("invalid_request_error", "`temperature` is deprecated for this model."));
    let server = ScriptedServer::replies([refusal, whole("one", "end_turn"), whole("two", "end_turn")]);
    let model = chat(&server);
    assert_eq!(deltas(&model, false).await.0, ["one"]);
    assert_eq!(deltas(&model, false).await.0, ["two"]);
    let sent: Vec<bool> =
        server.recorded().iter().map(|request| request.body.contains("temperature")).collect();
    assert_eq!(sent, [true, false, false]);
}
