//! What is counted, in the text that Prometheus reads.

use std::fmt::Write as _;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the histogram, in seconds.
const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0];

/// A request as it is counted. The route is the row's path, never the address that was asked for: that would let strangers
/// make as many series as they like.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    route: &'static str,
}

/// The counters of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Family<Of, Histogram>,
    in_flight: Gauge<i64, AtomicI64>,
    connections: Gauge<i64, AtomicI64>,
}

/// Counts something under way until it is dropped.
pub(crate) struct UnderWay(Gauge<i64, AtomicI64>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("graphloom");
        let requests = Family::<Answered, Counter>::default();
        registry.register("http_requests", "Requests that were answered", requests.clone());
        let seconds = Family::<Of, Histogram>::new_with_constructor(|| Histogram::new(SECONDS));
        let about = "Time until an answer began, in seconds";
        registry.register("http_request_duration_seconds", about, seconds.clone());
        let (in_flight, connections) = (Gauge::default(), Gauge::default());
        registry.register("http_requests_in_flight", "Requests under way", in_flight.clone());
        registry.register("http_connections", "Connections open", connections.clone());
        Self { registry, requests, seconds, in_flight, connections }
    }

    /// A request under way.
    pub(crate) fn begin(&self) -> UnderWay {
        self.in_flight.inc();
        UnderWay(self.in_flight.clone())
    }

    /// A connection.
    pub(crate) fn connect(&self) -> UnderWay {
        self.connections.inc();
        UnderWay(self.connections.clone())
    }

    /// A request that was answered.
    pub(crate) fn answered(&self, method: &'static str, route: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&Answered { method, route, status }).inc();
        self.seconds.get_or_create(&Of { route }).observe(took.as_secs_f64());
    }

    /// All of it as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            // Writing into a string does not fail; a line that says so is better than a panic.
            let _ = writeln!(text, "# the metrics could not be written");
        }
        text
    }
}
