//! Detects repeated instructions.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use graphloom_core::{ChatMessage, ChatRole};

/// Maximum instructions to keep. A process uses one per kind of prompt.
const MAX_PREFIXES: usize = 64;

/// Hashes of the instructions of past requests, least recently used first.
#[derive(Debug, Default)]
pub(super) struct Prefixes(Mutex<VecDeque<blake3::Hash>>);

impl Prefixes {
    /// True if the instructions in `messages` occurred before. Records them.
    pub(super) fn are_repeated(&self, messages: &[ChatMessage]) -> bool {
        let mut hasher = blake3::Hasher::new();
        let mut any = false;
        for message in messages.iter().filter(|message| message.role == ChatRole::System) {
            any = true;
            hasher.update(&(message.content.len() as u64).to_le_bytes());
            hasher.update(message.content.as_bytes());
        }
        if !any {
            return false;
        }
        let hash = hasher.finalize();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|known| *known == hash);
        if let Some(place) = place {
            known.remove(place);
        } else if known.len() >= MAX_PREFIXES {
            known.pop_front();
        }
        known.push_back(hash);
        place.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_come_again(prefixes: &Prefixes, system: &str) -> bool {
        let messages = [ChatMessage::new(ChatRole::System, system), ChatMessage::new(ChatRole::User, "hi")];
        prefixes.are_repeated(&messages)
    }

    #[test]
    fn instructions_count_as_repeated_once_they_were_sent() {
        let prefixes = Prefixes::default();
        let asked = ["a", "b", "a", "a", "c", "b"].map(|system| check_come_again(&prefixes, system));
        assert_eq!(asked, [false, false, true, true, false, true]);
        assert!(!prefixes.are_repeated(&[ChatMessage::new(ChatRole::User, "hi")]));
        assert!(!prefixes.are_repeated(&[ChatMessage::new(ChatRole::User, "hi")]));
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_used_entries() {
        let prefixes = Prefixes::default();
        for number in 0..3 * MAX_PREFIXES {
            check_come_again(&prefixes, &number.to_string());
            assert_eq!(check_come_again(&prefixes, "constant"), number > 0);
        }
        assert!(!check_come_again(&prefixes, "0"));
        assert_eq!(prefixes.0.lock().unwrap().len(), MAX_PREFIXES);
    }
}
