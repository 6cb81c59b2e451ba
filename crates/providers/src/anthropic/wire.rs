//! Wire format of messages, streamed and whole.

use graphloom_core::{ChatMessage, ChatRole, FinishReason, Schema, Usage};
use serde::{Deserialize, Serialize};

use crate::chat_stream::{ChatProtocol, PartialAnswer, Unreadable};
use crate::wire_lines::SseEvents;

#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    pub(super) model: &'a str,
    pub(super) max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) stop_sequences: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) system: Vec<TextBlock<'a>>,
    pub(super) messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f32>,
    pub(super) stream: bool,
    /// The only tool, whose input is the structured answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<ToolChoice<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Tool<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'static str,
    pub(super) input_schema: Schema<'a>,
}

/// Forces the model to call the tool once.
#[derive(Debug, Serialize)]
pub(super) struct ToolChoice<'a> {
    r#type: &'static str,
    name: &'a str,
    disable_parallel_tool_use: bool,
}

impl<'a> ToolChoice<'a> {
    pub(super) fn this(name: &'a str) -> Self {
        Self { r#type: "tool", name, disable_parallel_tool_use: true }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct TextBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<CacheControl>,
}

impl<'a> TextBlock<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { r#type: "text", text, cache_control: None }
    }

    pub(super) fn cached(self) -> Self {
        Self { cache_control: Some(CacheControl { r#type: "ephemeral" }), ..self }
    }
}

/// Marks the end of the cached prefix.
#[derive(Debug, Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    content: Content<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks([TextBlock<'a>; 2]),
}

impl<'a> Message<'a> {
    /// Converts a message.
    ///
    /// - `shared`: length in bytes of the prefix to cache; 0 for none.
    pub(super) fn of(message: &'a ChatMessage, shared: usize) -> Self {
        let role = match message.role {
            ChatRole::Assistant => "assistant",
            ChatRole::User | ChatRole::System => "user",
        };
        let content = match message.content.split_at_checked(shared) {
            Some((opening, rest)) if !opening.trim().is_empty() && !rest.trim().is_empty() => {
                Content::Blocks([TextBlock::new(opening).cached(), TextBlock::new(rest)])
            }
            Some(_) | None => Content::Text(&message.content),
        };
        Self { role, content }
    }
}

/// Parses both forms of an answer.
#[derive(Debug)]
pub(super) struct AnthropicProtocol {
    form: Form,
    usage: WireUsage,
}

#[derive(Debug)]
enum Form {
    Streamed(SseEvents),
    Whole(Vec<u8>),
}

impl AnthropicProtocol {
    pub(super) fn streamed(events: SseEvents) -> Self {
        Self { form: Form::Streamed(events), usage: WireUsage::default() }
    }

    pub(super) fn whole() -> Self {
        Self { form: Form::Whole(Vec::new()), usage: WireUsage::default() }
    }
}

impl ChatProtocol for AnthropicProtocol {
    fn read(&mut self, chunk: &[u8], partial: &mut PartialAnswer) -> Result<(), Unreadable> {
        match &mut self.form {
            Form::Streamed(events) => {
                events.push(chunk);
                while let Some(data) = events.next() {
                    read_event(&data, &mut self.usage, partial)?;
                }
            }
            Form::Whole(body) => body.extend_from_slice(chunk),
        }
        Ok(())
    }

    fn finish(&mut self, partial: &mut PartialAnswer) -> Result<(), Unreadable> {
        match &mut self.form {
            Form::Streamed(events) => match events.finish() {
                Some(data) => read_event(&data, &mut self.usage, partial),
                None => Ok(()),
            },
            Form::Whole(body) => read_event(body, &mut self.usage, partial),
        }
    }
}

fn read_event(data: &[u8], usage: &mut WireUsage, partial: &mut PartialAnswer) -> Result<(), Unreadable> {
    if data.trim_ascii().is_empty() {
        return Ok(());
    }
    let event: Event = serde_json::from_slice(data)
        .map_err(|error| Unreadable::Malformed(format!("invalid JSON: {error}")))?;
    match event {
        Event::MessageStart { message } => message.read(usage, partial),
        Event::Message(message) => {
            message.read(usage, partial);
            // A response that is not streamed is always complete.
            partial.ended = true;
        }
        Event::ContentBlockStart { content_block: part } | Event::ContentBlockDelta { delta: part } => {
            partial.text.push_str(part.text.as_deref().unwrap_or_default());
            partial.text.push_str(part.partial_json.as_deref().unwrap_or_default());
        }
        Event::MessageDelta { delta, usage: more } => {
            usage.update(more);
            partial.usage = usage.total();
            finish(delta.stop_reason.as_deref(), partial);
        }
        Event::MessageStop => partial.ended = true,
        Event::Error => return Err(Unreadable::ProviderError(data.to_vec())),
        Event::Other => {}
    }
    Ok(())
}

fn finish(stop_reason: Option<&str>, partial: &mut PartialAnswer) {
    if let Some(reason) = stop_reason {
        partial.finish = Some(match reason {
            "end_turn" | "stop_sequence" | "tool_use" => FinishReason::Stop,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            _ => FinishReason::Other,
        });
    }
}

/// A stream event or the whole message.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: WireMessage,
    },
    ContentBlockStart {
        content_block: Part,
    },
    ContentBlockDelta {
        delta: Part,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<WireUsage>,
    },
    MessageStop,
    Message(WireMessage),
    Error,
    /// Pings, ends of blocks, and event types added later.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct WireMessage {
    #[serde(default)]
    content: Vec<Part>,
    stop_reason: Option<String>,
    usage: Option<WireUsage>,
}

impl WireMessage {
    fn read(self, usage: &mut WireUsage, partial: &mut PartialAnswer) {
        for part in self.content {
            partial.text.push_str(part.text.as_deref().unwrap_or_default());
            if let Some(input) = part.input {
                partial.text.push_str(&input.to_string());
            }
        }
        usage.update(self.usage);
        partial.usage = usage.total();
        finish(self.stop_reason.as_deref(), partial);
    }
}

/// A block or a part of one. Thinking blocks have other fields.
#[derive(Debug, Deserialize)]
struct Part {
    text: Option<String>,
    /// Part of a tool's input.
    partial_json: Option<String>,
    /// A tool's complete input; empty and meaningless at the start of a streamed block.
    input: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

/// Token counts so far. Later ones replace earlier ones.
#[derive(Debug, Default, Deserialize)]
struct WireUsage {
    /// Excludes tokens read from or written to the cache.
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl WireUsage {
    fn update(&mut self, later: Option<Self>) {
        let Some(later) = later else { return };
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens =
            later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
    }

    fn total(&self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let plain = self.input_tokens.unwrap_or(0) + self.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            prompt_tokens: plain + cached,
            cached_prompt_tokens: cached,
            completion_tokens: self.output_tokens.unwrap_or(0),
        }
    }
}
