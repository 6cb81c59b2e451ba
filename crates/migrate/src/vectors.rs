//! Reuses vectors that another system computed with the same model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use graphloom_core::{ContentHash, Embedder, Embeddings, ModelError, Purpose};

/// Minimum cosine between a stored vector and a new vector of the same text for their models to count as the same. Half
/// precision and other hardware cause smaller differences.
const SAME_MODEL: f32 = 0.999;
/// Shortest text that is embedded to compare the models.
const MIN_PROBE_BYTES: usize = 24;

/// Vectors by the text they were computed from.
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    by_text: BTreeMap<ContentHash, Vec<f32>>,
    /// The shortest text of at least [`MIN_PROBE_BYTES`], to compare models with.
    probe: Option<String>,
}

impl Vectors {
    /// Adds a vector, unless it is all zeros or has values that are not finite.
    pub(crate) fn add(&mut self, text: &str, vector: Vec<f32>) {
        let Some(vector) = unit(vector) else { return };
        let is_better = |probe: &String| text.len() < probe.len();
        if text.len() >= MIN_PROBE_BYTES && self.probe.as_ref().is_none_or(is_better) {
            self.probe = Some(text.to_owned());
        }
        self.by_text.insert(ContentHash::of(text.as_bytes()), vector);
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    /// True if there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    fn of(&self, text: &str) -> Option<&Vec<f32>> {
        self.by_text.get(&ContentHash::of(text.as_bytes()))
    }

    /// True if `embedder` makes the same vectors. If the dimensions are equal, embeds one short text to compare.
    pub async fn are_of(&self, embedder: &dyn Embedder) -> Result<bool, ModelError> {
        let Some(probe) = &self.probe else { return Ok(false) };
        let Some(known) = self.of(probe) else { return Ok(false) };
        if embedder.dimensions().await? as usize != known.len() {
            return Ok(false);
        }
        let new = embedder.embed(Purpose::Document, std::slice::from_ref(probe)).await?;
        let new = new.vectors.into_iter().next().and_then(unit).unwrap_or_default();
        let cosine: f32 = known.iter().zip(&new).map(|(one, other)| one * other).sum();
        Ok(cosine >= SAME_MODEL)
    }
}

fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return None;
    }
    vector.iter_mut().for_each(|value| *value /= length);
    Some(vector)
}

/// An embedder that returns known vectors and calls another embedder for the rest.
pub struct KnownVectors {
    vectors: Vectors,
    embedder: Arc<dyn Embedder>,
    used: AtomicU64,
}

impl KnownVectors {
    /// - `embedder`: an embedder with the same model.
    pub fn new(vectors: Vectors, embedder: Arc<dyn Embedder>) -> Self {
        Self { vectors, embedder, used: AtomicU64::new(0) }
    }

    /// Returns how many known vectors were used.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Embedder for KnownVectors {
    fn name(&self) -> &str {
        self.embedder.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        self.embedder.dimensions().await
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let known: Vec<Option<&Vec<f32>>> = match purpose {
            Purpose::Document => texts.iter().map(|text| self.vectors.of(text)).collect(),
            Purpose::Query => vec![None; texts.len()],
        };
        let unknown = texts.iter().zip(&known).filter(|(_, known)| known.is_none());
        let unknown: Vec<String> = unknown.map(|(text, _)| text.clone()).collect();
        let mut embeddings = match unknown.is_empty() {
            true => Embeddings { vectors: Vec::new(), usage: Default::default(), attempts: 0 },
            false => self.embedder.embed(purpose, &unknown).await?,
        };
        self.used.fetch_add((texts.len() - unknown.len()) as u64, Ordering::Relaxed);
        let mut new = std::mem::take(&mut embeddings.vectors).into_iter();
        // There is one new vector for each text without a known one. If one is missing, the caller notices the wrong count.
        embeddings.vectors =
            known.into_iter().filter_map(|known| known.cloned().or_else(|| new.next())).collect();
        Ok(embeddings)
    }
}
