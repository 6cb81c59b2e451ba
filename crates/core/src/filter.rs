//! Document filters, used for listing, removing, exporting and asking.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::{Document, DocumentId, InvalidDate, IsoDate, StatusKind};

/// Maximum documents in a filter.
pub const MAX_FILTER_DOCUMENTS: usize = 10_000;
/// Maximum source patterns, and maximum metadata conditions, in a filter.
pub const MAX_FILTER_CONDITIONS: usize = 100;
/// Maximum bytes of a pattern or condition.
const MAX_CONDITION_BYTES: usize = 4096;

/// Conditions on documents. A document must meet all of them; an empty filter admits every document.
///
/// In JSON every field is optional. An unknown field is an error, because ignoring it could admit too many documents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DocumentFilter {
    /// Only these documents.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub documents: BTreeSet<DocumentId>,
    /// Only sources that match one of these patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourcePattern>,
    /// Conditions on metadata. Of several `key=value` conditions on the same key, one must hold; all other
    /// conditions must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meta: Vec<MetaCondition>,
    /// Only documents added in this period or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_after: Option<IsoDate>,
    /// Only documents added in this period or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_before: Option<IsoDate>,
    /// Only documents with one of these statuses.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub status: BTreeSet<StatusKind>,
}

impl DocumentFilter {
    /// True if there are no conditions.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns an error if the filter has too many conditions.
    pub fn check(&self) -> Result<(), FilterError> {
        for (what, count, limit) in [
            ("documents", self.documents.len(), MAX_FILTER_DOCUMENTS),
            ("source patterns", self.sources.len(), MAX_FILTER_CONDITIONS),
            ("conditions on metadata", self.meta.len(), MAX_FILTER_CONDITIONS),
        ] {
            if count > limit {
                return Err(FilterError::TooMany { what, count, limit });
            }
        }
        Ok(())
    }

    /// True if the filter lists document ids or only exact sources, so that only these documents have to be read.
    pub fn names_documents(&self) -> bool {
        let exact = |pattern: &SourcePattern| pattern.exact().is_some();
        !self.documents.is_empty() || (!self.sources.is_empty() && self.sources.iter().all(exact))
    }

    /// True if a document with this status meets every condition.
    pub fn admits(&self, document: &Document, status: StatusKind) -> bool {
        self.admits_document(document) && (self.status.is_empty() || self.status.contains(&status))
    }

    /// True if a document meets every condition except the one on its status.
    pub fn admits_document(&self, document: &Document) -> bool {
        let accepted = i64::try_from(document.added_at.0).unwrap_or(i64::MAX);
        (self.documents.is_empty() || self.documents.contains(&document.id))
            && (self.sources.is_empty() || self.sources.iter().any(|it| it.matches(&document.source)))
            && self.accepted_after.as_ref().is_none_or(|after| accepted >= after.start_ms())
            && self.accepted_before.as_ref().is_none_or(|before| accepted < before.end_ms())
            && self.meta.iter().all(|condition| self.holds(condition, &document.meta))
    }

    fn holds(&self, condition: &MetaCondition, meta: &BTreeMap<String, String>) -> bool {
        match &condition.test {
            MetaTest::Is(_) => {
                let value = meta.get(&condition.key);
                self.meta.iter().any(|other| {
                    other.key == condition.key
                        && matches!(&other.test, MetaTest::Is(wanted) if Some(wanted) == value)
                })
            }
            MetaTest::IsNot(_) | MetaTest::Present | MetaTest::Absent | MetaTest::Ordered(..) => {
                condition.holds(meta)
            }
        }
    }
}

/// A source or a pattern of sources: `*` matches any text without `/`, `**` any text, `?` one character, `[ab]`
/// one of the characters, `{a,b}` one of the alternatives. A source equal to the pattern matches too. A pattern
/// that ends in `/` matches everything in that folder.
#[derive(Debug, Clone)]
pub struct SourcePattern {
    text: String,
    glob: GlobMatcher,
}

impl SourcePattern {
    /// True if the pattern matches the source.
    pub fn matches(&self, source: &str) -> bool {
        source == self.text
            || (self.text.ends_with('/') && source.starts_with(&self.text))
            || self.glob.is_match(source)
    }

    /// Returns the only source that can match; `None` for a pattern.
    pub fn exact(&self) -> Option<&str> {
        let is_pattern = self.text.ends_with('/') || self.text.contains(['*', '?', '[', '{', '\\']);
        (!is_pattern).then_some(self.text.as_str())
    }
}

