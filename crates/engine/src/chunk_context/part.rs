//! Selects the part of a document that an LLM reads with a chunk: the whole document if it is short enough.

use std::ops::Range;

use graphloom_core::Span;

use graphloom_text::Tokenizer;

/// Documents up to this many tokens are sent whole. Longer ones are cut into parts of this size, each starting in the middle of
/// the previous part or earlier. So the LLM reads at least a quarter of a part on either side of the middle of a chunk.
pub const MAX_DOCUMENT_TOKENS: usize = 8000;
/// Tokens from the start of the document that precede every other part, because they usually say what the document is.
pub const HEAD_TOKENS: usize = 500;
/// Marks omitted text.
const LEFT_OUT: &str = "[…]";

/// The parts of one text.
pub(super) struct Parts<'a> {
    text: &'a str,
    /// End of the text from the start of the document that precedes every part but the first.
    head: usize,
    parts: Vec<Range<usize>>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(text: &'a str, tokenizer: Tokenizer) -> Self {
        let map = tokenizer.map(text);
        if map.len() <= MAX_DOCUMENT_TOKENS {
            let whole = 0..text.len();
            return Self { text, head: 0, parts: vec![whole] };
        }
        let mut parts = map.windows(text, 0..text.len(), MAX_DOCUMENT_TOKENS, MAX_DOCUMENT_TOKENS / 2);
        if let Some(last) = parts.last_mut() {
            // As long as the others, although it starts earlier.
            last.start = text.floor_char_boundary(map.back(text.len(), MAX_DOCUMENT_TOKENS));
        }
        Self { text, head: tokenizer.truncate(text, HEAD_TOKENS as u32).len(), parts }
    }

    /// Returns the text to send for each part, in order.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        self.parts.iter().map(|part| {
            let own = &self.text[part.clone()];
            let (before, after) = (part.start > 0, part.end < self.text.len());
            let mut text = String::new();
            if before {
                text = format!("{}\n{LEFT_OUT}\n", self.text[..self.head].trim_end());
            }
            text.push_str(own);
            if after {
                text.push_str(&format!("\n{LEFT_OUT}"));
            }
            text
        })
    }

    /// Returns the part whose middle is nearest to the chunk; of two, the first.
    pub(super) fn around(&self, span: Span) -> usize {
        // Twice the middle, so that it is an integer.
        let middle = span.start + span.end;
        let distance = |part: &Range<usize>| middle.abs_diff((part.start + part.end) as u64);
        let nearest = self.parts.iter().enumerate().min_by_key(|(_, part)| distance(part));
        nearest.map_or(0, |(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> String {
        (0..count).map(|n| format!("w{n} ")).collect()
    }

    #[test]
    fn a_short_document_is_sent_whole() {
        let text = words(100);
        let parts = Parts::of(&text, Tokenizer);
        assert_eq!(parts.texts().collect::<Vec<_>>(), [text.as_str()]);
        assert_eq!(parts.around(Span::new(40, 80)), 0);
    }

    #[test]
    fn a_chunk_of_a_long_document_is_sent_with_text_around_it_and_the_start_of_the_document() {
        let text = words(12_000);
        let map = Tokenizer.map(&text);
        let parts = Parts::of(&text, Tokenizer);
        let texts: Vec<String> = parts.texts().collect();
        assert!(texts.len() > 3, "{}", texts.len());
        for (number, text) in texts.iter().enumerate() {
            assert!(text.starts_with("w0 w1 "), "{number}");
            assert!(Tokenizer.count(text) as usize <= MAX_DOCUMENT_TOKENS + HEAD_TOKENS + 16);
            assert_eq!(text.contains("\n[…]\n"), number > 0);
            assert_eq!(text.ends_with("[…]"), number + 1 < texts.len());
        }
        // Half of the chunk is on either side of its middle.
        let quarter = MAX_DOCUMENT_TOKENS / 4 - 600;
        for start in (0..text.len() - 2000).step_by(1777) {
            let part = parts.parts[parts.around(Span::new(start, start + 2000))].clone();
            assert!(part.start == 0 || map.count(&(part.start..start)) >= quarter, "{start} in {part:?}");
            let after = map.count(&(start + 2000..part.end));
            assert!(part.end == text.len() || after >= quarter, "{start} in {part:?}");
        }
    }
}
