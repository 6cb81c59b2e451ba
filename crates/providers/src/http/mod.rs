//! The one HTTP layer under every provider: connection reuse, timeouts, retries, pauses, rate limits and redaction.

mod answer;
mod breaker;
mod failure;
mod limits;
mod retry;
mod time;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};
use bytes::Bytes;
use graphloom_core::ModelError;
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
pub use self::time::Pacer;
use self::time::RealTime;
use crate::endpoint::ConfigError;
use crate::secret::Secret;

/// Timeouts, retries and limits of one [`HttpClient`].
#[derive(Debug, Clone, PartialEq)]
pub struct HttpConfig {
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for the first byte of an answer. A model that does not stream is silent until it is done, and
    /// one that streams is silent while it is loaded and reads the prompt.
    pub first_byte_timeout: Duration,
    /// Longest silence inside an answer. There is no limit on the whole: a long answer is not a broken one.
    pub idle_timeout: Duration,
    /// Most attempts per call, the first included.
    pub max_attempts: u32,
    /// Wait before the first retry; it doubles with each one.
    pub min_backoff: Duration,
    /// Longest wait between retries where the provider names none.
    pub max_backoff: Duration,
    /// Longest `Retry-After` that is waited for; a longer one ends the call at once, or pauses the service where
    /// `max_pause` has room for it.
    pub max_retry_after: Duration,
    /// Longest that a call waits for a service that is down to come back. Zero where somebody waits for the answer:
    /// then a call fails when its attempts are used up.
    pub max_pause: Duration,
    /// Seed of the jitter on every wait, so that runs are reproducible.
    pub jitter_seed: u64,
    /// Most calls in flight.
    pub max_concurrent: usize,
    /// Limit on requests, where the provider has one.
    pub requests_per_minute: Option<u32>,
    /// Limit on tokens, where the provider has one; counted before a call, corrected by its usage after it.
    pub tokens_per_minute: Option<u32>,
    /// Largest answer read, in bytes after decompression.
    pub max_answer_bytes: usize,
    /// Whether the system's proxy settings are followed. Loopback addresses are always reached directly.
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

/// Where requests for one model go. Its `Debug` output shows no key.
#[derive(Clone)]
pub struct Target {
    model: String,
    url: Url,
    headers: HeaderMap,
    secrets: Vec<Secret>,
}

impl Target {
    pub(crate) fn new(model: String, url: Url, headers: HeaderMap, secrets: Vec<Secret>) -> Self {
        Self { model, url, headers, secrets }
    }

