//! A service that is down: calls wait, one call probes, then all continue. Also limits per minute, on an accelerated clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{deltas, endpoint, quick};
use async_trait::async_trait;
use futures::future::join_all;
use graphloom_core::{Clock, ModelError, SharedTexts, StopRequest, StoreError, Timestamp};
use graphloom_providers::http::{HttpClient, HttpConfig, OpenShared, Pacer, ServiceNotice};
use graphloom_providers::openai::{OpenAiChat, OpenAiChatConfig, OutputLimitField};
use graphloom_providers::testing::{Reply, ScriptedServer};

/// A clock on which a second takes a millisecond.
#[derive(Debug)]
struct FastClock(Instant);

const SPEED: u32 = 1000;

#[async_trait]
impl Pacer for FastClock {
    fn now(&self) -> Duration {
        self.0.elapsed() * SPEED
    }

    async fn sleep(&self, wait: Duration) {
        tokio::time::sleep(wait / SPEED).await;
    }
}

struct Service {
    server: ScriptedServer,
    model: OpenAiChat,
    notices: Arc<Mutex<Vec<ServiceNotice>>>,
}

/// Starts a server with this script, and returns a model that uses it and waits at most `max_pause`.
fn service(config: HttpConfig, script: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Service {
    let server = ScriptedServer::start(move |at, _| script(at));
    let notices: Arc<Mutex<Vec<ServiceNotice>>> = Arc::default();
    let told = notices.clone();
    let listener = Arc::new(move |notice| told.lock().unwrap().push(notice));
    let http = HttpClient::with_time(config, Some(listener), Arc::new(FastClock(Instant::now())));
    let config = OpenAiChatConfig {
        endpoint: endpoint("openai", &server),
        model: "m".to_owned(),
        temperature: None,
        output_limit_field: OutputLimitField::Auto,
    };
    let model = OpenAiChat::new(Arc::new(http), config).unwrap();
    Service { server, model, notices }
}

fn hello() -> Reply {
    let body = r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":10,"completion_tokens":5}}"#;
    Reply::json(200, body)
}

fn overloaded() -> Reply {
    Reply::json(503, r#"{"error":{"message":"overloaded"}}"#)
}

/// Returns how often calls were paused, and how often they resumed.
fn pauses(notices: &[ServiceNotice]) -> (usize, usize) {
    let paused = notices.iter().filter(|notice| matches!(notice, ServiceNotice::Paused { .. })).count();
    (paused, notices.len() - paused)
}

#[tokio::test]
async fn calls_outlast_a_service_that_is_down_for_a_while() {
    // With two calls in flight, at least eight failures in a row are read before the first answer.
    let config =
        HttpConfig { max_pause: Duration::from_secs(900), max_concurrent: 2, max_attempts: 12, ..quick() };
    let service = service(config, |at| if at < 10 { overloaded() } else { hello() });
    let answers = join_all((0..8).map(|_| deltas(&service.model, false))).await;
    for (_, end) in answers {
        end.unwrap();
    }
    let notices = service.notices.lock().unwrap().clone();
    let (paused, resumed) = pauses(&notices);
    // A failure that was in flight when the service answered may pause it once more.
    assert!((1..=paused).contains(&resumed), "{notices:?}");
    let ServiceNotice::Paused { reason, .. } = &notices[0] else { panic!("{notices:?}") };
    assert_eq!(reason, "model openai:m failed (status 503): overloaded");
    // The failures until the service is paused and those in flight, then single probes.
    assert!(service.server.recorded().len() <= 10 + 2 * 8, "{} requests", service.server.recorded().len());
}

#[tokio::test]
async fn calls_to_a_service_that_stays_down_fail_after_few_requests() {
    let config = HttpConfig { max_pause: Duration::from_secs(60), ..quick() };
    let service = service(config, |_| overloaded());
    let answers = join_all((0..4).map(|_| deltas(&service.model, false))).await;
    for (_, end) in answers {
        let error = end.unwrap_err();
        assert!(matches!(error, ModelError::Server { status: 503, .. }), "{error}");
        assert!(error.to_string().contains("(calls waited "), "{error}");
    }
    let (_, resumed) = pauses(&service.notices.lock().unwrap());
    assert_eq!(resumed, 0);
    assert!(service.server.recorded().len() <= 3 * 4 + 5 * 4, "{} requests", service.server.recorded().len());
}

#[tokio::test]
async fn failures_between_answers_pause_no_calls() {
    let config = HttpConfig { max_pause: Duration::from_secs(900), max_concurrent: 1, ..quick() };
    let service = service(config, |at| if at % 2 == 1 { overloaded() } else { hello() });
    for _ in 0..6 {
        deltas(&service.model, false).await.1.unwrap();
    }
    assert!(service.notices.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_refusal_shows_that_the_service_is_up() {
    let config = HttpConfig { max_pause: Duration::from_secs(900), ..quick() };
    let refusal = || Reply::json(400, r#"{"error":{"message":"too long"}}"#);
    let service = service(config, move |at| match at {
        0..3 => overloaded(),
        3 => refusal(),
        _ => hello(),
    });
    let error = deltas(&service.model, false).await.1.unwrap_err();
    assert!(matches!(error, ModelError::Refused { status: 400, .. }), "{error}");
    assert_eq!(pauses(&service.notices.lock().unwrap()), (1, 1));
    deltas(&service.model, false).await.1.unwrap();
}

#[tokio::test]
async fn a_server_that_was_never_reached_is_reported_at_once() {
    let config = HttpConfig { max_pause: Duration::from_secs(900), ..quick() };
    let Service { server, model, notices } = service(config, |_| hello());
    drop(server);
    let error = deltas(&model, false).await.1.unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error}");
    assert!(notices.lock().unwrap().is_empty());
}

/// Checks that a service has received at most `allowed` requests for each minute since the start. A busy machine can delay an
/// arrival by minutes of this clock, but no request arrives before it is sent.
#[track_caller]
fn check_pace(arrivals: &[Duration], allowed: usize) {
    let mut arrivals = arrivals.to_vec();
    arrivals.sort_unstable();
    for (minutes, at) in (0..).zip(arrivals.iter().step_by(allowed)) {
        assert!(*at >= Duration::from_secs(60 * minutes), "{arrivals:?}");
    }
}

/// Returns when the requests of calls at the same time arrive.
async fn arrivals(config: HttpConfig, calls: usize) -> Vec<Duration> {
    let start = Instant::now();
    let arrivals: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let noted = arrivals.clone();
    let service = service(config, move |_| {
        noted.lock().unwrap().push(start.elapsed() * SPEED);
        hello()
    });
    for (_, end) in join_all((0..calls).map(|_| deltas(&service.model, false))).await {
        end.unwrap();
    }
    let arrivals = arrivals.lock().unwrap().clone();
    assert_eq!(arrivals.len(), calls);
    arrivals
}

#[tokio::test]
async fn no_minute_has_more_requests_than_allowed() {
    let config = HttpConfig { requests_per_minute: Some(5), ..quick() };
    check_pace(&arrivals(config, 12).await, 5);
}

#[tokio::test]
async fn no_minute_has_more_tokens_than_allowed() {
    // Each call uses 15 tokens. The first counts as more until its usage is known.
    let config = HttpConfig { tokens_per_minute: Some(60), ..quick() };
    check_pace(&arrivals(config, 10).await, 4);
}

/// Texts and a clock that the processes of a test share.
struct SharedState {
    texts: Mutex<BTreeMap<String, (u64, String)>>,
    start: Instant,
}

impl Clock for SharedState {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from((self.start.elapsed() * SPEED).as_millis()).unwrap())
    }
}

struct Texts(Arc<SharedState>);

#[async_trait]
impl SharedTexts for Texts {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Some(self.0.clone())
    }

    async fn read(&self, name: &str) -> Result<Option<(u64, String)>, StoreError> {
        Ok(self.0.texts.lock().unwrap().get(name).cloned())
    }

    async fn replace(&self, name: &str, version: u64, text: &str) -> Result<bool, StoreError> {
        let mut texts = self.0.texts.lock().unwrap();
        let is_current = texts.get(name).map_or(0, |(version, _)| *version) == version;
        if is_current {
            texts.insert(name.to_owned(), (version + 1, text.to_owned()));
        }
        Ok(is_current)
    }
}

/// Models of two processes that share the limits of one service, and the arrival times of its requests on their clock.
struct TwoProcesses {
    models: [OpenAiChat; 2],
    arrivals: Arc<Mutex<Vec<Duration>>>,
    notices: Arc<Mutex<Vec<ServiceNotice>>>,
    _server: ScriptedServer,
}

fn two_processes(
    config: HttpConfig,
    script: impl Fn(usize) -> Reply + Send + Sync + 'static,
) -> TwoProcesses {
    let start = Instant::now();
    let arrivals: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let notices: Arc<Mutex<Vec<ServiceNotice>>> = Arc::default();
    let noted = arrivals.clone();
    let server = ScriptedServer::start(move |at, _| {
        noted.lock().unwrap().push(start.elapsed() * SPEED);
        script(at)
    });
    let shared = Arc::new(SharedState { texts: Mutex::default(), start });
    let models = [(); 2].map(|()| {
        let (told, shared) = (notices.clone(), shared.clone());
        let listener = Arc::new(move |notice| told.lock().unwrap().push(notice));
        let http = HttpClient::with_time(config.clone(), Some(listener), Arc::new(FastClock(start)));
        let open: OpenShared = Arc::new(move || Some((Arc::new(Texts(shared.clone())), shared.clone())));
        let config = OpenAiChatConfig {
            endpoint: endpoint("openai", &server),
            model: "m".to_owned(),
            temperature: None,
            output_limit_field: OutputLimitField::Auto,
        };
        OpenAiChat::new(Arc::new(http.sharing_limits("openai".to_owned(), open)), config).unwrap()
    });
    TwoProcesses { models, arrivals, notices, _server: server }
}

#[tokio::test]
async fn a_pause_requested_from_one_process_is_honored_by_the_other() {
    let config = HttpConfig { max_pause: Duration::from_secs(900), ..quick() };
    let wait = || Reply::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "300");
    let processes = two_processes(config, move |at| if at == 0 { wait() } else { hello() });
    let (first, second) = tokio::join!(deltas(&processes.models[0], false), async {
        while processes.arrivals.lock().unwrap().is_empty() || processes.notices.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        deltas(&processes.models[1], false).await
    });
    first.1.unwrap();
    second.1.unwrap();
    let arrivals = processes.arrivals.lock().unwrap().clone();
    assert_eq!(arrivals.len(), 3);
    assert!(arrivals[1..].iter().all(|at| *at >= arrivals[0] + Duration::from_secs(299)), "{arrivals:?}");
    let told = processes.notices.lock().unwrap().clone();
    let of_other = |notice: &ServiceNotice| matches!(notice, ServiceNotice::Paused { reason, .. } if reason == "another process was asked to wait");
    assert!(told.iter().any(of_other), "{told:?}");
}

