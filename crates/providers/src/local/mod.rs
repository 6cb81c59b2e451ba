//! Sentence embeddings in this process, from a BERT-family model folder.

mod bert;
mod folder;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use futures::{StreamExt, TryStreamExt, stream};
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};
use tokenizers::{Tokenizer, TruncationParams};
use tokio::sync::OnceCell;

use self::bert::Bert;
pub use self::folder::LocalError;
use self::folder::{FolderConfig, Pooling, WEIGHTS_FILE, read_file};
use crate::embed_batches::{normalise, prefixed_name};

/// Maximum tokens in one forward pass; more would use memory without gaining speed.
const MAX_PASS_TOKENS: usize = 4096;

/// Characters of the weights' checksum in the embedder's name.
const NAME_DIGEST_LEN: usize = 8;

/// Settings of a model folder.
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// Folder with `config.json`, `tokenizer.json` and `model.safetensors`.
    pub folder: PathBuf,
    /// Name of the model.
    pub name: String,
    /// BLAKE3 checksum of the weights in hex, from a manifest; computed if `None`.
    pub weights_digest: Option<String>,
    /// Prefix of documents; `None` for the folder's own prompt.
    pub document_prefix: Option<String>,
    /// Prefix of queries; `None` for the folder's own prompt.
    pub query_prefix: Option<String>,
}

impl LocalConfig {
    /// Default settings for a folder.
    pub fn new(name: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            name: name.into(),
            weights_digest: None,
            document_prefix: None,
            query_prefix: None,
        }
    }
}

/// A sentence embedder that runs in this process.
///
/// The vector of a text depends on that text only: texts share a forward pass only if they have the same number of
/// tokens, so there is no padding.
#[derive(Debug)]
pub struct LocalEmbedder {
    name: String,
    folder: PathBuf,
    config: FolderConfig,
    document_prefix: String,
    query_prefix: String,
    /// Tokenizer and weights, loaded with the first text.
    model: OnceCell<Arc<Loaded>>,
}

impl LocalEmbedder {
    /// Checks the settings and that all files exist; weights are loaded on demand.
    pub fn open(config: LocalConfig) -> Result<Self, LocalError> {
        let LocalConfig { folder, name, weights_digest, document_prefix, query_prefix } = config;
        let settings = FolderConfig::read(&folder)?;
        let digest = match weights_digest {
            Some(digest) => digest,
            None => folder::digest(&folder, WEIGHTS_FILE)?,
        };
        let document_prefix = document_prefix.unwrap_or_else(|| settings.document_prompt.clone());
        let query_prefix = query_prefix.unwrap_or_else(|| settings.query_prompt.clone());
        let short = &digest[..digest.len().min(NAME_DIGEST_LEN)];
        let name = prefixed_name(format!("local:{name}@{short}"), &document_prefix, &query_prefix);
        Ok(Self { name, folder, config: settings, document_prefix, query_prefix, model: OnceCell::new() })
    }

    /// Loads everything and embeds one text, to detect a broken folder. Blocks.
    pub fn check(&self) -> Result<(), LocalError> {
        let unusable = |what: String| LocalError::Unusable { folder: self.folder.clone(), what };
        let loaded = Loaded::read(&self.folder, &self.config)?;
        let tokens = loaded.tokenize("check").map_err(unusable)?;
        let vectors = loaded.forward(&[tokens]).map_err(unusable)?;
        let usable = vectors.first().is_some_and(|vector| vector.len() == self.config.bert.hidden_size);
        if usable { Ok(()) } else { Err(unusable("it gives no vector".to_owned())) }
    }

