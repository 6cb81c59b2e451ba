//! Search keywords of a question, by rules.

use std::collections::BTreeSet;

use harper_brill::UPOS;

use super::lexicon::is_generic;
use super::phrase::{PhraseKind, phrases};
use super::token::{Token, tokens};
use graphloom_text::sentences;

/// Maximum number of keywords per level.
const MAX_KEYWORDS: usize = 12;

/// Returns the keywords of a question: themes (high level) and names (low level), each in the order of the question.
///
/// - Low level: proper names, quotations, dates and numbers. Without any of these, the rarer noun phrases, so that lowercase
///   questions have low-level keywords too.
/// - High level: runs of verbs, nouns and adjectives that are not names, such as `founding year`.
/// - A question with only names has them on both levels. A question with only stop words is its own keyword on both levels.
pub fn keywords(question: &str) -> (Vec<String>, Vec<String>) {
    let mut found = phrases(question);
    found.sort_by_key(|phrase| (phrase.range.start, phrase.range.end));
    let named = |kind: PhraseKind| !matches!(kind, PhraseKind::NounPhrase | PhraseKind::Heading);
    let covered: Vec<_> =
        found.iter().filter(|phrase| named(phrase.kind)).map(|phrase| phrase.range.clone()).collect();
    let mut low = Distinct::default();
    for phrase in found.iter().filter(|phrase| named(phrase.kind)) {
        low.push(&phrase.text);
    }
    let mut high = Distinct::default();
    let mut fallback = Distinct::default();
    for sentence in sentences(question) {
        let words = tokens(question, sentence);
        let mut run: Vec<&Token<'_>> = Vec::new();
        for word in &words {
            let taken = covered.iter().any(|range| range.start <= word.start && word.end <= range.end);
            let joined = run.is_empty() || matches!(word.gap, " " | "-" | " - ");
            if !taken && joined && is_theme(word) {
                run.push(word);
                continue;
            }
            close(&mut run, question, &mut high, &mut fallback);
            if !taken && is_theme(word) {
                run.push(word);
            }
        }
        close(&mut run, question, &mut high, &mut fallback);
    }
    for phrase in found.iter().filter(|phrase| phrase.kind == PhraseKind::NounPhrase) {
        let unspaced = !phrase.text.is_ascii() && !phrase.text.contains(' ');
        if unspaced {
            high.push(&phrase.text);
        }
        fallback.push(&phrase.text);
    }
    if low.list.is_empty() {
        low = fallback;
    }
    if low.list.is_empty() && high.list.is_empty() {
        low.push(question.trim());
    }
    if low.list.is_empty() {
        low.list.clone_from(&high.list);
    }
    if high.list.is_empty() {
        high.list.clone_from(&low.list);
    }
    (high.list, low.list)
}

fn is_theme(word: &Token<'_>) -> bool {
    let open = matches!(word.tag, UPOS::NOUN | UPOS::PROPN | UPOS::VERB | UPOS::ADJ | UPOS::NUM);
    open && word.is_content() && !super::scripts::has_no_spaces(word.text)
}

/// Ends a run of theme words: the run is a theme unless it is too generic, and its nouns may be names.
fn close(run: &mut Vec<&Token<'_>>, question: &str, high: &mut Distinct, fallback: &mut Distinct) {
    let telling = run.iter().any(|word| !is_generic(&word.lower));
    if let (true, Some(first), Some(last)) = (telling || run.len() > 1, run.first(), run.last()) {
        high.push(&question[first.start..last.end]);
    }
    let nouns: Vec<&&Token<'_>> = run
        .iter()
        .filter(|word| matches!(word.tag, UPOS::NOUN | UPOS::PROPN | UPOS::ADJ) && !is_generic(&word.lower))
        .collect();
    let noun_ends = nouns.last().is_some_and(|word| word.tag != UPOS::ADJ);
    if let (true, Some(first), Some(last)) = (noun_ends, nouns.first(), nouns.last()) {
        fallback.push(&question[first.start..last.end]);
    }
    run.clear();
}

/// A bounded list without duplicates, ignoring case.
#[derive(Default)]
struct Distinct {
    list: Vec<String>,
    seen: BTreeSet<String>,
}

impl Distinct {
    fn push(&mut self, keyword: &str) {
        let keyword = keyword.trim();
        if !keyword.is_empty() && self.list.len() < MAX_KEYWORDS && self.seen.insert(keyword.to_lowercase()) {
            self.list.push(keyword.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_keywords(question: &str, high: &[&str], low: &[&str]) {
        let found = keywords(question);
        assert_eq!(
            (found.0.as_slice(), found.1.as_slice()),
            (to_owned(high).as_slice(), to_owned(low).as_slice())
        );
    }

    fn to_owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn names_are_low_level_keywords_and_the_rest_high_level() {
        check_keywords(
            "When did Ada Lovelace meet the inventor of the \"Difference Engine\" in London?",
            &["meet", "inventor"],
            &["Ada Lovelace", "Difference Engine", "London"],
        );
    }

    #[test]
    fn lower_case_questions_have_keywords_of_both_levels() {
        let (high, low) = keywords("who designed the analytical engine");
        assert!(high.iter().any(|word| word.contains("designed")), "{high:?}");
        assert!(low.contains(&"analytical engine".to_owned()), "{low:?}");
    }

    #[test]
    fn a_name_alone_is_a_keyword_of_both_levels() {
        check_keywords("Ada Lovelace?", &["Ada Lovelace"], &["Ada Lovelace"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_question_has_keywords(question in "([A-Za-zé漢カ0-9?\"]{1,9} ){1,12}") {
            let (high, low) = keywords(&question);
            prop_assert!(!high.is_empty() && !low.is_empty());
            prop_assert!(high.len() <= MAX_KEYWORDS && low.len() <= MAX_KEYWORDS);
        }

        #[test]
        fn extracting_keywords_never_panics(question in any::<String>()) {
            keywords(&question);
        }
    }
}