#[tokio::test]
async fn a_pause_that_is_too_long_fails_calls_of_the_other_process_at_once() {
    let wait = || Reply::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "3600");
    let processes = two_processes(quick(), move |_| wait());
    for model in &processes.models {
        let error = deltas(model, false).await.1.unwrap_err();
        assert!(matches!(error, ModelError::RateLimited { .. }), "{error}");
    }
    assert_eq!(processes.arrivals.lock().unwrap().len(), 1, "the second call was not sent");
}

#[tokio::test]
async fn two_processes_together_respect_the_limit_of_one() {
    let config = HttpConfig { requests_per_minute: Some(6), tokens_per_minute: Some(6 * 15), ..quick() };
    let processes = two_processes(config, |_| hello());
    let [one, other] = &processes.models;
    let calls = (0..14).map(|call| deltas(if call % 2 == 0 { one } else { other }, false));
    for (_, end) in join_all(calls).await {
        end.unwrap();
    }
    let arrivals = processes.arrivals.lock().unwrap().clone();
    assert_eq!(arrivals.len(), 14);
    check_pace(&arrivals, 6);
}

/// Makes two calls of which `script` answers the first with a wait or not at all; `then` asks them to stop after the first is
/// sent. Returns the errors, and how many requests were sent.
async fn check_stopped(
    config: HttpConfig,
    script: impl Fn(usize) -> Reply + Send + Sync + 'static,
    then: impl Fn(&StopRequest),
) -> (Vec<ModelError>, usize) {
    let server = ScriptedServer::start(move |at, _| script(at));
    let config_of_model = OpenAiChatConfig {
        endpoint: endpoint("openai", &server),
        model: "m".to_owned(),
        temperature: None,
        output_limit_field: OutputLimitField::Auto,
    };
    // On the real clock, so that no wait is over before the stop.
    let model = OpenAiChat::new(Arc::new(HttpClient::new(config)), config_of_model).unwrap();
    let stop = StopRequest::default();
    let calls = stop.during(join_all([deltas(&model, false), deltas(&model, false)]));
    let (ends, ()) = tokio::join!(calls, async {
        while server.recorded().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        then(&stop);
    });
    let errors = ends.into_iter().filter_map(|(_, end)| end.err()).collect();
    (errors, server.recorded().len())
}

