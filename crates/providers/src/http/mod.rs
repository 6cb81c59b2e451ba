//! The HTTP layer of all providers: connections, timeouts, retries, pauses, rate limits and redaction.

mod answer;
mod breaker;
mod failure;
mod limits;
mod retry;
mod shared;
mod time;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};
use bytes::Bytes;
use graphloom_core::{ModelError, StopRequest};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Semaphore;
use tracing::{debug, warn};

pub use self::answer::HttpAnswer;
use self::breaker::{Breaker, Verdict};
pub use self::breaker::{ServiceListener, ServiceNotice};
pub(crate) use self::failure::provider_error;
use self::failure::{Failure, MAX_MESSAGE_CHARS};
use self::limits::Limits;
pub(crate) use self::limits::{Cost, Output};
use self::shared::SharedLimits;
pub use self::shared::{OpenShared, TextsAndClock};
pub use self::time::Pacer;
use self::time::RealTime;
use crate::endpoint::ConfigError;
use crate::secret::Secret;

/// Timeouts, retries and limits of one [`HttpClient`].
#[derive(Debug, Clone, PartialEq)]
pub struct HttpConfig {
    /// Maximum wait for a connection.
    pub connect_timeout: Duration,
    /// Maximum wait for the first byte of a response. A model that does not stream sends nothing until it is
    /// done. One that streams sends nothing while it loads and reads the prompt.
    pub first_byte_timeout: Duration,
    /// Maximum pause within a response. The total time is not limited, because a long answer is not an error.
    pub idle_timeout: Duration,
    /// Maximum attempts per call, including the first.
    pub max_attempts: u32,
    /// Wait before the first retry. It doubles with each further retry.
    pub min_backoff: Duration,
    /// Maximum wait between retries if the provider does not ask for one.
    pub max_backoff: Duration,
    /// Maximum `Retry-After` to wait for. A longer one fails the call immediately, or pauses the service if
    /// `max_pause` allows it.
    pub max_retry_after: Duration,
    /// Maximum time that a call waits for a service that is down. Zero for interactive calls, which fail
    /// after their last attempt.
    pub max_pause: Duration,
    /// Seed for the jitter of waits, so that runs are reproducible.
    pub jitter_seed: u64,
    /// Maximum concurrent calls.
    pub max_concurrent: usize,
    /// Maximum requests per minute.
    pub requests_per_minute: Option<u32>,
    /// Maximum tokens per minute. They are estimated before a call and corrected by its usage.
    pub tokens_per_minute: Option<u32>,
    /// Maximum size of a response in bytes, after decompression.
    pub max_answer_bytes: usize,
    /// Whether to use the system's proxy settings. Loopback addresses are always reached directly.
    pub system_proxy: bool,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(60),
            max_attempts: 5,
            min_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(120),
            max_pause: Duration::ZERO,
            jitter_seed: 0,
            max_concurrent: 16,
            requests_per_minute: None,
            tokens_per_minute: None,
            max_answer_bytes: 64 << 20,
            system_proxy: true,
        }
    }
}

/// The destination of requests for one model. The `Debug` output masks the API key.
#[derive(Clone)]
pub struct Target {
    model: String,
    url: Url,
    /// The part of the URL after the configured address of the service.
    path: String,
    headers: HeaderMap,
    secrets: Vec<Secret>,
}

impl Target {
    pub(crate) fn new(
        model: String,
        url: Url,
        path: String,
        headers: HeaderMap,
        secrets: Vec<Secret>,
    ) -> Self {
        Self { model, url, path, headers, secrets }
    }

