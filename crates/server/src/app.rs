//! The state shared by all requests.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use graphloom_core::{Timestamp, WorkspaceId};
use tokio::sync::{Semaphore, watch};

use crate::access::{AccessStore, Throttle};
use crate::body::Bodies;
use crate::counts::SharedCounts;
use crate::host::Host;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::origin::Network;
use crate::quiet::Activity;
use crate::rates::Rates;
use crate::space::{LiveState, Spaces};
use crate::turns::Turns;

/// The shared state; clones refer to the same one.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    /// The workspaces.
    pub(crate) spaces: Spaces,
    /// Provides workspaces and reads documents.
    pub(crate) host: Arc<dyn Host>,
    /// Keys and users.
    pub(crate) access: AccessStore,
    /// Slows down password guessing.
    pub(crate) throttle: Throttle,
    /// Limits concurrent password checks, which need much memory and time.
    pub(crate) passwords: Semaphore,
    /// Request rates of callers.
    pub(crate) rates: Rates,
    /// The counts that all servers of a database share; `None` if the workspaces are files.
    pub(crate) counts: Option<Arc<SharedCounts>>,
    /// Counters.
    pub(crate) metrics: Arc<Metrics>,
    /// Whether the server is busy.
    pub(crate) activity: Arc<Activity>,
    /// Signs guest tokens, which grant nothing.
    pub(crate) guest_secret: [u8; 32],
    /// The workspace of requests that do not name one.
    pub(crate) default_workspace: WorkspaceId,
    /// Whether the server listens only on a loopback address.
    pub(crate) is_loopback: bool,
    /// Additional origins of web pages that may send requests.
    pub(crate) cors_origins: Vec<String>,
    /// Proxies whose forwarded client addresses are trusted.
    pub(crate) trusted_proxies: Vec<Network>,
    /// Turns for questions.
    pub(crate) questions: Turns,
    /// Turns for changes.
    pub(crate) changes: Turns,
    /// Turns for requests that read a whole workspace.
    pub(crate) wholes: Turns,
    /// Turns for event streams.
    pub(crate) streams: Turns,
    /// Turns for short reads.
    pub(crate) looks: Turns,
    /// Turns for logins.
    pub(crate) logins: Turns,
    /// Request bodies in memory or on disk.
    pub(crate) bodies: Bodies,
    /// The limits.
    pub(crate) limits: Limits,
    /// Start time of the server.
    pub(crate) started: Instant,
    /// Whether the server will stop soon and load balancers should stop using it.
    pub(crate) draining: watch::Receiver<bool>,
    /// Whether running requests must end.
    pub(crate) cut: watch::Receiver<bool>,
}

/// The parts of an [`App`].
pub(crate) struct Parts<'a> {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) data_dir: &'a Path,
    pub(crate) default_workspace: WorkspaceId,
    pub(crate) address: IpAddr,
    pub(crate) cors_origins: Vec<String>,
    pub(crate) trusted_proxies: Vec<Network>,
    pub(crate) limits: Limits,
    pub(crate) guest_secret: [u8; 32],
    pub(crate) indexing: Indexing,
    pub(crate) draining: watch::Receiver<bool>,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) cut: watch::Receiver<bool>,
}

/// Whether this process indexes queued documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Indexing {
    /// It does.
    On,
    /// Other processes index them.
    Off,
}

/// Concurrent password checks. Each uses a whole processor; more would block clients with a key on a small
/// machine.
const PASSWORDS: usize = 1;
/// One address gets at most one in this many of the login turns.
const LOGINS_OF_ADDRESS: usize = 4;

impl App {
    pub(crate) fn new(parts: Parts<'_>) -> Self {
        let Parts {
            host,
            data_dir,
            default_workspace,
            address,
            cors_origins,
            trusted_proxies,
            limits,
            guest_secret,
            indexing,
            draining,
            stop,
            cut,
        } = parts;
        let access = AccessStore::of(host.shared_texts(), data_dir);
        let counts = host.shared_texts().map(|texts| Arc::new(SharedCounts::new(texts)));
        let (metrics, activity) = (Metrics::new(), Arc::<Activity>::default());
        let watched = LiveState { metrics: Arc::clone(&metrics), activity: Arc::clone(&activity) };
        Self(Arc::new(Inner {
            spaces: Spaces::new(Arc::clone(&host), &limits, indexing, watched, stop),
            host,
            access,
            throttle: Throttle::new(counts.clone()),
            passwords: Semaphore::new(PASSWORDS),
            rates: Rates::new(limits.rate_of_caller, limits.rate_of_stranger, counts.is_some()),
            counts,
            metrics,
            activity,
            guest_secret,
            default_workspace,
            is_loopback: address.is_loopback(),
            cors_origins,
            trusted_proxies,
            questions: Turns::new(limits.questions),
            changes: Turns::new(limits.changes),
            wholes: Turns::new(limits.wholes),
            streams: Turns::new(limits.streams),
            looks: Turns::new(limits.others),
            logins: Turns::shared(limits.logins, limits.logins / LOGINS_OF_ADDRESS),
            bodies: Bodies::new(data_dir),
            limits,
            started: Instant::now(),
            draining,
            cut,
        }))
    }

    /// Completes when running requests must end.
    pub(crate) fn must_end(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut cut = self.cut.clone();
        async move {
            // If there is no sender, the server is gone.
            let _ = cut.wait_for(|cut| *cut).await;
        }
    }
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// The current time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}
