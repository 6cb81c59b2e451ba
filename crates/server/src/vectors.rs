//! Vectors of texts, by the embedder of a workspace.

use graphloom_core::{Batch, Call, CallOutcome, Purpose, Role};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::app::now;
use crate::chat::Tokens;
use crate::problem::{Problem, chain};
use crate::space::Space;

/// Texts of one request.
const MAX_INPUTS: usize = 512;

/// Texts to make vectors of, as clients of OpenAI and Ollama send them.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "text or a list of texts is expected")]
pub(crate) enum Input {
    One(#[schemars(length(min = 1))] String),
    Many(#[schemars(length(min = 1, max = MAX_INPUTS), inner(length(min = 1)))] Vec<String>),
    /// Token ids, which mean something to one tokenizer alone.
    #[schemars(skip)]
    Tokens(#[allow(dead_code, reason = "read to be refused in words of their own")] Vec<u64>),
    /// Lists of token ids.
    #[schemars(skip)]
    ManyTokens(#[allow(dead_code, reason = "read to be refused in words of their own")] Vec<Vec<u64>>),
}

impl Input {
    /// The texts, in their order.
    pub(crate) fn texts(self) -> Result<Vec<String>, Problem> {
        match self {
            Self::One(text) => Ok(vec![text]),
            Self::Many(texts) => Ok(texts),
            Self::Tokens(_) | Self::ManyTokens(_) => {
                Err(Problem::invalid("token ids cannot be read").remedy(Some(
                    "send the texts themselves; some clients do where they are told not to check the length of inputs",
                )))
            }
        }
    }
}

/// Vectors with what they took.
pub(crate) struct Made {
    /// One for each text, in order.
    pub(crate) vectors: Vec<Vec<f32>>,
    /// The embedder.
    pub(crate) model: String,
    /// What they took.
    pub(crate) usage: Tokens,
}

/// Vectors of `texts`, as of documents. `dimensions` other than the embedder's are refused. The call is in the ledger.
pub(crate) async fn vectors(
    space: &Space,
    texts: &[String],
    dimensions: Option<u32>,
) -> Result<Made, Problem> {
    if texts.is_empty() || texts.len() > MAX_INPUTS || texts.iter().any(|text| text.trim().is_empty()) {
        return Err(Problem::invalid(format!("input must be 1 to {MAX_INPUTS} texts, none of them empty")));
    }
    let engine = &space.asking;
    let embedder = engine.models.embedder.as_ref();
    if let Some(wanted) = dimensions {
        let made = embedder.dimensions().await?;
        if wanted != made {
            let what =
                format!("dimensions: {} makes vectors of {made} numbers, not {wanted}", embedder.name());
            return Err(Problem::invalid(what).remedy(Some("leave it out")));
        }
    }
    let started_at = now();
    let embedded = embedder.embed(Purpose::Document, texts).await;
    let (usage, attempts, outcome) = match &embedded {
        Ok(embedded) => (embedded.usage, embedded.attempts, CallOutcome::Ok),
        Err(error) => (Default::default(), 1, CallOutcome::Failed { reason: error.to_string() }),
    };
    let call = Call {
        role: Role::Embed,
        model: embedder.name().to_owned(),
        prompt_tokens: usage.prompt_tokens,
        cached_prompt_tokens: usage.cached_prompt_tokens,
        completion_tokens: usage.completion_tokens,
        attempts,
        started_at,
        duration_ms: now().0.saturating_sub(started_at.0),
        outcome,
        document: None,
        rejects: 0,
    };
    let usage = Tokens::of(std::slice::from_ref(&call));
    // Models in process make no requests; they are no calls in the ledger.
    if attempts > 0
        && let Err(error) = engine.store.commit(Batch { append_calls: vec![call], ..Batch::default() }).await
    {
        tracing::warn!(error = chain(&error), "what vectors cost was not stored");
    }
    Ok(Made { vectors: embedded?.vectors, model: embedder.name().to_owned(), usage })
}
