//! Sentence embeddings without a neural network: the built-in embedder, combined with a table distilled from a local model.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};
use graphloom_minilm::{FolderError, Settings, TABLE_FILE, TokenTable, table_dimensions};
use tokio::sync::OnceCell;

use super::{LocalConfig, loaded, short_digest};
use crate::builtin::BuiltinEmbedder;

/// Share of the table in the squared length of a vector; the rest is the built-in embedder's. With 0.3,
/// recall is up to 2 points lower on questions with many names.
const TABLE_SHARE: f32 = 0.15;

/// An embedder that looks up tokens in a table.
///
/// The first part of a vector comes from the built-in embedder, which finds exact words and names. The second
/// part is the mean of the tokens' vectors, which finds words with similar meanings.
#[derive(Debug)]
pub struct StaticEmbedder {
    name: String,
    folder: PathBuf,
    settings: Settings,
    /// Loaded with the first text.
    table: OnceCell<Arc<TokenTable>>,
}

impl StaticEmbedder {
    /// Checks the settings and that all files exist. The table is loaded on demand.
    pub fn open(config: LocalConfig) -> Result<Self, FolderError> {
        let settings = Settings::read(&config.folder)?;
        if !config.folder.join(TABLE_FILE).is_file() {
            return Err(FolderError::NoTable { folder: config.folder });
        }
        let name = format!("static:{}@{}", config.name, short_digest(&config, &settings)?);
        Ok(Self { name, folder: config.folder, settings, table: OnceCell::new() })
    }

    async fn table(&self) -> Result<Arc<TokenTable>, ModelError> {
        loaded(&self.table, &self.name, &self.folder, &self.settings, TokenTable::read).await
    }
}

#[async_trait]
impl Embedder for StaticEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        let dimensions = BuiltinEmbedder.dimensions().await?;
        Ok(dimensions + u32::try_from(table_dimensions(&self.settings)).unwrap_or(u32::MAX))
    }

    fn is_lexical(&self) -> bool {
        true
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let table = self.table().await?;
        let vectors = texts.iter().map(|text| vector(&table, purpose, text)).collect();
        Ok(Embeddings { vectors, usage: Usage::default(), attempts: 0 })
    }
}

fn vector(table: &TokenTable, purpose: Purpose, text: &str) -> Vec<f32> {
    let mut vector = BuiltinEmbedder.vector(purpose, text);
    let meaning = table.vector(text);
    // A text without tokens uses only the built-in part.
    let share = if meaning.iter().all(|x| *x == 0.0) { 0.0 } else { TABLE_SHARE };
    vector.iter_mut().for_each(|x| *x *= (1.0 - share).sqrt());
    vector.extend(meaning.iter().map(|x| x * share.sqrt()));
    vector
}

#[cfg(test)]
mod tests {
    use super::super::tests::{texts, tiny_folder};
    use super::*;

    fn tiny() -> (tempfile::TempDir, LocalConfig) {
        let folder = tiny_folder();
        let settings = Settings::read(folder.path()).unwrap();
        graphloom_minilm::distil(folder.path(), &settings, 1).unwrap();
        let config = LocalConfig::new("tiny", folder.path());
        (folder, config)
    }

    #[tokio::test]
    async fn vectors_have_unit_length_and_the_order_of_the_texts() {
        let (_folder, config) = tiny();
        let embedder = StaticEmbedder::open(config).unwrap();
        let all = texts(&["A man is eating food", "bread", "", "food"]);
        let together = embedder.embed(Purpose::Document, &all).await.unwrap();
        let dimensions = embedder.dimensions().await.unwrap() as usize;
        for (text, vector) in all.iter().zip(&together.vectors) {
            let alone = embedder.embed(Purpose::Document, std::slice::from_ref(text)).await.unwrap();
            assert_eq!(&alone.vectors[0], vector);
            let length: f32 = vector.iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-4 && vector.len() == dimensions, "{text:?}");
        }
        assert!(embedder.name().starts_with("static:tiny@"));
    }

    #[test]
    fn a_model_without_a_table_is_refused_with_a_remedy() {
        let (folder, config) = tiny();
        std::fs::remove_file(folder.path().join(TABLE_FILE)).unwrap();
        let refused = StaticEmbedder::open(config).unwrap_err();
        assert!(refused.to_string().ends_with("has no table of tokens"), "{refused}");
        assert!(refused.remedy().starts_with("use the model itself"), "{}", refused.remedy());
    }
}
