//! What every request can reach.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use graphloom_core::{Timestamp, WorkspaceId};
use tokio::sync::{Semaphore, watch};

use crate::access::{AccessFile, Throttle};
use crate::host::Host;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::space::Spaces;

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
    /// What is counted.
    pub(crate) metrics: Metrics,
    /// Signs tokens that open nothing.
    pub(crate) guest_secret: [u8; 32],
    /// The workspace of requests that name none.
    pub(crate) default_workspace: WorkspaceId,
    /// Whether only this machine can connect.
    pub(crate) is_loopback: bool,
    /// Origins of web pages that may ask, beside the server's own.
    pub(crate) cors_origins: Vec<String>,
    /// Turns of each kind.
    pub(crate) questions: Arc<Semaphore>,
    /// Turns of changes.
    pub(crate) changes: Arc<Semaphore>,
    /// Turns of requests that read all of a workspace.
    pub(crate) wholes: Arc<Semaphore>,
    /// Turns of streams of events.
    pub(crate) streams: Arc<Semaphore>,
    /// Turns of looks.
    pub(crate) looks: Arc<Semaphore>,
    /// The limits.
    pub(crate) limits: Limits,
    /// When it began to serve.
    pub(crate) started: Instant,
    /// Whether it stops.
    pub(crate) stop: watch::Receiver<bool>,
}

/// What an [`App`] is made of.
pub(crate) struct Parts<'a> {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) data_dir: &'a Path,
    pub(crate) default_workspace: WorkspaceId,
    pub(crate) address: IpAddr,
    pub(crate) cors_origins: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) guest_secret: [u8; 32],
    pub(crate) indexing: Indexing,
    pub(crate) stop: watch::Receiver<bool>,
}

/// Whether what waits in the workspaces is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Indexing {
    /// It is.
    On,
    /// It is left to other processes.
    Off,
}

/// Passwords checked at once.
const PASSWORDS: usize = 2;

impl App {
    pub(crate) fn new(parts: Parts<'_>) -> Self {
        let Parts {
            host,
            data_dir,
            default_workspace,
            address,
            cors_origins,
            limits,
            guest_secret,
            indexing,
            stop,
        } = parts;
        let turns = |most: usize| Arc::new(Semaphore::new(most.max(1)));
        Self(Arc::new(Inner {
            spaces: Spaces::new(Arc::clone(&host), indexing, stop.clone()),
            host,
            access: AccessFile::of(data_dir),
            throttle: Throttle::default(),
            passwords: Semaphore::new(PASSWORDS),
            metrics: Metrics::new(),
            guest_secret,
            default_workspace,
            is_loopback: address.is_loopback(),
            cors_origins,
            questions: turns(limits.questions),
            changes: turns(limits.changes),
            wholes: turns(limits.wholes),
            streams: turns(limits.streams),
            looks: turns(limits.others),
            limits,
            started: Instant::now(),
            stop,
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

/// Who is at the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);