#[tokio::test]
async fn calls_that_wait_when_the_work_is_stopped_are_not_sent() {
    let day = Duration::from_secs(86_400);
    let wait = |_| Reply::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "3600");
    let paused = HttpConfig { max_pause: day, max_retry_after: day, max_concurrent: 1, ..quick() };
    for config in [paused.clone(), HttpConfig { max_pause: Duration::ZERO, ..paused }] {
        let (errors, sent) = check_stopped(config, wait, StopRequest::make).await;
        assert!(
            errors.iter().all(|it| matches!(it, ModelError::Stopped { in_flight: false, .. })),
            "{errors:?}"
        );
        assert_eq!((errors.len(), sent), (2, 1));
    }
    let limited = HttpConfig { requests_per_minute: Some(1), ..quick() };
    let (errors, sent) = check_stopped(limited, |_| hello(), StopRequest::make).await;
    assert_eq!((errors.len(), sent), (1, 1), "the call that needed not wait was answered: {errors:?}");
}

#[tokio::test]
async fn calls_in_flight_are_given_up_only_when_the_stop_takes_too_long() {
    let slow = |_| hello().after(Duration::from_millis(200));
    let (errors, _) = check_stopped(quick(), slow, StopRequest::make).await;
    assert!(errors.is_empty(), "{errors:?}");
    let (errors, sent) = check_stopped(quick(), |_| hello().hang(), StopRequest::give_up).await;
    let in_flight = |it: &ModelError| matches!(it, ModelError::Stopped { in_flight: true, attempts: 1, .. });
    assert!(errors.iter().all(in_flight), "{errors:?}");
    assert_eq!((errors.len(), sent), (2, 2));
}
