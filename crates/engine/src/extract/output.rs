//! Limits the output of answers, and continues an answer that was cut off.

use std::sync::Arc;

use graphloom_core::{
    AnswerShape, Call, CallOutcome, ChatMessage, ChatRequest, ChatRole, Clock, DocumentId, LanguageModel,
    ModelError, Records, RejectReason, Role,
};

use super::loss::{Losses, find_losses};
use super::records::{ParsedResponse, parse};
use super::{ask, glean};
use crate::prompt::{EXTRACT_CONTINUE, Prompts};

/// Maximum tokens of one answer [EdgeQuake].
pub const MAX_OUTPUT_TOKENS: u32 = 32_768;
/// How often the limit is doubled and the answer continued.
pub const MAX_CONTINUATIONS: u32 = 3;

/// Returns the token limit of the first answer about a chunk of this size [EdgeQuake].
pub fn output_limit(chunk_bytes: usize) -> u32 {
    match chunk_bytes {
        0..=25_000 => 4_096,
        25_001..=75_000 => 8_192,
        75_001..=125_000 => 12_288,
        _ => 16_384,
    }
}

/// The common part of all questions about a chunk.
pub(super) struct ChunkQuestion<'a> {
    /// The shape that answers must have; `None` if records are lines.
    pub(super) shape: Option<Arc<AnswerShape>>,
    pub(super) prompts: &'a Prompts,
    /// Token limit of the first answer.
    pub(super) limit: u32,
    pub(super) document: &'a DocumentId,
    pub(super) model: &'a dyn LanguageModel,
    pub(super) clock: &'a dyn Clock,
}

/// One answer, in the pieces into which the output limit cut it.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Each piece as received, and parsed.
    pub(super) pieces: Vec<(String, ParsedResponse)>,
    /// For each piece, the index of its call.
    pub(super) calls: Vec<usize>,
    /// Whether the limit cut the last piece too.
    pub(super) cut: bool,
}

impl Answer {
    /// Returns the records of all pieces.
    pub(super) fn records(&self) -> Records {
        join(self.pieces.iter().map(|(_, parsed)| parsed.records()))
    }

    /// True if it neither contains a record nor says that there is none.
    pub(super) fn says_nothing(&self) -> bool {
        self.pieces.iter().all(|(_, parsed)| !parsed.complete && parsed.found.is_empty())
    }

    /// Returns what it lost. A piece that was cut and then continued lost nothing.
    pub(super) fn losses(&self) -> Losses {
        let mut losses = Losses::default();
        for (number, (_, parsed)) in self.pieces.iter().enumerate() {
            let gone_on = number + 1 < self.pieces.len();
            for reject in &parsed.rejects {
                if !(gone_on && matches!(reject.reason, RejectReason::Cut | RejectReason::UnclosedThinking)) {
                    losses.add(reject.reason);
                }
            }
        }
        losses
    }
}

/// Joins the pieces of one answer. A model that is asked to continue may start over instead: then the second piece is the
/// answer.
fn join(pieces: impl IntoIterator<Item = Records>) -> Records {
    pieces
        .into_iter()
        .reduce(|before, next| if repeats(&next, &before) { next } else { glean([before, next]) })
        .unwrap_or_default()
}

/// True if `next` repeats everything in `before`.
fn repeats(next: &Records, before: &Records) -> bool {
    before.entities.iter().all(|entity| next.entities.contains(entity))
        && before.relations.iter().all(|relation| next.relations.contains(relation))
        && before.themes.iter().all(|theme| next.themes.contains(theme))
}

/// Asks like [`ask_with_continuations`]. If the answer lost records, asks once more and keeps the better of the two answers. An
/// answer that is cut even at the highest limit is not requested again, because the next one would be as long.
pub(super) async fn ask_with_retry(
    asking: &ChunkQuestion<'_>,
    messages: &mut Vec<ChatMessage>,
    calls: &mut Vec<Call>,
) -> Result<Answer, ModelError> {
    let document = asking.document;
    let mut retry_messages = messages.clone();
    let first = ask_with_continuations(asking, messages, calls).await?;
    let losses = first.losses();
    if losses.is_empty() || first.cut {
        return Ok(first);
    }
    tracing::warn!(%document, lost = losses.count(), "the answer was damaged; asking again");
    match ask_with_continuations(asking, &mut retry_messages, calls).await {
        Ok(second) if second.losses().count() < losses.count() && !second.says_nothing() => {
            *messages = retry_messages;
            Ok(second)
        }
        Ok(_) => Ok(first),
        // The stored result must not depend on the budget or on a stop; a later run asks again.
        Err(error) if error.is_postponed() => Err(error),
        Err(error) => {
            tracing::warn!(%document, %error, "asking again failed; the damaged answer stands");
            Ok(first)
        }
    }
}

/// Asks the question in `messages`. If the limit cuts the answer, keeps the complete records and asks for the rest with twice the
/// limit. Adds the pieces to `messages` and the ledger rows to `calls`.
///
/// If the rest fails, the answer fails: a stored extraction is never requested again, so half of one would be a silent loss. An
/// answer that is still cut after [`MAX_CONTINUATIONS`] is kept as it is; its last piece counts as a reject.
async fn ask_with_continuations(
    asking: &ChunkQuestion<'_>,
    messages: &mut Vec<ChatMessage>,
    calls: &mut Vec<Call>,
) -> Result<Answer, ModelError> {
    let ChunkQuestion { prompts, document, model, clock, .. } = *asking;
    let mut answer = Answer::default();
    let mut limit = asking.limit;
    for round in 0..=MAX_CONTINUATIONS {
        let request = ChatRequest {
            messages: messages.clone(),
            max_output_tokens: Some(limit),
            shape: asking.shape.clone(),
            ..ChatRequest::default()
        };
        let (text, call) = ask(model, request, Role::Extract, Some(document), clock).await;
        let cut = call.outcome == CallOutcome::Truncated;
        calls.push(call);
        let text = text?;
        let mut parsed = parse(&text, cut);
        if !cut {
            find_losses(&mut parsed);
        }
        // Counted here too, because an answer that is dropped has rejects as well.
        if let Some(call) = calls.last_mut() {
            call.rejects = parsed.rejects.len() as u32;
        }
        let go_on = cut && round < MAX_CONTINUATIONS;
        if go_on && asking.shape.is_some() {
            // Half an object cannot be continued: the question is asked again with a higher limit.
            tracing::info!(limit, "the answer was cut; asking for the whole");
            limit = limit.saturating_mul(2).min(MAX_OUTPUT_TOKENS);
            continue;
        }
        if go_on {
            // Without a complete record, the same question is asked again with a higher limit.
            if let Some(last) = parsed.found.last() {
                let kept = text.get(..last.span.end).unwrap_or_default();
                messages.push(ChatMessage::new(ChatRole::Assistant, kept));
                messages.push(ChatMessage::new(ChatRole::User, prompts.body(EXTRACT_CONTINUE)));
            }
            tracing::info!(records = parsed.found.len(), limit, "the answer was cut; asking for the rest");
            limit = limit.saturating_mul(2).min(MAX_OUTPUT_TOKENS);
        } else {
            messages.push(ChatMessage::new(ChatRole::Assistant, text.clone()));
        }
        answer.pieces.push((text, parsed));
        answer.calls.push(calls.len() - 1);
        answer.cut = cut;
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
