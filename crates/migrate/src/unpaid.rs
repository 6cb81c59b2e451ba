//! A model that is never called.

use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{ChatRequest, ChatStream, LanguageModel, ModelError};

/// Returns a model with the name of `model` that refuses every call as over budget, so that an import costs nothing. Descriptions
/// that need the model wait for a run with the model itself.
pub fn unpaid(model: Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel> {
    Arc::new(Unpaid(model))
}

struct Unpaid(Arc<dyn LanguageModel>);

#[async_trait]
impl LanguageModel for Unpaid {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn chat(&self, _: ChatRequest) -> Result<ChatStream, ModelError> {
        Err(ModelError::OverBudget {
            model: self.name().to_owned(),
            what: "an import calls no LLM".to_owned(),
        })
    }
}
