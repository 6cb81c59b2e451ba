//! Chat models of the Gemini API.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use graphloom_core::{ChatRequest, ChatRole, ChatStream, LanguageModel, ModelError, SchemaDialect};
use tracing::Instrument;

use super::wire::{Body, Content, GeminiProtocol, GenerationConfig, Part};
use super::{KEY_HEADER, resource};
use crate::chat_stream::{call_span, chat_events, cost_of, of_shape};
use crate::endpoint::{ConfigError, Endpoint, KeyHeader};
use crate::http::{Delivery, HttpClient, Target, encode};
use crate::wire_lines::SseEvents;

/// Maximum stop texts. The API rejects more.
const MAX_STOPS: usize = 5;

/// Settings of a chat model.
#[derive(Debug, Clone)]
pub struct GeminiChatConfig {
    /// The server. The API key is sent as `x-goog-api-key`.
    pub endpoint: Endpoint,
    /// The model's name at Google.
    pub model: String,
    /// Temperature of requests that do not set one.
    pub temperature: Option<f32>,
}

/// A chat model of the Gemini API. The provider caches repeated prefixes of prompts automatically.
#[derive(Debug)]
pub struct GeminiChat {
    http: Arc<HttpClient>,
    whole: Target,
    streamed: Target,
    label: String,
    model: String,
    temperature: Option<f32>,
}

impl GeminiChat {
    /// Creates the model. Sends nothing yet.
    pub fn new(http: Arc<HttpClient>, config: GeminiChatConfig) -> Result<Self, ConfigError> {
        let GeminiChatConfig { endpoint, model, temperature } = config;
        let name = format!("{}:{model}", endpoint.label);
        let target = |method: &str| {
            let path = format!("{}:{method}", resource(&model));
            endpoint.target_with(&path, &name, KeyHeader::Named(KEY_HEADER))
        };
        let (whole, streamed) = (target("generateContent")?, target("streamGenerateContent")?);
        let streamed = streamed.with_parameter("alt", "sse");
        Ok(Self { http, whole, streamed, label: endpoint.label, model, temperature })
    }

    fn body<'a>(&self, request: &'a ChatRequest) -> Body<'a> {
        let of_role = |system: bool| {
            request.messages.iter().filter(move |message| (message.role == ChatRole::System) == system)
        };
        let instructions: Vec<Part<'a>> =
            of_role(true).map(|message| Part { text: &message.content }).collect();
        let contents = of_role(false).map(|message| {
            let role = match message.role {
                ChatRole::Assistant => "model",
                ChatRole::User | ChatRole::System => "user",
            };
            Content { role: Some(role), parts: vec![Part { text: &message.content }] }
        });
        Body {
            system_instruction: (!instructions.is_empty())
                .then_some(Content { role: None, parts: instructions }),
            contents: contents.collect(),
            generation_config: GenerationConfig {
                temperature: request.temperature.or(self.temperature),
                max_output_tokens: request.max_output_tokens,
                stop_sequences: &request.stop[..request.stop.len().min(MAX_STOPS)],
                response_mime_type: (request.json_object || request.shape.is_some())
                    .then_some("application/json"),
                response_schema: request
                    .shape
                    .as_ref()
                    .map(|shape| shape.shape.schema(SchemaDialect::OpenApi)),
            },
        }
    }
}

#[async_trait]
impl LanguageModel for GeminiChat {
    fn name(&self) -> &str {
        self.whole.model()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let span = call_span("chat", &self.label, &self.model);
        let started = Instant::now();
        let (target, delivery) = match request.stream {
            true => (&self.streamed, Delivery::Streamed),
            false => (&self.whole, Delivery::Whole),
        };
        let bytes = encode(&self.body(&request), self.name())?;
        let cost = cost_of(&self.http, &request);
        let sent = self.http.post(target, bytes, cost, delivery).instrument(span.clone());
        let answer = sent.await.map_err(|error| of_shape(&request, error))?;
        let protocol = if request.stream && !answer.is_json() {
            GeminiProtocol::Streamed(SseEvents::default())
        } else {
            GeminiProtocol::Whole(Vec::new())
        };
        Ok(chat_events(answer, target.clone(), protocol, request.stream, span, started))
    }
}
