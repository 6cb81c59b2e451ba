//! Chat models with OpenAI's API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use graphloom_core::{AnswerShape, ChatRequest, ChatStream, LanguageModel, ModelError, SchemaDialect};
use tracing::{Instrument, warn};

use super::chat_wire::{ChatBody, NamedSchema, OpenAiProtocol, ResponseFormat, StreamOptions};
use crate::chat_stream::{call_span, chat_events, cost_of, of_shape};
use crate::endpoint::{ConfigError, Endpoint};
use crate::http::{Delivery, HttpClient, Target, encode};
use crate::wire_lines::SseEvents;

/// Settings of a chat model.
#[derive(Debug, Clone)]
pub struct OpenAiChatConfig {
    /// The server.
    pub endpoint: Endpoint,
    /// The model's name on the server.
    pub model: String,
    /// Temperature of requests that do not set one.
    pub temperature: Option<f32>,
    /// Name of the field for the output limit.
    pub output_limit_field: OutputLimitField,
}

/// The name of the output limit in requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputLimitField {
    /// `max_completion_tokens` for OpenAI and Azure, whose newer models reject the other name; `max_tokens`
    /// for all others, because many servers silently ignore the newer name.
    #[default]
    Auto,
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// A chat model with OpenAI's API.
#[derive(Debug)]
pub struct OpenAiChat {
    http: Arc<HttpClient>,
    target: Target,
    label: String,
    model: String,
    temperature: Option<f32>,
    refused: RejectedParameters,
    completion_field: bool,
}

/// Maximum stop texts. OpenAI rejects more.
const MAX_STOPS: usize = 4;

/// Parameters that this model rejected. Later requests omit or rename them.
#[derive(Debug, Default)]
struct RejectedParameters {
    limit_field: AtomicBool,
    stop: AtomicBool,
    temperature: AtomicBool,
    stream_options: AtomicBool,
    response_format: AtomicBool,
}

impl RejectedParameters {
    /// Records the parameter that `message` mentions, if the request contains it.
    fn learn(&self, message: &str, body: &ChatBody<'_>) {
        let sent = [
            ("stream_options", body.stream_options.is_some(), &self.stream_options),
            // A schema is never omitted silently.
            (
                "response_format",
                matches!(body.response_format, Some(ResponseFormat::JsonObject)),
                &self.response_format,
            ),
            ("temperature", body.temperature.is_some(), &self.temperature),
            ("'stop'", !body.stop.is_empty(), &self.stop),
            ("max_tokens", body.max_tokens.is_some(), &self.limit_field),
            ("max_completion_tokens", body.max_completion_tokens.is_some(), &self.limit_field),
        ];
        if let Some((name, _, refused)) =
            sent.into_iter().find(|(name, sent, _)| *sent && message.contains(name))
            && !refused.swap(true, Ordering::Relaxed)
        {
            warn!(
                gen_ai.request.model = body.model,
                parameter = name,
                "the model does not accept a parameter; omitting it"
            );
        }
    }
}

impl OpenAiChat {
    /// Creates the model. Sends nothing yet.
    pub fn new(http: Arc<HttpClient>, config: OpenAiChatConfig) -> Result<Self, ConfigError> {
        let OpenAiChatConfig { endpoint, model, temperature, output_limit_field } = config;
        let target = endpoint.target("chat/completions", &format!("{}:{model}", endpoint.label))?;
        let completion_field = match output_limit_field {
            OutputLimitField::Auto => {
                let host = endpoint.host()?;
                host == "api.openai.com" || host.ends_with(".openai.azure.com")
            }
            OutputLimitField::MaxTokens => false,
            OutputLimitField::MaxCompletionTokens => true,
        };
        let refused = RejectedParameters::default();
        Ok(Self { http, target, label: endpoint.label, model, temperature, refused, completion_field })
    }

