//! A byte range of a document's text.

use serde::{Deserialize, Serialize};

/// A half-open byte range `start..end` of a document's UTF-8 text; both ends lie on character borders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl Span {
    /// The span `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u64, end: end as u64 }
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the span holds no byte.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The text of the span; `None` where it leaves `text` or cuts a character.
    pub fn slice(self, text: &str) -> Option<&str> {
        text.get(self.start as usize..self.end as usize)
    }

    /// The span of `inner`, a range inside this span's text, in the document.
    pub fn within(self, inner: Span) -> Span {
        Span { start: self.start + inner.start, end: self.start + inner.end }
    }
}
