//! Adds requests to the traces of their callers.

use axum::http::{HeaderMap, StatusCode};
use opentelemetry::global::get_text_map_propagator;
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::Status;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(|name| name.as_str()).collect()
    }
}

/// Makes the span part of the caller's trace if the headers name one. Call before entering the span.
pub(crate) fn begin(span: &Span, headers: &HeaderMap, method: &'static str, route: &'static str) {
    let context = get_text_map_propagator(|propagator| propagator.extract(&Headers(headers)));
    if let Err(error) = span.set_parent(context) {
        tracing::debug!(%error, "a request starts a new trace");
    }
    span.record("otel.kind", "server");
    span.set_attribute("http.request.method", method);
    span.set_attribute("http.route", route);
}

/// Records the response.
pub(crate) fn end(span: &Span, status: StatusCode) {
    span.set_attribute("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.set_status(Status::error(status.to_string()));
    }
}
