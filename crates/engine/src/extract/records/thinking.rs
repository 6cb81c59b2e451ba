//! Finds thinking blocks around and between records.

/// Tags around a thinking block. Models use the first pair in the middle of an answer too.
pub(crate) const THOUGHT_BLOCKS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
];

/// The thinking block at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thoughts {
    /// There is none.
    None,
    /// It ends at this byte.
    Until(usize),
    /// It never ends.
    Unclosed,
}

/// Finds the thinking block at the start of `text`, ignoring white space.
pub(super) fn leading_block(text: &str) -> Thoughts {
    let start = text.len() - text.trim_start().len();
    for (open, close) in THOUGHT_BLOCKS {
        if text.get(start..start + open.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(open)) {
            return match find_tag(&text[start..], close) {
                Some(at) => Thoughts::Until(start + at + close.len()),
                None => Thoughts::Unclosed,
            };
        }
    }
    Thoughts::None
}

/// Returns the first position of `tag` in `text`, ignoring case.
fn find_tag(text: &str, tag: &str) -> Option<usize> {
    let is_tag =
        |at: usize| text.get(at..at + tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag));
    text.match_indices('<').map(|(at, _)| at).find(|&at| is_tag(at))
}

/// Returns the end of a thinking block whose opening tag was part of the prompt: the answer has only the closing tag, on a line of
/// its own. Anywhere else the tag is content.
pub(super) fn unopened_block(text: &str) -> Option<usize> {
    let (at, open, close) = THOUGHT_BLOCKS
        .iter()
        .filter_map(|(open, close)| text.find(close).map(|at| (at, open, close)))
        .min_by_key(|(at, _, _)| *at)?;
    let end = at + close.len();
    let (before, after) =
        (text[..at].trim_end_matches([' ', '\t']), text[end..].trim_start_matches([' ', '\t', '\r']));
    let alone =
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'));
    (alone && !before.contains(open)).then_some(end)
}

/// Returns the text after a leading thinking block, and the offset of its first byte. An unclosed block hides everything.
pub(crate) fn after_thinking(text: &str) -> (usize, &str) {
    match leading_block(text) {
        Thoughts::None => match unopened_block(text) {
            Some(end) => (end, &text[end..]),
            None => (0, text),
        },
        Thoughts::Until(end) => (end, &text[end..]),
        Thoughts::Unclosed => (text.len(), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_skipped_with_any_tag() {
        for (text, rest) in [
            ("<think>no</think>yes", "yes"),
            ("  <Thinking>no</thinKing>yes", "yes"),
            ("no\n</think>\nyes", "\nyes"),
            ("a tag </think> in a text", "a tag </think> in a text"),
            ("<think>never ends", ""),
            ("plain", "plain"),
            ("a <think>b</think> c", "a <think>b</think> c"),
        ] {
            assert_eq!(after_thinking(text).1, rest, "{text}");
        }
    }
}