    /// Adds a header that is not secret.
    pub(crate) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    /// Adds a query parameter.
    pub(crate) fn with_parameter(mut self, name: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    /// Returns the host, and the port if the URL has one.
    fn service(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Returns the model's name in errors and spans.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the URL of requests, including credentials and query.
    pub(crate) fn address(&self) -> &Url {
        &self.url
    }

    /// Returns the URL without credentials and query.
    pub fn url(&self) -> Url {
        let mut url = self.url.clone();
        // Both fail only for URLs without a host, which are rejected earlier.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url
    }

    /// Returns the address of the service as configured, without credentials and query.
    pub fn base_url(&self) -> String {
        let url = self.url().to_string();
        let base = url.strip_suffix(self.path.as_str()).unwrap_or(&url);
        base.trim_end_matches('/').to_owned()
    }

    /// Returns `text` on one line, shortened and without secrets.
    pub(crate) fn readable(&self, text: &str) -> String {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let masked = self.secrets.iter().fold(line, |line, secret| secret.mask_in(&line));
        match masked.char_indices().nth(MAX_MESSAGE_CHARS) {
            Some((cut, _)) => format!("{}...", &masked[..cut]),
            None => masked,
        }
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("model", &self.model)
            .field("url", &self.url().as_str())
            .finish_non_exhaustive()
    }
}

/// Whether a response is passed on as it arrives or when it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As it arrives. The caller handles a broken response.
    Streamed,
    /// When it is complete. A broken response is requested again.
    Whole,
}

/// A client shared by all models of one provider. It enforces the provider's limits.
pub struct HttpClient {
    config: HttpConfig,
    /// One connection pool per route, created on demand, so that plain HTTP does not load TLS certificates.
    pools: Mutex<BTreeMap<Route, reqwest::Client>>,
    slots: Arc<Semaphore>,
    limits: Arc<Limits>,
    breaker: Arc<Breaker>,
    /// Limits that several processes share.
    shared: Option<Arc<SharedLimits>>,
    listener: Option<ServiceListener>,
    time: Arc<dyn Pacer>,
    calls: AtomicU64,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient")
            .field("config", &self.config)
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Route {
    tls: bool,
    loopback: bool,
}

impl HttpClient {
    /// Creates a client. Connections are opened on demand.
    pub fn new(config: HttpConfig) -> Self {
        Self::with_time(config, None, Arc::new(RealTime::start()))
    }

    /// Creates a client that reports when its service goes down or recovers.
    pub fn with_listener(config: HttpConfig, listener: ServiceListener) -> Self {
        Self::with_time(config, Some(listener), Arc::new(RealTime::start()))
    }

    /// Creates a client with a custom clock.
    pub fn with_time(config: HttpConfig, listener: Option<ServiceListener>, time: Arc<dyn Pacer>) -> Self {
        let (requests, tokens) = (config.requests_per_minute, config.tokens_per_minute);
        let limits = Arc::new(Limits::new(requests, tokens, time.clone()));
        let breaker = Arc::new(Breaker::new(config.max_pause, time.clone(), listener.clone()));
        let slots = Arc::new(Semaphore::new(config.max_concurrent.clamp(1, Semaphore::MAX_PERMITS)));
        let (pools, calls) = (Mutex::default(), AtomicU64::new(0));
        Self { config, pools, slots, limits, breaker, shared: None, listener, time, calls }
    }

    /// Shares the limits per minute, and the pauses that the service asks for, with all processes that use the same `name`.
    /// Each process still runs at most [`HttpConfig::max_concurrent`] calls at the same time.
    #[must_use]
    pub fn sharing_limits(mut self, name: String, open: OpenShared) -> Self {
        let limits = [self.config.requests_per_minute, self.config.tokens_per_minute];
        let max_wait = self.config.max_pause.max(self.config.max_retry_after);
        let (listener, time) = (self.listener.clone(), self.time.clone());
        self.shared = Some(Arc::new(SharedLimits::new(name, open, limits, max_wait, listener, time)));
        self
    }

    /// Returns the cost of a request with these texts; zero without a token limit, to avoid counting.
    pub(crate) fn cost<'a>(&self, texts: impl IntoIterator<Item = &'a str>, output: Output) -> Cost {
        if !self.limits.counts_tokens() {
            return Cost { prompt_tokens: 0, output };
        }
        let tokens = texts.into_iter().map(|text| graphloom_tokens::count(text) as u64 + FRAME_TOKENS);
        Cost { prompt_tokens: tokens.sum(), output }
    }

