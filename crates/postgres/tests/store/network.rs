//! Encryption, cut and slow connections, and a second server that takes over.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use graphloom_core::{Batch, DocumentId, Store, StoreError, WorkspaceId};
use graphloom_postgres::testing::{Server, TestDatabase, new_workspace, postgres_folder};
use graphloom_postgres::{Database, PostgresStore};
use graphloom_storage::conformance::{block_on, sample};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// How long a commit may take while the connection to the server is cut.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// The first message of a client that wants encryption: its length and its code.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Forwards connections to a server until it is dropped.
struct Proxy {
    port: u16,
    cut: watch::Sender<u64>,
    /// Makes open connections take what is sent without forwarding it.
    freeze: watch::Sender<u64>,
    /// How often a client sent something after an answer, over all connections.
    turns: Arc<AtomicU64>,
    _runtime: tokio::runtime::Runtime,
}

impl Proxy {
    fn to(server: SocketAddr) -> Self {
        Self::with(server, None, Duration::ZERO)
    }

    /// - `tls`: ends encryption here, for servers that are built without it.
    /// - `delay`: delays everything that is sent, in each direction.
    fn with(server: SocketAddr, tls: Option<TlsAcceptor>, delay: Duration) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let ((cut, cuts), (freeze, freezes)) = (watch::channel(0), watch::channel(0));
        let turns = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&turns);
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (tls, mut cuts, mut freezes) = (tls.clone(), cuts.clone(), freezes.clone());
                let turns = Arc::clone(&counted);
                cuts.mark_unchanged();
                freezes.mark_unchanged();
                tokio::spawn(async move {
                    let passing = pass_on(client, server, tls, delay, &turns);
                    tokio::pin!(passing);
                    tokio::select! {
                        // An error means that the peer went away.
                        _ = &mut passing => {}
                        _ = cuts.changed() => {}
                        // This host still acknowledges packets, but nothing is read or answered any more.
                        _ = freezes.changed() => { let _ = cuts.changed().await; }
                    }
                });
            }
        });
        Self { port, cut, freeze, turns, _runtime: runtime }
    }

    /// Creates a workspace in the database behind the proxy.
    fn store(&self) -> (Database, WorkspaceId, PostgresStore) {
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", self.port);
        let (database, name) = (Database::open(&url).expect("the database opens"), new_workspace());
        let store = block_on(database.open_or_create(name.clone())).expect("a store");
        (database, name, store)
    }

    /// Keeps open connections open but forwards nothing on them any more.
    fn freeze(&self) {
        self.freeze.send_modify(|freezes| *freezes += 1);
    }

    /// Cuts all open connections.
    fn cut(&self) {
        self.cut.send_modify(|cuts| *cuts += 1);
    }
}

async fn pass_on(
    mut client: TcpStream,
    server: SocketAddr,
    tls: Option<TlsAcceptor>,
    delay: Duration,
    turns: &AtomicU64,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    let Some(tls) = tls else {
        let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
        let answered = AtomicBool::new(true);
        let asking = late(from_client, to_server, delay, || {
            turns.fetch_add(u64::from(answered.swap(false, Ordering::Relaxed)), Ordering::Relaxed);
        });
        let answering = late(from_server, to_client, delay, || answered.store(true, Ordering::Relaxed));
        return tokio::try_join!(asking, answering).map(drop);
    };
    let mut first = [0; SSL_REQUEST.len()];
    client.read_exact(&mut first).await?;
    if first != SSL_REQUEST {
        return Err(std::io::Error::other("not encrypted"));
    }
    client.write_all(b"S").await?;
    let mut client = tls.accept(client).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// Forwards everything, each part after a delay, and calls `comes` for each part.
async fn late(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    delay: Duration,
    comes: impl Fn(),
) -> std::io::Result<()> {
    let mut part = vec![0; 1 << 16];
    loop {
        let length = from.read(&mut part).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        comes();
        tokio::time::sleep(delay).await;
        to.write_all(&part[..length]).await?;
    }
}

/// Returns a certificate for `localhost`, signed by its own authority, and the file with that authority.
fn encrypted(folder: &Path) -> (TlsAcceptor, String) {
    let (key, server_key) =
        (rcgen::KeyPair::generate().expect("a key"), rcgen::KeyPair::generate().expect("a key"));
    let mut authority = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = authority.self_signed(&key).expect("a certificate");
    let file = folder.join("authority.pem");
    std::fs::write(&file, certificate.pem()).expect("written");
    let issuer = rcgen::Issuer::new(authority, key);
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    let server = params.signed_by(&server_key, &issuer).expect("a certificate");
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![server.der().clone()], secret)
        .expect("a configuration");
    (TlsAcceptor::from(Arc::new(config)), file.display().to_string())
}

