//! The Model Context Protocol over HTTP. Each message is a request; there are no sessions.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use crate::app::App;
use crate::guard::{Admission, check_origin};
use crate::input::{is_kind, read};
use crate::limits::MAX_MCP_BODY;
use crate::mcp::{Tools, Transport, rpc_error as error};
use crate::problem::{Problem, STOPPING};
use crate::route::{Gives, Load, Route, Takes, schema};

pub(super) const ROUTES: &[Route] = &[Route::post(
    "/mcp",
    "A message of the Model Context Protocol; tools that write require the right to write",
    || post(message),
)
.reads()
.load(Load::Look)
.max_body(MAX_MCP_BODY)
.takes(Takes::Json(schema::<Value>))
.gives(Gives::Json(schema::<Value>))];

async fn message(State(app): State<App>, admitted: Admission, request: Request) -> Result<Response, Problem> {
    // Required by the protocol whatever the credential.
    check_origin(&app, &request)?;
    let (head, body) = request.into_parts();
    let body = read(Request::new(body)).await?;
    let Admission { caller, workspace, holder, turn, .. } = admitted;
    let tools = Tools::new(app.clone(), caller, workspace, Transport::Http, holder, turn);
    // The guard has checked the host already. Sessions would have to be limited and could be guessed.
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
    let is_list = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    match is_list && is_kind(&head.headers, "application/json") {
        true => batch(&app, &service, &head, &body).await,
        false => one(&app, &service, &head, body).await,
    }
}

type Service = StreamableHttpService<Tools, NeverSessionManager>;

/// The response to one message.
async fn one(app: &App, service: &Service, head: &Parts, body: Bytes) -> Result<Response, Problem> {
    let mut forwarded = Request::builder().method(&head.method).uri(&head.uri);
    if let Some(headers) = forwarded.headers_mut() {
        headers.extend(head.headers.clone());
    }
    let forwarded =
        forwarded.body(Full::new(body.clone())).map_err(|error| Problem::bad(error.to_string()))?;
    let response = tokio::select! {
        biased;
        response = service.handle(forwarded) => response,
        () = app.must_end() => {
            return Ok(rpc_error(StatusCode::SERVICE_UNAVAILABLE, error::unanswered(&body, STOPPING)));
        }
    };
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_kind(&head.headers, "application/json") {
        return Ok(rpc_error(StatusCode::BAD_REQUEST, error::misread(&body)));
    }
    Ok(as_problems(response).await)
}

/// Maximum messages per batch; they are processed in order.
const MAX_BATCH: usize = 32;
/// The only protocol revision with batches.
const BATCHES: &str = "2025-03-26";
const REVISION: &str = "mcp-protocol-version";

/// The responses to a list of messages in order; notifications have none.
async fn batch(app: &App, service: &Service, head: &Parts, body: &[u8]) -> Result<Response, Problem> {
    let Ok(messages) = serde_json::from_slice::<Vec<Value>>(body) else {
        return Ok(rpc_error(StatusCode::BAD_REQUEST, error::misread(body)));
    };
    let revision = head.headers.get(REVISION).and_then(|value| value.to_str().ok());
    let refused = if let Some(revision) = revision.filter(|revision| *revision != BATCHES) {
        let shown: String = revision.chars().take(20).collect();
        format!("protocol revision {shown} has no batches; send each message separately")
    } else if messages.is_empty() {
        "the batch is empty".to_owned()
    } else if messages.len() > MAX_BATCH {
        format!("too many messages in the batch: {}, the limit is {MAX_BATCH}", messages.len())
    } else if messages.iter().any(|message| message["method"] == "initialize") {
        "initialize cannot be part of a batch".to_owned()
    } else {
        let mut answers = Vec::new();
        for message in messages {
            let answer = one(app, service, head, Bytes::from(message.to_string())).await?;
            if answer.status() == StatusCode::ACCEPTED {
                continue;
            }
            // An error that is not a protocol message applies to the whole batch.
            if !is_kind(answer.headers(), "application/json") {
                return Ok(answer);
            }
            let bytes = answer.into_body().collect().await.map_err(|error| Problem::internal(&error))?;
            answers.push(
                serde_json::from_slice::<Value>(&bytes.to_bytes())
                    .map_err(|error| Problem::internal(&error))?,
            );
        }
        return Ok(match answers.is_empty() {
            true => StatusCode::ACCEPTED.into_response(),
            false => axum::Json(answers).into_response(),
        });
    };
    Ok(rpc_error(StatusCode::BAD_REQUEST, error::refused(&refused)))
}

/// The response with an error of the protocol.
fn rpc_error(status: StatusCode, error: Value) -> Response {
    (status, axum::Json(error)).into_response()
}

/// Turns errors that are not protocol messages into problems, as on every route.
async fn as_problems(
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
    let message = match body.collect().await {
        Ok(message) => String::from_utf8_lossy(&message.to_bytes()).into_owned(),
        Err(never) => match never {},
    };
    Problem::new(parts.status, message).into_response()
}
