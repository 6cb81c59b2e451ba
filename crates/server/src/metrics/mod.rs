//! Metrics in Prometheus's text format. docs/reference/metrics.md explains every name.

mod models;
mod state;

use std::panic;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use graphloom_core::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::app::{App, now};
use models::ModelCounters;
pub(crate) use models::counted;
pub(crate) use state::LastRead;
use state::{ProcessState, WorkspaceState};

/// Upper bounds of the histograms, in seconds.
const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0];

/// Number of panics in this process.
static PANICS: AtomicU64 = AtomicU64::new(0);
/// Number of answers found in the cache.
static ANSWERS_REMEMBERED: AtomicU64 = AtomicU64::new(0);
/// Number of answers not found in the cache.
static ANSWERS_NEW: AtomicU64 = AtomicU64::new(0);

/// Counts a lookup of an answer in the cache.
pub(crate) fn count_cache_lookup(is_remembered: bool) {
    let count = if is_remembered { &ANSWERS_REMEMBERED } else { &ANSWERS_NEW };
    count.fetch_add(1, Ordering::Relaxed);
}

/// Starts counting panics; the previous panic hook still runs.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            before(what);
        }));
    });
}

/// Labels of a counted request. The route is the row's path rather than the requested path, since clients could
/// otherwise create any number of series.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LookupLabels {
    result: &'static str,
}

/// The counters of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    first_byte: Family<Of, Histogram>,
    whole: Family<Of, Histogram>,
    in_flight: Gauge<i64, AtomicI64>,
    connections: Gauge<i64, AtomicI64>,
    models: ModelCounters,
    started: Timestamp,
}

/// Counts something in progress until dropped.
pub(crate) struct UnderWay(Gauge<i64, AtomicI64>);

impl UnderWay {
    fn new(gauge: &Gauge<i64, AtomicI64>) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A request in progress, until its response is sent or dropped.
pub(crate) struct Serving {
    metrics: Arc<Metrics>,
    route: &'static str,
    started: Instant,
    _under_way: UnderWay,
}

impl Serving {
    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The response starts.
    pub(crate) fn answered(&self, method: &'static str, status: u16) {
        let Self { metrics, route, .. } = self;
        metrics.requests.get_or_create(&RequestLabels { method, route, status }).inc();
        metrics.first_byte.get_or_create(&Of { route }).observe(self.elapsed().as_secs_f64());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.metrics.whole.get_or_create(&Of { route: self.route }).observe(self.elapsed().as_secs_f64());
    }
}

impl Metrics {
    pub(crate) fn new() -> Arc<Self> {
        count_panics();
        let mut registry = Registry::with_prefix("graphloom");
        let requests = Family::<RequestLabels, Counter>::default();
        registry.register("http_requests", "Answered requests", requests.clone());
        let seconds = || Family::<Of, Histogram>::new_with_constructor(|| Histogram::new(SECONDS));
        let (first_byte, whole) = (seconds(), seconds());
        let about = "Time until the start of the response";
        registry.register("http_first_byte_seconds", about, first_byte.clone());
        let about = "Time until the response was sent or dropped";
        registry.register("http_request_duration_seconds", about, whole.clone());
        let (in_flight, connections) = (Gauge::default(), Gauge::default());
        registry.register("http_requests_in_flight", "Requests in progress", in_flight.clone());
        registry.register("http_connections", "Connections open", connections.clone());
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The release", build);
        let models = ModelCounters::register(&mut registry);
        let started = now();
        Arc::new(Self { registry, requests, first_byte, whole, in_flight, connections, models, started })
    }

    /// A request starts.
    pub(crate) fn begin(self: &Arc<Self>, route: &'static str) -> Serving {
        let (metrics, started) = (Arc::clone(self), Instant::now());
        Serving { metrics, route, started, _under_way: UnderWay::new(&self.in_flight) }
    }

    /// A connection starts.
    pub(crate) fn connect(&self) -> UnderWay {
        UnderWay::new(&self.connections)
    }

