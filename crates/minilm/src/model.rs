//! A loaded model, which converts texts to tokens and tokens to vectors.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::encoder::{Encoder, Space};
use crate::folder::{FolderError, LongTexts, Pooling, Settings};
use crate::tokenizer::Tokenizer;

/// Maximum tokens in one forward pass. More tokens would use memory without gaining speed.
const MAX_PASS_TOKENS: usize = 512;

/// A tokenizer and an encoder.
#[derive(Debug)]
pub struct Model {
    tokenizer: Tokenizer,
    encoder: Encoder,
    pooling: Pooling,
    max_tokens: usize,
    long_texts: LongTexts,
    spaces: Spaces,
}

impl Model {
    /// Loads the model in `folder`.
    pub fn read(folder: &Path, settings: &Settings) -> Result<Self, FolderError> {
        let unusable = |what: String| FolderError::Unusable { folder: folder.to_owned(), what };
        let tokenizer = settings.tokenizer(folder)?;
        let encoder = Encoder::read(&settings.bert, settings.weights(folder)?.as_mut()).map_err(unusable)?;
        let Settings { pooling, max_tokens, long_texts, .. } = *settings;
        Ok(Self { tokenizer, encoder, pooling, max_tokens, long_texts, spaces: Spaces::default() })
    }

    pub(crate) fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Returns the token ids of a text in parts that the model accepts, each with the special tokens around
    /// it. If the model only embeds the start of a text, there is one part, truncated to the model's maximum.
    pub fn tokens(&self, text: &str) -> Vec<Vec<u32>> {
        match self.long_texts {
            LongTexts::Cut => vec![self.tokenizer.encode(text, self.max_tokens)],
            LongTexts::Parts => self.tokenizer.encode_parts(text, self.max_tokens),
        }
    }

    /// Returns the unit-length vector of each text, in order; a zero vector if the model's output has no direction. Blocks.
    ///
    /// - `texts`: parts from [`Model::tokens`]. The vector of a text with several parts is the mean of their vectors, weighted
    ///   by length.
    /// - `threads`: number of threads; 0 counts as 1.
    /// - A vector depends only on its text.
    pub fn embed(&self, texts: &[Vec<Vec<u32>>], threads: usize) -> Vec<Vec<f32>> {
        let parts: Vec<&[u32]> = texts.iter().flatten().map(Vec::as_slice).collect();
        let mut vectors = self.embed_parts(&parts, threads).into_iter();
        let mean = |text: &Vec<Vec<u32>>| {
            let mut mean = vectors.next().unwrap_or_default();
            if let [first, rest @ ..] = text.as_slice()
                && !rest.is_empty()
            {
                mean.iter_mut().for_each(|x| *x *= first.len() as f32);
                for (part, vector) in rest.iter().zip(vectors.by_ref()) {
                    mean.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x * part.len() as f32);
                }
                normalize(&mut mean);
            }
            mean
        };
        texts.iter().map(mean).collect()
    }

    fn embed_parts(&self, texts: &[&[u32]], threads: usize) -> Vec<Vec<f32>> {
        let passes = passes(texts);
        let of_passes = self.spaces.share(passes.len(), threads, |pass, space| {
            let tokens: Vec<&[u32]> = passes[pass].iter().map(|place| texts[*place]).collect();
            self.encoder.encode(&tokens, self.pooling, space)
        });
        let mut vectors = vec![Vec::new(); texts.len()];
        for (place, mut vector) in passes.iter().flatten().zip(of_passes.into_iter().flatten()) {
            normalize(&mut vector);
            vectors[*place] = vector;
        }
        vectors
    }
}

/// The buffers of a model's threads, kept from call to call. An allocator may keep freed memory for a while, so that calls in
/// quick succession would each take new memory.
#[derive(Debug, Default)]
pub(crate) struct Spaces(Mutex<Vec<Space>>);

impl Spaces {
    /// Returns the results of `work` for the numbers from 0 to `count`, in order. The threads share the work.
    pub(crate) fn share<T: Send>(
        &self,
        count: usize,
        threads: usize,
        work: impl Fn(usize, &mut Space) -> T + Sync,
    ) -> Vec<T> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        let run = || {
            let mut space = locked(&self.0).pop().unwrap_or_default();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= count {
                    break;
                }
                let result = work(at, &mut space);
                locked(&results).push((at, result));
            }
            locked(&self.0).push(space);
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(count) {
                scope.spawn(run);
            }
            run();
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_unstable_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the indices of the texts of each pass, longest texts first.
fn passes(texts: &[&[u32]]) -> Vec<Vec<usize>> {
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