impl FromStr for SourcePattern {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let invalid = |what: String| FilterError::Pattern { pattern: text.to_owned(), what };
        if text.is_empty() {
            return Err(invalid("it is empty".to_owned()));
        }
        check_length(text)?;
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| invalid(error.kind().to_string()))?;
        Ok(Self { text: text.to_owned(), glob: glob.compile_matcher() })
    }
}

/// A condition on metadata: `key=value`, `key!=value`, `key>=value`, `key>value`, `key<=value`, `key<value`, `key`
/// (present) or `!key` (absent). JSON uses the same form.
///
/// The key ends at the first of `=`, `!`, `<` and `>`; the rest after the operator is the value. `!=` also matches
/// if the key is absent. Comparisons are numeric if both values are numbers and chronological if both are dates
/// ([`IsoDate`]); other values never match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MetaCondition {
    /// The key.
    pub key: String,
    /// The test of its value.
    pub test: MetaTest,
}

/// A test of a metadata value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetaTest {
    /// Equal to this.
    Is(String),
    /// Different from this, or absent.
    IsNot(String),
    /// Present.
    Present,
    /// Absent.
    Absent,
    /// A number or date that compares this way with the given one.
    Ordered(MetaOrder, String),
}

/// A comparison of numbers or dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaOrder {
    /// `>=`: greater or equal; within or after the period of a date.
    AtLeast,
    /// `>`: greater; after the period.
    MoreThan,
    /// `<=`: less or equal; within or before the period.
    AtMost,
    /// `<`: less; before the period.
    LessThan,
}

impl MetaCondition {
    /// True if the metadata meets the condition.
    pub fn holds(&self, meta: &BTreeMap<String, String>) -> bool {
        let value = meta.get(&self.key);
        match &self.test {
            MetaTest::Is(wanted) => value == Some(wanted),
            MetaTest::IsNot(unwanted) => value != Some(unwanted),
            MetaTest::Present => value.is_some(),
            MetaTest::Absent => value.is_none(),
            MetaTest::Ordered(order, bound) => value.is_some_and(|value| order.holds(value, bound)),
        }
    }
}

impl MetaOrder {
    /// Returns the operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::MoreThan => ">",
            Self::AtMost => "<=",
            Self::LessThan => "<",
        }
    }

    /// Compares `value` with `bound`: as numbers if both are numbers, otherwise by the start of `value` if both are dates.
    fn holds(self, value: &str, bound: &str) -> bool {
        if let (Some(value), Some(bound)) = (finite(value), finite(bound)) {
            return match self {
                Self::AtLeast => value >= bound,
                Self::MoreThan => value > bound,
                Self::AtMost => value <= bound,
                Self::LessThan => value < bound,
            };
        }
        let (Ok(value), Ok(bound)) = (value.parse::<IsoDate>(), bound.parse::<IsoDate>()) else {
            return false;
        };
        let at = value.start_ms();
        match self {
            Self::AtLeast => at >= bound.start_ms(),
            Self::MoreThan => at >= bound.end_ms(),
            Self::AtMost => at < bound.end_ms(),
            Self::LessThan => at < bound.start_ms(),
        }
    }
}

fn finite(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

impl FromStr for MetaCondition {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let invalid = |what: &'static str| FilterError::Condition { condition: text.to_owned(), what };
        check_length(text)?;
        let named = |key: &str, test| match key.trim() {
            "" => Err(invalid("the key is empty")),
            key => Ok(Self { key: key.to_owned(), test }),
        };
        let Some(at) = text.find(['=', '!', '<', '>']) else { return named(text, MetaTest::Present) };
        let (key, rest) = text.split_at(at);
        if let Some(absent) = rest.strip_prefix('!').filter(|_| key.trim().is_empty()) {
            return match absent.contains(['=', '!', '<', '>']) {
                true => Err(invalid("`!` before a key takes no operator")),
                false => named(absent, MetaTest::Absent),
            };
        }
        if let Some(value) = rest.strip_prefix("!=") {
            return named(key, MetaTest::IsNot(value.to_owned()));
        }
        for order in [MetaOrder::AtLeast, MetaOrder::AtMost, MetaOrder::MoreThan, MetaOrder::LessThan] {
            if let Some(bound) = rest.strip_prefix(order.symbol()) {
                if finite(bound).is_none() && bound.parse::<IsoDate>().is_err() {
                    return Err(invalid("only numbers and dates such as 2024-05-31 can be compared"));
                }
                return named(key, MetaTest::Ordered(order, bound.to_owned()));
            }
        }
        match rest.strip_prefix('=') {
            Some(value) => named(key, MetaTest::Is(value.to_owned())),
            None => Err(invalid("expected `=` after `!`")),
        }
    }
}

