//! Around every request: its id, log line, counters, and headers of every response.

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;
use tracing::field::Empty;

use crate::access::{hex, random};
use crate::app::App;
use crate::guard::{Admission, RefusedCaller};
use crate::metrics::Serving;
use crate::origin::Origin;
use crate::routes;
use crate::wrapped::{Beside, BodyWith};

/// The id of a request, set by the caller or generated.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Maximum length of a caller's id.
const MAX_ID: usize = 64;
/// The route's name if none matches.
const NO_ROUTE: &str = "none";

/// Polled routes, whose log lines would hide the others.
const PROBED: [&str; 3] = ["/livez", "/readyz", "/metrics"];

/// The login name, for the log, since the caller has no other name yet.
#[derive(Debug, Clone)]
pub(crate) struct LoginName(pub(crate) String);

/// Responses are data, not pages, so a browser must not run or frame anything in them.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

pub(crate) async fn observe(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = id_of(&request);
    let client = request.extensions().get::<Origin>().map(|origin| origin.client());
    let method = name_of(request.method());
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.and_then(|path| routes::path_of(path.as_str())).unwrap_or(NO_ROUTE);
    let serving = app.metrics.begin(route);
    let activity = (!PROBED.contains(&route)).then_some(&app.activity);
    activity.inspect(|activity| activity.note());
    if let Ok(value) = HeaderValue::from_str(&id) {
        request.headers_mut().insert(REQUEST_ID, value);
    }
    let span = tracing::info_span!("request", request_id = id, method, route, otel.kind = Empty);
    #[cfg(feature = "otel")]
    crate::traces::begin(&span, request.headers(), method, route);
    let mut response = next.run(request).instrument(span.clone()).await;

    activity.inspect(|activity| activity.note());
    let (status, elapsed) = (response.status(), serving.elapsed());
    #[cfg(feature = "otel")]
    crate::traces::end(&span, status);
    serving.answered(method, status.as_u16());
    let admitted = response.extensions().get::<Admission>();
    let workspace = admitted.map_or("", |admitted| admitted.workspace.as_str());
    let login = response.extensions().get::<LoginName>().map(|LoginName(name)| name.as_str());
    let refused = response.extensions().get::<RefusedCaller>().map(|RefusedCaller(name)| name.as_str());
    let caller = login.or(admitted.map(|admitted| admitted.caller.name.as_str())).or(refused);
    let caller = caller.unwrap_or_default();
    let client = client.map_or_else(|| "unknown".to_owned(), |client| client.to_string());
    let (status, elapsed_ms) = (status.as_u16(), u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
    // The address comes before everything a client can choose, so that programs can parse the log safely.
    span.in_scope(|| match PROBED.contains(&route) {
        true => tracing::debug!(%client, status, workspace, caller, elapsed_ms, "answered"),
        false => tracing::info!(%client, status, workspace, caller, elapsed_ms, "answered"),
    });

    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response.map(|body| Body::new(BodyWith::new(body, serving)))
}

/// Lives until the body is sent or dropped.
impl Beside<Body> for Serving {}

/// The caller's request id if it is safe to log, otherwise a generated one.
fn id_of(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let fits = |id: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=MAX_ID).contains(&id.len()) && id.bytes().all(is_plain)
    };
    match given.filter(fits) {
        Some(id) => id.to_owned(),
        None => random::<8>().map_or_else(|_| "unknown".to_owned(), |bytes| hex(&bytes)),
    }
}

/// The method's name for counters; clients may send any word.
fn name_of(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "DELETE" => "DELETE",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