    async fn loaded(&self) -> Result<Arc<Loaded>, ModelError> {
        let load = async || {
            let (folder, config) = (self.folder.clone(), self.config.clone());
            let read =
                self.blocking(move || Loaded::read(&folder, &config).map_err(|error| error.to_string()));
            read.await.map(Arc::new)
        };
        self.model.get_or_try_init(load).await.cloned()
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, ModelError> {
        let result = tokio::task::spawn_blocking(work).await;
        result
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(|what| ModelError::Local { model: self.name.clone(), what })
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(u32::try_from(self.config.bert.hidden_size).unwrap_or(u32::MAX))
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let loaded = self.loaded().await?;
        let prefix = match purpose {
            Purpose::Document => &self.document_prefix,
            Purpose::Query => &self.query_prefix,
        };
        let prefixed: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let tokenizer = Arc::clone(&loaded);
        let tokens = self
            .blocking(move || {
                prefixed.iter().map(|text| tokenizer.tokenize(text)).collect::<Result<Vec<_>, _>>()
            })
            .await?;
        let prompt_tokens = tokens.iter().map(|ids| u64::try_from(ids.len()).unwrap_or(u64::MAX)).sum();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let passes: Vec<Vec<(usize, Vec<f32>)>> = stream::iter(passes(tokens))
            .map(|(places, batch)| {
                let loaded = Arc::clone(&loaded);
                self.blocking(move || {
                    loaded.forward(&batch).map(|vectors| places.into_iter().zip(vectors).collect())
                })
            })
            .buffered(threads)
            .try_collect()
            .await?;
        let mut vectors = vec![Vec::new(); texts.len()];
        for (place, vector) in passes.into_iter().flatten() {
            vectors[place] = vector;
        }
        Ok(Embeddings { vectors, usage: Usage { prompt_tokens, ..Usage::default() }, attempts: 0 })
    }
}

/// Groups texts with equal token counts, with their positions in the list.
fn passes(tokens: Vec<Vec<u32>>) -> Vec<(Vec<usize>, Vec<Vec<u32>>)> {
    let mut ordered: Vec<(usize, Vec<u32>)> = tokens.into_iter().enumerate().collect();
    ordered.sort_by_key(|(place, ids)| (std::cmp::Reverse(ids.len()), *place));
    let mut passes: Vec<(Vec<usize>, Vec<Vec<u32>>)> = Vec::new();
    for (place, ids) in ordered {
        match passes.last_mut() {
            Some((places, batch))
                if batch[0].len() == ids.len() && (batch.len() + 1) * ids.len() <= MAX_PASS_TOKENS =>
            {
                places.push(place);
                batch.push(ids);
            }
            _ => passes.push((vec![place], vec![ids])),
        }
    }
    passes
}

/// A loaded model.
#[derive(Debug)]
struct Loaded {
    tokenizer: Tokenizer,
    bert: Bert,
    pooling: Pooling,
}

impl Loaded {
    fn read(folder: &std::path::Path, config: &FolderConfig) -> Result<Self, LocalError> {
        let unusable = |what: String| LocalError::Unusable { folder: folder.to_owned(), what };
        let tokenizer = read_file(folder, "tokenizer.json")?;
        let mut tokenizer = Tokenizer::from_bytes(tokenizer).map_err(|error| unusable(error.to_string()))?;
        let truncation = TruncationParams { max_length: config.max_tokens, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| unusable(error.to_string()))?;
        tokenizer.with_padding(None);
        let weights = read_file(folder, WEIGHTS_FILE)?;
        let bert = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)
            .and_then(|weights| Bert::new(&config.bert, weights))
            .map_err(|error| unusable(error.to_string()))?;
        Ok(Self { tokenizer, bert, pooling: config.pooling })
    }

    fn tokenize(&self, text: &str) -> Result<Vec<u32>, String> {
        let encoding = self.tokenizer.encode_fast(text, true).map_err(|error| error.to_string())?;
        if encoding.is_empty() {
            Err("the tokenizer gives no token".to_owned())
        } else {
            Ok(encoding.get_ids().to_vec())
        }
    }

    /// One unit-length vector per row of `tokens`; all rows have the same length.
    fn forward(&self, tokens: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, String> {
        let pooled = || -> candle_core::Result<Vec<Vec<f32>>> {
            let length = tokens.first().map_or(0, Vec::len);
            let ids = Tensor::from_vec(tokens.concat(), (tokens.len(), length), &Device::Cpu)?;
            let hidden = self.bert.forward(&ids)?;
            match self.pooling {
                Pooling::Mean => hidden.mean(1)?.to_vec2(),
                Pooling::FirstToken => hidden.narrow(1, 0, 1)?.squeeze(1)?.to_vec2(),
            }
        };
        let mut vectors = pooled().map_err(|error| error.to_string())?;
        let directed = vectors.iter_mut().all(|vector| normalise(vector));
        if directed { Ok(vectors) } else { Err("a zero vector".to_owned()) }
    }
}

#[cfg(test)]
pub(crate) mod tests;
