//! Exports traces with OpenTelemetry, configured by the `OTEL_*` variables.

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

/// The exporter; [`Telemetry::end`] sends buffered spans.
pub(crate) struct Telemetry(SdkTracerProvider);

impl Telemetry {
    /// Starts the exporter if an address is configured. If the exporter cannot be built, prints a warning and returns `None`.
    pub(crate) fn start(environment: &BTreeMap<String, String>) -> Option<Self> {
        let set = |name: &str| layers::set(environment, name);
        let is_off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || set("OTEL_TRACES_EXPORTER").is_some_and(|value| value.eq_ignore_ascii_case("none"));
        let endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
        if is_off || endpoints.into_iter().all(|name| set(name).is_none()) {
            return None;
        }
        // Fails if a provider is already installed, which is fine.
        let _ = rustls::crypto::CryptoProvider::install_default(rustls::crypto::ring::default_provider());
        let exporter = match SpanExporter::builder().with_http().build() {
            Ok(exporter) => exporter,
            Err(error) => {
                tell(format_args!("warning: cannot send traces: {error}"));
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

    /// Returns a layer that exports only our own spans, not those of libraries.
    pub(crate) fn layer(&self) -> Box<dyn Layer<Registry> + Send + Sync> {
        let ours = Targets::new().with_target("graphloom", LevelFilter::INFO);
        tracing_opentelemetry::layer().with_tracer(self.0.tracer("graphloom")).with_filter(ours).boxed()
    }

    /// Sends buffered spans.
    pub(crate) fn end(self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "some traces were not sent");
        }
    }
}
