//! The prompts of querying: one file each under `prompts/`, filled by a strict template.

use graphloom_core::{ChatMessage, ChatRole};

use crate::prompt::{Prompt, fill};

const KEYWORDS: Prompt = Prompt::new(include_str!("../../prompts/keywords.md"));
const ANSWER: Prompt = Prompt::new(include_str!("../../prompts/answer.md"));
const ANSWER_NAIVE: Prompt = Prompt::new(include_str!("../../prompts/answer_naive.md"));

/// Divides the system message from the user message where a file holds both.
const USER_MARK: &str = "\n=== user ===\n";

/// Asks for the keywords of `question`.
pub(super) fn keywords(question: &str) -> Vec<ChatMessage> {
    let (system, user) = KEYWORDS.body().split_once(USER_MARK).unwrap_or((KEYWORDS.body(), ""));
    vec![
        ChatMessage::new(ChatRole::System, fill(system, &[])),
        ChatMessage::new(ChatRole::User, fill(user, &[("question", question)])),
    ]
}

/// The instructions for an answer from entities, relations and passages; ends with `context`.
pub(super) fn answer(response_type: &str, context: &str) -> String {
    ANSWER.render(&[("response_type", response_type), ("context", context)])
}

/// The instructions for an answer from passages alone; ends with `context`.
pub(super) fn answer_naive(response_type: &str, context: &str) -> String {
    ANSWER_NAIVE.render(&[("response_type", response_type), ("context", context)])
}
