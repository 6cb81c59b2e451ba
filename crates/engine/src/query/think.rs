//! Removes a model's thoughts from its answer, also while it streams.

use crate::extract::{THOUGHT_BLOCKS, after_thinking};

/// The tag that opens thoughts anywhere in an answer. Other tags do so only at its beginning; elsewhere they are content.
const OPEN: &str = THOUGHT_BLOCKS[0].0;

/// Filters deltas. The joined output is the answer without thoughts and without leading white space.
///
/// Thoughts whose opening tag was part of the prompt cannot be recognized while they stream; [`without_thinking`] removes
/// them from a whole answer.
#[derive(Debug, Default)]
pub(super) struct ThinkFilter {
    /// Text that may still turn out to be a tag.
    held: String,
    /// The tag that ends the current thoughts.
    inside: Option<&'static str>,
    /// True if any text was returned.
    begun: bool,
    /// True if the last character was a backtick: a tag after it is quoted, not used.
    quotes: bool,
}

/// What a `<` begins.
enum Tag {
    /// Thoughts: the length of the tag, and the tag that ends them.
    Opens(usize, &'static str),
    /// A closing tag at the beginning of the answer, for thoughts that the prompt opened; its length.
    Closes(usize),
    /// Not decided before more text arrives.
    Unclear,
    /// Content.
    None,
}

impl ThinkFilter {
    /// Adds a delta and returns the text that can be shown; may be empty.
    pub(super) fn push(&mut self, delta: &str) -> String {
        self.held.push_str(delta);
        let mut shown = String::new();
        loop {
            // Changes only ASCII letters, so byte offsets stay the same.
            let lower = self.held.to_ascii_lowercase();
            if let Some(close) = self.inside {
                let Some(at) = lower.find(close) else {
                    let keep = tag_start_at_end(&lower, close);
                    self.held.drain(..self.held.len() - keep);
                    return shown;
                };
                self.held.drain(..at + close.len());
                self.inside = None;
                continue;
            }
            let mut from = 0;
            let (at, tag) = loop {
                let Some(at) = lower[from..].find('<').map(|at| from + at) else {
                    break (lower.len(), Tag::None);
                };
                match self.tag_at(&lower, at) {
                    Tag::None => from = at + 1,
                    tag => break (at, tag),
                }
            };
            let rest = self.held.split_off(at);
            let passed = std::mem::replace(&mut self.held, rest);
            self.show(&passed, &mut shown);
            match tag {
                Tag::Opens(length, close) => {
                    self.held.drain(..length);
                    self.inside = Some(close);
                }
                Tag::Closes(length) => drop(self.held.drain(..length)),
                Tag::Unclear | Tag::None => return shown,
            }
        }
    }

    /// Returns the text held back at the end of the answer. Drops thoughts that were never closed.
    pub(super) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        let mut shown = String::new();
        if self.inside.is_none() {
            self.show(&rest, &mut shown);
        }
        shown
    }

    /// Returns what the `<` at `at` begins.
    fn tag_at(&self, lower: &str, at: usize) -> Tag {
        let (before, rest) = lower.split_at(at);
        let first = !self.begun && before.trim().is_empty();
        let quoted = before.chars().next_back().map_or(self.quotes, |last| last == '`');
        if quoted {
            return Tag::None;
        }
        let mut unclear = false;
        for (open, close) in THOUGHT_BLOCKS.into_iter().filter(|(open, _)| first || *open == OPEN) {
            if rest.starts_with(open) {
                return Tag::Opens(open.len(), close);
            }
            if first && rest.starts_with(close) {
                return Tag::Closes(close.len());
            }
            unclear |= open.starts_with(rest) || (first && close.starts_with(rest));
        }
        if unclear { Tag::Unclear } else { Tag::None }
    }

    /// Adds the visible part of `text` to `shown`.
    fn show(&mut self, text: &str, shown: &mut String) {
        if let Some(last) = text.chars().next_back() {
            self.quotes = last == '`';
        }
        let text = if self.begun { text } else { text.trim_start() };
        self.begun |= !text.is_empty();
        shown.push_str(text);
    }
}

/// Returns a whole answer without its thoughts, including thoughts whose opening tag was part of the prompt.
pub(super) fn without_thinking(answer: &str) -> String {
    filtered(after_thinking(answer).1)
}

fn filtered(answer: &str) -> String {
    let mut filter = ThinkFilter::default();
    filter.push(answer) + &filter.finish()
}

/// Returns the length of the longest end of `text` that `tag` starts with.
fn tag_start_at_end(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|&length| text.ends_with(&tag[..length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thoughts_are_removed_and_answers_start_with_a_word() {
        for (answer, shown) in [
            ("<think>so</think>\n\nYes.", "Yes."),
            ("A <b> < c<think>x</think> d", "A <b> < c d"),
            ("Yes.<think>never closed", "Yes."),
            ("<think>never closed", ""),
            ("<think></think>", ""),
            ("<THINK>So</Think>Yes.", "Yes."),
            (" <thinking>so</thinking>\n<reasoning>and</reasoning>Yes.", "Yes."),
            ("Use <thinking> tags.", "Use <thinking> tags."),
            ("The tag `<think>` opens a thought.", "The tag `<think>` opens a thought."),
            ("<think>a < b</thin</think>Yes.", "Yes."),
            ("so it is\n</think>\n\nYes.", "Yes."),
            ("</think>Yes.", "Yes."),
            ("a <thin", "a <thin"),
            ("a <", "a <"),
        ] {
            assert_eq!(without_thinking(answer), shown, "{answer:?}");
        }
    }

    fn check_streamed(answer: &str, sizes: &[usize]) -> String {
        let mut filter = ThinkFilter::default();
        let mut shown = String::new();
        let mut rest: Vec<char> = answer.chars().collect();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let delta: String = rest.drain(..(*size).min(rest.len())).collect();
            shown += &filter.push(&delta);
        }
        shown + &filter.finish()
    }

    proptest! {
        #[test]
        fn the_boundaries_of_deltas_change_nothing(
            parts in proptest::collection::vec(
                "(<think>|</think>|<THINKing>|</thinking>|<|`|t|hink>|/|\n| |ä)", 0..12,
            ),
            sizes in proptest::collection::vec(1usize..6, 1..5),
        ) {
            let answer = parts.concat();
            prop_assert_eq!(check_streamed(&answer, &sizes), filtered(&answer));
        }

        #[test]
        fn no_thought_is_shown_and_nothing_else_is_lost(
            parts in proptest::collection::vec(("[a-z <ä]{0,6}", "[A-Z<>/ \n]{0,6}"), 0..5),
            unclosed in proptest::option::of("[A-Z<>/ ]{0,6}"),
            sizes in proptest::collection::vec(1usize..6, 1..5),
        ) {
            let mut answer = String::from("a");
            let mut expected = answer.clone();
            for (words, thought) in &parts {
                answer += &format!("{words}.<think>{thought}.</think>");
                expected += &format!("{words}.");
            }
            if let Some(thought) = unclosed {
                answer += &format!("<think>{thought}");
            }
            prop_assert_eq!(check_streamed(&answer, &sizes), expected);
        }
    }
}
