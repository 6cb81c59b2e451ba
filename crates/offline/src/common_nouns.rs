//! Finds noun phrases: common nouns with the adjectives and names before them.

use std::ops::Range;

use harper_brill::UPOS;

use super::scripts;
use super::text_statistics::{Common, TextStatistics};
use super::token::{Shape, Token, is_verb};

/// Maximum number of words in a noun phrase; longer ones keep their last words.
const MAX_NOUN_PHRASE_WORDS: usize = 4;

/// Returns the ranges of common nouns with the adjectives and names before them.
pub(super) fn noun_phrases(tokens: &[Token<'_>], statistics: &TextStatistics<'_>) -> Vec<Range<usize>> {
    let joins = matches!(statistics.common, Common::Phrases | Common::HeadFirst);
    let belongs = |at: usize| {
        let token = &tokens[at];
        let is_small = token.is_content() && !statistics.language.is_function_word(&token.lower);
        matches!(token.tag, UPOS::NOUN | UPOS::PROPN | UPOS::ADJ)
            && is_small
            && token.shape != Shape::Digit
            && !token.is_contraction()
            && !scripts::has_no_spaces(token.text)
            // `The LSB sells bread`: the tagger takes the verb for a noun.
            && !(token.shape == Shape::Lower && at > 0 && tokens[at - 1].is_capital() && is_verb(&token.lower))
    };
    let mut found = Vec::new();
    let mut at = if statistics.common == Common::Nothing { tokens.len() } else { 0 };
    while at < tokens.len() {
        let mut end = at;
        while end < tokens.len()
            && belongs(end)
            && !is_part_of_path(tokens, end)
            && (end == at || (matches!(tokens[end].gap, " " | "-" | " - ") && joins))
        {
            end += 1;
        }
        let nouns = tokens[at..end].iter().rposition(|token| matches!(token.tag, UPOS::NOUN | UPOS::PROPN));
        if let Some(last) = nouns {
            let mut stop = at + last + 1;
            let mut start = at.max(stop.saturating_sub(MAX_NOUN_PHRASE_WORDS));
            if statistics.common == Common::HeadFirst {
                (start, stop) = (at, stop.min(at + MAX_NOUN_PHRASE_WORDS));
            }
            // `Ownership is a set of rules`
            let defined = at == 0
                && stop == 1
                && tokens.get(1).is_some_and(|next| matches!(next.lower.as_str(), "is" | "are" | "means"));
            let small = tokens[stop - 1].shape == Shape::Lower || (defined && joins);
            let long_enough = tokens[stop - 1].text.chars().count() >= 3;
            // `What do you all think about it?`
            let is_bare_verb = stop - start == 1 && is_verb(&tokens[start].lower);
            if small && long_enough && !is_bare_verb {
                found.push(tokens[start].start..tokens[stop - 1].end);
            }
        }
        at = end.max(at + 1);
    }
    found
}

/// True if a word is part of a path, such as `src/main.rs`, but not of `input/output`.
fn is_part_of_path(tokens: &[Token<'_>], at: usize) -> bool {
    let joined = |at: usize| tokens[at].gap == "/";
    let first = (0..at).rev().find(|&before| !joined(before + 1)).map_or(0, |before| before + 1);
    let last = (at + 1..tokens.len()).find(|&next| !joined(next)).unwrap_or(tokens.len());
    last - first > 1 && tokens[first..last].iter().any(|token| token.text.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::super::phrase::{PhraseKind, phrases};

    #[test]
    fn a_noun_phrase_contains_no_verb_behind_a_name() {
        for (text, expected) in [
            ("The LSB sells rye bread to the Hotel Adler.", ["rye bread"].as_slice()),
            ("They saw that Ada Voss works for Velora.", &[]),
            ("They saw that Velora uses copper pipes and runs well.", &["copper pipes"]),
            ("We met at a Velora meeting of stone masons.", &["Velora meeting", "stone masons"]),
        ] {
            let found = phrases(text).into_iter().filter(|phrase| phrase.kind == PhraseKind::NounPhrase);
            let mut names: Vec<(usize, String)> =
                found.map(|phrase| (phrase.range.start, phrase.text)).collect();
            names.sort();
            assert_eq!(names.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), expected);
        }
    }
}
