//! Splits texts into words in the same way as BERT.

use serde_json::Value;
use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

/// How the text of a word is normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Normalizer {
    clean: bool,
    split_chinese: bool,
    strip_accents: bool,
    lowercase: bool,
}

impl Normalizer {
    pub(super) fn read(step: Option<&Value>) -> Result<Self, String> {
        let Some(step) = step.filter(|step| !step.is_null()) else {
            return Ok(Self { clean: false, split_chinese: false, strip_accents: false, lowercase: false });
        };
        match step["type"].as_str() {
            Some("BertNormalizer") => {
                let flag = |name: &str, missing: bool| step[name].as_bool().unwrap_or(missing);
                let lowercase = flag("lowercase", true);
                Ok(Self {
                    clean: flag("clean_text", true),
                    split_chinese: flag("handle_chinese_chars", true),
                    strip_accents: flag("strip_accents", lowercase),
                    lowercase,
                })
            }
            other => Err(format!(
                "its tokenizer normalizes by {}, which is not supported",
                other.unwrap_or("nothing")
            )),
        }
    }

    /// Calls `found` with each word and punctuation mark, in order, until it returns false.
    pub(super) fn words(self, text: &str, found: &mut dyn FnMut(&str) -> bool) {
        let mut word = String::new();
        // The rest of a text is not read once there are enough words, so texts are normalized piece by piece:
        // accents and case never depend on text across white space.
        for piece in text.split_inclusive(char::is_whitespace) {
            if piece.is_ascii() {
                for c in piece.chars().filter(|c| !(self.clean && is_control(*c))) {
                    let c = if self.lowercase { c.to_ascii_lowercase() } else { c };
                    if !take(c, &mut word, found) {
                        return;
                    }
                }
            } else {
                for c in self.normalize(piece).chars() {
                    if !take(c, &mut word, found) {
                        return;
                    }
                }
            }
        }
        if !word.is_empty() {
            found(&word);
        }
    }

    fn normalize(self, piece: &str) -> String {
        let mut text = String::with_capacity(piece.len() + 8);
        for c in piece.chars() {
            if self.clean && (c == '\u{fffd}' || is_control(c)) {
                continue;
            }
            if self.split_chinese && is_chinese(c) {
                text.extend([' ', c, ' ']);
            } else {
                text.push(c);
            }
        }
        if self.strip_accents {
            text = text.nfd().filter(|c| !c.is_mark_nonspacing()).collect();
        }
        if self.lowercase {
            // Character by character: the final sigma is not special here.
            text = text.chars().flat_map(char::to_lowercase).collect();
        }
        text
    }
}

/// Adds a character to the word, or ends the word. False if no more words are wanted.
fn take(c: char, word: &mut String, found: &mut dyn FnMut(&str) -> bool) -> bool {
    let space = c.is_whitespace();
    if !space && !is_punctuation(c) {
        word.push(c);
        return true;
    }
    if !word.is_empty() {
        let more = found(word);
        word.clear();
        if !more {
            return false;
        }
    }
    space || found(c.encode_utf8(&mut [0; 4]))
}

fn is_control(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r') && c.is_other()
}

fn is_punctuation(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_punctuation() } else { c.is_punctuation() }
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
