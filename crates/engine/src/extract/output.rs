//! How long an answer may be, and how one that was cut is gone on with.

use graphloom_core::{
    Call, CallOutcome, ChatMessage, ChatRequest, ChatRole, Clock, DocumentId, LanguageModel, ModelError,
    Records, Role,
};

use super::parse::{ParsedResponse, parse};
use super::{ask, glean};
use crate::prompt::Prompt;

/// Asks for the rest of an answer that was cut.
pub const CONTINUE_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/extract_continue.md"));

/// Most tokens of one answer [EdgeQuake].
pub const MAX_OUTPUT_TOKENS: u32 = 32_768;
/// Times the limit is doubled and the answer gone on with.
pub const MAX_CONTINUATIONS: u32 = 3;

/// Tokens that the first answer about a chunk of this size may have [EdgeQuake].
pub fn output_limit(chunk_bytes: usize) -> u32 {
    match chunk_bytes {
        0..=25_000 => 4_096,
        25_001..=75_000 => 8_192,
        75_001..=125_000 => 12_288,
        _ => 16_384,
    }
}

/// One answer, in the pieces that the output limit cut it into.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Each piece as it came, and what it says.
    pub(super) pieces: Vec<(String, ParsedResponse)>,
}

impl Answer {
    /// The records of all pieces.
    pub(super) fn records(&self) -> Records {
        glean(self.pieces.iter().map(|(_, parsed)| parsed.records()))
    }
}

/// Asks what `messages` ask, and where the limit cuts the answer, keeps its complete records and asks for the rest with
/// twice the limit. The pieces are added to `messages`, the rows of the ledger to `calls`.
///
/// A rest that fails fails the answer: an extraction that is stored is never asked for again, so half of one would be a
/// silent loss. One that is still cut after [`MAX_CONTINUATIONS`] stands as it is; its last piece is a counted reject.
pub(super) async fn ask_whole(
    messages: &mut Vec<ChatMessage>,
    first_limit: u32,
    document: &DocumentId,
    model: &dyn LanguageModel,
    clock: &dyn Clock,
    calls: &mut Vec<Call>,
) -> Result<Answer, ModelError> {
    let mut answer = Answer::default();
    let mut limit = first_limit;
    for round in 0..=MAX_CONTINUATIONS {
        let request = ChatRequest {
            messages: messages.clone(),
            max_output_tokens: Some(limit),
            ..ChatRequest::default()
        };
        let (text, call) = ask(model, request, Role::Extract, Some(document), clock).await;
        let cut = call.outcome == CallOutcome::Truncated;
        calls.push(call);
        let text = text?;
        let parsed = parse(&text, cut);
        let go_on = cut && round < MAX_CONTINUATIONS;
        if go_on {
            // Without a complete record the same question is asked again, with more room.
            if let Some(last) = parsed.found.last() {
                let kept = text.get(..last.span.end).unwrap_or_default();
                messages.push(ChatMessage::new(ChatRole::Assistant, kept));
                messages.push(ChatMessage::new(ChatRole::User, CONTINUE_PROMPT.body()));
            }
            tracing::info!(records = parsed.found.len(), limit, "the answer was cut; asking for the rest");
            limit = limit.saturating_mul(2).min(MAX_OUTPUT_TOKENS);
        } else {
            messages.push(ChatMessage::new(ChatRole::Assistant, text.clone()));
        }
        answer.pieces.push((text, parsed));
        if !go_on {
            break;
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_chunks_may_have_longer_answers() {
        let limits = [0, 25_000, 25_001, 75_001, 125_001].map(output_limit);
        assert_eq!(limits, [4_096, 4_096, 8_192, 12_288, 16_384]);
    }
}
