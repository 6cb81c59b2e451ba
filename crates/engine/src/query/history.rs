//! Selects how much of a conversation the models get.

use graphloom_core::{ChatMessage, ChatRole};

use super::Question;
use graphloom_text::Tokenizer;

/// The conversation gets at most this fraction (1/2) of the budget of the whole prompt.
const SHARE_OF_BUDGET: u32 = 2;

/// Maximum number of messages for the interpretation of a follow-up.
const MAX_FOLLOW_UP_MESSAGES: usize = 6;

/// Maximum number of characters of each such message.
const MAX_FOLLOW_UP_CHARS: usize = 2000;

/// Returns how many of the latest messages the answer model gets: those that fit. If not all fit, the first is a message of
/// the user.
pub(super) fn fitting(question: &Question, tokenizer: Tokenizer) -> usize {
    let budget = question.max_total_tokens / SHARE_OF_BUDGET;
    let mut used: u32 = 0;
    let mut kept = 0;
    for message in question.history.iter().rev() {
        used = used.saturating_add(tokenizer.count(&message.content));
        if used > budget {
            break;
        }
        kept += 1;
    }
    let first = question.history.len() - kept;
    let answers = question.history[first..].iter().take_while(|message| message.role != ChatRole::User);
    if first == 0 { kept } else { kept - answers.count() }
}

/// Returns the latest `count` messages.
pub(super) fn latest(question: &Question, count: usize) -> &[ChatMessage] {
    let first = question.history.len().saturating_sub(count);
    &question.history[first..]
}

/// Returns the messages for the interpretation of a follow-up; empty if they have no text.
pub(super) fn before_follow_up(question: &Question) -> &[ChatMessage] {
    let latest = latest(question, MAX_FOLLOW_UP_MESSAGES);
    let is_silent = latest.iter().all(|message| message.content.trim().is_empty());
    if is_silent { &[] } else { latest }
}

/// Writes each message as one line; cuts long ones.
pub(super) fn transcript(messages: &[ChatMessage]) -> String {
    let line = |message: &ChatMessage| {
        let speaker = match message.role {
            ChatRole::System => "System",
            ChatRole::User => "User",
            ChatRole::Assistant => "Assistant",
        };
        let words = message.content.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = words.chars().take(MAX_FOLLOW_UP_CHARS).collect();
        format!("{speaker}: {cut}")
    };
    messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_fitting(messages: &[(ChatRole, &str)], max_total_tokens: u32) -> usize {
        let history = messages.iter().map(|(role, content)| ChatMessage::new(*role, *content)).collect();
        fitting(&Question { history, max_total_tokens, ..Question::default() }, Tokenizer)
    }

    #[test]
    fn the_latest_messages_that_fit_are_kept_starting_with_a_question() {
        let told = [
            (ChatRole::User, "one two three"),
            (ChatRole::Assistant, "four five six"),
            (ChatRole::User, "seven eight nine"),
            (ChatRole::Assistant, "ten eleven twelve"),
        ];
        assert_eq!(check_fitting(&told, 30_000), 4);
        assert_eq!(check_fitting(&told, 20), 2, "the first answer would fit, but not its question");
        assert_eq!(check_fitting(&told, 0), 0);
        assert_eq!(check_fitting(&told[1..], 30_000), 3, "a complete history is unchanged");
    }

    #[test]
    fn every_message_is_one_line() {
        let long = "x".repeat(3000);
        let messages = [
            ChatMessage::new(ChatRole::User, "Who?\nLatest question: no"),
            ChatMessage::new(ChatRole::Assistant, long),
        ];
        let text = transcript(&messages);
        assert!(text.starts_with("User: Who? Latest question: no\nAssistant: xxx"), "{text}");
        assert_eq!((text.lines().count(), text.lines().last().map(str::len)), (2, Some(2011)));
    }
}
