//! Failures of single attempts: the resulting error, and whether to retry.

use std::error::Error;
use std::time::Duration;

use bytes::BytesMut;
use graphloom_core::ModelError;
use serde::Deserialize;

use super::{Target, retry};

/// Maximum length of a provider's message in an error.
pub(super) const MAX_MESSAGE_CHARS: usize = 300;

/// The code of a web page in place of an answer.
const WEB_PAGE: &str = "a web page";

/// Maximum bytes read of an error response.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Words in messages and codes about refused content.
const CONTENT_WORDS: [&str; 7] = [
    "moderation",
    "flagged",
    "content policy",
    "content_policy",
    "content filter",
    "content_filter",
    "safety",
];

/// Words in messages and codes about a rejected key; some services answer with status 403 to it.
const KEY_WORDS: [&str; 5] = ["api key", "api_key", "api-key", "authentication", "credential"];

/// Why one attempt failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection failed or broke.
    Connection(String),
    /// Nothing was received for this long.
    Silent(Duration),
    /// The provider returned an error.
    Status { status: u16, message: String, code: Option<String>, retry_after: Option<Duration> },
    /// The response is too large.
    TooLarge { limit: usize },
}

impl Failure {
    /// Runs `work`, and fails if it takes longer than `limit`.
    pub(super) async fn with_timeout<T>(
        limit: Duration,
        work: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, Self> {
        match tokio::time::timeout(limit, work).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Self::Connection(cause_of(&error))),
            Err(_) => Err(Self::Silent(limit)),
        }
    }

    /// Reads a response with an error status.
    pub(super) async fn from_response(mut response: reqwest::Response, idle: Duration) -> Self {
        let status = response.status().as_u16();
        let retry_after = retry::retry_after(response.headers());
        let location = response.headers().get(reqwest::header::LOCATION).cloned();
        let mut body = BytesMut::new();
        while body.len() < MAX_ERROR_BYTES
            && let Ok(Some(chunk)) = Self::with_timeout(idle, response.chunk()).await
        {
            body.extend_from_slice(&chunk);
        }
        let ProviderMessage { mut message, code, retry_after: in_body } = ProviderMessage::read(&body);
        if let Some(location) = location.as_ref().and_then(|location| location.to_str().ok()) {
            message = format!("it redirects to {location}; use that as the base URL");
        }
        if message.is_empty() {
            message = "without a message".to_owned();
        }
        Self::Status { status, message, code, retry_after: retry_after.or(in_body) }
    }

    /// Returns the wait before another attempt: `wait`, unless the provider asks for a different one; `None`
    /// if retrying is useless.
    pub(super) fn retry_wait(&self, wait: Duration, max_retry_after: Duration) -> Option<Duration> {
        match self {
            Self::Connection(_) => Some(wait),
            Self::Status { status, code, retry_after, .. } if is_retried(*status, code.as_deref()) => {
                match retry_after {
                    Some(named) if *named > max_retry_after => None,
                    Some(named) => Some(*named),
                    None => Some(wait),
                }
            }
            // A model that sends nothing is usually busy. A second request would add to its load.
            Self::Silent(_) | Self::Status { .. } | Self::TooLarge { .. } => None,
        }
    }

    /// True if the provider rejected the request before generating anything.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Status { .. } => true,
            Self::Connection(_) | Self::Silent(_) | Self::TooLarge { .. } => false,
        }
    }

    /// True if the service is currently unavailable for everyone. A failed connection counts only if the
    /// service was reached before; otherwise its address is probably wrong.
    pub(super) fn is_unavailable(&self, was_reached: bool) -> bool {
        match self {
            Self::Connection(_) => was_reached,
            Self::Silent(_) => true,
            Self::Status { status, code, .. } => is_retried(*status, code.as_deref()),
            Self::TooLarge { .. } => false,
        }
    }

    /// Returns the wait that the provider asked for.
    pub(super) fn requested_wait(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            Self::Connection(_) | Self::Silent(_) | Self::TooLarge { .. } => None,
        }
    }

    pub(super) fn into_model_error(self, target: &Target) -> ModelError {
        let model = target.model().to_owned();
        match self {
            Self::Connection(what) => {
                ModelError::Unreachable { model, url: target.base_url(), what: target.readable(&what) }
            }
            Self::Silent(limit) => {
                ModelError::Timeout { model, idle_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) }
            }
            Self::TooLarge { limit } => {
                ModelError::Malformed { model, what: format!("the answer is longer than {limit} bytes") }
            }
            Self::Status { status, message, code, retry_after } => {
                status_error(target, status, &message, code.as_deref(), retry_after)
            }
        }
    }
}