/// Returns the server's socket address from a database address.
fn server_of(url: &str) -> SocketAddr {
    let host = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).expect("a host");
    host.parse().expect("an address with a port")
}

#[test]
fn encrypted_connections_require_a_valid_server_certificate() {
    let (database, folder) = (TestDatabase::shared(), TempDir::new().expect("a folder"));
    let other = TempDir::new().expect("a folder");
    let ((tls, authority), (_, stranger)) = (encrypted(folder.path()), encrypted(other.path()));
    let proxy = Proxy::with(server_of(&database.url), Some(tls), Duration::ZERO);
    let url = |host: &str, mode: &str, authority: &str| {
        format!("postgres://postgres@{host}:{}/postgres?sslmode={mode}&sslrootcert={authority}", proxy.port)
    };
    for mode in ["require", "verify-ca", "verify-full"] {
        let opened = Database::open(&url("localhost", mode, &authority)).expect("the certificate is valid");
        let name = new_workspace();
        let store = block_on(opened.open_or_create(name.clone())).expect("a store");
        block_on(store.commit(sample::indexed("a", "Ada met Bob", "ADA", "BOB"))).expect("committed");
        block_on(opened.delete(&name)).expect("deleted");
    }
    for (url, why) in [
        (url("localhost", "require", &stranger), "another authority"),
        (url("127.0.0.1", "require", &authority), "the certificate of another name"),
        (url("localhost", "disable", &authority), "the server takes no plain connections"),
    ] {
        let refused = Database::open(&url).map(drop);
        assert!(
            matches!(refused, Err(StoreError::Unavailable { .. } | StoreError::Backend { .. })),
            "{why}: {refused:?}"
        );
    }
}

/// Commits until `meanwhile` returns, and returns the documents whose commits were acknowledged.
pub(super) fn commit_meanwhile(
    store: &PostgresStore,
    meanwhile: impl FnOnce(&Receiver<DocumentId>),
) -> Vec<DocumentId> {
    let (stop, (sent, committed)) = (AtomicBool::new(false), channel());
    let mut acknowledged = Vec::new();
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (sent, stop) = (sent.clone(), &stop);
            scope.spawn(move || {
                for number in (0..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                    let name = format!("{worker}-{number}");
                    let batch = sample::indexed(&name, &format!("{name} met Bob"), "ADA", "BOB");
                    let id = batch.put_documents[0].document.id.clone();
                    block_on(store.commit(batch)).expect("a commit outlives what happens on the way");
                    sent.send(id).expect("a listener");
                }
            });
        }
        drop(sent);
        meanwhile(&committed);
        stop.store(true, Ordering::Relaxed);
        acknowledged.extend(committed.iter());
    });
    acknowledged
}

pub(super) fn wait_for(committed: &Receiver<DocumentId>, acknowledged: &mut Vec<DocumentId>, count: usize) {
    acknowledged.extend((0..count).map(|_| committed.recv_timeout(MAX_WAIT).expect("commits go on")));
}

pub(super) fn require_all(store: &PostgresStore, acknowledged: &[DocumentId]) {
    let found = block_on(async { store.snapshot().await?.documents(acknowledged).await }).expect("documents");
    assert!(found.iter().all(Option::is_some), "an acknowledged document is lost");
    let revision = block_on(store.snapshot()).expect("a snapshot").revision().0;
    assert_eq!(revision, acknowledged.len() as u64, "each batch was applied once");
}

#[test]
fn connections_cut_during_commits_lose_nothing_and_apply_nothing_twice() {
    let database = TestDatabase::shared();
    let proxy = Proxy::to(server_of(&database.url));
    let (opened, name, store) = proxy.store();
    let mut acknowledged = Vec::new();
    let rest = commit_meanwhile(&store, |committed| {
        for _ in 0..8 {
            wait_for(committed, &mut acknowledged, 3);
            proxy.cut();
        }
    });
    acknowledged.extend(rest);
    require_all(&store, &acknowledged);
    block_on(opened.delete(&name)).expect("deleted");
}

#[test]
fn over_a_slow_network_everything_is_committed_once_and_can_be_read() {
    const DELAY: Duration = Duration::from_millis(5);
    let database = TestDatabase::shared();
    let proxy = Proxy::with(server_of(&database.url), None, DELAY);
    let (opened, name, store) = proxy.store();
    let mut acknowledged = Vec::new();
    let rest = commit_meanwhile(&store, |committed| wait_for(committed, &mut acknowledged, 6));
    acknowledged.extend(rest);
    require_all(&store, &acknowledged);
    block_on(opened.delete(&name)).expect("deleted");
}

