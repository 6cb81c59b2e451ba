//! Extractors for request input that report every error in one form.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use graphloom_core::WorkspaceId;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

use crate::app::App;
use crate::guard::Admission;
use crate::host::IfMissing;
use crate::misfit::in_plain_words;
use crate::problem::{Fault, Problem};
use crate::space::Space;
use crate::strict_json::StrictValue;

/// A JSON body.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &App) -> Result<Self, Problem> {
        // A page of another origin can send text and forms without permission, but not this content type.
        if !is_kind(request.headers(), "application/json") {
            let what = "the body must be JSON, sent with Content-Type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
        }
        parse(&read(request).await?).map(Self)
    }
}

/// A JSON body with any content type, as Ollama clients send none or application/octet-stream.
///
/// Only for routes that do not change anything, since any web page can send such a request.
pub(crate) struct AnyJson<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for AnyJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &App) -> Result<Self, Problem> {
        parse(&read(request).await?).map(Self)
    }
}

/// Form fields.
pub(crate) struct Form<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Form<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        if !is_kind(request.headers(), "application/x-www-form-urlencoded") {
            let what = "the body must be a form, sent with Content-Type: application/x-www-form-urlencoded";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
        }
        let bytes = read(request).await?;
        let form = axum::http::Request::builder()
            .method("POST")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(bytes))
            .map_err(|error| Problem::invalid(error.to_string()))?;
        let axum::Form(form) = axum::Form::from_request(form, app)
            .await
            .map_err(|error| fault_of("body", &error.body_text()))?;
        Ok(Self(form))
    }
}

/// Query parameters.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Query(params) = Query::from_request_parts(parts, app)
            .await
            .map_err(|error| fault_of("query", &error.body_text()))?;
        Ok(Self(params))
    }
}

/// The single path parameter.
pub(crate) struct PathName(pub(crate) String);

impl FromRequestParts<App> for PathName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Path(name) = Path::from_request_parts(parts, app)
            .await
            .map_err(|error| Problem::invalid(error.body_text()))?;
        Ok(Self(name))
    }
}

/// The workspace of the request, which must exist.
pub(crate) struct ExistingWorkspace(pub(crate) Arc<Space>);

impl FromRequestParts<App> for ExistingWorkspace {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let admitted = admitted(parts)?;
        Ok(Self(app.spaces.get(&admitted.workspace, IfMissing::Leave).await?))
    }
}

/// The workspace of the request, created only when there is something to store, so that a rejected request does not leave an
/// empty workspace.
pub(crate) struct ToMake(pub(crate) WorkspaceId);

impl FromRequestParts<App> for ToMake {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        Ok(Self(admitted(parts)?.workspace.clone()))
    }
}

impl FromRequestParts<App> for Admission {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        admitted(parts).cloned()
    }
}

fn admitted(parts: &Parts) -> Result<&Admission, Problem> {
    // The guard of every route sets the admission.
    let missing = || Problem::forbidden("the request did not pass the guard");
    parts.extensions.get::<Admission>().ok_or_else(missing)
}

/// Parses a JSON object; an error names the field.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // Parses to a value first, so that the JSON parser is not compiled for each type of body.
    serde_path_to_error::deserialize(object(bytes)?).map_err(misfit)
}

/// The JSON object of a body.
fn object(bytes: &[u8]) -> Result<Value, Problem> {
    // Windows editors and consoles put a byte order mark before the text.
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let StrictValue(value) = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        Category::Data => fault(vec![json!("body")], in_plain_words(&error.to_string())),
        Category::Io | Category::Syntax | Category::Eof => no_json(&error),
    })?;
    // A list would be read as the fields of an object in order.
    let what = match value {
        Value::Object(_) => return Ok(value),
        Value::Array(_) => "a list",
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
    };
    Err(fault(vec![json!("body")], format!("expected an object, got {what}")))
}

/// The UTF-8 byte order mark.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The problem for JSON whose values do not match the fields.
fn misfit(error: serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let mut loc = vec![json!("body")];
    for segment in error.path() {
        match segment {
            Segment::Seq { index } => loc.push(json!(index)),
            Segment::Map { key } => loc.push(json!(key)),
            // The value belongs to the field itself.
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    fault(loc, in_plain_words(&error.into_inner().to_string()))
}

fn no_json(error: &serde_json::Error) -> Problem {
    let (loc, msg) = (vec![json!("body")], format!("the body is not valid JSON: {error}"));
    Problem::faulty(Fault { kind: "json_invalid", loc, msg })
}

/// The problem at a location, or at a missing field below it.
fn fault(mut loc: Vec<Value>, msg: String) -> Problem {
    let missing = msg.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let kind = if missing.is_some() { "missing" } else { "value_error" };
    loc.extend(missing.map(|field| json!(field)));
    Problem::faulty(Fault { kind, loc, msg })
}

/// The problem for a form or query string that cannot be parsed; `text` is `...: field: reason`.
fn fault_of(place: &str, text: &str) -> Problem {
    let reason = text.split_once(": ").map_or(text, |(_, reason)| reason);
    let is_field = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match reason.split_once(": ").filter(|(name, _)| is_field(name)) {
        Some((name, reason)) => fault(vec![json!(place), json!(name)], in_plain_words(reason)),
        None => fault(vec![json!(place)], in_plain_words(reason)),
    }
}

/// The complete body. The guard has received it within its limits, so only reading its temporary file can fail.
pub(crate) async fn read(request: Request) -> Result<Bytes, Problem> {
    let body = request.into_body().collect().await.map_err(|error| Problem::internal(&error))?;
    Ok(body.to_bytes())
}

/// Whether the body has this content type.
pub(crate) fn is_kind(headers: &HeaderMap, kind: &str) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(kind)
}