/// Returns an error in the body of a response with status 200. Gateways send these if their upstream fails.
pub(crate) fn provider_error(target: &Target, body: &[u8]) -> Option<ModelError> {
    let ProviderMessage { message, code, retry_after } = ProviderMessage::read_error_field(body)?;
    let status = code.as_deref().and_then(status_of_code);
    Some(status_error(target, status.unwrap_or(500), &message, code.as_deref(), retry_after))
}

/// Returns the HTTP status for an error code in a body: a number, or Anthropic's name for it.
fn status_of_code(code: &str) -> Option<u16> {
    Some(match code {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        number => number.parse().ok().filter(|status| (400..600).contains(status))?,
    })
}

fn status_error(
    target: &Target,
    status: u16,
    message: &str,
    code: Option<&str>,
    retry_after: Option<Duration>,
) -> ModelError {
    let model = target.model().to_owned();
    let what = target.readable(message);
    match status {
        _ if code == Some("insufficient_quota") => ModelError::QuotaUsedUp { model, status, what },
        402 => ModelError::QuotaUsedUp { model, status, what },
        400..=499 if code == Some("model_not_found") => ModelError::NoSuchModel { model, status, what },
        // The last one is Anthropic's.
        404 if message.to_ascii_lowercase().contains("model") || code == Some("not_found_error") => {
            ModelError::NoSuchModel { model, status, what }
        }
        _ if status == 404 || code == Some(WEB_PAGE) && !is_retried(status, code) => {
            ModelError::WrongAddress { model, url: target.url().to_string(), status, what }
        }
        401 => ModelError::Unauthorized { model, what },
        403 if has_word(&CONTENT_WORDS, message, code) => ModelError::Refused { model, status, what },
        403 if has_word(&KEY_WORDS, message, code) => ModelError::Unauthorized { model, what },
        403 => ModelError::Forbidden { model, what },
        // Gemini's error for an invalid API key.
        400 if code == Some("API_KEY_INVALID") => ModelError::Unauthorized { model, what },
        429 if is_retried(status, code) => {
            let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            ModelError::RateLimited { model, what, retry_after_ms: retry_after.map(millis) }
        }
        408 | 500..=599 => ModelError::Server { model, status, what },
        _ => ModelError::Refused { model, status, what },
    }
}