    /// The same target with one more header, which is no secret.
    pub(crate) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    /// The same target with one more parameter in its query.
    pub(crate) fn with_parameter(mut self, name: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    /// Host, and port where one is named.
    fn service(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The model's name, as errors and spans show it.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The address as requests use it, credentials and query included.
    pub(crate) fn address(&self) -> &Url {
        &self.url
    }

    /// The address without credentials and query.
    pub fn url(&self) -> Url {
        let mut url = self.url.clone();
        // Both fail for URLs without a host only, and those are refused when a target is made.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url
    }

    /// `text` on one line, without this target's secrets, cut to a readable length.
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

/// Whether an answer is handed over as it arrives or when it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// From the first byte on; what breaks after it is the caller's to handle.
    Streamed,
    /// As a whole; an answer that breaks in the middle is asked for again.
    Whole,
}

/// A client that can be shared by every model of one provider, whose limits it then keeps together.
#[derive(Debug)]
pub struct HttpClient {
    config: HttpConfig,
    /// One pool per way out, made when first used, so that plain http never pays for TLS certificates.
    pools: Mutex<BTreeMap<Route, reqwest::Client>>,
    slots: Arc<Semaphore>,
    limits: Arc<Limits>,
    breaker: Arc<Breaker>,
    time: Arc<dyn Pacer>,
    calls: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Route {
    tls: bool,
    loopback: bool,
}

impl HttpClient {
    /// A client with `config`; connections are made by the first calls.
    pub fn new(config: HttpConfig) -> Self {
        Self::with_time(config, None, Arc::new(RealTime::start()))
    }

    /// A client that tells when its service is down and when it is back.
    pub fn with_listener(config: HttpConfig, listener: ServiceListener) -> Self {
        Self::with_time(config, Some(listener), Arc::new(RealTime::start()))
    }

    /// A client that waits by another clock.
    pub fn with_time(config: HttpConfig, listener: Option<ServiceListener>, time: Arc<dyn Pacer>) -> Self {
        let (requests, tokens) = (config.requests_per_minute, config.tokens_per_minute);
        let limits = Arc::new(Limits::new(requests, tokens, time.clone()));
        let breaker = Arc::new(Breaker::new(config.max_pause, time.clone(), listener));
        let slots = Arc::new(Semaphore::new(config.max_concurrent.clamp(1, Semaphore::MAX_PERMITS)));
        Self { config, pools: Mutex::default(), slots, limits, breaker, time, calls: AtomicU64::new(0) }
    }

    /// What a request with these texts costs; nothing is counted where there is no limit on tokens.
    pub(crate) fn cost<'a>(&self, texts: impl IntoIterator<Item = &'a str>, output: Output) -> Cost {
        if !self.limits.counts_tokens() {
            return Cost { prompt_tokens: 0, output };
        }
        let tokens = texts.into_iter().map(|text| graphloom_tokens::count(text) as u64 + FRAME_TOKENS);
        Cost { prompt_tokens: tokens.sum(), output }
    }

    /// Posts a JSON `body` and waits for the answer, retrying what may succeed on a second try.
    ///
    /// - Retried are connection errors, broken answers and the statuses 408, 429 and 5xx, at most
    ///   [`HttpConfig::max_attempts`] times in all and never after the caller has seen a byte. A `Retry-After` header
    ///   takes the place of the computed wait and holds back every other call of this client as well.
    /// - Where the service fails call after call, all calls wait until one of them, the probe, is answered; none
    ///   longer than [`HttpConfig::max_pause`].
    pub(crate) async fn post(
        &self,
        target: &Target,
        body: Bytes,
        cost: Cost,
        delivery: Delivery,
    ) -> Result<HttpAnswer, ModelError> {
        let client = self.pool(target)?;
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
        let mut patience = self.breaker.patience(target.service());
        let mut waits = self.backoff();
        let mut attempts = 0;
        loop {
            patience.pass().await?;
            let admission = self.limits.admit(cost).await;
            if patience.must_wait() {
                admission.unanswered();
                continue;
            }
            attempts += 1;
            let started = Instant::now();
            let failure = match self.attempt(&client, target, body.clone(), delivery).await {
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
            let (not_now, named) = (failure.is_not_now(patience.was_reached()), failure.named_wait());
            let mut error = failure.into_model_error(target);
            if not_now {
                match patience.failed(error, wait.is_none(), named) {
                    Verdict::GoOn(same) => error = same,
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
            self.time.sleep(wait).await;
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
        let mut response = Failure::in_time(first_byte, request.send()).await?;
        if !response.status().is_success() {
            return Err(Failure::from_response(response, self.config.idle_timeout).await);
        }
        let limit = self.config.max_answer_bytes;
        let first = Failure::in_time(first_byte, response.chunk()).await?;
        let Some(first) = first else { return Ok((response, None)) };
        if first.len() > limit {
            return Err(Failure::TooLarge { limit });
        }
        if delivery == Delivery::Streamed {
            return Ok((response, Some(first)));
        }
        let mut whole = first;
        let mut rest: Option<Vec<u8>> = None;
        while let Some(chunk) = Failure::in_time(self.config.idle_timeout, response.chunk()).await? {
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
            url: target.url().to_string(),
            what: error.to_string(),
        })?;
        pools.insert(route, client.clone());
        Ok(client)
    }

    fn build(&self, route: Route) -> Result<reqwest::Client, ConfigError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // A redirect would carry the key to another host, and turns a POST into a GET: it is reported instead.
        let mut builder = reqwest::Client::builder()
            .connect_timeout(self.config.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .user_agent(concat!("graphloom/", env!("CARGO_PKG_VERSION")));
        if route.loopback || !self.config.system_proxy {
            builder = builder.no_proxy();
        }
        if route.tls {
            // Fails where a provider is installed already, which then is the one the application wants.
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

/// `body` as JSON.
pub(crate) fn encode(body: &impl serde::Serialize, model: &str) -> Result<Bytes, ModelError> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| ModelError::Local {
        model: model.to_owned(),
        what: format!("writing the request: {error}"),
    })
}

/// Tokens that a provider puts around each message or text, at most.
const FRAME_TOKENS: u64 = 8;

fn elapsed_ms(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}
