//! The server: binds, accepts connections, and stops cleanly.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use graphloom_core::WorkspaceId;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

use crate::access::{AccessError, random};
use crate::app::{App, Indexing, Parts};
use crate::guard::take_prefix;
use crate::host::{Host, HostError, IfMissing};
use crate::limits::Limits;
use crate::metrics::UnderWay;
use crate::origin::{Network, Origin};
use crate::problem::chain;
use crate::quiet;
use crate::routes;
use crate::unread::watch as watch_body;

/// Pause after accepting a connection failed, for example because no file handles were left.
const ACCEPT_REST: Duration = Duration::from_millis(100);
/// How often to read keys and users that are in a database.
const REFRESH_ACCESS: Duration = Duration::from_secs(1);
/// Minimum interval between exchanges of request counts with other servers, and after a failed one.
const SHARE_RATES: Duration = Duration::from_millis(500);
const SHARE_RATES_AGAIN: Duration = Duration::from_secs(5);
/// How often to look for workspaces with waiting documents.
const FIND_WORK: Duration = Duration::from_secs(1);
/// How often to look if that means opening every workspace.
const FIND_WORKSPACES: Duration = Duration::from_secs(30);
/// Time for ended streams to send their final value.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Settings of the server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address to listen on; port 0 picks a free one.
    pub address: SocketAddr,
    /// The folder with the access file.
    pub data_dir: PathBuf,
    /// The workspace of requests that do not name one; created if it does not exist.
    pub workspace: WorkspaceId,
    /// Origins of web pages that may send requests, such as `https://app.example`, besides the server's own.
    pub cors_origins: Vec<String>,
    /// Proxies whose forwarded client addresses are trusted.
    pub trusted_proxies: Vec<Network>,
    /// The routes to serve.
    pub routes: Routes,
    /// Limits on concurrent work.
    pub limits: Limits,
}

/// Which routes a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routes {
    /// All routes. The workspace of requests that name none is created if it does not exist.
    All,
    /// Health and metrics, for a process that only indexes.
    Health,
}

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It would be open to everyone.
    #[error("listening on {address} without keys or users would give everyone on the network full access")]
    Open {
        /// The configured address.
        address: IpAddr,
    },
    /// The address cannot be used.
    #[error("listening on {address}")]
    Bind {
        /// The configured address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// Keys and users cannot be read.
    #[error("reading keys and users")]
    Access(#[from] AccessError),
    /// Its workspace cannot be opened.
    #[error("opening the workspace")]
    Workspace(#[from] HostError),
}

/// A server that is bound and ready to run.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: App,
    routes: Routes,
    phases: Phases,
}

/// Signals the phases of stopping.
struct Phases {
    drain: watch::Sender<bool>,
    stop: watch::Sender<bool>,
    cut: watch::Sender<bool>,
}

impl Server {
    /// Binds the address and opens the default workspace. Other workspaces are opened once the server runs.
    ///
    /// Rejects an address that other machines can reach if there are no keys or users.
    pub async fn bind(config: ServerConfig, host: Arc<dyn Host>) -> Result<Self, ServeError> {
        let ServerConfig { address, data_dir, workspace, cors_origins, trusted_proxies, routes, limits } =
            config;
        let ((drain, draining), (stop, stopping), (cut, cutting)) =
            (watch::channel(false), watch::channel(false), watch::channel(false));
        let app = App::new(Parts {
            host,
            data_dir: &data_dir,
            default_workspace: workspace.clone(),
            address: address.ip(),
            cors_origins,
            trusted_proxies,
            limits,
            guest_secret: random()?,
            indexing: Indexing::On,
            draining,
            stop: stopping,
            cut: cutting,
        });
        app.access.refresh().await?;
        if app.access.read()?.is_empty() && !address.ip().is_loopback() {
            return Err(ServeError::Open { address: address.ip() });
        }
        let bind = |source| ServeError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        if routes == Routes::All
            && let Err(problem) = app.spaces.get(&workspace, IfMissing::Create).await
        {
            // A damaged store must not keep other workspaces from being served; a configuration error is reported
            // now.
            if !app.spaces.is_store_unusable(&workspace) {
                let (message, remedy) = (problem.words(), None);
                return Err(ServeError::Workspace(HostError { message, remedy, is_of_store: false }));
            }
            tracing::error!(%workspace, error = problem.words(), "a workspace is not served");
        }
        Ok(Self { listener, address, app, routes, phases: Phases { drain, stop, cut } })
    }

    /// The address the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether credentials are required.
    pub fn asks_for_credentials(&self) -> bool {
        self.app.access.read().map_or(true, |access| !access.is_empty())
    }

    /// Serves until `stop` completes. Then the server reports not ready and keeps serving for the drain time.
    /// After that it accepts nothing new, gives running requests time to finish, and stops the workers between two
    /// commits. What is unfinished by then is answered with an error; a stream ends with one.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, app, routes, phases, .. } = self;
        let router = match routes {
            Routes::All => routes::router(&app),
            Routes::Health => routes::health_router(&app),
        };
        let graceful = GracefulShutdown::new();
        let connections = Arc::new(Semaphore::new(app.limits.connections.max(1)));
        tokio::spawn(refresh_access(app.clone(), phases.stop.subscribe()));
        tokio::spawn(share_rates(app.clone(), phases.stop.subscribe()));
        tokio::spawn(find_work(app.clone(), routes, phases.stop.subscribe()));
        let (watched, stopping) = (app.clone(), phases.stop.subscribe());
        // What was opened at the start counts as activity too.
        app.activity.note();
        tokio::spawn(
            async move { quiet::watch(Arc::clone(&watched.activity), &watched.spaces, stopping).await },
        );
        let drain = app.limits.drain;
        let mut stop = std::pin::pin!(async {
            stop.await;
            // There may be no receiver.
            let _ = phases.drain.send(true);
            tokio::time::sleep(drain).await;
        });
        loop {
            // A connection takes a permit before it is accepted, so that others wait in the system's queue.
            let accepted = async {
                let place = Arc::clone(&connections).acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                accepted = accepted => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let held = (place, app.metrics.connect());
                    connect(stream, peer, held, router.clone(), &app, &graceful);
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(ACCEPT_REST).await;
                }
            }
        }
        let _ = phases.stop.send(true);
        drop(listener);
        let mut ended = std::pin::pin!(async {
            graceful.shutdown().await;
            app.spaces.stopped().await;
        });
        if tokio::time::timeout(app.limits.stop, &mut ended).await.is_err() {
            tracing::warn!("requests were still running when the stop timeout ended");
            let _ = phases.cut.send(true);
            // Anything still running ends with the process.
            let _ = tokio::time::timeout(LAST_WORDS, ended).await;
        }
    }
}

