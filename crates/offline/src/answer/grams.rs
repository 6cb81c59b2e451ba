//! How much of a question lines contain, by parts of words.
//!
//! Texts contain words in forms that neither roots nor families cover: compounds, other endings, other spellings. Character
//! trigrams match these too, as do single characters and bigrams in scripts without spaces. Grams in fewer passages weigh more.

use std::collections::HashMap;

use super::lines::Line;
use crate::scripts::has_no_spaces;

/// Characters of a word, with [`BORDER`] before and after the word; shorter grams are padded with [`NONE`].
type Gram = [char; 3];
/// A set of the question's grams, by index.
type GramSet = u128;

const BORDER: char = '\u{1}';
const NONE: char = '\0';

/// The grams of a question, and those that each line contains.
pub(super) struct Grams {
    /// Weight of each gram; the sum is 1.
    weights: Vec<f32>,
    /// For each line, the grams that it contains.
    of_lines: Vec<GramSet>,
}

impl Grams {
    /// - `passages`: the number of passages.
    pub(super) fn of(question: &str, lines: &[Line<'_>], passages: usize) -> Self {
        let mut places: HashMap<Gram, usize> = HashMap::new();
        // The first grams of a long question suffice.
        each_gram(question, |gram| {
            let next = places.len();
            if next < GramSet::BITS as usize {
                places.entry(gram).or_insert(next);
            }
        });
        let mut of_lines: Vec<GramSet> = vec![0; lines.len()];
        let mut of_passages: Vec<GramSet> = vec![0; passages];
        for (line, grams) in lines.iter().zip(&mut of_lines) {
            each_gram(line.text, |gram| *grams |= places.get(&gram).map_or(0, |place| 1 << place));
            of_passages[line.passage] |= *grams;
        }
        let weight = |gram: usize| {
            let holding = of_passages.iter().filter(|grams| **grams >> gram & 1 == 1).count();
            ((passages as f32 + 0.5) / (holding as f32 + 0.5)).ln_1p()
        };
        let weights: Vec<f32> = (0..places.len()).map(weight).collect();
        let all: f32 = weights.iter().sum();
        Self { weights: weights.into_iter().map(|weight| weight / all).collect(), of_lines }
    }

    /// Returns the weighted share of the question that lines contain together, from 0 to 1.
    pub(super) fn share(&self, lines: impl IntoIterator<Item = usize>) -> f32 {
        let grams = lines.into_iter().fold(0, |grams, line| grams | self.of_lines[line]);
        (0..self.weights.len()).filter(|gram| grams >> gram & 1 == 1).map(|gram| self.weights[gram]).sum()
    }
}

/// Calls `take` with each gram of a text.
fn each_gram(text: &str, mut take: impl FnMut(Gram)) {
    let mut word: Vec<char> = Vec::new();
    for part in text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        word.clear();
        let lower = part.chars().flat_map(char::to_lowercase);
        if has_no_spaces(part) {
            word.extend(lower);
            word.iter().for_each(|one| take([*one, NONE, NONE]));
            word.windows(2).for_each(|two| take([two[0], two[1], NONE]));
        } else {
            word.extend([BORDER].into_iter().chain(lower).chain([BORDER]));
            word.windows(3).for_each(|three| take([three[0], three[1], three[2]]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Passage;
    use super::super::evidence::Passages;
    use super::*;

    /// Returns the share of the question in each line of `texts`.
    fn shares(question: &str, texts: &[&str]) -> Vec<f32> {
        let passages: Vec<Passage<'_>> =
            texts.iter().map(|text| Passage { text, title: "", headings: &[] }).collect();
        let reading = Passages::read(question, &passages);
        let grams = Grams::of(question, &reading.lines, passages.len());
        (0..reading.lines.len()).map(|line| grams.share([line])).collect()
    }

    #[test]
    fn compounds_and_inflections_share_most_of_a_word() {
        for (question, near, far) in [
            ("Bevölkerung", "Die Bevölkerungszahl stieg.", "Die Stadt liegt am Fluss."),
            ("calculated", "A calculation took weeks.", "The clerk went home."),
            ("灯塔看守人", "看守灯塔的人已经退休。", "渡轮每天早上出发。"),
        ] {
            let shares = shares(question, &[near, far]);
            assert!(shares[0] > 0.4 && shares[1] < 0.2, "{question}: {shares:?}");
        }
    }

    #[test]
    fn a_question_shares_everything_with_itself_and_nothing_with_other_words() {
        let question = "Who paid the night staff?";
        let shares = shares(question, &[question, "Ximena"]);
        assert!((shares[0] - 1.0).abs() < 1e-5 && shares[1] == 0.0, "{shares:?}");
    }

    #[test]
    fn words_in_few_passages_count_more() {
        let texts = ["the mill", "the quay", "the bakery", "a kiln"];
        let shares = shares("the kiln", &texts);
        assert!(shares[3] > 2.0 * shares[0], "{shares:?}");
    }

    #[test]
    fn a_gram_in_two_lines_counts_once() {
        let passages = [Passage { text: "The mill.", title: "", headings: &[] }; 2];
        let reading = Passages::read("mill", &passages);
        let grams = Grams::of("mill", &reading.lines, 2);
        assert!((grams.share([0, 1]) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn a_question_of_any_length_or_without_words_is_accepted() {
        let long: String = (0..2000).map(|at| format!("w{at} ")).collect();
        assert!(shares(&long, &[&long]).iter().all(|share| (0.0..=1.001).contains(share)));
        assert_eq!(shares("?!", &["The mill."]), [0.0]);
    }
}
