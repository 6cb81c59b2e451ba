//! Error responses: `application/problem+json` (RFC 9457) with a readable `detail`, as LightRAG clients expect,
//! and a remedy if known.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use graphloom_core::{ModelError, Role, StoreError};
pub(crate) use graphloom_engine::chain;
use graphloom_engine::edit::EditError;
use graphloom_engine::index::IndexError;
use graphloom_engine::query::QueryError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::host::HostError;
use crate::route::Protocol;

/// When to retry a change that another process blocked.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(5);
/// When to retry a request that ended because the server stops.
const STOPPING_RETRY_AFTER: Duration = Duration::from_secs(1);
/// Why a request ends when the server stops.
pub(crate) const STOPPING: &str = "the server is stopping; try again in a moment";

/// Why a request failed.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    faults: Vec<Fault>,
    remedy: Option<String>,
    retry_after: Option<Duration>,
    authenticate: bool,
}

/// The body of the response.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct ProblemBody {
    /// Always `about:blank`: the status identifies the problem.
    #[serde(rename = "type")]
    kind: String,
    /// The status as text.
    title: String,
    /// The status code.
    status: u16,
    /// The error: a sentence, or a list of faults if the request cannot be parsed.
    detail: Detail,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// The error in the format of another protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ForeignError>,
}

/// The error in the format of another protocol.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
enum ForeignError {
    /// Ollama's.
    Words(String),
    /// OpenAI's.
    Kind {
        /// The error.
        message: String,
        /// The kind of error, derived from the status.
        #[serde(rename = "type")]
        kind: String,
    },
}

/// The error, in one of two forms that LightRAG clients read.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
enum Detail {
    Words(String),
    Faults(Vec<Fault>),
}

/// An error in the request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Fault {
    /// `missing`, `json_invalid` or `value_error`.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// Its location: `body` or `query`, then field names and list positions.
    #[schemars(with = "Vec<FaultPlace>")]
    pub(crate) loc: Vec<Value>,
    /// The error.
    pub(crate) msg: String,
}

/// A field name or a list position.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes values that are already JSON")]
enum FaultPlace {
    Name(String),
    Position(u64),
}

