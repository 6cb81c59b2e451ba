//! Chat over OpenAI's API: streamed, whole, refused, retried and broken answers.

use std::time::Duration;

use crate::common::{KEY, deltas, endpoint, http, quick};
use graphloom_core::{
    ChatMessage, ChatRequest, ChatRole, FinishReason, LanguageModel, ModelError, Usage, complete,
};
use graphloom_providers::http::HttpConfig;
use graphloom_providers::openai::{OpenAiChat, OpenAiChatConfig, OutputLimitField};
use graphloom_providers::testing::{Reply, ScriptedServer};

fn chat_with(server: &ScriptedServer, config: HttpConfig) -> OpenAiChat {
    let config_of_model = OpenAiChatConfig {
        endpoint: endpoint("openai", server),
        model: "m".to_owned(),
        temperature: Some(0.0),
        output_limit_field: OutputLimitField::Auto,
    };
    OpenAiChat::new(http(config), config_of_model).unwrap()
}

fn chat(server: &ScriptedServer) -> OpenAiChat {
    chat_with(server, quick())
}

fn whole(text: &str) -> Reply {
    let text = format!("{text:?}");
    Reply::json(
        200,
        format!(
            r#"{{"choices":[{{"message":{{"content":{text}}},"finish_reason":"stop"}}],
                "usage":{{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{{"cached_tokens":4}}}}}}"#
        ),
    )
}

#[tokio::test]
async fn a_whole_answer_is_one_delta_with_its_usage() {
    let server = ScriptedServer::replies([whole("hello")]);
    let model = chat(&server);
    assert_eq!(model.name(), "openai:m");
    let (deltas, end) = deltas(&model, false).await;
    let end = end.unwrap();
    assert_eq!(deltas, ["hello"]);
    assert_eq!(end.usage, Usage { prompt_tokens: 7, completion_tokens: 2, cached_prompt_tokens: 4 });
    assert_eq!((end.finish, end.attempts), (FinishReason::Stop, 1));
    let asked = &server.recorded()[0];
    assert_eq!(asked.path, "/chat/completions");
    assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}"));
    let body =
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.0,"stream":false}"#;
    assert_eq!(asked.body, body);
}

