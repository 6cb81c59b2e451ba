//! The store of one workspace.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use graphloom_core::{
    Batch, BudgetChange, BudgetOutcome, Clock, GraphTurn, Revision, Snapshot, Store, StoreError,
    WorkspaceBudget, WorkspaceId,
};
use graphloom_rules::batch::conflict;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};
use tokio_postgres::error::SqlState;

use crate::client::Client;
use crate::connect::{PATIENCE, Shared};
use crate::error::Fault;
use crate::links::KeptLinks;
use crate::memory::{Memory, SearchMemory};
use crate::nearest_index;
use crate::session::Session;
use crate::snapshot::PostgresSnapshot;
use crate::workers::DatabaseClock;
use crate::{apply, budget, rows, workers};

/// Commits that wait behind the current one. Further callers wait to join the queue.
const MAX_QUEUED: usize = 64;
/// How long to wait for the turn to change the graph.
const TURN_PATIENCE: Duration = Duration::from_secs(300);
/// The class of locks for turns to change the graph. The object of the lock is the workspace.
const TURN_CLASS: i32 = 0x6772_6170;
/// The class of locks that are turns to write summaries.
const SUMMARIES_CLASS: i32 = 0x7375_6d6d;

/// A workspace in a PostgreSQL database.
///
/// Each store applies its commits one after another in a task of its own. If the connection breaks during a commit, the
/// commit is retried until its outcome is known. Each commit carries a token that the database keeps, so it is never
/// applied twice.
pub struct PostgresStore {
    shared: Arc<Shared>,
    workspace: WorkspaceId,
    row: i64,
    writer: mpsc::Sender<CommitRequest>,
    /// Held by the task of this process that has the turn or waits for it in the database.
    turn: Arc<Mutex<()>>,
    links: Arc<KeptLinks>,
    memory: Arc<Memory>,
}

struct CommitRequest {
    batch: Batch,
    reply: oneshot::Sender<Result<Revision, StoreError>>,
}

impl PostgresStore {
    pub(crate) fn start(shared: Arc<Shared>, workspace: WorkspaceId, row: i64) -> Self {
        let (writer, mut queue) = mpsc::channel::<CommitRequest>(MAX_QUEUED);
        let writing = Arc::clone(&shared);
        shared.start(async move {
            while let Some(CommitRequest { batch, reply }) = queue.recv().await {
                let _ = reply.send(commit(&writing, row, &batch).await);
            }
        });
        let memory = Arc::new(Memory::new(Arc::clone(&shared), row));
        Self { shared, workspace, row, writer, turn: Arc::default(), links: Arc::default(), memory }
    }

    /// Sets when search data is read into memory.
    pub fn set_search_memory(&self, comes: SearchMemory) {
        self.memory.set(comes);
    }

    /// Sets how many bytes of memory the search data of all workspaces in the database may take. Data that is already
    /// in memory stays.
    pub fn limit_search_memory(&self, bytes: usize) {
        self.shared.memory.set(bytes);
    }

    /// Sets how many links of the graph are kept in memory. From a larger graph, questions read only parts.
    pub fn limit_links(&self, links: u64) {
        self.links.limit(links);
    }

    /// Returns the bytes of memory that the search data of all workspaces in the database takes.
    pub fn search_memory_bytes(&self) -> usize {
        self.shared.memory.taken()
    }

    /// Checks that the workspace can be read and, as far as that can be known without a commit, written. Tries once.
    pub(crate) async fn probe(&self) -> Result<(), StoreError> {
        let (shared, row) = (Arc::clone(&self.shared), self.row);
        let probing = async move {
            let probed = async {
                let session = Session::write(&shared, row).await?;
                session.run("SELECT FROM workspaces WHERE id = $1", &[]).await.map(drop)
            };
            probed.await.map_err(|fault: Fault| fault.into_store("probing", &shared.name))
        };
        self.shared.run("probing", probing).await
    }

    /// The address of the database without user and password.
    pub(crate) fn database_name(&self) -> &str {
        &self.shared.name
    }

    /// Indexes the kinds whose vectors have at least `from` numbers in total, and drops the indexes of kinds with fewer
    /// than `below`.
    pub async fn index_vectors(&self, [from, below]: [i64; 2]) -> Result<(), StoreError> {
        let (shared, row) = (Arc::clone(&self.shared), self.row);
        let keeping = async move {
            let kept = nearest_index::keep_up(&shared, row, [from, below]).await;
            kept.map_err(|fault| fault.into_store("indexing vectors", &shared.name))
        };
        self.shared.run("indexing vectors", keeping).await
    }

    /// The clock of the database.
    pub(crate) fn database_clock(&self) -> Arc<dyn Clock> {
        Arc::new(DatabaseClock(Arc::clone(&self.shared)))
    }

    /// The budget of the workspace.
    pub(crate) async fn read_budget(&self) -> Result<Option<WorkspaceBudget>, StoreError> {
        let (shared, row) = (Arc::clone(&self.shared), self.row);
        self.shared.run("reading the budget", async move { budget::read(&shared, row).await }).await
    }

    /// Changes the budget of the workspace.
    pub(crate) async fn apply_to_budget(&self, change: BudgetChange) -> Result<BudgetOutcome, StoreError> {
        let (shared, row) = (Arc::clone(&self.shared), self.row);
        self.shared
            .run("changing the budget", async move { budget::change(&shared, row, change).await })
            .await
    }

