//! Workers on all hosts. Each reports to the database that it is alive, by the clock of the database.

use std::collections::BTreeSet;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use graphloom_core::{Clock, Registration, StoreError, Timestamp, Worker, Workers, WorkspaceId};
use tokio::sync::oneshot;
use tokio_postgres::types::ToSql;

use crate::connect::{Database, Shared};
use crate::error::Fault;
use crate::rows;
use crate::session::Session;

/// How often a worker reports that it is alive.
const BEAT: Duration = Duration::from_secs(3);
/// SQL condition for live workers. A worker that was silent for this long counts as ended. If it still runs, its next
/// commits fail, and it loses the work that others took over.
const LIVING: &str = "NOT ended AND seen_at >= clock_timestamp() - interval '15 seconds'";
/// How long workers are remembered. Longer than any lease.
const MEMORY: &str = "interval '30 days'";
/// How long a worker that ends waits for the database to record it.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The workers of a database. Those on this host are known directly, others by their reports in the database.
pub(crate) struct DatabaseWorkers {
    shared: Arc<Shared>,
    of_host: Arc<dyn Workers>,
}

impl DatabaseWorkers {
    pub(crate) fn new(database: &Database, of_host: Arc<dyn Workers>) -> Self {
        Self { shared: Arc::clone(&database.shared), of_host }
    }
}

#[async_trait]
impl Workers for DatabaseWorkers {
    async fn register(&self, registration: Registration) -> Result<Arc<dyn Worker>, StoreError> {
        let of_host = self.of_host.register(registration).await?;
        let name = of_host.name().to_owned();
        let (shared, first) = (Arc::clone(&self.shared), name.clone());
        let registering = async move {
            let registered = async {
                let client = shared.beat().await?;
                client.execute(&format!("DELETE FROM workers WHERE seen_at < now() - {MEMORY}"), &[]).await?;
                drop(client);
                beat(&shared, &first).await
            };
            registered.await.map_err(|fault: Fault| fault.into_store("registering", &shared.name))
        };
        let shared = &self.shared;
        match shared.run("registering", registering).await {
            Err(error @ StoreError::ReadOnly { .. }) if registration == Registration::WhenWritable => {
                tracing::warn!(%error, "nothing can be indexed for now");
            }
            registered => registered?,
        }
        let (end, ended) = oneshot::channel();
        shared.start(keep_beating(Arc::downgrade(shared), name, ended));
        Ok(Arc::new(BeatingWorker { of_host, shared: Arc::clone(shared), end: Some(end) }))
    }

    fn is_gone(&self, worker: &str) -> bool {
        self.of_host.is_gone(worker) || self.shared.silent().contains(worker)
    }
}

/// A worker of this process.
struct BeatingWorker {
    of_host: Arc<dyn Worker>,
    shared: Arc<Shared>,
    /// Stops the beats.
    end: Option<oneshot::Sender<()>>,
}

impl Worker for BeatingWorker {
    fn name(&self) -> &str {
        self.of_host.name()
    }

    fn try_again(&self) -> Result<(), StoreError> {
        self.of_host.try_again()
    }
}

impl Drop for BeatingWorker {
    fn drop(&mut self) {
        drop(self.end.take());
        let (shared, name) = (Arc::clone(&self.shared), self.name().to_owned());
        let (reply, answer) = sync_channel(1);
        self.shared.start(async move {
            if let Ok(client) = shared.beat().await {
                let _ = client.execute("UPDATE workers SET ended = true WHERE name = $1", &[&name]).await;
            }
            let _ = reply.send(());
        });
        // If this takes too long, others notice the end later.
        let _ = answer.recv_timeout(SHUTDOWN_TIMEOUT);
    }
}

/// Reports that a worker is alive until it ends, and updates the set of silent workers.
async fn keep_beating(shared: Weak<Shared>, name: String, mut ended: oneshot::Receiver<()>) {
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            _ = &mut ended => return,
            () = tokio::time::sleep(BEAT) => {}
        }
        let Some(shared) = shared.upgrade() else { return };
        let beaten = async {
            beat(&shared, &name).await?;
            // After a pause of the database or of this process, the other workers need time to report.
            if std::mem::replace(&mut heard, Instant::now()).elapsed() < BEAT * 3 {
                let silent = silent(&shared).await?;
                *shared.silent() = silent;
            }
            Ok::<_, Fault>(())
        };
        if let Err(fault) = beaten.await {
            tracing::debug!(?fault, "telling the database that this worker is alive failed");
        }
    }
}

/// Reports that a worker is alive.
async fn beat(shared: &Shared, name: &str) -> Result<(), Fault> {
    let client = shared.beat().await?;
    let sql = "INSERT INTO workers (name, seen_at) VALUES ($1, clock_timestamp()) \
        ON CONFLICT (name) DO UPDATE SET seen_at = EXCLUDED.seen_at, ended = false";
    client.execute(sql, &[&name]).await?;
    shared.set_clock(&client).await
}

/// Returns the workers that have ended or were silent for too long.
async fn silent(shared: &Shared) -> Result<BTreeSet<String>, Fault> {
    let client = shared.beat().await?;
    let sql = format!("SELECT name FROM workers WHERE NOT ({LIVING})");
    client.query(&sql, &[]).await?.iter().map(|row| rows::get(row, 0)).collect()
}

/// Returns the number of live workers, at least 1.
pub(crate) async fn living(shared: &Shared) -> Result<usize, Fault> {
    let sql = format!("SELECT count(*) FROM workers WHERE {LIVING}");
    let found = shared.reader().await?.query(&sql, &[]).await?;
    let living = found.first().map(|row| rows::number(row, 0)).transpose()?.unwrap_or(0);
    Ok(usize::try_from(living).unwrap_or(usize::MAX).max(1))
}

/// Returns, sorted by name, the workspaces with documents that nobody works on, or with descriptions to write and no
/// worker on them.
pub(crate) async fn with_work(shared: &Arc<Shared>) -> Result<Vec<WorkspaceId>, Fault> {
    let session = Session::read(shared, 0).await?;
    let sql = format!(
        "WITH time AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now) \
         SELECT w.name FROM workspaces w, time WHERE $1::int8 = 0 AND w.queue LIKE '%\"running\"%' AND ( \
            EXISTS (SELECT FROM jobs j WHERE j.workspace_id = w.id AND j.is_open AND (coalesce(j.lease_until < time.now, true) \
                OR EXISTS (SELECT FROM workers k WHERE k.name = j.lease_owner AND NOT ({LIVING})))) \
            OR EXISTS (SELECT FROM stale s WHERE s.workspace_id = w.id) \
                AND NOT EXISTS (SELECT FROM jobs j WHERE j.workspace_id = w.id AND j.lease_until >= time.now)) \
         ORDER BY w.name"
    );
    let none: [&(dyn ToSql + Sync); 0] = [];
    let found = session.rows(&sql, &none).await?;
    found.iter().map(|row| rows::get(row, 0).map(|name: String| WorkspaceId::from_stored(name))).collect()
}

/// The clock of a database, the same for all hosts. It is read with every beat and advances with the clock of this host.
pub(crate) struct DatabaseClock(pub(crate) Arc<Shared>);

impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(local_ms() + self.0.ahead_ms()).unwrap_or(0))
    }
}

/// Returns the time of this host in milliseconds.
pub(crate) fn local_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