impl Problem {
    /// A problem with this status.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            faults: Vec::new(),
            remedy: None,
            retry_after: None,
            authenticate: false,
        }
    }

    /// The request can be parsed, but a value is invalid.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// The request cannot be parsed.
    pub(crate) fn faulty(fault: Fault) -> Self {
        let parts =
            fault.loc.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned));
        let place = parts.collect::<Vec<_>>().join(".");
        Self { faults: vec![fault.clone()], ..Self::invalid(format!("{place}: {}", fault.msg)) }
    }

    /// The request is invalid.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Turns an invalid value into a bad request.
    pub(crate) fn bad_request_if_invalid(mut self) -> Self {
        if self.status == StatusCode::UNPROCESSABLE_ENTITY {
            self.status = StatusCode::BAD_REQUEST;
        }
        self
    }

    /// Something named in the request does not exist.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// Whether something named in the request does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// The request conflicts with the current state.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// The body is too large.
    pub(crate) fn too_large(most: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the request body is larger than {most} bytes"))
    }

    /// A credential is missing or wrong.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Self { authenticate: true, ..Self::new(StatusCode::UNAUTHORIZED, detail) }
    }

    /// The credential has no permission.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// Too many requests.
    pub(crate) fn busy(detail: impl Into<String>, retry_after: Duration) -> Self {
        let retry_after = Some(retry_after);
        Self { retry_after, ..Self::new(StatusCode::TOO_MANY_REQUESTS, detail) }
    }

    /// Temporarily unavailable.
    pub(crate) fn unavailable(detail: impl Into<String>, retry_after: Duration) -> Self {
        let retry_after = Some(retry_after);
        Self { retry_after, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// The server stops before the request is finished.
    pub(crate) fn stopping() -> Self {
        Self::unavailable(STOPPING, STOPPING_RETRY_AFTER)
    }

    /// An internal error; details go to the log, not to the client.
    pub(crate) fn internal(error: &dyn std::error::Error) -> Self {
        tracing::error!(error = chain(error), "a request failed");
        let detail = "internal server error; see the server's log under the id of this request";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// Writing is impossible at the moment, but reading works; details go to the log.
    fn unwritable(error: &dyn std::error::Error, detail: &str) -> Self {
        tracing::error!(error = chain(error), "a write failed");
        let remedy = "reading still works; the administrator has to make the disk writable again";
        Self::new(StatusCode::INSUFFICIENT_STORAGE, detail).remedy(Some(remedy))
    }

    /// Adds a remedy.
    pub(crate) fn remedy(mut self, remedy: Option<impl Into<String>>) -> Self {
        self.remedy = remedy.map(Into::into);
        self
    }

    /// Error and remedy as one text, for responses whose status has been sent already.
    pub(crate) fn words(&self) -> String {
        match &self.remedy {
            // Some details are whole sentences, as LightRAG clients expect.
            Some(remedy) => format!("{}; {remedy}", self.detail.trim_end_matches('.')),
            None => self.detail.clone(),
        }
    }

    /// The problem as a value in a stream of OpenAI's protocol.
    pub(crate) fn openai_error(&self) -> Value {
        serde_json::json!({ "error": { "message": self.words(), "type": "server_error" } })
    }

    /// The body of the response.
    pub(crate) fn body(&self) -> ProblemBody {
        ProblemBody {
            kind: "about:blank".to_owned(),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            detail: match self.faults.is_empty() {
                true => Detail::Words(self.detail.clone()),
                false => Detail::Faults(self.faults.clone()),
            },
            remedy: self.remedy.clone(),
            error: None,
        }
    }
}

/// Keeps the problem with a response, in case its format changes.
#[derive(Clone)]
struct ProblemCopy {
    body: ProblemBody,
    words: String,
}

/// Adapts a problem response to the format of a protocol.
pub(crate) fn in_words_of(protocol: Protocol, mut response: Response) -> Response {
    let Some(ProblemCopy { body, words: message }) = response.extensions_mut().remove::<ProblemCopy>() else {
        return response;
    };
    let error = match protocol {
        Protocol::Ollama => ForeignError::Words(message),
        Protocol::OpenAi => ForeignError::Kind { message, kind: openai_kind(response.status()).to_owned() },
    };
    let (parts, _) = response.into_parts();
    let body = axum::Json(ProblemBody { error: Some(error), ..body }).into_response().into_body();
    Response::from_parts(parts, body)
}

fn openai_kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let copy = ProblemCopy { body: self.body(), words: self.words() };
        let mut response = (self.status, axum::Json(&copy.body)).into_response();
        response.extensions_mut().insert(copy);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.authenticate {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(after) = self.retry_after {
            // At least one second, rounded up, so that clients do not retry too early.
            let seconds = after.as_secs_f64().ceil().max(1.0) as u64;
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let remedy = error.remedy();
        match &error {
            StoreError::Conflict { .. } => Self::conflict(error.to_string()),
            StoreError::EmbeddingMismatch { .. } => Self::conflict(error.to_string()).remedy(remedy),
            StoreError::Busy { .. } => {
                tracing::warn!(error = chain(&error), "a write failed");
                Self::unavailable("another process is writing to the workspace", BUSY_RETRY_AFTER)
            }
            StoreError::Unavailable { .. } => {
                tracing::error!(error = chain(&error), "the database is not available");
                Self::unavailable("the database is not available", BUSY_RETRY_AFTER)
            }
            StoreError::DiskFull { .. } => Self::unwritable(&error, "the disk of the workspace is full"),
            StoreError::ReadOnly { .. } => Self::unwritable(&error, "the workspace is read-only"),
            StoreError::DiskFailed { .. } => {
                tracing::error!(error = chain(&error), "the disk of a workspace failed");
                let what = "reading or writing the disk of the workspace failed; see the server's log";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, what).remedy(remedy)
            }
            // Problems with the files of a workspace are for the administrator.
            StoreError::Corrupt { .. } | StoreError::Lost { .. } | StoreError::Gone { .. } => {
                tracing::error!(%error, "a workspace cannot be used");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()).remedy(remedy)
            }
            StoreError::Newer { .. } | StoreError::Invalid { .. } | StoreError::Backend { .. } => {
                Self::internal(&error)
            }
        }
    }
}

impl From<ModelError> for Problem {
    fn from(error: ModelError) -> Self {
        tracing::error!(error = chain(&error), "a model failed");
        failed_model(None, &error)
    }
}