    /// All metrics as text, with the state of the process and of workspaces.
    fn write(
        &self,
        process: &ProcessState,
        workspaces: &[WorkspaceState],
    ) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        let mut registry = Registry::with_prefix("graphloom");
        let panics = Counter::<u64>::default();
        panics.inc_by(PANICS.load(Ordering::Relaxed));
        registry.register("panics", "Panics; each lost a request or a run", panics);
        let lookups = Family::<LookupLabels, Counter>::default();
        for (result, count) in [("hit", &ANSWERS_REMEMBERED), ("miss", &ANSWERS_NEW)] {
            lookups.get_or_create(&LookupLabels { result }).inc_by(count.load(Ordering::Relaxed));
        }
        let about = "Questions to the answer model by whether the answer was cached";
        registry.register("answer_cache_lookups", about, lookups);
        state::register(&mut registry, workspaces);
        encode_registry(&mut text, &registry)?;
        let mut registry = Registry::default();
        process.register(&mut registry, self.started);
        encode_registry(&mut text, &registry)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

/// All metrics with the current state.
pub(crate) async fn text(app: &App) -> Result<String, std::fmt::Error> {
    let mut workspaces = Vec::new();
    for space in app.spaces.opened() {
        workspaces.push(WorkspaceState::of(&space).await);
    }
    app.metrics.write(&ProcessState::read(), &workspaces)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use graphloom_core::{Role, Usage};
    use graphloom_engine::money::Prices;

    use super::*;

    /// The text of a server with a value for every metric.
    fn check_text() -> String {
        let metrics = Metrics::new();
        let serving = metrics.begin("/query");
        serving.answered("POST", 200);
        drop(serving);
        drop(metrics.connect());
        let prices = Arc::new(Prices::parse("test:model=1/2").expect("prices"));
        let usage = Usage { prompt_tokens: 1_000_000, cached_prompt_tokens: 0, completion_tokens: 500_000 };
        models::Tally::begin(&metrics, &prices, Role::Answer, "test:model").end("ok", usage);
        let workspaces: Vec<WorkspaceState> = (0..state::MAX_WORKSPACES + 2)
            .map(|number| WorkspaceState::sample(&format!("w{number:03}")))
            .collect();
        metrics.write(&ProcessState::read(), &workspaces).expect("text")
    }

    /// Metric names without the suffixes of histograms.
    fn exported() -> BTreeSet<String> {
        let text = check_text();
        let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        kinds
            .map(|(name, kind)| match kind {
                "counter" => format!("{name}_total"),
                "info" => format!("{name}_info"),
                _ => name.to_owned(),
            })
            .collect()
    }

    #[test]
    fn the_exported_metrics_are_the_documented_ones() {
        let page = include_str!("../../../../docs/reference/metrics.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let documented: BTreeSet<String> = rows.map(|(name, _)| name.to_owned()).collect();
        let mut exported = exported();
        if !cfg!(target_os = "linux") {
            exported.extend(["memory", "anonymous"].map(|what| format!("process_resident_{what}_bytes")));
        }
        assert_eq!(exported, documented);
    }

    #[test]
    fn the_dashboard_uses_only_exported_metrics() {
        let dashboard = include_str!("../../../../deploy/grafana/graphloom.json");
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).expect("JSON");
        let exported = exported();
        let (mut queries, mut ids) = (0, BTreeSet::new());
        for panel in dashboard["panels"].as_array().expect("panels") {
            assert!(ids.insert(panel["id"].as_u64().expect("an id")), "{panel}");
            assert!(panel["title"].is_string() && panel["gridPos"]["w"].is_number(), "{panel}");
            for target in panel["targets"].as_array().into_iter().flatten() {
                let query = target["expr"].as_str().expect("a query");
                let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                for name in
                    words.filter(|word| word.starts_with("graphloom_") || word.starts_with("process_"))
                {
                    let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
                    let is_known =
                        exported.contains(name) || base.is_some_and(|base| exported.contains(base));
                    assert!(is_known, "{name} in {query}");
                    queries += 1;
                }
            }
        }
        assert!(queries > 10 && dashboard["title"] == "Graphloom" && dashboard["schemaVersion"].is_number());
    }

    #[test]
    fn tokens_and_costs_of_calls_are_counted_by_role_and_model() {
        let text = check_text();
        for line in [
            r#"graphloom_model_calls_total{role="answer",model="test:model",outcome="ok"} 1"#,
            r#"graphloom_model_prompt_tokens_total{role="answer",model="test:model"} 1000000"#,
            r#"graphloom_model_completion_tokens_total{role="answer",model="test:model"} 500000"#,
            r#"graphloom_model_cost_total{role="answer",model="test:model"} 2.0"#,
            r#"graphloom_http_requests_total{method="POST",route="/query",status="200"} 1"#,
            r#"graphloom_http_request_duration_seconds_count{route="/query"} 1"#,
            "graphloom_http_requests_in_flight 0",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn workspaces_beyond_the_limit_share_one_label() {
        let text = check_text();
        let labelled = text.lines().filter(|line| line.starts_with("graphloom_queue_documents{")).count();
        assert_eq!(labelled, state::MAX_WORKSPACES + 1);
        assert!(text.contains(r#"graphloom_queue_documents{workspace="other"} 4"#), "{text}");
        assert!(text.contains(r#"graphloom_chunks_ill{workspace="other",kind="failed"} 4"#), "{text}");
        assert!(text.contains(r#"graphloom_queue_oldest_seconds{workspace="other"} 5.0"#), "{text}");
        assert!(text.contains(r#"graphloom_documents{workspace="w000",state="ready"} 3"#), "{text}");
    }
}