/// Reads keys that other servers create or revoke, until the server stops.
async fn refresh_access(app: App, mut stop: watch::Receiver<bool>) {
    let refreshing = async {
        loop {
            tokio::time::sleep(REFRESH_ACCESS).await;
            if let Err(error) = app.access.refresh().await {
                tracing::warn!(
                    error = chain(&error),
                    "reading keys and users failed; the previous ones are used"
                );
            }
        }
    };
    tokio::select! {
        () = refreshing => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// Shares request counts with the other servers of a database, until the server stops.
async fn share_rates(app: App, mut stop: watch::Receiver<bool>) {
    let Some(counts) = app.counts.clone() else { return };
    let sharing = async {
        loop {
            app.rates.limited_request().await;
            let rest = match app.rates.share(&counts).await {
                Ok(()) => SHARE_RATES,
                Err(error) => {
                    tracing::warn!(
                        error = chain(&error),
                        "request counts of other servers are unknown; only requests at this server count"
                    );
                    SHARE_RATES_AGAIN
                }
            };
            tokio::time::sleep(rest).await;
        }
    };
    tokio::select! {
        () = sharing => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// Opens workspaces with waiting documents, until the server stops.
async fn find_work(app: App, routes: Routes, mut stop: watch::Receiver<bool>) {
    if app.limits.workers == 0 {
        return app.spaces.open_all().await;
    }
    let finding = async {
        loop {
            let is_known = app.spaces.open_with_work().await;
            // If that is not known, every workspace is open now and checks by itself. New workspaces come with requests.
            let rest = match (is_known, routes) {
                (true, _) => FIND_WORK,
                (false, Routes::Health) => FIND_WORKSPACES,
                (false, Routes::All) => return,
            };
            tokio::time::sleep(rest).await;
        }
    };
    tokio::select! {
        () = finding => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// Serves one connection; drops `held` with it.
fn connect<Place: Send + 'static>(
    stream: TcpStream,
    peer: SocketAddr,
    held: (Place, UnderWay),
    router: Router,
    app: &App,
    graceful: &GracefulShutdown,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "setting a connection option failed");
    }
    let shared = app.clone();
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        let origin = Origin::of(peer.ip(), request.headers(), &shared.trusted_proxies);
        request.extensions_mut().insert(origin);
        let (head, body) = request.into_parts();
        let (body, ended) = watch_body(body);
        let request: Request = take_prefix(Request::from_parts(head, axum::body::Body::new(body)));
        let (answering, draining) = (router.clone().oneshot(request), shared.draining.clone());
        async move {
            let mut response = answering.await?;
            // A client that reuses connections must learn now that this one closes.
            if !ended.get() || *draining.borrow() {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits.head)
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        let _held = held;
        if let Err(error) = connection.await {
            // Usually the client disconnected.
            tracing::debug!(error = chain(&error), "a connection ended early");
        }
    });
}
