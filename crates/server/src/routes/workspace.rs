//! A workspace as a whole: costs, export of the graph, and the hash of its state.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::get;
use graphloom_core::{DumpError, DumpHash, write_dump};
use graphloom_engine::export::{ExportError, ExportFormat, ExportPart, export};
use graphloom_engine::money::{CallTotals, CostBy, CostGroup, spending};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::apart::apart;
use crate::guard::Admission;
use crate::input::{ExistingWorkspace, Params};
use crate::pipe::pipe;
use crate::problem::{Problem, chain};
use crate::route::{Gives, Load, Route, Takes, schema};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/cost", "The costs of model calls from the ledger", || get(cost))
        .reads()
        .load(Load::Whole)
        .takes(Takes::Query(schema::<CostParams>))
        .gives(Gives::Json(schema::<Cost>)),
    Route::get("/export", "The graph in a format for other programs, streamed", || get(export_graph))
        .reads()
        .load(Load::Whole)
        .takes(Takes::Query(schema::<ExportParams>))
        .gives(Gives::Media(&["application/x-ndjson", "text/csv", "application/xml", "text/plain"])),
    Route::get(
        "/dump/hash",
        "The hash of the canonical state, equal if evidence and views are equal",
        || get(hash),
    )
    .reads()
    .load(Load::Whole)
    .gives(Gives::Json(schema::<StateHash>)),
];

/// Pattern of lists of names in the API description.
const LIST_OF_BY: &str = "^(role|model|document|day)(,(role|model|document|day))*$";
const LIST_OF_PARTS: &str = "^(entities|relations|chunks|claims)(,(entities|relations|chunks|claims))*$";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CostParams {
    /// Dimensions to group by: `role`, `model`, `document`, `day`, several separated by commas.
    #[serde(default = "role_and_model")]
    #[schemars(regex(pattern = LIST_OF_BY))]
    by: String,
}

fn role_and_model() -> String {
    "role,model".to_owned()
}

/// Totals of the ledger.
#[derive(Serialize, JsonSchema)]
struct Cost {
    /// Days in order, otherwise highest cost first.
    rows: Vec<CostRow>,
    total: CostRow,
    /// Models without a configured price.
    unpriced: BTreeSet<String>,
}

/// Total cost of the calls of one group. Dimensions that are not grouped by are absent.
#[derive(Serialize, JsonSchema)]
struct CostRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Source of the document; its id if it no longer exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
    calls: u64,
    /// Number of failed calls.
    failed: u64,
    prompt_tokens: u64,
    /// Prompt tokens that the provider read from its cache.
    cached_prompt_tokens: u64,
    completion_tokens: u64,
    /// Cost for models with a configured price, in the currency of the prices.
    #[schemars(with = "f64")]
    cost: graphloom_engine::money::Money,
    /// Number of calls of models without a configured price.
    unpriced_calls: u64,
    /// Number of calls for which the service reported no tokens, so that their cost is unknown.
    uncounted_calls: u64,
}

impl From<CallTotals> for CostRow {
    fn from(spent: CallTotals) -> Self {
        let CostGroup { day, role, model, document } = spent.group;
        Self {
            day,
            role: role.map(|role| role.name()),
            model,
            document,
            calls: spent.calls,
            failed: spent.failed,
            prompt_tokens: spent.prompt_tokens,
            cached_prompt_tokens: spent.cached_prompt_tokens,
            completion_tokens: spent.completion_tokens,
            cost: spent.cost,
            unpriced_calls: spent.unpriced_calls,
            uncounted_calls: spent.uncounted_calls,
        }
    }
}

/// Export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// One JSON object per line.
    #[default]
    Jsonl,
    /// Comma-separated values, a single table selected by `only`.
    Csv,
    /// XML for graph programs.
    Graphml,
    /// Statements for graph databases.
    Cypher,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportParams {
    #[serde(default)]
    format: Format,
    /// `entities`, `relations`, `chunks`, `claims`, several separated by commas [default: all that the format holds].
    #[schemars(regex(pattern = LIST_OF_PARTS))]
    only: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct StateHash {
    /// Workspaces with equal hashes have the same evidence and the same views.
    hash: String,
    /// Number of lines of the hashed dump.
    lines: u64,
}

async fn cost(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(CostParams { by }): Params<CostParams>,
) -> Result<axum::Json<Cost>, Problem> {
    let by = chosen("by", &by, CostBy::ALL.map(|by| (by.name(), by)))?.into_iter().collect();
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let spending = spending(snapshot.as_ref(), &by, &space.prices).await?;
        Ok(axum::Json(Cost {
            rows: spending.rows.into_iter().map(CostRow::from).collect(),
            total: spending.total.into(),
            unpriced: spending.unpriced,
        }))
    })
    .await
}

