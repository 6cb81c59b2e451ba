//! Turns fields into records: cleans names and types, splits keywords, parses weights.

use graphloom_core::{EntityRecord, RejectReason, RelationRecord};

use graphloom_text::clean_name;

/// The type of an entity whose record has none.
pub(super) const UNTYPED: &str = "Other";

/// Builds an entity from these fields.
pub(super) fn entity(name: &str, kind: &str, description: &str) -> Result<EntityRecord, RejectReason> {
    Ok(EntityRecord { name: named(name)?, kind: read_kind(kind)?, description: description.to_owned() })
}

/// Builds a relation from these fields.
pub(super) fn relation(
    source: &str,
    target: &str,
    keywords: Vec<String>,
    description: &str,
    weight: f64,
) -> Result<RelationRecord, RejectReason> {
    let (source, target) = (named(source)?, named(target)?);
    if source == target {
        return Err(RejectReason::SelfRelation);
    }
    Ok(RelationRecord { source, target, keywords, description: description.to_owned(), weight })
}

/// Cleans a name. A name without meaning, such as a short number, gives another error than a missing name.
fn named(name: &str) -> Result<String, RejectReason> {
    let missing = name.trim_matches(|c: char| !c.is_alphanumeric()).is_empty();
    clean_name(name).ok_or(if missing { RejectReason::NoName } else { RejectReason::BadName })
}

/// Returns the type before the first comma, slash or bracket. Markup is not a type.
fn read_kind(kind: &str) -> Result<String, RejectReason> {
    let outer = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '*' | '`' | '“' | '”');
    let kind = kind.trim_matches(outer);
    let end = kind.find([',', '，', '、', '/', '(', '（']).unwrap_or(kind.len());
    let kind = kind[..end].trim_matches(outer);
    if kind.is_empty() || kind.contains(['\'', ')', '<', '>', '|', '\\']) {
        return Err(RejectReason::BadType);
    }
    Ok(kind.to_owned())
}

/// Returns the keywords of a comma-separated list.
pub(super) fn keywords(list: &str) -> Vec<String> {
    list.split([',', '，', '、', ';', '；'])
        .map(str::trim)
        .filter(|k| !k.is_empty())
        .map(str::to_owned)
        .collect()
}

/// How a weight was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Weight {
    /// As a number.
    Number(f64),
    /// In words, full-width digits, or with words around: `nine`, `９`, `7/10`, `strength: 7`.
    Worded(f64),
}

impl Weight {
    /// Returns the weight as stored in relations: positive and finite, otherwise 1.
    pub(super) fn value(self) -> f64 {
        match self {
            Self::Number(value) | Self::Worded(value) => usable(value),
        }
    }
}

/// Returns `weight` if it is positive and finite, otherwise 1.
pub(super) fn usable(weight: f64) -> f64 {
    if weight.is_finite() && weight > 0.0 { weight } else { 1.0 }
}

/// Reads the weight in `field`; `None` if it is something else.
pub(super) fn weight(field: &str) -> Option<Weight> {
    if let Some(number) = plain_number(field) {
        return Some(Weight::Number(number));
    }
    // Longer texts are descriptions or keywords.
    if field.len() > 48 {
        return None;
    }
    let edge = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '“' | '”' | '(' | ')' | '<' | '>' | '|' | '*' | '.')
    };
    let narrow: String = field.trim_matches(edge).chars().map(narrow_digit).collect();
    let lower = narrow.to_lowercase();
    let stated =
        ["relationship strength", "relationship_strength", "strength", "weight", "score", "强度", "权重"]
            .iter()
            .find_map(|label| lower.strip_prefix(label))
            .map_or(lower.as_str(), |rest| rest.trim_start_matches([':', '：', '=', ' ']));
    let number = stated.split(['/', '／']).next().unwrap_or(stated);
    let number = number.split(" out of ").next().unwrap_or(number).trim_matches(edge);
    plain_number(number).or_else(|| in_words(number)).map(Weight::Worded)
}

/// Parses digits with at most one point and a sign: no `inf`, no `1e9`.
fn plain_number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if all_digits && digits.bytes().any(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn narrow_digit(c: char) -> char {
    match c {
        '０'..='９' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        '．' => '.',
        c => c,
    }
}

fn in_words(word: &str) -> Option<f64> {
    const WORDS: [&str; 11] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    const CHINESE: [&str; 11] = ["零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十"];
    let place = |list: [&str; 11]| list.iter().position(|known| *known == word);
    place(WORDS).or_else(|| place(CHINESE)).map(|value| value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_as_numbers_and_words() {
        for (field, expected) in [
            ("9", Some(Weight::Number(9.0))),
            ("0.5", Some(Weight::Number(0.5))),
            ("nine", Some(Weight::Worded(9.0))),
            ("\"Seven\"", Some(Weight::Worded(7.0))),
            ("８", Some(Weight::Worded(8.0))),
            ("8>", Some(Weight::Worded(8.0))),
            ("7/10", Some(Weight::Worded(7.0))),
            ("7 out of 10", Some(Weight::Worded(7.0))),
            ("strength: 6", Some(Weight::Worded(6.0))),
            ("九", Some(Weight::Worded(9.0))),
            ("high", None),
            ("1984 election", None),
            ("inf", None),
        ] {
            assert_eq!(weight(field), expected, "{field}");
        }
        assert_eq!((Weight::Number(0.0).value(), Weight::Number(-3.0).value()), (1.0, 1.0));
    }

    #[test]
    fn a_type_is_the_words_before_the_first_comma_slash_or_bracket() {
        for (kind, expected) in [
            ("Person", Ok("Person")),
            ("\"person\"", Ok("person")),
            ("person, artist", Ok("person")),
            ("Person/Organization", Ok("Person")),
            ("Organization (company)", Ok("Organization")),
            ("<b>", Err(RejectReason::BadType)),
            ("", Err(RejectReason::BadType)),
        ] {
            assert_eq!(read_kind(kind), expected.map(str::to_owned), "{kind}");
        }
    }

    #[test]
    fn keywords_are_split_at_every_kind_of_comma() {
        assert_eq!(keywords("work, place，人、x;y"), ["work", "place", "人", "x", "y"]);
    }
}
