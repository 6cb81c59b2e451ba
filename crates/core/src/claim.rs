//! Claims: dated statements about entities, each with the quote that states it.

use serde::{Deserialize, Serialize};

use crate::{ChunkId, EntityKey, IsoDate, Span};

/// Whether the text asserts a claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    /// The text asserts it.
    #[default]
    True,
    /// The text denies it.
    False,
    /// The text reports it as alleged, expected or possible.
    Suspected,
}

impl ClaimStatus {
    /// All statuses, in order.
    pub const ALL: [Self; 3] = [Self::True, Self::False, Self::Suspected];

    /// Returns the name in output and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Suspected => "suspected",
        }
    }

    /// Returns the status with this name, in any case.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name().eq_ignore_ascii_case(name.trim()))
    }
}

impl std::fmt::Display for ClaimStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The time for which a claim holds. Either end may be unknown or open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// When it began; `None` if the text does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<IsoDate>,
    /// When it ended; `None` if the text does not say, or if it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<IsoDate>,
}

impl Period {
    /// True if neither end is known.
    pub fn is_unknown(&self) -> bool {
        self.start.is_none() && self.end.is_none()
    }

    /// True if the period may include a moment of `date`. An unknown end includes everything on its side, and
    /// a date such as `2014` includes the whole year at both ends.
    pub fn overlaps(&self, date: &IsoDate) -> bool {
        let begun = self.start.as_ref().is_none_or(|start| start.start_ms() < date.end_ms());
        let ended = self.end.as_ref().is_some_and(|end| end.end_ms() <= date.start_ms());
        begun && !ended
    }
}

/// A claim as extracted from one chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// Name of the entity that the claim is about.
    pub subject: String,
    /// Name of the other entity, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// What is claimed, in a few words, such as `chief executive officer` or `acquisition`.
    pub kind: String,
    /// Whether the text asserts it.
    pub status: ClaimStatus,
    /// When it holds.
    pub period: Period,
    /// The claim as a sentence.
    pub description: String,
    /// The words of the chunk that state it, verbatim.
    pub quote: String,
}

/// One claim record of one chunk of a live document.
///
/// It names its entities as the chunk does. Decisions about entities are applied when claims are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The chunk it was extracted from.
    pub chunk: ChunkId,
    /// Position among the chunk's claims, from 0.
    pub ordinal: u32,
    /// Key of the extracted subject.
    pub subject: EntityKey,
    /// The extracted subject.
    pub subject_name: String,
    /// Key of the extracted object.
    pub object: Option<EntityKey>,
    /// The extracted object.
    pub object_name: Option<String>,
    /// What is claimed.
    pub kind: String,
    /// Whether the text asserts it.
    pub status: ClaimStatus,
    /// When it holds.
    pub period: Period,
    /// The claim as a sentence.
    pub description: String,
    /// The words that state it, as a range of the document.
    pub span: Span,
}

impl Claim {
    /// Returns the keys of its entities: the subject, then the object.
    pub fn entities(&self) -> impl Iterator<Item = &EntityKey> {
        std::iter::once(&self.subject).chain(&self.object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_overlap(start: &str, end: &str, date: &str, expected: bool) {
        let date_of = |text: &str| (!text.is_empty()).then(|| text.parse().expect("a date"));
        let period = Period { start: date_of(start), end: date_of(end) };
        assert_eq!(period.overlaps(&date.parse().expect("a date")), expected, "{start}..{end} at {date}");
    }

    #[test]
    fn a_period_includes_the_dates_at_both_ends_completely() {
        check_overlap("2006", "2014", "2005", false);
        check_overlap("2006", "2014", "2006-01-01", true);
        check_overlap("2006", "2014", "2014-12-31", true);
        check_overlap("2006", "2014", "2015", false);
        check_overlap("2006-05", "2014-02-03", "2006-04", false);
        check_overlap("2006-05", "2014-02-03", "2006", true);
        check_overlap("2006-05", "2014-02-03", "2014-02-04", false);
    }

    #[test]
    fn an_unknown_end_includes_everything_on_its_side() {
        check_overlap("2006", "", "2999", true);
        check_overlap("", "2006", "1000", true);
        check_overlap("", "", "1500", true);
    }

    #[test]
    fn a_status_is_found_by_its_name_in_any_case() {
        for status in ClaimStatus::ALL {
            assert_eq!(ClaimStatus::find(&status.name().to_uppercase()), Some(status));
        }
        assert_eq!(ClaimStatus::find("maybe"), None);
    }
}
