//! Sessions: a transaction of one workspace on a connection of its own.

use std::sync::Arc;

use deadpool_postgres::{Object, Pool};
use tokio::runtime::Handle;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::connect::Shared;
use crate::error::Fault;

/// The arguments of a statement after the first, which is the workspace.
pub(crate) type Arguments<'a> = [&'a (dyn ToSql + Sync)];

/// A transaction, rolled back when dropped. Its connection goes back to the pool.
pub(crate) struct Session {
    /// `None` once it ended.
    client: Option<Object>,
    runtime: Handle,
    workspace: i64,
}

impl Session {
    /// A transaction that writes.
    pub(crate) async fn write(shared: &Arc<Shared>, workspace: i64) -> Result<Self, Fault> {
        Self::begin(shared, &shared.writers, "ISOLATION LEVEL READ COMMITTED, READ WRITE", workspace).await
    }

    /// A transaction that sees what was committed before its first statement, and nothing later.
    pub(crate) async fn read(shared: &Arc<Shared>, workspace: i64) -> Result<Self, Fault> {
        Self::begin(shared, &shared.readers, "ISOLATION LEVEL REPEATABLE READ, READ ONLY", workspace).await
    }

    async fn begin(shared: &Arc<Shared>, pool: &Pool, mode: &str, workspace: i64) -> Result<Self, Fault> {
        let client = pool.get().await?;
        let session = Self { client: Some(client), runtime: shared.handle().clone(), workspace };
        let begin = format!("BEGIN {mode}; SET LOCAL graphloom.workspace = '{workspace}'");
        session.client().batch_execute(&begin).await?;
        Ok(session)
    }

    /// The number of the workspace.
    pub(crate) fn workspace(&self) -> i64 {
        self.workspace
    }

    /// Executes statements without arguments.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), Fault> {
        Ok(self.client().batch_execute(sql).await?)
    }

    /// The rows of a statement whose first argument is the workspace.
    pub(crate) async fn rows(&self, sql: &str, arguments: &Arguments<'_>) -> Result<Vec<Row>, Fault> {
        let statement = self.client().prepare_cached(sql).await?;
        Ok(self.client().query(&statement, &self.all(arguments)).await?)
    }

    /// Executes a statement whose first argument is the workspace and returns the number of rows it changed.
    pub(crate) async fn run(&self, sql: &str, arguments: &Arguments<'_>) -> Result<u64, Fault> {
        let statement = self.client().prepare_cached(sql).await?;
        Ok(self.client().execute(&statement, &self.all(arguments)).await?)
    }

    /// Commits. An error that [is passing](Fault::is_passing) leaves open whether it did.
    pub(crate) async fn commit(mut self) -> Result<(), Fault> {
        self.client().batch_execute("COMMIT").await?;
        self.client = None;
        Ok(())
    }

    fn all<'a>(&'a self, arguments: &Arguments<'a>) -> Vec<&'a (dyn ToSql + Sync)> {
        let mut all: Vec<&(dyn ToSql + Sync)> = vec![&self.workspace];
        all.extend(arguments);
        all
    }

    fn client(&self) -> &Object {
        match &self.client {
            Some(client) => client,
            None => unreachable!("a session ends when it is committed or dropped"),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(client) = self.client.take().filter(|client| !client.is_closed()) else { return };
        self.runtime.spawn(async move {
            if client.batch_execute("ROLLBACK").await.is_err() {
                drop(Object::take(client));
            }
        });
    }
}
