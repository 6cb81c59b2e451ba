//! Finds the first name of a person whom a question calls by surname.

use std::collections::BTreeMap;

use super::evidence::Passages;
use super::lines::{Line, LineForm};
use super::words::{TITLES, any_word};
use crate::phrase::{PhraseKind, phrases};

/// Expressions that ask for a first name, in lowercase.
const ASKING: [&str; 7] =
    ["first name", "given name", "christian name", "forename", "vorname", "vornamen", "mit vornamen"];
/// Words before a surname that describe a person and are not names, besides titles.
const DESCRIBING: &str = "old young little poor dear good big great elder younger miss mister master aunt cousin brother sister father \
    mother grandfather grandmother doctor captain colonel general major president judge alter alte junge onkel tante";

/// Returns the surnames in a question that asks for a first name.
pub(super) fn requested_surnames(question: &str) -> Option<Vec<String>> {
    let lower = question.to_lowercase();
    if !ASKING.iter().any(|asking| lower.contains(asking)) {
        return None;
    }
    let is_name = |word: &&str| {
        word.starts_with(char::is_uppercase) && !ASKING.iter().any(|asking| word.to_lowercase() == *asking)
    };
    let bare = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        ["'s", "’s"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word).to_owned()
    };
    let words = question.split_whitespace().skip(1).filter(is_name).map(bare);
    let surnames: Vec<String> =
        words.filter(|word| !any_word(TITLES, &word.to_lowercase()) && !word.is_empty()).collect();
    (!surnames.is_empty()).then_some(surnames)
}

/// Returns the first line with the most frequent first name of a person with one of these surnames; `None` if there is none.
pub(super) fn line(reading: &Passages<'_>, surnames: &[String]) -> Option<usize> {
    let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (at, line) in reading.lines.iter().enumerate().filter(|(_, line)| line.form != LineForm::Cell) {
        for name in first_names(line, surnames) {
            let (count, _) = found.entry(name).or_insert((0, at));
            *count += 1;
        }
    }
    // Among equally frequent names, take the first.
    let best =
        found.into_values().max_by(|(one, first), (other, second)| one.cmp(other).then(second.cmp(first)));
    best.map(|(_, line)| line)
}

fn first_names(line: &Line<'_>, surnames: &[String]) -> Vec<String> {
    let named = phrases(line.text).into_iter().filter(|phrase| phrase.kind == PhraseKind::Name);
    named.filter_map(|phrase| first_name(&phrase.text, surnames)).collect()
}

/// Returns `Ebenezer` for `Ebenezer Scrooge`, and nothing for `Mr. Scrooge`.
fn first_name(name: &str, surnames: &[String]) -> Option<String> {
    let words: Vec<&str> =
        name.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect();
    let (last, before) = words.split_last()?;
    if !surnames.iter().any(|surname| surname == last) {
        return None;
    }
    let is_given = |word: &&&str| {
        let lower = word.to_lowercase();
        let is_initial = word.chars().count() < 2;
        word.starts_with(char::is_uppercase)
            && !is_initial
            && *word != last
            && !any_word(TITLES, &lower)
            && !any_word(DESCRIBING, &lower)
    };
    before.iter().find(is_given).map(|word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_name_precedes_the_surname_and_is_not_a_title() {
        let surnames = ["Harbottle".to_owned()];
        let first = |name: &str| first_name(name, &surnames);
        assert_eq!(first("Josiah Harbottle").as_deref(), Some("Josiah"));
        assert_eq!(first("Mr. Josiah Harbottle").as_deref(), Some("Josiah"));
        for name in [
            "Mr. Harbottle",
            "Harbottle Harbottle",
            "Old Harbottle",
            "J. Harbottle",
            "Harbottle",
            "Harbottle Lane",
        ] {
            assert_eq!(first(name), None, "{name}");
        }
    }

    #[test]
    fn questions_about_first_names_are_recognized() {
        assert_eq!(requested_surnames("What is Harbottle's first name?"), Some(vec!["Harbottle".to_owned()]));
        assert_eq!(
            requested_surnames("Wie lautet der Vorname von Frau Ramin?"),
            Some(vec!["Ramin".to_owned()])
        );
        assert_eq!(requested_surnames("What is the first thing that Harbottle bought?"), None);
        assert_eq!(requested_surnames("What is the first name in the list?"), None);
    }
}
