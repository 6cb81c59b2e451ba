//! Embeds texts with the embedder of a workspace.

use graphloom_core::{Batch, Call, CallOutcome, Purpose, Role};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::app::now;
use crate::chat::Tokens;
use crate::problem::{Problem, chain};
use crate::space::Space;

/// Maximum texts per request.
const MAX_INPUTS: usize = 512;

/// Texts to embed, in the formats of OpenAI's and Ollama's clients.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected text or a list of texts")]
pub(crate) enum Input {
    One(#[schemars(length(min = 1))] String),
    Many(#[schemars(length(min = 1, max = MAX_INPUTS), inner(length(min = 1)))] Vec<String>),
    /// Token ids, which depend on a specific tokenizer.
    #[schemars(skip)]
    Tokens(#[allow(dead_code, reason = "parsed for a specific error message")] Vec<u64>),
    /// Lists of token ids.
    #[schemars(skip)]
    ManyTokens(#[allow(dead_code, reason = "parsed for a specific error message")] Vec<Vec<u64>>),
}

impl Input {
    /// The texts in order.
    pub(crate) fn texts(self) -> Result<Vec<String>, Problem> {
        match self {
            Self::One(text) => Ok(vec![text]),
            Self::Many(texts) => Ok(texts),
            Self::Tokens(_) | Self::ManyTokens(_) => Err(Problem::invalid("token ids are not supported")
                .remedy(Some("send texts; in some clients, switch off the check of input lengths"))),
        }
    }
}

/// Vectors with their usage.
pub(crate) struct EmbeddingResult {
    /// One per text, in order.
    pub(crate) vectors: Vec<Vec<f32>>,
    /// The embedder.
    pub(crate) model: String,
    /// Tokens that embedding used.
    pub(crate) usage: Tokens,
}

/// Embeds `texts` as documents. Rejects `dimensions` other than the embedder's. The call is recorded in the
/// ledger.
pub(crate) async fn vectors(
    space: &Space,
    texts: &[String],
    dimensions: Option<u32>,
) -> Result<EmbeddingResult, Problem> {
    if texts.is_empty() || texts.len() > MAX_INPUTS || texts.iter().any(|text| text.trim().is_empty()) {
        return Err(Problem::invalid(format!("input must be 1 to {MAX_INPUTS} texts that are not empty")));
    }
    let engine = &space.asking;
    let embedder = engine.models.embedder.as_ref();
    if let Some(wanted) = dimensions {
        let made = embedder.dimensions().await?;
        if wanted != made {
            let what = format!(
                "dimensions: {} produces vectors with {made} dimensions, not {wanted}",
                embedder.name()
            );
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
    // Models in this process make no calls, so there is nothing to record.
    if attempts > 0
        && let Err(error) = engine.store.commit(Batch { append_calls: vec![call], ..Batch::default() }).await
    {
        tracing::warn!(error = chain(&error), "storing the cost of vectors failed");
    }
    Ok(EmbeddingResult { vectors: embedded?.vectors, model: embedder.name().to_owned(), usage })
}