#[tokio::test]
async fn a_streamed_answer_arrives_in_pieces_cut_anywhere() {
    let server = ScriptedServer::replies([Reply::sse([
        ": keep-alive\r\n\r\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\r\n\r\n".as_bytes(),
        b"data: {\"choices\":[{\"delta\":{\"content\":\"Gr\xC3",
        b"\xBC\xC3\x9F\"}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\" dich\"},\"finish_reason\":\"length\"}]}\n\n",
        b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n",
    ])]);
    let (deltas, end) = deltas(&chat(&server), true).await;
    assert_eq!(deltas.concat(), "Gr\u{fc}\u{df} dich");
    let end = end.unwrap();
    assert_eq!(end.finish, FinishReason::Length);
    assert_eq!(end.usage, Usage { prompt_tokens: 3, completion_tokens: 4, ..Usage::default() });
    assert!(server.recorded()[0].body.contains(r#""stream_options":{"include_usage":true}"#));
}

#[tokio::test]
async fn a_response_from_a_server_that_cannot_stream_is_read() {
    let server = ScriptedServer::replies([whole("hello")]);
    let (deltas, end) = deltas(&chat(&server), true).await;
    assert_eq!((deltas, end.unwrap().finish), (vec!["hello".to_owned()], FinishReason::Stop));
}

#[tokio::test]
async fn a_call_waits_for_a_rate_limit_as_long_as_requested() {
    let limited = Reply::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "0");
    let server = ScriptedServer::replies([limited.clone(), limited, whole("hello")]);
    assert_eq!(deltas(&chat(&server), false).await.1.unwrap().attempts, 3);
}

#[tokio::test]
async fn a_rate_limit_too_far_away_ends_the_call_at_once() {
    let server =
        ScriptedServer::replies([Reply::json(429, r#"{"error":"later"}"#).header("retry-after", "3600")]);
    let error = deltas(&chat(&server), false).await.1.unwrap_err();
    assert!(matches!(error, ModelError::RateLimited { retry_after_ms: Some(3_600_000), .. }), "{error}");
    assert_eq!(server.recorded().len(), 1);
}

#[tokio::test]
async fn a_request_to_a_failing_server_is_retried() {
    let server = ScriptedServer::replies([Reply::json(500, "oops"), whole("hello")]);
    let (deltas, end) = deltas(&chat(&server), false).await;
    assert_eq!((deltas, end.unwrap().attempts), (vec!["hello".to_owned()], 2));
}

#[tokio::test]
async fn the_number_of_attempts_is_bounded() {
    let server = ScriptedServer::replies([Reply::json(503, r#"{"error":{"message":"overloaded"}}"#)]);
    let error = deltas(&chat(&server), false).await.1.unwrap_err();
    assert_eq!(error.to_string(), "model openai:m failed (status 503): overloaded");
    assert!(error.is_transient());
    assert_eq!(server.recorded().len(), 3);
}

#[tokio::test]
async fn a_truncated_unstreamed_answer_is_requested_again() {
    let server = ScriptedServer::replies([whole("hel").cut(), whole("hello")]);
    let (deltas, end) = deltas(&chat(&server), false).await;
    assert_eq!((deltas, end.unwrap().attempts), (vec!["hello".to_owned()], 2));
}

#[tokio::test]
async fn a_stream_cut_after_its_first_delta_is_an_error_and_never_retried() {
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\n\n";
    for reply in [Reply::sse([event]).cut(), Reply::sse([event])] {
        let server = ScriptedServer::replies([reply]);
        let (deltas, end) = deltas(&chat(&server), true).await;
        assert_eq!(deltas, ["hel"]);
        assert!(end.unwrap_err().is_transient());
        assert_eq!(server.recorded().len(), 1);
    }
}

#[tokio::test]
async fn a_stream_that_goes_silent_times_out() {
    let server = ScriptedServer::replies([Reply::sse([
        "data: {\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\n\n",
    ])
    .hang()]);
    let config = HttpConfig { idle_timeout: Duration::from_millis(50), ..quick() };
    let (deltas, end) = deltas(&chat_with(&server, config), true).await;
    assert_eq!(deltas, ["hel"]);
    assert_eq!(end.unwrap_err().to_string(), "model openai:m sent nothing for 50 ms");
}

#[tokio::test]
async fn a_model_that_never_starts_times_out() {
    let server = ScriptedServer::replies([Reply::sse([""]).hang()]);
    let config = HttpConfig { first_byte_timeout: Duration::from_millis(50), ..quick() };
    let error = deltas(&chat_with(&server, config), true).await.1.unwrap_err();
    assert!(matches!(error, ModelError::Timeout { idle_ms: 50, .. }), "{error}");
}

#[tokio::test]
async fn malformed_json_is_reported_as_such() {
    for (stream, reply) in
        [(false, Reply::json(200, "{\"choices\":[")), (true, Reply::sse(["data: {nonsense\n\n"]))]
    {
        let server = ScriptedServer::replies([reply]);
        let error = deltas(&chat(&server), stream).await.1.unwrap_err();
        assert!(matches!(&error, ModelError::Malformed { what, .. } if what.starts_with("invalid JSON")));
    }
}

#[tokio::test]
async fn an_answer_larger_than_allowed_is_refused() {
    let server = ScriptedServer::replies([whole(&"x".repeat(5000))]);
    let config = HttpConfig { max_answer_bytes: 1000, ..quick() };
    let error = deltas(&chat_with(&server, config), false).await.1.unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid response from model openai:m: the answer is longer than 1000 bytes"
    );
    assert_eq!(server.recorded().len(), 1);
}

#[tokio::test]
async fn errors_inside_a_successful_answer_are_errors() {
    let body = r#"{"error":{"message":"upstream is gone","code":502}}"#;
    for (stream, reply) in
        [(false, Reply::json(200, body)), (true, Reply::sse([format!("data: {body}\n\n")]))]
    {
        let server = ScriptedServer::replies([reply]);
        let error = deltas(&chat(&server), stream).await.1.unwrap_err();
        assert_eq!(error.to_string(), "model openai:m failed (status 502): upstream is gone");
    }
}

#[tokio::test]
async fn a_parameter_that_the_model_refuses_is_omitted_from_then_on() {
    let refusal = r#"{"error":{"message":"'temperature' does not support 0 with this model"}}"#;
    let server = ScriptedServer::replies([Reply::json(400, refusal), whole("one"), whole("two")]);
    let model = chat(&server);
    assert_eq!(deltas(&model, false).await.0, ["one"]);
    assert_eq!(deltas(&model, false).await.0, ["two"]);
    let sent =
        server.recorded().iter().map(|request| request.body.contains("temperature")).collect::<Vec<_>>();
    assert_eq!(sent, [true, false, false]);
}

#[tokio::test]
async fn a_closed_port_is_an_unreachable_error_with_the_address() {
    let server = ScriptedServer::replies([]);
    let (url, model) = (server.url(), chat(&server));
    drop(server);
    let error = deltas(&model, false).await.1.unwrap_err();
    let shown = error.to_string();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{shown}");
    assert!(shown.starts_with(&format!("reaching model openai:m at {url}: ")), "{shown}");
}

#[tokio::test]
async fn connections_are_reused() {
    let server = ScriptedServer::replies([whole("hello")]);
    let model = chat(&server);
    for _ in 0..5 {
        deltas(&model, false).await.1.unwrap();
    }
    assert_eq!((server.recorded().len(), server.connections()), (5, 1));
}

#[tokio::test]
async fn a_redirect_is_reported_and_not_followed_with_the_key() {
    let server = ScriptedServer::replies([Reply::json(307, "").header("location", "http://elsewhere/v1")]);
    let error = deltas(&chat(&server), false).await.1.unwrap_err().to_string();
    assert!(error.contains("it redirects to http://elsewhere/v1"), "{error}");
    assert_eq!(server.recorded().len(), 1);
}

#[tokio::test]
async fn calls_in_parallel_all_learn_that_a_parameter_is_rejected() {
    const CALLS: usize = 4;
    let server = ScriptedServer::start(|_, asked| match asked.json()["max_tokens"].is_null() {
        true => whole("hello"),
        false => Reply::json(400, r#"{"error":{"message":"Unsupported parameter: 'max_tokens'"}}"#)
            .after(Duration::from_millis(50)),
    });
    let model = chat(&server);
    let request = ChatRequest {
        messages: vec![ChatMessage::new(ChatRole::User, "hi")],
        max_output_tokens: Some(9),
        ..ChatRequest::default()
    };
    let calls = (0..CALLS).map(|_| complete(&model, request.clone()));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer.expect("answered").0, "hello");
    }
    assert_eq!(server.recorded().len(), 2 * CALLS);
}
