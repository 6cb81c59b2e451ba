//! Wire format of chat completions, streamed and whole.

use graphloom_core::{ChatMessage, FinishReason, Schema, Usage};
use serde::{Deserialize, Serialize};

use crate::chat_stream::{ChatProtocol, PartialAnswer, Unreadable};
use crate::wire_lines::SseEvents;

#[derive(Debug, Serialize)]
pub(super) struct ChatBody<'a> {
    pub(super) model: &'a str,
    pub(super) messages: &'a [ChatMessage],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_format: Option<ResponseFormat<'a>>,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream_options: Option<StreamOptions>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponseFormat<'a> {
    JsonObject,
    JsonSchema { json_schema: NamedSchema<'a> },
}

#[derive(Debug, Serialize)]
pub(super) struct NamedSchema<'a> {
    pub(super) name: &'a str,
    pub(super) strict: bool,
    pub(super) schema: Schema<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
}

/// Parses both forms of an answer. Servers that cannot stream send the whole form even if streaming was requested.
#[derive(Debug)]
pub(super) enum OpenAiProtocol {
    Streamed(SseEvents),
    Whole(Vec<u8>),
}

impl ChatProtocol for OpenAiProtocol {
    fn read(&mut self, chunk: &[u8], partial: &mut PartialAnswer) -> Result<(), Unreadable> {
        match self {
            Self::Streamed(events) => {
                events.push(chunk);
                while let Some(data) = events.next() {
                    read_event(&data, partial)?;
                }
            }
            Self::Whole(body) => body.extend_from_slice(chunk),
        }
        Ok(())
    }

    fn finish(&mut self, partial: &mut PartialAnswer) -> Result<(), Unreadable> {
        match self {
            Self::Streamed(events) => match events.finish() {
                Some(data) => read_event(&data, partial),
                None => Ok(()),
            },
            Self::Whole(body) => {
                read_completion(body, partial)?;
                // An answer that is not streamed is always complete; some servers omit the reason.
                partial.ended = true;
                Ok(())
            }
        }
    }
}

fn read_event(data: &[u8], partial: &mut PartialAnswer) -> Result<(), Unreadable> {
    match data.trim_ascii() {
        [] => Ok(()),
        b"[DONE]" => {
            partial.ended = true;
            Ok(())
        }
        json => read_completion(json, partial),
    }
}

fn read_completion(json: &[u8], partial: &mut PartialAnswer) -> Result<(), Unreadable> {
    let body: CompletionBody = serde_json::from_slice(json)
        .map_err(|error| Unreadable::Malformed(format!("invalid JSON: {error}")))?;
    if body.error.is_some() {
        return Err(Unreadable::ProviderError(json.to_vec()));
    }
    if let Some(usage) = body.usage {
        partial.usage = Usage {
            prompt_tokens: usage.prompt_tokens,
            cached_prompt_tokens: usage
                .prompt_tokens_details
                .and_then(|details| details.cached_tokens)
                .or(usage.prompt_cache_hit_tokens)
                .unwrap_or(0),
            completion_tokens: usage.completion_tokens,
        };
    }
    // One choice was requested.
    let Some(choice) = body.choices.unwrap_or_default().into_iter().next() else { return Ok(()) };
    if let Some(content) = choice.delta.or(choice.message).and_then(|message| message.content) {
        content.append_to(&mut partial.text);
    }
    if let Some(reason) = choice.finish_reason {
        partial.finish = Some(match reason.as_str() {
            "stop" | "eos" | "end_turn" => FinishReason::Stop,
            "length" | "max_tokens" | "model_length" => FinishReason::Length,
            _ => FinishReason::Other,
        });
    }
    Ok(())
}

/// A stream event or a whole answer. All fields are optional.
#[derive(Debug, Deserialize)]
struct CompletionBody {
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    delta: Option<Message>,
    message: Option<Message>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptTokens>,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct PromptTokens {
    cached_tokens: Option<u64>,
}

/// Text, or a list of parts, some of which are text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    text: Option<String>,
}

impl Content {
    fn append_to(self, text: &mut String) {
        match self {
            Self::Text(content) if text.is_empty() => *text = content,
            Self::Text(content) => text.push_str(&content),
            Self::Parts(parts) => {
                parts.into_iter().filter_map(|part| part.text).for_each(|part| text.push_str(&part))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_event(json: &str) -> String {
        let mut partial = PartialAnswer::default();
        match read_event(json.as_bytes(), &mut partial) {
            Ok(()) => format!("{:?} {:?} {}", partial.text, partial.finish, partial.ended),
            Err(unreadable) => format!("{unreadable:?}").split('(').next().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn missing_and_null_fields_are_accepted() {
        assert_eq!(check_event(r#"{"choices":[]}"#), r#""" None false"#);
        assert_eq!(check_event(r#"{"choices":null,"usage":null}"#), r#""" None false"#);
        assert_eq!(check_event(r#"{"choices":[{"delta":{"content":null}}]}"#), r#""" None false"#);
        assert_eq!(
            check_event(r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#),
            r#""" Some(Length) false"#
        );
        assert_eq!(check_event(" [DONE] "), r#""" None true"#);
    }

    #[test]
    fn text_is_read_from_deltas_messages_and_parts() {
        assert_eq!(check_event(r#"{"choices":[{"delta":{"content":"a"}}]}"#), r#""a" None false"#);
        assert_eq!(check_event(r#"{"choices":[{"message":{"content":"a"}}]}"#), r#""a" None false"#);
        let parts = r#"{"choices":[{"delta":{"content":[{"type":"thinking"},{"type":"text","text":"a"}]}}]}"#;
        assert_eq!(check_event(parts), r#""a" None false"#);
    }

    #[test]
    fn separate_thoughts_are_dropped() {
        for json in [
            r#"{"choices":[{"delta":{"reasoning_content":"hm","content":"a"}}]}"#,
            r#"{"choices":[{"message":{"reasoning":"hm","content":"a"}}]}"#,
        ] {
            assert_eq!(check_event(json), r#""a" None false"#);
        }
        assert_eq!(check_event(r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#), r#""" None false"#);
    }

    #[test]
    fn errors_in_the_body_are_distinguished_from_invalid_json() {
        assert_eq!(check_event(r#"{"error":{"message":"overloaded","code":503}}"#), "ProviderError");
        assert_eq!(check_event("{\"choices\":["), "Malformed");
    }
}
