//! Scores how well sentences answer a question, with a model that reads the question and the text together.
//!
//! The input is the question and, after a separator, consecutive sentences of a text. A linear layer gives each token and the
//! start mark a number. The odds of a sentence compare the sum over its tokens with the start mark, which stands for "no answer
//! here".
//!
//! Source: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019, section 4.3 (SQuAD 2.0).

use std::path::Path;

use crate::adapter::{AdaptedWeights, Adapter};
use crate::encoder::{Encoder, Space};
use crate::folder::{FolderError, Settings};
use crate::model::Spaces;
use crate::tokenizer::Tokenizer;

/// The models that can score sentences. `bench/scorer.py` trains their adapters.
static MODELS: [ScorerModel; 2] = [
    ScorerModel {
        weights: "8087e9bf97c265f8435ed268733ecf3791825ad24850fd5d84d89e32ee3a589a",
        adapter: include_bytes!("scorer/all-minilm-l6-v2.bin"),
        bias: 0.5,
        is_multilingual: false,
    },
    ScorerModel {
        weights: "a575c954aa93ea5cc856074a74b830af7c69d97996553ea5587df832dfd813d4",
        adapter: include_bytes!("scorer/multilingual-e5-small.bin"),
        bias: -0.7,
        is_multilingual: true,
    },
];

/// Maximum number of tokens of a question.
const MAX_QUESTION_TOKENS: usize = 40;

/// Maximum number of tokens of the sentences of a window; the rest is not read.
const MAX_SENTENCE_TOKENS: usize = 220;

/// A model that can score sentences.
#[derive(Debug)]
pub struct ScorerModel {
    /// BLAKE3 checksum of its weights file, in hex.
    weights: &'static str,
    /// The changes that make it a scorer.
    adapter: &'static [u8],
    /// Subtracted from the odds, so that the odds of all models mean the same. It was chosen with the limits that `bench/scorer.py`
    /// prints for held-out questions, with questions about manuals and, for the multilingual model, in natural wording.
    bias: f32,
    /// Whether it also scores sentences in other languages than English.
    pub is_multilingual: bool,
}

impl ScorerModel {
    /// Returns the model with these weights; `None` if they cannot score sentences.
    ///
    /// - `digest`: BLAKE3 checksum of the weights file, in hex.
    pub fn of_weights(digest: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.weights == digest)
    }
}

/// A loaded model that scores sentences.
#[derive(Debug)]
pub struct SentenceScorer {
    tokenizer: Tokenizer,
    encoder: Encoder,
    head: Vec<f32>,
    bias: f32,
    spaces: Spaces,
}

impl SentenceScorer {
    /// Loads the model in `folder`, which must be `model`. Blocks.
    pub fn read(folder: &Path, settings: &Settings, model: &ScorerModel) -> Result<Self, FolderError> {
        Self::adapted(folder, settings, model.adapter, model.bias)
    }

    fn adapted(folder: &Path, settings: &Settings, adapter: &[u8], bias: f32) -> Result<Self, FolderError> {
        let unusable = |what: String| FolderError::Unusable { folder: folder.to_owned(), what };
        let other_shape = || FolderError::NoScorer { folder: folder.to_owned() };
        let tokenizer = settings.tokenizer(folder)?;
        let adapter = Adapter::read(adapter, &settings.bert).ok_or_else(other_shape)?;
        let mut weights = settings.weights(folder)?;
        let mut adapted = AdaptedWeights { weights: weights.as_mut(), adapter: &adapter };
        let encoder = Encoder::read(&settings.bert, &mut adapted).map_err(unusable)?;
        Ok(Self { tokenizer, encoder, head: adapter.head, bias, spaces: Spaces::default() })
    }

    /// Returns the log odds that each sentence of each window answers the question. Blocks.
    ///
    /// - `windows`: consecutive sentences of a text. Sentences after the first 220 tokens get negative infinity.
    /// - `threads`: number of threads; 0 counts as 1.
    pub fn odds(&self, question: &str, windows: &[Vec<String>], threads: usize) -> Vec<Vec<f32>> {
        let (before, after) = self.tokenizer.around();
        let mut question = self.tokenizer.plain(question);
        question.truncate(MAX_QUESTION_TOKENS);
        let start = [before, &question, after].concat();
        self.spaces
            .share(windows.len(), threads, |window, space| self.odds_of(&start, &windows[window], space))
    }

