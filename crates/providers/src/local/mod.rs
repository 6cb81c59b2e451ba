//! Sentence embeddings computed in this process, from a folder with a BERT model.

mod scorer;
mod table;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};
pub use graphloom_minilm::FolderError;
use graphloom_minilm::{Model, Settings};
use tokio::sync::{Mutex, OnceCell};

pub use self::scorer::LocalScorer;
pub use self::table::StaticEmbedder;
use crate::embed_batches::prefixed_name;

/// Number of characters of the weights' checksum in the embedder's name.
const NAME_DIGEST_LEN: usize = 8;

/// The settings of a model folder.
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// Folder with `config.json`, `tokenizer.json` and `model.safetensors`, or with a packed file.
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
    /// Returns the default settings for a folder.
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

/// A sentence embedder that runs in this process, on all cores.
///
/// The vector of a text depends only on that text, not on the other texts of the call.
#[derive(Debug)]
pub struct LocalEmbedder {
    name: String,
    folder: PathBuf,
    settings: Settings,
    document_prefix: String,
    query_prefix: String,
    /// Tokenizer and weights, loaded with the first text.
    model: OnceCell<Arc<Model>>,
    /// Held by a call that embeds documents. A call uses all cores, so that several at once would only take more memory.
    documents: Mutex<()>,
}

impl LocalEmbedder {
    /// Checks the settings and that all files exist. The weights are loaded on demand.
    pub fn open(config: LocalConfig) -> Result<Self, FolderError> {
        let settings = Settings::read(&config.folder)?;
        let short = short_digest(&config, &settings)?;
        let LocalConfig { folder, name, document_prefix, query_prefix, .. } = config;
        let document_prefix = document_prefix.unwrap_or_else(|| settings.document_prompt().to_owned());
        let query_prefix = query_prefix.unwrap_or_else(|| settings.query_prompt().to_owned());
        let name = prefixed_name(format!("local:{name}@{short}"), &document_prefix, &query_prefix);
        Ok(Self {
            name,
            folder,
            settings,
            document_prefix,
            query_prefix,
            model: OnceCell::new(),
            documents: Mutex::new(()),
        })
    }

    /// Loads everything and embeds one text, to detect a broken folder. Blocks.
    pub fn check(&self) -> Result<(), FolderError> {
        let unusable = |what: String| FolderError::Unusable { folder: self.folder.clone(), what };
        let model = Model::read(&self.folder, &self.settings)?;
        embed(&model, "", &["check".to_owned()]).map(|_| ()).map_err(unusable)
    }

    async fn model(&self) -> Result<Arc<Model>, ModelError> {
        loaded(&self.model, &self.name, &self.folder, &self.settings, Model::read).await
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(u32::try_from(self.settings.dimensions()).unwrap_or(u32::MAX))
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let model = self.model().await?;
        let prefix = match purpose {
            Purpose::Document => self.document_prefix.clone(),
            Purpose::Query => self.query_prefix.clone(),
        };
        // A query does not wait for documents.
        let _turn = match purpose {
            Purpose::Document => Some(self.documents.lock().await),
            Purpose::Query => None,
        };
        let texts = texts.to_vec();
        let (vectors, prompt_tokens) = blocking(&self.name, move || embed(&model, &prefix, &texts)).await?;
        Ok(Embeddings { vectors, usage: Usage { prompt_tokens, ..Usage::default() }, attempts: 0 })
    }
}

/// Returns one unit-length vector per text, and the number of tokens. Blocks.
fn embed(model: &Model, prefix: &str, texts: &[String]) -> Result<(Vec<Vec<f32>>, u64), String> {
    let tokens: Vec<Vec<Vec<u32>>> =
        texts.iter().map(|text| model.tokens(&format!("{prefix}{text}"))).collect();
    let vectors = model.embed(&tokens, threads());
    let directed = |vector: &Vec<f32>| vector.iter().any(|x| *x != 0.0);
    if !vectors.iter().all(directed) {
        return Err("a zero vector".to_owned());
    }
    Ok((vectors, tokens.iter().flatten().map(|part| part.len() as u64).sum()))
}

/// Returns what `read` reads from the folder of the model `name`, which it does once.
async fn loaded<T: Send + Sync + 'static>(
    cell: &OnceCell<Arc<T>>,
    name: &str,
    folder: &Path,
    settings: &Settings,
    read: impl FnOnce(&Path, &Settings) -> Result<T, FolderError> + Send + 'static,
) -> Result<Arc<T>, ModelError> {
    let load = async || {
        let (folder, settings) = (folder.to_owned(), settings.clone());
        blocking(name, move || read(&folder, &settings).map_err(|error| error.to_string()))
            .await
            .map(Arc::new)
    };
    cell.get_or_try_init(load).await.cloned()
}

/// Returns the number of threads of a model.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs blocking work of the model `name`.
async fn blocking<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, ModelError> {
    let result = tokio::task::spawn_blocking(work).await;
    result
        .unwrap_or_else(|error| Err(error.to_string()))
        .map_err(|what| ModelError::Local { model: name.to_owned(), what })
}

/// Returns the start of the weights' checksum, which is part of the embedder's name.
fn short_digest(config: &LocalConfig, settings: &Settings) -> Result<String, FolderError> {
    let mut digest = match &config.weights_digest {
        Some(digest) => digest.clone(),
        None => digest_of(&config.folder.join(settings.weights_file()))?,
    };
    digest.truncate(NAME_DIGEST_LEN);
    Ok(digest)
}

/// Returns the BLAKE3 checksum of a file, in hex.
fn digest_of(file: &Path) -> Result<String, FolderError> {
    let hash = || -> std::io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(file)?)?;
        Ok(hasher.finalize().to_hex().to_string())
    };
    hash().map_err(|source| FolderError::Read { file: file.to_owned(), source })
}

#[cfg(test)]
pub(crate) mod tests;
