//! The Model Context Protocol over HTTP: each message is a request, and no session is kept.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use crate::app::App;
use crate::guard::{Admitted, check_origin};
use crate::input::read;
use crate::limits::MAX_MCP_BODY;
use crate::mcp::Tools;
use crate::problem::Problem;
use crate::route::{Gives, Load, Route, Takes, schema};

pub(super) const ROUTES: &[Route] = &[Route::post(
    "/mcp",
    "A message of the Model Context Protocol; writing tools are offered to those who may write",
    || post(message),
)
.reads()
.load(Load::Look)
.max_body(MAX_MCP_BODY)
.takes(Takes::Json(schema::<Value>))
.gives(Gives::Json(schema::<Value>))];

async fn message(State(app): State<App>, admitted: Admitted, request: Request) -> Result<Response, Problem> {
    // Asked for by the protocol whatever the credential is.
    check_origin(&app, &request)?;
    let mut forwarded = Request::builder().method(request.method()).uri(request.uri());
    if let Some(headers) = forwarded.headers_mut() {
        headers.extend(request.headers().clone());
    }
    let body = read(request).await?;
    let forwarded = forwarded.body(Full::new(body)).map_err(|error| Problem::bad(error.to_string()))?;
    let Admitted { caller, workspace, holder, turn, .. } = admitted;
    let tools = Tools::new(app, caller, workspace, holder, turn);
    // The guard has looked at the host already, and a session would be one more thing to bound and to guess.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MCP_BODY)
        .disable_allowed_hosts();
    let service = StreamableHttpService::new(
        move || Ok(tools.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Ok(in_our_words(service.handle(forwarded).await).await)
}

/// Answers that are no message of the protocol are problems like those of every route.
async fn in_our_words(
    response: axum::http::Response<http_body_util::combinators::BoxBody<Bytes, std::convert::Infallible>>,
) -> Response {
    let (parts, body) = response.into_parts();
    let is_message = parts
        .headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| [&b"application/json"[..], b"text/event-stream"].contains(&kind.as_bytes()));
    if is_message || parts.status.is_success() {
        return Response::from_parts(parts, Body::new(body));
    }
    let said = match body.collect().await {
        Ok(said) => String::from_utf8_lossy(&said.to_bytes()).into_owned(),
        Err(never) => match never {},
    };
    Problem::new(parts.status, said).into_response()
}
