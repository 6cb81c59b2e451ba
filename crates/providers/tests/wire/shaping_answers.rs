//! Structured answers: how each service is asked for one, and what happens if the service cannot guarantee it.

use std::sync::Arc;

use crate::common::{complete, endpoint, http, quick, request};
use graphloom_core::{AnswerShape, ChatRequest, FinishReason, LanguageModel, ModelError, Shape};
use graphloom_providers::anthropic::{AnthropicChat, AnthropicChatConfig};
use graphloom_providers::gemini::{GeminiChat, GeminiChatConfig};
use graphloom_providers::ollama::{DEFAULT_CONTEXT_TOKENS, OllamaChat, OllamaChatConfig};
use graphloom_providers::openai::{OpenAiChat, OpenAiChatConfig, OutputLimitField};
use graphloom_providers::testing::{Reply, ScriptedServer};

const ANSWER: &str = r#"{"names":["Ada"]}"#;
const SCHEMA: &str = r#"{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}}},"required":["names"],"additionalProperties":false}"#;

fn shaped(stream: bool) -> ChatRequest {
    let names = Shape::List(Box::new(Shape::Text));
    let shape = Shape::Object(vec![("names", names)]);
    ChatRequest { shape: Some(Arc::new(AnswerShape { name: "named", shape })), ..request(stream) }
}

fn openai(server: &ScriptedServer) -> OpenAiChat {
    let config = OpenAiChatConfig {
        endpoint: endpoint("openai", server),
        model: "m".to_owned(),
        temperature: None,
        output_limit_field: OutputLimitField::Auto,
    };
    OpenAiChat::new(http(quick()), config).unwrap()
}

fn anthropic(server: &ScriptedServer) -> AnthropicChat {
    let endpoint = endpoint("anthropic", server);
    let config = AnthropicChatConfig { endpoint, model: "claude-x".to_owned(), temperature: None };
    AnthropicChat::new(http(quick()), config).unwrap()
}

fn gemini(server: &ScriptedServer) -> GeminiChat {
    let endpoint = endpoint("gemini", server);
    let config = GeminiChatConfig { endpoint, model: "gemini-x".to_owned(), temperature: None };
    GeminiChat::new(http(quick()), config).unwrap()
}

fn ollama(server: &ScriptedServer) -> OllamaChat {
    let config = OllamaChatConfig {
        endpoint: endpoint("ollama", server),
        model: "qwen3:8b".to_owned(),
        temperature: None,
        context_tokens: DEFAULT_CONTEXT_TOKENS,
        think: None,
    };
    OllamaChat::new(http(quick()), config).unwrap()
}

/// Returns the body that was sent for a question with a schema. Checks the answer.
async fn check_shaped(server: &ScriptedServer, model: &dyn LanguageModel, stream: bool) -> String {
    let (text, completion) = complete(model, shaped(stream)).await.expect("an answer");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value, serde_json::from_str::<serde_json::Value>(ANSWER).expect("JSON"));
    assert_eq!(completion.finish, FinishReason::Stop);
    server.recorded()[0].body.clone()
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("JSON")
}

#[tokio::test]
async fn openai_gets_a_strict_response_format() {
    let reply = format!(
        r#"{{"choices":[{{"message":{{"role":"assistant","content":{}}},"finish_reason":"stop"}}]}}"#,
        quoted(ANSWER)
    );
    let server = ScriptedServer::replies([Reply::json(200, reply)]);
    let body = check_shaped(&server, &openai(&server), false).await;
    let format = format!(
        r#""response_format":{{"type":"json_schema","json_schema":{{"name":"named","strict":true,"schema":{SCHEMA}}}}}"#
    );
    assert!(body.contains(&format), "{body}");
}

#[tokio::test]
async fn ollama_gets_the_schema_as_format() {
    let line = format!(
        r#"{{"message":{{"role":"assistant","content":{}}},"done":true,"done_reason":"stop"}}"#,
        quoted(ANSWER)
    );
    let server = ScriptedServer::replies([Reply::ndjson([format!("{line}\n")])]);
    let body = check_shaped(&server, &ollama(&server), false).await;
    assert!(body.contains(&format!(r#""format":{SCHEMA}"#)), "{body}");
}

#[tokio::test]
async fn gemini_gets_a_response_schema_with_the_order_of_members() {
    let reply = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":{}}}],"role":"model"}},"finishReason":"STOP","index":0}}]}}"#,
        quoted(ANSWER)
    );
    let server = ScriptedServer::replies([Reply::json(200, reply)]);
    let body = check_shaped(&server, &gemini(&server), false).await;
    let schema = r#""responseMimeType":"application/json","responseSchema":{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}}},"required":["names"],"propertyOrdering":["names"]}"#;
    assert!(body.contains(schema), "{body}");
}

#[tokio::test]
async fn anthropic_gets_a_tool_with_the_answer_as_its_input() {
    let reply = format!(
        r#"{{"type":"message","role":"assistant","content":[{{"type":"tool_use","id":"toolu_1","name":"named","input":{ANSWER}}}],
            "stop_reason":"tool_use","usage":{{"input_tokens":5,"output_tokens":3}}}}"#
    );
    let server = ScriptedServer::replies([Reply::json(200, reply)]);
    let body = check_shaped(&server, &anthropic(&server), false).await;
    let tools = format!(
        r#""tools":[{{"name":"named","description":"Takes your whole answer.","input_schema":{SCHEMA}}}],"tool_choice":{{"type":"tool","name":"named","disable_parallel_tool_use":true}}"#
    );
    assert!(body.contains(&tools), "{body}");
}

#[tokio::test]
async fn a_tools_input_is_streamed_in_pieces() {
    let server = ScriptedServer::replies([Reply::sse([
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[],\"usage\":{\"input_tokens\":9}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
         {\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"named\",\"input\":{}}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":\
         {\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"names\\\":[\\\"A\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":\
         {\"type\":\"input_json_delta\",\"partial_json\":\"da\\\"]}\"}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\
         \"usage\":{\"output_tokens\":4}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ])]);
    check_shaped(&server, &anthropic(&server), true).await;
}

#[tokio::test]
async fn a_service_without_schema_support_is_an_error_and_gets_no_second_request() {
    let refusal =
        r#"{"error":{"message":"'response_format' of type 'json_schema' is not supported with this model"}}"#;
    let server = ScriptedServer::replies([Reply::json(400, refusal)]);
    let error = complete(&openai(&server), shaped(false)).await.expect_err("refused");
    assert!(matches!(error, ModelError::ShapeRefused { status: 400, .. }), "{error:?}");
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("structured_output")));
    assert_eq!(server.recorded().len(), 1);
    let other = r#"{"error":{"message":"the prompt is too long"}}"#;
    let server = ScriptedServer::replies([Reply::json(400, other)]);
    let error = complete(&openai(&server), shaped(false)).await.expect_err("refused");
    assert!(matches!(error, ModelError::Refused { .. }), "{error:?}");
}
