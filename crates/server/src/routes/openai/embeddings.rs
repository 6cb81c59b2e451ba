//! Embeds texts.

use axum::extract::State;
use axum::routing::post;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::apart::run_question;
use crate::app::App;
use crate::chat::{ModelChoice, Tokens, resolve_model};
use crate::guard::Admission;
use crate::input::Json;
use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route, Takes, schema};
use crate::vectors::{EmbeddingResult, Input, vectors};

pub(super) const ROUTES: &[Route] =
    &[Route::post("/v1/embeddings", "Vectors from the embedder of the workspace named by the model", || {
        post(embeddings)
    })
    .needs(Needs::Credential)
    .load(Load::Question)
    .takes(Takes::Json(schema::<EmbeddingRequest>))
    .gives(Gives::Json(schema::<Vectors>))];

/// Texts to embed.
#[derive(Deserialize, JsonSchema)]
struct EmbeddingRequest {
    /// `WORKSPACE`, `WORKSPACE:MODE`, or `graphloom` for the workspace of the request.
    model: String,
    input: Input,
    /// `float` or `base64`.
    encoding_format: Option<String>,
    /// Must match the embedder, if set.
    dimensions: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
struct Vectors {
    object: &'static str,
    data: Vec<VectorItem>,
    /// The embedder.
    model: String,
    usage: Tokens,
}

#[derive(Serialize, JsonSchema)]
struct VectorItem {
    object: &'static str,
    index: usize,
    /// Numbers, or their bytes in base64.
    embedding: Value,
}

async fn embeddings(
    State(app): State<App>,
    admitted: Admission,
    Json(request): Json<EmbeddingRequest>,
) -> Result<axum::Json<Vectors>, Problem> {
    let ModelChoice { space, .. } = resolve_model(&app, &admitted, &request.model).await?;
    let texts = request.input.texts()?;
    let as_bytes = match request.encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Problem::invalid(format!("encoding_format {other:?} must be float or base64")));
        }
    };
    let made = run_question(async move || vectors(&space, &texts, request.dimensions).await).await?;
    let EmbeddingResult { vectors, model, usage } = made;
    let item = |(index, vector): (usize, Vec<f32>)| {
        let embedding = match as_bytes {
            false => json!(vector),
            true => {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                json!(BASE64_STANDARD.encode(bytes))
            }
        };
        VectorItem { object: "embedding", index, embedding }
    };
    let data = vectors.into_iter().enumerate().map(item).collect();
    Ok(axum::Json(Vectors { object: "list", data, model, usage }))
}