    /// Posts a JSON `body` and returns the response, with retries.
    ///
    /// - Connection errors, broken responses and the statuses 408, 429 and 5xx are retried: at most
    ///   [`HttpConfig::max_attempts`] attempts in total, and never after the caller has received data. A
    ///   `Retry-After` header replaces the computed wait and also delays all other calls of this client.
    /// - Limits per minute and such pauses apply to all processes that [share](Self::sharing_limits) them.
    /// - Once the [`StopRequest`] of the calling work is made, the call is sent only if it need not wait. If calls in flight are
    ///   given up, it fails at once.
    /// - If the service fails repeatedly, all calls wait until one of them, the probe, gets a response, but
    ///   no longer than [`HttpConfig::max_pause`].
    pub(crate) async fn post(
        &self,
        target: &Target,
        body: Bytes,
        cost: Cost,
        delivery: Delivery,
    ) -> Result<HttpAnswer, ModelError> {
        let client = self.pool(target)?;
        let stop = Stop { request: StopRequest::current(), model: target.model() };
        let slot = stop.or(0, Arc::clone(&self.slots).acquire_owned()).await?.ok();
        let mut patience = self.breaker.patience(target.service());
        let mut waits = self.backoff();
        let mut attempts = 0;
        loop {
            stop.or(attempts, patience.pass()).await??;
            let admission = stop.or(attempts, self.limits.admit(cost)).await?;
            if patience.must_wait() {
                admission.unanswered();
                continue;
            }
            let mut shared = None;
            if let Some(limits) = &self.shared {
                let service = target.service();
                match stop.or(attempts, limits.admit(target.model(), &service, cost)).await {
                    Ok(Ok(counted)) => shared = Some((Arc::clone(limits), counted)),
                    Err(error) | Ok(Err(error)) => {
                        admission.unanswered();
                        return Err(error);
                    }
                }
                if patience.must_wait() {
                    admission.unanswered();
                    continue;
                }
            }
            attempts += 1;
            let started = Instant::now();
            let attempt = self.attempt(&client, target, body.clone(), delivery);
            let failure = match stop.or_given_up(attempts, attempt).await? {
                Ok((response, first)) => {
                    patience.answered();
                    debug!(
                        gen_ai.request.model = target.model,
                        attempts,
                        elapsed_ms = elapsed_ms(started),
                        "answered"
                    );
                    return Ok(HttpAnswer {
                        target: target.clone(),
                        response,
                        first,
                        attempts,
                        idle_timeout: self.config.idle_timeout,
                        bytes_left: self.config.max_answer_bytes,
                        admission: Some(admission),
                        shared,
                        _slot: slot,
                    });
                }
                Err(failure) => failure,
            };
            if failure.is_refusal() {
                admission.unanswered();
            } else {
                drop(admission);
            }
            let wait = waits.next().and_then(|wait| failure.retry_wait(wait, self.config.max_retry_after));
            let (not_now, named) = (failure.is_unavailable(patience.was_reached()), failure.requested_wait());
            if not_now && let (Some(named), Some(limits)) = (named, &self.shared) {
                limits.pause(named).await;
            }
            let mut error = failure.into_model_error(target);
            if not_now {
                match patience.failed(error, wait.is_none(), named) {
                    Verdict::Continue(same) => error = same,
                    Verdict::Paused => {
                        waits = self.backoff();
                        continue;
                    }
                    Verdict::GiveUp(error) => return Err(error),
                }
            } else if !matches!(error, ModelError::Unreachable { .. }) {
                patience.answered();
            }
            let Some(wait) = wait else { return Err(error) };
            if matches!(error, ModelError::RateLimited { .. }) {
                self.limits.pause(wait);
            }
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            warn!(gen_ai.request.model = target.model, attempts, wait_ms, %error, "retrying");
            stop.or(attempts, self.time.sleep(wait)).await?;
        }
    }