#[test]
fn a_commit_takes_six_round_trips_and_one_with_deletions_ten() {
    const DELAY: Duration = Duration::from_millis(2);
    let database = TestDatabase::shared();
    let proxy = Proxy::with(server_of(&database.url), None, DELAY);
    let (opened, name, store) = proxy.store();
    let turns = |batch: Batch| {
        let before = proxy.turns.load(Ordering::Relaxed);
        block_on(store.commit(batch)).expect("committed");
        proxy.turns.load(Ordering::Relaxed) - before
    };
    let added = |numbers: std::ops::Range<usize>| -> Vec<Batch> {
        let names = numbers.map(|number| format!("document {number}"));
        names.map(|name| sample::indexed(&name, "Ada met Bob", "ADA", "BOB")).collect()
    };
    let (added, more) = (added(0..10), added(10..20));
    let ids = added.iter().map(|batch| vec![batch.put_documents[0].document.id.clone()]);
    let replacing: Vec<Batch> =
        ids.zip(more).map(|(remove_documents, batch)| Batch { remove_documents, ..batch }).collect();
    for (batches, expected) in [(added, 6), (replacing, 10)] {
        // The first commit prepares the statements. On a busy machine, statements that belong together may be sent separately.
        assert_eq!(batches.into_iter().map(turns).skip(1).min(), Some(expected));
    }
    block_on(opened.delete(&name)).expect("deleted");
}

#[test]
fn a_promoted_standby_has_every_acknowledged_commit() {
    std::fs::create_dir_all(postgres_folder()).expect("a folder");
    let folders = [(); 2].map(|()| {
        let folder = TempDir::new_in(postgres_folder()).expect("a folder");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).expect("readable");
        folder
    });
    let primary = Server::start(folders[0].path(), &[]);
    let standby = Server::follow(&primary, folders[1].path());
    // From here on, commits wait for the standby.
    graphloom_postgres::testing::execute(
        &primary.url(),
        "ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()",
    )
    .expect("the setting");
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), standby.port());
    let url = format!("postgres://postgres@{hosts}/postgres?sslmode=disable&target_session_attrs=read-write");
    let opened = Database::open(&url).expect("the database opens");
    let store = block_on(opened.open_or_create(WorkspaceId::default())).expect("a store");
    let mut acknowledged = Vec::new();
    let rest = commit_meanwhile(&store, |committed| {
        wait_for(committed, &mut acknowledged, 10);
        primary.crash();
        graphloom_postgres::testing::execute(&standby.url(), "SELECT 1").expect("the standby answers");
        standby.promote();
        graphloom_postgres::testing::execute(
            &standby.url(),
            "ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()",
        )
        .expect("the setting");
        wait_for(committed, &mut acknowledged, 10);
    });
    acknowledged.extend(rest);
    require_all(&store, &acknowledged);
}

#[test]
fn a_server_that_never_responds_is_given_up() {
    let database = TestDatabase::shared();
    let proxy = Proxy::to(server_of(&database.url));
    let url =
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable&statement_timeout=1", proxy.port);
    let (opened, name) = (Database::open(&url).expect("the database opens"), new_workspace());
    let store = block_on(opened.open_or_create(name.clone())).expect("a store");
    block_on(store.commit(sample::indexed("a", "Ada met Bob", "ADA", "BOB"))).expect("committed");
    let snapshot = block_on(store.snapshot()).expect("a snapshot");
    proxy.freeze();
    let refused = block_on(snapshot.counts());
    let Err(StoreError::Unavailable { what, .. }) = &refused else { panic!("{refused:?}") };
    assert_eq!(what, "reading: the server accepted the request but did not answer for 2 s");
    drop(snapshot);
    // The commit is retried on another connection, and the statements sent on the silent one are not applied twice.
    block_on(store.commit(sample::indexed("b", "Ada met Cy", "ADA", "CY"))).expect("committed");
    let snapshot = block_on(store.snapshot()).expect("a snapshot on a new connection");
    assert_eq!((snapshot.revision().0, block_on(snapshot.counts()).expect("counts").documents), (2, 2));
    drop(snapshot);
    block_on(opened.delete(&name)).expect("deleted");
    for wrong in ["0", "soon", "100000"] {
        let refused =
            Database::open(&url.replace("statement_timeout=1", &format!("statement_timeout={wrong}")));
        assert!(refused.is_err_and(|error| error.to_string().contains("reading the address")), "{wrong}");
    }
}
