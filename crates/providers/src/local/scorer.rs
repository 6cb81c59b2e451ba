//! Scores sentences with a local model and an adapter that is part of the program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{ModelError, SentenceScorer};
use graphloom_minilm::{FolderError, ScorerModel, SentenceScorer as Scorer, Settings};
use tokio::sync::OnceCell;

use super::{LocalConfig, blocking, digest_of, loaded, threads};

/// A scorer that runs in this process, on all cores.
#[derive(Debug)]
pub struct LocalScorer {
    name: String,
    folder: PathBuf,
    settings: Settings,
    model: &'static ScorerModel,
    /// Loaded with the first question.
    scorer: OnceCell<Arc<Scorer>>,
}

impl LocalScorer {
    /// Checks that the folder contains a model that can score sentences. The weights are loaded on demand.
    pub fn open(config: LocalConfig) -> Result<Self, FolderError> {
        let settings = Settings::read(&config.folder)?;
        let LocalConfig { folder, name, weights_digest, .. } = config;
        let digest = match weights_digest {
            Some(digest) => digest,
            None => digest_of(&folder.join(settings.weights_file()))?,
        };
        let Some(model) = ScorerModel::of_weights(&digest) else {
            return Err(FolderError::NoScorer { folder });
        };
        Ok(Self { name: format!("local:{name}"), folder, settings, model, scorer: OnceCell::new() })
    }

    async fn scorer(&self) -> Result<Arc<Scorer>, ModelError> {
        let model = self.model;
        let read = move |folder: &Path, settings: &Settings| Scorer::read(folder, settings, model);
        loaded(&self.scorer, &self.name, &self.folder, &self.settings, read).await
    }
}

#[async_trait]
impl SentenceScorer for LocalScorer {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_multilingual(&self) -> bool {
        self.model.is_multilingual
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