async fn export_graph(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    Params(ExportParams { format, only }): Params<ExportParams>,
) -> Result<Response, Problem> {
    let is_csv = format == Format::Csv;
    let (format, kind, ending) = match format {
        Format::Jsonl => (ExportFormat::JsonLines, "application/x-ndjson", "jsonl"),
        Format::Csv => (ExportFormat::Csv, "text/csv; charset=utf-8", "csv"),
        Format::Graphml => (ExportFormat::GraphMl, "application/xml", "graphml"),
        Format::Cypher => (ExportFormat::Cypher, "text/plain; charset=utf-8", "cypher"),
    };
    let parts = match &only {
        None => format.parts().to_vec(),
        Some(only) => chosen("only", only, ExportPart::ALL.map(|part| (part.name(), part)))?,
    };
    if is_csv && parts.len() > 1 {
        let what = "a response can contain only one CSV table";
        return Err(Problem::invalid(what).remedy(Some("select one, such as only=entities")));
    }
    if let Some(part) = parts.iter().find(|part| !format.parts().contains(part)) {
        let what = format!("this format cannot hold {}", part.name());
        return Err(Problem::invalid(what).remedy(Some("write them with format=jsonl or csv")));
    }
    // Workspace names are safe in file names and headers.
    let file = format!("attachment; filename=\"{}.{ending}\"", space.id);
    let (begun, begins) = oneshot::channel::<()>();
    let (mut out, body) = pipe();
    let writing = tokio::spawn(apart(async move || {
        let _turn = admitted.turn;
        let snapshot = space.indexing.store.snapshot().await?;
        // If the client has disconnected, the first write fails.
        let _ = begun.send(());
        if let Err(error) = write(snapshot.as_ref(), format, &parts, &mut out).await {
            tracing::warn!(error = chain(&error), "an export failed");
            return Ok(());
        }
        if let Err(error) = out.finish() {
            tracing::warn!(%error, "an export failed");
        }
        Ok(())
    }));
    if begins.await.is_err() {
        // It failed before the first byte, so the status can still be set.
        let failed = || Problem::internal(&io::Error::other("an export did not start"));
        return Err(writing.await.ok().and_then(Result::err).unwrap_or_else(failed));
    }
    Ok(answer(body, kind, &file))
}

async fn write(
    snapshot: &dyn graphloom_core::Snapshot,
    format: ExportFormat,
    parts: &[ExportPart],
    out: &mut crate::pipe::PipeWriter,
) -> Result<(), ExportError> {
    export(snapshot, None, format, parts, out).await.map(|_| ())
}

fn answer(body: Body, kind: &'static str, file: &str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(file) = HeaderValue::from_str(file) {
        headers.insert(header::CONTENT_DISPOSITION, file);
    }
    response
}

async fn hash(ExistingWorkspace(space): ExistingWorkspace) -> Result<axum::Json<StateHash>, Problem> {
    apart(async move || {
        let snapshot = space.indexing.store.snapshot().await?;
        let DumpHash { hash, lines } =
            write_dump(snapshot.as_ref(), &mut io::sink()).await.map_err(|error| match error {
                DumpError::Store(error) => Problem::from(error),
                DumpError::Write(error) => Problem::internal(&error),
            })?;
        Ok(axum::Json(StateHash { hash, lines }))
    })
    .await
}

/// Parses a comma-separated list of names in `known`; the result is in the order of `known`, each once.
fn chosen<T, const N: usize>(
    field: &str,
    names: &str,
    known: [(&'static str, T); N],
) -> Result<Vec<T>, Problem> {
    let expected = known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let mut by_name: BTreeMap<&str, bool> = known.iter().map(|(name, _)| (*name, false)).collect();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let wanted = by_name.get_mut(name).ok_or_else(|| {
            Problem::invalid(format!("unknown name {name:?} in {field}: expected {expected}"))
        })?;
        *wanted = true;
    }
    let wanted: Vec<T> =
        known.into_iter().filter(|(name, _)| by_name.get(name) == Some(&true)).map(|(_, it)| it).collect();
    match wanted.is_empty() {
        true => Err(Problem::invalid(format!("{field} is empty: expected {expected}"))),
        false => Ok(wanted),
    }
}
