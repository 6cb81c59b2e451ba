//! Finds names that contain an exclamation mark, such as `Yum! Brands`.

use std::collections::BTreeSet;

use super::sentences::starts_like_sentence;

/// Words that a sentence seldom ends soon after: `of Yum!` goes on. Other words, as in `Welcome to Oslo!`, prove nothing.
const BEFORE_NAMES: [&str; 12] =
    ["of", "at", "by", "from", "for", "with", "bei", "von", "vom", "beim", "für", "durch"];

/// The names in a text that contain an exclamation mark, each as the word before the mark and the word after it.
///
/// A mark between two capitalized words belongs to a name if one of [`BEFORE_NAMES`] precedes them, as in `head of Yum!
/// Brands`. The same two words are then a name everywhere in the text.
pub(super) struct MarkedNames<'t>(BTreeSet<(&'t str, &'t str)>);

impl<'t> MarkedNames<'t> {
    /// Collects the names, in time linear in the length of the text.
    pub(super) fn of(text: &'t str) -> Self {
        let names = text.match_indices('!').filter_map(|(at, _)| {
            let (before, after) = around(text, at)?;
            let lead = last_word(text[..at - before.len()].trim_end());
            BEFORE_NAMES.contains(&lead).then_some((before, after))
        });
        Self(names.collect())
    }

    /// True if the mark at this byte belongs to a name.
    pub(super) fn hold(&self, text: &str, at: usize) -> bool {
        !self.0.is_empty() && around(text, at).is_some_and(|pair| self.0.contains(&pair))
    }
}

/// Returns the capitalized words before and after the mark at this byte; `None` if there are none, or if the second is
/// capitalized because it starts a sentence.
fn around(text: &str, at: usize) -> Option<(&str, &str)> {
    let behind = text[at..].strip_prefix('!')?;
    let next = behind.trim_start();
    let before = last_word(&text[..at]);
    let after = &next[..next.find(|c: char| !c.is_alphanumeric()).unwrap_or(next.len())];
    let are_capitalized = [before, after].iter().all(|word| word.starts_with(char::is_uppercase));
    let is_apart = next.len() < behind.len();
    (is_apart && are_capitalized && !starts_like_sentence(next)).then_some((before, after))
}

fn last_word(text: &str) -> &str {
    let start = text.char_indices().rev().find(|(_, c)| !c.is_alphanumeric());
    &text[start.map_or(0, |(at, c)| at + c.len_utf8())..]
}
