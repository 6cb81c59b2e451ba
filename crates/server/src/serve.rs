//! The server: binds, accepts, and stops cleanly.

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
use crate::host::{Host, HostError, Missing};
use crate::limits::Limits;
use crate::metrics::UnderWay;
use crate::origin::{Network, Origin};
use crate::problem::chain;
use crate::quiet;
use crate::routes;
use crate::unread::watch as watch_body;

/// How long accepting rests after it failed, as it does where there are no file handles left.
const ACCEPT_REST: Duration = Duration::from_millis(100);
/// How long streams that are told to end may take to send why.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How to serve.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// The folder that holds who may do what.
    pub data_dir: PathBuf,
    /// The workspace of requests that name none; it is made where it does not exist.
    pub workspace: WorkspaceId,
    /// Origins of web pages that may ask, such as `https://app.example`; none but the server's own by default.
    pub cors_origins: Vec<String>,
    /// Proxies that are believed about whom they ask for.
    pub trusted_proxies: Vec<Network>,
    /// How much is taken on at once.
    pub limits: Limits,
}

/// Why the server does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It would be open to everybody.
    #[error("listening on {address} would let everybody on the network read and change everything")]
    Open {
        /// Where it should listen.
        address: IpAddr,
    },
    /// The address cannot be used.
    #[error("listening on {address}")]
    Bind {
        /// Where it should listen.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// Who may do what cannot be read.
    #[error("reading who may do what")]
    Access(#[from] AccessError),
    /// Its workspace cannot be served.
    #[error("opening the workspace")]
    Workspace(#[from] HostError),
}

impl ServeError {
    /// What the user can do about it, where something can be said.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Open { .. } => Some(
                "make a key first with `graphloom key create NAME`, or a user with `graphloom user add NAME`; or leave \
                 --host out to serve this machine alone"
                    .to_owned(),
            ),
            Self::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("another program listens there; choose another with --port".to_owned())
            }
            Self::Bind { .. } => None,
            Self::Access(error) => error.remedy().map(str::to_owned),
            Self::Workspace(error) => error.remedy.clone(),
        }
    }
}

/// A server that is bound and ready to run.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: App,
    phases: Phases,
}

/// Tells everything how far the server is with stopping.
struct Phases {
    drain: watch::Sender<bool>,
    stop: watch::Sender<bool>,
    cut: watch::Sender<bool>,
}

impl Server {
    /// Binds, and opens the default workspace. Other workspaces are opened once it runs.
    ///
    /// An address that others than this machine reach is refused while there are neither keys nor users.
    pub async fn bind(config: ServerConfig, host: Arc<dyn Host>) -> Result<Self, ServeError> {
        let ServerConfig { address, data_dir, workspace, cors_origins, trusted_proxies, limits } = config;
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
        if app.access.read()?.is_empty() && !address.ip().is_loopback() {
            return Err(ServeError::Open { address: address.ip() });
        }
        let bind = |source| ServeError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        if let Err(problem) = app.spaces.get(&workspace, Missing::Create).await {
            // A store that cannot be opened keeps nobody from the others; wrong configuration is said at once.
            if !app.spaces.is_store_unusable(&workspace) {
                let (message, remedy) = (problem.words(), None);
                return Err(ServeError::Workspace(HostError { message, remedy, is_of_store: false }));
            }
            tracing::error!(%workspace, error = problem.words(), "a workspace is not served");
        }
        Ok(Self { listener, address, app, phases: Phases { drain, stop, cut } })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether credentials are asked for.
    pub fn asks_for_credentials(&self) -> bool {
        self.app.access.read().map_or(true, |access| !access.is_empty())
    }

    /// Serves until `stop` is done. Then it says that it is not ready and still serves for the time to drain; then nothing new
    /// is accepted, what is under way is given a time, and the workers end between two commits. Streams that are not done by
    /// then end with an error.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, app, phases, .. } = self;
        let router = routes::router(&app);
        let graceful = GracefulShutdown::new();
        let connections = Arc::new(Semaphore::new(app.limits.connections.max(1)));
        let opening = app.clone();
        tokio::spawn(async move { opening.spaces.open_all().await });
        let (watched, stopping) = (app.clone(), phases.stop.subscribe());
        // What was opened at the start counts too.
        app.activity.note();
        tokio::spawn(
            async move { quiet::watch(Arc::clone(&watched.activity), &watched.spaces, stopping).await },
        );
        let drain = app.limits.drain;
        let mut stop = std::pin::pin!(async {
            stop.await;
            // Everybody who listens is a worker, a probe or a connection; without any there is nobody to tell.
            let _ = phases.drain.send(true);
            tokio::time::sleep(drain).await;
        });
        loop {
            // A connection takes its place before it is accepted, so that the rest waits in the system's own queue.
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
                    tracing::warn!(%error, "a connection could not be accepted");
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
            tracing::warn!("requests were still under way when the time to stop was over");
            let _ = phases.cut.send(true);
            // What still goes on ends with the process.
            let _ = tokio::time::timeout(LAST_WORDS, ended).await;
        }
    }
}

/// Serves one connection; `held` is let go with it.
fn connect<Place: Send + 'static>(
    stream: TcpStream,
    peer: SocketAddr,
    held: (Place, UnderWay),
    router: Router,
    app: &App,
    graceful: &GracefulShutdown,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "answers on a connection may be slower than they need be");
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
            // Whoever keeps a connection must learn now that it is the last answer on it, and not with the next request.
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
            // Mostly somebody who left.
            tracing::debug!(error = chain(&error), "a connection ended early");
        }
    });
}