    /// Closes idle connections and drops the search data in memory.
    pub(crate) fn rest(&self) {
        self.memory.forget();
        self.shared.close_idle();
    }

    fn closed(&self) -> StoreError {
        StoreError::Backend {
            operation: format!("committing to {}", self.shared.name),
            source: "the task that writes has stopped".into(),
        }
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let (shared, row) = (Arc::clone(&self.shared), self.row);
        let (links, memory) = (Arc::clone(&self.links), Arc::clone(&self.memory));
        let step = async move {
            let begin = || async {
                PostgresSnapshot::begin(&shared, Arc::clone(&links), Arc::clone(&memory), row).await
            };
            shared.patiently("taking a snapshot", PATIENCE, begin).await
        };
        Ok(Box::new(self.shared.run("taking a snapshot", step).await?))
    }

    async fn commit(&self, batch: Batch) -> Result<Revision, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.writer.send(CommitRequest { batch, reply }).await.map_err(|_| self.closed())?;
        answer.await.map_err(|_| self.closed())?
    }

    fn fault(&self) -> Option<String> {
        None
    }

    async fn graph_turn(&self) -> Result<GraphTurn, StoreError> {
        let (shared, turn, row) = (Arc::clone(&self.shared), Arc::clone(&self.turn), self.row);
        let take = async move {
            let timeout = tokio::time::timeout(TURN_PATIENCE, turn.lock_owned());
            let guard = timeout.await.map_err(|_| late())?;
            let client = shared
                .patiently("waiting for the turn to change the graph", PATIENCE, || lock(&shared, row))
                .await?;
            let runtime = shared.handle().clone();
            Ok(Turn { client: Some(client), guard: Some(guard), runtime, row, class: TURN_CLASS })
        };
        Ok(Box::new(self.shared.run("waiting for the turn to change the graph", take).await?))
    }

    async fn summaries_turn(&self) -> Result<Option<GraphTurn>, StoreError> {
        let (shared, row) = (Arc::clone(&self.shared), self.row);
        let take = async move {
            let operation = "taking the turn to write summaries";
            let client = shared.patiently(operation, PATIENCE, || try_lock(&shared, row)).await?;
            let runtime = shared.handle().clone();
            let turn =
                |client| Turn { client: Some(client), guard: None, runtime, row, class: SUMMARIES_CLASS };
            Ok(client.map(turn))
        };
        let turn = self.shared.run("taking the turn to write summaries", take).await?;
        Ok(turn.map(|turn| Box::new(turn) as GraphTurn))
    }

    async fn workers(&self) -> Result<usize, StoreError> {
        let shared = Arc::clone(&self.shared);
        let count = async move {
            shared.patiently("counting the workers", PATIENCE, || workers::living(&shared)).await
        };
        self.shared.run("counting the workers", count).await
    }
}

/// Applies a batch exactly once, with retries if the connection breaks.
async fn commit(shared: &Arc<Shared>, row: i64, batch: &Batch) -> Result<Revision, StoreError> {
    graphloom_rules::batch::check(batch)?;
    // Set by the first try that reaches the database.
    let token = Mutex::new(None);
    let attempt = || async {
        let mut token = token.lock().await;
        apply::commit(shared, row, batch, &mut token).await
    };
    shared.patiently("committing", PATIENCE, attempt).await
}

/// Waits for the lock of the turn. The lock belongs to a connection: if that breaks, the database releases it.
async fn lock(shared: &Arc<Shared>, row: i64) -> Result<Client, Fault> {
    let client = shared.turn().await?;
    match client.execute("SELECT pg_advisory_lock($1, $2)", &[&TURN_CLASS, &(row as i32)]).await {
        Ok(_) => Ok(client),
        Err(Fault::Database(error)) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            Err(Fault::Refused(late()))
        }
        Err(fault) => Err(fault),
    }
}

/// Tries to take the turn to write summaries. `None` if another connection has it or all connections for it are in use.
async fn try_lock(shared: &Arc<Shared>, row: i64) -> Result<Option<Client>, Fault> {
    let Some(client) = shared.summaries_turn().await? else { return Ok(None) };
    let sql = "SELECT pg_try_advisory_lock($1, $2)";
    let taken = client.query_opt(sql, &[&SUMMARIES_CLASS, &(row as i32)]).await?;
    let is_taken = taken.map_or(Ok(false), |row| rows::get::<bool>(&row, 0))?;
    Ok(is_taken.then_some(client))
}

fn late() -> StoreError {
    let waited = TURN_PATIENCE.as_secs();
    conflict(format!("other processes kept the turn to change the graph for {waited} s"))
}

/// The turn to change the graph or to write summaries.
struct Turn {
    client: Option<Client>,
    guard: Option<OwnedMutexGuard<()>>,
    runtime: Handle,
    row: i64,
    /// The class of its lock.
    class: i32,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (Some(client), guard) = (self.client.take(), self.guard.take()) else { return };
        let (class, row) = (self.class, self.row);
        let unlock = async move {
            let sql = "SELECT pg_advisory_unlock($1, $2)";
            if client.execute(sql, &[&class, &(row as i32)]).await.is_err() {
                client.give_up();
            }
            drop(guard);
        };
        self.runtime.spawn(unlock.boxed());
    }
}
