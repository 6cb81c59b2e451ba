//! Which documents are meant: one set of conditions for listing, removing, exporting and asking.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::{Document, DocumentId, InvalidDate, IsoDate, StatusKind};

/// Documents that one filter names at most.
pub const MAX_FILTER_DOCUMENTS: usize = 10_000;
/// Patterns, and conditions on metadata, of one filter at most.
pub const MAX_FILTER_CONDITIONS: usize = 100;
/// Bytes of one pattern or condition at most.
const MAX_CONDITION_BYTES: usize = 4096;

/// Conditions on documents. All that are given must hold; none admits every document.
///
/// In JSON every field may be left out, and a field that does not exist is refused, for without it the filter would
/// admit more than was meant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DocumentFilter {
    /// It is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub documents: BTreeSet<DocumentId>,
    /// Its source matches one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourcePattern>,
    /// Its metadata is as said: of the conditions `key=value` on one key any, of all others each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meta: Vec<MetaCondition>,
    /// It was accepted in this period or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_after: Option<IsoDate>,
    /// It was accepted in this period or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_before: Option<IsoDate>,
    /// It has one of these statuses.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub status: BTreeSet<StatusKind>,
}

impl DocumentFilter {
    /// Whether it has no condition.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses a filter of more conditions than are ever worth checking.
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

    /// Whether it names documents or exact sources, so that only those need to be looked at.
    pub fn names_documents(&self) -> bool {
        let exact = |pattern: &SourcePattern| pattern.exact().is_some();
        !self.documents.is_empty() || (!self.sources.is_empty() && self.sources.iter().all(exact))
    }

    /// Whether a document of this status meets every condition.
    pub fn admits(&self, document: &Document, status: StatusKind) -> bool {
        self.admits_document(document) && (self.status.is_empty() || self.status.contains(&status))
    }

    /// Whether a document meets every condition but the one on its status.
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

/// A source, or a pattern of sources: `*` is any text without `/`, `**` any text, `?` one character, `[ab]` one of
/// these, `{a,b}` either. A source that is written exactly so matches too, and so does everything below a folder
/// that ends in `/`.
#[derive(Debug, Clone)]
pub struct SourcePattern {
    text: String,
    glob: GlobMatcher,
}

impl SourcePattern {
    /// Whether a source matches.
    pub fn matches(&self, source: &str) -> bool {
        source == self.text
            || (self.text.ends_with('/') && source.starts_with(&self.text))
            || self.glob.is_match(source)
    }

    /// The only source that can match; `None` for a pattern.
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

/// One condition on metadata: `key=value`, `key!=value`, `key>=value`, `key>value`, `key<=value`, `key<value`, `key`
/// (there is one) or `!key` (there is none). It is written so in JSON too.
///
/// The key ends at the first of `=`, `!`, `<` and `>`; everything after the operator is the value. `!=` also holds
/// where there is no such key. Order compares numbers with numbers and dates with dates ([`IsoDate`]), and holds for
/// nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MetaCondition {
    /// The key.
    pub key: String,
    /// What must be true of its value.
    pub test: MetaTest,
}

/// What must be true of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetaTest {
    /// It is this.
    Is(String),
    /// It is not this, or missing.
    IsNot(String),
    /// It is there.
    Present,
    /// It is missing.
    Absent,
    /// It is a number or a date in this order with another one.
    Ordered(MetaOrder, String),
}

/// An order of numbers or dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaOrder {
    /// `>=`: the same or more; in or after the period of a date.
    AtLeast,
    /// `>`: more; after the period.
    MoreThan,
    /// `<=`: the same or less; in or before the period.
    AtMost,
    /// `<`: less; before the period.
    LessThan,
}

impl MetaCondition {
    /// Whether it holds for this metadata, each condition by itself.
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
    /// The operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::MoreThan => ">",
            Self::AtMost => "<=",
            Self::LessThan => "<",
        }
    }

    /// Whether `value` stands in this order to `bound`: as numbers where both are, else by the first moment of `value`
    /// where both are dates.
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
                true => Err(invalid("`!` before a key stands alone")),
                false => named(absent, MetaTest::Absent),
            };
        }
        if let Some(value) = rest.strip_prefix("!=") {
            return named(key, MetaTest::IsNot(value.to_owned()));
        }
        for order in [MetaOrder::AtLeast, MetaOrder::AtMost, MetaOrder::MoreThan, MetaOrder::LessThan] {
            if let Some(bound) = rest.strip_prefix(order.symbol()) {
                if finite(bound).is_none() && bound.parse::<IsoDate>().is_err() {
                    return Err(invalid("only numbers and dates such as 2024-05-31 have an order"));
                }
                return named(key, MetaTest::Ordered(order, bound.to_owned()));
            }
        }
        match rest.strip_prefix('=') {
            Some(value) => named(key, MetaTest::Is(value.to_owned())),
            None => Err(invalid("`!` is followed by no `=`")),
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

/// Why a filter was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A pattern of sources that cannot be read.
    #[error("the source pattern {pattern:?} cannot be read: {what}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong.
        what: String,
    },
    /// A condition on metadata that cannot be read.
    #[error("the condition {condition:?} cannot be read: {what}")]
    Condition {
        /// The condition.
        condition: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A status that does not exist.
    #[error("there is no status {0:?}")]
    Status(String),
    /// A date that cannot be read.
    #[error(transparent)]
    Date(#[from] InvalidDate),
    /// More conditions than are checked.
    #[error("the filter has {count} {what}, more than {limit}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A condition longer than any that can be meant.
    #[error("a condition of {bytes} bytes is longer than {MAX_CONDITION_BYTES}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

impl FilterError {
    /// What the user can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Pattern { .. } => {
                "`*` is any text without `/`, `**` any text; write `[[]` for a bracket that means itself"
                    .to_owned()
            }
            Self::Condition { .. } => {
                "write key=value, key!=value, key>=2020, key (present) or !key (missing)".to_owned()
            }
            Self::Status(_) => {
                let names: Vec<&str> = StatusKind::ALL.iter().map(|status| status.name()).collect();
                format!("one of {}", names.join(", "))
            }
            Self::Date(_) => "write the date as 2024-05-31".to_owned(),
            Self::TooMany { .. } => {
                "give the documents a common key with --meta, and filter by that".to_owned()
            }
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
    fn numbers_and_dates_have_an_order_and_words_have_none() {
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
    fn patterns_stop_at_folders_unless_they_say_otherwise() {
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
    fn both_ends_of_a_range_of_dates_count() {
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
    fn a_filter_of_too_many_conditions_is_refused() {
        let meta = vec!["a".parse().expect("a condition"); MAX_FILTER_CONDITIONS + 1];
        let error = DocumentFilter { meta, ..DocumentFilter::default() }.check().expect_err("too many");
        assert!(matches!(error, FilterError::TooMany { count: 101, limit: 100, .. }), "{error}");
        assert!("x".repeat(5000).parse::<MetaCondition>().is_err());
    }

    proptest! {
        #[test]
        fn a_condition_reads_back_as_it_was_written(text in "[!=<>a ]{0,6}[0-9b-]{0,5}") {
            if let Ok(condition) = text.parse::<MetaCondition>() {
                prop_assert_eq!(condition.to_string().parse::<MetaCondition>(), Ok(condition));
            }
        }

        #[test]
        fn any_text_is_refused_or_a_pattern_and_one_without_signs_means_itself(
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
