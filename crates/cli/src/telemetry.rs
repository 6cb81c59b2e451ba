//! Traces for OpenTelemetry, as the variables `OTEL_*` say.

use std::collections::BTreeMap;

use graphloom::config::layers;
use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::{Layer, Registry};

use crate::output::tell;

/// What sends traces; what waits is sent by [`Telemetry::end`].
pub(crate) struct Telemetry(SdkTracerProvider);

impl Telemetry {
    /// What sends traces, where an address is configured; `None` where none is, and where it cannot be used, which is said.
    pub(crate) fn start(environment: &BTreeMap<String, String>) -> Option<Self> {
        let set = |name: &str| layers::set(environment, name);
        let is_off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || set("OTEL_TRACES_EXPORTER").is_some_and(|value| value.eq_ignore_ascii_case("none"));
        let endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
        if is_off || endpoints.into_iter().all(|name| set(name).is_none()) {
            return None;
        }
        // Somebody may have been here before: then there is one.
        let _ = rustls::crypto::CryptoProvider::install_default(rustls::crypto::ring::default_provider());
        let exporter = match SpanExporter::builder().with_http().build() {
            Ok(exporter) => exporter,
            Err(error) => {
                tell(format_args!("warning: no traces are sent: {error}"));
                return None;
            }
        };
        let mut resource = Resource::builder();
        if set("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("graphloom");
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        global::set_text_map_propagator(TraceContextPropagator::new());
        Some(Self(provider))
    }

    /// Makes spans of our own work, and of nothing that libraries do.
    pub(crate) fn layer(&self) -> Box<dyn Layer<Registry> + Send + Sync> {
        let ours = Targets::new().with_target("graphloom", LevelFilter::INFO);
        tracing_opentelemetry::layer().with_tracer(self.0.tracer("graphloom")).with_filter(ours).boxed()
    }

    /// Sends what waits.
    pub(crate) fn end(self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "some traces were not sent");
        }
    }
}
