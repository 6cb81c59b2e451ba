//! Databases: addresses, encryption, pools of connections, and the workspaces of each.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime as PoolRuntime,
    TimeoutType, Timeouts,
};
use futures::FutureExt;
use graphloom_core::{SchemaVersion, StoreError, WorkspaceId};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::client::Client;
use crate::error::Fault;
use crate::memory::MemoryLimit;
use crate::session::Session;
use crate::store::PostgresStore;
use crate::{migrate, nearest_index, rows, workers};

/// Connections per process for snapshots, commits, turns to change a graph, turns to write summaries, and beats.
const MAX_READERS: usize = 16;
const MAX_WRITERS: usize = 8;
const MAX_TURNS: usize = 8;
const MAX_SUMMARIES: usize = 8;
const MAX_BEATS: usize = 1;
/// How long to wait for a connection if all are in use, and how long opening one may take.
const MAX_WAIT: Duration = Duration::from_secs(30);
const MAX_CONNECT: Duration = Duration::from_secs(10);
/// How long to retry while the database restarts or the connection breaks.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How long to retry while opening the database. Shorter, because the address may be wrong.
const OPENING_PATIENCE: Duration = Duration::from_secs(3);
/// First and longest pause between two tries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Idle time after which a connection may be closed.
const MAX_IDLE: Duration = Duration::from_secs(60);
/// How long a statement may take before the server cancels it: the default, and the maximum that an address can set.
const STATEMENT_SECONDS: u64 = 300;
const MAX_STATEMENT_SECONDS: u64 = 86_400;

/// Returns the settings of every connection. The server cancels statements that take longer. It also ends snapshots
/// that nothing reads from for ten minutes, because they keep the database from reusing space.
fn settings(statement_seconds: u64) -> String {
    format!(
        "SET statement_timeout = '{statement_seconds}s'; SET lock_timeout = '{statement_seconds}s'; \
         SET idle_in_transaction_session_timeout = '600s'; SET client_min_messages = 'warning'; SET jit = off"
    )
}

/// Returns how long to wait for an answer: a little longer than a statement may take.
fn patience(statement_seconds: u64) -> Duration {
    Duration::from_secs(statement_seconds + (statement_seconds / 10).max(1))
}

