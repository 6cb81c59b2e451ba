//! Takes a model's `<think>` blocks out of its answer, also while it streams.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Filters deltas; what it gives out, joined, is the answer without thoughts and without white space in front.
#[derive(Debug, Default)]
pub(super) struct ThinkFilter {
    /// What may still turn out to be a tag.
    held: String,
    inside: bool,
    /// Whether anything was given out.
    begun: bool,
}

impl ThinkFilter {
    /// What can be shown after one more delta; may be empty.
    pub(super) fn push(&mut self, delta: &str) -> String {
        self.held.push_str(delta);
        let mut shown = String::new();
        loop {
            let tag = if self.inside { CLOSE } else { OPEN };
            match self.held.find(tag) {
                Some(at) => {
                    if !self.inside {
                        shown.push_str(&self.held[..at]);
                    }
                    self.held.drain(..at + tag.len());
                    self.inside = !self.inside;
                }
                None => {
                    let keep = tag_start_at_end(&self.held, tag);
                    let rest = self.held.split_off(self.held.len() - keep);
                    let passed = std::mem::replace(&mut self.held, rest);
                    if !self.inside {
                        shown.push_str(&passed);
                    }
                    return self.show(&shown);
                }
            }
        }
    }

    /// What was held back at the end of the answer. A thought that was never closed is dropped.
    pub(super) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        if self.inside { String::new() } else { self.show(&rest) }
    }

    fn show(&mut self, text: &str) -> String {
        let text = if self.begun { text } else { text.trim_start() };
        self.begun |= !text.is_empty();
        text.to_owned()
    }
}

/// A whole answer without its thoughts.
pub(super) fn without_thinking(answer: &str) -> String {
    let mut filter = ThinkFilter::default();
    filter.push(answer) + &filter.finish()
}

/// Length of the longest end of `text` that `tag` starts with.
fn tag_start_at_end(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|&length| text.ends_with(&tag[..length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thoughts_are_taken_out_and_answers_begin_with_a_word() {
        assert_eq!(without_thinking("<think>so</think>\n\nYes."), "Yes.");
        assert_eq!(without_thinking("A <b> < c<think>x</think> d"), "A <b> < c d");
        assert_eq!(without_thinking("Yes.<think>never closed"), "Yes.");
        assert_eq!(without_thinking("a <thin"), "a <thin");
    }

    proptest! {
        #[test]
        fn the_cut_between_deltas_changes_nothing(parts in proptest::collection::vec("(<think>|</think>|<|t|hink>| |ä)", 0..12), size in 1usize..5) {
            let answer = parts.concat();
            let mut filter = ThinkFilter::default();
            let mut shown = String::new();
            for delta in answer.chars().collect::<Vec<_>>().chunks(size) {
                shown += &filter.push(&delta.iter().collect::<String>());
            }
            shown += &filter.finish();
            prop_assert_eq!(shown, without_thinking(&answer));
        }
    }
}
