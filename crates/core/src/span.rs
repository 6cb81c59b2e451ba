//! A byte range of a document's text.

use serde::{Deserialize, Serialize};

/// A half-open byte range `start..end` of a document's UTF-8 text. Both ends are on character boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl Span {
    /// Creates the span `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u64, end: end as u64 }
    }

    /// Returns the length in bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// True if the span is empty.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Returns the text of the span; `None` if it exceeds `text` or splits a character.
    pub fn slice(self, text: &str) -> Option<&str> {
        text.get(self.start as usize..self.end as usize)
    }

    /// Returns the span in the document of `inner`, a range inside this span's text.
    pub fn within(self, inner: Span) -> Span {
        Span { start: self.start + inner.start, end: self.start + inner.end }
    }

    /// Returns the first and last line of the span in `text`, from 1. A line break belongs to the line that it ends.
    pub fn lines_in(self, text: &str) -> (u32, u32) {
        let bytes = text.as_bytes();
        let breaks = |range: std::ops::Range<usize>| {
            let range = range.start.min(bytes.len())..range.end.min(bytes.len());
            let breaks = bytes[range].iter().filter(|byte| **byte == b'\n').count();
            u32::try_from(breaks).unwrap_or(u32::MAX / 2)
        };
        let (start, end) = (self.start as usize, self.end as usize);
        let first = 1 + breaks(0..start);
        (first, first + breaks(start..end.saturating_sub(1).max(start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one_and_a_line_end_belongs_to_its_line() {
        let text = "one\ntwo\nthree";
        for (span, lines) in [
            ((0, 3), (1, 1)),
            ((0, 4), (1, 1)),
            ((4, 8), (2, 2)),
            ((2, 9), (1, 3)),
            ((2, 13), (1, 3)),
            ((13, 13), (3, 3)),
            ((13, 99), (3, 3)),
        ] {
            assert_eq!(Span::new(span.0, span.1).lines_in(text), lines, "{span:?}");
        }
    }
}