    async fn attempt(
        &self,
        client: &reqwest::Client,
        target: &Target,
        body: Bytes,
        delivery: Delivery,
    ) -> Result<(reqwest::Response, Option<Bytes>), Failure> {
        let first_byte = self.config.first_byte_timeout;
        let request = client
            .post(target.address().clone())
            .headers(target.headers.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body);
        let mut response = Failure::with_timeout(first_byte, request.send()).await?;
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_page = content_type.is_some_and(|text| text.trim_start().starts_with("text/html"));
        if !response.status().is_success() || is_page {
            return Err(Failure::from_response(response, self.config.idle_timeout).await);
        }
        let limit = self.config.max_answer_bytes;
        let first = Failure::with_timeout(first_byte, response.chunk()).await?;
        let Some(first) = first else { return Ok((response, None)) };
        if first.len() > limit {
            return Err(Failure::TooLarge { limit });
        }
        if delivery == Delivery::Streamed {
            return Ok((response, Some(first)));
        }
        let mut whole = first;
        let mut rest: Option<Vec<u8>> = None;
        while let Some(chunk) = Failure::with_timeout(self.config.idle_timeout, response.chunk()).await? {
            let grown = rest.get_or_insert_with(|| whole.to_vec());
            if grown.len() + chunk.len() > limit {
                return Err(Failure::TooLarge { limit });
            }
            grown.extend_from_slice(&chunk);
        }
        if let Some(rest) = rest {
            whole = Bytes::from(rest);
        }
        Ok((response, Some(whole)))
    }

    fn backoff(&self) -> impl Iterator<Item = Duration> + use<> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        ExponentialBuilder::new()
            .with_min_delay(self.config.min_backoff)
            .with_max_delay(self.config.max_backoff)
            .with_max_times(usize::try_from(self.config.max_attempts.saturating_sub(1)).unwrap_or(usize::MAX))
            .with_jitter()
            .with_jitter_seed(self.config.jitter_seed.wrapping_add(call))
            .build()
    }

    fn pool(&self, target: &Target) -> Result<reqwest::Client, ModelError> {
        let host = target.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let loopback = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        let route = Route { tls: target.url.scheme() == "https", loopback };
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = pools.get(&route) {
            return Ok(client.clone());
        }
        let client = self.build(route).map_err(|error| ModelError::Unreachable {
            model: target.model.clone(),
            url: target.base_url(),
            what: error.to_string(),
        })?;
        pools.insert(route, client.clone());
        Ok(client)
    }

    fn build(&self, route: Route) -> Result<reqwest::Client, ConfigError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // Redirects are reported, not followed: following one would send the API key to another host and turn
        // a POST into a GET.
        let mut builder = reqwest::Client::builder()
            .connect_timeout(self.config.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .user_agent(concat!("graphloom/", env!("CARGO_PKG_VERSION")));
        if route.loopback || !self.config.system_proxy {
            builder = builder.no_proxy();
        }
        if route.tls {
            // Fails if a provider is already installed, which is fine.
            let _ = rustls::crypto::CryptoProvider::install_default(provider.as_ref().clone());
        } else {
            let without_roots = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|error| ConfigError::Client { what: error.to_string() })?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            builder = builder.tls_backend_preconfigured(without_roots);
        }
        builder.build().map_err(|error| ConfigError::Client { what: failure::cause_of(&error) })
    }
}

/// The stop request that a call obeys.
struct Stop<'a> {
    request: StopRequest,
    model: &'a str,
}

impl Stop<'_> {
    /// Waits until the call can go on. Fails if it would have to wait after the request was made.
    async fn or<T>(&self, attempts: u32, ready: impl Future<Output = T>) -> Result<T, ModelError> {
        tokio::select! {
            biased;
            ready = ready => Ok(ready),
            () = self.request.made() => Err(self.stopped(attempts, false)),
        }
    }

    /// Waits for the answer to an attempt. Fails if calls in flight are given up.
    async fn or_given_up<T>(&self, attempts: u32, answer: impl Future<Output = T>) -> Result<T, ModelError> {
        tokio::select! {
            biased;
            answer = answer => Ok(answer),
            () = self.request.gives_up() => {
                self.request.note_given_up();
                Err(self.stopped(attempts, true))
            }
        }
    }

    fn stopped(&self, attempts: u32, in_flight: bool) -> ModelError {
        ModelError::Stopped { model: self.model.to_owned(), attempts, in_flight }
    }
}

/// Serializes `body` as JSON.
pub(crate) fn encode(body: &impl serde::Serialize, model: &str) -> Result<Bytes, ModelError> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| ModelError::Local {
        model: model.to_owned(),
        what: format!("writing the request: {error}"),
    })
}

/// Maximum tokens that a provider adds to each message or text.
const FRAME_TOKENS: u64 = 8;

fn elapsed_ms(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}