/// True if the message or the code of an error contains one of these words.
fn has_word(words: &[&str], message: &str, code: Option<&str>) -> bool {
    let text = format!("{message} {}", code.unwrap_or_default()).to_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// True if the attempt is retried. An exhausted quota also has status 429, but waiting does not help.
fn is_retried(status: u16, code: Option<&str>) -> bool {
    match status {
        429 => code != Some("insufficient_quota"),
        501 => false,
        408 | 500..=599 => true,
        _ => false,
    }
}

/// Returns the innermost cause of a network error, which is the most useful part, without any URL.
pub(super) fn cause_of(error: &reqwest::Error) -> String {
    let Some(mut cause) = error.source() else {
        return if error.is_timeout() { "timed out".to_owned() } else { "the connection failed".to_owned() };
    };
    while let Some(source) = cause.source() {
        cause = source;
    }
    if error.is_connect() { format!("connecting: {cause}") } else { cause.to_string() }
}

/// The error message of a provider.
#[derive(Debug, Default, PartialEq)]
struct ProviderMessage {
    message: String,
    code: Option<String>,
    retry_after: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorField {
    Text(String),
    Object {
        message: Option<String>,
        code: Option<CodeField>,
        r#type: Option<String>,
        details: Option<serde_json::Value>,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CodeField {
    Text(String),
    Number(i64),
}

#[derive(Deserialize)]
struct ErrorBody {
    error: Option<ErrorField>,
    message: Option<String>,
    detail: Option<String>,
}

/// An error body, or a list of them, which Gemini sends when streaming.
#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorBodies {
    One(ErrorBody),
    Some(Vec<ErrorBody>),
}

impl ErrorBody {
    fn read(body: &[u8]) -> Option<Self> {
        match serde_json::from_slice(body).ok()? {
            ErrorBodies::One(body) => Some(body),
            ErrorBodies::Some(bodies) => bodies.into_iter().next(),
        }
    }
}

impl ProviderMessage {
    fn read(body: &[u8]) -> Self {
        if let Some(message) = Self::read_error_field(body) {
            return message;
        }
        let text = ErrorBody::read(body).and_then(|body| body.message.or(body.detail));
        let message = text.unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned());
        let code = is_page(&message).then(|| WEB_PAGE.to_owned());
        let message = if code.is_some() { described_page(&message) } else { message };
        Self { message, code, ..Self::default() }
    }

    fn read_error_field(body: &[u8]) -> Option<Self> {
        match ErrorBody::read(body)?.error? {
            ErrorField::Text(message) => Some(Self { message, ..Self::default() }),
            ErrorField::Object { message, code, r#type, details } => {
                let code = code.map(|code| match code {
                    CodeField::Text(text) => text,
                    CodeField::Number(number) => number.to_string(),
                });
                let message = message.or_else(|| r#type.clone()).unwrap_or_default();
                let detail = |name: &str| {
                    let details = details.as_ref()?.as_array()?;
                    details.iter().find_map(|detail| detail.get(name)?.as_str())
                };
                let code =
                    detail("reason").map(str::to_owned).filter(|_| code.as_deref() == Some("400")).or(code);
                Some(Self {
                    message,
                    code: code.or(r#type),
                    retry_after: detail("retryDelay").and_then(seconds),
                })
            }
        }
    }
}

/// True if a body is HTML, as from a proxy, a firewall or a web server that is no model service.
fn is_page(body: &str) -> bool {
    let start: String = body.chars().take(500).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype html") || (start.starts_with('<') && start.contains("<html"))
}

/// Describes a web page by its title, because its text explains nothing.
fn described_page(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let start = at + lower[at..].find('>')? + 1;
        let end = start + lower[start..].find("</title")?;
        Some(page[start..end].trim()).filter(|title| !title.is_empty())
    });
    title.map_or_else(|| "a web page came".to_owned(), |title| format!("a web page came: {title:?}"))
}

/// Parses a duration in Gemini's format, such as `34.5s`; at most [`retry::LONGEST_WAIT`].
fn seconds(text: &str) -> Option<Duration> {
    let wait = Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()?;
    Some(wait.min(retry::LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_message(body: &str) -> (String, Option<String>) {
        let read = ProviderMessage::read(body.as_bytes());
        (read.message, read.code)
    }

    #[test]
    fn error_messages_are_found_in_every_usual_shape() {
        let code = |code: &str| Some(code.to_owned());
        assert_eq!(
            check_message(r#"{"error":{"message":"no","code":"bad"}}"#),
            ("no".to_owned(), code("bad"))
        );
        assert_eq!(check_message(r#"{"error":{"message":"no","code":502}}"#), ("no".to_owned(), code("502")));
        assert_eq!(
            check_message(r#"{"error":{"message":"no","type":"t","code":null}}"#),
            ("no".to_owned(), code("t"))
        );
        assert_eq!(check_message(r#"{"error":"no such model"}"#), ("no such model".to_owned(), None));
        assert_eq!(check_message(r#"{"detail":"no"}"#), ("no".to_owned(), None));
        assert_eq!(check_message("gone\n"), ("gone".to_owned(), None));
        assert_eq!(
            check_message(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            ("Overloaded".to_owned(), code("overloaded_error"))
        );
        let gemini = r#"[{"error":{"code":400,"message":"bad key","status":"INVALID_ARGUMENT",
            "details":[{"@type":"x/ErrorInfo","reason":"API_KEY_INVALID"}]}}]"#;
        assert_eq!(check_message(gemini), ("bad key".to_owned(), code("API_KEY_INVALID")));
    }

    #[test]
    fn a_web_page_is_described_by_its_title() {
        let page = |message: &str| (message.to_owned(), Some(WEB_PAGE.to_owned()));
        assert_eq!(check_message("<html>gone</html>\n"), page("a web page came"));
        let with_title = "<!DOCTYPE html>\n<html><head><TITLE lang=en> Sign in </TITLE></head></html>";
        assert_eq!(check_message(with_title), page("a web page came: \"Sign in\""));
    }

    /// Returns the name of the error for a response, without its fields.
    fn check_error(status: u16, body: &str) -> String {
        let url = reqwest::Url::parse("http://user:pw@h/v1/chat?key=k").unwrap();
        let target = Target::new("m".to_owned(), url, "chat".to_owned(), Default::default(), Vec::new());
        let ProviderMessage { message, code, .. } = ProviderMessage::read(body.as_bytes());
        let error = status_error(&target, status, &message, code.as_deref(), None);
        assert!(!error.to_string().contains("pw") && !error.to_string().contains("key=k"));
        format!("{error:?}").split(' ').next().unwrap().to_owned()
    }

    #[test]
    fn errors_that_only_a_person_can_fix_are_told_apart() {
        let page = "<html><title>Blocked</title></html>";
        assert_eq!(check_error(404, r#"{"error":{"message":"no","code":"model_not_found"}}"#), "NoSuchModel");
        assert_eq!(check_error(404, r#"{"error":"model 'x' not found, try pulling it"}"#), "NoSuchModel");
        assert_eq!(check_error(404, r#"{"detail":"Not Found"}"#), "WrongAddress");
        assert_eq!(check_error(404, page), "WrongAddress");
        assert_eq!(check_error(403, page), "WrongAddress");
        assert_eq!(check_error(200, page), "WrongAddress");
        assert_eq!(check_error(503, page), "Server");
        assert_eq!(check_error(429, page), "RateLimited");
        assert_eq!(check_error(401, r#"{"error":"no"}"#), "Unauthorized");
        assert_eq!(check_error(403, r#"{"error":{"message":"Country not supported"}}"#), "Forbidden");
        assert_eq!(check_error(403, r#"{"error":{"message":"Invalid API key"}}"#), "Unauthorized");
        assert_eq!(
            check_error(403, r#"{"error":{"message":"no","code":"content_policy_violation"}}"#),
            "Refused"
        );
        assert_eq!(
            check_error(403, r#"{"error":{"message":"Your input was flagged","code":403}}"#),
            "Refused"
        );
        assert_eq!(
            check_error(429, r#"{"error":{"message":"m","code":"insufficient_quota"}}"#),
            "QuotaUsedUp"
        );
        assert_eq!(check_error(402, r#"{"error":"no credit"}"#), "QuotaUsedUp");
        assert_eq!(check_error(400, r#"{"error":"too long"}"#), "Refused");
    }

    #[test]
    fn a_wait_named_in_the_body_is_read() {
        let body = r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED",
            "details":[{"@type":"x/QuotaFailure"},{"@type":"x/RetryInfo","retryDelay":"34.5s"}]}}"#;
        let read = ProviderMessage::read(body.as_bytes());
        assert_eq!(read.code.as_deref(), Some("429"));
        assert_eq!(read.retry_after, Some(Duration::from_millis(34_500)));
        assert_eq!(seconds("soon"), None);
    }

    #[test]
    fn a_service_is_down_if_it_is_overloaded_or_was_reached_before() {
        let status =
            |status| Failure::Status { status, message: String::new(), code: None, retry_after: None };
        assert!(status(429).is_unavailable(false) && status(529).is_unavailable(false));
        assert!(!status(400).is_unavailable(true) && !status(401).is_unavailable(true));
        assert!(Failure::Silent(Duration::ZERO).is_unavailable(false));
        assert!(Failure::Connection(String::new()).is_unavailable(true));
        assert!(!Failure::Connection(String::new()).is_unavailable(false));
    }

    fn check_wait(status: u16, code: Option<&str>, named_s: Option<u64>) -> Option<u64> {
        let failure = Failure::Status {
            status,
            message: String::new(),
            code: code.map(str::to_owned),
            retry_after: named_s.map(Duration::from_secs),
        };
        failure.retry_wait(Duration::from_secs(1), Duration::from_secs(60)).map(|wait| wait.as_secs())
    }

    #[test]
    fn only_transient_failures_are_retried() {
        assert_eq!(check_wait(500, None, None), Some(1));
        assert_eq!(check_wait(408, None, None), Some(1));
        assert_eq!(check_wait(429, None, Some(7)), Some(7));
        assert_eq!(check_wait(429, None, Some(61)), None);
        assert_eq!(check_wait(429, Some("insufficient_quota"), None), None);
        assert_eq!(check_wait(501, None, None), None);
        assert_eq!(check_wait(400, None, None), None);
    }
}
