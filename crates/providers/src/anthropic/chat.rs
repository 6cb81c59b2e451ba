//! Chat models of Anthropic's Messages API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use graphloom_core::{
    AnswerShape, ChatRequest, ChatRole, ChatStream, LanguageModel, ModelError, SchemaDialect,
};
use tracing::{Instrument, warn};

use super::prefixes::Prefixes;
use super::wire::{AnthropicProtocol, Body, Message, TextBlock, Tool, ToolChoice};
use crate::chat_stream::{call_span, chat_events, cost_of, of_shape};
use crate::endpoint::{ConfigError, Endpoint, KeyHeader};
use crate::http::{Delivery, HttpClient, Target, encode};
use crate::wire_lines::SseEvents;

/// The API version in use.
const VERSION: &str = "2023-06-01";

/// Output limit for requests without one, because the API requires it. Every current model supports this value.
const DEFAULT_MAX_TOKENS: u32 = 8192;

/// Added to requests for JSON, because the API has no option for a JSON object of any shape.
const JSON_REQUEST: &str = "Answer with one JSON object and nothing else.";

/// Description of the tool whose input is the structured answer.
const SHAPE_TOOL: &str = "Takes your whole answer.";

/// Settings of a chat model.
#[derive(Debug, Clone)]
pub struct AnthropicChatConfig {
    /// The server. The API key is sent as `x-api-key`.
    pub endpoint: Endpoint,
    /// The model's name at Anthropic.
    pub model: String,
    /// Temperature of requests that do not set one.
    pub temperature: Option<f32>,
}

/// A chat model of the Messages API.
///
/// Instructions that occur a second time are marked for the provider's prompt cache, so the third request
/// reads them from it. Writing to the cache costs more than plain tokens, so instructions that occur only
/// once are not cached. A prefix that the request declares as shared is marked from the first request on.
#[derive(Debug)]
pub struct AnthropicChat {
    http: Arc<HttpClient>,
    target: Target,
    label: String,
    model: String,
    temperature: Option<f32>,
    refuses_temperature: AtomicBool,
    prefixes: Prefixes,
}

impl AnthropicChat {
    /// Creates the model. Sends nothing yet.
    pub fn new(http: Arc<HttpClient>, config: AnthropicChatConfig) -> Result<Self, ConfigError> {
        let AnthropicChatConfig { endpoint, model, temperature } = config;
        let name = format!("{}:{model}", endpoint.label);
        let target = endpoint
            .target_with("messages", &name, KeyHeader::Named("x-api-key"))?
            .with_header("anthropic-version", VERSION);
        let (refuses_temperature, prefixes) = (AtomicBool::new(false), Prefixes::default());
        Ok(Self { http, target, label: endpoint.label, model, temperature, refuses_temperature, prefixes })
    }

    fn body<'a>(&'a self, request: &'a ChatRequest, cached: bool) -> Body<'a> {
        let is_system = |role| matches!(role, ChatRole::System);
        let mut system: Vec<TextBlock<'a>> =
            (request.messages.iter().filter(|message| is_system(message.role)))
                .map(|message| TextBlock::new(&message.content))
                .collect();
        if request.json_object {
            system.push(TextBlock::new(JSON_REQUEST));
        }
        if let Some(last) = system.pop() {
            system.push(if cached { last.cached() } else { last });
        }
        let shared = |at: usize| if at == 0 { request.shared_prefix_bytes } else { 0 };
        let messages = request.messages.iter().enumerate().filter(|(_, message)| !is_system(message.role));
        let messages = messages.map(|(at, message)| Message::of(message, shared(at))).collect();
        let temperature = request.temperature.or(self.temperature);
        let shape = request.shape.as_deref();
        Body {
            model: &self.model,
            max_tokens: request.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
            // The API rejects stop texts that contain only white space.
            stop_sequences: request
                .stop
                .iter()
                .map(String::as_str)
                .filter(|stop| !stop.trim().is_empty())
                .collect(),
            system,
            messages,
            temperature: temperature.filter(|_| !self.refuses_temperature.load(Ordering::Relaxed)),
            stream: request.stream,
            tools: shape
                .map(|AnswerShape { name, shape }| Tool {
                    name,
                    description: SHAPE_TOOL,
                    input_schema: shape.schema(SchemaDialect::JsonSchema),
                })
                .into_iter()
                .collect(),
            tool_choice: shape.map(|shape| ToolChoice::this(shape.name)),
        }
    }
}

#[async_trait]
impl LanguageModel for AnthropicChat {
    fn name(&self) -> &str {
        self.target.model()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let span = call_span("chat", &self.label, &self.model);
        let started = Instant::now();
        let delivery = if request.stream { Delivery::Streamed } else { Delivery::Whole };
        let cost = cost_of(&self.http, &request);
        let cached = self.prefixes.are_repeated(&request.messages);
        let answer = loop {
            let body = self.body(&request, cached);
            let bytes = encode(&body, self.name())?;
            match self.http.post(&self.target, bytes, cost, delivery).instrument(span.clone()).await {
                // At most once, because later requests omit the temperature.
                Err(ModelError::Refused { what, .. })
                    if body.temperature.is_some() && what.contains("temperature") =>
                {
                    warn!(
                        gen_ai.request.model = self.model,
                        "the model does not accept a temperature; omitting it"
                    );
                    self.refuses_temperature.store(true, Ordering::Relaxed);
                }
                answer => break answer.map_err(|error| of_shape(&request, error))?,
            }
        };
        let protocol = if request.stream && !answer.is_json() {
            AnthropicProtocol::streamed(SseEvents::default())
        } else {
            AnthropicProtocol::whole()
        };
        Ok(chat_events(answer, self.target.clone(), protocol, request.stream, span, started))
    }
}
