//! The prompts of querying: one file each under `prompts/`, filled by a strict template.

use graphloom_core::{ChatMessage, ChatRole};

use crate::prompt::{Prompt, fill};

const KEYWORDS: Prompt = Prompt::new(include_str!("../../prompts/keywords.md"));
const KEYWORDS_FOLLOW_UP: Prompt = Prompt::new(include_str!("../../prompts/keywords_follow_up.md"));
const ANSWER: Prompt = Prompt::new(include_str!("../../prompts/answer.md"));
const ANSWER_NAIVE: Prompt = Prompt::new(include_str!("../../prompts/answer_naive.md"));
const ANSWER_USER_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/answer_user_prompt.md"));

/// Divides the system message from the user message where a file holds both.
const USER_MARK: &str = "\n=== user ===\n";

/// Asks for the keywords of `question`.
pub(super) fn keywords(question: &str) -> Vec<ChatMessage> {
    in_two_messages(KEYWORDS, &[("question", question)])
}

/// Asks for `question` as it would be asked without the conversation before it, and for the keywords of that.
pub(super) fn keywords_of_follow_up(conversation: &str, question: &str) -> Vec<ChatMessage> {
    in_two_messages(KEYWORDS_FOLLOW_UP, &[("conversation", conversation), ("question", question)])
}

/// The instructions for an answer from entities, relations and passages; ends with `context`.
pub(super) fn answer(response_type: &str, user_prompt: &str, context: &str) -> String {
    let additions = additions(user_prompt);
    ANSWER.render(&[("response_type", response_type), ("additions", &additions), ("context", context)])
}

/// The instructions for an answer from passages alone; ends with `context`.
pub(super) fn answer_naive(response_type: &str, user_prompt: &str, context: &str) -> String {
    let additions = additions(user_prompt);
    ANSWER_NAIVE.render(&[("response_type", response_type), ("additions", &additions), ("context", context)])
}

/// What the user asks besides, as a paragraph of its own; empty where that is nothing.
fn additions(user_prompt: &str) -> String {
    match user_prompt.trim() {
        "" => String::new(),
        asked => ANSWER_USER_PROMPT.render(&[("user_prompt", asked)]) + "\n\n",
    }
}

/// The constant part as system message, what varies as user message.
fn in_two_messages(prompt: Prompt, variables: &[(&str, &str)]) -> Vec<ChatMessage> {
    let (system, user) = prompt.body().split_once(USER_MARK).unwrap_or((prompt.body(), ""));
    vec![
        ChatMessage::new(ChatRole::System, fill(system, &[])),
        ChatMessage::new(ChatRole::User, fill(user, variables)),
    ]
}
