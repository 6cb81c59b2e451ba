//! Words with their shape, part of speech and what stands before them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::LazyLock;

use harper_brill::{BrillTagger, FreqDict, Tagger, UPOS, brill_tagger};
use unicode_segmentation::UnicodeSegmentation;

use super::lexicon::is_stop_word;

/// Longest run of words tagged at once; the tagger's time grows with the run, and memory with it.
const MAX_TAGGED_WORDS: usize = 256;
/// Share of unknown small words from which a text is taken for another language than English.
const FOREIGN_SHARE: f32 = 0.5;

/// How a word is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// No capital, or a script without case.
    Lower,
    /// First letter capital.
    Capital,
    /// Two or more letters, all capital.
    Upper,
    /// A capital behind a small first letter, as in `iPhone`.
    Mixed,
    /// Begins with a digit.
    Digit,
}

/// One word.
#[derive(Debug, Clone)]
pub(super) struct Token<'a> {
    /// First byte.
    pub(super) start: usize,
    /// Behind the last byte, without a possessive ending.
    pub(super) end: usize,
    /// The word without a possessive ending.
    pub(super) text: &'a str,
    /// The word in small letters.
    pub(super) lower: String,
    /// What stands between the word before and this one; a possessive ending is part of it.
    pub(super) gap: &'a str,
    /// How it is written.
    pub(super) shape: Shape,
    /// Its part of speech, guessed where the tagger does not know the word.
    pub(super) tag: UPOS,
    /// Whether the tagger knows the word.
    pub(super) known: bool,
}

impl Token<'_> {
    /// Whether capitals mark the word as a possible name.
    pub(super) fn is_capital(&self) -> bool {
        matches!(self.shape, Shape::Capital | Shape::Upper | Shape::Mixed)
    }

    /// Whether the word carries meaning of its own.
    pub(super) fn is_content(&self) -> bool {
        !is_stop_word(&self.lower)
    }
}

/// Tags the words of one sentence. All capitals carry nothing, so such sentences are read in small letters.
pub(super) fn tokens(text: &str, sentence: Range<usize>) -> Vec<Token<'_>> {
    let offset = sentence.start;
    let slice = &text[sentence];
    let mut found: Vec<Token<'_>> = Vec::new();
    let mut gap_start = 0;
    for (at, word) in slice.unicode_word_indices() {
        let bare = without_possessive(word);
        found.push(Token {
            start: offset + at,
            end: offset + at + bare.len(),
            text: bare,
            lower: bare.to_lowercase(),
            gap: gap(&slice[gap_start..at]),
            shape: shape(bare),
            tag: UPOS::NOUN,
            known: false,
        });
        gap_start = at + bare.len();
    }
    let letters = found.iter().filter(|token| token.shape != Shape::Digit).count();
    let shouted = found.iter().filter(|token| token.shape == Shape::Upper).count();
    if letters >= 4 && shouted == letters {
        for token in &mut found {
            token.shape = if token.shape == Shape::Digit { Shape::Digit } else { Shape::Lower };
        }
    }
    tag(&mut found);
    found
}

/// What stands between two words; where a line ends in a sentence that goes on, a blank.
fn gap(between: &str) -> &str {
    let wraps = between.contains(['\n', '\r']) && between.chars().all(|c| c.is_whitespace() || c == '>');
    if wraps { " " } else { between }
}

/// Whether most small words are unknown to the English tagger.
pub(super) fn is_foreign(sentences: &[&[Token<'_>]]) -> bool {
    let small = || sentences.iter().copied().flatten().filter(|token| token.shape == Shape::Lower);
    let all = small().count();
    let unknown = small().filter(|token| !token.known).count();
    all >= 4 && unknown as f32 > FOREIGN_SHARE * all as f32
}

/// Loads the tagger on first use: its model is parsed once, in some tens of milliseconds.
static TAGGER: LazyLock<Arc<BrillTagger<FreqDict>>> = LazyLock::new(brill_tagger);

fn tag(tokens: &mut [Token<'_>]) {
    for run in tokens.chunks_mut(MAX_TAGGED_WORDS) {
        let words: Vec<String> = run.iter().map(|token| token.lower.clone()).collect();
        let tags = TAGGER.tag_sentence(&words);
        for (token, tag) in run.iter_mut().zip(tags) {
            token.known = tag.is_some();
            token.tag = tag.unwrap_or_else(|| guess(token));
        }
    }
}

fn guess(token: &Token<'_>) -> UPOS {
    match token.shape {
        Shape::Digit => UPOS::NUM,
        Shape::Capital | Shape::Upper | Shape::Mixed => UPOS::PROPN,
        Shape::Lower if token.lower.ends_with("ly") => UPOS::ADV,
        Shape::Lower if token.lower.ends_with("ed") => UPOS::VERB,
        Shape::Lower => UPOS::NOUN,
    }
}

fn shape(word: &str) -> Shape {
    let mut chars = word.chars();
    let Some(first) = chars.next() else { return Shape::Lower };
    if first.is_numeric() {
        return Shape::Digit;
    }
    let letters = || word.chars().filter(|c| c.is_alphabetic());
    if first.is_uppercase() {
        return if letters().count() > 1 && letters().all(char::is_uppercase) {
            Shape::Upper
        } else {
            Shape::Capital
        };
    }
    if chars.any(char::is_uppercase) { Shape::Mixed } else { Shape::Lower }
}

fn without_possessive(word: &str) -> &str {
    ["'s", "’s", "'S", "’S"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending))
        .filter(|bare| !bare.is_empty())
        .unwrap_or(word)
}
