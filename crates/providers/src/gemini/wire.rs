//! Wire format of generated content: one object when whole, several objects when streamed.

use graphloom_core::{FinishReason, Schema, Usage};
use serde::{Deserialize, Serialize};

use crate::chat_stream::{ChatProtocol, PartialAnswer, Unreadable};
use crate::wire_lines::SseEvents;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_instruction: Option<Content<'a>>,
    pub(super) contents: Vec<Content<'a>>,
    pub(super) generation_config: GenerationConfig<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Part<'a> {
    pub(super) text: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_schema: Option<Schema<'a>>,
}

/// Parses both forms of an answer.
#[derive(Debug)]
pub(super) enum GeminiProtocol {
    Streamed(SseEvents),
    Whole(Vec<u8>),
}

impl ChatProtocol for GeminiProtocol {
    fn read(&mut self, chunk: &[u8], partial: &mut PartialAnswer) -> Result<(), Unreadable> {
        match self {
            Self::Streamed(events) => {
                events.push(chunk);
                while let Some(data) = events.next() {
                    read_answer(&data, partial)?;
                }
            }
            Self::Whole(body) => body.extend_from_slice(chunk),
        }
        Ok(())
    }

    fn finish(&mut self, partial: &mut PartialAnswer) -> Result<(), Unreadable> {
        // There is no end marker: an answer without a finish reason was cut off.
        match self {
            Self::Streamed(events) => match events.finish() {
                Some(data) => read_answer(&data, partial),
                None => Ok(()),
            },
            Self::Whole(body) => read_answer(body, partial),
        }
    }
}

fn read_answer(data: &[u8], partial: &mut PartialAnswer) -> Result<(), Unreadable> {
    if data.trim_ascii().is_empty() {
        return Ok(());
    }
    let answer: Answer = serde_json::from_slice(data)
        .map_err(|error| Unreadable::Malformed(format!("invalid JSON: {error}")))?;
    if answer.error.is_some() {
        return Err(Unreadable::ProviderError(data.to_vec()));
    }
    if let Some(usage) = answer.usage_metadata {
        partial.usage = Usage {
            prompt_tokens: usage.prompt_token_count,
            cached_prompt_tokens: usage.cached_content_token_count,
            completion_tokens: usage.candidates_token_count + usage.thoughts_token_count,
        };
    }
    if let Some(reason) = answer.prompt_feedback.and_then(|feedback| feedback.block_reason) {
        return Err(Unreadable::Refused(format!("the prompt was blocked: {reason}")));
    }
    // One candidate was requested.
    let Some(candidate) = answer.candidates.into_iter().next() else { return Ok(()) };
    let parts = candidate.content.map(|content| content.parts).unwrap_or_default();
    for part in parts.into_iter().filter(|part| !part.thought) {
        partial.text.push_str(part.text.as_deref().unwrap_or_default());
    }
    if let Some(reason) = candidate.finish_reason {
        partial.finish = Some(match reason.as_str() {
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
            _ => FinishReason::Other,
        });
    }
    Ok(())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    candidates: Vec<Candidate>,
    usage_metadata: Option<UsageMetadata>,
    prompt_feedback: Option<PromptFeedback>,
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<CandidateContent>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CandidateContent {
    /// Missing if thinking used up the output limit.
    #[serde(default)]
    parts: Vec<CandidatePart>,
}

#[derive(Debug, Deserialize)]
struct CandidatePart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

/// Token counts so far. Thinking tokens are billed as output but not included in the candidates' tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageMetadata {
    prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}