/// A database with workspaces. Clones share connections, which close with the last clone, store and snapshot.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    /// `None` only during the drop.
    runtime: Option<Runtime>,
    /// The address without user and password.
    pub(crate) name: String,
    pub(crate) readers: Pool,
    pub(crate) writers: Pool,
    turns: Pool,
    /// Each connection holds the turn to write the summaries of one workspace while models are called.
    summaries: Pool,
    /// For the beats of workers. Separate, so that other work cannot delay them.
    beats: Pool,
    /// How long to wait for an answer.
    patience: Duration,
    /// SQL that each connection starts with.
    pub(crate) settings: String,
    /// Workers that have ended or are silent, as of the latest beat.
    silent: Mutex<BTreeSet<String>>,
    /// Milliseconds by which the database's clock is ahead of this host's.
    ahead_ms: AtomicI64,
    /// Memory reserved for the search data of all workspaces.
    pub(crate) memory: Arc<MemoryLimit>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The last holder may be a task, which must not wait for the threads.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Database {
    /// Opens the database at `postgres://[user[:password]@]host[:port]/database[?option=value]` and brings its tables
    /// up to date, creating missing ones.
    ///
    /// `sslmode` sets the encryption: `disable`, `prefer` (default), `require`, `verify-ca` or `verify-full`. On an
    /// encrypted connection, the server's certificate and name are always verified against the system's certificate
    /// authorities or those in the file that `sslrootcert` names. `statement_timeout` is the longest time that a
    /// statement may take, in whole seconds (default 300). If the server does not answer within a tenth more than that,
    /// the connection is closed with an error that says so.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let database = Self::prepare(url)?;
        let opened = Arc::clone(&database.shared);
        database.shared.wait("opening", async move {
            opened.patiently("opening", OPENING_PATIENCE, || migrate::migrate(&opened)).await?;
            opened.patiently("opening", OPENING_PATIENCE, || opened.read_clock()).await
        })?;
        Ok(database)
    }

    /// Returns the version of the tables in the database at an address. Changes nothing.
    pub fn schema_version(url: &str) -> Result<SchemaVersion, StoreError> {
        let shared = Self::prepare(url)?.shared;
        let opened = Arc::clone(&shared);
        shared.wait("reading the schema version", async move {
            opened.patiently("opening", OPENING_PATIENCE, || migrate::versions(&opened)).await
        })
    }

    /// Creates the pools for the database at an address without connecting to it.
    fn prepare(url: &str) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let name = address.name();
        let failed = |what: &str, source: Box<dyn std::error::Error + Send + Sync>| StoreError::Backend {
            operation: format!("{what} for {name}"),
            source,
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("graphloom-postgres")
            .enable_all()
            .build()
            .map_err(|e| failed("starting the threads", Box::new(e)))?;
        let tls = address.tls().map_err(|e| failed("reading certificates", e))?;
        let settings = settings(address.statement_seconds);
        let pool = |size| {
            let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
            let settings = settings.clone();
            let setup = Hook::async_fn(move |client, _| {
                let settings = settings.clone();
                Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
            });
            let manager = Manager::from_config(address.config.clone(), tls.clone(), config);
            Pool::builder(manager)
                .max_size(size)
                .wait_timeout(Some(MAX_WAIT))
                .create_timeout(Some(MAX_CONNECT))
                .recycle_timeout(Some(MAX_CONNECT))
                .post_create(setup)
                .runtime(PoolRuntime::Tokio1)
                .build()
                .map_err(|e| failed("preparing connections", Box::new(e)))
        };
        let (readers, writers, turns) = (pool(MAX_READERS)?, pool(MAX_WRITERS)?, pool(MAX_TURNS)?);
        let summaries = pool(MAX_SUMMARIES)?;
        let (beats, silent, ahead_ms) = (pool(MAX_BEATS)?, Mutex::default(), AtomicI64::new(0));
        let (runtime, memory) = (Some(runtime), Arc::default());
        let patience = patience(address.statement_seconds);
        let shared = Shared {
            runtime,
            name,
            readers,
            writers,
            turns,
            summaries,
            beats,
            patience,
            settings,
            silent,
            ahead_ms,
            memory,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The address without user and password.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns the workspaces, sorted by name.
    pub async fn list(&self) -> Result<Vec<WorkspaceId>, StoreError> {
        self.run("listing workspaces", |shared| async move {
            let client = shared.reader().await?;
            let found = client.query("SELECT name FROM workspaces ORDER BY name", &[]).await?;
            found
                .iter()
                .map(|row| rows::get(row, 0).map(|name: String| WorkspaceId::from_stored(name)))
                .collect()
        })
        .await
    }

    /// True if the workspace exists.
    pub async fn exists(&self, workspace: &WorkspaceId) -> Result<bool, StoreError> {
        Ok(self.row(workspace, false).await?.is_some())
    }

    /// Returns the settings that a workspace is built with. Empty if it does not exist or stores none.
    pub async fn settings_of(&self, workspace: &WorkspaceId) -> Result<BTreeMap<String, String>, StoreError> {
        let name = workspace.to_string();
        self.run("reading settings", move |shared| {
            let name = name.clone();
            async move {
                let client = shared.reader().await?;
                let row =
                    client.query_opt("SELECT settings FROM workspaces WHERE name = $1", &[&name]).await?;
                row.map_or_else(|| Ok(BTreeMap::new()), |row| rows::parse(rows::get(&row, 0)?))
            }
        })
        .await
    }

    /// Opens the store of a workspace and creates the workspace if it does not exist.
    pub async fn open_or_create(&self, workspace: WorkspaceId) -> Result<PostgresStore, StoreError> {
        let row = self.row(&workspace, true).await?;
        let missing = || StoreError::Gone { path: format!("workspace {workspace} of {}", self.shared.name) };
        let row = row.ok_or_else(missing)?;
        Ok(PostgresStore::start(Arc::clone(&self.shared), workspace, row))
    }

    /// Returns the workspaces in which a worker would find work, sorted by name.
    pub async fn with_work(&self) -> Result<Vec<WorkspaceId>, StoreError> {
        self.run("looking for work", |shared| async move { workers::with_work(&shared).await }).await
    }

    /// Returns the version and text of a shared text, which belongs to no workspace.
    pub(crate) async fn shared_text(&self, name: &str) -> Result<Option<(u64, String)>, StoreError> {
        let name = name.to_owned();
        self.run("reading a shared text", move |shared| {
            let name = name.clone();
            async move {
                let client = shared.reader().await?;
                let row = client
                    .query_opt("SELECT version, body FROM shared_texts WHERE name = $1", &[&name])
                    .await?;
                row.map(|row| Ok((rows::number(&row, 0)?, rows::get(&row, 1)?))).transpose()
            }
        })
        .await
    }

    /// Replaces a shared text if it still has this version.
    pub(crate) async fn replace_shared_text(
        &self,
        name: &str,
        version: u64,
        text: &str,
    ) -> Result<bool, StoreError> {
        let (name, text, version) =
            (name.to_owned(), text.to_owned(), i64::try_from(version).unwrap_or(i64::MAX));
        self.run("changing a shared text", move |shared| {
            let (name, text) = (name.clone(), text.clone());
            async move {
                let client = shared.writer().await?;
                let sql = match version {
                    0 => {
                        "INSERT INTO shared_texts (name, version, body) VALUES ($1, $2::int8 + 1, $3) ON CONFLICT DO NOTHING"
                    }
                    _ => "UPDATE shared_texts SET version = version + 1, body = $3 WHERE name = $1 AND version = $2",
                };
                Ok(client.execute(sql, &[&name, &version, &text]).await? == 1)
            }
        })
        .await
    }

    /// Deletes a workspace with everything in it, if it exists. Open stores of the workspace then refuse commits.
    pub async fn delete(&self, workspace: &WorkspaceId) -> Result<(), StoreError> {
        let Some(row) = self.row(workspace, false).await? else { return Ok(()) };
        self.run("deleting a workspace", move |shared| async move {
            let session = Session::write(&shared, row).await?;
            delete_rows(&shared, session, row).await
        })
        .await
    }

    /// Blocks commits to a workspace until the result is dropped.
    pub(crate) async fn hold(&self, workspace: &WorkspaceId) -> Result<HeldRow, StoreError> {
        let gone = || StoreError::Gone { path: format!("workspace {workspace} of {}", self.shared.name) };
        let row = self.row(workspace, false).await?.ok_or_else(gone)?;
        let session = self
            .run("holding a workspace", move |shared| async move {
                // Every commit locks this row first.
                let lock = "SELECT FROM workspaces WHERE id = $1 FOR UPDATE";
                let (session, found) = Session::write_row(&shared, row, lock).await?;
                Ok(found.map(|_| session))
            })
            .await?
            .ok_or_else(gone)?;
        Ok(HeldRow { shared: Arc::clone(&self.shared), row, session })
    }

    /// Returns the number of a workspace.
    async fn row(&self, workspace: &WorkspaceId, create: bool) -> Result<Option<i64>, StoreError> {
        let name = workspace.to_string();
        self.run("opening a workspace", move |shared| {
            let name = name.clone();
            async move {
                let client = shared.writer().await?;
                let find = "SELECT id FROM workspaces WHERE name = $1";
                let mut row = client.query_opt(find, &[&name]).await?;
                if row.is_none() && create {
                    let insert = "INSERT INTO workspaces (name) VALUES ($1) ON CONFLICT DO NOTHING";
                    client.execute(insert, &[&name]).await?;
                    row = client.query_opt(find, &[&name]).await?;
                }
                row.map(|row| rows::get(&row, 0)).transpose()
            }
        })
        .await
    }

    /// Runs a step on the database's threads.
    async fn run<T, F>(
        &self,
        operation: &'static str,
        step: impl Fn(Arc<Shared>) -> F + Send + Sync + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send,
    {
        let shared = Arc::clone(&self.shared);
        let patient =
            async move { shared.patiently(operation, PATIENCE, || step(Arc::clone(&shared))).await };
        self.shared.run(operation, patient).await
    }
}

impl Shared {
    pub(crate) fn handle(&self) -> &tokio::runtime::Handle {
        match &self.runtime {
            Some(runtime) => runtime.handle(),
            None => unreachable!("the runtime lives as long as what is shared"),
        }
    }

    /// Starts a task on the database's threads. The task is boxed because the runtime's code is compiled for each task type.
    pub(crate) fn start(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle().spawn(task.boxed());
    }

    /// Returns a connection for reads.
    pub(crate) async fn reader(&self) -> Result<Client, Fault> {
        Client::of(&self.readers, self.patience, self.handle()).await
    }

    /// Returns a connection for commits, which executes statements in the order in which they are sent.
    pub(crate) async fn writer(&self) -> Result<Client, Fault> {
        Ok(Client::of(&self.writers, self.patience, self.handle()).await?.in_order())
    }

    /// Returns a connection that can hold a turn.
    pub(crate) async fn turn(&self) -> Result<Client, Fault> {
        Client::of(&self.turns, self.patience, self.handle()).await
    }

    /// Returns the connection for beats.
    pub(crate) async fn beat(&self) -> Result<Client, Fault> {
        Client::of(&self.beats, self.patience, self.handle()).await
    }

    /// Workers that have ended or are silent, as of the latest beat.
    pub(crate) fn silent(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds by which the database's clock is ahead of this host's.
    pub(crate) fn ahead_ms(&self) -> i64 {
        self.ahead_ms.load(Ordering::Relaxed)
    }

    async fn read_clock(&self) -> Result<(), Fault> {
        self.set_clock(&self.writer().await?).await
    }

    /// Compares the clocks of the database and this host.
    pub(crate) async fn set_clock(&self, client: &Client) -> Result<(), Fault> {
        let before = workers::local_ms();
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8";
        if let Some(row) = client.query_opt(sql, &[]).await? {
            let here = before.midpoint(workers::local_ms());
            self.ahead_ms.store(rows::get::<i64>(&row, 0)?.saturating_sub(here), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Runs a step on the database's threads and blocks until it is done.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        operation: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = sync_channel(1);
        self.start(async move {
            let _ = reply.send(step.await);
        });
        answer.recv().unwrap_or_else(|_| Err(self.stopped(operation)))
    }

    /// Returns a connection that can hold a turn to write summaries. `None` if all are in use.
    pub(crate) async fn summaries_turn(&self) -> Result<Option<Client>, Fault> {
        let at_once = Timeouts { wait: Some(Duration::ZERO), ..self.summaries.timeouts() };
        match self.summaries.timeout_get(&at_once).await {
            Err(PoolError::Timeout(TimeoutType::Wait)) => Ok(None),
            connection => Ok(Some(Client::new(connection?, self.patience, self.handle()))),
        }
    }

    /// Closes connections that were idle for a minute.
    pub(crate) fn close_idle(&self) {
        for pool in [&self.readers, &self.writers, &self.turns, &self.summaries, &self.beats] {
            pool.retain(|_, metrics| metrics.last_used() < MAX_IDLE);
        }
    }

    /// Runs a step on the database's threads. Dropping the future does not stop the step.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.start(async move {
            let _ = reply.send(step.await);
        });
        answer.await.unwrap_or_else(|_| Err(self.stopped(operation)))
    }

    /// Repeats a step while the database restarts, moves or breaks connections.
    pub(crate) async fn patiently<T, F>(
        &self,
        operation: &str,
        patience: Duration,
        mut step: impl FnMut() -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let until = Instant::now() + patience;
        let (mut pause, longest) = PAUSES;
        let mut silences = 0;
        loop {
            match step().await {
                // A silent connection uses up the whole time limit, so the step gets one more try on another connection.
                Err(Fault::Silent(waited)) if silences == 0 => {
                    silences += 1;
                    tracing::warn!(
                        operation,
                        ?waited,
                        "the database did not answer; trying another connection"
                    );
                }
                Err(fault) if fault.is_passing() && Instant::now() < until => {
                    tracing::debug!(operation, ?fault, "the database is not ready");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(longest);
                }
                done => return done.map_err(|fault| fault.into_store(operation, &self.name)),
            }
        }
    }

    fn stopped(&self, operation: &str) -> StoreError {
        StoreError::Backend {
            operation: format!("{operation} in {}", self.name),
            source: "the task of the database has stopped".into(),
        }
    }
}

/// A workspace whose row is locked.
pub(crate) struct HeldRow {
    shared: Arc<Shared>,
    row: i64,
    session: Session,
}

impl HeldRow {
    /// Deletes the workspace with everything in it.
    pub(crate) async fn delete(self) -> Result<(), StoreError> {
        let Self { shared, row, session } = self;
        let deleting = Arc::clone(&shared);
        let delete = async move {
            let deleted = delete_rows(&deleting, session, row).await;
            deleted.map_err(|fault| fault.into_store("deleting a workspace", &deleting.name))
        };
        shared.run("deleting a workspace", delete).await
    }
}

/// Deletes everything in a workspace. Commits that wait for its row find it gone.
async fn delete_rows(shared: &Shared, session: Session, row: i64) -> Result<(), Fault> {
    session.run("DELETE FROM workspaces WHERE id = $1", &[]).await?;
    for table in migrate::TABLES {
        session.run(&format!("DELETE FROM {table} WHERE workspace_id = $1"), &[]).await?;
    }
    session.commit().await?;
    nearest_index::forget(shared, row).await
}

/// A parsed address.
struct Address {
    config: tokio_postgres::Config,
    /// File with the certificate authorities. The system's are used if `None`.
    authorities: Option<String>,
    /// How long a statement may take.
    statement_seconds: u64,
}

impl Address {
    fn parse(url: &str) -> Result<Self, StoreError> {
        let (base, options) = url.split_once('?').unwrap_or((url, ""));
        let (mut authorities, mut kept, mut statement_seconds) = (None, Vec::new(), STATEMENT_SECONDS);
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("sslrootcert", path)) => authorities = Some(path.replace("%2F", "/")),
                Some(("statement_timeout", seconds)) => {
                    let given =
                        seconds.parse().ok().filter(|given| (1..=MAX_STATEMENT_SECONDS).contains(given));
                    statement_seconds = given.ok_or_else(|| StoreError::Backend {
                        operation: "reading the address of the database".to_owned(),
                        source: format!(
                            "statement_timeout is {seconds:?}; give whole seconds from 1 to {MAX_STATEMENT_SECONDS}"
                        )
                        .into(),
                    })?;
                }
                // Certificates and names are always verified.
                Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
                _ => kept.push(option),
            }
        }
        let address = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        let config: tokio_postgres::Config = address.parse().map_err(|error| StoreError::Backend {
            operation: "reading the address of the database".to_owned(),
            source: Box::new(error),
        })?;
        let mut config = config;
        config.application_name("graphloom").connect_timeout(MAX_CONNECT);
        // Detects a peer that vanished instead of waiting for it.
        config.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(Duration::from_secs(60));
        Ok(Self { config, authorities, statement_seconds })
    }

    fn name(&self) -> String {
        let host = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let hosts: Vec<String> = self.config.get_hosts().iter().map(host).collect();
        let ports: Vec<String> = self.config.get_ports().iter().map(|port| format!(":{port}")).collect();
        format!(
            "postgres://{}{}/{}",
            hosts.join(","),
            ports.join(","),
            self.config.get_dbname().unwrap_or_default()
        )
    }

    fn tls(&self) -> Result<MakeRustlsConnect, Box<dyn std::error::Error + Send + Sync>> {
        let mut roots = rustls::RootCertStore::empty();
        if let Some(path) = &self.authorities {
            for certificate in CertificateDer::pem_file_iter(path)? {
                roots.add(certificate?)?;
            }
        } else if self.config.get_ssl_mode() != SslMode::Disable {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_user_and_password() {
        let address = Address::parse("postgres://ada:secret@db.example:5433/notes?sslmode=verify-full")
            .expect("an address");
        assert_eq!(address.name(), "postgres://db.example:5433/notes");
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
    }

    #[test]
    fn certificate_authorities_can_come_from_a_given_file() {
        let address = Address::parse("postgres://db/notes?sslrootcert=/etc/none.pem&sslmode=require")
            .expect("an address");
        assert_eq!(address.authorities.as_deref(), Some("/etc/none.pem"));
        assert!(address.tls().is_err());
        assert!(Address::parse("postgres://db/notes?sslmode=sometimes").is_err());
    }
}
