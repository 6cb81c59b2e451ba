//! Where a passage is in its source: pages, slides, sheets and messages.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Span;

/// A part of a source with a number or name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A page, from 1.
    Page(u32),
    /// A slide, from 1.
    Slide(u32),
    /// A sheet of a workbook, by name.
    Sheet(String),
    /// A message of a mailbox, from 1.
    Message(u32),
}

/// The start of a part in a document's text. The part ends where the next one starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartMark {
    /// Its first byte.
    pub offset: u64,
    /// The part.
    #[serde(flatten)]
    pub part: Part,
}

/// The parts that a passage spans, usually just one.
///
/// Printed as `p. 12`, `pp. 12-13`, `slide 3`, `slides 3-4`, `sheet Budget`, `sheets Budget to Costs`,
/// `message 3`, `messages 3-4`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The first part.
    pub first: Part,
    /// The last part.
    pub last: Part,
}

impl Place {
    /// Returns the parts that `span` covers, given ascending `marks`; `None` if it starts before the first mark.
    pub fn of(marks: &[PartMark], span: Span) -> Option<Self> {
        let part_at = |byte: u64| {
            let after = marks.partition_point(|mark| mark.offset <= byte);
            after.checked_sub(1).map(|at| marks[at].part.clone())
        };
        let last = part_at(span.end.saturating_sub(1).max(span.start))?;
        Some(Self { first: part_at(span.start).unwrap_or_else(|| last.clone()), last })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.first, &self.last) {
            (first, last) if first == last => first.fmt(f),
            (Part::Page(first), Part::Page(last)) => write!(f, "pp. {first}-{last}"),
            (Part::Slide(first), Part::Slide(last)) => write!(f, "slides {first}-{last}"),
            (Part::Sheet(first), Part::Sheet(last)) => write!(f, "sheets {first} to {last}"),
            (Part::Message(first), Part::Message(last)) => write!(f, "messages {first}-{last}"),
            (first @ (Part::Page(_) | Part::Slide(_) | Part::Sheet(_) | Part::Message(_)), last) => {
                write!(f, "{first} to {last}")
            }
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(number) => write!(f, "p. {number}"),
            Self::Slide(number) => write!(f, "slide {number}"),
            Self::Sheet(name) => write!(f, "sheet {name}"),
            Self::Message(number) => write!(f, "message {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_place(marks: &[(u64, Part)], span: (usize, usize)) -> Option<String> {
        let marks: Vec<PartMark> =
            marks.iter().map(|(offset, part)| PartMark { offset: *offset, part: part.clone() }).collect();
        Place::of(&marks, Span::new(span.0, span.1)).map(|place| place.to_string())
    }

    #[test]
    fn a_passage_is_on_the_pages_it_touches() {
        let pages = [(0, Part::Page(1)), (10, Part::Page(2)), (30, Part::Page(4))];
        assert_eq!(check_place(&pages, (0, 10)).as_deref(), Some("p. 1"));
        assert_eq!(check_place(&pages, (9, 11)).as_deref(), Some("pp. 1-2"));
        assert_eq!(check_place(&pages, (12, 99)).as_deref(), Some("pp. 2-4"));
        assert_eq!(check_place(&[], (0, 5)), None);
    }

    #[test]
    fn text_before_the_first_part_has_no_place() {
        let sheets = [(5, Part::Sheet("Budget".to_owned())), (9, Part::Sheet("Costs".to_owned()))];
        assert_eq!(check_place(&sheets, (0, 4)), None);
        assert_eq!(check_place(&sheets, (5, 9)).as_deref(), Some("sheet Budget"));
        assert_eq!(check_place(&sheets, (6, 12)).as_deref(), Some("sheets Budget to Costs"));
        assert_eq!(check_place(&[(0, Part::Slide(3))], (0, 4)).as_deref(), Some("slide 3"));
        let messages = [(0, Part::Message(3)), (4, Part::Message(4))];
        assert_eq!(check_place(&messages, (0, 4)).as_deref(), Some("message 3"));
        assert_eq!(check_place(&messages, (0, 8)).as_deref(), Some("messages 3-4"));
    }
}
