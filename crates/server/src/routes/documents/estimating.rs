//! Estimates the cost of adding documents. Stores nothing and calls no model.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::routing::post;
use graphloom_engine::index::{
    Acceptance, Estimator, ExpectedCalls, MoneyRange, PricedEstimate, PricedStep, Range, SourceText,
};
use graphloom_engine::money::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::adding::{InsertTexts, receive_file, sources_of};
use super::queue::ReExtractDocuments;
use crate::apart::apart_in_background;
use crate::app::App;
use crate::input::{ExistingWorkspace, Json, Params};
use crate::limits::{MAX_TEXTS_BODY, MAX_UPLOAD_BODY};
use crate::problem::Problem;
use crate::route::{Gives, Route, Takes, schema};
use crate::space::Space;

pub(super) const ROUTES: &[Route] = &[
    Route::post("/documents/upload/estimate", "Estimates the cost of adding a file", || post(of_file))
        .writes()
        .max_body(MAX_UPLOAD_BODY)
        .params(schema::<EstimateParams>)
        .takes(Takes::File)
        .gives(Gives::Json(schema::<EstimateAnswer>)),
    Route::post("/documents/texts/estimate", "Estimates the cost of adding texts", || post(of_texts))
        .writes()
        .max_body(MAX_TEXTS_BODY)
        .takes(Takes::Json(schema::<InsertTexts>))
        .gives(Gives::Json(schema::<EstimateAnswer>)),
    Route::post(
        "/documents/re_extract/estimate",
        "Estimates the cost of extracting documents again with the workspace's model",
        || post(of_re_extraction),
    )
    .writes()
    .takes(Takes::Json(schema::<ReExtractDocuments>))
    .gives(Gives::Json(schema::<EstimateAnswer>)),
];

/// How a file is estimated.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EstimateParams {
    /// Leave out the documents that still wait, so that the estimates of several files add up.
    #[serde(default)]
    alone: bool,
}

/// The estimated cost. First calls are counted exactly; calls that depend on answers are given as a range.
#[derive(Serialize, JsonSchema)]
struct EstimateAnswer {
    /// New documents and new versions.
    documents: u32,
    /// Documents that already exist with this content, which cost nothing.
    unchanged: u32,
    /// Sources that cannot be read, with the reason.
    refused: Vec<RefusedItem>,
    /// Previously added documents that still wait. They belong to the same run, so all totals include them.
    waiting: u32,
    /// Chunks of the new and the waiting documents.
    chunks: u32,
    /// Of those, chunks that need no extraction.
    reused: u32,
    /// The calls by purpose.
    steps: Vec<StepItem>,
    total: TotalItem,
    /// Models without a configured price; their steps are missing in all sums of money.
    unpriced: BTreeSet<String>,
}

#[derive(Serialize, JsonSchema)]
struct RefusedItem {
    file_path: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// The calls of one kind.
#[derive(Serialize, JsonSchema)]
pub(in crate::routes) struct StepItem {
    /// Such as `extract`, `summarize`, `embed chunks`.
    step: &'static str,
    role: &'static str,
    model: String,
    #[serde(flatten)]
    total: TotalItem,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::routes) struct TotalItem {
    calls: RangeItem,
    input_tokens: RangeItem,
    output_tokens: RangeItem,
    /// `null` if the price of a model is not configured.
    price: Option<PriceItem>,
}

/// The likely minimum and maximum.
#[derive(Serialize, JsonSchema)]
pub(in crate::routes) struct RangeItem {
    low: u64,
    high: u64,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::routes) struct PriceItem {
    #[schemars(with = "f64")]
    low: Money,
    #[schemars(with = "f64")]
    high: Money,
}

async fn of_file(
    State(app): State<App>,
    ExistingWorkspace(space): ExistingWorkspace,
    Params(EstimateParams { alone }): Params<EstimateParams>,
    request: Request,
) -> Result<axum::Json<EstimateAnswer>, Problem> {
    let source = receive_file(&app, space.indexing.index.limits, request).await?;
    let readings = app.host.read(vec![source], space.indexing.index.limits).await;
    estimate(space, readings, alone).await
}

async fn of_texts(
    State(app): State<App>,
    ExistingWorkspace(space): ExistingWorkspace,
    Json(texts): Json<InsertTexts>,
) -> Result<axum::Json<EstimateAnswer>, Problem> {
    let (sources, _) = sources_of(texts)?;
    let readings = app.host.read(sources, space.indexing.index.limits).await;
    estimate(space, readings, false).await
}

async fn of_re_extraction(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(request): Json<ReExtractDocuments>,
) -> Result<axum::Json<EstimateAnswer>, Problem> {
    let ids = request.ids()?;
    apart_in_background(async move || {
        let mut estimator = Estimator::new(&space.indexing, space.embeds_by_service);
        estimator.renew(&ids).await?;
        Ok(axum::Json(EstimateAnswer::of(estimator.finish().priced(&space.prices), Vec::new())))
    })
    .await
}

async fn estimate(
    space: Arc<Space>,
    readings: Vec<SourceText>,
    alone: bool,
) -> Result<axum::Json<EstimateAnswer>, Problem> {
    apart_in_background(async move || {
        let names: Vec<String> = readings.iter().map(|reading| reading.name.clone()).collect();
        let mut estimator = match alone {
            true => Estimator::new(&space.indexing, space.embeds_by_service),
            false => Estimator::start(&space.indexing, space.embeds_by_service).await?,
        };
        let acceptances = estimator.add(readings).await?;
        let refused =
            acceptances.into_iter().zip(names).filter_map(|(acceptance, file_path)| match acceptance {
                Acceptance::Refused { reason, remedy } => Some(RefusedItem { file_path, reason, remedy }),
                Acceptance::Accepted { .. } | Acceptance::Unchanged { .. } => None,
            });
        let refused = refused.collect();
        Ok(axum::Json(EstimateAnswer::of(estimator.finish().priced(&space.prices), refused)))
    })
    .await
}

impl EstimateAnswer {
    fn of(estimate: PricedEstimate, refused: Vec<RefusedItem>) -> Self {
        let PricedEstimate { documents, unchanged, waiting, chunks, reused, steps, total, unpriced, .. } =
            estimate;
        let total = TotalItem::of(total.calls, total.input_tokens, total.output_tokens, total.price);
        let steps = steps.into_iter().map(StepItem::from).collect();
        Self { documents, unchanged, refused, waiting, chunks, reused, steps, total, unpriced }
    }
}

impl From<PricedStep> for StepItem {
    fn from(PricedStep { expected, price }: PricedStep) -> Self {
        let ExpectedCalls { step, role, model, calls, input_tokens, output_tokens } = expected;
        let total = TotalItem::of(calls, input_tokens, output_tokens, price);
        Self { step: step.name(), role: role.name(), model, total }
    }
}

impl TotalItem {
    pub(in crate::routes) fn of(
        calls: Range,
        input_tokens: Range,
        output_tokens: Range,
        price: Option<MoneyRange>,
    ) -> Self {
        let range = |Range { low, high }: Range| RangeItem { low, high };
        Self {
            calls: range(calls),
            input_tokens: range(input_tokens),
            output_tokens: range(output_tokens),
            price: price.map(|MoneyRange { low, high }| PriceItem { low, high }),
        }
    }
}
