//! Finds a chunk of another system in the text of its document.

use graphloom_core::Span;

/// Maximum lines of metadata that a system may put before the text of a chunk.
const MAX_METADATA_LINES: usize = 32;

/// The place of a chunk in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkPlace {
    pub(crate) span: Span,
    /// Whether the text contains the chunk verbatim, not only with other white space.
    pub(crate) verbatim: bool,
}

/// A text to search for chunks.
pub(crate) struct Text<'a> {
    text: &'a str,
    squeezed: Option<SqueezedText>,
}

impl<'a> Text<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, squeezed: None }
    }

    /// Returns the place of `chunk`: after the byte `after` if possible, because chunks follow each other, otherwise anywhere.
    ///
    /// Tries in this order: the chunk as it is; without white space and broken characters at its ends, which token windows
    /// leave; without its first lines, which may be metadata; with any white space between words.
    pub(crate) fn find(&mut self, chunk: &str, after: usize) -> Option<ChunkPlace> {
        let verbatim = |span| ChunkPlace { span, verbatim: true };
        if let Some(span) = self.exactly(chunk, after) {
            return Some(verbatim(span));
        }
        let trimmed = chunk.trim_matches(|c: char| c.is_whitespace() || c == char::REPLACEMENT_CHARACTER);
        if let Some(span) = self.exactly(trimmed, after) {
            return Some(verbatim(span));
        }
        let mut rest = trimmed;
        for _ in 0..MAX_METADATA_LINES {
            let Some((_, behind)) = rest.split_once('\n') else { break };
            rest = behind;
            // First with the white space before the rest, then without.
            let found = self.exactly(rest, after).or_else(|| self.exactly(rest.trim_start(), after));
            if let Some(span) = found.filter(|_| rest.len() * 2 > trimmed.len()) {
                return Some(verbatim(span));
            }
        }
        let squeezed = self.squeezed.get_or_insert_with(|| SqueezedText::new(self.text));
        squeezed.find(trimmed).map(|span| ChunkPlace { span, verbatim: false })
    }

    fn exactly(&self, chunk: &str, after: usize) -> Option<Span> {
        if chunk.trim().is_empty() {
            return None;
        }
        let from = (after..=self.text.len()).find(|at| self.text.is_char_boundary(*at))?;
        let behind = self.text[from..].find(chunk).map(|at| from + at);
        let start = behind.or_else(|| self.text.find(chunk))?;
        Some(Span::new(start, start + chunk.len()))
    }
}

/// A text with single blanks between words, and a mapping back to the original text.
struct SqueezedText {
    text: String,
    /// For each byte, the byte in the original text, and the end of its character there.
    origin: Vec<(u32, u32)>,
}

impl SqueezedText {
    fn new(text: &str) -> Self {
        let mut squeezed = Self { text: String::new(), origin: Vec::new() };
        for (at, c) in text.char_indices() {
            let c = if c.is_whitespace() { ' ' } else { c };
            if c == ' ' && squeezed.text.ends_with(' ') {
                continue;
            }
            squeezed.text.push(c);
            let end = at + text[at..].chars().next().map_or(1, char::len_utf8);
            squeezed.origin.resize(squeezed.text.len(), (at as u32, end as u32));
        }
        squeezed
    }

    fn find(&self, chunk: &str) -> Option<Span> {
        let chunk = chunk.split_whitespace().collect::<Vec<_>>().join(" ");
        if chunk.is_empty() {
            return None;
        }
        let at = self.text.find(&chunk)?;
        let (start, _) = *self.origin.get(at)?;
        let (_, end) = *self.origin.get(at + chunk.len() - 1)?;
        Some(Span { start: start.into(), end: end.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_find(text: &str, chunk: &str, after: usize, expected: Option<(&str, bool)>) {
        let found = Text::new(text).find(chunk, after);
        let found = found.map(|it| (it.span.slice(text).expect("within the text"), it.verbatim));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_chunk_is_found_verbatim_and_without_added_text() {
        let text = "Ada met Bo.\n\nBo left  early.";
        check_find(text, "Bo left  early.", 0, Some(("Bo left  early.", true)));
        check_find(text, "\u{fffd}Ada met Bo.\n", 0, Some(("Ada met Bo.", true)));
        check_find(text, "title: a.txt.\nAda met Bo.\n\nBo left  early.", 0, Some((text, true)));
        check_find(text, "Ada met Bo. Bo left early.", 0, Some((text, false)));
        check_find(text, "Cy", 0, None);
        check_find(text, " ", 0, None);
    }

    #[test]
    fn a_repeated_chunk_is_found_after_the_previous_one() {
        let text = "é. Same. Same.";
        assert_eq!(Text::new(text).find("Same.", 5).map(|it| it.span.start), Some(10));
        assert_eq!(Text::new(text).find("é.", 1).map(|it| it.span.start), Some(0));
    }
}
