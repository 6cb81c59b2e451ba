//! Sessions: a transaction of one workspace on a connection of its own.

use std::sync::Arc;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::try_join;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, SimpleQueryMessage, SimpleQueryRow};

use crate::client::Client;
use crate::connect::Shared;
use crate::error::Fault;

/// The modes of transactions.
const READING: &str = "ISOLATION LEVEL REPEATABLE READ, READ ONLY";
const WRITING: &str = "ISOLATION LEVEL READ COMMITTED, READ WRITE";

/// The arguments of a statement after the first, which is the workspace.
pub(crate) type Arguments<'a> = [&'a (dyn ToSql + Sync)];

/// A transaction, rolled back when dropped. Its connection goes back to the pool.
pub(crate) struct Session {
    /// `None` once it ended.
    client: Option<Client>,
    runtime: Handle,
    workspace: i64,
}

impl Session {
    /// A transaction that writes. Statements are executed in the order in which their futures are first polled.
    pub(crate) async fn write(shared: &Arc<Shared>, workspace: i64) -> Result<Self, Fault> {
        Ok(Self::begin(shared, shared.writer().await?, WRITING, workspace, "").await?.0)
    }

    /// The same with the first row of a statement whose only argument is the workspace. All takes one round trip.
    pub(crate) async fn write_row(
        shared: &Arc<Shared>,
        workspace: i64,
        sql: &str,
    ) -> Result<(Self, Option<Row>), Fault> {
        let client = Some(shared.writer().await?);
        let session = Self { client, runtime: shared.handle().clone(), workspace };
        let begin = begin(WRITING, workspace);
        let (_, rows) = try_join!(biased; session.execute(&begin), session.rows(sql, &[]))?;
        Ok((session, rows.into_iter().next()))
    }

    /// A transaction that sees what was committed before its first statement, and nothing later.
    pub(crate) async fn read(shared: &Arc<Shared>, workspace: i64) -> Result<Self, Fault> {
        Ok(Self::begin(shared, shared.reader().await?, READING, workspace, "").await?.0)
    }

    /// The same with the workspace's row: these columns as text, `None` where it was deleted. All takes one round trip.
    pub(crate) async fn read_row(
        shared: &Arc<Shared>,
        workspace: i64,
        columns: &str,
    ) -> Result<(Self, Option<SimpleQueryRow>), Fault> {
        let first = format!("; SELECT {columns} FROM workspaces WHERE id = {workspace}");
        Self::begin(shared, shared.reader().await?, READING, workspace, &first).await
    }

    /// - `first`: a statement to begin with, of which the first row is returned.
    async fn begin(
        shared: &Arc<Shared>,
        client: Client,
        mode: &str,
        workspace: i64,
        first: &str,
    ) -> Result<(Self, Option<SimpleQueryRow>), Fault> {
        let session = Self { client: Some(client), runtime: shared.handle().clone(), workspace };
        let begin = begin(mode, workspace) + first;
        let row =
            session.client().simple_query(&begin).await?.into_iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
        Ok((session, row))
    }

    /// The number of the workspace.
    pub(crate) fn workspace(&self) -> i64 {
        self.workspace
    }

    /// Executes statements without arguments.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), Fault> {
        self.client().simple_query(sql).await.map(drop)
    }

    /// The rows of a statement whose first argument is the workspace.
    pub(crate) async fn rows(&self, sql: &str, arguments: &Arguments<'_>) -> Result<Vec<Row>, Fault> {
        self.client().query(sql, &self.all(arguments)).await
    }

    /// Executes a statement whose first argument is the workspace and returns the number of rows it changed.
    pub(crate) async fn run(&self, sql: &str, arguments: &Arguments<'_>) -> Result<u64, Fault> {
        self.client().execute(sql, &self.all(arguments)).await
    }

    /// Commits. An error that [is passing](Fault::is_passing) leaves open whether it did.
    pub(crate) async fn commit(mut self) -> Result<(), Fault> {
        self.client().simple_query("COMMIT").await?;
        self.client = None;
        Ok(())
    }

    fn all<'a>(&'a self, arguments: &Arguments<'a>) -> Vec<&'a (dyn ToSql + Sync)> {
        let mut all: Vec<&(dyn ToSql + Sync)> = vec![&self.workspace];
        all.extend(arguments);
        all
    }

    fn client(&self) -> &Client {
        match &self.client {
            Some(client) => client,
            None => unreachable!("a session ends when it is committed or dropped"),
        }
    }
}

fn begin(mode: &str, workspace: i64) -> String {
    format!("BEGIN {mode}; SET LOCAL graphloom.workspace = '{workspace}'")
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(client) = self.client.take().filter(|client| !client.is_closed()) else { return };
        let roll_back = async move {
            if client.simple_query("ROLLBACK").await.is_err() {
                client.give_up();
            }
        };
        self.runtime.spawn(roll_back.boxed());
    }
}