    fn odds_of(&self, start: &[u32], sentences: &[String], space: &mut Space) -> Vec<f32> {
        let (mut ids, mut lengths) = (start.to_vec(), Vec::new());
        let most = start.len() + MAX_SENTENCE_TOKENS;
        for sentence in sentences {
            let first = ids.len();
            ids.extend(self.tokenizer.plain(sentence));
            ids.truncate(most);
            lengths.push(ids.len() - first);
        }
        ids.extend(self.tokenizer.around().1);
        let states = self.encoder.states(&[&ids], space).chunks_exact(self.head.len());
        let scores: Vec<f32> =
            states.map(|state| state.iter().zip(&self.head).map(|(x, weight)| x * weight).sum()).collect();
        let mut rest = &scores[start.len()..];
        let odds = |length: usize| {
            let (own, after) = rest.split_at(length);
            rest = after;
            log_of_sum(own) - scores[0] - self.bias
        };
        lengths.into_iter().map(odds).collect()
    }
}

/// Returns the logarithm of the sum of the exponentials.
fn log_of_sum(logs: &[f32]) -> f32 {
    let most = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if logs.is_empty() { most } else { most + logs.iter().map(|log| (log - most).exp()).sum::<f32>().ln() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::tests::{config, file};
    use crate::model::tests::write_folder;

    fn scorer() -> SentenceScorer {
        let folder = tempfile::tempdir().unwrap();
        write_folder(folder.path(), "mean_tokens");
        let settings = Settings::read(folder.path()).unwrap();
        let (hidden, wide) = (settings.bert.hidden_size, settings.bert.intermediate_size);
        let adapter = file(&config(hidden, wide, settings.bert.num_hidden_layers), 0.0);
        SentenceScorer::adapted(folder.path(), &settings, &adapter, 0.5).unwrap()
    }

    fn window(sentences: &[&str]) -> Vec<String> {
        sentences.iter().map(|sentence| (*sentence).to_owned()).collect()
    }

    #[test]
    fn the_odds_of_a_sentence_are_the_sum_over_its_tokens_against_the_start_mark() {
        let scorer = scorer();
        let ids = scorer.tokenizer.encode("a man [SEP] eating, bread", usize::MAX);
        let mut space = Space::default();
        let states = scorer.encoder.states(&[&ids], &mut space);
        let scores: Vec<f32> =
            states.chunks_exact(scorer.head.len()).map(|state| state.iter().sum()).collect();
        let odds = scorer.odds("a man", &[window(&["eating,", "bread"])], 1);
        let expected = [log_of_sum(&scores[4..7]) - scores[0] - 0.5, scores[7] - scores[0] - 0.5];
        assert_eq!(ids.len(), 9);
        assert!(
            odds[0].iter().zip(expected).all(|(odds, expected)| (odds - expected).abs() < 1e-4),
            "{odds:?}"
        );
    }

    #[test]
    fn odds_depend_neither_on_other_windows_nor_on_the_number_of_threads() {
        let scorer = scorer();
        let windows = [window(&["a man is eating"]), window(&["bread", "food, food"]), window(&[])];
        let together = scorer.odds("a man", &windows, 2);
        assert_eq!(together.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 0]);
        let alone: Vec<Vec<f32>> =
            windows.iter().flat_map(|window| scorer.odds("a man", std::slice::from_ref(window), 1)).collect();
        assert_eq!(together, alone);
    }

    #[test]
    fn a_model_of_another_shape_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        write_folder(folder.path(), "mean_tokens");
        let settings = Settings::read(folder.path()).unwrap();
        for model in &MODELS {
            let error = SentenceScorer::read(folder.path(), &settings, model).unwrap_err();
            assert!(matches!(error, FolderError::NoScorer { .. }), "{error}");
        }
    }
}
