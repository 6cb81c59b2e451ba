//! Compares answers with gold answers: exact match, F1 and containment over normalised words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The similarity of an answer to the best gold answer; each value is from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerScore {
    /// 1 if the normalised words equal those of a gold answer.
    pub exact_match: f64,
    /// Harmonic mean of precision and recall of words.
    pub f1: f64,
    /// 1 if the words of a gold answer occur consecutively in the answer.
    pub contained: f64,
}

/// Scores `answer` against the gold answers `right`; each value is the maximum over them. All 0 if there are none.
///
/// Source: Rajpurkar et al., "SQuAD", EMNLP 2016, and its evaluation script.
pub fn score(answer: &str, right: &[String]) -> AnswerScore {
    let words = normalised_words(answer);
    let mut best = AnswerScore::default();
    for right in right {
        let right = normalised_words(right);
        best.exact_match = best.exact_match.max(f64::from(u8::from(words == right)));
        best.f1 = best.f1.max(f1(&words, &right));
        let is_inside = !right.is_empty() && words.windows(right.len()).any(|window| window == right);
        best.contained = best.contained.max(f64::from(u8::from(is_inside)));
    }
    best
}

/// Returns the normalised words: lower case, without punctuation and the articles a, an and the.
///
/// Same as SQuAD's script, except that Chinese and Japanese punctuation is also removed and each Chinese or Japanese
/// character counts as a word.
pub fn normalised_words(text: &str) -> Vec<String> {
    let mut plain = String::with_capacity(text.len());
    for c in text.to_lowercase().chars() {
        if c.is_ascii_punctuation() || is_wide_punctuation(c) {
            continue;
        }
        if stands_alone(c) {
            plain.extend([' ', c, ' ']);
        } else {
            plain.push(c);
        }
    }
    let is_article = |word: &&str| matches!(*word, "a" | "an" | "the");
    plain.split_whitespace().filter(|word| !is_article(word)).map(str::to_owned).collect()
}

/// Returns the answer without citation numbers and the closing list of references.
pub fn bare(answer: &str) -> String {
    let mut lines = Vec::new();
    for line in answer.lines() {
        let heading = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | ':'));
        if heading.eq_ignore_ascii_case("references") {
            break;
        }
        lines.push(without_citations(line));
    }
    lines.join("\n").trim().to_owned()
}

fn without_citations(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        let inside = after.split_once(']').filter(|(inside, _)| is_citation(inside));
        match inside {
            Some((_, after)) => {
                kept.push_str(before.trim_end());
                rest = after;
            }
            None => {
                kept.push_str(before);
                kept.push('[');
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}

fn is_citation(inside: &str) -> bool {
    let is_number = |part: &str| !part.trim().is_empty() && part.trim().chars().all(|c| c.is_ascii_digit());
    inside.split(',').all(is_number)
}

fn f1(words: &[String], right: &[String]) -> f64 {
    if words.is_empty() || right.is_empty() {
        return f64::from(u8::from(words.is_empty() && right.is_empty()));
    }
    let mut left: BTreeMap<&String, usize> = BTreeMap::new();
    for word in right {
        *left.entry(word).or_default() += 1;
    }
    let mut common = 0;
    for word in words {
        if let Some(count) = left.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    if common == 0 {
        return 0.0;
    }
    let (precision, recall) =
        (f64::from(common) / words.len() as f64, f64::from(common) / right.len() as f64);
    2.0 * precision * recall / (precision + recall)
}

/// True if a character belongs to a script without spaces between words.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

fn is_wide_punctuation(c: char) -> bool {
    matches!(c, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}' | '・')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(answer: &str, right: &[&str]) -> (f64, f64, f64) {
        let right: Vec<String> = right.iter().map(|right| (*right).to_owned()).collect();
        let AnswerScore { exact_match, f1, contained } = score(answer, &right);
        (exact_match, (f1 * 1000.0).round() / 1000.0, contained)
    }

    #[test]
    fn values_equal_those_computed_by_hand() {
        assert_eq!(check("The Eiffel Tower!", &["eiffel tower"]), (1.0, 1.0, 1.0));
        // One of two words is shared: precision 1/3, recall 1/2.
        assert_eq!(check("a tower in Paris", &["Eiffel Tower"]), (0.0, 0.4, 0.0));
        assert_eq!(check("It was Marie Curie who found it.", &["Pierre", "Marie Curie"]), (0.0, 0.444, 1.0));
        assert_eq!(check("1,900,000 crowns", &["1900000 crowns"]), (1.0, 1.0, 1.0));
        assert_eq!(check("cat cat", &["cat"]), (0.0, 0.667, 1.0));
        assert_eq!(check("anything", &[]), (0.0, 0.0, 0.0));
        assert_eq!(check("", &["the"]), (1.0, 1.0, 0.0));
        assert_eq!(check("", &["cat"]), (0.0, 0.0, 0.0));
    }

    #[test]
    fn chinese_answers_are_compared_character_by_character() {
        assert_eq!(check("居里夫人。", &["居里夫人"]), (1.0, 1.0, 1.0));
        assert_eq!(check("是居里夫人", &["居里夫人"]), (0.0, 0.889, 1.0));
    }

    #[test]
    fn citations_and_references_do_not_count_in_an_answer() {
        assert_eq!(bare("Ada [1][2, 3] wrote it [sic].\n\n### References\n* [1] Ada"), "Ada wrote it [sic].");
        assert_eq!(bare("x\n**References:**\n* [1] y"), "x");
    }

    proptest! {
        #[test]
        fn scores_are_shares_and_the_right_answer_scores_one(answer in "[a-e ]{0,12}", right in "[a-e ]{1,12}") {
            let AnswerScore { exact_match, f1, contained } = score(&answer, std::slice::from_ref(&right));
            for value in [exact_match, f1, contained] {
                prop_assert!((0.0..=1.0).contains(&value));
            }
            prop_assert!(exact_match <= f1);
            prop_assert_eq!(score(&right, std::slice::from_ref(&right)).f1, 1.0);
        }
    }
}