/// Reports which model failed and how. The provider's message and the model's address are only for the
/// administrator, in the log.
fn failed_model(role: Option<Role>, error: &ModelError) -> Problem {
    let (status, model, what) = match error {
        ModelError::Timeout { model, .. } => (StatusCode::GATEWAY_TIMEOUT, model, "did not answer in time"),
        ModelError::RateLimited { model, .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, model, "is at its rate limit")
        }
        ModelError::OverBudget { model, .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, model, "was not called: its budget is used up")
        }
        ModelError::Stopped { model, .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, model, "was not called: the server is stopping")
        }
        ModelError::Unreachable { model, .. } => (StatusCode::BAD_GATEWAY, model, "could not be reached"),
        ModelError::NoSuchModel { model, .. } => {
            (StatusCode::BAD_GATEWAY, model, "does not exist at its service")
        }
        ModelError::QuotaUsedUp { model, .. } => {
            (StatusCode::BAD_GATEWAY, model, "was not answered: the quota of the server's account is used up")
        }
        ModelError::WrongAddress { model, .. } => {
            (StatusCode::BAD_GATEWAY, model, "has no service at its configured address")
        }
        ModelError::Unauthorized { model, .. } => {
            (StatusCode::BAD_GATEWAY, model, "rejected the server's API key")
        }
        ModelError::Forbidden { model, .. } => {
            (StatusCode::BAD_GATEWAY, model, "is not allowed for the server's account")
        }
        ModelError::Refused { model, .. } | ModelError::ShapeRefused { model, .. } => {
            (StatusCode::BAD_GATEWAY, model, "rejected the request")
        }
        ModelError::Malformed { model, .. } => {
            (StatusCode::BAD_GATEWAY, model, "returned an invalid response")
        }
        ModelError::Server { model, .. } | ModelError::Local { model, .. } => {
            (StatusCode::BAD_GATEWAY, model, "failed")
        }
    };
    let detail = match role {
        Some(role) => format!("the {} model {model} {what}", role.name()),
        None => format!("model {model} {what}"),
    };
    let remedy = match error.is_transient() || error.is_postponed() {
        true => "try again later; the server's log has the cause under the id of this request",
        false => {
            "the administrator of the server must fix this; the server's log has the cause under the id of this request"
        }
    };
    Problem::new(status, detail).remedy(Some(remedy))
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        let remedy = match &error {
            QueryError::NoLayer { layer } => Some(format!("POST /layers/{layer}/derive derives them")),
            other => other.remedy(),
        };
        match error {
            QueryError::Empty
            | QueryError::TooMuch { .. }
            | QueryError::SystemInHistory
            | QueryError::NoNumber { .. }
            | QueryError::OutOfRange { .. }
            | QueryError::NoAnswerModel { .. }
            | QueryError::ReportsOfAll { .. }
            | QueryError::NothingNamed { .. }
            | QueryError::NothingAllowed => Self::invalid(error.to_string()).remedy(remedy),
            QueryError::Filter(error) => Self::invalid(error.to_string()).remedy(remedy),
            QueryError::OtherEmbedder { .. } | QueryError::NoLayer { .. } => {
                Self::conflict(error.to_string()).remedy(remedy)
            }
            QueryError::Store(error) => error.into(),
            QueryError::Model { role, source } => failed_model(role, &source),
        }
    }
}

impl From<IndexError> for Problem {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Store(error) => error.into(),
            IndexError::Model(error) => error.into(),
            IndexError::AbsentModels(_) => {
                let remedy = "add documents with the program that built the workspace, or switch the workspace to the \
                              models and settings of the server";
                Self::conflict(error.to_string()).remedy(Some(remedy))
            }
            IndexError::OtherSettings(_) => {
                let remedy = "start the server without these settings, or switch the workspace to them";
                Self::conflict(error.to_string()).remedy(Some(remedy))
            }
        }
    }
}

impl From<EditError> for Problem {
    /// As in LightRAG, every invalid edit is a bad request.
    fn from(error: EditError) -> Self {
        let detail = error.to_string();
        match error {
            EditError::Store(error) => error.into(),
            EditError::Model(error) => error.into(),
            EditError::UnknownEntity { .. }
            | EditError::UnknownRelation { .. }
            | EditError::UnknownDecision { .. }
            | EditError::NothingToUndo
            | EditError::EntityExists { .. }
            | EditError::RelationExists { .. }
            | EditError::Apart { .. }
            | EditError::AlreadyUndone { .. }
            | EditError::AlreadyDecided { .. }
            | EditError::OneEntity { .. }
            | EditError::BadValue { .. }
            | EditError::NothingToChange { .. }
            | EditError::ForeignChunk { .. } => Self::bad(detail),
        }
    }
}

impl From<HostError> for Problem {
    fn from(error: HostError) -> Self {
        tracing::error!(error = error.message, remedy = error.remedy, "a workspace cannot be served");
        let remedy =
            "the administrator has to repair the workspace or its configuration; see the server's log";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.message).remedy(Some(remedy))
    }
}
