//! Scores sentences with the local model all-MiniLM-L6-v2 and an adapter that is part of the program.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{ModelError, SentenceScorer};
use graphloom_minilm::{FolderError, SentenceScorer as Scorer, Settings};
use tokio::sync::OnceCell;

use super::{LocalConfig, blocking, digest_of, loaded, threads};

/// BLAKE3 checksum of the weights that the adapter was trained with.
const WEIGHTS: &str = "8087e9bf97c265f8435ed268733ecf3791825ad24850fd5d84d89e32ee3a589a";

/// A scorer that runs in this process, on all cores.
#[derive(Debug)]
pub struct LocalScorer {
    name: String,
    folder: PathBuf,
    settings: Settings,
    /// Loaded with the first question.
    scorer: OnceCell<Arc<Scorer>>,
}

impl LocalScorer {
    /// Checks that the folder contains all-MiniLM-L6-v2. The weights are loaded on demand.
    pub fn open(config: LocalConfig) -> Result<Self, FolderError> {
        let settings = Settings::read(&config.folder)?;
        let LocalConfig { folder, name, weights_digest, .. } = config;
        let digest = match weights_digest {
            Some(digest) => digest,
            None => digest_of(&folder.join(settings.weights_file()))?,
        };
        if digest != WEIGHTS {
            return Err(FolderError::NoScorer { folder });
        }
        Ok(Self { name: format!("local:{name}"), folder, settings, scorer: OnceCell::new() })
    }

    async fn scorer(&self) -> Result<Arc<Scorer>, ModelError> {
        loaded(&self.scorer, &self.name, &self.folder, &self.settings, Scorer::read).await
    }
}

#[async_trait]
impl SentenceScorer for LocalScorer {
    fn name(&self) -> &str {
        &self.name
    }

    async fn score(&self, question: &str, windows: &[Vec<String>]) -> Result<Vec<Vec<f32>>, ModelError> {
        let scorer = self.scorer().await?;
        let (question, windows) = (question.to_owned(), windows.to_vec());
        blocking(&self.name, move || Ok(scorer.odds(&question, &windows, threads()))).await
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tiny_folder;
    use super::*;

    #[test]
    fn another_model_cannot_score_sentences() {
        let folder = tiny_folder();
        let error = LocalScorer::open(LocalConfig::new("tiny", folder.path())).unwrap_err();
        assert!(matches!(error, FolderError::NoScorer { .. }), "{error}");
        assert!(error.remedy().contains("all-minilm-l6-v2"));
    }
}
