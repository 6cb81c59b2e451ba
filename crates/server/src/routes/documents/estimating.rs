//! What adding documents would cost. Nothing is stored, and no model is asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::routing::post;
use graphloom_engine::index::{
    Acceptance, Estimator, Expected, MoneyRange, PricedEstimate, PricedStep, Range, Reading,
};
use graphloom_engine::money::Money;
use schemars::JsonSchema;
use serde::Serialize;

use super::adding::{InsertTexts, receive_file, sources_of};
use crate::apart::apart_in_background;
use crate::app::App;
use crate::input::{Existing, Json};
use crate::limits::{MAX_TEXTS_BODY, MAX_UPLOAD_BODY};
use crate::problem::Problem;
use crate::route::{Gives, Route, Takes, schema};
use crate::space::Space;

pub(super) const ROUTES: &[Route] = &[
    Route::post("/documents/upload/estimate", "What adding a file would cost", || post(of_file))
        .writes()
        .max_body(MAX_UPLOAD_BODY)
        .takes(Takes::File)
        .gives(Gives::Json(schema::<EstimateAnswer>)),
    Route::post("/documents/texts/estimate", "What adding texts would cost", || post(of_texts))
        .writes()
        .max_body(MAX_TEXTS_BODY)
        .takes(Takes::Json(schema::<InsertTexts>))
        .gives(Gives::Json(schema::<EstimateAnswer>)),
];

/// What adding would cost. First questions are counted exactly; what depends on answers is a range.
#[derive(Serialize, JsonSchema)]
struct EstimateAnswer {
    /// Documents that would be new, or a new version.
    documents: u32,
    /// Documents that are there as they are; they cost nothing.
    unchanged: u32,
    /// What cannot be read, each with its reason.
    refused: Vec<RefusedItem>,
    /// Documents accepted before that still wait; the same run works on them, so they are part of all sums.
    waiting: u32,
    /// Chunks of the new and the waiting documents.
    chunks: u32,
    /// Of those, chunks that cost no extraction.
    reused: u32,
    /// The calls, by what they are for.
    steps: Vec<StepItem>,
    total: TotalItem,
    /// Models without a configured price; their steps are in no sum of money.
    unpriced: BTreeSet<String>,
}

#[derive(Serialize, JsonSchema)]
struct RefusedItem {
    file_path: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// Calls of one kind.
#[derive(Serialize, JsonSchema)]
struct StepItem {
    /// Such as `extract`, `summarize`, `embed chunks`.
    step: &'static str,
    role: &'static str,
    model: String,
    #[serde(flatten)]
    total: TotalItem,
}

#[derive(Serialize, JsonSchema)]
struct TotalItem {
    calls: RangeItem,
    input_tokens: RangeItem,
    output_tokens: RangeItem,
    /// `null` where the price of a model is not configured.
    price: Option<PriceItem>,
}

/// From the least to the most that is likely.
#[derive(Serialize, JsonSchema)]
struct RangeItem {
    low: u64,
    high: u64,
}

#[derive(Serialize, JsonSchema)]
struct PriceItem {
    #[schemars(with = "f64")]
    low: Money,
    #[schemars(with = "f64")]
    high: Money,
}

async fn of_file(
    State(app): State<App>,
    Existing(space): Existing,
    request: Request,
) -> Result<axum::Json<EstimateAnswer>, Problem> {
    let source = receive_file(&app, space.indexing.index.limits, request).await?;
    let readings = app.host.read(vec![source], space.indexing.index.limits).await;
    estimate(space, readings).await
}

async fn of_texts(
    State(app): State<App>,
    Existing(space): Existing,
    Json(texts): Json<InsertTexts>,
) -> Result<axum::Json<EstimateAnswer>, Problem> {
    let (sources, _) = sources_of(texts)?;
    let readings = app.host.read(sources, space.indexing.index.limits).await;
    estimate(space, readings).await
}

async fn estimate(space: Arc<Space>, readings: Vec<Reading>) -> Result<axum::Json<EstimateAnswer>, Problem> {
    apart_in_background(async move || {
        let names: Vec<String> = readings.iter().map(|reading| reading.name.clone()).collect();
        let mut estimator = Estimator::start(&space.indexing, space.embeds_by_service).await?;
        let acceptances = estimator.add(readings).await?;
        let refused =
            acceptances.into_iter().zip(names).filter_map(|(acceptance, file_path)| match acceptance {
                Acceptance::Refused { reason, remedy } => Some(RefusedItem { file_path, reason, remedy }),
                Acceptance::Accepted { .. } | Acceptance::Unchanged { .. } => None,
            });
        let refused = refused.collect();
        let priced = estimator.finish().priced(&space.prices);
        let PricedEstimate { documents, unchanged, waiting, chunks, reused, steps, total, unpriced, .. } =
            priced;
        let total = TotalItem::of(total.calls, total.input_tokens, total.output_tokens, total.price);
        let steps = steps.into_iter().map(StepItem::from).collect();
        Ok(axum::Json(EstimateAnswer {
            documents,
            unchanged,
            refused,
            waiting,
            chunks,
            reused,
            steps,
            total,
            unpriced,
        }))
    })
    .await
}

impl From<PricedStep> for StepItem {
    fn from(PricedStep { expected, price }: PricedStep) -> Self {
        let Expected { step, role, model, calls, input_tokens, output_tokens } = expected;
        let total = TotalItem::of(calls, input_tokens, output_tokens, price);
        Self { step: step.name(), role: role.name(), model, total }
    }
}

impl TotalItem {
    fn of(calls: Range, input_tokens: Range, output_tokens: Range, price: Option<MoneyRange>) -> Self {
        let range = |Range { low, high }: Range| RangeItem { low, high };
        Self {
            calls: range(calls),
            input_tokens: range(input_tokens),
            output_tokens: range(output_tokens),
            price: price.map(|MoneyRange { low, high }| PriceItem { low, high }),
        }
    }
}
