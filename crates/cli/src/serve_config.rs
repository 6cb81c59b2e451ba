//! Configuration of the server.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use graphloom::Result;
use graphloom::config::{Settings, invalid, number};
use graphloom_server::Network;

/// The configuration that only the server uses, checked.
#[derive(Debug, Clone)]
pub(crate) struct ServeConfig {
    /// Address to listen on.
    pub(crate) host: IpAddr,
    /// Port to listen on.
    pub(crate) port: u16,
    /// Origins of web pages that may send requests.
    pub(crate) cors_origins: Vec<String>,
    /// Proxies whose forwarded client address is trusted.
    pub(crate) trusted_proxies: Vec<Network>,
    /// How long a request waits in the queue.
    pub(crate) queue_timeout: Duration,
    /// How long the body of a request may take.
    pub(crate) body_timeout: Duration,
    /// Workspaces indexed at the same time; 0 leaves queued documents to other processes.
    pub(crate) workers: Option<usize>,
    /// How long the server keeps serving after a stop request.
    pub(crate) drain: Duration,
    /// How long requests in flight may take after that.
    pub(crate) stop_timeout: Duration,
    /// Maximum questions answered at the same time.
    pub(crate) max_concurrent_questions: usize,
    /// Maximum requests per minute of one key or user from other machines; `None` for no limit.
    pub(crate) rate_limit: Option<NonZeroU32>,
    /// Maximum requests per minute of one address without a valid credential; `None` for no limit.
    pub(crate) rate_limit_unknown: Option<NonZeroU32>,
}

/// Part of the stop timeout reserved for the commits after the calls in flight.
pub(crate) const LAST_COMMITS: Duration = Duration::from_millis(500);

impl ServeConfig {
    /// Returns how long indexing may wait for the answers of model calls in flight after a stop request.
    pub(crate) fn finish(&self) -> Duration {
        self.stop_timeout.saturating_sub(LAST_COMMITS)
    }

    /// Reads and checks the values.
    pub(crate) fn read(settings: &Settings) -> Result<Self> {
        let seconds =
            |key| -> Result<Duration> { Ok(Duration::from_secs(number(settings, key, 0)?.unwrap_or(0))) };
        let rate = |key| -> Result<Option<NonZeroU32>> {
            Ok(NonZeroU32::new(number(settings, key, 0)?.unwrap_or(0)))
        };
        Ok(Self {
            host: host(settings)?,
            port: number(settings, "port", 0)?.unwrap_or(0),
            cors_origins: cors_origins(settings)?,
            trusted_proxies: trusted_proxies(settings)?,
            queue_timeout: seconds("queue_timeout_s")?,
            body_timeout: number(settings, "body_timeout_s", 1)?.map_or(Duration::MAX, Duration::from_secs),
            workers: number(settings, "workers", 0)?,
            drain: seconds("drain_s")?,
            stop_timeout: seconds("stop_timeout_s")?,
            max_concurrent_questions: number(settings, "max_concurrent_questions", 1)?.unwrap_or(1),
            rate_limit: rate("rate_limit")?,
            rate_limit_unknown: rate("rate_limit_unknown")?,
        })
    }
}

fn host(settings: &Settings) -> Result<IpAddr> {
    let Some(setting) = settings.get("host") else { return Ok(Ipv4Addr::LOCALHOST.into()) };
    match setting.value.trim() {
        "localhost" => Ok(Ipv4Addr::LOCALHOST.into()),
        address => {
            address.parse().map_err(|_| invalid("host", setting, "an address, such as 127.0.0.1 or 0.0.0.0"))
        }
    }
}

/// Reads origins as browsers send them: only scheme, host and port.
fn cors_origins(settings: &Settings) -> Result<Vec<String>> {
    let Some(setting) = settings.get("cors_origins") else { return Ok(Vec::new()) };
    let is_origin = |origin: &str| {
        let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        host.is_some_and(|host| {
            !host.is_empty() && host.bytes().all(|b| b.is_ascii_graphic() && !b"/*,".contains(&b))
        })
    };
    let origins: Vec<String> = setting.value.split(',').map(|origin| origin.trim().to_owned()).collect();
    match origins.iter().all(|origin| is_origin(origin)) {
        true => Ok(origins),
        false => Err(invalid("cors_origins", setting, "origins such as https://app.example, without a path")),
    }
}

fn trusted_proxies(settings: &Settings) -> Result<Vec<Network>> {
    let Some(setting) = settings.get("trusted_proxies") else { return Ok(Vec::new()) };
    let proxies: Result<Vec<Network>, _> = setting.value.split(',').map(|one| one.trim().parse()).collect();
    proxies.map_err(|_| {
        invalid("trusted_proxies", setting, "addresses or networks, such as 127.0.0.1,10.0.0.0/8")
    })
}
