//! A model that is not asked.

use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{ChatRequest, ChatStream, LanguageModel, ModelError};

/// The model under its name, but every call is refused as over budget, so that an import pays for nothing. What would
/// need it waits for a run with the model itself.
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
