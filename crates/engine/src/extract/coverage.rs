//! Finds names in a passage that an answer missed, to decide whether to ask again and for which names.

use std::collections::BTreeSet;

use graphloom_core::Records;

use graphloom_offline::{Phrase, PhraseKind, phrases};

/// The name of these rules in extraction keys. Change it whenever the rules or the phrases that they rely on change.
pub(super) const COVERAGE_RULES: &str = "coverage-v2";
/// Minimum number of names that an answer must miss for the chunk to be asked about again.
///
/// Measured with this and [`MIN_MISSED_PERCENT`] on GPT-3.5's answers about 1,890 passages: 7% of the passages are asked about
/// again as they are, 39% if every fourth name is removed, 85% if every second is, 99% without any names.
pub const MIN_MISSED: usize = 2;
/// Minimum share of a passage's likely names that must be missing, in percent.
pub const MIN_MISSED_PERCENT: usize = 20;
/// Maximum number of names to list when asking again, most likely first.
pub const MAX_MISSED: usize = 24;

/// How many of a passage's names its records contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// Enough of the likely names.
    Enough,
    /// These names, most likely first, are in no record.
    Missed(Vec<String>),
    /// Unknown: the passage's script does not distinguish names from other words.
    Unknown,
}

/// Compares `records` with the likely names of `text`: proper names, quoted titles, and headings that occur again.
///
/// - A name counts as covered if a record's name contains it, or if half of its words are in records' names.
/// - [`Coverage::Missed`] requires at least [`MIN_MISSED`] missing names, and [`MIN_MISSED_PERCENT`] of all.
pub fn coverage(text: &str, records: &[&Records]) -> Coverage {
    if is_caseless(text) {
        return Coverage::Unknown;
    }
    let named = named(records);
    let likely: Vec<Phrase> = phrases(text).into_iter().filter(|phrase| is_likely(phrase, text)).collect();
    let missed: Vec<&Phrase> = likely.iter().filter(|phrase| !is_named(&phrase.text, &named)).collect();
    if missed.len() < MIN_MISSED || missed.len() * 100 < likely.len() * MIN_MISSED_PERCENT {
        return Coverage::Enough;
    }
    Coverage::Missed(missed.into_iter().take(MAX_MISSED).map(|phrase| phrase.text.clone()).collect())
}

/// Returns the names of entities and of ends of relations, as words.
fn named(records: &[&Records]) -> BTreeSet<Vec<String>> {
    let entities = records.iter().flat_map(|records| &records.entities).map(|entity| entity.name.as_str());
    let ends = records.iter().flat_map(|records| &records.relations);
    let ends = ends.flat_map(|relation| [relation.source.as_str(), relation.target.as_str()]);
    entities.chain(ends).map(words).filter(|words| !words.is_empty()).collect()
}

fn is_likely(phrase: &Phrase, text: &str) -> bool {
    match phrase.kind {
        PhraseKind::Name | PhraseKind::Quoted => true,
        PhraseKind::Heading => text[phrase.range.end..].contains(&phrase.text),
        PhraseKind::Date | PhraseKind::Quantity | PhraseKind::NounPhrase => false,
    }
}

fn is_named(phrase: &str, named: &BTreeSet<Vec<String>>) -> bool {
    let phrase = words(phrase);
    let mut covered = vec![false; phrase.len()];
    for name in named {
        if name.windows(phrase.len().max(1)).any(|window| window == phrase) {
            return true;
        }
        for (at, window) in phrase.windows(name.len()).enumerate() {
            if window == name {
                covered[at..at + name.len()].fill(true);
            }
        }
    }
    covered.iter().filter(|&&covered| covered).count() * 2 >= phrase.len()
}

/// Returns the words in lower case, without possessive endings.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace()
        .map(|word| word.trim_end_matches("'s").trim_end_matches("’s"))
        .flat_map(|word| word.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// True if most letters belong to scripts without capitals, such as Chinese or Arabic.
fn is_caseless(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let caseless =
        text.chars().filter(|c| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase()).count();
    caseless * 2 > letters
}

#[cfg(test)]
mod tests {
    use graphloom_core::EntityRecord;
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "Maren Oskoldt led the Larkfen Laboratory in Kelm. She worked there with Tobias Wren, \
                        who had come from Ostrava with Ilse Brandt.";

    fn check_coverage(text: &str, names: &[&str]) -> Coverage {
        let entity = |name: &&str| EntityRecord {
            name: (*name).to_owned(),
            kind: "Other".to_owned(),
            description: String::new(),
        };
        let records = Records { entities: names.iter().map(entity).collect(), ..Records::default() };
        coverage(text, &[&records])
    }

    #[test]
    fn an_answer_with_most_names_is_enough() {
        let names = ["Maren Oskoldt", "Larkfen Laboratory", "Kelm", "Tobias Wren", "Ilse Brandt"];
        assert_eq!(check_coverage(TEXT, &names), Coverage::Enough);
    }

    #[test]
    fn missed_names_are_listed() {
        let Coverage::Missed(missed) = check_coverage(TEXT, &["Kelm", "Maren Oskoldt"]) else {
            panic!("most are missed")
        };
        for name in ["Larkfen Laboratory", "Tobias Wren", "Ostrava", "Ilse Brandt"] {
            assert!(missed.iter().any(|missed| missed == name), "{name} in {missed:?}");
        }
        assert!(!missed.iter().any(|missed| missed == "Kelm"));
    }

    #[test]
    fn longer_and_shorter_forms_of_a_name_count_as_the_name() {
        let named = named(&[]);
        assert!(!is_named("Ada Lovelace", &named));
        let named: BTreeSet<Vec<String>> = [words("Countess Ada Lovelace"), words("Oxford")].into();
        assert!(is_named("Ada Lovelace", &named));
        assert!(is_named("Ada Lovelace's", &named));
        assert!(is_named("Oxford University", &named));
        assert!(!is_named("Oxford University Press", &named));
    }

    #[test]
    fn a_script_without_capitals_cannot_be_judged() {
        assert_eq!(check_coverage("玛丽·居里出生于华沙。", &[]), Coverage::Unknown);
        assert_eq!(check_coverage("", &[]), Coverage::Enough);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn naming_more_never_increases_the_missed_names(text in "([A-Z][a-z]{2,6} |[a-z]{3,6} |\\. ){0,30}", taken in 0_usize..20) {
            let all: Vec<String> = phrases(&text).into_iter().map(|phrase| phrase.text).collect();
            let names: Vec<&str> = all.iter().map(String::as_str).collect();
            let missed = |names: &[&str]| match check_coverage(&text, names) {
                Coverage::Missed(missed) => missed.len(),
                Coverage::Enough | Coverage::Unknown => 0,
            };
            let fewer = &names[..names.len().saturating_sub(taken)];
            prop_assert!(missed(&names) <= missed(fewer));
            prop_assert_eq!(missed(&names), 0);
        }
    }
}
