//! Chat models of an Ollama server.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use graphloom_core::{
    ChatMessage, ChatRequest, ChatStream, FinishReason, LanguageModel, ModelError, Schema, SchemaDialect,
    Usage,
};
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use crate::chat_stream::{
    ChatProtocol, PartialAnswer, Unreadable, call_span, chat_events, cost_of, of_shape,
};
use crate::endpoint::{ConfigError, Endpoint};
use crate::http::{Delivery, HttpClient, Target, encode};
use crate::wire_lines::Lines;

/// Settings of a chat model.
#[derive(Debug, Clone)]
pub struct OllamaChatConfig {
    /// The server.
    pub endpoint: Endpoint,
    /// The model's name in Ollama, such as `qwen3:8b`.
    pub model: String,
    /// Temperature of requests that do not set one.
    pub temperature: Option<f32>,
    /// Context length; see [`super::DEFAULT_CONTEXT_TOKENS`].
    pub context_tokens: u32,
    /// Whether a thinking model may think; `None` for the model's default.
    pub think: Option<bool>,
}

/// A chat model of an Ollama server.
///
/// Always streams: a local model is slow, and a pause in the stream is the only sign that it hangs.
#[derive(Debug)]
pub struct OllamaChat {
    http: Arc<HttpClient>,
    target: Target,
    config: OllamaChatConfig,
}

impl OllamaChat {
    /// Creates the model. Sends nothing yet.
    pub fn new(http: Arc<HttpClient>, config: OllamaChatConfig) -> Result<Self, ConfigError> {
        let target =
            config.endpoint.target("api/chat", &format!("{}:{}", config.endpoint.label, config.model))?;
        Ok(Self { http, target, config })
    }
}

#[async_trait]
impl LanguageModel for OllamaChat {
    fn name(&self) -> &str {
        self.target.model()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let span = call_span("chat", &self.config.endpoint.label, &self.config.model);
        let started = Instant::now();
        let body = ChatBody {
            model: &self.config.model,
            messages: &request.messages,
            stream: true,
            format: match &request.shape {
                Some(shape) => Some(Format::Schema(shape.shape.schema(SchemaDialect::JsonSchema))),
                None => request.json_object.then_some(Format::Word("json")),
            },
            think: self.config.think,
            options: Options {
                num_ctx: self.config.context_tokens,
                num_predict: request.max_output_tokens,
                stop: &request.stop,
                temperature: request.temperature.or(self.config.temperature),
            },
        };
        let bytes = encode(&body, self.name())?;
        let cost = cost_of(&self.http, &request);
        let sent = self.http.post(&self.target, bytes, cost, Delivery::Streamed).instrument(span.clone());
        let answer = sent.await.map_err(|error| of_shape(&request, error))?;
        let protocol = OllamaProtocol::default();
        Ok(chat_events(answer, self.target.clone(), protocol, request.stream, span, started))
    }
}

#[derive(Debug, Serialize)]
struct ChatBody<'a> {
    model: &'a str,
    messages: &'a [ChatMessage],
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<bool>,
    options: Options<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Format<'a> {
    Word(&'static str),
    Schema(Schema<'a>),
}

#[derive(Debug, Serialize)]
struct Options<'a> {
    num_ctx: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
}

/// Parses one JSON object per line.
#[derive(Debug, Default)]
struct OllamaProtocol(Lines);

impl ChatProtocol for OllamaProtocol {
    fn read(&mut self, chunk: &[u8], partial: &mut PartialAnswer) -> Result<(), Unreadable> {
        self.0.push(chunk);
        while let Some(line) = self.0.next() {
            read_line(&line, partial)?;
        }
        Ok(())
    }

    fn finish(&mut self, partial: &mut PartialAnswer) -> Result<(), Unreadable> {
        read_line(&self.0.rest(), partial)
    }
}

#[derive(Debug, Deserialize)]
struct Line {
    message: Option<Message>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Option<String>,
}

fn read_line(line: &[u8], partial: &mut PartialAnswer) -> Result<(), Unreadable> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    let read: Line = serde_json::from_slice(line)
        .map_err(|error| Unreadable::Malformed(format!("invalid JSON: {error}")))?;
    if read.error.is_some() {
        return Err(Unreadable::ProviderError(line.to_vec()));
    }
    if let Some(content) = read.message.and_then(|message| message.content) {
        partial.text.push_str(&content);
    }
    if read.done {
        partial.ended = true;
        partial.finish = Some(match read.done_reason.as_deref() {
            None | Some("stop") => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some(_) => FinishReason::Other,
        });
        partial.usage = Usage {
            prompt_tokens: read.prompt_eval_count.unwrap_or(0),
            completion_tokens: read.eval_count.unwrap_or(0),
            ..Usage::default()
        };
    }
    Ok(())
}
