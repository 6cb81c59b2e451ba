//! What every request can reach.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use graphloom_core::{Timestamp, WorkspaceId};
use tokio::sync::{Semaphore, watch};

use crate::access::{AccessFile, Throttle};
use crate::body::Bodies;
use crate::host::Host;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::origin::Network;
use crate::quiet::Activity;
use crate::rates::Rates;
use crate::space::{Spaces, Watched};
use crate::turns::Turns;

/// What every request can reach; clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    /// The workspaces.
    pub(crate) spaces: Spaces,
    /// What reads documents.
    pub(crate) host: Arc<dyn Host>,
    /// Who may do what.
    pub(crate) access: AccessFile,
    /// Slows down guessing passwords.
    pub(crate) throttle: Throttle,
    /// Passwords that are checked at once: each takes much memory and time.
    pub(crate) passwords: Semaphore,
    /// How much each caller has sent.
    pub(crate) rates: Rates,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    /// Whether something goes on.
    pub(crate) activity: Arc<Activity>,
    /// Signs tokens that open nothing.
    pub(crate) guest_secret: [u8; 32],
    /// The workspace of requests that name none.
    pub(crate) default_workspace: WorkspaceId,
    /// Whether only this machine can connect.
    pub(crate) is_loopback: bool,
    /// Origins of web pages that may ask, beside the server's own.
    pub(crate) cors_origins: Vec<String>,
    /// Proxies that are believed about whom they ask for.
    pub(crate) trusted_proxies: Vec<Network>,
    /// Turns of questions.
    pub(crate) questions: Turns,
    /// Turns of changes.
    pub(crate) changes: Turns,
    /// Turns of requests that read all of a workspace.
    pub(crate) wholes: Turns,
    /// Turns of streams of events.
    pub(crate) streams: Turns,
    /// Turns of looks.
    pub(crate) looks: Turns,
    /// Turns of logins.
    pub(crate) logins: Turns,
    /// Where bodies of requests wait.
    pub(crate) bodies: Bodies,
    /// The limits.
    pub(crate) limits: Limits,
    /// When it began to serve.
    pub(crate) started: Instant,
    /// Whether it is to be left: it stops soon.
    pub(crate) draining: watch::Receiver<bool>,
    /// Whether what is still under way must end.
    pub(crate) cut: watch::Receiver<bool>,
}

/// What an [`App`] is made of.
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

/// Whether what waits in the workspaces is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Indexing {
    /// It is.
    On,
    /// It is left to other processes.
    Off,
}

/// Passwords checked at once. One keeps a processor busy; more would leave none of a small machine to who has a key.
const PASSWORDS: usize = 1;
/// One address gets at most one in this many of the turns of logins.
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
        let (metrics, activity) = (Metrics::new(), Arc::<Activity>::default());
        let watched = Watched { metrics: Arc::clone(&metrics), activity: Arc::clone(&activity) };
        Self(Arc::new(Inner {
            spaces: Spaces::new(Arc::clone(&host), &limits, indexing, watched, stop),
            host,
            access: AccessFile::of(data_dir),
            throttle: Throttle::default(),
            passwords: Semaphore::new(PASSWORDS),
            rates: Rates::new(limits.rate_of_caller, limits.rate_of_stranger),
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
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// The time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}