    fn body<'a>(&'a self, request: &'a ChatRequest) -> ChatBody<'a> {
        let kept = |refused: &AtomicBool| !refused.load(Ordering::Relaxed);
        let completion_field = self.completion_field == kept(&self.refused.limit_field);
        ChatBody {
            model: &self.model,
            messages: &request.messages,
            temperature: request.temperature.or(self.temperature).filter(|_| kept(&self.refused.temperature)),
            max_tokens: request.max_output_tokens.filter(|_| !completion_field),
            max_completion_tokens: request.max_output_tokens.filter(|_| completion_field),
            stop: match kept(&self.refused.stop) {
                true => &request.stop[..request.stop.len().min(MAX_STOPS)],
                false => &[],
            },
            response_format: match &request.shape {
                Some(answer_shape) => {
                    let AnswerShape { name, shape } = answer_shape.as_ref();
                    let schema = shape.schema(SchemaDialect::JsonSchema);
                    Some(ResponseFormat::JsonSchema {
                        json_schema: NamedSchema { name, strict: true, schema },
                    })
                }
                None => (request.json_object && kept(&self.refused.response_format))
                    .then_some(ResponseFormat::JsonObject),
            },
            stream: request.stream,
            stream_options: (request.stream && kept(&self.refused.stream_options))
                .then_some(StreamOptions { include_usage: true }),
        }
    }
}

#[async_trait]
impl LanguageModel for OpenAiChat {
    fn name(&self) -> &str {
        self.target.model()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let span = call_span("chat", &self.label, &self.model);
        let started = Instant::now();
        let delivery = if request.stream { Delivery::Streamed } else { Delivery::Whole };
        let cost = cost_of(&self.http, &request);
        let mut body = self.body(&request);
        let mut bytes = encode(&body, self.name())?;
        let answer = loop {
            let error = match self
                .http
                .post(&self.target, bytes.clone(), cost, delivery)
                .instrument(span.clone())
                .await
            {
                Ok(answer) => break answer,
                Err(error) => error,
            };
            if let ModelError::Refused { what, .. } = &error {
                self.refused.learn(what, &body);
            }
            // Another call may have learned it first. Each parameter is removed permanently, so the number of rounds is limited.
            body = self.body(&request);
            let next = encode(&body, self.name())?;
            if !matches!(error, ModelError::Refused { .. }) || next == bytes {
                return Err(of_shape(&request, error));
            }
            bytes = next;
        };
        let protocol = if request.stream && !answer.is_json() {
            OpenAiProtocol::Streamed(SseEvents::default())
        } else {
            OpenAiProtocol::Whole(Vec::new())
        };
        Ok(chat_events(answer, self.target.clone(), protocol, request.stream, span, started))
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::{ChatMessage, ChatRole};

    use super::*;

    fn check_body(base_url: &str, refused: &[&str]) -> String {
        let config = OpenAiChatConfig {
            endpoint: Endpoint::new("openai", base_url),
            model: "m".to_owned(),
            temperature: Some(0.0),
            output_limit_field: OutputLimitField::Auto,
        };
        let chat = OpenAiChat::new(Arc::new(HttpClient::new(Default::default())), config).unwrap();
        let request = ChatRequest {
            messages: vec![ChatMessage::new(ChatRole::User, "hi")],
            max_output_tokens: Some(9),
            stop: ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(),
            json_object: true,
            stream: true,
            ..ChatRequest::default()
        };
        for message in refused {
            chat.refused.learn(message, &chat.body(&request));
        }
        serde_json::to_string(&chat.body(&request)).unwrap()
    }

    #[test]
    fn openai_gets_the_newer_output_limit() {
        assert_eq!(
            check_body("https://api.openai.com/v1", &[]),
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.0,"max_completion_tokens":9,"stop":["a","b","c","d"],"response_format":{"type":"json_object"},"stream":true,"stream_options":{"include_usage":true}}"#
        );
    }

    #[test]
    fn refused_parameters_are_omitted_or_renamed() {
        let refusals = [
            "unknown field stream_options",
            "'temperature' does not support 0",
            "use another max_tokens",
            "Unsupported parameter: 'stop' is not supported with this model.",
        ];
        assert_eq!(
            check_body("http://localhost/v1", &refusals),
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":9,"response_format":{"type":"json_object"},"stream":true}"#
        );
    }
}
