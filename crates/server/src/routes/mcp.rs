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
use serde_json::{Value, json};

use crate::app::App;
use crate::guard::{Admission, check_origin};
use crate::input::{is_kind, read};
use crate::limits::MAX_MCP_BODY;
use crate::mcp::Tools;
use crate::problem::Problem;
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
    let tools = Tools::new(app, caller, workspace, holder, turn);
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
        true => batch(&service, &head, &body).await,
        false => one(&service, &head, body).await,
    }
}

type Service = StreamableHttpService<Tools, NeverSessionManager>;

/// The response to one message.
async fn one(service: &Service, head: &Parts, body: Bytes) -> Result<Response, Problem> {
    let mut forwarded = Request::builder().method(&head.method).uri(&head.uri);
    if let Some(headers) = forwarded.headers_mut() {
        headers.extend(head.headers.clone());
    }
    let forwarded =
        forwarded.body(Full::new(body.clone())).map_err(|error| Problem::bad(error.to_string()))?;
    let response = service.handle(forwarded).await;
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_kind(&head.headers, "application/json") {
        return Ok(malformed(&body));
    }
    Ok(as_problems(response).await)
}

/// Maximum messages per batch; they are processed in order.
const MAX_BATCH: usize = 32;
/// The only protocol revision with batches.
const BATCHES: &str = "2025-03-26";
const REVISION: &str = "mcp-protocol-version";

/// The responses to a list of messages in order; notifications have none.
async fn batch(service: &Service, head: &Parts, body: &[u8]) -> Result<Response, Problem> {
    let Ok(messages) = serde_json::from_slice::<Vec<Value>>(body) else { return Ok(malformed(body)) };
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
            let answer = one(service, head, Bytes::from(message.to_string())).await?;
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
    Ok(rpc_error(INVALID_REQUEST, &Value::Null, &refused))
}

/// Codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// The protocol's error for a body that is not a message.
fn malformed(body: &[u8]) -> Response {
    match serde_json::from_slice::<Value>(body) {
        Err(error) => {
            rpc_error(PARSE_ERROR, &Value::Null, &format!("the message is not valid JSON: {error}"))
        }
        Ok(message) => {
            let id =
                Some(&message["id"]).filter(|id| id.is_string() || id.is_number()).unwrap_or(&Value::Null);
            let what = "the message is not a request, notification or response of JSON-RPC 2.0";
            rpc_error(INVALID_REQUEST, id, what)
        }
    }
}

fn rpc_error(code: i32, id: &Value, what: &str) -> Response {
    let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": what } });
    (StatusCode::BAD_REQUEST, axum::Json(error)).into_response()
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
