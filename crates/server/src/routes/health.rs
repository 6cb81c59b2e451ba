//! Health, version and metrics of the server.

use std::io::Read;
use std::sync::LazyLock;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::read::GzDecoder;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::configuration::Configuration;
use crate::access::Right;
use crate::apart::apart;
use crate::app::App;
use crate::guard::Admission;
use crate::host::IfMissing;
use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route, schema};
use crate::space::SpaceFault;

/// The LightRAG release whose API this is, shown by its clients.
pub(super) const API_VERSION: &str = "1.5";

pub(super) const ROUTES: &[Route] = &[
    Route::get("/livez", "Whether the process answers", || get(livez)).needs(Needs::Nothing).load(Load::None),
    Route::get(
        "/readyz",
        "Whether requests are accepted: 503 while the server is stopping or no workspace is usable",
        || get(readyz),
    )
    .needs(Needs::Nothing)
    .load(Load::None),
    Route::get("/metrics", "Metrics in the text format of Prometheus", || get(metrics))
        .needs(Needs::Credential)
        .load(Load::None)
        .gives(Gives::Media(&["application/openmetrics-text"])),
    Route::get("/health", "The state of the server; more details with a credential", || get(health))
        .needs(Needs::Nothing)
        .load(Load::None)
        .gives(Gives::Json(schema::<Health>)),
    Route::get("/openapi.json", "This description", || get(openapi))
        .needs(Needs::Nothing)
        .load(Load::None)
        .gives(Gives::Json(schema::<Value>)),
];

async fn livez() -> &'static str {
    "ok\n"
}

/// The unusable workspaces.
#[derive(Serialize)]
struct Readiness {
    /// `degraded` if some workspaces are usable, otherwise `unready`.
    status: &'static str,
    /// Number of workspaces that were opened or failed to open.
    workspaces: usize,
    /// Number of them that cannot be read or written.
    faulty: usize,
    /// Details of those that the caller may read.
    faults: Vec<SpaceFault>,
}

async fn readyz(State(app): State<App>, admitted: Admission) -> Response {
    if *app.draining.borrow() {
        return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping").into_response();
    }
    let (workspaces, mut faults) = app.spaces.faults().await;
    let faulty = faults.len();
    if faulty == 0 {
        return "ok\n".into_response();
    }
    let grant = &admitted.caller.grant;
    faults.retain(|fault| grant.reaches(&fault.workspace) && grant.right >= Right::Read);
    let (status, code) = match faulty < workspaces {
        true => ("degraded", StatusCode::OK),
        false => ("unready", StatusCode::SERVICE_UNAVAILABLE),
    };
    (code, axum::Json(Readiness { status, workspaces, faulty, faults })).into_response()
}

async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    let text = apart(async move || Ok(crate::metrics::text(&app).await)).await?;
    let text = text.map_err(|error| Problem::internal(&error))?;
    let kind = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    Ok((kind, text).into_response())
}

async fn openapi() -> Response {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| {
        let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));
        let mut text = Vec::new();
        GzDecoder::new(packed).read_to_end(&mut text).expect("the build packed it");
        text.into()
    });
    ([(header::CONTENT_TYPE, "application/json")], TEXT.clone()).into_response()
}

/// Public information, and with a credential the configuration of the request's workspace.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// Always `healthy`: an unhealthy server does not answer.
    status: &'static str,
    /// Why the workspace cannot be read or written, if the caller may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    /// `enabled` if a login is required, otherwise `disabled`.
    auth_mode: &'static str,
    /// The release.
    core_version: &'static str,
    /// The LightRAG release whose API this is.
    api_version: &'static str,
    webui_available: bool,
    workspace_available: bool,
    api_docs_available: bool,
    webui_title: Option<String>,
    webui_description: Option<String>,
    ai_content_notice_enabled: bool,
    /// Whether the workspace is being indexed; `false` without the right to read it.
    pipeline_busy: bool,
    pipeline_active: bool,
    /// Seconds since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime_s: Option<u64>,
    /// Models and limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<Configuration>,
}

async fn health(State(app): State<App>, admitted: Admission) -> Result<axum::Json<Health>, Problem> {
    let access = app.access.read();
    let has_users = access.as_ref().is_ok_and(|access| !access.users.is_empty());
    let may_read =
        admitted.caller.grant.reaches(&admitted.workspace) && admitted.caller.grant.right >= Right::Read;
    let space = match may_read {
        true => match app.spaces.get(&admitted.workspace, IfMissing::Leave).await {
            Ok(space) => Some(space),
            // A permitted caller is told that the named workspace does not exist; the server itself is healthy.
            Err(problem) if problem.is_not_found() && admitted.names_workspace => return Err(problem),
            Err(_) => None,
        },
        false => None,
    };
    let fault = match &space {
        Some(space) => space.fault().await,
        None if may_read => app.spaces.why_unopened(&admitted.workspace),
        None => None,
    };
    let busy = space.as_ref().is_some_and(|space| space.ingest.pipeline().busy);
    let configuration = space.as_deref().map(Configuration::of);
    Ok(axum::Json(Health {
        status: "healthy",
        fault,
        auth_mode: if has_users { "enabled" } else { "disabled" },
        core_version: env!("CARGO_PKG_VERSION"),
        api_version: API_VERSION,
        webui_available: false,
        workspace_available: false,
        api_docs_available: true,
        webui_title: None,
        webui_description: None,
        ai_content_notice_enabled: false,
        pipeline_busy: busy,
        pipeline_active: busy,
        uptime_s: may_read.then(|| app.started.elapsed().as_secs()),
        configuration,
    }))
}