impl fmt::Display for MetaCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.test {
            MetaTest::Is(value) => write!(f, "{key}={value}"),
            MetaTest::IsNot(value) => write!(f, "{key}!={value}"),
            MetaTest::Present => f.write_str(key),
            MetaTest::Absent => write!(f, "!{key}"),
            MetaTest::Ordered(order, bound) => write!(f, "{key}{}{bound}", order.symbol()),
        }
    }
}

impl TryFrom<String> for MetaCondition {
    type Error = FilterError;

    fn try_from(text: String) -> Result<Self, FilterError> {
        text.parse()
    }
}

impl From<MetaCondition> for String {
    fn from(condition: MetaCondition) -> Self {
        condition.to_string()
    }
}

impl fmt::Display for SourcePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for SourcePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for SourcePattern {}

impl Serialize for SourcePattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for SourcePattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

fn check_length(text: &str) -> Result<(), FilterError> {
    if text.len() <= MAX_CONDITION_BYTES {
        return Ok(());
    }
    Err(FilterError::TooLong { bytes: text.len() })
}

/// Why a filter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// An invalid source pattern.
    #[error("invalid source pattern {pattern:?}: {what}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The reason.
        what: String,
    },
    /// An invalid metadata condition.
    #[error("invalid condition {condition:?}: {what}")]
    Condition {
        /// The condition.
        condition: String,
        /// The reason.
        what: &'static str,
    },
    /// An unknown status.
    #[error("unknown status {0:?}")]
    Status(String),
    /// An invalid date.
    #[error(transparent)]
    Date(#[from] InvalidDate),
    /// Too many conditions.
    #[error("the filter has too many {what}: {count}, the limit is {limit}")]
    TooMany {
        /// The kind of condition.
        what: &'static str,
        /// The number.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A condition that is too long.
    #[error("a condition is too long: {bytes} bytes, the limit is {MAX_CONDITION_BYTES}")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
}

impl FilterError {
    /// Returns a remedy that does not refer to any user interface.
    pub fn remedy(&self) -> String {
        match self {
            Self::Pattern { .. } => {
                "`*` matches any text without `/`, `**` any text; write `[[]` for a literal bracket"
                    .to_owned()
            }
            Self::Condition { .. } => {
                "write key=value, key!=value, key>=2020, key (present) or !key (missing)".to_owned()
            }
            Self::Status(_) => {
                let names: Vec<&str> = StatusKind::ALL.iter().map(|status| status.name()).collect();
                format!("use one of {}", names.join(", "))
            }
            Self::Date(_) => "write the date as 2024-05-31".to_owned(),
            Self::TooMany { .. } => "give the documents a common metadata key and filter by it".to_owned(),
            Self::TooLong { .. } => "shorten the condition".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ContentHash, Format, Timestamp, Visibility};

    fn document(source: &str, meta: &[(&str, &str)], added_at: u64) -> Document {
        let content_hash = ContentHash::of(source.as_bytes());
        Document {
            id: DocumentId::new(source, &content_hash),
            source: source.to_owned(),
            title: String::new(),
            content_hash,
            text_bytes: 0,
            format: Format::Text,
            encoding: "UTF-8".to_owned(),
            lines_match_source: true,
            parts: Vec::new(),
            remarks: Vec::new(),
            meta: meta.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            visibility: Visibility::Live,
            added_at: Timestamp(added_at),
        }
    }

    fn check_meta(conditions: &[&str], meta: &[(&str, &str)]) -> bool {
        let meta_conditions = conditions.iter().map(|text| text.parse().expect("a condition")).collect();
        let filter = DocumentFilter { meta: meta_conditions, ..DocumentFilter::default() };
        filter.admits_document(&document("a.md", meta, 0))
    }

    #[test]
    fn values_of_one_key_are_alternatives_and_keys_must_all_hold() {
        let weir = [("project", "weir"), ("year", "2021")];
        assert!(check_meta(&["project=weir", "project=mill"], &weir));
        assert!(!check_meta(&["project=weir", "year=2020"], &weir));
        assert!(check_meta(&["project!=mill", "project!=dam", "year"], &weir));
        assert!(!check_meta(&["project!=mill", "project!=weir"], &weir));
        assert!(check_meta(&["draft!=yes", "!draft"], &weir));
        assert!(!check_meta(&["draft"], &weir));
        assert!(check_meta(&["note=a=b<c"], &[("note", "a=b<c")]));
    }

    #[test]
    fn numbers_and_dates_are_ordered_and_words_are_not() {
        for (condition, value, holds) in [
            ("year>=2020", "2020", true),
            ("year>2020", "2020", false),
            ("size<10", "9.5", true),
            ("size<10", "10", false),
            ("year>=2020", "unknown", false),
            ("date>=2024-05", "2024-05-31", true),
            ("date>2024-05", "2024-05-31", false),
            ("date<=2024-05", "2024-05-31T23:59:59Z", true),
            ("date<2024-05-31", "2024-05", true),
            ("date>=2024", "2024-05-31", true),
            ("date<=2024", "2025-01-01", false),
        ] {
            let key = condition.split(['<', '>']).next().expect("a key");
            assert_eq!(check_meta(&[condition], &[(key, value)]), holds, "{condition} of {value}");
        }
    }

    #[test]
    fn patterns_do_not_cross_folders_unless_they_say_so() {
        for (pattern, source, matches) in [
            ("reports/*.md", "reports/q1.md", true),
            ("reports/*.md", "reports/2024/q1.md", false),
            ("reports/**", "reports/2024/q1.md", true),
            ("**/q?.md", "reports/2024/q1.md", true),
            ("reports/", "reports/2024/q1.md", true),
            ("reports", "reports/q1.md", false),
            ("notes[1].md", "notes[1].md", true),
            ("notes[1].md", "notes1.md", true),
            ("{a,b}.md", "b.md", true),
            ("https://example.com/**", "https://example.com/a/b", true),
        ] {
            let pattern: SourcePattern = pattern.parse().expect("a pattern");
            assert_eq!(pattern.matches(source), matches, "{pattern} {source}");
        }
        assert_eq!("a/b.md".parse::<SourcePattern>().expect("a pattern").exact(), Some("a/b.md"));
        assert_eq!("a/*.md".parse::<SourcePattern>().expect("a pattern").exact(), None);
    }

    #[test]
    fn both_ends_of_a_date_range_are_included() {
        let may = DocumentFilter {
            accepted_after: Some("1970-05-01".parse().expect("a date")),
            accepted_before: Some("1970-05".parse().expect("a date")),
            ..DocumentFilter::default()
        };
        const DAY: u64 = 86_400_000;
        for (day, admitted) in [(119, false), (120, true), (150, true), (151, false)] {
            assert_eq!(may.admits_document(&document("a.md", &[], day * DAY)), admitted, "day {day}");
        }
    }

    #[test]
    fn a_filter_is_written_as_json_and_misspelt_fields_are_refused() {
        let json = r#"{"sources":["a/**"],"meta":["year>=2020","!draft"],"accepted_before":"2024","status":["ready"]}"#;
        let filter: DocumentFilter = serde_json::from_str(json).expect("a filter");
        assert_eq!(serde_json::to_string(&filter).expect("JSON"), json);
        for wrong in [
            r#"{"source":["a"]}"#,
            r#"{"meta":["=x"]}"#,
            r#"{"sources":["[a"]}"#,
            r#"{"sources":[""]}"#,
            r#"{"accepted_after":"May"}"#,
            r#"{"status":["done"]}"#,
            r#"{"meta":["a!b"]}"#,
            r#"{"meta":["year>=new"]}"#,
            r#"{"meta":["!a=b"]}"#,
        ] {
            assert!(serde_json::from_str::<DocumentFilter>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_filter_with_too_many_conditions_is_refused() {
        let meta = vec!["a".parse().expect("a condition"); MAX_FILTER_CONDITIONS + 1];
        let error = DocumentFilter { meta, ..DocumentFilter::default() }.check().expect_err("too many");
        assert!(matches!(error, FilterError::TooMany { count: 101, limit: 100, .. }), "{error}");
        assert!("x".repeat(5000).parse::<MetaCondition>().is_err());
    }

    proptest! {
        #[test]
        fn a_condition_survives_printing_and_parsing(text in "[!=<>a ]{0,6}[0-9b-]{0,5}") {
            if let Ok(condition) = text.parse::<MetaCondition>() {
                prop_assert_eq!(condition.to_string().parse::<MetaCondition>(), Ok(condition));
            }
        }

        #[test]
        fn any_text_is_a_pattern_or_refused_and_plain_text_matches_itself(
            pattern in "[a*?/\\[\\]{},!\\\\é-]{0,12}",
            source in "[a/\\[é]{0,3}",
        ) {
            let Ok(pattern) = pattern.parse::<SourcePattern>() else { return Ok(()) };
            prop_assert!(pattern.matches(&pattern.to_string()));
            if let Some(exact) = pattern.exact() {
                prop_assert_eq!(exact == source, pattern.matches(&source));
            }
        }
    }
}
