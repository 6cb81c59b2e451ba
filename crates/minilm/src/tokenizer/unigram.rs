//! Splits texts into pieces with the unigram language model of SentencePiece.
//!
//! Source: Kudo, "Subword Regularization: Improving Neural Network Translation Models with Multiple Subword Candidates",
//! ACL 2018.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

/// Placed before every word instead of the space.
const WORD_START: char = '\u{2581}';

/// How much less likely an unknown character is than the rarest piece, as a logarithm.
const UNKNOWN_PENALTY: f32 = 10.0;

/// A vocabulary of pieces with their likelihoods.
#[derive(Debug)]
pub(crate) struct Unigram {
    pieces: HashMap<Box<str>, Piece>,
    /// Replacements of characters. Other characters stay.
    replacements: HashMap<char, Box<str>>,
    max_chars: usize,
    unknown: Piece,
    id_limit: usize,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    id: u32,
    /// Natural logarithm of the likelihood.
    score: f32,
}

/// The best way to reach a position in a word.
#[derive(Debug, Clone, Copy)]
struct Step {
    score: f32,
    /// Position where its last piece starts, in characters.
    from: usize,
    id: u32,
}

impl Unigram {
    /// Creates a vocabulary.
    ///
    /// - `pieces`: texts and logarithms of their likelihoods by id. A piece with the score 0 is a special
    ///   token, which no text contains.
    /// - `replacements`: applied to the characters before a text is split.
    /// - `unknown`: id of a character that is in no piece.
    pub(crate) fn new(
        pieces: Vec<(Box<str>, f32)>,
        replacements: HashMap<char, Box<str>>,
        unknown: u32,
    ) -> Self {
        let id_limit = pieces.len();
        let least = pieces.iter().map(|(_, score)| *score).fold(0.0, f32::min);
        let pieces: HashMap<Box<str>, Piece> = (0..)
            .zip(pieces)
            .filter(|(_, (text, score))| *score != 0.0 && !text.is_empty())
            .map(|(id, (text, score))| (text, Piece { id, score }))
            .collect();
        let max_chars = pieces.keys().map(|text| text.chars().count()).max().unwrap_or(0);
        let unknown = Piece { id: unknown, score: least - UNKNOWN_PENALTY };
        Self { pieces, replacements, max_chars, unknown, id_limit }
    }

    /// Returns the exclusive upper bound of the ids.
    pub(super) fn id_limit(&self) -> usize {
        self.id_limit.max(self.unknown.id as usize + 1)
    }

    /// Returns the number of pieces that are special tokens.
    pub(super) fn marks(&self) -> usize {
        self.id_limit - self.pieces.len()
    }

    /// Appends the ids of a text, word by word, until there are `most` or more.
    pub(super) fn append(&self, text: &str, most: usize, ids: &mut Vec<u32>) {
        let mut word = String::new();
        for c in text.chars() {
            let one = c.encode_utf8(&mut [0; 4]).to_owned();
            let replaced = self.replacements.get(&c).map_or(one.as_str(), |text| text);
            for c in replaced.chars() {
                if !c.is_whitespace() {
                    word.push(c);
                } else if !word.is_empty() {
                    self.encode(&word, ids);
                    word.clear();
                    if ids.len() >= most {
                        return;
                    }
                }
            }
        }
        if !word.is_empty() {
            self.encode(&word, ids);
        }
    }

    /// Appends the ids of the likeliest pieces of a word. Adjacent unknown characters become one id.
    fn encode(&self, word: &str, ids: &mut Vec<u32>) {
        let word: String = std::iter::once(WORD_START).chain(word.nfc()).collect();
        let bounds: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
        let chars = bounds.len() - 1;
        let unreached = Step { score: f32::NEG_INFINITY, from: 0, id: self.unknown.id };
        let mut steps = vec![unreached; chars + 1];
        steps[0].score = 0.0;
        for from in 0..chars {
            let before = steps[from].score;
            for to in from + 1..=chars.min(from + self.max_chars.max(1)) {
                let piece = match self.pieces.get(&word[bounds[from]..bounds[to]]) {
                    Some(piece) => *piece,
                    None if to == from + 1 => self.unknown,
                    None => continue,
                };
                let score = before + piece.score;
                if score > steps[to].score {
                    steps[to] = Step { score, from, id: piece.id };
                }
            }
        }
        let first = ids.len();
        let mut at = chars;
        while at > 0 {
            let step = steps[at];
            if step.id != self.unknown.id || ids.len() == first || ids.last() != Some(&step.id) {
                ids.push(step.id);
            }
            at = step.from;
        }
        ids[first..].reverse();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a small vocabulary with the layout of XLM-RoBERTa's.
    pub(crate) fn small() -> Unigram {
        let pieces: [(&str, f32); 12] = [
            ("<s>", 0.0),
            ("<pad>", 0.0),
            ("</s>", 0.0),
            ("<unk>", 0.0),
            ("\u{2581}", -3.0),
            ("\u{2581}to", -4.0),
            ("\u{2581}town", -7.0),
            ("wn", -6.0),
            ("a", -5.0),
            ("\u{2581}a", -5.5),
            ("\u{00e9}", -6.0),
            ("ab", -9.0),
        ];
        let pieces = pieces.map(|(text, score)| (text.into(), score)).to_vec();
        let replacements = [('\n', " ".into()), ('\u{ff41}', "a".into()), ('\u{7}', "".into())];
        Unigram::new(pieces, HashMap::from(replacements), 3)
    }

    fn check_ids(text: &str, ids: &[u32]) {
        let mut found = Vec::new();
        small().append(text, usize::MAX, &mut found);
        assert_eq!(found, ids, "{text:?}");
    }

    #[test]
    fn a_word_is_split_into_its_most_likely_pieces() {
        check_ids("town", &[6]);
        check_ids("to", &[5]);
        check_ids("a", &[9]);
        check_ids("awn", &[9, 7]);
        check_ids("", &[]);
        check_ids("   ", &[]);
    }

    #[test]
    fn characters_are_replaced_and_composed_before_the_split() {
        check_ids("to\n\u{ff41}", &[5, 9]);
        check_ids("t\u{7}o", &[5]);
        check_ids("e\u{301}", &[4, 10]);
    }

    #[test]
    fn adjacent_unknown_characters_are_one_token_and_markers_are_not_text() {
        check_ids("xyz to", &[4, 3, 5]);
        check_ids("axa", &[9, 3, 8]);
        check_ids("<s>", &[4, 3]);
    }

    #[test]
    fn a_text_is_tokenized_only_up_to_the_limit() {
        let mut ids = Vec::new();
        small().append("to to to to", 2, &mut ids);
        assert_eq!(ids, [5, 5]);
    }
}
