//! A loaded model: texts to tokens, tokens to vectors.

use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::encoder::{Encoder, Space};
use crate::folder::{FolderError, Pooling, Settings, WEIGHTS_FILE, read_file};
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;

/// Maximum tokens in one forward pass; more would use memory without gaining speed.
const MAX_PASS_TOKENS: usize = 512;

/// A tokenizer and an encoder.
#[derive(Debug)]
pub struct Model {
    tokenizer: Tokenizer,
    encoder: Encoder,
    pooling: Pooling,
    max_tokens: usize,
}

impl Model {
    /// Loads the model in `folder`.
    pub fn read(folder: &Path, settings: &Settings) -> Result<Self, FolderError> {
        let unusable = |what: String| FolderError::Unusable { folder: folder.to_owned(), what };
        let tokenizer = Tokenizer::read(&read_file(folder, "tokenizer.json")?).map_err(unusable)?;
        if tokenizer.id_limit() > settings.bert.vocab_size {
            let (ids, words) = (tokenizer.id_limit(), settings.bert.vocab_size);
            return Err(unusable(format!("its tokenizer has {ids} tokens, but its weights have {words}")));
        }
        let file = folder.join(WEIGHTS_FILE);
        let weights = File::open(&file).map_err(|source| FolderError::Read { file, source })?;
        let encoder =
            Weights::open(weights).and_then(|mut weights| Encoder::read(&settings.bert, &mut weights));
        Ok(Self {
            tokenizer,
            encoder: encoder.map_err(unusable)?,
            pooling: settings.pooling,
            max_tokens: settings.max_tokens,
        })
    }

    pub(crate) fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The token ids of a text, with the marks around it, cut to the model's maximum.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text, self.max_tokens)
    }

    /// The unit-length vector of each text, in order; a zero vector if the model gives no direction. Blocks.
    ///
    /// - `texts`: lists of ids from [`Model::tokens`].
    /// - `threads`: how many threads compute; 0 counts as 1.
    /// - A vector depends on its text only.
    pub fn embed(&self, texts: &[Vec<u32>], threads: usize) -> Vec<Vec<f32>> {
        let passes = passes(texts);
        let next = AtomicUsize::new(0);
        let vectors = Mutex::new(vec![Vec::new(); texts.len()]);
        let work = || {
            let mut space = Space::default();
            while let Some(pass) = passes.get(next.fetch_add(1, Ordering::Relaxed)) {
                let tokens: Vec<&[u32]> = pass.iter().map(|place| texts[*place].as_slice()).collect();
                let found = self.encoder.encode(&tokens, self.pooling, &mut space);
                let mut vectors = vectors.lock().unwrap_or_else(PoisonError::into_inner);
                for (place, mut vector) in pass.iter().zip(found) {
                    normalize(&mut vector);
                    vectors[*place] = vector;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(passes.len()) {
                scope.spawn(work);
            }
            work();
        });
        vectors.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Places of the texts of each pass, the longest texts first.
fn passes(texts: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(texts[*place].len()));
    let mut passes: Vec<Vec<usize>> = Vec::new();
    let mut tokens = 0;
    for place in order {
        tokens += texts[place].len();
        match passes.last_mut() {
            Some(pass) if tokens <= MAX_PASS_TOKENS => pass.push(place),
            _ => {
                passes.push(vec![place]);
                tokens = texts[place].len();
            }
        }
    }
    passes
}

/// Scales a vector to length 1, or sets it to zero if it has no direction.
pub(crate) fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let scale = if length.is_normal() { length.recip() } else { 0.0 };
    vector.iter_mut().for_each(|x| *x = if scale == 0.0 { 0.0 } else { *x * scale });
}

#[cfg(test)]
pub(crate) mod tests;
